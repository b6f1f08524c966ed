/* pair.c - two generations in one array of lines: where a key lives, how it is added
 * exactly once, when a generation ends, and how stale lines are swept.
 *
 * The layout of a line and the rules for changing one are in pair_line.h.
 *
 * Exactly one FIRST. A key has bits in two columns, lower column first, always. A
 * thread looks at both, adds what is missing in that order, and has won if its own
 * swap added the missing bits of the last word that needed any. Two winners A and B
 * of one generation: say A's last word is not after B's. In the same word: only one
 * swap adds a missing bit. Otherwise B won in the second word, where A saw nothing
 * missing; so A looked after B's swap, hence after B had seen to the first word, and
 * found it complete there: nothing left for A to win. Of two generations: the later
 * winner has looked at g - 1 in columns that were turned to g, where nobody adds to
 * g - 1 any more, and would have seen the key there. (Should a different key happen to
 * set just the missing bits in between, both are told it was seen: a false positive
 * like any other.)
 *
 * No lost key. A thread that finds the generation changed after it added a key adds
 * it again to the new one.
 */
#include "filter/pair_inner.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	AHEAD = 32,	    /* keys whose lines are on their way in a batch */
	SWEEP_KEYS = 256,   /* a stripe's new keys between two pieces of sweeping */
	SWEEP_LINES = 4096, /* a piece when rotation waits for it */
	LINES_TO_LOOK = 256,
	LINES_TO_TELL = 2048,
	LOOKS = 64, /* look again after 1/64 of what is left to capacity */
	HUGE_PAGE = 2 << 20,
};

/* ---- where a key lives ---- */

struct place {
	struct column *column;
	uint64_t bits;
};

struct spot {
	struct place a, b; /* a is the lower column */
};

/* hi picks the line; lo the two columns (14 bits) and the bits (25 each). */
static inline struct spot
spot_of(const struct twice_pair *p, struct twice_key_hash h)
{
	static const unsigned char pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
	uint64_t at = (uint64_t)((unsigned __int128)h.hi * p->line_count >> 64);
	const unsigned char *two = pairs[(h.lo >> 50) * 6 >> 14];
	struct column *column = p->lines[at].column;

	return (struct spot){
		{column + two[0], pattern_bits(p->pattern, WORD_BITS, h.lo)},
		{column + two[1], pattern_bits(p->pattern, WORD_BITS, h.lo >> PATTERN_HASH)},
	};
}

/* ---- create, destroy ---- */

/* Zeroed lines; on huge pages when they are large enough, for a random access misses
 * the TLB as surely as the cache. */
static struct line *
lines_new(uint64_t count)
{
	size_t bytes = count * sizeof(struct line);
	size_t unit = bytes >= HUGE_PAGE ? HUGE_PAGE : LINE_BYTES;
	void *lines;

	if (posix_memalign(&lines, unit, bytes) != 0)
		return NULL;
	if (unit == HUGE_PAGE)
		madvise(lines, bytes, MADV_HUGEPAGE);
	memset(lines, 0, bytes);
	return lines;
}

struct twice_pair *
twice_pair_new(const struct twice_pair_options *o, int64_t now_s)
{
	struct twice_sizing_plan plan;

	if (!twice_sizing_plan_lines(&plan, LINE_COLUMNS, WORD_BITS, 2, o->capacity,
				     o->false_positives)) {
		errno = EINVAL;
		return NULL;
	}
	struct twice_pair *p = aligned_alloc(LINE_BYTES, sizeof(*p));
	struct line *lines = p ? lines_new(plan.lines) : NULL;
	if (!lines) {
		free(p);
		errno = ENOMEM;
		return NULL;
	}
	memset((void *)p, 0, sizeof(*p));
	p->lines = lines;
	p->line_count = plan.lines;
	p->options = *o;
	p->plan = plan;
	twice_pattern_fill(p->pattern, WORD_BITS, plan.line.per_word);
	atomic_store(&p->born_s, now_s);
	atomic_store(&p->clock_s, now_s);
	twice_pair_expect(p, 0, (struct twice_pair_count){0});
	return p;
}

int
twice_pair_create(struct twice_pair **out, const struct twice_pair_options *o, int64_t now_s)
{
	struct twice_pair *p = twice_pair_new(o, now_s);

	if (!p)
		return -1;
	*out = p;
	return 0;
}

