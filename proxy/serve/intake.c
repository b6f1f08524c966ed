/* intake.c - from an exchange to the flight and the store. */
#include "proxy/serve/intake.h"

#include "proxy/cache/cache_write.h"
#include "proxy/cache/flight/flight.h"

#include <assert.h>

enum { AT_HAND = -1 };

void
intake_begin(struct intake *in, uint64_t comes)
{
	in->comes = comes;
	in->stores = in->by && !in->by->keeps_places ? UINT64_MAX : comes;
}

/* Bytes of the object. How many of them the flight has taken; now_ms AT_HAND: all. */
static size_t
pass_on(struct intake *in, struct flight *to, const char *p, size_t n, int64_t now_ms)
{
	size_t done = 0;
	while (done < n) {
		struct block *block;
		uint32_t at, got;
		if (now_ms == AT_HAND)
			flight_append_now(to, p + done, n - done, &block, &at, &got);
		else if (!flight_append(to, p + done, n - done, now_ms, &block, &at, &got))
			break;
		if (in->keep)
			in->keep(in->trip, block, at, got);
		else if (in->write)
			cache_write_body(in->write, block, at, got);
		done += got;
		in->stored += got;
	}
	return done;
}

/* False: the flight's window is full, and some of what was made waits. */
static bool
pass_on_made(struct intake *in, struct flight *to, int64_t now_ms)
{
	size_t left = in->made.n - in->made_at;
	if (left)
		in->made_at += pass_on(in, to, in->made.p + in->made_at, left, now_ms);
	if (in->made_at < in->made.n)
		return false;
	in->made.n = in->made_at = 0;
	return true;
}

/* Bytes are taken whole; the flight's window holds up what was made of them. */
static size_t
transform(struct intake *in, struct flight *to, const char *p, size_t n, int64_t now_ms)
{
	if (!pass_on_made(in, to, now_ms))
		return 0;
	in->by->take(in->ctx, p, n, &in->made);
	pass_on_made(in, to, now_ms);
	return n;
}

size_t
intake_add(struct intake *in, struct flight *to, const char *p, size_t n, int64_t now_ms)
{
	size_t took = in->by ? transform(in, to, p, n, now_ms) : pass_on(in, to, p, n, now_ms);
	assert(took <= n && in->came + took <= in->comes);
	in->came += took;
	return took;
}

void
intake_end(struct intake *in, struct flight *to)
{
	if (!in->by)
		return;
	if (in->by->end)
		in->by->end(in->ctx, &in->made);
	pass_on_made(in, to, AT_HAND);
	in->stores = in->stored;
}

void
intake_fini(struct intake *in)
{
	buf_fini(&in->made);
}
