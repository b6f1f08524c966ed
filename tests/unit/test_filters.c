/* rooms: admin base filter
 * test_filters.c - named filters as requests see them: path, query and body in, an answer out.
 */
#include "proxy/admin/filters.h"
#include "tests/kit/unit.h"

#include <jansson.h>
#include <stdbool.h>

static struct filters *all;
static struct filters_answer said;

static void
start(size_t filters, size_t bytes)
{
	all = filters_create(&(struct filters_limits){filters, bytes});
}

static void
stop(void)
{
	filters_destroy(&all);
	ck_assert_ptr_null(all);
	buf_fini(&said.text);
}

/* "METHOD PATH?QUERY": the status; the answer is in said, NUL behind it. */
static int
ask_bytes(const char *what, const char *body, size_t n)
{
	static const struct {
		const char *word;
		enum evhttp_cmd_type method;
	} methods[] = {{"GET ", EVHTTP_REQ_GET},       {"HEAD ", EVHTTP_REQ_HEAD},
		       {"PUT ", EVHTTP_REQ_PUT},       {"POST ", EVHTTP_REQ_POST},
		       {"DELETE ", EVHTTP_REQ_DELETE}, {"PATCH ", EVHTTP_REQ_PATCH}};
	struct filters_request q = {.body = {body, n}};
	char line[1024];
	snprintf(line, sizeof(line), "%s", what);
	for (int i = 0; i < COUNT(methods); i++)
		if (strncmp(line, methods[i].word, strlen(methods[i].word)) == 0)
			q.method = methods[i].method;
	q.path = strtok(strchr(line, ' ') + 1, "?");
	q.query = strtok(NULL, "");
	buf_fini(&said.text);
	filters_answer(all, &q, &said);
	buf_add(&said.text, "", 1);
	return said.status;
}

static int
ask(const char *what, const char *body)
{
	return ask_bytes(what, body, strlen(body));
}

static double
number(const char *what, const char *key)
{
	ck_assert_int_eq(ask(what, ""), 200);
	json_t *top = json_loads(said.text.p, 0, NULL);
	ck_assert_msg(json_is_number(json_object_get(top, key)), "%s: %s", key, said.text.p);
	double v = json_number_value(json_object_get(top, key));
	json_decref(top);
	return v;
}

/* So many keys, a number each from first on. */
static struct buf
keys(unsigned first, unsigned n)
{
	struct buf b = {0};
	for (unsigned i = first; i < first + n; i++)
		buf_printf(&b, "%skey:%u", i == first ? "" : "\n", i);
	return b;
}

static unsigned
ones(void)
{
	unsigned n = 0;
	for (const char *p = said.text.p; *p; p++)
		n += *p == '1';
	return n;
}

#define MADE "PUT /filters/a?capacity=100&false_positives=1%25"

