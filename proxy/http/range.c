/* range.c - RFC 9110 14: ranges in, ranges out. Whatever is asked for, no byte is sent twice and
 * no more than RANGES_MAX parts are made.
 */
#include "proxy/http/range.h"

#include "proxy/http/syntax.h"

/* A range-spec of 14.1.2 is one of these. */
enum spec { SPEC_SLICE, SPEC_UNSATISFIABLE, SPEC_MALFORMED };

static enum spec
suffix(struct str digits, uint64_t length, struct range *out)
{
	int64_t n = 0;
	if (!digits_parse(digits, &n))
		return SPEC_MALFORMED;
	if (n == 0 || length == 0)
		return SPEC_UNSATISFIABLE;
	out->n = (uint64_t)n < length ? (uint64_t)n : length;
	out->at = length - out->n;
	return SPEC_SLICE;
}

static enum spec
parse_spec(struct str s, uint64_t length, struct range *out)
{
	struct str first_text, last_text;
	int64_t first = 0, last = INT64_MAX;

	if (!str_cut(s, '-', &first_text, &last_text))
		return SPEC_MALFORMED;
	if (first_text.n == 0)
		return suffix(last_text, length, out);
	if (!digits_parse(first_text, &first) || (last_text.n && !digits_parse(last_text, &last)) ||
	    last < first)
		return SPEC_MALFORMED;
	if ((uint64_t)first >= length)
		return SPEC_UNSATISFIABLE;
	uint64_t end = (uint64_t)last < length ? (uint64_t)last + 1 : length;
	*out = (struct range){(uint64_t)first, end - (uint64_t)first};
	return SPEC_SLICE;
}

static bool
touch(struct range a, struct range b)
{
	return a.at <= b.at + b.n && b.at <= a.at + a.n;
}

static struct range
join(struct range a, struct range b)
{
	uint64_t at = a.at < b.at ? a.at : b.at;
	uint64_t a_end = a.at + a.n, b_end = b.at + b.n;
	return (struct range){at, (a_end > b_end ? a_end : b_end) - at};
}

/* Adds a range; what it touches becomes part of it (15.3.7.2 allows that), in the place of the
 * first: the rest stays in the order of the request. */
static void
add_joined(struct range *v, unsigned *n, struct range s)
{
	unsigned kept = 0, place = *n;
	for (unsigned i = 0; i < *n; i++) {
		if (touch(v[i], s)) {
			s = join(v[i], s);
			place = place < kept ? place : kept;
			if (place == kept)
				kept++; /* keeps room for the result */
		} else {
			v[kept++] = v[i];
		}
	}
	if (place >= kept)
		place = kept++;
	v[place] = s;
	*n = kept;
}

enum range_answer
range_parse(struct str value, uint64_t length, struct range *ranges, unsigned *n)
{
	struct str unit, rest, item;
	unsigned asked = 0;

	*n = 0;
	if (!str_cut(value, '=', &unit, &rest) || !str_ieq(unit, STR("bytes")))
		return RANGE_WHOLE; /* 14.2: an unknown unit is ignored */
	while (list_next(&rest, &item)) {
		struct range s;
		enum spec spec = parse_spec(item, length, &s);
		if (spec == SPEC_MALFORMED || ++asked > RANGES_MAX) /* 14.2, 17.15 */
			return RANGE_WHOLE;
		if (spec == SPEC_SLICE)
			add_joined(ranges, n, s);
	}
	if (asked == 0)
		return RANGE_WHOLE;
	return *n ? RANGE_PART : RANGE_UNSATISFIABLE;
}

bool
content_range_parse(struct str value, struct range *out, uint64_t *total)
{
	struct str unit, rest, range, size, first_text, last_text;
	int64_t first = 0, last = 0, length = 0;

	if (!str_cut(value, ' ', &unit, &rest) || !str_ieq(unit, STR("bytes")) ||
	    !str_cut(rest, '/', &range, &size) || !str_cut(range, '-', &first_text, &last_text) ||
	    !digits_parse(first_text, &first) || !digits_parse(last_text, &last))
		return false;
	bool known = !str_eq(size, STR("*"));
	if (known && !digits_parse(size, &length))
		return false;
	if (last < first || last == INT64_MAX || (known && last >= length)) /* 14.4 */
		return false;
	*out = (struct range){(uint64_t)first, (uint64_t)(last - first) + 1};
	*total = known ? (uint64_t)length : UINT64_MAX;
	return true;
}

void
content_range_format(struct range s, uint64_t total, struct buf *out)
{
	buf_add_lit(out, "bytes ");
	if (s.n == 0) { /* of a 416 */
		buf_add_lit(out, "*");
	} else {
		buf_add_u64(out, s.at);
		buf_add_lit(out, "-");
		buf_add_u64(out, s.at + s.n - 1);
	}
	buf_add_lit(out, "/");
	if (total == UINT64_MAX)
		buf_add_lit(out, "*");
	else
		buf_add_u64(out, total);
}

void
multipart_part_head(struct str boundary, struct str content_type, struct range s, uint64_t total,
		    bool first, struct buf *out)
{
	if (!first)
		buf_add_lit(out, "\r\n");
	buf_add_lit(out, "--");
	buf_add_str(out, boundary);
	if (content_type.n) {
		buf_add_lit(out, "\r\nContent-Type: ");
		buf_add_str(out, content_type);
	}
	buf_add_lit(out, "\r\nContent-Range: ");
	content_range_format(s, total, out);
	buf_add_lit(out, "\r\n\r\n");
}

void
multipart_end(struct str boundary, struct buf *out)
{
	buf_add_lit(out, "\r\n--");
	buf_add_str(out, boundary);
	buf_add_lit(out, "--\r\n");
}
