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
	LOOKS = 64,	    /* look again after 1/64 of what is left to capacity */
	HUGE_PAGE = 2 << 20,
};

/* ---- where a key lives ---- */

struct spot {
	struct column *column[2]; /* lower one first */
	uint64_t bits[2];
};

static inline uint64_t
rotated(uint64_t pattern, unsigned by)
{
	return (pattern << by | pattern >> (WORD_BITS - by)) & WORD_DATA;
}

/* 25 bits of hash to per_word different bits of a word: one of PATTERNS, turned. */
static inline uint64_t
word_bits(const struct pair *p, uint64_t h)
{
	unsigned by = (unsigned)((h & 0xffff) * WORD_BITS >> 16);

	return rotated(p->pattern[h >> 16 & (PATTERNS - 1)], by);
}

/* hi picks the line; lo the two columns (14 bits) and the bits (25 each). */
static inline struct spot
spot_of(const struct pair *p, struct key_hash h)
{
	static const unsigned char pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
	uint64_t at = (uint64_t)((unsigned __int128)h.hi * p->line_count >> 64);
	const unsigned char *two = pairs[(h.lo >> 50) * 6 >> 14];
	struct column *column = p->lines[at].column;

	return (struct spot){
		.column = {column + two[0], column + two[1]},
		.bits = {word_bits(p, h.lo), word_bits(p, h.lo >> 25)},
	};
}

static uint64_t
choose(uint64_t n, uint64_t k)
{
	uint64_t c = 1;

	for (uint64_t i = 0; i < k; i++)
		c = c * (n - i) / (i + 1);
	return c;
}

/* The choices of k out of n bits have an order; this is the one with that rank. */
static uint64_t
choice_of_rank(unsigned n, unsigned k, uint64_t rank)
{
	uint64_t bits = 0;

	for (unsigned at = 0; k > 0; at++) {
		uint64_t with = choose(n - at - 1, k - 1); /* choices that take bit `at` */

		if (rank < with) {
			bits |= UINT64_C(1) << at;
			k--;
		} else {
			rank -= with;
		}
	}
	return bits;
}

/* Every choice of per_word bits is one that has bit 0, turned; patterns are as many of
 * these as there is room for, one from each of as many equal shares. The same on every
 * machine, since snapshots depend on them. */
static void
patterns_fill(uint64_t pattern[PATTERNS], unsigned per_word)
{
	uint64_t all = choose(WORD_BITS - 1, per_word - 1), random = 1;

	for (uint64_t i = 0; i < PATTERNS; i++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		uint64_t rank = (i * all + (random >> 33) % all) / PATTERNS;
		pattern[i] = 1 | choice_of_rank(WORD_BITS - 1, per_word - 1, rank) << 1;
	}
}

/* ---- create, destroy ---- */

/* Zeroed lines; on huge pages when they are large enough, for a random access misses
 * the TLB as surely as the cache. */
static struct line *
lines_new(uint64_t count)
{
	size_t bytes = count * sizeof(struct line), unit = LINE_BYTES;

	if (bytes >= HUGE_PAGE)
		unit = HUGE_PAGE;
	bytes = (bytes + unit - 1) / unit * unit;

	struct line *lines = aligned_alloc(unit, bytes);
	if (!lines)
		return NULL;
	if (unit == HUGE_PAGE)
		madvise(lines, bytes, MADV_HUGEPAGE);
	memset((void *)lines, 0, bytes);
	return lines;
}

struct pair *
pair_new(const struct pair_options *o, int64_t now_s)
{
	struct sizing_plan plan;

	if (!sizing_plan_lines(&plan, LINE_COLUMNS, WORD_BITS, 2, o->capacity,
			       o->false_positives)) {
		errno = EINVAL;
		return NULL;
	}
	struct pair *p = aligned_alloc(LINE_BYTES, sizeof(*p));
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
	p->half_full = plan.lines * LINE_COLUMNS * WORD_BITS / 2;
	patterns_fill(p->pattern, plan.line.per_word);
	atomic_store(&p->born_s, now_s);
	atomic_store(&p->clock_s, now_s);
	pair_expect(p, 0, (struct pair_count){0});
	return p;
}

