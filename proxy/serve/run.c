/* run.c - slices as they come: who reads which, when the next is begun, when nobody wants more. */
#include "proxy/serve/run_inside.h"

#include "proxy/base/mem.h"
#include "proxy/cache/cache_forget.h"
#include "proxy/cache/cache_write.h"
#include "proxy/cache/admission/seen.h"
#include "proxy/serve/bill.h"
#include "proxy/serve/keep/keep.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	GRACE_MS = 200, /* between two slices, for who reads them from elsewhere */
};

/* So much is passed over where a body comes from its beginning, for an answer that has begun. */
static const uint64_t SKIP_MOST = 64 << 20;

static const char changed[] = "changed-between-slices";
static const char by_another[] = "brought-by-another";

static const struct run_step goes_on = {.next = RUN_GOES_ON}, waits = {.next = RUN_WAITS},
			     asks_again = {.next = RUN_ASKS_AGAIN};

static struct run_step
ends(int status, const char *word)
{
	return (struct run_step){.next = RUN_ENDS, .status = status, .word = word};
}

bool
run_is_changed(const char *word)
{
	return word == changed;
}

bool
run_leads(const struct fill *f)
{
	return f->run && f->run->kind == RUN_CUT;
}

struct run *
run_create(struct fill *f, enum run_kind kind, struct str head, uint64_t total)
{
	struct run *r = NEW(struct run);
	assert(!f->run);
	r->kind = kind;
	r->total = total;
	buf_add_str(&r->head, head);
	slices_version(head, &r->version);
	f->run = r;
	return r;
}

/* This must be true of slices as they come, between two events. O(1). */
void
run_check(const struct fill *f)
{
	const struct run *r = f->run;
	assert(r->base_bytes <= r->key.text.n && r->number <= r->end);
	assert(r->end <= slices_end(r->total));
	assert(r->kind != RUN_TAP || (!r->begun && !r->next && !r->before));
	assert(!r->begun || (f->in.write && f->stage == FILL_ARRIVING));
	assert(!r->begun || f->in.stores == slices_bytes(r->number, r->total).n);
	assert(!r->begun || f->in.stored < f->in.stores);
	assert(!r->next || r->number + 1 < r->end);
}

static void
make_key(struct fill *f, uint64_t number)
{
	struct run *r = f->run;
	key_to_slice(&r->key, f->serve->shelves->seed, r->base_bytes, buf_str(&r->version),
		     r->total, number);
}

/* Nothing that covers the URL was forgotten since the request left. Asked by the key of a slice:
 * that the head was removed alone says nothing of the bytes. */
static bool
is_clean(const struct fill *f)
{
	const struct key *key = &f->run->key;
	return cache_is_clean(f->serve->shelves->cache, key->hash, buf_str(&key->text),
			      buf_str(&f->tags), f->begun);
}

/* A request that joins a flight of ours gets what the origin said after f->begun: so that must hold when
 * the flight begins. NULL: somebody else brings that slice, or what we bring was forgotten. */
static struct flight *
lead(struct fill *f, uint64_t number)
{
	struct run *r = f->run;
	make_key(f, number);
	struct flight *g = flights_lead(f->serve->shelves->flights, r->key.hash,
					buf_str(&r->key.text), now_ms());
	if (!g || is_clean(f)) {
		if (g)
			flight_set_leader(g, f->serve->mailbox, f->wake, f);
		return g;
	}
	flights_close(g);
	flight_fail(g, 0, "forgotten", 0);
	flight_unref(&g);
	return NULL;
}

static void
let_go(struct flight **g)
{
	if (!*g)
		return;
	flights_close(*g);
	flight_drop_leader(*g);
	flight_unref(g);
}

void
run_of_whole(struct fill *f, const struct key *base, struct str head, uint64_t total)
{
	struct run *r = run_create(f, RUN_CUT, head, total);
	key_copy(&r->key, base);
	r->base_bytes = base->text.n;
	r->terms = f->terms;
	r->end = slices_end(total);
	r->billed = true; /* by its head */
	r->next = lead(f, 0);
}

void
run_of_slices(struct fill *f, struct object *o, uint64_t number, uint64_t end, bool each,
	      bool begun)
{
	struct run *r = run_create(f, RUN_CUT, o->head, o->whole_bytes);
	key_copy(&r->key, &f->key);
	r->key.text.n = r->key.primary_bytes;
	buf_add_str(&r->key.text, str_from(o->key, r->key.primary_bytes));
	r->base_bytes = o->key.n;
	r->terms = o->terms;
	fill_asks_as_stored(f, &r->terms);
	r->object = object_ref(o);
	r->number = number;
	r->end = end;
	r->each = each;
	r->judged = number;
	r->again.begun = begun;
	f->in.comes = UINT64_MAX;
}

static struct billed_slice
billed(struct fill *f, uint64_t number, unsigned sightings)
{
	struct run *r = f->run;
	make_key(f, number);
	return (struct billed_slice){.key = &r->key,
				     .number = number,
				     .bytes = slices_bytes(number, r->total).n,
				     .whole_bytes = r->total,
				     .sightings = sightings,
				     .joins = r->billed};
}

