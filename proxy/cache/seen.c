/* seen.c - chooses the memory, restores it, keeps its snapshot; asks the rule.
 *
 * The pair is asked directly: it is the hot path's one memory access per request.
 */
#include "proxy/cache/seen.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/cache/budget.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_files.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/cache/recent.h"
#include "proxy/cache/turn.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

struct seen {
	struct cache *cache;
	bool on_disk;
	struct twice_pair *pair; /* one of the two */
	struct twice_filter *memory;
	struct twice_pair_options pair_options;
	struct twice_filter_options memory_options;
	int64_t born_s;
	uint64_t saved_keys, saved_number; /* of the last snapshot: is_saved */
	_Atomic unsigned sightings;
	_Atomic double fill_until;
	uint64_t max_object_bytes;
	struct budget budget;
	_Atomic double disk_used_share; /* as of the last tick */
	bool by_turns;			/* generations end with a quarter of a turn of the log */
	_Atomic uint64_t turn_bytes;	/* of the log, as of the last tick: turn.h */
	_Atomic uint64_t turning;	/* the generation that admitted counts for */
	_Atomic int64_t admitted;	/* bytes since it began */
	_Atomic double interval_s;	/* of the one before; 0: not known */
	uint64_t ticked_number;		/* the keeper's: the generation at the last tick, */
	int64_t turned_ms;		/* and since when it was known; 0: it was there at start */
	struct recent first_bytes;	/* which address asked for the first byte of what */
};

static const char FILE_NAME[] = "filter";

void
seen_prefetch(const struct seen *s, struct twice_key_hash h)
{
	if (s->pair)
		twice_pair_prefetch(s->pair, h);
}

/* ---- the rule ------------------------------------------------------------------------------ */

static struct twice_filter_sight
test(const struct seen *s, struct twice_key_hash h)
{
	if (!s->pair)
		return twice_filter_test(s->memory, h);
	enum twice_sight was = twice_pair_test(s->pair, h);
	return (struct twice_filter_sight){was, was != TWICE_SIGHT_FIRST};
}

static struct twice_filter_sight
record(struct seen *s, struct twice_key_hash h)
{
	if (!s->pair)
		return twice_filter_record(s->memory, h);
	enum twice_sight was = twice_pair_record(s->pair, h);
	return (struct twice_filter_sight){was, was != TWICE_SIGHT_FIRST};
}

static struct sighting_settings
settings_of(const struct seen *s)
{
	return (struct sighting_settings){
		.sightings = atomic_load_explicit(&s->sightings, memory_order_relaxed),
		.max_object_bytes = s->max_object_bytes,
		.fill_until = atomic_load_explicit(&s->fill_until, memory_order_relaxed),
	};
}

static uint64_t
first_byte(struct twice_key_hash key, const struct sighting_facts *f)
{
	return key.lo ^ f->client;
}

static void
complete(const struct seen *s, struct twice_key_hash key, struct sighting_facts *f)
{
	f->disk_used_share = atomic_load_explicit(&s->disk_used_share, memory_order_relaxed);
	f->over_budget = budget_is_over(&s->budget);
	if (f->kind == SIGHTING_RANGE_FIRST &&
	    recent_has(&s->first_bytes, first_byte(key, f), f->now_s))
		f->kind = SIGHTING_RANGE_REPEATED;
}

struct sighting
seen_look(const struct seen *s, struct twice_key_hash key, struct sighting_facts *f)
{
	complete(s, key, f);
	if (f->kind != SIGHTING_BACKGROUND)
		f->known = test(s, key);
	struct sighting_settings settings = settings_of(s);
	return sighting_decide(&settings, f);
}

struct sighting
seen_judge(struct seen *s, struct twice_key_hash key, struct sighting_facts *f)
{
	complete(s, key, f);
	if (f->kind != SIGHTING_BACKGROUND)
		f->known = sighting_counts(f) ? record(s, key) : test(s, key);
	if (f->kind == SIGHTING_RANGE_FIRST && sighting_counts(f))
		recent_note(&s->first_bytes, first_byte(key, f), f->now_s);
	struct sighting_settings settings = settings_of(s);
	return sighting_decide(&settings, f);
}

struct sighting
seen_at_end(const struct seen *s, struct sighting_facts *f, unsigned followers, uint64_t body_bytes)
{
	f->over_budget = budget_is_over(&s->budget);
	struct sighting_settings settings = settings_of(s);
	return sighting_at_end(&settings, f, followers, body_bytes);
}