void
twice_pair_destroy(struct twice_pair **p)
{
	if (!*p)
		return;
	free((*p)->lines);
	free(*p);
	*p = NULL;
}

/* ---- turning columns to the present ---- */

/* Threads have stacks of their own, megabytes apart: a number for the thread that
 * needs no thread-local variable. A bad one costs time, never correctness. */
static inline struct stripe *
stripe_here(const struct twice_pair *p)
{
	uint64_t where = (uintptr_t)__builtin_frame_address(0) >> 16;
	struct stripe *all = ((struct twice_pair *)(uintptr_t)p)->stripe;

	return &all[where * 0x9E3779B97F4A7C15ULL >> 59];
}

static inline uint64_t
now_at(const struct twice_pair *p)
{
	return atomic_load(&p->generation);
}

/* Which of two counters holds turners of generation g. */
static inline unsigned
era(uint64_t g)
{
	return (unsigned)(g >> 1 & 1);
}

/* Between begin and end the view that begin returns is at most three generations old:
 * rotation into the next era but one waits for end. */
static uint64_t
turn_begin(const struct twice_pair *p, struct stripe *s)
{
	for (;;) {
		uint64_t g = now_at(p);

		atomic_fetch_add(&s->turners[era(g)], 1);
		if (now_at(p) >> 1 == g >> 1)
			return g;
		atomic_fetch_sub(&s->turners[era(g)], 1);
	}
}

static void
turn_end(struct stripe *s, uint64_t g)
{
	atomic_fetch_sub(&s->turners[era(g)], 1);
}

/* The whole line, so that the cost comes once per line and generation. */
static void
line_turn(const struct twice_pair *p, const struct column *in_it)
{
	struct stripe *s = stripe_here(p);
	struct line *l = (struct line *)((uintptr_t)in_it & ~(uintptr_t)(LINE_BYTES - 1));
	uint64_t g = turn_begin(p, s);

	for (unsigned i = 0; i < LINE_COLUMNS; i++)
		column_turn(&l->column[i], g);
	turn_end(s, g);
}

/* Turns the next lines of the pass through the array; starts a pass when a generation
 * has had none. Nothing if somebody else is at it. */
static void
sweep(struct twice_pair *p, uint64_t lines)
{
	if (atomic_load_explicit(&p->floor, memory_order_relaxed) == now_at(p))
		return;
	if (atomic_exchange(&p->sweeping, true))
		return;

	struct stripe *s = stripe_here(p);
	uint64_t g = turn_begin(p, s), at = atomic_load(&p->sweep_at);
	uint64_t left = p->line_count - at, end = at + (lines < left ? lines : left);

	if (at == 0)
		atomic_store(&p->sweep_from, g);
	for (; at < end; at++)
		for (unsigned i = 0; i < LINE_COLUMNS; i++)
			column_turn(&p->lines[at].column[i], g);
	if (at == p->line_count) {
		atomic_store(&p->floor, atomic_load(&p->sweep_from));
		at = 0;
	}
	atomic_store(&p->sweep_at, at);
	turn_end(s, g);
	atomic_store(&p->sweeping, false);
}

/* ---- rotation ---- */

/* Is every column young enough that the next generation's code means only that? The
 * impatient sweep a piece and see; the patient sweep until it is so. */
static bool
swept_for(struct twice_pair *p, uint64_t next, bool patient)
{
	for (;;) {
		if (atomic_load(&p->floor) + COLUMN_STALE >= next)
			return true;
		sweep(p, SWEEP_LINES);
		if (!patient)
			return atomic_load(&p->floor) + COLUMN_STALE >= next;
		if (atomic_load(&p->sweeping))
			sched_yield();
	}
}

static bool
turners_gone(struct twice_pair *p, uint64_t next, bool patient)
{
	if (era(next) == era(next - 1))
		return true;
	for (unsigned i = 0; i < STRIPES; i++)
		while (atomic_load(&p->stripe[i].turners[era(next)])) {
			if (!patient)
				return false;
			sched_yield();
		}
	return true;
}

static bool
is_empty(const struct twice_pair *p)
{
	struct twice_pair_count even = twice_pair_counted(p, 0), odd = twice_pair_counted(p, 1);

	return even.keys + odd.keys == 0;
}

