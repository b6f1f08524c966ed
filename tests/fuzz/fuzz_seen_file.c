/* fuzz_seen_file.c - a log of sightings that somebody else wrote.
 * rooms: cache http base filter
 *
 * The first byte: bit 0, the head is made right; bit 1, so are the blocks' checksums; bit 2, keys of 16 bytes.
 * Bit 3, it is the file of a choice instead (choice.h), whose checksum bit 0 makes right.
 * The blocks that count are the same when the file is cut behind them, and are written again as they were.
 */
#include "proxy/base/le.h"
#include "proxy/cache/admission/choice.h"
#include "proxy/cache/admission/seen_file.h"
#include "proxy/cache/store/segment.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

static void
mend_block(const struct seen_file *f, char *at, size_t n)
{
	if (n < SEEN_BLOCK_HEAD + 1)
		return;
	uint32_t room = (uint32_t)((n - SEEN_BLOCK_HEAD) / f->key_bytes);
	uint32_t keys = 1 + (unsigned char)at[4] % 8;
	struct seen_block b = {le_get64(at + 8), keys < room ? keys : room};
	if (b.keys)
		seen_block_format(f, &b, at);
}

static void
check_again(const struct seen_file *f, const struct seen_block *b, const char *at, size_t size)
{
	static char again[SEEN_BLOCK_MOST];
	for (uint32_t i = 0; i < b->keys; i++)
		seen_block_put_key(f, again, i, seen_block_key(f, at, i));
	seen_block_format(f, b, again);
	if (memcmp(again, at, size) != 0)
		abort();
}

/* The end of the blocks that count. */
static size_t
read_blocks(const struct seen_file *f, char *p, size_t n, bool mends)
{
	struct seen_block b;
	size_t end = SEEN_FILE_HEAD, size;
	for (;;) {
		if (mends && end < n)
			mend_block(f, p + end, n - end);
		size = end < n ? seen_block_parse(f, (struct str){p + end, n - end}, &b) : 0;
		if (!size)
			return end;
		if (size > n - end || size != SEEN_BLOCK_HEAD + (size_t)b.keys * f->key_bytes)
			abort();
		check_again(f, &b, p + end, size);
		end += size;
	}
}

/* A choice that is believed is written as it was read, and can go on. */
static void
use_choice(char *p, size_t n, bool right)
{
	struct choice c;
	char again[CHOICE_FILE], text[CHOICE_TEXT];
	struct choice_period figures = {.requests = 2000, .bytes = 1, .written = 1, .refused = 1};
	choice_init(&c);
	if (right && n >= CHOICE_FILE) {
		n = CHOICE_FILE;
		memcpy(p, "TWchoice", 8);
		le_put64(p + n - 8, segment_checksum(p, n - 8));
	}
	if (choice_parse(&c, (struct str){p, n}))
		return;
	choice_format(&c, again);
	choice_say(&c, text);
	if (n != CHOICE_FILE || memcmp(again, p, CHOICE_FILE) != 0 ||
	    (c.sightings == CHOICE_FEW && !choice_turn(&c, &figures, 1)) ||
	    c.sightings != CHOICE_MANY)
		abort();
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	unsigned how = n ? data[0] : 0;
	struct seen_file f = {.shape = 7, .key_bytes = how & 4 ? 16 : 8};
	char *p = malloc(n + 1);
	if (!p || n == 0) {
		free(p);
		return 0;
	}
	n--;
	memcpy(p, data + 1, n);
	if (how & 8) {
		use_choice(p, n, how & 1);
		free(p);
		return 0;
	}
	if ((how & 1) && n >= SEEN_FILE_HEAD)
		seen_file_format(&f, p);
	const char *fault = seen_file_fault((struct str){p, n}, &f);
	if ((how & 1) && n >= SEEN_FILE_HEAD && fault)
		abort();
	if (!fault) {
		size_t end = read_blocks(&f, p, n, how & 2);
		if (read_blocks(&f, p, end, false) != end)
			abort();
	}
	free(p);
	return 0;
}
