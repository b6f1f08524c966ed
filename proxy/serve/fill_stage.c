/* fill_stage.c - the stages of a trip, and what each file that brings bytes may do with it. */
#include "proxy/serve/fill_inside.h"

#include <assert.h>
#include <stddef.h>

void
fill_check(const struct fill *f)
{
	assert(f->serve && f->settings && f->flight && f->wake);
	assert(*f->prev == f && (!f->next || f->next->prev == &f->next));
	assert(f->key.primary_bytes <= f->key.text.n);
	assert(f->feeder == NULL || f->feeder->fill == f);
	assert(!f->part_added || f->part);
	assert(f->received <= f->expected || f->stage == FILL_ASKING);
	assert(f->keeps != KEEPS_OLD || f->object);
	assert(f->charged == 0 || f->write);
	assert(!f->write || f->stage != FILL_ASKING);
	assert(!f->background || !f->feeder);
	assert(f->kind != FILL_PASS || (!f->part && !f->run));
	/* What passes may still bring news of what is stored: HEAD. */
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
	fill_move(f, FILL_ARRIVING);
	flight_publish(f->flight, h);
}

static void
on_ask_again(struct alarm *a)
{
	struct fill *f = (struct fill *)((char *)a - offsetof(struct fill, ask_again));
	if (f->fetch)
		fetch_resume(f->fetch);
}

void
fill_ask_again(struct fill *f, int64_t at_ms)
{
	alarm_set(&f->serve->alarms, &f->ask_again, at_ms, on_ask_again);
}
