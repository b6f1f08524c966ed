/* fuzz_h1_request.c - any bytes as a request head: no crash, and what is accepted holds what the
 * rooms: http base
 * rest of the program relies on.
 */
#include "proxy/http/h1_parse.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
inside(struct str s, struct str head)
{
	return s.n == 0 || (s.p >= head.p && s.p + s.n <= head.p + head.n);
}

static bool
is_clean(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
			if (s.p[i] != '\t')
				return false;
	return true;
}

/* A head that was accepted must be so. */
static void
check(const struct request *r, struct str head)
{
	unsigned hosts = 0, lengths = 0, codings = 0;
	for (unsigned i = 0; i < r->fields.n; i++) {
		const struct field *f = &r->fields.v[i];
		assert(f->name.n && inside(f->name, head) && inside(f->value, head));
		assert(is_clean(f->value) && is_clean(f->name));
		assert(f->id == field_id_of(f->name));
		hosts += str_ieq(f->name, STR("Host"));
		lengths += str_ieq(f->name, STR("Content-Length"));
		codings += str_ieq(f->name, STR("Transfer-Encoding"));
	}
	assert(r->minor == 0 || r->minor == 1);
	assert(hosts == 1 || (r->minor == 0 && hosts == 0));
	assert(lengths + codings <= 1);
	assert((r->framing == FRAMING_LENGTH) == (lengths == 1));
	assert((r->framing == FRAMING_CHUNKED) == (codings == 1));
	assert(r->path_query.n && (r->path_query.p[0] == '/' || str_eq(r->path_query, STR("*"))));
	for (size_t i = 0; i < r->path_query.n; i++)
		assert(r->path_query.p[i] > ' ' && r->path_query.p[i] < 0x7f &&
		       r->path_query.p[i] != '#');
	assert(inside(r->target, head) && inside(r->authority, head));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct h1_limits limits = {8192, 4096, 32};
	struct field v[32];
	struct request r = {.fields = {.v = v, .cap = 32}};
	const char *p = (const char *)data;
	size_t skipped = h1_skip_empty_lines(p, size), scanned = 0, slow = 0, n = 0;

	p += skipped;
	size -= skipped;
	size_t whole = h1_head_bytes(p, size, &scanned);
	/* the same, byte by byte */
	for (size_t have = 1; have <= size && n == 0; have++)
		n = h1_head_bytes(p, have, &slow);
	assert(n == whole);
	if (!whole)
		return 0;
	struct str head = {p, whole};
	if (!h1_parse_request(head, &limits, &r))
		check(&r, head);
	return 0;
}
