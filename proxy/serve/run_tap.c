/* run_tap.c - a 206 as it came: it goes to its own client, and the slices that it holds from end to end are kept.
 */
#include "proxy/serve/run_inside.h"

#include "proxy/cache/cache_write.h"
#include "proxy/serve/keep/keep.h"

static void
tap(void *trip, struct block *b, uint32_t at, uint32_t n)
{
	struct fill *f = trip;
	struct run *r = f->run;
	run_check(f);
	while (n) {
		r->number = slices_number(r->at);
		struct range s = slices_bytes(r->number, r->total);
		if (r->at == s.at && r->each && r->number != r->judged) {
			r->judged = r->number;
			keep_sight_slice(f, r->number);
			r->untold = f->sighting.recorded;
		}
		if (r->at == s.at && r->number < r->end && !f->in.write)
			run_begin_write(f, run_is_admitted(f));
		uint64_t left = s.at + s.n - r->at;
		uint32_t part = n < left ? n : (uint32_t)left;
		if (f->in.write)
			cache_write_body(f->in.write, b, at, part);
		r->at += part;
		at += part;
		n -= part;
		if (f->in.write && r->at == s.at + s.n) {
			struct object *o = run_commit(f, s.n);
			object_unref(&o);
		}
	}
}

void
run_of_part(struct fill *f, const struct key *base, struct str head, uint64_t total,
	    struct range which)
{
	struct run *r = run_create(f, RUN_TAP, head, total);
	key_copy(&r->key, base);
	r->base_bytes = base->text.n;
	r->terms = f->terms;
	r->at = which.at;
	r->each = sighting_is_range(f->facts.kind) &&
		  which.at > 0; /* not what is no sighting at all */
	r->judged = slices_number(which.at);
	r->billed = true;
	r->end = slices_number(which.at + which.n);
	if (which.at + which.n == total)
		r->end = slices_end(total);
	f->in.keep = tap;
	f->in.trip = f;
}