/* clang-format off */
static const struct {
	const char *says, *what, *body;
	int status;
	const char *holds;
} answers[] = {
	{ "the same again keeps it",          MADE, "", 200, "\"keys\": 2" },
	{ "growth 2 is what is not said",     MADE "&grow=2", "", 200, "\"grow\": 2" },
	{ "a share without the sign",         "PUT /filters/a?false_positives=0.01&capacity=100", "", 200, "\"name\": \"a\"" },
	{ "other capacity",                   "PUT /filters/a?capacity=101&false_positives=1%25", "", 409, "other parameters" },
	{ "other rate",                       "PUT /filters/a?capacity=100&false_positives=2%25", "", 409, "other parameters" },
	{ "other growth",                     MADE "&grow=3", "", 409, "other parameters" },
	{ "another one",                      "PUT /filters/B-2_x.y?capacity=1&false_positives=0.5", "", 201, "\"capacity\": 1," },
	{ "no parameters",                    "PUT /filters/b", "", 400, "capacity is" },
	{ "no rate",                          "PUT /filters/b?capacity=5", "", 400, "false_positives is" },
	{ "no keys",                          "PUT /filters/b?capacity=0&false_positives=1%25", "", 400, "capacity is" },
	{ "keys below none",                  "PUT /filters/b?capacity=-5&false_positives=1%25", "", 400, "capacity is" },
	{ "keys and a half",                  "PUT /filters/b?capacity=1.5&false_positives=1%25", "", 400, "capacity is" },
	{ "more digits than a number has",    "PUT /filters/b?capacity=99999999999999999999&false_positives=1%25", "", 400, "capacity is" },
	{ "more keys than may be asked for",  "PUT /filters/b?capacity=1000000000001&false_positives=1%25", "", 400, "capacity is" },
	{ "a rate of nothing",                "PUT /filters/b?capacity=1&false_positives=0", "", 400, "false_positives is" },
	{ "a rate of everything",             "PUT /filters/b?capacity=1&false_positives=100%25", "", 400, "false_positives is" },
	{ "no number",                        "PUT /filters/b?capacity=1&false_positives=nan", "", 400, "false_positives is" },
	{ "a hexadecimal rate",               "PUT /filters/b?capacity=1&false_positives=0x0.1", "", 400, "false_positives is" },
	{ "something behind the rate",        "PUT /filters/b?capacity=1&false_positives=1%25x", "", 400, "false_positives is" },
	{ "growing by nothing",               "PUT /filters/b?capacity=1&false_positives=1%25&grow=1", "", 400, "grow is" },
	{ "growing by leaps",                 "PUT /filters/b?capacity=1&false_positives=1%25&grow=17", "", 400, "grow is" },
	{ "a misspelt parameter",             "PUT /filters/b?capacity=1&error=1%25", "", 400, "ask for capacity" },
	{ "a parameter twice",                "PUT /filters/b?capacity=1&capacity=2&false_positives=1%25", "", 400, "each once" },
	{ "no pairs",                         "PUT /filters/b?capacity", "", 400, "like this" },
	{ "more memory than there is",        "PUT /filters/b?capacity=10000000&false_positives=1%25", "", 507, "are left of the 1000000" },
	{ "and far more",                     "PUT /filters/b?capacity=1000000000000&false_positives=0.000000001", "", 507, "delete one" },
	{ "a name with a space",              "PUT /filters/a%20b?capacity=1&false_positives=1%25", "", 400, "a name is" },
	{ "a name that clients resolve",      "PUT /filters/..?capacity=1&false_positives=1%25", "", 400, "a name is" },
	{ "a name of 65 letters",             "GET /filters/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "", 400, "1 to 64" },
	{ "new, known, new",                  "POST /filters/a/add", "z\nx\ny y\n", 200, "1\n0\n1\n" },
	{ "known, unknown",                   "POST /filters/a/has", "x\nz", 200, "1\n0\n" },
	{ "a carriage return is of the key",  "POST /filters/a/has", "x\r\n", 200, "0\n" },
	{ "nothing to add",                   "POST /filters/a/add", "", 400, "body is empty" },
	{ "a hole between keys",              "POST /filters/a/has", "x\n\ny", 400, "line 2 is empty" },
	{ "adding to what is not there",      "POST /filters/none/add", "x", 404, "PUT /filters/none?" },
	{ "asking what is not there",         "POST /filters/none/has", "x", 404, "no filter \"none\"" },
	{ "showing what is not there",        "GET /filters/none", "", 404, "no filter" },
	{ "deleting what is not there",       "DELETE /filters/none", "", 404, "no filter" },
	{ "all of them",                      "GET /filters", "", 200, "\"bytes_most\": 1000000" },
	{ "the same with a slash",            "GET /filters/", "", 200, "\"name\": \"a\"" },
	{ "one of them",                      "GET /filters/a", "", 200, "\"links\": 1" },
	{ "HEAD is GET",                      "HEAD /filters/a", "", 200, "\"links\": 1" },
	{ "making the list",                  "PUT /filters", "", 405, "use GET, HEAD\n" },
	{ "posting to a filter",              "POST /filters/a", "x", 405, "use GET, HEAD, PUT, DELETE\n" },
	{ "reading the adding",               "GET /filters/a/add", "", 405, "use POST\n" },
	{ "something unheard of",             "PATCH /filters/a", "", 405, "use GET" },
	{ "what nobody does to a filter",     "POST /filters/a/remove", "x", 404, "these paths exist" },
	{ "a nameless deed",                  "POST /filters//add", "x", 404, "these paths exist" },
};
/* clang-format on */

START_TEST(is_answered)
{
	start(4, 1000000);
	ck_assert_int_eq(ask(MADE, ""), 201);
	ck_assert_int_eq(ask("POST /filters/a/add", "x\ny"), 200);
	int status = ask(answers[_i].what, answers[_i].body);
	ck_assert_msg(status == answers[_i].status, "%s: %d %s", answers[_i].says, status,
		      said.text.p);
	ck_assert_msg(strstr(said.text.p, answers[_i].holds), "%s: %s", answers[_i].says,
		      said.text.p);
	if (status == 405)
		ck_assert_ptr_nonnull(strstr(said.text.p, said.allow));
	else
		ck_assert_ptr_null(said.allow);
	if (status >= 400)
		ck_assert_ptr_eq(strchr(said.text.p, '\n') + 1, said.text.p + strlen(said.text.p));
	stop();
}
END_TEST

START_TEST(only_filters_are_ours)
{
	ck_assert(filters_own("/filters"));
	ck_assert(filters_own("/filters/"));
	ck_assert(filters_own("/filters/a/add"));
	ck_assert(!filters_own("/filtersx"));
	ck_assert(!filters_own("/filter"));
	ck_assert(!filters_own(""));
}
END_TEST

START_TEST(a_filter_keeps_its_promise_while_it_grows)
{
	unsigned wrong = 0, lost = 20000;
	start(4, 1000000);
	ck_assert_int_eq(ask(MADE, ""), 201);
	for (unsigned i = 0; i < 20000; i += 1000) {
		struct buf b = keys(i, 1000);
		ck_assert_int_eq(ask_bytes("POST /filters/a/add", b.p, b.n), 200);
		buf_fini(&b);
	}
	for (unsigned i = 0; i < 20000; i += 1000) {
		struct buf present = keys(i, 1000), absent = keys(1000000 + i, 1000);
		ck_assert_int_eq(ask_bytes("POST /filters/a/has", present.p, present.n), 200);
		lost -= ones();
		ck_assert_int_eq(ask_bytes("POST /filters/a/has", absent.p, absent.n), 200);
		wrong += ones();
		buf_fini(&present);
		buf_fini(&absent);
	}
	ck_assert_uint_eq(lost, 0);
	/* Seeded at random: 1% of 20000 and four standard errors. */
	ck_assert_uint_le(wrong, 200 + 56);
	ck_assert_double_eq(number("GET /filters/a", "links"), 8);
	ck_assert_double_ge(number("GET /filters/a", "keys"), 20000 * 0.99);
	ck_assert_double_gt(number("GET /filters/a", "fill"), 0.2);
	double now = number("GET /filters/a", "estimated_false_positives");
	double bound = number("GET /filters/a", "error_bound");
	ck_assert(0.001 < now && now <= bound && bound <= 0.01);
	stop();
}
END_TEST

START_TEST(filters_are_few_and_come_and_go)
{
	start(2, 1000000);
	ck_assert_int_eq(ask(MADE, ""), 201);
	ck_assert_int_eq(ask("PUT /filters/b?capacity=9&false_positives=0.1", ""), 201);
	ck_assert_int_eq(ask("POST /filters/a/add", "x"), 200);
	ck_assert_int_eq(ask("PUT /filters/c?capacity=9&false_positives=0.1", ""), 507);
	ck_assert_ptr_nonnull(strstr(said.text.p, "there are 2 filters"));
	ck_assert_int_eq(ask("DELETE /filters/a", ""), 200);
	ck_assert_int_eq(ask("GET /filters/a", ""), 404);
	ck_assert_int_eq(ask("PUT /filters/c?capacity=9&false_positives=0.1", ""), 201);
	ck_assert_int_eq(ask("GET /filters", ""), 200);
	const char *b = strstr(said.text.p, "\"b\""), *c = strstr(said.text.p, "\"c\"");
	ck_assert(b && c && b < c);
	ck_assert_int_eq(ask("DELETE /filters/b", ""), 200);
	ck_assert_int_eq(ask(MADE, ""), 201);
	ck_assert_int_eq(ask("POST /filters/a/has", "x"), 200);
	ck_assert_str_eq(said.text.p, "0\n");
	stop();
}
END_TEST

/* A full filter says which keys it did not take, still knows those it did, and takes known ones. */
START_TEST(memory_has_an_end)
{
	struct buf first = keys(0, 1000), more = keys(1000, 9000);
	start(4, 5000);
	ck_assert_int_eq(ask(MADE, ""), 201);
	ck_assert_int_eq(ask_bytes("POST /filters/a/add", first.p, first.n), 200);
	ck_assert_int_eq(ask_bytes("POST /filters/a/add", more.p, more.n), 507);
	unsigned line = 0;
	ck_assert_int_eq(sscanf(said.text.p, "the keys from line %u on", &line), 1);
	ck_assert_uint_gt(line, 1);
	double held = number("GET /filters/a", "keys");
	ck_assert_double_le(held, 1000 + line - 1);
	ck_assert_double_ge(held, (1000 + line - 1) * 0.98);
	ck_assert_double_le(number("GET /filters", "bytes"), 5000);
	ck_assert_double_le(number("GET /filters/a", "estimated_false_positives"), 0.01);
	ck_assert_int_eq(ask_bytes("POST /filters/a/add", first.p, first.n), 200);
	ck_assert_uint_eq(ones(), 0);
	stop();
	buf_fini(&first);
	buf_fini(&more);
}
END_TEST

START_TEST(requests_are_bounded)
{
	struct buf many = {0}, lng = {0};
	start(4, 1000000);
	ck_assert_int_eq(ask(MADE, ""), 201);
	for (unsigned i = 0; i <= FILTERS_KEYS_MOST; i++)
		buf_add_lit(&many, "k\n");
	ck_assert_int_eq(ask_bytes("POST /filters/a/add", many.p, many.n), 413);
	ck_assert_int_eq(ask_bytes("POST /filters/a/has", many.p, many.n - 2), 200);
	ck_assert_uint_eq(ones(), 0); /* the refused request added nothing */
	memset(buf_room(&lng, 8193), 'x', 8193);
	ck_assert_int_eq(ask_bytes("POST /filters/a/add", lng.p, 8192), 200);
	ck_assert_int_eq(ask_bytes("POST /filters/a/add", lng.p, 8193), 400);
	ck_assert_ptr_nonnull(strstr(said.text.p, "--data-binary"));
	ck_assert_int_eq(ask_bytes("POST /filters/a/add", "\0a\n\0b", 5), 200);
	ck_assert_str_eq(said.text.p, "1\n1\n");
	stop();
	buf_fini(&many);
	buf_fini(&lng);
}
END_TEST

UNIT("filters", LOOP(is_answered, answers), TEST(only_filters_are_ours),
     TEST(a_filter_keeps_its_promise_while_it_grows), TEST(filters_are_few_and_come_and_go),
     TEST(memory_has_an_end), TEST(requests_are_bounded))