/* What must be true of it, once it is open. O(1). */
static void
check(const struct seen *s)
{
	uint64_t turning = atomic_load(&s->turning); /* before the number that it follows */
	assert((s->pair != NULL) != (s->memory != NULL));
	assert(!s->by_turns || s->pair);
	assert(!s->pair || turning <= twice_pair_number(s->pair));
	assert(settings_of(s).sightings > 0);
}

/* ---- when a generation ends ---------------------------------------------------------------- */

/* Counts for the current generation; ends it when that is enough. Whoever is late for that finds
 * another number. admitted is 0 before turning says whose it is, or a thread would end the new
 * generation by the old one's bytes; what others charge between the two is not counted. */
static void
turn(struct seen *s, int64_t bytes)
{
	uint64_t number = twice_pair_number(s->pair), was = atomic_load(&s->turning);
	if (was < number) { /* it began because it was full, or was ended here */
		atomic_store(&s->admitted, 0);
		atomic_compare_exchange_strong(&s->turning, &was, number);
	}
	int64_t admitted = atomic_fetch_add(&s->admitted, bytes) + bytes;
	uint64_t bytes_of_log = atomic_load_explicit(&s->turn_bytes, memory_order_relaxed);
	if (turn_is_over(bytes_of_log, admitted, 0))
		twice_pair_try_rotate(s->pair, number);
}

void
seen_charge(struct seen *s, int64_t bytes)
{
	budget_charge(&s->budget, bytes);
	if (s->by_turns)
		turn(s, bytes);
}

static void
tick_turns(struct seen *s, int64_t now_s, uint64_t turn_bytes)
{
	struct twice_pair_stats is;
	atomic_store_explicit(&s->turn_bytes, turn_bytes, memory_order_relaxed);
	turn(s, 0);
	if (turn_bytes)
		return;
	twice_pair_stats(s->pair, &is);
	if (turn_is_over(0, 0, now_s - is.born_s))
		twice_pair_rotate(s->pair, now_s);
}

/* Several may have ended since the last tick. */
static void
note_turn(struct seen *s, int64_t now_ms)
{
	uint64_t number = twice_pair_number(s->pair), ended = number - s->ticked_number;
	if (!ended)
		return;
	if (s->turned_ms)
		atomic_store_explicit(&s->interval_s,
				      (double)(now_ms - s->turned_ms) / 1e3 / (double)ended,
				      memory_order_relaxed);
	s->ticked_number = number;
	s->turned_ms = now_ms;
}

double
seen_interval_s(const struct seen *s)
{
	return atomic_load_explicit(&s->interval_s, memory_order_relaxed);
}

void
seen_tick(struct seen *s, int64_t now_s, int64_t now_ms, const struct cache_stats *cache)
{
	check(s);
	double share =
		cache->limit_bytes ? (double)cache->used_bytes / (double)cache->limit_bytes : 0;
	budget_fill(&s->budget, now_ms, cache->written_bytes);
	atomic_store_explicit(&s->disk_used_share, share, memory_order_relaxed);
	if (s->pair)
		twice_pair_tick(s->pair, now_s);
	else
		twice_filter_tick(s->memory, now_s);
	if (s->by_turns)
		tick_turns(s, now_s, cache->turn_bytes);
	if (s->pair)
		note_turn(s, now_ms);
}

/* ---- snapshot ------------------------------------------------------------------------------ */

/* A filter is mostly zeros for most of its life; packed, its snapshot is as large as what it knows.
 * Damage is found by the filter's own checksums, whatever the packing makes of it. */
enum { PACK_BYTES = 128 << 10 };

struct unpacking {
	int fd;
	ZSTD_DStream *z;
	ZSTD_inBuffer in;
	bool ended;
	int error; /* of a read that failed; 0: none did */
	char bytes[PACK_BYTES];
};

static size_t
read_unpacked(void *ctx, void *p, size_t n)
{
	struct unpacking *u = ctx;
	ZSTD_outBuffer out = {p, n, 0};
	while (out.pos < n && !u->ended) {
		if (u->in.pos == u->in.size) {
			ssize_t got = read(u->fd, u->bytes, sizeof u->bytes);
			u->ended = got <= 0;
			u->error = got < 0 ? errno : u->error;
			u->in = (ZSTD_inBuffer){u->bytes, got > 0 ? (size_t)got : 0, 0};
		}
		size_t r = ZSTD_decompressStream(u->z, &out, &u->in);
		u->ended = u->ended || ZSTD_isError(r);
	}
	return out.pos;
}

struct packing {
	ZSTD_CStream *z;
	int (*write)(void *, const void *, size_t);
	void *to;
	char bytes[PACK_BYTES];
};

