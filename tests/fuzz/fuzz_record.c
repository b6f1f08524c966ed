/* fuzz_record.c - bytes from a disk that somebody else wrote to, read as a record.
 * rooms: cache http base filter
 *
 * The first byte says whether the checksum is made right first, so that the rest of the reader is
 * reached. What is believed must lie within the input and be written back as the same bytes.
 */
#include "proxy/cache/store/segment.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

/* The checksum covers up to the end of the fragment table, wherever the numbers say that is. */
static void
mend(char *p, size_t n)
{
	uint32_t key, head, fragments, tags, all = (uint32_t)n;
	memcpy(p, "TWR2", 4);
	memcpy(p + 16, &all, 4);
	memcpy(&key, p + 64, 4);
	memcpy(&head, p + 68, 4);
	memcpy(&fragments, p + 72, 4);
	memcpy(&tags, p + 160, 4);
	uint64_t end = RECORD_HEADER_BYTES + (uint64_t)key + head + tags +
		       (uint64_t)fragments * FRAGMENT_ENTRY_BYTES;
	if (end > n)
		return;
	uint64_t sum = segment_checksum(p + 16, end - 16);
	memcpy(p + 8, &sum, 8);
}

static void
use(const char *p, size_t n, const struct record *r)
{
	if (r->key.p < p || r->head.p + r->head.n > p + n || r->tags.p + r->tags.n > p + n)
		abort();
	if (r->is_inline && (r->body < p || r->body + r->body_bytes > p + n))
		abort();
	uint64_t sum = r->is_inline ? r->body_bytes : 0;
	for (uint32_t i = 0; i < r->fragments_n; i++)
		sum += fragment_get(r->fragments, i).at.bytes;
	if (sum != r->body_bytes)
		abort();
	(void)record_body_is_right(r);
	char *back = malloc(r->at.bytes);
	struct record again;
	record_format(r, back);
	if (record_parse(back, r->at.bytes, &again) || again.body_bytes != r->body_bytes ||
	    !str_eq(again.key, r->key) || !str_eq(again.tags, r->tags) ||
	    again.fragments_n != r->fragments_n)
		abort();
	free(back);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	if (n < 1 || n > RECORD_MAX_BYTES)
		return 0;
	char *p = malloc(n); /* exactly, so that a look behind the end is noticed */
	memcpy(p, data + 1, n - 1);
	struct record r;
	if ((data[0] & 1) && n - 1 >= RECORD_HEADER_BYTES)
		mend(p, n - 1);
	if (!record_parse(p, n - 1, &r))
		use(p, n - 1, &r);
	free(p);
	return 0;
}