int
pair_create(struct pair **out, const struct pair_options *o, int64_t now_s)
{
	struct pair *p = pair_new(o, now_s);

	if (!p)
		return -1;
	*out = p;
	return 0;
}

void
pair_destroy(struct pair **p)
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
stripe_here(const struct pair *p)
{
	uint64_t where = (uintptr_t)__builtin_frame_address(0) >> 16;
	struct stripe *all = ((struct pair *)(uintptr_t)p)->stripe;

	return &all[where * 0x9E3779B97F4A7C15ULL >> 59];
}

static inline uint64_t
now_at(const struct pair *p)
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
turn_begin(const struct pair *p, struct stripe *s)
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
line_turn(const struct pair *p, const struct column *in_it)
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
sweep(struct pair *p, uint64_t lines)
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

/* Some time a generation must not wait long for: a preempted thread to come back. */
static bool
swept_for(struct pair *p, uint64_t next, bool patient)
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
turners_gone(struct pair *p, uint64_t next, bool patient)
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
is_empty(const struct pair *p)
{
	struct pair_count even = pair_counted(p, 0), odd = pair_counted(p, 1);

	return even.ones + odd.ones == 0;
}

/* The next generation begins. From one that is empty, as the one before it is, only its
 * number changes: turning nothing to nothing would use up codes for nothing. */
static void
begin_next(struct pair *p, uint64_t g)
{
	atomic_store(&p->born_s, atomic_load(&p->clock_s));
	if (is_empty(p)) {
		atomic_fetch_add(&p->idle, 1);
		return;
	}
	pair_expect(p, parity(g + 1), (struct pair_count){0});
	atomic_store(&p->generation, g + 1);
}

/* Ends generation g, unless somebody has done so. The impatient give up when a thread
 * stopped in the middle of something, and are asked again by the next key. */
static bool
rotate_from(struct pair *p, uint64_t g, bool patient)
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
is_due_by_age(const struct pair *p, int64_t now_s)
{
	int64_t age = now_s - atomic_load(&p->born_s);

	return p->options.rotate_after_s > 0 && age > 0 &&
	       (uint64_t)age >= p->options.rotate_after_s;
}

/* Sweeping keeps ahead of age: all lines in half of rotate_after_s. */
static void
sweep_by_age(struct pair *p, int64_t passed_s)
{
	double share = 2.0 * (double)passed_s / (double)p->options.rotate_after_s;

	if (passed_s > 0)
		sweep(p, 1 + (uint64_t)((double)p->line_count * fmin(share, 1)));
}

bool
pair_tick(struct pair *p, int64_t now_s)
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
pair_rotate(struct pair *p, int64_t now_s)
{
	atomic_store(&p->clock_s, now_s);
	rotate_from(p, now_at(p), true);
}

/* ---- counting ---- */

static inline uint64_t
count_keys(uint64_t added)
{
	return added & ((UINT64_C(1) << KEY_COUNT_BITS) - 1);
}

struct pair_count
pair_counted(const struct pair *p, unsigned half)
{
	struct pair_count sum = {0};

	for (unsigned i = 0; i < STRIPES; i++) {
		uint64_t added = atomic_load(&p->stripe[i].added[half]);

		sum.keys += count_keys(added);
		sum.ones += added >> KEY_COUNT_BITS;
		sum.recurring += atomic_load(&p->stripe[i].recurring[half]);
	}
	return sum;
}

static uint64_t
at_least_1(uint64_t n)
{
	return n ? n : 1;
}

/* New keys before anybody need sum up again: far from the end few sums, and none too
 * late, so that one thread alone closes a generation on the very key that fills it. */
static uint64_t
keys_to_next_look(const struct pair *p, struct pair_count have)
{
	uint64_t keys = p->options.capacity - have.keys;
	uint64_t ones = (p->half_full - have.ones) / (2 * p->plan.line.per_word);

	return at_least_1((keys < ones ? keys : ones) / LOOKS);
}