/* Its range ended within a slice that it counts for. */
static void
tell_cut(struct fill *f)
{
	struct billed_slice s = billed(f, f->run->judged, 1);
	bill_slice_asked(f, &s);
}

void
run_end(struct fill *f)
{
	struct run *r = f->run;
	if (!r)
		return;
	if (r->untold)
		tell_cut(f);
	f->run = NULL;
	f->in.keep = NULL;
	let_go(&r->before);
	if (r->next)
		flight_fail(r->next, 0, "abandoned", 0);
	let_go(&r->next);
	object_unref(&r->object);
	key_fini(&r->key);
	buf_fini(&r->head);
	buf_fini(&r->version);
	free(r);
}

/* ---- asking -------------------------------------------------------------------------------- */

void
run_ask(struct fill *f, struct outgoing_asks *out, char *range, size_t range_bytes)
{
	struct run *r = f->run;
	struct range last = slices_bytes(r->end - 1, r->total);
	int n = snprintf(range, range_bytes, "bytes=%llu-%llu",
			 (unsigned long long)(r->number * SLICE_BYTES),
			 (unsigned long long)(last.at + last.n - 1));
	out->range = (struct str){range, (size_t)n};
	out->if_range = doubt_validator(f, r->object, buf_str(&r->head), &r->names);
}

static void begin(struct fill *f);

/* near: it is the whole of the same, and what comes first is passed over. */
static struct run_step
use(struct fill *f, const struct response *rs, enum slices_answer a, bool near)
{
	struct run *r = f->run;
	if (near) {
		r->skip = slices_bytes(r->number, r->total).at;
		r->end = slices_end(r->total);
	}
	if (a == SLICES_IT || near) {
		fill_move(f, FILL_ARRIVING);
		begin(f);
		return goes_on;
	}
	if (a == SLICES_CHANGED && doubt_asks_elsewhere(f, rs->status))
		return asks_again;
	return a == SLICES_FAILED ? ends(rs->status, "origin-error") : ends(502, changed);
}

struct run_step
run_head(struct fill *f, const struct response *rs)
{
	struct run *r = f->run;
	struct range first = slices_bytes(r->number, r->total),
		     last = slices_bytes(r->end - 1, r->total);
	struct range want = {first.at, last.at + last.n - first.at};
	struct slices_question q = {buf_str(&r->head), r->total, want,
				    doubt_is_elsewhere(f, r->object)};
	enum slices_answer a = slices_answer(&q, rs, keep_length(rs));
	struct run_step again = {.next = RUN_ASKS_AGAIN};
	if (doubt_asks_again(f, &r->names, a))
		return again;
	bool for_all = doubt_is_for_all(f, rs, r->terms.flags & TERMS_ONE_FORM);
	bool renamed = a == SLICES_RENAMED;
	a = renamed ? SLICES_IGNORED : a;
	bool near = a == SLICES_IGNORED && for_all && first.at <= SKIP_MOST;
	if (!near && slices_is_refused(a, rs->status) && again_may(f, &r->again, rs, &again.at_ms))
		return again;
	if (!renamed && (a != SLICES_IT || !for_all))
		doubt_head(f, r->object, rs, a, for_all);
	if (a == SLICES_IT && !for_all)
		a = SLICES_CHANGED;
	return use(f, rs, a, near);
}

struct run_step
run_unanswered(struct fill *f, const struct fetch_result *r)
{
	struct run_step again = {.next = RUN_ASKS_AGAIN};
	bool asks = f->stage == FILL_ASKING && again_helps(r->end) &&
		    again_may(f, &f->run->again, NULL, &again.at_ms);
	return asks ? again : ends(r->status, r->word);
}

/* ---- slices as they come ------------------------------------------------------------------- */

void
run_begin_write(struct fill *f, bool disk)
{
	struct run *r = f->run;
	struct range s = slices_bytes(r->number, r->total);
	make_key(f, r->number);
	struct write_options o = {
		.hash = r->key.hash,
		.key = buf_str(&r->key.text),
		.tags = buf_str(&f->tags),
		.terms = r->terms,
		.begun = f->begun,
		.kind = OBJECT_SLICE,
		.body_bytes = s.n,
		.whole_bytes = r->total,
		.disk = disk,
		.written = &f->claims.written,
	};
	o.terms.etag_at = o.terms.etag_bytes = 0; /* it has no head of its own */
	f->filed.key_bytes = r->key.text.n;
	f->filed.head_bytes = 0;
	f->in.write = cache_write_begin(f->serve->shelves->cache, &o);
	if (disk)
		keep_set_aside(f, s.n);
}

/* The URL may have been admitted since the request that this trip is for was judged. */
bool
run_is_admitted(const struct fill *f)
{
	const struct run *r = f->run;
	bool late = r->object && r->object->on_disk;
	bool judged = !r->each || r->number == r->judged;
	bool ours = (judged && f->sighting.writes) ||
		    (late && f->sighting.verdict == ADMISSION_FIRST_SIGHT);
	return flight_is_wanted(f->flight) ||
	       (ours && seen_may_write(f->serve->shelves->seen, &f->sighting,
				       slices_bytes(r->number, r->total).n));
}

