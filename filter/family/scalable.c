#include "filter/family/scalable.h"

struct twice_chain_plan
twice_scalable_plan(const struct twice_scalable_options *o)
{
	double ratio = o->ratio > 0 ? o->ratio : 0.5;
	return (struct twice_chain_plan){.keys = o->keys,
					 .fpr = o->fpr * (1 - ratio), /* P0 */
					 .ratio = ratio,
					 .growth = o->growth ? o->growth : 2};
}

struct twice_chain *
twice_scalable_create(const struct twice_scalable_options *o)
{
	struct twice_chain_plan plan = twice_scalable_plan(o);
	return twice_chain_create(&plan);
}
