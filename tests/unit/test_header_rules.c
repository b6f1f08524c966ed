/* test_header_rules.c - the rules of two levels as one list.
 * rooms: serve config coding http base
 */
#include "config/routes.h"
#include "proxy/serve/outgoing/header_rules.h"

#include "tests/kit/unit.h"

/* "-A" removes, "=A: b" sets, "+A: b" adds. */
enum { MOST = 4 };
struct level {
	const char *rules[MOST];
};

/* clang-format off */
static const struct {
	const char *says;
	struct level all, route;
	const char *hides, *lines;
} levels[] = {
	{"one level",                         {{"-A", "=B: 1", "+C: 2"}}, {{0}}, "A B ", "B: 1|C: 2|"},
	{"they add up, the route's last",     {{"+A: 1"}}, {{"+A: 2", "=B: 3"}}, "B ", "A: 1|B: 3|A: 2|"},
	{"the route sets what all have",      {{"=A: 1"}}, {{"=a: 2"}}, "A ", "a: 2|"},
	{"the route removes what all have",   {{"=A: 1", "+B: 1"}}, {{"-A", "-B"}}, "A B ", ""},
	{"a name may end in a star",          {{"-X-In-*", "=A: 1", "+x-in-b: 1"}}, {{"-a*"}}, "A X-In-* a* ", "x-in-b: 1|"},
	{"a star takes what all set",         {{"=X-In-A: 1", "+B: 1"}}, {{"-x-in-*"}}, "X-In-A x-in-* ", "B: 1|"},
	{"the route sets what all remove",    {{"-A"}}, {{"=A: 1"}}, "A ", "A: 1|"},
	{"the route adds to what all remove", {{"-A"}}, {{"+A: 1"}}, "A ", "A: 1|"},
	{"set, then add, of one level",       {{"+A: 2", "=A: 1"}}, {{0}}, "A ", "A: 1|A: 2|"},
	{"variables",                         {{"=A: $scheme://$host", "+B: $client_address $$"}}, {{0}}, "A ", "A: https://h|B: 192.0.2.1 $|"},
	{"spaces around the value",           {{"=A:1 "}}, {{"+B:  2 3"}}, "A ", "A: 1|B: 2 3|"},
};
/* clang-format on */

static void
fill_in(struct config_headers *h, const struct level *l, char *texts[3][MOST])
{
	h->remove = texts[0];
	h->set = texts[1];
	h->add = texts[2];
	for (int i = 0; i < MOST && l->rules[i]; i++) {
		char *text = strdup(l->rules[i] + 1);
		switch (l->rules[i][0]) {
		case '-':
			h->remove[h->remove_count++] = text;
			break;
		case '=':
			h->set[h->set_count++] = text;
			break;
		default:
			h->add[h->add_count++] = text;
		}
	}
}

static void
free_all(char *texts[3][MOST])
{
	for (int i = 0; i < 3 * MOST; i++)
		free(texts[i / MOST][i % MOST]);
}

START_TEST(one_list)
{
	struct config_headers all = {0}, route = {0};
	char *a[3][MOST] = {{0}}, *b[3][MOST] = {{0}};
	struct buf hides = {0}, lines = {0};
	const struct header_values v = {STR("h"), STR("https"), STR("192.0.2.1")};
	fill_in(&all, &levels[_i].all, a);
	fill_in(&route, &levels[_i].route, b);
	struct header_rules *r = header_rules_create(&all, &route);
	for (unsigned i = 0; i < r->gone_n; i++)
		buf_printf(&hides, "%.*s ", STR_ARG(r->gone[i]));
	for (unsigned i = 0; i < r->n; i++) {
		buf_printf(&lines, "%.*s: ", STR_ARG(r->lines[i].name));
		header_rules_add_value(&r->lines[i], &v, &lines);
		buf_add_lit(&lines, "|");
	}
	ck_assert_msg(str_eq(buf_str(&hides), str_of(levels[_i].hides)), "%s: hides %.*s",
		      levels[_i].says, STR_ARG(buf_str(&hides)));
	ck_assert_msg(str_eq(buf_str(&lines), str_of(levels[_i].lines)), "%s: %.*s",
		      levels[_i].says, STR_ARG(buf_str(&lines)));
	ck_assert(r->per_client == (strstr(levels[_i].lines, "192.0.2.1") != NULL));
	buf_fini(&hides);
	buf_fini(&lines);
	header_rules_destroy(&r);
	free_all(a);
	free_all(b);
}
END_TEST

START_TEST(without_rules_there_is_nothing)
{
	struct config_headers none = {0};
	struct header_rules *r = header_rules_create(&none, &none);
	ck_assert_ptr_null(r);
	header_rules_destroy(&r);
}
END_TEST

START_TEST(strict_transport_security_is_for_https)
{
	char line[] = "Strict-Transport-Security: max-age=1", *set[] = {line};
	struct config_headers all = {.set = set, .set_count = 1}, none = {0};
	struct header_rules *r = header_rules_create(&all, &none);
	ck_assert(header_rules_apply(&r->lines[0], STR("https")));
	ck_assert(!header_rules_apply(&r->lines[0], STR("http")));
	ck_assert(!header_rules_apply(&r->lines[0], STR("")));
	header_rules_destroy(&r);
}
END_TEST

UNIT("header_rules", LOOP(one_list, levels), TEST(without_rules_there_is_nothing),
     TEST(strict_transport_security_is_for_https))
