/* pair_snapshot.c - the pair as a stream of bytes, and back.
 *
 * Words of 8 bytes in the writing machine's order, which the second one tells:
 *
 *	header	magic "twpair" and version; order; capacity; false_positives (double);
 *		fingerprint of the seed; lines; bits per word and key; checksum so far
 *	lines	64 bytes each, as in memory (pair_line.h), columns not older than the
 *		generation that was current when they were written
 *	trailer	generation; idle rotations; its age in seconds; keys and recurring keys of it;
 *		the same of the one before; checksum of everything so far
 *
 * The trailer comes last because keys are recorded, and generations may turn, while
 * lines stream out. Only what both checksums vouch for is ever used; the size of what
 * is allocated follows from the reader's own options, never from the file.
 */
#include "filter/pair_inner.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define MAGIC 0x0001726961707774ULL /* "twpair", version 1 */
#define ORDER 0x0102030405060708ULL

enum {
	HEADER_WORDS = 8,
	TRAILER_WORDS = 8,
	PIECE_LINES = 1024,
};

enum header { H_MAGIC, H_ORDER, H_CAPACITY, H_RATE, H_SEED, H_LINES, H_PER_WORD, H_SUM };
enum trailer {
	T_GENERATION,
	T_IDLE,
	T_AGE,
	T_KEYS,
	T_RECURRING,
	T_OLD_KEYS,
	T_OLD_RECURRING,
	T_SUM
};

size_t
twice_pair_snapshot_bytes(const struct twice_pair *p)
{
	return (HEADER_WORDS + TRAILER_WORDS) * sizeof(uint64_t) +
	       p->line_count * sizeof(struct line);
}

static void
header_fill(uint64_t h[HEADER_WORDS], const struct twice_pair *p, const struct twice_seed *seed)
{
	h[H_MAGIC] = MAGIC;
	h[H_ORDER] = ORDER;
	h[H_CAPACITY] = p->options.capacity;
	memcpy(&h[H_RATE], &p->options.false_positives, sizeof(h[H_RATE]));
	h[H_SEED] = twice_seed_fingerprint(seed);
	h[H_LINES] = p->line_count;
	h[H_PER_WORD] = p->plan.line.per_word;
	h[H_SUM] = XXH3_64bits(h, H_SUM * sizeof(*h));
}

/* ---- out ---- */

struct out {
	XXH3_state_t sum;
	twice_pair_write_fn *write;
	void *ctx;
};

static int
put(struct out *o, const void *bytes, size_t n)
{
	XXH3_64bits_update(&o->sum, bytes, n);
	return o->write(o->ctx, bytes, n) == 0 ? 0 : -1;
}

/* Lines as they are at generation g, whether or not anybody has turned them to it. */
static void
copy_lines(struct column_words *to, struct line *lines, uint64_t count, uint64_t g)
{
	for (uint64_t i = 0; i < count; i++)
		for (unsigned c = 0; c < LINE_COLUMNS; c++) {
			struct column_words w = column_read(&lines[i].column[c]);
			unsigned behind = column_behind(w, g);

			*to++ = behind <= COLUMN_STALE ? column_turned(w, g, behind) : w;
		}
}

static int
put_lines(struct out *o, const struct twice_pair *p)
{
	struct column_words piece[PIECE_LINES * LINE_COLUMNS];

	for (uint64_t at = 0, n; at < p->line_count; at += n) {
		n = p->line_count - at < PIECE_LINES ? p->line_count - at : PIECE_LINES;
		copy_lines(piece, p->lines + at, n, atomic_load(&p->generation));
		if (put(o, piece, n * sizeof(struct line)) != 0)
			return -1;
	}
	return 0;
}

static int
put_trailer(struct out *o, const struct twice_pair *p, uint64_t g, int64_t now_s)
{
	struct twice_pair_count now = twice_pair_counted(p, parity(g)),
				then = twice_pair_counted(p, parity(g) ^ 1);
	int64_t age = now_s - atomic_load(&p->born_s);
	uint64_t t[TRAILER_WORDS] = {
		[T_GENERATION] = g,
		[T_IDLE] = atomic_load(&p->idle),
		[T_AGE] = age > 0 ? (uint64_t)age : 0,
		[T_KEYS] = now.keys,
		[T_RECURRING] = now.recurring,
		[T_OLD_KEYS] = then.keys,
		[T_OLD_RECURRING] = then.recurring,
	};

	XXH3_64bits_update(&o->sum, t, T_SUM * sizeof(*t));
	t[T_SUM] = XXH3_64bits_digest(&o->sum);
	return o->write(o->ctx, t, sizeof(t)) == 0 ? 0 : -1;
}

int
twice_pair_save(const struct twice_pair *p, const struct twice_seed *seed, int64_t now_s,
		twice_pair_write_fn *write, void *ctx)
{
	struct out o = {.write = write, .ctx = ctx};
	uint64_t h[HEADER_WORDS], began = atomic_load(&p->generation);

	XXH3_64bits_reset(&o.sum);
	header_fill(h, p, seed);
	if (put(&o, h, sizeof(h)) != 0 || put_lines(&o, p) != 0)
		return -1;

	/* The first lines must still be readable from where the last ones are. */
	uint64_t g = atomic_load(&p->generation);
	if (g - began > COLUMN_STALE)
		return -1;
	return put_trailer(&o, p, g, now_s);
}

/* ---- in ---- */

struct in {
	XXH3_state_t sum;
	twice_pair_read_fn *read;
	void *ctx;
};

