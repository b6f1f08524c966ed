#include "filter/scalable.h"

struct chain *
scalable_create(const struct scalable_options *o)
{
	double ratio = o->ratio > 0 ? o->ratio : 0.5;
	struct chain_plan plan = {.keys = o->keys,
				  .fpr = o->fpr * (1 - ratio), /* P0 */
				  .ratio = ratio,
				  .growth = o->growth ? o->growth : 2};
	return chain_create(&plan);
}
