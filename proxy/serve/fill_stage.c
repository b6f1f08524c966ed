/* fill_stage.c - the stages of a trip, and what each file that brings bytes may do with it. */
#include "proxy/serve/fill_inside.h"

#include "proxy/cache/cache_write.h"
#include "proxy/serve/rules/rest.h"

#include <assert.h>
#include <stddef.h>

void
fill_check(const struct fill *f)
{
	assert(f->serve && f->settings && f->flight && f->wake);
	assert(*f->prev == f && (!f->next || f->next->prev == &f->next));
	assert(f->key.primary_bytes <= f->key.text.n);
	assert(f->feeder == NULL || f->feeder->upload.fill == f);
	assert(f->stage == FILL_ASKING ||
	       (f->in.came <= f->in.comes && f->in.stored <= f->in.stores));
	assert(f->keeps != KEEPS_OLD || f->object);
	assert(f->claims.charged <= f->claims.written);
	assert(!f->in.write || f->stage != FILL_ASKING);
	assert(!f->background || !f->feeder);
	assert(f->kind != FILL_PASS || !f->run);
	/* An answer that passes may still bring news of a stored one: HEAD. */
	assert(f->kind != FILL_PASS || !f->object || f->rq.method == METHOD_HEAD);
	assert(!f->run || f->kind == FILL_SLICES || f->keeps == KEEPS_SLICES);
}

void
fill_move(struct fill *f, enum fill_stage to)
{
	assert(to == f->stage + 1);
	f->stage = to;
	fill_check(f);
}

void
fill_publish(struct fill *f, struct flight_head *h)
{
	int64_t delay_s = now_s() - f->request_time;
	h->delay_s = f->request_time && delay_s > 0 ? delay_s : 0;
	h->had = f->asked.had;
	fill_move(f, FILL_ARRIVING);
	flight_publish(f->flight, h);
}

static void
on_ask_again(struct alarm *a)
{
	struct fill *f = (struct fill *)((char *)a - offsetof(struct fill, ask_again));
	if (f->fetch)
		fetch_resume(f->fetch);
	else
		f->wake(f);
}

void
fill_ask_again(struct fill *f, int64_t at_ms)
{
	alarm_set(&f->serve->alarms, &f->ask_again, at_ms, on_ask_again);
}

/* The client that asked for a part never takes the whole, which was asked for because several clients want
 * some of it. */
static bool
is_for_others(const struct fill *f)
{
	return f->sighting.writes && !f->sighting.alone && !f->as_it_came &&
	       policy_asks_for_less(&f->rq);
}

bool
fill_is_worth_the_rest(const struct fill *f)
{
	bool stored = f->in.write && cache_write_is_alive(f->in.write);
	return rest_is_worth(&(struct rest_facts){
		.wanted = f->background || flight_is_wanted(f->flight) ||
			  (stored && is_for_others(f)),
		.stored = stored,
		.here = f->in.came,
		.all = f->in.comes,
	});
}

bool
fill_is_for_nobody(const struct fill *f)
{
	bool kept = f->in.write && f->sighting.verdict != ADMISSION_TOO_LARGE;
	return f->background && !kept && !rest_is_little(0, f->in.comes) &&
	       flight_readers(f->flight) == 0;
}

bool
fill_is_read(const struct serve *s)
{
	for (struct fill *f = s->fills; f; f = f->next)
		if (flight_readers(f->flight))
			return true;
	return false;
}

/* The coding that stored bytes were asked for in is asked for again, whoever asks now. */
void
fill_asks_as_stored(struct fill *f, const struct terms *t)
{
	if (t->flags & TERMS_ONE_FORM && outgoing_has_classes(&f->outgoing) &&
	    terms_asked(t) != CODING_UNCLASSED)
		f->asked.class = terms_asked(t);
}

bool
fill_is_left(struct fill *f)
{
	if (flight_readers(f->flight))
		return false;
	flights_close(f->flight);
	return flight_readers(f->flight) == 0;
}
