/* fuzz_expand.c - any bytes as a coded body: they are refused, or they are the same body wherever they are cut.
 * rooms: coding http base
 *
 * The first byte of the input chooses the coding, the second one how it is cut.
 */
#include "proxy/coding/expand.h"
#include "tests/kit/expanded.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 1 << 20 };

static enum expansion
expand_cut(enum coding c, struct str s, size_t piece, size_t room, struct buf *out)
{
	const struct expand_limits l = {MOST, s.n};
	struct expander *x = expand_create(c, &l);
	enum expansion e = EXPAND_MORE;
	char *to = malloc(room);
	size_t made;
	while (s.n && e == EXPAND_MORE) {
		struct str in = {s.p, piece < s.n ? piece : s.n};
		s = str_from(s, in.n);
		do {
			e = expand_feed(x, &in, to, room, &made);
			assert(made <= room && (e != EXPAND_FULL || made == room));
			assert(e != EXPAND_MORE || in.n == 0);
			buf_add(out, to, made);
		} while (e == EXPAND_FULL);
	}
	enum expansion end = expand_end(x);
	assert(e == EXPAND_MORE || e == end);
	assert(end == EXPAND_DONE || expand_is_fault(end));
	free(to);
	expand_destroy(&x);
	return end;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum coding codings[] = {CODING_GZIP, CODING_BR, CODING_ZSTD};
	if (size < 2)
		return 0;
	enum coding c = codings[data[0] % 3];
	size_t piece = data[1] % 16 + 1u, room = data[1] / 16 * 37 + 1u;
	struct str in = {(const char *)data + 2, size - 2};
	struct buf whole = {0}, cut = {0};

	enum expansion e = expanded_whole(c, &PIECES_OF(in), &(struct expand_limits){MOST, 0},
					  &whole),
		       f = expand_cut(c, in, piece, room, &cut);
	assert(e == EXPAND_DONE || (expand_is_fault(e) && whole.n == 0));
	assert((e == EXPAND_DONE) == (f == EXPAND_DONE));
	assert(cut.n <= MOST && (cut.n <= EXPAND_FREE_BYTES || cut.n <= EXPAND_RATIO_MOST * in.n));
	if (e == EXPAND_DONE)
		assert(str_eq(buf_str(&whole), buf_str(&cut)));
	/* gzip makes byte by byte, so that the first thing wrong is the same one. */
	assert(c != CODING_GZIP || e == f);
	buf_fini(&whole);
	buf_fini(&cut);
	return 0;
}