static bool
get(struct in *in, void *buf, size_t n)
{
	char *to = buf;

	for (size_t got = 0, more; got < n; got += more) {
		more = in->read(in->ctx, to + got, n - got);
		if (more == 0 || more > n - got)
			return false;
	}
	return true;
}

static const char *
header_fault(const uint64_t h[HEADER_WORDS], const uint64_t want[HEADER_WORDS])
{
	if (h[H_MAGIC] != want[H_MAGIC])
		return "not a snapshot of a filter pair, or of another version";
	if (h[H_ORDER] != want[H_ORDER])
		return "written on a machine with another byte order";
	if (h[H_SUM] != XXH3_64bits(h, H_SUM * sizeof(*h)))
		return "the header is damaged (checksum)";
	if (h[H_SEED] != want[H_SEED])
		return "made with another seed";
	if (h[H_CAPACITY] != want[H_CAPACITY] || h[H_RATE] != want[H_RATE])
		return "made for another capacity or false-positive rate";
	if (memcmp(h, want, HEADER_WORDS * sizeof(*h)) != 0)
		return "made for another layout";
	return NULL;
}

bool
twice_pair_saved_options(const void *head, const struct twice_seed *seed,
			 struct twice_pair_options *out)
{
	uint64_t h[HEADER_WORDS];
	struct twice_pair_options o = {0};

	_Static_assert(sizeof h == TWICE_PAIR_HEAD, "a head is as long as pair.h says");
	memcpy(h, head, sizeof(h));
	if (h[H_MAGIC] != MAGIC || h[H_ORDER] != ORDER ||
	    h[H_SEED] != twice_seed_fingerprint(seed) ||
	    h[H_SUM] != XXH3_64bits(h, H_SUM * sizeof(*h)))
		return false;
	o.capacity = h[H_CAPACITY];
	memcpy(&o.false_positives, &h[H_RATE], sizeof(o.false_positives));
	*out = o;
	return true;
}

/* Checks every column against the generation they lead up to, and finds the oldest. */
static bool
lines_check(const struct twice_pair *p, uint64_t g, unsigned *oldest)
{
	*oldest = 0;
	for (uint64_t i = 0; i < p->line_count; i++)
		for (unsigned c = 0; c < LINE_COLUMNS; c++) {
			unsigned behind = column_behind(column_read(&p->lines[i].column[c]), g);

			if (behind > COLUMN_STALE || behind > g)
				return false;
			*oldest = behind > *oldest ? behind : *oldest;
		}
	return true;
}

static bool
is_trailer_sane(const uint64_t t[TRAILER_WORDS])
{
	uint64_t most = UINT64_C(1) << 32;

	return t[T_GENERATION] < UINT64_C(1) << 60 && t[T_IDLE] < UINT64_C(1) << 60 &&
	       t[T_AGE] < UINT64_C(1) << 40 && t[T_KEYS] < most && t[T_OLD_KEYS] < most &&
	       t[T_RECURRING] <= t[T_KEYS] && t[T_OLD_RECURRING] <= t[T_OLD_KEYS];
}

static bool
resume(struct twice_pair *p, const uint64_t t[TRAILER_WORDS], int64_t now_s)
{
	uint64_t g = t[T_GENERATION];
	unsigned oldest;

	if (!is_trailer_sane(t) || !lines_check(p, g, &oldest))
		return false;
	twice_pair_expect(p, parity(g), (struct twice_pair_count){t[T_KEYS], t[T_RECURRING]});
	twice_pair_expect(p, parity(g) ^ 1,
			  (struct twice_pair_count){t[T_OLD_KEYS], t[T_OLD_RECURRING]});
	atomic_store(&p->generation, g);
	atomic_store(&p->floor, g - oldest);
	atomic_store(&p->born_s, now_s - (int64_t)t[T_AGE]);
	atomic_store(&p->idle, t[T_IDLE]);
	p->first_number = twice_pair_number(p);
	return true;
}

static const char *
fill_from(struct twice_pair *p, struct in *in, int64_t now_s)
{
	uint64_t t[TRAILER_WORDS];
	size_t bytes = p->line_count * sizeof(struct line);

	if (!get(in, p->lines, bytes) || !get(in, t, sizeof(t)))
		return "cut short";
	XXH3_64bits_update(&in->sum, p->lines, bytes);
	XXH3_64bits_update(&in->sum, t, T_SUM * sizeof(*t));
	if (XXH3_64bits_digest(&in->sum) != t[T_SUM])
		return "damaged (checksum)";
	if (!resume(p, t, now_s))
		return "the checksum fits but the content makes no sense";
	return NULL;
}

const char *
twice_pair_load(struct twice_pair **out, const struct twice_pair_options *o,
		const struct twice_seed *seed, int64_t now_s, twice_pair_read_fn *read, void *ctx)
{
	struct in in = {.read = read, .ctx = ctx};
	uint64_t h[HEADER_WORDS], want[HEADER_WORDS];
	struct twice_pair *p = twice_pair_new(o, now_s);

	if (!p)
		return "no memory, or options out of range";
	header_fill(want, p, seed);
	XXH3_64bits_reset(&in.sum);
	const char *fault = get(&in, h, sizeof(h)) ? header_fault(h, want) : "cut short";
	XXH3_64bits_update(&in.sum, h, sizeof(h));
	if (!fault)
		fault = fill_from(p, &in, now_s);
	if (fault)
		twice_pair_destroy(&p);
	else
		*out = p;
	return fault;
}
