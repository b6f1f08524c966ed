/* choosing.c - as proxy/node/keeper.c does it, but once for each event. */
#include "proxy/simulate/choosing.h"

#include "proxy/base/mem.h"

#include <stdlib.h>

struct choosing {
	struct whatif *what_if;
	struct choice choice;
	uint64_t generation; /* in which it was made last */
};

struct choosing *
choosing_create(const struct policy_spec *o, const struct ghost_options *ghost)
{
	struct choosing *c = NEW(struct choosing);
	choice_init(&c->choice);
	c->what_if = whatif_create(&(struct whatif_options){
		.ghost = *ghost,
		.memory = o->sights.memory,
		.budget_bytes_s = o->budget_bytes_s,
		.budget_saved_s = o->budget_saved_s,
		.lent = UINT32_MAX, /* its time is nobody's */
		.chooses = true,
		.sightings = c->choice.sightings,
	});
	if (!c->what_if)
		choosing_destroy(&c);
	return c;
}

void
choosing_destroy(struct choosing **pc)
{
	struct choosing *c = *pc;
	*pc = NULL;
	if (!c)
		return;
	whatif_destroy(&c->what_if);
	free(c);
}

void
choosing_see(struct choosing *c, const struct ghost_event *e, const struct ghost_did *did)
{
	struct ghost_event w = *e;
	bool asked = did->answer >= GHOST_VALIDATED, came = did->answer == GHOST_MISSED;
	if (did->answer == GHOST_IGNORED)
		return;
	w.refused = false;
	w.url = e->slice ? e->head : e->key;
	w.deed = !asked ? GHOST_HIT : did->answer == GHOST_PASSED ? GHOST_PART : GHOST_FETCHED;
	w.origin_bytes = came ? e->body_bytes : 0;
	if (!e->joins)
		whatif_earn(c->what_if, did->weight, asked ? did->weight : 0);
	whatif_see(c->what_if, &w);
}

void
choosing_forget(struct choosing *c, uint64_t url)
{
	whatif_forget(c->what_if, url);
}

void
choosing_thin(struct choosing *c, unsigned halvings, uint64_t large_bytes)
{
	whatif_thin(c->what_if, halvings, large_bytes);
}

void
choosing_turn(struct choosing *c, uint64_t generation, uint32_t now_s,
	      struct sighting_settings *rule)
{
	struct choice_period p;
	if (generation == c->generation)
		return;
	c->generation = generation;
	if (!whatif_period(c->what_if, false, &p) || !choice_turn(&c->choice, &p, now_s))
		return;
	whatif_period(c->what_if, true, &p);
	rule->sightings = CHOICE_FEW;
	rule->large_sightings = c->choice.sightings == CHOICE_MANY ? CHOICE_MANY : 0;
	whatif_settle(c->what_if, rule->sightings, rule->large_sightings);
}

const struct choice *
choosing_choice(const struct choosing *c)
{
	return &c->choice;
}