void
pair_expect(struct pair *p, unsigned half, struct pair_count have)
{
	for (unsigned i = 0; i < STRIPES; i++) {
		struct stripe *s = &p->stripe[i];
		uint64_t added = i ? 0 : have.keys | have.ones << KEY_COUNT_BITS;

		atomic_store(&s->added[half], added);
		atomic_store(&s->recurring[half], i ? 0 : have.recurring);
		atomic_store(&s->look_at[half], count_keys(added) + 1);
	}
}

static bool
is_full(const struct pair *p, struct pair_count have)
{
	return have.keys >= p->options.capacity || have.ones >= p->half_full;
}

static void
look_at_sum(struct pair *p, struct stripe *s, uint64_t g, uint64_t mine)
{
	struct pair_count have = pair_counted(p, parity(g));

	if (!is_full(p, have))
		atomic_store(&s->look_at[parity(g)], mine + keys_to_next_look(p, have));
	else if (now_at(p) == g)
		rotate_from(p, g, false);
}

/* What one call added, told to the stripe in one piece. */
struct tally {
	struct stripe *stripe;
	uint64_t generation;
	uint64_t keys, ones, recurring;
	uint64_t room; /* keys until somebody must look at the sum */
};

static void
tally_begin(struct tally *t, uint64_t g)
{
	unsigned half = parity(g);
	uint64_t look_at = atomic_load_explicit(&t->stripe->look_at[half], memory_order_relaxed);
	uint64_t have = atomic_load_explicit(&t->stripe->added[half], memory_order_relaxed);

	*t = (struct tally){.stripe = t->stripe, .generation = g};
	have = count_keys(have);
	t->room = look_at > have ? look_at - have : 1;
}

static uint64_t
lines_per_sweep(const struct pair *p)
{
	return 1 + 2 * SWEEP_KEYS * p->line_count / p->options.capacity;
}

static void
tally_end(struct pair *p, struct tally *t)
{
	if (!t->keys && !t->ones)
		return;

	unsigned half = parity(t->generation);
	uint64_t before =
		atomic_fetch_add(&t->stripe->added[half], t->keys | t->ones << KEY_COUNT_BITS);
	uint64_t mine = count_keys(before) + t->keys;

	if (t->recurring)
		atomic_fetch_add(&t->stripe->recurring[half], t->recurring);
	if (mine / SWEEP_KEYS != count_keys(before) / SWEEP_KEYS)
		sweep(p, lines_per_sweep(p));
	if (mine >= atomic_load_explicit(&t->stripe->look_at[half], memory_order_relaxed))
		look_at_sum(p, t->stripe, t->generation, mine);
}

struct attempt {
	enum sight sight;
	bool turned; /* false: a column was not of this generation; turn it, try again */
	bool won;    /* this thread completed the key */
	unsigned ones;
};

static inline void
tally_key(struct pair *p, struct tally *t, uint64_t g, const struct attempt *a)
{
	if (t->generation != g) {
		tally_end(p, t);
		tally_begin(t, g);
	}
	t->ones += a->ones;
	t->keys += a->won;
	t->recurring += a->won && a->sight == SIGHT_PREVIOUS;
	if (t->keys >= t->room) {
		tally_end(p, t);
		tally_begin(t, now_at(p));
	}
}

/* ---- looking ---- */

static inline bool
has_all(const uint64_t data[2], const struct spot *s)
{
	return !((s->bits[0] & ~data[0]) | (s->bits[1] & ~data[1]));
}

static inline enum sight
sight_of(const uint64_t current[2], const uint64_t previous[2], const struct spot *s)
{
	if (has_all(current, s))
		return SIGHT_CURRENT;
	return has_all(previous, s) ? SIGHT_PREVIOUS : SIGHT_FIRST;
}

/* The same as column_at for a column that nobody has turned to g yet, without turning
 * it. Somebody ahead of g is noticed by the caller. */
