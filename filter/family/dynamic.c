#include "filter/family/dynamic.h"

struct chain *
dynamic_create(uint64_t row_keys, double row_fpr)
{
	return chain_create(&(struct chain_plan){row_keys, row_fpr, 1, 1});
}
