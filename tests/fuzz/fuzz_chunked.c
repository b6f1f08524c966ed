/* fuzz_chunked.c - a chunked body is the same wherever it is cut; what was decoded, encoded again
 * rooms: http base
 * and decoded again, is the same. The first byte of the input says how it is cut.
 */
#include "proxy/base/buf.h"
#include "proxy/http/chunked.h"

#include <assert.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
	enum chunked_step step;
	size_t eaten;
	struct buf body;
};

static void
decode(struct str wire, size_t piece, struct outcome *out)
{
	struct chunked c = {0};
	*out = (struct outcome){.step = CHUNKED_MORE};
	for (size_t at = 0; at < wire.n && out->step == CHUNKED_MORE; at += piece) {
		struct str in = {wire.p + at, piece < wire.n - at ? piece : wire.n - at}, bytes;
		size_t given = in.n;
		const struct fault *fault = NULL;
		while ((out->step = chunked_decode(&c, &in, &bytes, &fault)) == CHUNKED_DATA) {
			assert(bytes.n > 0);
			buf_add_str(&out->body, bytes);
		}
		assert((out->step == CHUNKED_FAULT) == (fault != NULL));
		assert(out->step != CHUNKED_MORE || in.n == 0);
		out->eaten += given - in.n;
	}
}

static void
encode(struct str body, size_t piece, struct buf *wire)
{
	char line[20];
	for (size_t at = 0; at < body.n; at += piece) {
		size_t n = piece < body.n - at ? piece : body.n - at;
		buf_add(wire, line, chunked_size_line(line, n));
		buf_add(wire, body.p + at, n);
		buf_add_lit(wire, "\r\n");
	}
	buf_add_lit(wire, "0\r\n\r\n");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	size_t piece = data[0] % 31 + 1u;
	struct str wire = {(const char *)data + 1, size - 1};
	struct outcome whole, cut, again;
	struct buf encoded = {0};

	decode(wire, wire.n, &whole);
	decode(wire, piece, &cut);
	assert(whole.step == cut.step && whole.eaten == cut.eaten);
	assert(str_eq(buf_str(&whole.body), buf_str(&cut.body)));

	encode(buf_str(&whole.body), piece, &encoded);
	decode(buf_str(&encoded), 7, &again);
	assert(again.step == CHUNKED_DONE && again.eaten == encoded.n);
	assert(str_eq(buf_str(&whole.body), buf_str(&again.body)));

	buf_fini(&whole.body);
	buf_fini(&cut.body);
	buf_fini(&again.body);
	buf_fini(&encoded);
	return 0;
}
