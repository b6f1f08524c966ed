/* unasked.c - does an answer about ranges fit what was asked? */
#include "proxy/serve/rules/unasked.h"

#include "proxy/http/range.h"

#include <string.h>

static bool
is_in_bytes(struct str v)
{
	return v.n >= 5 && str_ieq((struct str){v.p, 5}, STR("bytes"));
}

static bool
is_multipart(const struct response *rs)
{
	static const struct str type = {"multipart/byteranges", 20};
	struct str v = fields_get(&rs->fields, FIELD_CONTENT_TYPE);
	return v.n >= type.n && str_ieq((struct str){v.p, type.n}, type);
}

/* All of the body, and a length that says the same. */
static bool
is_whole(struct range got, uint64_t total, uint64_t body_bytes, enum method method)
{
	return got.at == 0 && got.n == total &&
	       (body_bytes == got.n || (method == METHOD_HEAD && body_bytes == UINT64_MAX));
}

/* It begins where the range of the request does, and goes no further. Its client has to look at
 * Content-Range anyway where it asked for the last bytes, or for several ranges. */
static bool
is_asked(struct str range, struct range got, uint64_t total)
{
	static const uint64_t endless = UINT64_C(1) << 62;
	struct range want[RANGES_MAX];
	unsigned n;
	if (memchr(range.p, ',', range.n) || memmem(range.p, range.n, "=-", 2))
		return true;
	uint64_t length = total == UINT64_MAX ? endless : total;
	return range_parse(range, length, want, &n) == RANGE_PART && want[0].at == got.at &&
	       got.n <= want[0].n;
}

static enum unasked
decide_part(enum method method, struct str range, const struct response *rs, uint64_t body_bytes)
{
	struct str v = fields_get(&rs->fields, FIELD_CONTENT_RANGE);
	bool asks = range.n && method == METHOD_GET;
	struct range got;
	uint64_t total;
	if (range.n && (method == METHOD_HEAD || !is_in_bytes(range)))
		return UNASKED_NOT;
	if (is_multipart(rs))
		return asks && memchr(range.p, ',', range.n) ? UNASKED_NOT : UNASKED_ODD;
	if (v.n && !is_in_bytes(v))
		return UNASKED_NOT;
	if (fields_count(&rs->fields, FIELD_CONTENT_RANGE) != 1 ||
	    !content_range_parse(v, &got, &total))
		return UNASKED_ODD;
	if (asks && is_asked(range, got, total))
		return UNASKED_NOT;
	return is_whole(got, total, body_bytes, method) ? UNASKED_WHOLE : UNASKED_ODD;
}

enum unasked
unasked_decide(enum method method, struct str range, const struct response *rs, uint64_t body_bytes)
{
	struct str v = fields_get(&rs->fields, FIELD_CONTENT_RANGE);
	if (rs->status == 206)
		return decide_part(method, range, rs, body_bytes);
	if (rs->status == 416 && !range.n && (!v.n || is_in_bytes(v)))
		return UNASKED_ODD;
	return UNASKED_NOT;
}