/* The slice under way, of so many bytes, is whole: an object from now on. A reference, or NULL. */
/* Sightings of the slice under way that were not told of: by those who read its flight, or of a tap's own range. */
static unsigned
untold_sightings(struct fill *f)
{
	struct run *r = f->run;
	unsigned n = r->kind == RUN_CUT ? flight_followers(f->flight) : r->untold;
	r->untold = false;
	return n;
}

struct object *
run_commit(struct fill *f, uint64_t bytes)
{
	struct run *r = f->run;
	struct metrics *m = f->serve->metrics;
	bool wanted = run_is_admitted(f);
	struct object *o = cache_write_commit(&f->in.write, wanted);
	keep_settle(f);
	if (!wanted && f->sighting.verdict == ADMISSION_FIRST_SIGHT)
		metrics_add(m, METRIC_REFUSED_BYTES, bytes);
	struct billed_slice s = billed(f, r->number, untold_sightings(f));
	bill_slice_fetched(f, &s);
	r->billed = true;
	return o;
}

/* Its flight has a head from now on, and the one behind it can be joined. */
static void
begin(struct fill *f)
{
	struct run *r = f->run;
	run_begin_write(f, run_is_admitted(f));
	f->in.stored = 0;
	f->in.stores = slices_bytes(r->number, r->total).n;
	if (r->number + 1 < r->end)
		r->next = lead(f, r->number + 1);
	make_key(f, r->number);
	r->begun = true;
	r->alone_since_ms = 0;
	struct flight_head h = {
		.status = 206,
		.body_bytes = f->in.stores,
		.storable = true,
		.kept = cache_write_is_alive(f->in.write),
		.had = f->asked.had,
	};
	buf_add_str(&h.tags, buf_str(&f->tags));
	flight_publish(f->flight, &h);
}

static struct run_step
end_slice(struct fill *f)
{
	struct run *r = f->run;
	flight_end(f->flight, run_commit(f, f->in.stored));
	flights_close(f->flight);
	r->begun = false;
	r->number++;
	if (r->number < r->end && r->next) {
		let_go(&r->before);
		r->before = f->flight;
		f->flight = r->next;
		r->next = NULL;
		return goes_on;
	}
	fill_move(f, FILL_WHOLE);
	/* The exchange ends by itself, and its connection is kept. */
	return r->number == r->end ? goes_on : ends(0, by_another);
}

/* Is the next slice begun? When somebody reads it. */
static struct run_step
turn(struct fill *f)
{
	struct run *r = f->run;
	int64_t now = now_ms();
	if (!is_clean(f))
		return ends(0, "forgotten"); /* those who came since must not get this */
	if (flight_awaits_reader(f->flight))
		return goes_on;
	if (r->before && flight_readers(r->before)) {
		r->alone_since_ms = 0;
		return waits; /* we are woken when the last one leaves */
	}
	if (!r->alone_since_ms)
		r->alone_since_ms = now;
	if (now - r->alone_since_ms >= GRACE_MS)
		return ends(0, "nobody-reads");
	fill_ask_again(f, r->alone_since_ms + GRACE_MS);
	return waits;
}

struct run_step
run_publish(struct fill *f, struct flight_head *h)
{
	struct run *r = f->run;
	struct flight *first = r->next;
	fill_publish(f, h);
	flight_end(f->flight, NULL);
	if (!first) { /* somebody brings slices of it already */
		fill_move(f, FILL_WHOLE);
		return ends(0, by_another);
	}
	let_go(&f->flight);
	f->flight = first;
	r->next = NULL;
	return goes_on;
}

struct run_step
run_body(struct fill *f, const char *p, size_t n)
{
	struct run *r = f->run;
	run_check(f);
	size_t over = n - f->taken < r->skip ? n - f->taken : (size_t)r->skip;
	f->taken += over;
	r->skip -= over;
	metrics_add(f->serve->metrics, METRIC_BYTES_FROM_ORIGIN, over);
	while (f->taken < n) {
		if (r->number == r->end) /* all of its range is here; chunked, it goes on */
			return ends(0, "longer-than-its-range");
		if (!r->begun) {
			struct run_step step = turn(f);
			if (step.next != RUN_GOES_ON)
				return step;
			begin(f);
		}
		uint64_t left = f->in.stores - f->in.stored;
		size_t most = n - f->taken < left ? n - f->taken : (size_t)left;
		size_t got = intake_add(&f->in, f->flight, p + f->taken, most, now_ms());
		f->taken += got;
		metrics_add(f->serve->metrics, METRIC_BYTES_FROM_ORIGIN, got);
		if (got < most) {
			if (flight_readers(f->flight) > 1)
				fill_ask_again(f, now_ms() + FLIGHT_ASK_MS);
			return waits;
		}
		if (f->in.stored < f->in.stores)
			continue;
		struct run_step step = end_slice(f);
		if (step.next == RUN_ENDS)
			return step;
	}
	f->taken = 0;
	return goes_on;
}