/* The next generation begins. From one that is empty, as the one before it is, only its
 * number changes: turning nothing to nothing would use up codes for nothing. */
static void
begin_next(struct twice_pair *p, uint64_t g)
{
	atomic_store(&p->born_s, atomic_load(&p->clock_s));
	if (is_empty(p)) {
		atomic_fetch_add(&p->idle, 1);
		return;
	}
	twice_pair_expect(p, parity(g + 1), (struct twice_pair_count){0});
	atomic_store(&p->generation, g + 1);
}

/* Ends generation g, unless somebody has done so. The impatient give up when a thread
 * stopped in the middle of something, and are asked again by the next key. */
static bool
rotate_from(struct twice_pair *p, uint64_t g, bool patient)
{
	while (atomic_exchange(&p->rotating, true)) {
		if (!patient)
			return false;
		sched_yield();
	}
	bool ours =
		now_at(p) == g && swept_for(p, g + 1, patient) && turners_gone(p, g + 1, patient);
	if (ours)
		begin_next(p, g);
	atomic_store(&p->rotating, false);
	return ours;
}

static bool
is_due_by_age(const struct twice_pair *p, int64_t now_s)
{
	int64_t age = now_s - atomic_load(&p->born_s);

	return p->options.rotate_after_s > 0 && age > 0 &&
	       (uint64_t)age >= p->options.rotate_after_s;
}

/* Sweeping keeps ahead of age: all lines in half of rotate_after_s. */
static void
sweep_by_age(struct twice_pair *p, int64_t passed_s)
{
	double share = 2.0 * (double)passed_s / (double)p->options.rotate_after_s;

	if (passed_s > 0)
		sweep(p, 1 + (uint64_t)((double)p->line_count * fmin(share, 1)));
}

bool
twice_pair_tick(struct twice_pair *p, int64_t now_s)
{
	uint64_t g = now_at(p);
	int64_t passed_s = now_s - atomic_exchange(&p->clock_s, now_s);

	if (is_due_by_age(p, now_s))
		return rotate_from(p, g, true);
	if (p->options.rotate_after_s > 0)
		sweep_by_age(p, passed_s);
	return false;
}

void
twice_pair_rotate(struct twice_pair *p, int64_t now_s)
{
	atomic_store(&p->clock_s, now_s);
	rotate_from(p, now_at(p), true);
}

/* ---- counting ---- */

struct twice_pair_count
twice_pair_counted(const struct twice_pair *p, unsigned half)
{
	struct twice_pair_count sum = {0};

	for (unsigned i = 0; i < STRIPES; i++) {
		sum.keys += atomic_load(&p->stripe[i].keys[half]);
		sum.recurring += atomic_load(&p->stripe[i].recurring[half]);
	}
	return sum;
}

void
twice_pair_expect(struct twice_pair *p, unsigned half, struct twice_pair_count have)
{
	for (unsigned i = 0; i < STRIPES; i++) {
		struct stripe *s = &p->stripe[i];

		atomic_store(&s->keys[half], i ? 0 : have.keys);
		atomic_store(&s->recurring[half], i ? 0 : have.recurring);
		atomic_store(&s->look_at[half], i ? 1 : have.keys + 1);
	}
}

/* Ones among the bits of the generations of this parity, 0 to 1, from so many lines at
 * even distances: keys lie at random, so any lines do. 2048 lines are good for 0.3% of
 * the answer. */
static double
fill_of(const struct twice_pair *p, const struct view *v, unsigned half, uint64_t lines)
{
	uint64_t n = lines < p->line_count ? lines : p->line_count, ones = 0;

	for (uint64_t i = 0; i < n; i++) {
		struct line *l = &p->lines[i * p->line_count / n];

		for (unsigned c = 0; c < LINE_COLUMNS; c++) {
			struct halves h;

			column_untouched(&l->column[c], v, &h);
			ones += (unsigned)__builtin_popcountll(half == v->half ? h.now : h.then);
		}
	}
	return (double)ones / (double)(n * LINE_COLUMNS * WORD_BITS);
}

/* Ones are worth a look only where so many keys could come near half: at 1% a full
 * generation has 39%. */
