/* seen_snapshot.c - the memory of sightings in a file, packed, over restarts. */
#include "proxy/cache/admission/seen_inside.h"

#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_files.h"
#include "filter/family/cascade.h"
#include "filter/sizing.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

static const char FILE_NAME[] = "filter", ELDER_NAME[] = "filter.old";

/* A filter is mostly zeros for most of its life; packed, its snapshot is as large as what it knows.
 * Damage is found by the filter's own checksums, whatever the packing makes of it. */
enum { PACK_BYTES = 128 << 10 };

struct unpacking {
	int fd;
	ZSTD_DStream *z;
	ZSTD_inBuffer in;
	bool ended;
	int error;		      /* of a read that failed; 0: none did */
	char head[TWICE_FILTER_HEAD]; /* of what it is a snapshot of, looked at before it is read */
	size_t head_n, head_at;
	char bytes[PACK_BYTES];
};

static size_t
unpack(struct unpacking *u, void *p, size_t n)
{
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

static size_t
read_unpacked(void *ctx, void *p, size_t n)
{
	struct unpacking *u = ctx;
	size_t left = u->head_n - u->head_at, part = left < n ? left : n;
	memcpy(p, u->head + u->head_at, part);
	u->head_at += part;
	return part + (part < n ? unpack(u, (char *)p + part, n - part) : 0);
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

/* A filter of this capacity writes at most this, at a rate of 1e-6, the lowest that may be set: two
 * generations of 4-bit cells, or one of stable's, 34 bytes a key with a stripe's spare room; two
 * that have grown to 16 times their capacity 300; and some for the heads. */
static uint64_t
snapshot_most(const struct twice_filter_options *o)
{
	uint64_t bytes_per_key = o->kind == TWICE_FILTER_SCALABLE ? 320 : 40;
	return o->capacity * bytes_per_key + (1 << 20);
}

/* ---- filters of other options ---------------------------------------------------------------- */

static bool
is_pair(const struct twice_filter_options *o)
{
	return twice_filter_kind_for(o) == TWICE_FILTER_PAIR;
}

static bool
is_same_shape(const struct twice_filter_options *a, const struct twice_filter_options *b)
{
	return twice_filter_kind_for(a) == twice_filter_kind_for(b) && a->capacity == b->capacity &&
	       a->false_positives == b->false_positives &&
	       (is_pair(a) || (a->sightings == b->sightings && a->recall == b->recall));
}

static uint64_t
bytes_of_pair(uint64_t capacity, double false_positives)
{
	enum { LINE = 64, COLUMNS = 4, WORD_BITS = 62, GENERATIONS = 2 };
	struct twice_sizing_plan plan;
	return twice_sizing_plan_lines(&plan, COLUMNS, WORD_BITS, GENERATIONS, capacity,
				       false_positives)
		       ? plan.lines * LINE
		       : UINT64_MAX >> 5; /* fourteen of them are no overflow */
}

/* Its memory, or what it may grow to. */
static uint64_t
bytes_of(const struct twice_filter_options *o)
{
	enum twice_filter_kind kind = twice_filter_kind_for(o);
	if (kind != TWICE_FILTER_PAIR && kind != TWICE_FILTER_CASCADE)
		return snapshot_most(o);
	uint64_t first = bytes_of_pair(o->capacity, o->false_positives);
	if (kind == TWICE_FILTER_PAIR)
		return first;
	return first + (o->sightings - 2) * bytes_of_pair(twice_sizing_later_capacity(o->capacity),
							  o->false_positives);
}

/* An elder takes its memory beside the filter's own. Whoever makes that smaller may have had a reason. */
static bool
fits_beside(const struct twice_filter_options *elder, const struct twice_filter_options *o)
{
	static const uint64_t least = 64 << 20;
	uint64_t most = 4 * bytes_of(o);
	return bytes_of(elder) <= (most > least ? most : least);
}

/* The options of the snapshot; what cannot be told is taken for ours, and loading says why it is not. */
static struct twice_filter_options
options_as_saved(const struct seen *s, const struct unpacking *u)
{
	const struct twice_seed *seed = cache_seed(s->cache);
	struct twice_filter_options o;
	struct twice_pair_options p;
	if (u->head_n >= TWICE_PAIR_HEAD && twice_pair_saved_options(u->head, seed, &p))
		o = (struct twice_filter_options){.kind = TWICE_FILTER_PAIR,
						  .sightings = 2,
						  .capacity = p.capacity,
						  .false_positives = p.false_positives};
	else if (u->head_n < sizeof u->head || !twice_filter_saved_options(u->head, seed, &o))
		return s->memory_options;
	o.rotate_after_s = s->memory_options.rotate_after_s;
	o.seed = s->memory_options.seed;
	return is_same_shape(&o, &s->memory_options) ? s->memory_options : o;
}

/* ---- reading -------------------------------------------------------------------------------- */

static const char *
load(const struct seen *s, struct unpacking *u, int64_t now, struct remembered *r)
{
	const struct twice_seed *seed = cache_seed(s->cache);
	const struct twice_filter_options *o = &r->options;
	struct twice_pair_options pair = {o->capacity, o->false_positives, o->rotate_after_s};
	if (!is_same_shape(o, &s->memory_options) && !fits_beside(o, &s->memory_options))
		return "it was made for a filter several times as large, which would take its memory "
		       "beside this one's";
	if (is_pair(o))
		return twice_pair_load(
			&r->pair, is_same_shape(o, &s->memory_options) ? &s->pair_options : &pair,
			seed, now, read_unpacked, u);
	struct twice_filter_place here = {seed, now};
	struct twice_snapshot_source from = {
		.read = read_unpacked, .ctx = u, .limit = snapshot_most(o)};
	return twice_filter_load(&r->memory, o, &here, from);
}

/* In front of the packed filter: what its generation has admitted so far; and, if there is an elder, since which
 * generation. */
struct birth {
	int64_t admitted;
	bool has_elder;
	uint64_t since;
};
enum { BIRTH_SUM = 8, BIRTH_BYTES = 24, BIRTH_WITH_ELDER = 32 };
static const char BIRTH_MAGIC[8] = "TWseen1", BIRTH_MAGIC_WITH_ELDER[8] = "TWseen2";

static size_t
birth_format(const struct birth *b, char to[BIRTH_WITH_ELDER])
{
	size_t n = b->has_elder ? BIRTH_WITH_ELDER : BIRTH_BYTES;
	memcpy(to, b->has_elder ? BIRTH_MAGIC_WITH_ELDER : BIRTH_MAGIC, 8);
	memcpy(to + 8, &b->admitted, 8);
	memcpy(to + 16, &b->since, 8);
	uint64_t sum = XXH3_64bits(to, n - BIRTH_SUM);
	memcpy(to + n - BIRTH_SUM, &sum, BIRTH_SUM);
	return n;
}

/* Snapshots without it are older ones: then the filter begins at once. */
static void
read_birth(int fd, struct birth *b, int *error)
{
	char is[BIRTH_WITH_ELDER], right[BIRTH_WITH_ELDER];
	ssize_t n = read(fd, is, sizeof is);
	*error = n < 0 ? errno : 0;
	*b = (struct birth){0};
	if (n >= BIRTH_BYTES) {
		b->has_elder = memcmp(is, BIRTH_MAGIC_WITH_ELDER, 8) == 0;
		memcpy(&b->admitted, is + 8, 8);
		if (b->has_elder)
			memcpy(&b->since, is + 16, 8);
	}
	size_t bytes = birth_format(b, right);
	if (n < (ssize_t)bytes || memcmp(is, right, bytes) != 0) {
		*b = (struct birth){0};
		bytes = 0;
	}
	lseek(fd, (off_t)bytes, SEEK_SET);
}

static const char *
read_file(const struct seen *s, int fd, int64_t now, struct remembered *r, struct birth *b)
{
	struct unpacking *u = NEW(struct unpacking);
	read_birth(fd, b, &u->error);
	u->fd = fd;
	u->z = ZSTD_createDStream();
	if (u->z)
		u->head_n = unpack(u, u->head, sizeof u->head);
	r->options = options_as_saved(s, u);
	const char *why = u->z ? load(s, u, now, r) : "no memory";
	if (why && u->error)
		why = strerror(u->error);
	ZSTD_freeDStream(u->z);
	free(u);
	return why;
}

/* The filter in the file of this name, or NULL: there is none, or it is ignored with a warning. */
static struct remembered *
read_snapshot(const struct seen *s, const char *name, int64_t now, struct birth *b)
{
	struct remembered *r = NEW(struct remembered);
	int fd = cache_open_file(s->cache, name);
	bool none = fd < 0 && errno == ENOENT;
	const char *why = fd < 0 ? strerror(errno) : read_file(s, fd, now, r, b);
	if (fd >= 0)
		close(fd);
	if (!why)
		return r;
	seen_elder_destroy(&r);
	if (!none)
		log_warning(
			"cache %s: the filter's snapshot is ignored (%s): known URLs count as new",
			cache_directory(s->cache), why);
	return NULL;
}

/* It learns from now on. */
static void
take(struct seen *s, struct remembered *r, const struct birth *b)
{
	s->pair = r->pair;
	s->memory = r->memory;
	atomic_store(&s->admitted, b->admitted);
	free(r);
}

/* The options are other ones, or those of the elder again: the two change places, or an empty one begins. */
static void
move(struct seen *s, struct remembered *was, struct remembered *elder, const struct birth *b,
     uint64_t turned, int64_t now)
{
	if (elder && is_same_shape(&elder->options, &s->memory_options)) {
		seen_elder_turn(elder, turned, now);
		take(s, elder, b);
	} else {
		seen_elder_destroy(&elder);
	}
	atomic_store(&s->elder.now, was);
	s->saved.moves = true;
	log_info(
		"cache %s: the filter is made with other options than the one that was saved; what "
		"that one knows counts until two generations have ended",
		cache_directory(s->cache));
}

void
seen_restore(struct seen *s, int64_t now)
{
	struct birth b, elders = {0};
	struct remembered *r = s->on_disk ? read_snapshot(s, FILE_NAME, now, &b) : NULL,
			  *elder = NULL;
	if (!r)
		return;
	uint64_t turned = seen_generation(r->pair, r->memory) - b.since;
	s->saved.has_elder = b.has_elder;
	if (b.has_elder && turned < ELDER_TURNS)
		elder = read_snapshot(s, ELDER_NAME, now, &elders);
	if (!is_same_shape(&r->options, &s->memory_options)) {
		move(s, r, elder, &elders, turned, now);
		return;
	}
	take(s, r, &b);
	if (!elder)
		return;
	seen_elder_turn(elder, turned, now);
	s->elder.since = b.since;
	s->elder.saved = true;
	atomic_store(&s->elder.now, elder);
}

/* ---- saving --------------------------------------------------------------------------------- */

struct saving {
	const struct seen *s;
	const struct twice_pair *pair; /* one of the two */
	const struct twice_filter *memory;
	struct birth birth;
	int64_t now;
};

static int
fill(int (*write)(void *, const void *, size_t), void *to, void *ctx)
{
	const struct saving *v = ctx;
	const struct twice_seed *seed = cache_seed(v->s->cache);
	struct packing *k = NEW(struct packing);
	char birth[BIRTH_WITH_ELDER];
	k->z = ZSTD_createCStream();
	k->write = write;
	k->to = to;
	int r = write(to, birth, birth_format(&v->birth, birth));
	if (r == 0 && !k->z)
		r = -1;
	if (r == 0 && v->pair)
		r = twice_pair_save(v->pair, seed, v->now, write_packed, k);
	else if (r == 0)
		r = twice_filter_save(
			v->memory, &(struct twice_filter_place){seed, v->now},
			(struct twice_snapshot_sink){.write = write_packed, .ctx = k});
	if (r == 0)
		r = pack(k, NULL, 0, ZSTD_e_end);
	ZSTD_freeCStream(k->z);
	free(k);
	return r;
}

/* Of pairs these numbers tell what a snapshot holds; in the others a known key raises a count, or makes one be
 * forgotten. */
struct numbers {
	bool tell;
	uint64_t keys, number;
};

static struct numbers
numbers_of(const struct seen *s)
{
	const struct twice_cascade *c = s->memory ? twice_filter_cascade(s->memory) : NULL;
	struct twice_pair_stats is;
	if (c)
		return (struct numbers){true, twice_cascade_keys(c), twice_cascade_number(c)};
	if (!s->pair)
		return (struct numbers){false, 0, 0};
	twice_pair_stats(s->pair, &is);
	return (struct numbers){true, is.keys, is.number};
}

/* Nothing new, nothing written. */
static bool
is_saved(const struct seen *s, const struct numbers *is)
{
	return is->tell && !s->saved.moves && is->keys == s->saved.keys &&
	       is->number == s->saved.number;
}

/* Once, for it learns nothing. Without it the other one is saved all the same: then a restart forgets it. */
static void
save_elder(struct seen *s, int64_t now)
{
	const struct remembered *r = atomic_load(&s->elder.now);
	struct saving v = {.s = s, .now = now};
	if (!r || s->elder.saved)
		return;
	v.pair = r->pair;
	v.memory = r->memory;
	s->elder.saved = cache_save_file(s->cache, ELDER_NAME, fill, &v) == 0;
	s->saved.has_elder |= s->elder.saved;
	if (!s->elder.saved)
		log_warning(
			"cache %s: cannot save the filter of before its options changed: %s; after "
			"a restart the URLs that it knows would count as new",
			cache_directory(s->cache), strerror(errno));
}

static bool
save(struct seen *s, int64_t now)
{
	bool has_elder = s->elder.saved && atomic_load(&s->elder.now);
	struct saving v = {.s = s,
			   .pair = s->pair,
			   .memory = s->memory,
			   .birth = {.admitted = atomic_load(&s->admitted),
				     .has_elder = has_elder,
				     .since = has_elder ? s->elder.since : 0},
			   .now = now};
	seen_log_snapshot_begin(s->log);
	bool saved = cache_save_file(s->cache, FILE_NAME, fill, &v) == 0;
	int error = errno;
	seen_log_snapshot_end(s->log, saved);
	if (saved && !has_elder && s->saved.has_elder) {
		cache_remove_file(s->cache, ELDER_NAME);
		s->saved.has_elder = false;
	}
	errno = error;
	return saved;
}

void
seen_save(struct seen *s, int64_t now)
{
	struct numbers is = numbers_of(s);
	seen_choice_save(s);
	if (!s->on_disk || is_saved(s, &is))
		return;
	save_elder(s, now);
	s->saved.moves = false; /* from here on as ever */
	if (!save(s, now)) {
		log_warning(
			"cache %s: cannot save the filter's snapshot: %s; after a restart known URLs "
			"would count as new",
			cache_directory(s->cache), strerror(errno));
		return;
	}
	s->saved.keys = is.keys;
	s->saved.number = is.number;
}