static void
column_seen_from(struct column *c, uint64_t g, uint64_t *current, uint64_t *previous)
{
	struct column_words w = column_read(c);
	unsigned behind = column_behind(w, g);

	w = column_turned(w, g, behind <= COLUMN_STALE ? behind : COLUMN_STALE);
	*current = w.word[parity(g)] & WORD_DATA;
	*previous = w.word[parity(g) ^ 1] & WORD_DATA;
}

static inline enum sight
test_spot(const struct pair *p, const struct spot *s)
{
	for (;;) {
		uint64_t g = now_at(p), current[2], previous[2];

		for (unsigned i = 0; i < 2; i++)
			if (!column_at(s->column[i], g, &current[i], &previous[i]))
				column_seen_from(s->column[i], g, &current[i], &previous[i]);
		if (now_at(p) == g)
			return sight_of(current, previous, s);
	}
}

/* ---- adding ---- */

enum outcome { ADDED, OTHERS_DID, RETIRED };

/* Sets bits in a word with this tag. *ones grows by how many were missing. */
static inline enum outcome
word_add(_Atomic uint64_t *word, uint64_t tag, uint64_t seen, uint64_t bits, uint64_t *missing)
{
	uint64_t is = seen | tag;

	for (;;) {
		*missing = bits & ~is;
		if ((is ^ tag) > WORD_DATA)
			return RETIRED;
		if (!*missing)
			return OTHERS_DID;
		if (atomic_compare_exchange_strong(word, &is, is | bits))
			return ADDED;
	}
}

