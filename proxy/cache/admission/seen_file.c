/* seen_file.c - the rows of seen_file.h. */
#include "proxy/cache/admission/seen_file.h"

#include "proxy/base/le.h"
#include "proxy/cache/store/segment.h"

#include <assert.h>
#include <string.h>

static const char MAGIC[8] = "TWsight1", BLOCK_MAGIC[4] = "TWsb";

void
seen_file_format(const struct seen_file *f, char to[SEEN_FILE_HEAD])
{
	memset(to, 0, SEEN_FILE_HEAD);
	memcpy(to, MAGIC, sizeof MAGIC);
	le_put64(to + 8, f->shape);
	le_put32(to + 16, f->key_bytes);
	le_put64(to + 24, segment_checksum(to, 24));
}

const char *
seen_file_fault(struct str bytes, const struct seen_file *want)
{
	char right[SEEN_FILE_HEAD];
	seen_file_format(want, right);
	if (bytes.n < SEEN_FILE_HEAD)
		return "it is cut short";
	if (memcmp(bytes.p, MAGIC, sizeof MAGIC) != 0 ||
	    le_get64(bytes.p + 24) != segment_checksum(bytes.p, 24))
		return "its head is damaged, or it is none";
	if (memcmp(bytes.p, right, SEEN_FILE_HEAD) != 0)
		return "it was made for another filter";
	return NULL;
}

static uint64_t
sum_of(const char *at, size_t keys_bytes)
{
	char sums[16];
	le_put64(sums, segment_checksum(at, 16));
	le_put64(sums + 8, segment_checksum(at + SEEN_BLOCK_HEAD, keys_bytes));
	return segment_checksum(sums, sizeof sums);
}

void
seen_block_format(const struct seen_file *f, const struct seen_block *b, char *at)
{
	assert(b->keys && b->keys <= SEEN_BLOCK_KEYS);
	memcpy(at, BLOCK_MAGIC, sizeof BLOCK_MAGIC);
	le_put32(at + 4, b->keys);
	le_put64(at + 8, b->generation);
	le_put64(at + 16, sum_of(at, (size_t)b->keys * f->key_bytes));
}

size_t
seen_block_parse(const struct seen_file *f, struct str bytes, struct seen_block *out)
{
	if (bytes.n < SEEN_BLOCK_HEAD || memcmp(bytes.p, BLOCK_MAGIC, sizeof BLOCK_MAGIC) != 0)
		return 0;
	struct seen_block b = {.generation = le_get64(bytes.p + 8), .keys = le_get32(bytes.p + 4)};
	if (b.keys == 0 || b.keys > SEEN_BLOCK_KEYS)
		return 0;
	size_t keys_bytes = (size_t)b.keys * f->key_bytes;
	if (bytes.n - SEEN_BLOCK_HEAD < keys_bytes ||
	    le_get64(bytes.p + 16) != sum_of(bytes.p, keys_bytes))
		return 0;
	*out = b;
	return SEEN_BLOCK_HEAD + keys_bytes;
}

struct twice_key_hash
seen_block_key(const struct seen_file *f, const char *at, uint32_t i)
{
	const char *key = at + SEEN_BLOCK_HEAD + (size_t)i * f->key_bytes;
	return (struct twice_key_hash){.lo = le_get64(key),
				       .hi = f->key_bytes > 8 ? le_get64(key + 8) : 0};
}

void
seen_block_put_key(const struct seen_file *f, char *at, uint32_t i, struct twice_key_hash key)
{
	char *to = at + SEEN_BLOCK_HEAD + (size_t)i * f->key_bytes;
	le_put64(to, key.lo);
	if (f->key_bytes > 8)
		le_put64(to + 8, key.hi);
}