static bool
is_half_full(const struct twice_pair *p, uint64_t g, uint64_t keys)
{
	struct view v = view_of(g);
	double share = (double)keys / (double)p->options.capacity;

	return twice_sizing_line_fill(&p->plan.line, share * p->plan.keys_per_line) > 0.45 &&
	       fill_of(p, &v, v.half, LINES_TO_LOOK) >= 0.5;
}

/* Far from the end few sums, and none too late: one thread alone closes a generation on
 * the very key that fills it. */
static void
look_at_sum(struct twice_pair *p, struct stripe *s, uint64_t g, uint64_t mine)
{
	uint64_t keys = twice_pair_counted(p, parity(g)).keys;

	if (keys >= p->options.capacity || is_half_full(p, g, keys)) {
		if (now_at(p) == g)
			rotate_from(p, g, false);
		return;
	}
	uint64_t left = (p->options.capacity - keys) / LOOKS;
	atomic_store(&s->look_at[parity(g)], mine + (left ? left : 1));
}

static uint64_t
lines_per_sweep(const struct twice_pair *p)
{
	return 1 + 2 * SWEEP_KEYS * p->line_count / p->options.capacity;
}

/* New keys of generation g, `recurring` of them known to the one before. */
static void
count(struct twice_pair *p, struct stripe *s, uint64_t g, uint64_t keys, uint64_t recurring)
{
	unsigned half = parity(g);
	uint64_t before = atomic_fetch_add(&s->keys[half], keys), mine = before + keys;

	if (recurring)
		atomic_fetch_add(&s->recurring[half], recurring);
	if (mine / SWEEP_KEYS != before / SWEEP_KEYS)
		sweep(p, lines_per_sweep(p));
	if (mine >= atomic_load_explicit(&s->look_at[half], memory_order_relaxed))
		look_at_sum(p, s, g, mine);
}

/* What a batch added: counted in one piece, but never past a key that must look. */
struct tally {
	struct stripe *stripe;
	uint64_t generation;
	uint64_t keys, recurring;
	uint64_t room; /* keys until somebody must look at the sum */
};

static void
tally_end(struct twice_pair *p, struct tally *t)
{
	if (t->keys)
		count(p, t->stripe, t->generation, t->keys, t->recurring);
	t->keys = t->recurring = 0;
}

static void
tally_begin(struct tally *t, uint64_t g)
{
	struct stripe *s = t->stripe;
	uint64_t look_at = atomic_load_explicit(&s->look_at[parity(g)], memory_order_relaxed);
	uint64_t have = atomic_load_explicit(&s->keys[parity(g)], memory_order_relaxed);

	t->generation = g;
	t->room = look_at > have ? look_at - have : 1;
}

static inline void
tally_key(struct twice_pair *p, struct tally *t, uint64_t g, bool recurring)
{
	if (t->generation != g || t->keys == 0) {
		tally_end(p, t);
		tally_begin(t, g);
	}
	t->keys++;
	t->recurring += recurring;
	if (t->keys >= t->room)
		tally_end(p, t);
}

/* ---- looking ---- */

static inline enum twice_sight
sight_of(const struct spot *s, const struct halves *a, const struct halves *b)
{
	if (!((s->a.bits & ~a->now) | (s->b.bits & ~b->now)))
		return TWICE_SIGHT_CURRENT;
	if (!((s->a.bits & ~a->then) | (s->b.bits & ~b->then)))
		return TWICE_SIGHT_PREVIOUS;
	return TWICE_SIGHT_FIRST;
}

/* *v is kept from key to key, and renewed when it is out of date. */
static inline void
look_around(const struct twice_pair *p, struct view *v)
{
	uint64_t g = now_at(p);

	if (v->generation != g)
		*v = view_of(g);
}

static inline enum twice_sight
test_spot(const struct twice_pair *p, const struct spot *s, struct view *v)
{
	struct halves a, b;

	do {
		look_around(p, v);
		if (!column_at(s->a.column, v, &a))
			column_untouched(s->a.column, v, &a);
		if (!column_at(s->b.column, v, &b))
			column_untouched(s->b.column, v, &b);
	} while (now_at(p) != v->generation);
	return sight_of(s, &a, &b);
}

/* ---- adding ---- */

enum outcome { ADDED, OTHERS_DID, RETIRED };