/* __builtin_popcountll is a call unless the compiler may assume the instruction. */
static inline unsigned
count_ones(uint64_t a)
{
	a -= a >> 1 & 0x5555555555555555ULL;
	a = (a & 0x3333333333333333ULL) + (a >> 2 & 0x3333333333333333ULL);
	a = (a + (a >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (unsigned)(a * 0x0101010101010101ULL >> 56);
}

static inline struct attempt
record_at(const struct spot *s, uint64_t g)
{
	uint64_t current[2], previous[2], missing, tag = word_tag(parity(g), g);
	struct attempt a = {.turned = false};

	for (unsigned i = 0; i < 2; i++)
		if (!column_at(s->column[i], g, &current[i], &previous[i]))
			return a;
	a.sight = sight_of(current, previous, s);
	for (unsigned i = 0; i < 2; i++) {
		if (!(s->bits[i] & ~current[i]))
			continue;
		enum outcome o = word_add(&s->column[i]->word[parity(g)], tag, current[i],
					  s->bits[i], &missing);
		if (o == RETIRED)
			return a;
		a.won = o == ADDED;
		if (a.won)
			a.ones += count_ones(missing);
	}
	a.turned = true;
	if (!a.won)
		a.sight = SIGHT_CURRENT;
	return a;
}

static inline enum sight
record_spot(struct pair *p, const struct spot *s, struct tally *t)
{
	bool told = false;
	enum sight sight = SIGHT_FIRST;

	for (;;) {
		uint64_t g = now_at(p);
		struct attempt a = record_at(s, g);

		if (!a.turned) {
			line_turn(p, s->column[0]);
			continue;
		}
		if (!told)
			sight = a.sight;
		told = true;
		bool late = now_at(p) != g;
		if (a.ones)
			tally_key(p, t, g, &a);
		if (!late)
			return sight;
	}
}

/* ---- the doors ---- */

enum sight
pair_test(const struct pair *p, struct key_hash h)
{
	struct spot s = spot_of(p, h);

	return test_spot(p, &s);
}

enum sight
pair_record(struct pair *p, struct key_hash h)
{
	struct spot s = spot_of(p, h);
	struct tally t = {.stripe = stripe_here(p)};

	tally_begin(&t, now_at(p));
	enum sight sight = record_spot(p, &s, &t);
	tally_end(p, &t);
	return sight;
}

void
pair_prefetch(const struct pair *p, struct key_hash h)
{
	__builtin_prefetch(spot_of(p, h).column[0]);
}

/* Batches go in blocks of AHEAD: while one block is worked on, the lines of the next
 * are on their way. `hash` says where a key's hash comes from. */
struct source {
	const struct key_hash *hashes; /* these, or */
	const struct key_bytes *keys;  /* these with */
	const struct filter_seed *seed;
};

static inline struct key_hash
source_hash(const struct source *from, size_t i)
{
	if (from->hashes)
		return from->hashes[i];
	return key_hash_of(from->seed, from->keys[i].p, from->keys[i].n);
}

static inline size_t
block_fetch(const struct pair *p, struct spot spots[AHEAD], const struct source *from, size_t at,
	    size_t n)
{
	size_t m = n - at < AHEAD ? n - at : AHEAD;

	for (size_t i = 0; i < m; i++) {
		spots[i] = spot_of(p, source_hash(from, at + i));
		__builtin_prefetch(spots[i].column[0]);
	}
	return m;
}

static void
test_all(const struct pair *p, const struct source *from, enum sight *out, size_t n)
{
	struct spot spots[2][AHEAD];
	size_t m = block_fetch(p, spots[0], from, 0, n);

	for (size_t at = 0, block = 0; at < n; block ^= 1) {
		size_t next = block_fetch(p, spots[block ^ 1], from, at + m, n);

		for (size_t i = 0; i < m; i++)
			out[at + i] = test_spot(p, &spots[block][i]);
		at += m;
		m = next;
	}
}

static void
record_all(struct pair *p, const struct source *from, enum sight *out, size_t n)
{
	struct tally t = {.stripe = stripe_here(p)};
	struct spot spots[2][AHEAD];
	size_t m = block_fetch(p, spots[0], from, 0, n);

	tally_begin(&t, now_at(p));
	for (size_t at = 0, block = 0; at < n; block ^= 1) {
		size_t next = block_fetch(p, spots[block ^ 1], from, at + m, n);

		for (size_t i = 0; i < m; i++)
			out[at + i] = record_spot(p, &spots[block][i], &t);
		at += m;
		m = next;
	}
	tally_end(p, &t);
}

void
pair_test_batch(const struct pair *p, const struct key_hash *h, enum sight *out, size_t n)
{
	test_all(p, &(struct source){.hashes = h}, out, n);
}

void
pair_record_batch(struct pair *p, const struct key_hash *h, enum sight *out, size_t n)
{
	record_all(p, &(struct source){.hashes = h}, out, n);
}

void
pair_test_keys(const struct pair *p, const struct filter_seed *seed, const struct key_bytes *keys,
	       enum sight *out, size_t n)
{
	test_all(p, &(struct source){.keys = keys, .seed = seed}, out, n);
}

void
pair_record_keys(struct pair *p, const struct filter_seed *seed, const struct key_bytes *keys,
		 enum sight *out, size_t n)
{
	record_all(p, &(struct source){.keys = keys, .seed = seed}, out, n);
}

/* ---- numbers ---- */

uint64_t
pair_number(const struct pair *p)
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
pair_stats(const struct pair *p, struct pair_stats *out)
{
	const struct sizing_line *l = &p->plan.line;
	uint64_t g = now_at(p);
	struct pair_count now = pair_counted(p, parity(g)), then = pair_counted(p, parity(g) ^ 1);
	double lines = (double)p->line_count, bits = 2.0 * (double)p->half_full;
	double fill = fmin(1, (double)now.ones / bits),
	       old_fill = fmin(1, (double)then.ones / bits);
	double keys = sizing_line_keys(l, fill), old_keys = sizing_line_keys(l, old_fill);
	double fpr = sizing_line_fpr(l, keys), old_fpr = sizing_line_fpr(l, old_keys);

	*out = (struct pair_stats){
		.number = pair_number(p),
		.keys = now.keys,
		.capacity = p->options.capacity,
		.previous_keys = then.keys,
		.recurring_keys = now.recurring,
		.rotations = pair_number(p) - p->first_number,
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
