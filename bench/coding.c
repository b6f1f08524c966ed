/* coding.c - what do packing and expanding cost, and what do they bring? For each coding, and bodies of several
 * kinds and sizes: the size packed whole, as a stream and as one that is flushed behind each 16 KiB, the memory of a
 * stream's encoder, and MB of plain bytes a second of this thread's CPU: as a stream, packed and checked, and
 * expanded.
 *
 *	make build/release/bench/coding && build/release/bench/coding [MB]
 *
 * MB (32): of plain bytes for each figure, of which the best of three thirds counts.
 */
#include "bench/kit.h"
#include "proxy/coding/expand.h"
#include "proxy/coding/pack.h"
#include "tests/kit/coded.h"
#include "tests/kit/expanded.h"

#include <assert.h>
#include <malloc.h>

static double
cpu_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
coded_already(struct buf *b, uint64_t *seed, size_t n)
{
	struct buf pages = {0};
	coded_html(&pages, seed, 8 * n);
	coded_gzip(buf_str(&pages), 6, NULL, b);
	buf_fini(&pages);
}

static const struct {
	const char *word;
	void (*make)(struct buf *b, uint64_t *seed, size_t n);
} kinds[] = {{"html", coded_html},
	     {"json", coded_json},
	     {"base64", coded_base64},
	     {"coded", coded_already},
	     {"random", coded_random}};
static const size_t sizes[] = {2 << 10, 16 << 10, 128 << 10, 1 << 20};
static const struct pack_as ways[] = {{CODING_BR, 5},	{CODING_BR, 4},	  {CODING_BR, 3},
				      {CODING_ZSTD, 3}, {CODING_GZIP, 6}, {CODING_GZIP, 5}};

enum deed { STREAM, FLUSH, CHECK, EXPAND };

struct subject {
	struct pack *pack;
	struct pack_as as;
	struct str body, packed;
	struct buf out;
	size_t memory; /* of the last stream's encoder */
};

static size_t
memory_used(void)
{
	struct mallinfo2 m = mallinfo2();
	return m.uordblks + m.hblkhd;
}

/* As a body that is on its way: in pieces of a connection's read, perhaps with a pause behind each. Memory that its
 * encoder has in the end. */
static size_t
stream(struct subject *s, bool flushes)
{
	enum { PIECE = 16 << 10 };
	buf_room(&s->out, s->body.n + PIECE);
	size_t before = memory_used();
	struct pack *p = pack_create();
	bool ok = p && pack_begin(p, s->as);
	for (struct str rest = s->body; ok && rest.n; rest = str_from(rest, PIECE)) {
		struct str piece = {rest.p, rest.n < PIECE ? rest.n : PIECE};
		ok = pack_add(p, piece, &s->out) && (!flushes || pack_flush(p, &s->out));
	}
	size_t used = memory_used() - before;
	if (!ok || !pack_end(p, &s->out))
		abort();
	pack_destroy(&p);
	return used;
}

static void
act(struct subject *s, enum deed deed)
{
	const struct expand_limits l = {s->body.n, EXPAND_ANY_RATIO};
	s->out.n = 0;
	if (deed == STREAM || deed == FLUSH)
		s->memory = stream(s, deed == FLUSH);
	else if (deed == CHECK)
		pack_and_check(s->pack, s->as, &PIECES_OF(s->body), &s->out);
	else if (expanded_whole(s->as.coding, &PIECES_OF(s->packed), &l, &s->out) != EXPAND_DONE)
		abort();
}

/* MB a second: the best of three rounds, since whoever else uses the machine can only make it slower. */
static double
rate(struct subject *s, enum deed deed, double mb)
{
	size_t times = (size_t)(mb * 1e6 / 3 / (double)s->body.n) + 1;
	double best = 0;
	for (int round = 0; round < 3; round++) {
		double begun = cpu_seconds();
		for (size_t i = 0; i < times; i++)
			act(s, deed);
		double r = (double)s->body.n * (double)times * 1e-6 / (cpu_seconds() - begun);
		best = r > best ? r : best;
	}
	return best;
}

static void
measure(struct subject *s, const char *kind, double mb)
{
	struct buf packed = {0};
	enum packing p = pack_and_check(s->pack, s->as, &PIECES_OF(s->body), &packed);
	double whole = (double)s->body.n, streamed, flushed;
	act(s, FLUSH);
	flushed = (double)s->out.n / whole;
	act(s, STREAM);
	streamed = (double)s->out.n / whole;
	printf("%-7s %8zu  %-4s %d  %-12s %7.3f %8.3f %8.3f %6zu %8.1f %8.1f", kind, s->body.n,
	       coding_word(s->as.coding), s->as.level, pack_word(p),
	       p == PACK_DONE ? (double)packed.n / whole : 1, streamed, flushed, s->memory >> 10,
	       rate(s, STREAM, mb), rate(s, CHECK, mb));
	s->packed = buf_str(&packed);
	if (p == PACK_DONE)
		printf(" %8.1f\n", rate(s, EXPAND, mb));
	else
		printf(" %8s\n", "-");
	buf_fini(&packed);
}

int
main(int argc, char **argv)
{
	double mb = argc > 1 ? atof(argv[1]) : 32;
	struct subject s = {.pack = pack_create()};
	uint64_t seed = 37;
	bench_head(argc, argv);
	printf("%-7s %8s  %-6s  %-12s %7s %8s %8s %6s %8s %8s %8s\n", "body", "bytes", "coding", "",
	       "packed", "streamed", "flushed", "memory", "stream", "checked", "expand");
	printf("%-7s %8s  %-6s  %-12s %7s %8s %8s %6s %8s %8s %8s\n", "", "", "", "", "ratio",
	       "ratio", "ratio", "KiB", "MB/s", "MB/s", "MB/s");
	for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
		struct buf body = {0};
		kinds[k].make(&body, &seed, 1 << 20);
		for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
			for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
				assert(body.n >= sizes[i]);
				s.body = (struct str){body.p, sizes[i]};
				s.as = ways[w];
				measure(&s, kinds[k].word, mb);
			}
		buf_fini(&body);
	}
	buf_fini(&s.out);
	pack_destroy(&s.pack);
	return 0;
}
