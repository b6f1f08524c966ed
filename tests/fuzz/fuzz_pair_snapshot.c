/* fuzz_pair_snapshot.c - bytes that somebody else wrote, restored as a pair of filters.
 * rooms: filter
 *
 * The first byte says what follows: the stream as it is, or the inside of one with header
 * and checksums that are right, so that the content itself is put to the test. What is
 * restored is used: asked, added to, rotated and saved again.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "filter/mix.h"
#include "filter/pair.h"

enum { ROOM = 4096, HEADER = 64, SUM = 8, KEYS = 300 };

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

struct stream {
	unsigned char bytes[ROOM];
	size_t n, at;
};

static const struct twice_pair_options options = {.capacity = 200, .false_positives = 0.01};
static const struct twice_seed seed;

static int
stream_write(void *ctx, const void *bytes, size_t n)
{
	struct stream *s = ctx;

	if (n > ROOM - s->n)
		return -1;
	memcpy(s->bytes + s->n, bytes, n);
	s->n += n;
	return 0;
}

static size_t
stream_read(void *ctx, void *buf, size_t n)
{
	struct stream *s = ctx;

	n = n < s->n - s->at ? n : s->n - s->at;
	memcpy(buf, s->bytes + s->at, n);
	s->at += n;
	return n;
}

/* A true snapshot with its inside replaced, and signed again. */
static void
forge(struct stream *s, const unsigned char *data, size_t n)
{
	static struct stream genuine;
	struct twice_pair *p = NULL;

	if (genuine.n == 0) {
		if (twice_pair_create(&p, &options, 0) != 0 ||
		    twice_pair_save(p, &seed, 0, stream_write, &genuine) != 0)
			abort();
		twice_pair_destroy(&p);
	}
	*s = genuine;
	size_t inside = s->n - HEADER - SUM;
	memcpy(s->bytes + HEADER, data, n < inside ? n : inside);
	XXH64_hash_t sum = XXH3_64bits(s->bytes, s->n - SUM);
	memcpy(s->bytes + s->n - SUM, &sum, SUM);
}

static void
use(struct twice_pair *p)
{
	struct twice_pair_stats stats;
	struct stream again = {.n = 0};

	for (uint64_t i = 0; i < KEYS; i++) {
		struct twice_key_hash h = {mix_bits(i), mix_bits(i + KEYS)};

		twice_pair_record(p, h);
		if (twice_pair_test(p, h) == TWICE_SIGHT_FIRST)
			abort();
		if (i % 50 == 0)
			twice_pair_rotate(p, (int64_t)i);
	}
	twice_pair_stats(p, &stats);
	if (twice_pair_save(p, &seed, 0, stream_write, &again) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	struct stream s = {.n = 0};
	struct twice_pair *p = NULL;

	if (n == 0 || n > ROOM)
		return 0;
	if (data[0] & 1)
		forge(&s, data + 1, n - 1);
	else
		stream_write(&s, data + 1, n - 1);
	/* A head that can be loaded tells the options that it was loaded with. */
	struct twice_pair_options told;
	bool tells = s.n >= TWICE_PAIR_HEAD && twice_pair_saved_options(s.bytes, &seed, &told);
	bool may = twice_pair_load(&p, &options, &seed, 0, stream_read, &s) == NULL;
	if (may && !(tells && told.capacity == options.capacity &&
		     told.false_positives == options.false_positives))
		abort();
	if (may) {
		use(p);
		twice_pair_destroy(&p);
	} else if (p) {
		abort();
	}
	return 0;
}