static int
pack(struct packing *k, const void *p, size_t n, ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = {p, n, 0};
	for (;;) {
		ZSTD_outBuffer out = {k->bytes, sizeof k->bytes, 0};
		size_t left = ZSTD_compressStream2(k->z, &out, &in, end);
		if (ZSTD_isError(left) || (out.pos && k->write(k->to, k->bytes, out.pos)))
			return -1;
		if (in.pos == in.size && (end == ZSTD_e_continue || left == 0))
			return 0;
	}
}

static int
write_packed(void *ctx, const void *p, size_t n)
{
	return pack(ctx, p, n, ZSTD_e_continue);
}

/* What a filter of this capacity writes at most, at a rate of 1e-6, the lowest that may be set: two
 * generations of 4-bit cells, or one of stable's, 34 bytes a key with a stripe's spare room; two
 * that have grown to 16 times their capacity 300; and some for the heads. */
static uint64_t
snapshot_most(const struct twice_filter_options *o)
{
	uint64_t bytes_per_key = o->kind == TWICE_FILTER_SCALABLE ? 320 : 40;
	return o->capacity * bytes_per_key + (1 << 20);
}

static const char *
load(struct seen *s, struct unpacking *u, int64_t now)
{
	const struct twice_seed *seed = cache_seed(s->cache);
	if (twice_filter_kind_for(&s->memory_options) == TWICE_FILTER_PAIR)
		return twice_pair_load(&s->pair, &s->pair_options, seed, now, read_unpacked, u);
	struct twice_filter_place here = {seed, now};
	struct twice_snapshot_source from = {
		.read = read_unpacked, .ctx = u, .limit = snapshot_most(&s->memory_options)};
	return twice_filter_load(&s->memory, &s->memory_options, &here, from);
}

/* In front of the packed filter: what its generation has admitted so far. */
struct birth {
	char magic[8];
	int64_t admitted;
	uint64_t sum; /* of all before */
};
static const char BIRTH_MAGIC[8] = "TWseen1";

static uint64_t
sum_of(const struct birth *b)
{
	return XXH3_64bits(b, offsetof(struct birth, sum));
}

/* Snapshots without it are older ones: then the filter begins at once. */
static void
read_birth(struct seen *s, int fd, int *error)
{
	struct birth b;
	ssize_t n = read(fd, &b, sizeof b);
	*error = n < 0 ? errno : 0;
	bool right = n == (ssize_t)sizeof b && memcmp(b.magic, BIRTH_MAGIC, sizeof b.magic) == 0 &&
		     b.sum == sum_of(&b);
	if (right)
		atomic_store(&s->admitted, b.admitted);
	else
		lseek(fd, 0, SEEK_SET);
}

static int
write_birth(const struct seen *s, int (*write)(void *, const void *, size_t), void *to)
{
	struct birth b = {.admitted = atomic_load(&s->admitted)};
	memcpy(b.magic, BIRTH_MAGIC, sizeof b.magic);
	b.sum = sum_of(&b);
	return write(to, &b, sizeof b);
}

static const char *
read_snapshot(struct seen *s, int fd, int64_t now)
{
	struct unpacking *u = NEW(struct unpacking);
	read_birth(s, fd, &u->error);
	u->fd = fd;
	u->z = ZSTD_createDStream();
	const char *why = u->z ? load(s, u, now) : "no memory";
	if (why && u->error)
		why = strerror(u->error);
	ZSTD_freeDStream(u->z);
	free(u);
	return why;
}

/* why: NULL, or why the snapshot is of no use. */
static void
ignore(struct seen *s, const char *why)
{
	if (!why)
		return;
	atomic_store(&s->admitted, 0);
	log_warning("cache %s: the filter's snapshot is ignored (%s): known URLs count as new",
		    cache_directory(s->cache), why);
}

static void
restore(struct seen *s, int64_t now)
{
	int fd = s->on_disk ? cache_open_file(s->cache, FILE_NAME) : -1;
	if (fd >= 0) {
		ignore(s, read_snapshot(s, fd, now));
		close(fd);
	} else if (s->on_disk && errno != ENOENT) {
		ignore(s, strerror(errno));
	}
}

struct saving {
	struct seen *s;
	int64_t now;
};

static int
fill(int (*write)(void *, const void *, size_t), void *to, void *ctx)
{
	struct saving *saving = ctx;
	struct seen *s = saving->s;
	const struct twice_seed *seed = cache_seed(s->cache);
	struct packing *k = NEW(struct packing);
	k->z = ZSTD_createCStream();
	k->write = write;
	k->to = to;
	int r = write_birth(s, write, to);
	if (r == 0 && !k->z)
		r = -1;
	if (r == 0 && s->pair)
		r = twice_pair_save(s->pair, seed, saving->now, write_packed, k);
	else if (r == 0)
		r = twice_filter_save(
			s->memory, &(struct twice_filter_place){seed, saving->now},
			(struct twice_snapshot_sink){.write = write_packed, .ctx = k});
	if (r == 0)
		r = pack(k, NULL, 0, ZSTD_e_end);
	ZSTD_freeCStream(k->z);
	free(k);
	return r;
}

