/* keep_rest.c - a write whose bytes do not come leaves to others what all writes share. */
#include "proxy/serve/keep/keep_inside.h"

#include "proxy/cache/cache_write.h"

#include <stddef.h>

enum { REST_MS = 2000, LARGE = 256 << 10 };

static void on_rest(struct alarm *a);

static void
look_again(struct fill *f)
{
	f->claims.rested_at = f->in.came;
	alarm_set(&f->serve->alarms, &f->claims.rest, now_ms() + REST_MS, on_rest);
}

static void
on_rest(struct alarm *a)
{
	struct fill *f = (struct fill *)((char *)a - offsetof(struct fill, claims.rest));
	if (!f->in.write || f->stage != FILL_ARRIVING)
		return;
	if (f->in.came == f->claims.rested_at) {
		keep_end_turn(f);
		if (!cache_write_rest(f->in.write)) {
			keep_no_write(f);
			return;
		}
	}
	look_again(f);
}

/* A write of a small body keeps little free, and is over before anybody looks. */
void
keep_watch(struct fill *f)
{
	const struct intake *in = &f->in;
	bool large = in->stores == UINT64_MAX ? in->stored > LARGE : in->stores > LARGE;
	if (f->in.write && large && !alarm_is_set(&f->claims.rest))
		look_again(f);
}