/* Adds bits to a word of this generation, last seen with `data`. */
static inline enum outcome
word_add(const struct place *at, const struct view *v, uint64_t data)
{
	uint64_t is = data | v->tag;

	for (;;) {
		if ((is ^ v->tag) > WORD_DATA)
			return RETIRED;
		if (!(at->bits & ~is))
			return OTHERS_DID;
		if (atomic_compare_exchange_strong(&at->column->word[v->half], &is, is | at->bits))
			return ADDED;
	}
}

struct attempt {
	enum twice_sight sight;
	bool won; /* this thread completed the key */
};

/* One try. False when a column is not of this generation: turn it and try again. */
static inline bool
record_at(const struct spot *s, const struct view *v, struct attempt *out)
{
	enum outcome last = OTHERS_DID;
	struct halves a, b;

	if (!column_at(s->a.column, v, &a) || !column_at(s->b.column, v, &b))
		return false;
	if (s->a.bits & ~a.now)
		last = word_add(&s->a, v, a.now);
	if (last != RETIRED && s->b.bits & ~b.now)
		last = word_add(&s->b, v, b.now);
	if (last == RETIRED)
		return false;
	out->won = last == ADDED;
	out->sight = out->won ? sight_of(s, &a, &b) : TWICE_SIGHT_CURRENT;
	return true;
}

/* t: the batch's tally; NULL to count at once. */
static inline enum twice_sight
record_spot(struct twice_pair *p, const struct spot *s, struct view *v, struct tally *t)
{
	bool told = false;
	enum twice_sight sight = TWICE_SIGHT_FIRST;

	for (;;) {
		struct attempt a;

		look_around(p, v);
		if (!record_at(s, v, &a)) {
			line_turn(p, s->a.column);
			continue;
		}
		if (!told)
			sight = a.sight;
		told = true;

		bool late = now_at(p) != v->generation;
		if (a.won && t)
			tally_key(p, t, v->generation, a.sight == TWICE_SIGHT_PREVIOUS);
		else if (a.won)
			count(p, stripe_here(p), v->generation, 1, a.sight == TWICE_SIGHT_PREVIOUS);
		if (!late)
			return sight;
	}
}

/* ---- the doors ---- */

/* To be written: fetched for this core alone. Merely read, a line may come shared, and the
 * first compare-and-swap waits as long again to own it. (The compiler's own prefetch for
 * writing needs a flag that old processors would not know.) */
static inline void
prefetch_to_write(const void *p)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

enum twice_sight
twice_pair_test(const struct twice_pair *p, struct twice_key_hash h)
{
	struct spot s = spot_of(p, h);
	struct view v = view_of(now_at(p));

	return test_spot(p, &s, &v);
}

enum twice_sight
twice_pair_record(struct twice_pair *p, struct twice_key_hash h)
{
	struct spot s = spot_of(p, h);

	prefetch_to_write(s.a.column);
	struct view v = view_of(now_at(p));
	return record_spot(p, &s, &v, NULL);
}

void
twice_pair_prefetch(const struct twice_pair *p, struct twice_key_hash h)
{
	prefetch_to_write(spot_of(p, h).a.column);
}

/* Batches go in blocks of AHEAD: while one block is worked on, the lines of the next
 * are on their way. A source says where the hashes come from. */
struct source {
	const struct twice_key_hash *hashes; /* these, or */
	const struct twice_key_bytes *keys;  /* these with */
	const struct twice_seed *seed;
};

static inline struct twice_key_hash
source_hash(const struct source *from, size_t i)
{
	if (from->hashes)
		return from->hashes[i];
	return twice_key_hash_of(from->seed, from->keys[i].p, from->keys[i].n);
}

static inline size_t
block_fetch(const struct twice_pair *p, struct spot spots[AHEAD], const struct source *from,
	    size_t at, size_t n, bool to_write)
{
	size_t m = n - at < AHEAD ? n - at : AHEAD;

	for (size_t i = 0; i < m; i++) {
		spots[i] = spot_of(p, source_hash(from, at + i));
		if (to_write)
			prefetch_to_write(spots[i].a.column);
		else
			__builtin_prefetch(spots[i].a.column);
	}
	return m;
}

