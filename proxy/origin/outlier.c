/* outlier.c - failures in a row, by their sources, against what was answered well. */
#include "proxy/origin/outlier.h"

enum { COUNT_MOST = UINT16_MAX };

/* The failures since the last good answer, as the word `row` has them. */
struct row {
	unsigned failures, nobodys;
	unsigned clients, urls; /* a bit for each place */
};

static struct row
row_of(uint64_t word)
{
	return (struct row){
		.failures = (unsigned)(word & COUNT_MOST),
		.nobodys = (unsigned)(word >> 16 & COUNT_MOST),
		.clients = (unsigned)(word >> 32 & COUNT_MOST),
		.urls = (unsigned)(word >> 48),
	};
}

static uint64_t
word_of(const struct row *r)
{
	return (uint64_t)r->urls << 48 | (uint64_t)r->clients << 32 | (uint64_t)r->nobodys << 16 |
	       r->failures;
}

static unsigned
place_of(uint32_t hash)
{
	return hash % OUTLIER_PLACES;
}

static uint32_t
step_of(int64_t ms)
{
	return (uint32_t)(ms / OUTLIER_STEP_MS) + 1;
}

/* Seldom written, for all workers read what lies beside it. */
static void
note(_Atomic uint32_t *at, uint32_t step)
{
	if (atomic_load_explicit(at, memory_order_relaxed) != step)
		atomic_store_explicit(at, step, memory_order_relaxed);
}

unsigned
outlier_well(struct outlier *o, struct source s, int64_t now_ms)
{
	note(&o->clients.well[place_of(s.client)], step_of(now_ms));
	note(&o->urls.well[place_of(s.url)], step_of(now_ms));
	if (!atomic_load_explicit(&o->row, memory_order_relaxed))
		return 0;
	return row_of(atomic_exchange(&o->row, 0)).failures;
}

static unsigned
one_more(unsigned n)
{
	return n < COUNT_MOST ? n + 1 : n;
}

unsigned
outlier_failed(struct outlier *o, struct source s, bool nobodys, int64_t now_ms)
{
	uint64_t word = atomic_load(&o->row);
	struct row r;
	nobodys |= !s.client || !s.url;
	if (!nobodys) {
		note(&o->clients.failed[place_of(s.client)], step_of(now_ms));
		note(&o->urls.failed[place_of(s.url)], step_of(now_ms));
	}
	do {
		r = row_of(word);
		r.failures = one_more(r.failures);
		if (nobodys) {
			r.nobodys = one_more(r.nobodys);
		} else {
			r.clients |= 1u << place_of(s.client);
			r.urls |= 1u << place_of(s.url);
		}
	} while (!atomic_compare_exchange_weak(&o->row, &word, word_of(&r)));
	return r.failures;
}

static uint32_t
load(const _Atomic uint32_t *at)
{
	return atomic_load_explicit(at, memory_order_relaxed);
}

static bool
is_within(uint32_t step, int64_t now_ms, int64_t for_ms)
{
	return step && (int32_t)(step_of(now_ms) - step) < (int32_t)(for_ms / OUTLIER_STEP_MS);
}

/* How many of the places, but for those of the mask, had a good answer lately. */
static unsigned
count_well(const struct outlier_places *p, unsigned but, int64_t now_ms, int64_t for_ms)
{
	unsigned n = 0;
	for (unsigned i = 0; i < OUTLIER_PLACES; i++)
		n += !(but >> i & 1) && is_within(load(&p->well[i]), now_ms, for_ms);
	return n;
}

static unsigned
count_bits(unsigned mask)
{
	return (unsigned)__builtin_popcount(mask);
}

/* The failures in a row are too many. */
static bool
is_row(const struct outlier *o, int64_t now_ms)
{
	struct row r = row_of(atomic_load(&o->row));
	unsigned clients = count_bits(r.clients) + r.nobodys;
	unsigned urls = count_bits(r.urls) + r.nobodys;
	if (r.failures < OUTLIER_FAILURES)
		return false;
	if (clients >= OUTLIER_SEVERAL && urls >= OUTLIER_SEVERAL)
		return true;
	return !count_well(&o->clients, 0, now_ms, OUTLIER_SILENCE_MS) &&
	       clients > count_well(&o->clients, r.clients, now_ms, OUTLIER_WELL_MS) &&
	       urls > count_well(&o->urls, r.urls, now_ms, OUTLIER_WELL_MS);
}

/* The last answers were failures in most places, of so many at least. */
static bool
are_most(const struct outlier_places *p, int64_t now_ms)
{
	unsigned failed = 0, well = 0;
	for (unsigned i = 0; i < OUTLIER_PLACES; i++) {
		uint32_t good = load(&p->well[i]), bad = load(&p->failed[i]);
		bool fails = bad && (!good || (int32_t)(bad - good) > 0);
		failed += fails && is_within(bad, now_ms, OUTLIER_WELL_MS);
		well += !fails && is_within(good, now_ms, OUTLIER_WELL_MS);
	}
	return failed >= OUTLIER_FAILURES && failed > 2 * well;
}

bool
outlier_is(const struct outlier *o, int64_t now_ms)
{
	return is_row(o, now_ms) || (are_most(&o->clients, now_ms) && are_most(&o->urls, now_ms));
}

static void
forget_failed(struct outlier_places *p)
{
	for (unsigned i = 0; i < OUTLIER_PLACES; i++)
		atomic_store_explicit(&p->failed[i], 0, memory_order_relaxed);
}

void
outlier_forget(struct outlier *o)
{
	atomic_store(&o->row, 0);
	forget_failed(&o->clients);
	forget_failed(&o->urls);
}

#define COPY(to, from)                                                              \
	atomic_store_explicit(to, atomic_load_explicit(from, memory_order_relaxed), \
			      memory_order_relaxed)

static void
copy_places(struct outlier_places *to, const struct outlier_places *from)
{
	for (unsigned i = 0; i < OUTLIER_PLACES; i++) {
		COPY(&to->well[i], &from->well[i]);
		COPY(&to->failed[i], &from->failed[i]);
	}
}

void
outlier_copy(struct outlier *to, const struct outlier *from)
{
	COPY(&to->row, &from->row);
	copy_places(&to->clients, &from->clients);
	copy_places(&to->urls, &from->urls);
}
