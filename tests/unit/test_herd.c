/* test_herd.c - whose failure is whose.
 * rooms: serve coding http base filter
 */
#include "proxy/serve/rules/herd.h"

#include "tests/kit/unit.h"

enum { MOST = 10000 };

static const struct {
	const char *says;
	struct herd_facts facts;
	enum herd_step want;
} rules[] = {
	{"what may be shared is shared", {.shareable = true, .status = 200}, HERD_SHARE},
	{"also an error that may be", {.shareable = true, .status = 404}, HERD_SHARE},
	{"a private page is fetched side by side", {.status = 200}, HERD_ALONE},
	{"a redirect that is not shared too", {.status = 302}, HERD_ALONE},
	{"a 5xx may be its leader's own", {.status = 503}, HERD_QUEUE},
	{"but not when our request is the same", {.status = 503, .same = true}, HERD_INHERIT},
	{"nor when we have waited long enough", {.status = 503, .waited_ms = MOST}, HERD_INHERIT},
	{"however many fail, one at a time", {.status = 500, .met = 99}, HERD_QUEUE},
	{"a refusal is its leader's own", {.status = 403}, HERD_QUEUE},
	{"of the same request it is ours, and nobody need wait for it",
	 {.status = 403, .same = true},
	 HERD_ALONE},
	{"after eight of them there is no queue", {.status = 404, .met = 8}, HERD_ALONE},
	{"nor after a long wait", {.status = 404, .waited_ms = MOST}, HERD_ALONE},
	{"a dropped connection may be the leader's own",
	 {.failed = true, .status = 502},
	 HERD_QUEUE},
	{"an origin that is away is away for all",
	 {.failed = true, .status = 502, .blameless = true},
	 HERD_INHERIT},
	{"the same request would be dropped too",
	 {.failed = true, .status = 502, .same = true},
	 HERD_INHERIT},
	{"a leader that left leaves the next one to ask", {.failed = true}, HERD_QUEUE},
	{"that too has an end", {.failed = true, .waited_ms = MOST}, HERD_ALONE},
};

START_TEST(rule)
{
	struct herd_facts f = rules[_i].facts;
	f.most_ms = MOST;
	enum herd_step got = herd_decide(&f);
	ck_assert_msg(got == rules[_i].want, "%s: %d, not %d", rules[_i].says, (int)got,
		      (int)rules[_i].want);
}
END_TEST

static const struct {
	const char *says;
	int64_t usual;
	bool several;
	int64_t most, want;
} waits[] = {
	{"nothing is known", 0, false, 10000, 2000},
	{"four times the usual", 300, true, 10000, 1200},
	{"a second at least", 1, true, 10000, 1000},
	{"the limit at most", 60000, true, 10000, 10000},
	{"one client says that it is long", 60000, false, 10000, 2000},
	{"one client says what it is", 300, false, 10000, 1200},
	{"a low limit", 1, true, 200, 200},
	{"a low limit and a slow server", 5000, true, 200, 200},
	{"a low limit, and nothing is known", 0, false, 200, 200},
};

START_TEST(patience)
{
	int64_t got = herd_patience_ms(waits[_i].usual, waits[_i].several, waits[_i].most);
	ck_assert_msg(got == waits[_i].want, "%s: %lld", waits[_i].says, (long long)got);
}
END_TEST

static struct request
request_of(struct field *fields, unsigned n, const char *path)
{
	return (struct request){.method_name = STR("GET"),
				.authority = STR("a"),
				.path_query = str_of(path),
				.fields = {.v = fields, .n = n}};
}

START_TEST(blame_tells_requests_apart)
{
	struct twice_seed seed = {{0}};
	struct field one[] = {{.name = STR("a"), .value = STR("1")},
			      {.name = STR("b"), .value = STR("2")}};
	struct field two[] = {{.name = STR("a"), .value = STR("12")},
			      {.name = STR("b"), .value = STR("")}};
	struct field other_way[] = {one[1], one[0]};
	struct request r = request_of(one, 2, "/"), differ[] = {
							    request_of(two, 2, "/"),
							    request_of(other_way, 2, "/"),
							    request_of(one, 1, "/"),
							    request_of(one, 2, "/x"),
						    };
	uint64_t b = herd_blame(&seed, &r, STR("192.0.2.1"));
	ck_assert_uint_ne(b, 0);
	ck_assert_uint_eq(b, herd_blame(&seed, &r, STR("192.0.2.1")));
	ck_assert_uint_ne(b, herd_blame(&seed, &r, STR("192.0.2.2")));
	for (int i = 0; i < COUNT(differ); i++)
		ck_assert_uint_ne(b, herd_blame(&seed, &differ[i], STR("192.0.2.1")));
}
END_TEST

UNIT("herd", LOOP(rule, rules), LOOP(patience, waits), TEST(blame_tells_requests_apart))
