/* fuzz_slices.c - two response heads, a zero byte between them: that of the 200 whose body lies in
 * slices, and an answer of the origin to a question for some of them. What is taken for those bytes
 * is so only by a strong validator, one Content-Range that says just this, and for no other question.
 * rooms: serve cache coding http base filter
 *
 * Before the heads: how many slices the body has, how much longer it is, and which are asked for.
 */
#include "proxy/http/h1_parse.h"
#include "proxy/http/head.h"
#include "proxy/http/syntax.h"
#include "proxy/serve/rules/slices.h"
#include "proxy/serve/rules/validator.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

#define NOW 1700000000

struct question {
	struct str head;
	uint64_t total;
	struct range want;
	const struct response *rs;
	uint64_t body_bytes;
	bool elsewhere;
};

static enum slices_answer
answer_of(struct question q)
{
	struct slices_question asked = {q.head, q.total, q.want, q.elsewhere};
	return slices_answer(&asked, q.rs, q.body_bytes);
}

/* The number that a text begins with; its end must not be where it begins. */
static uint64_t
number(const char **p, const char *end)
{
	uint64_t v = 0;
	const char *from = *p;
	for (; *p < end && **p >= '0' && **p <= '9'; (*p)++)
		v = v * 10 + (uint64_t)(**p - '0');
	assert(*p > from);
	return v;
}

/* Read by other means than the parser's: "bytes a-b/n" and nothing else. */
static void
range_says(struct str value, uint64_t first, uint64_t last, uint64_t total)
{
	const char *p = value.p, *end = p + value.n;
	assert(value.n > 6 && strncasecmp(p, "bytes", 5) == 0);
	for (p += 5; p < end && *p == ' ';)
		p++;
	assert(number(&p, end) == first && p < end && *p++ == '-');
	assert(number(&p, end) == last && p < end && *p++ == '/');
	assert(number(&p, end) == total && p == end);
}

/* Two tags, and one time of writing; to another server alone. */
static void
is_of_time(struct question q)
{
	struct str date = slices_date(q.head);
	const struct fields *f = &q.rs->fields;
	assert(q.elsewhere && date.n && fields_has(f, FIELD_ETAG));
	assert(str_eq(fields_get(f, FIELD_LAST_MODIFIED), date));
	q.elsewhere = false;
	assert(answer_of(q) == SLICES_CHANGED);
}

static void
is_it(struct question q)
{
	struct question other = q;
	const struct fields *f = &q.rs->fields;
	struct str tag = slices_validator(q.head);
	assert(q.rs->status == 206 && tag.n && fields_count(f, FIELD_CONTENT_RANGE) == 1);
	assert(q.body_bytes == q.want.n || q.body_bytes == UINT64_MAX);
	range_says(fields_get(f, FIELD_CONTENT_RANGE), q.want.at, q.want.at + q.want.n - 1,
		   q.total);
	bool is_same =
		str_eq(fields_get(f, FIELD_ETAG), tag) ||
		(!fields_has(f, FIELD_ETAG) && str_eq(fields_get(f, FIELD_LAST_MODIFIED), tag));
	if (!is_same)
		is_of_time(q);
	if (!is_same)
		return;
	other.total++;
	assert(answer_of(other) == SLICES_ODD);
	other = q;
	other.want.at += SLICE_BYTES;
	assert(answer_of(other) == SLICES_ODD);
	other = q;
	other.want.n--;
	assert(answer_of(other) == SLICES_ODD);
	other = q;
	other.body_bytes = q.want.n + 1;
	assert(answer_of(other) == SLICES_ODD);
}

static void
ask(struct question q)
{
	int status = q.rs->status;
	switch (answer_of(q)) {
	case SLICES_IT:
		is_it(q);
		break;
	case SLICES_IGNORED:
		assert(status == 200 && q.body_bytes == q.total && slices_validator(q.head).n);
		break;
	case SLICES_RENAMED:
		assert(status == 200 && q.body_bytes == q.total);
		is_of_time(q);
		break;
	case SLICES_FAILED:
		assert(status == 429 || status >= 500);
		break;
	case SLICES_ODD:
		assert(slices_validator(q.head).n && status != 429 && status < 500);
		break;
	case SLICES_CHANGED:
		assert(!validator_is_of(slices_validator(q.head), &q.rs->fields));
		break;
	}
}

/* Every byte is in one slice. */
static void
covers(uint64_t total, uint64_t at)
{
	uint64_t i = slices_number(at);
	struct range s = slices_bytes(i, total), behind = slices_bytes(i + 1, total);
	assert(s.at <= at && at < s.at + s.n && s.n <= SLICE_BYTES && i < slices_end(total));
	assert(s.at + s.n == (behind.n ? behind.at : total));
	assert(slices_end(s.at + s.n) == i + 1);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	enum { BEFORE = 5 };
	static struct field v[64], w[64];
	struct response whole = {.fields = {.v = v, .cap = 64}},
			rs = {.fields = {.v = w, .cap = 64}};
	struct buf head = {0};
	struct terms terms;
	struct str first, second;
	if (n < BEFORE)
		return 0;
	str_cut((struct str){(const char *)data + BEFORE, n - BEFORE}, '\0', &first, &second);
	if (!h1_parse_response(first, &whole) || !h1_parse_response(second, &rs))
		return 0;
	uint64_t total = (uint64_t)data[0] * SLICE_BYTES + data[1] * 4099u + 1;
	uint64_t from = data[2] % slices_end(total), to = from + data[3] % 16;
	covers(total, (uint64_t)data[4] * 65536 % total);
	if (slices_may(&whole, total, NOW))
		assert(total > SLICE_BYTES && validator_strong(&whole.fields, NOW).n);
	struct range a = slices_bytes(from, total),
		     b = slices_bytes(to < slices_end(total) ? to : from, total);
	head_store(&whole, NOW, &head, &terms);
	struct question q = {buf_str(&head),	total, {a.at, b.at + b.n - a.at}, &rs,
			     b.at + b.n - a.at, false};
	for (int i = 0; i < 2; i++) {
		q.elsewhere = i;
		q.body_bytes = q.want.n;
		ask(q);
		q.body_bytes = UINT64_MAX;
		ask(q);
		q.body_bytes = total;
		ask(q);
	}
	buf_fini(&head);
	return 0;
}
