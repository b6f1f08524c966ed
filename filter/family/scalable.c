#include "filter/family/scalable.h"

struct twice_chain_plan
twice_scalable_plan(const struct twice_scalable_options *o)
{
	double ratio = o->ratio == 0 ? 0.85 : o->ratio;
	bool possible = o->fpr > 0 && o->fpr < 1;
	return (struct twice_chain_plan){.keys = o->keys,
					 .fpr = possible ? o->fpr * (1 - ratio) : 0, /* P0 */
					 .ratio = ratio,
					 .growth = o->growth ? o->growth : 2};
}

struct twice_chain *
twice_scalable_create(const struct twice_scalable_options *o)
{
	struct twice_chain_plan plan = twice_scalable_plan(o);
	return twice_chain_create(&plan);
}
