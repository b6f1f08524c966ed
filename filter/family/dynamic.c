#include "filter/family/dynamic.h"

struct twice_chain *
twice_dynamic_create(uint64_t row_keys, double row_fpr)
{
	return twice_chain_create(&(struct twice_chain_plan){row_keys, row_fpr, 1, 1});
}