/* Nothing new, nothing written. Of the pair these numbers tell; in the others a known key raises a
 * count, or makes one be forgotten. */
static bool
is_saved(const struct seen *s, const struct twice_pair_stats *is)
{
	return s->pair && is->keys == s->saved_keys && is->number == s->saved_number;
}

void
seen_save(struct seen *s, int64_t now)
{
	struct twice_pair_stats is;
	seen_report(s, &is);
	if (!s->on_disk || is_saved(s, &is))
		return;
	struct saving saving = {s, now};
	if (cache_save_file(s->cache, FILE_NAME, fill, &saving)) {
		log_warning(
			"cache %s: cannot save the filter's snapshot: %s; after a restart known URLs "
			"would count as new",
			cache_directory(s->cache), strerror(errno));
		return;
	}
	s->saved_keys = is.keys;
	s->saved_number = is.number;
}

/* ---- life ---------------------------------------------------------------------------------- */

static bool
begin_empty(struct seen *s, int64_t now)
{
	if (twice_filter_kind_for(&s->memory_options) == TWICE_FILTER_PAIR)
		return twice_pair_create(&s->pair, &s->pair_options, now) == 0;
	s->memory = twice_filter_create(&s->memory_options, now);
	return s->memory != NULL;
}

int
seen_open(struct seen **out, const struct seen_options *o, char *err, size_t err_bytes)
{
	struct seen *s = NEW(struct seen);
	int64_t now = now_s();
	s->cache = o->cache;
	s->on_disk = o->saved;
	s->born_s = now;
	s->memory_options = o->memory;
	s->memory_options.seed = (uint64_t)now;
	bool by_turns = o->memory.rotate_after_s == 0;
	if (by_turns && twice_filter_kind_for(&s->memory_options) != TWICE_FILTER_PAIR)
		s->memory_options.rotate_after_s = TURN_DAY_S;
	s->max_object_bytes = o->max_object_bytes;
	atomic_init(&s->sightings, o->memory.sightings);
	atomic_init(&s->fill_until, o->rule.fill_until);
	budget_init(&s->budget, o->rule.write_budget_bytes_s, o->rule.write_budget_saved_s,
		    o->now_ms);
	s->pair_options = (struct twice_pair_options){
		.capacity = o->memory.capacity,
		.false_positives = o->memory.false_positives,
		.rotate_after_s = o->memory.rotate_after_s,
	};
	const char *why = twice_filter_may(&s->memory_options);
	if (!why) {
		restore(s, now);
		if (!s->pair && !s->memory && !begin_empty(s, now))
			why = "there is not enough memory: lower admission.capacity";
	}
	if (why) {
		snprintf(err, err_bytes, "admission: %s", why);
		seen_close(&s);
		return -1;
	}
	s->by_turns = by_turns && s->pair;
	if (s->pair) {
		s->ticked_number = twice_pair_number(s->pair);
		atomic_store(&s->turning, s->ticked_number);
	}
	*out = s;
	return 0;
}

void
seen_settle(struct seen *s, const struct seen_rule *rule)
{
	check(s);
	assert(!s->pair || (rule->sightings > 0 && rule->sightings <= 2));
	if (s->pair)
		atomic_store_explicit(&s->sightings, rule->sightings, memory_order_relaxed);
	atomic_store_explicit(&s->fill_until, rule->fill_until, memory_order_relaxed);
	budget_settle(&s->budget, rule->write_budget_bytes_s, rule->write_budget_saved_s);
}

void
seen_close(struct seen **sp)
{
	struct seen *s = *sp;
	*sp = NULL;
	if (!s)
		return;
	twice_pair_destroy(&s->pair);
	twice_filter_destroy(&s->memory);
	free(s);
}

void
seen_report(const struct seen *s, struct twice_pair_stats *out)
{
	if (s->pair) {
		twice_pair_stats(s->pair, out);
		return;
	}
	struct twice_filter_stats m;
	twice_filter_stats(s->memory, &m);
	*out = (struct twice_pair_stats){
		.number = m.generation,
		.rotations = m.generation,
		.keys = m.keys,
		.capacity = s->memory_options.capacity,
		.fill_ratio = m.fill_ratio,
		.estimated_fpr = m.estimated_fpr,
		.memory_bytes = (size_t)m.bytes,
		.born_s = s->born_s,
	};
}
