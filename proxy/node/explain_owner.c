/* explain_owner.c - the first of the owners that is well, and what that means. */
#include "proxy/node/explain_owner.h"

#include "proxy/base/clock.h"

/* As sibling_look does. */
void
explain_owner_find(struct explain_owner *o, struct charts *fleet, uint64_t hash)
{
	struct sibling *owners[RING_DEEP];
	o->chart = fleet ? charts_now(fleet) : NULL;
	unsigned n = o->chart ? chart_owners(o->chart, hash, owners) : 0;
	for (unsigned i = 0; i < n && !owners[i]->is_self && !o->elsewhere; i++)
		if (owners[i]->origin && standing_is_well(&owners[i]->standing, now_ms()))
			o->elsewhere = owners[i];
}

void
explain_owner_fini(struct explain_owner *o)
{
	chart_unref(&o->chart);
	o->elsewhere = NULL;
}

void
explain_owner_say(const struct explain_owner *o, bool copy, struct buf *out)
{
	const struct sibling *s = o->elsewhere;
	if (!o->chart)
		return;
	if (s) {
		buf_printf(out,
			   "The node %s (%s) decides about it, and whether it is written to disk: "
			   "run twice explain there.",
			   s->m.name, s->m.address);
		if (copy)
			buf_add_lit(out, " The copy here is shown to that node again after ten "
					 "seconds.");
		return;
	}
	buf_add_lit(out,
		    "This node decides about it: it owns the URL, or those that come before it "
		    "do not answer.");
}
