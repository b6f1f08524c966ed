/* fleet_survey.c - other threads wait for what siblings have counted. */
#include "proxy/fleet/fleet_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/fleet/await.h"

struct fleet_asker {
	struct await await; /* first */
	struct fleet *fleet;
	struct fleet_asker *next;
	struct survey_result *found; /* a reference; NULL: the fleet ends */
};

static bool
give(struct await *a, void *ctx)
{
	struct fleet_asker *k = (struct fleet_asker *)a;
	if (!a->alone && ctx)
		k->found = survey_result_ref(ctx);
	return true;
}

/* All who wait share what a round has found. */
static void
on_over(void *ctx, struct survey_result *found)
{
	struct fleet *f = ctx;
	struct fleet_asker *k = f->counts.askers, *next;
	f->counts.askers = NULL;
	for (; k; k = next) {
		next = k->next;
		await_look(&k->await, give, found);
	}
}

static void
on_asker(struct letter *l)
{
	struct fleet_asker *k = (struct fleet_asker *)l;
	struct fleet *f = k->fleet;
	k->next = f->counts.askers;
	f->counts.askers = k;
	if (f->leaves)
		on_over(f, NULL);
	else
		survey_ask(f->counts.survey, f->siblings, f->roster.n, now_ms());
}

static void
take(struct await *a, void *ctx)
{
	struct fleet_asker *k = (struct fleet_asker *)a;
	*(struct survey_result **)ctx = k->found;
}

struct survey_result *
fleet_survey(struct fleet *f)
{
	enum { LATE_MS = 200 }; /* the thread looks by its ticks */
	struct fleet_asker *k = NEW(struct fleet_asker);
	struct survey_result *found;
	k->fleet = f;
	await_post(&k->await, on_asker, &f->mailbox);
	await_for(&k->await, SURVEY_LIMIT_MS + LATE_MS, take, &found);
	return found;
}

void
fleet_survey_open(struct fleet *f)
{
	f->counts.survey = survey_create(f->peers, on_over, f);
}

void
fleet_survey_close(struct fleet *f)
{
	if (f->counts.survey)
		on_over(f, NULL);
	survey_destroy(&f->counts.survey);
}
