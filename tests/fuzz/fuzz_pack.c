/* fuzz_pack.c - any body, packed whole or as a stream that is flushed now and then, is the same again.
 * rooms: coding http base
 *
 * Its bytes are read as a Content-Type, too.
 * The first byte of the input chooses coding and level, the second one where it is cut.
 */
#include "proxy/coding/compress_types.h"
#include "proxy/coding/expand.h"
#include "proxy/coding/pack.h"
#include "tests/kit/expanded.h"

#include <assert.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
expect_same(enum coding c, struct str packed, struct str body)
{
	const struct expand_limits l = {body.n, EXPAND_ANY_RATIO};
	struct buf out = {0};
	assert(expanded_whole(c, &PIECES_OF(packed), &l, &out) == EXPAND_DONE);
	assert(str_eq(buf_str(&out), body));
	buf_fini(&out);
}

static void
stream(struct pack *p, struct pack_as as, struct str body, size_t piece, struct buf *out)
{
	struct str rest = body;
	assert(pack_begin(p, as));
	for (unsigned i = 0; rest.n; i++) {
		struct str some = {rest.p, piece < rest.n ? piece : rest.n};
		rest = str_from(rest, some.n);
		assert(pack_add(p, some, out) && (i % 3 || pack_flush(p, out)));
	}
	assert(pack_end(p, out));
	expect_same(as.coding, buf_str(out), body);
}

static void
read_type(struct str s)
{
	const struct str all = STR_INIT("*");
	if (compress_types_match(compress_types_default, compress_types_default_n, s))
		assert(compress_types_match(&all, 1, s) && memchr(s.p, '/', s.n));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum coding codings[] = {CODING_GZIP, CODING_BR, CODING_ZSTD};
	static struct pack *p;
	if (size < 2)
		return 0;
	struct pack_as as = {codings[data[0] % 3], 1 + data[0] / 3 % 6};
	size_t piece = data[1] * 13 + 1u;
	struct str body = {(const char *)data + 2, size - 2};
	struct str at[2] = {{body.p, piece < body.n ? piece : body.n}, str_from(body, piece)};
	struct buf out = {0};

	if (!p)
		p = pack_create();
	enum packing r = pack_and_check(p, as, &(struct pieces){at, 2}, &out);
	assert(r == PACK_DONE || (r == PACK_NOT_SMALLER && out.n == 0));
	assert(r == PACK_NOT_SMALLER || out.n + body.n / 16 <= body.n);
	if (r == PACK_DONE)
		expect_same(as.coding, buf_str(&out), body);
	out.n = 0;
	stream(p, as, body, piece, &out);
	buf_fini(&out);
	read_type(body);
	return 0;
}
