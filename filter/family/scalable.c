#include "filter/family/scalable.h"

struct chain_plan
scalable_plan(const struct scalable_options *o)
{
	double ratio = o->ratio > 0 ? o->ratio : 0.5;
	return (struct chain_plan){.keys = o->keys,
				   .fpr = o->fpr * (1 - ratio), /* P0 */
				   .ratio = ratio,
				   .growth = o->growth ? o->growth : 2};
}

struct chain *
scalable_create(const struct scalable_options *o)
{
	struct chain_plan plan = scalable_plan(o);
	return chain_create(&plan);
}