static void
test_all(const struct twice_pair *p, const struct source *from, enum twice_sight *out, size_t n)
{
	struct view v = view_of(now_at(p));
	struct spot spots[2][AHEAD];
	size_t m = block_fetch(p, spots[0], from, 0, n, false);

	for (size_t at = 0, block = 0; at < n; block ^= 1) {
		size_t next = block_fetch(p, spots[block ^ 1], from, at + m, n, false);

		for (size_t i = 0; i < m; i++)
			out[at + i] = test_spot(p, &spots[block][i], &v);
		at += m;
		m = next;
	}
}

static void
record_all(struct twice_pair *p, const struct source *from, enum twice_sight *out, size_t n)
{
	struct tally t = {.stripe = stripe_here(p)};
	struct view v = view_of(now_at(p));
	struct spot spots[2][AHEAD];
	size_t m = block_fetch(p, spots[0], from, 0, n, true);

	for (size_t at = 0, block = 0; at < n; block ^= 1) {
		size_t next = block_fetch(p, spots[block ^ 1], from, at + m, n, true);

		for (size_t i = 0; i < m; i++)
			out[at + i] = record_spot(p, &spots[block][i], &v, &t);
		at += m;
		m = next;
	}
	tally_end(p, &t);
}

void
twice_pair_test_batch(const struct twice_pair *p, const struct twice_key_hash *h,
		      enum twice_sight *out, size_t n)
{
	test_all(p, &(struct source){.hashes = h}, out, n);
}

void
twice_pair_record_batch(struct twice_pair *p, const struct twice_key_hash *h, enum twice_sight *out,
			size_t n)
{
	record_all(p, &(struct source){.hashes = h}, out, n);
}

void
twice_pair_test_keys(const struct twice_pair *p, const struct twice_seed *seed,
		     const struct twice_key_bytes *keys, enum twice_sight *out, size_t n)
{
	test_all(p, &(struct source){.keys = keys, .seed = seed}, out, n);
}

void
twice_pair_record_keys(struct twice_pair *p, const struct twice_seed *seed,
		       const struct twice_key_bytes *keys, enum twice_sight *out, size_t n)
{
	record_all(p, &(struct source){.keys = keys, .seed = seed}, out, n);
}

/* ---- numbers ---- */

uint64_t
twice_pair_number(const struct twice_pair *p)
{
	return now_at(p) + atomic_load(&p->idle);
}

/* Keys that r keys counted as recurring stand for, when n keys each had a chance of p
 * to be found in the previous generation by mistake. */
static double
true_share(double r, double n, double p)
{
	if (n == 0 || p >= 1)
		return 0;
	return fmax(0, (r / n - p) / (1 - p));
}

void
twice_pair_stats(const struct twice_pair *p, struct twice_pair_stats *out)
{
	const struct twice_sizing_line *l = &p->plan.line;
	uint64_t g = now_at(p);
	struct twice_pair_count now = twice_pair_counted(p, parity(g)),
				then = twice_pair_counted(p, parity(g) ^ 1);
	struct view v = view_of(g);
	double lines = (double)p->line_count;
	double fill = fill_of(p, &v, v.half, LINES_TO_TELL);
	double old_fill = fill_of(p, &v, v.half ^ 1, LINES_TO_TELL);
	double keys = twice_sizing_line_keys(l, fill),
	       old_keys = twice_sizing_line_keys(l, old_fill);
	double fpr = twice_sizing_line_fpr(l, keys), old_fpr = twice_sizing_line_fpr(l, old_keys);

	*out = (struct twice_pair_stats){
		.number = twice_pair_number(p),
		.keys = now.keys,
		.capacity = p->options.capacity,
		.previous_keys = then.keys,
		.recurring_keys = now.recurring,
		.rotations = twice_pair_number(p) - p->first_number,
		.fill_ratio = fill,
		.previous_fill_ratio = old_fill,
		.estimated_fpr = 1 - (1 - fpr) * (1 - old_fpr),
		.forecast_fpr = p->plan.fpr,
		.distinct_estimate = keys * lines,
		.previous_distinct_estimate = old_keys * lines,
		.recurring_share = true_share((double)now.recurring, (double)now.keys, old_fpr),
		.born_s = atomic_load(&p->born_s),
		.memory_bytes = sizeof(*p) + p->line_count * sizeof(struct line),
		.hashes = 2 * l->per_word,
		.bits_per_key = 8.0 * (double)(p->line_count * sizeof(struct line)) /
				(double)p->options.capacity,
	};
}
