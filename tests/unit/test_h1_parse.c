/* rooms: http base
 *
 * test_h1_parse.c - heads and the fault they earn, replayed from tests/vectors/h1 (see
 * tests/README.md), and what a well-formed head is understood to say. */
#include "proxy/http/h1_parse.h"
#include "tests/kit/unit.h"

#include <glob.h>
#include <stdio.h>

static const struct h1_limits limits = {.head_bytes = 2048, .url_bytes = 256, .field_count = 16};

static const struct fault *const faults[] = {
#define FAULT(id, status, word, rule) &fault_##id,
#include "proxy/http/faults.h"
#undef FAULT
};

/* -- vectors ---------------------------------------------------------------------------------- */

struct vector {
	char where[128]; /* file:line */
	char says[160];
	char earns[32]; /* "ok" or a fault's word */
	char head[4096];
	size_t n;
};

static int seen[COUNT(faults)]; /* how many vectors earned each */
static int vectors;

/* "\r", "\n", "\t", "\\", "\x7f", and "\*200a" for 200 times "a". The line's own end is nothing. */
static void
unescape(const char *line, struct vector *v)
{
	for (const char *p = line; *p && *p != '\n'; p++) {
		int times = 1, used = 0;
		unsigned c = (unsigned char)*p;
		if (c == '\\') {
			c = (unsigned char)*++p;
			if (c == 'r' || c == 'n' || c == 't')
				c = c == 'r' ? '\r' : c == 'n' ? '\n' : '\t';
			else if (c == 'x' && sscanf(p + 1, "%2x%n", &c, &used) == 1)
				p += used;
			else if (c == '*' && sscanf(p + 1, "%d%n", &times, &used) == 1)
				c = (unsigned char)*(p += used + 1);
			else
				ck_assert_msg(c == '\\', "%s: unknown escape", v->where);
		}
		ck_assert_msg(v->n + (size_t)times < sizeof v->head, "%s: too long", v->where);
		memset(v->head + v->n, (int)c, (size_t)times);
		v->n += (size_t)times;
	}
}

static void
replay(const struct vector *v)
{
	struct field field[16];
	struct request r = {.fields = {.v = field, .cap = 16}};
	size_t scanned = 0, n = h1_head_bytes(v->head, v->n, &scanned);
	ck_assert_msg(n == v->n, "%s: %s: the head ends at byte %zu of %zu", v->where, v->says, n,
		      v->n);

	/* In a block of its own, so that a sanitizer sees one byte too many being read. */
	char *copy = malloc(v->n);
	memcpy(copy, v->head, v->n);
	const struct fault *f = h1_parse_request((struct str){copy, v->n}, &limits, &r);
	ck_assert_msg(strcmp(f ? f->word : "ok", v->earns) == 0, "%s: %s: earned %s, not %s",
		      v->where, v->says, f ? f->word : "ok", v->earns);
	free(copy);
	vectors++;
	for (int i = 0; i < COUNT(faults); i++)
		seen[i] += faults[i] == f;
}

static void
replay_file(const char *path)
{
	static struct vector v;
	char line[8192];
	int number = 0;
	FILE *file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	v.n = 0;
	while (fgets(line, sizeof line, file)) {
		number++;
		if (strncmp(line, "== ", 3) == 0) {
			if (v.n)
				replay(&v);
			v.n = 0;
			snprintf(v.where, sizeof v.where, "%s:%d", path, number);
			ck_assert_msg(sscanf(line, "== %31s %159[^\n]", v.earns, v.says) == 2,
				      "%s: '== word sentence'", v.where);
		} else if (line[0] != '#') {
			unescape(line, &v);
		}
	}
	if (v.n)
		replay(&v);
	v.n = 0;
	fclose(file);
}

START_TEST(vectors_earn_their_faults)
{
	glob_t files;
	ck_assert_msg(glob("tests/vectors/h1/*.txt", 0, NULL, &files) == 0,
		      "run from the top of the repository");
	for (size_t i = 0; i < files.gl_pathc; i++)
		replay_file(files.gl_pathv[i]);
	globfree(&files);
	ck_assert_int_gt(vectors, 100);
	/* what the parser of heads itself can find; the rest is found by its callers */
	for (int i = 0; i < COUNT(faults); i++) {
		const struct fault *f = faults[i];
		if (f != &fault_CHUNK && f != &fault_TRAILER && f != &fault_BODY_TOO_LARGE &&
		    f != &fault_BODY_CUT && f != &fault_LOOP && f != &fault_MALFORMED &&
		    f != &fault_REWRITE && f != &fault_REWRITE_LENGTH && f->status != 408 &&
		    f->status != 421)
			ck_assert_msg(seen[i], "no vector earns %s", f->word);
	}
}
END_TEST

static const struct {
	const char *line;
	bool has;
} first_lines[] = {
	{"GET / HTTP/1.1\r\n", true},
	{"GET / HTTP/1.1\n", true},
	{"GET / HTTP/9.9\r\n", true},
	{"HTTP/1.1\r\n", true},
	{"GET /\r\n", false},
	{"GET / HTTP/1.1 \r\n", false},
	{"GET / HTTP/1.10\r\n", false},
	{"GET / http/1.1\r\n", false},
	{"\r\n", false},
};

/* A line without one is a fault for certain: nobody waits for the rest of such a head. */
START_TEST(a_first_line_without_a_version_is_known)
{
	struct field field[16];
	struct request r = {.fields = {.v = field, .cap = 16}};
	struct str line = str_of(first_lines[_i].line);
	ck_assert_int_eq(h1_line_has_version(line), first_lines[_i].has);
	if (!first_lines[_i].has)
		ck_assert_ptr_nonnull(h1_parse_request(line, &limits, &r));
}
END_TEST

/* How many bytes h1_head_bytes looks at when a head comes a byte at a time, counted by where it
 * goes on: those behind *scanned, each time. */
static size_t
work_of(const char *line, size_t lines)
{
	size_t line_bytes = strlen(line), n = 0, scanned = 0, work = 0;
	char *head = malloc(line_bytes * lines + 2);
	for (size_t i = 0; i < lines; i++, n += line_bytes)
		memcpy(head + n, line, line_bytes);
	for (size_t have = 1; have <= n; have++) {
		work += have - scanned;
		if (h1_head_bytes(head, have, &scanned))
			break;
		ck_assert_uint_le(scanned, have);
	}
	free(head);
	return work;
}

static const char *const drips[] = {
	"a", "A: b\r\n", "a\n", "\r", "\ra", "a\r\n", "aaaaaaaaaaaaaaaa\r\n"};

START_TEST(a_head_that_drips_costs_linear_work)
{
	size_t once = work_of(drips[_i], 2000), twice = work_of(drips[_i], 4000);
	ck_assert_uint_le(twice, 2 * once + 16);
	ck_assert_uint_le(once, 4 * 2000 * strlen(drips[_i]));
}
END_TEST

/* -- what is understood ----------------------------------------------------------------------- */

static const struct {
	const char *says, *head;
	const char *scheme, *authority, *path_query;
	enum method method;
	enum framing framing;
	uint64_t length;
	bool keep_alive, expect;
} understood[] = {
	/* clang-format off */
	{"origin-form takes its authority from Host",
	 "GET /a?b HTTP/1.1\r\nHost: h:80\r\n\r\n",
	 "", "h:80", "/a?b", METHOD_GET, FRAMING_NONE, 0, true, false},
	{"absolute-form beats Host",
	 "GET http://other/a HTTP/1.1\r\nHost: h\r\n\r\n",
	 "http", "other", "/a", METHOD_GET, FRAMING_NONE, 0, true, false},
	{"absolute-form without a path is /",
	 "GET HTTPS://other HTTP/1.1\r\nHost: h\r\n\r\n",
	 "https", "other", "/", METHOD_GET, FRAMING_NONE, 0, true, false},
	{"absolute-form without a path is * for OPTIONS",
	 "OPTIONS http://other HTTP/1.1\r\nHost: h\r\n\r\n",
	 "http", "other", "*", METHOD_OPTIONS, FRAMING_NONE, 0, true, false},
	{"HTTP/1.0 may have no Host and closes",
	 "GET / HTTP/1.0\r\n\r\n",
	 "", "", "/", METHOD_GET, FRAMING_NONE, 0, false, false},
	{"unless it asks to be kept",
	 "GET / HTTP/1.0\r\nConnection: foo, Keep-Alive\r\n\r\n",
	 "", "", "/", METHOD_GET, FRAMING_NONE, 0, true, false},
	{"close beats keep-alive",
	 "GET / HTTP/1.0\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n",
	 "", "", "/", METHOD_GET, FRAMING_NONE, 0, false, false},
	{"close in HTTP/1.1",
	 "GET / HTTP/1.1\r\nHost: h\r\nConnection: CLOSE\r\n\r\n",
	 "", "h", "/", METHOD_GET, FRAMING_NONE, 0, false, false},
	{"a body of known length",
	 "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-Continue\r\n\r\n",
	 "", "h", "/", METHOD_POST, FRAMING_LENGTH, 5, true, true},
	{"a chunked body",
	 "PATCH / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\nExpect: 100-continue\r\n\r\n",
	 "", "h", "/", METHOD_PATCH, FRAMING_CHUNKED, 0, true, true},
	{"an empty body waits for nothing",
	 "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nExpect: 100-continue\r\n\r\n",
	 "", "h", "/", METHOD_PUT, FRAMING_LENGTH, 0, true, false},
	{"HTTP/1.0 expects nothing (RFC 9110 10.1.1)",
	 "POST / HTTP/1.0\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
	 "", "", "/", METHOD_POST, FRAMING_LENGTH, 5, false, false},
	{"a method of somebody's own",
	 "M-SEARCH / HTTP/1.1\r\nHost: h\r\n\r\n",
	 "", "h", "/", METHOD_OTHER, FRAMING_NONE, 0, true, false},
	/* clang-format on */
};

START_TEST(understands)
{
	struct field field[16];
	struct request r = {.fields = {.v = field, .cap = 16}};
	const char *says = understood[_i].says;
	ck_assert_msg(!h1_parse_request(str_of(understood[_i].head), &limits, &r), "%s", says);
	ck_assert_msg(str_eq(r.scheme, str_of(understood[_i].scheme)), "%s", says);
	ck_assert_msg(str_eq(r.authority, str_of(understood[_i].authority)), "%s", says);
	ck_assert_msg(str_eq(r.path_query, str_of(understood[_i].path_query)), "%s", says);
	ck_assert_msg(r.method == understood[_i].method, "%s", says);
	ck_assert_msg(r.framing == understood[_i].framing, "%s", says);
	ck_assert_msg(r.content_length == understood[_i].length, "%s", says);
	ck_assert_msg(r.keep_alive == understood[_i].keep_alive, "%s", says);
	ck_assert_msg(r.expect_continue == understood[_i].expect, "%s", says);
}
END_TEST

/* -- the end of a head ------------------------------------------------------------------------ */

START_TEST(a_head_is_found_wherever_it_is_cut)
{
	static const char *const heads[] = {"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
					    "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\nHost: h\n\n",
					    "GET / HTTP/1.1\r\nA: b\n\r\n",
					    "GET / HTTP/1.1\r\nA: \rb\r\n\n"};
	for (int i = 0; i < COUNT(heads); i++) {
		char wire[64];
		size_t whole = strlen(heads[i]);
		snprintf(wire, sizeof wire, "%sGET /next\r\n\r\n", heads[i]);
		for (size_t step = 1; step <= strlen(wire); step++) {
			size_t scanned = 0, n = 0, have = 0;
			while (n == 0 && have < strlen(wire)) {
				have = have + step < strlen(wire) ? have + step : strlen(wire);
				n = h1_head_bytes(wire, have, &scanned);
				ck_assert_uint_le(scanned, have);
				ck_assert_int_eq(n != 0, have >= whole);
			}
			ck_assert_uint_eq(n, whole);
		}
	}
}
END_TEST

START_TEST(empty_lines_before_a_request_are_skipped)
{
	ck_assert_uint_eq(h1_skip_empty_lines("\r\n\r\nGET", 7), 4);
	ck_assert_uint_eq(h1_skip_empty_lines("\r\n\r", 3), 2);
	ck_assert_uint_eq(h1_skip_empty_lines("\nGET", 4), 0);
	ck_assert_uint_eq(h1_skip_empty_lines("", 0), 0);
}
END_TEST

/* -- responses -------------------------------------------------------------------------------- */

static const struct {
	const char *says, *head;
	int status; /* 0: refused */
	int minor;
	const char *reason, *value; /* of the first field */
} responses[] = {
	/* clang-format off */
	{"as it should be",                    "HTTP/1.1 200 OK\r\nA: b\r\n\r\n", 200, 1, "OK", "b"},
	{"without the empty line, as stored",  "HTTP/1.1 200 OK\r\nA: b\r\n", 200, 1, "OK", "b"},
	{"as libcurl writes HTTP/2",           "HTTP/2 204 \r\n\r\n", 204, 1, "", NULL},
	{"without a reason",                   "HTTP/1.0 404\r\n\r\n", 404, 0, "", NULL},
	{"a reason with spaces and UTF-8",     "HTTP/1.1 404 Nicht da \xc3\xbc\r\n\r\n", 404, 1, "Nicht da \xc3\xbc", NULL},
	{"an unknown status",                  "HTTP/1.1 999 ?\r\n\r\n", 999, 1, "?", NULL},
	{"bare line feeds (2.2)",              "HTTP/1.1 200 OK\nA: b\n\n", 200, 1, "OK", "b"},
	{"space before a colon goes (5.1)",    "HTTP/1.1 200 OK\r\nA : b\r\n\r\n", 200, 1, "OK", "b"},
	{"an empty value",                     "HTTP/1.1 200 OK\r\nA:\r\n\r\n", 200, 1, "OK", ""},
	{"a folded line is a 502 (5.2)",       "HTTP/1.1 200 OK\r\nA: b\r\n c: d\r\n\r\n", 0, 0, NULL, NULL},
	{"no status line",                     "A: b\r\n\r\n", 0, 0, NULL, NULL},
	{"another protocol",                   "ICY 200 OK\r\n\r\n", 0, 0, NULL, NULL},
	{"a status with a sign",               "HTTP/1.1 +20 OK\r\n\r\n", 0, 0, NULL, NULL},
	{"a status of four digits",            "HTTP/1.1 2000 OK\r\n\r\n", 0, 0, NULL, NULL},
	{"a status under 100",                 "HTTP/1.1 099 OK\r\n\r\n", 0, 0, NULL, NULL},
	{"NUL in a value",                     "HTTP/1.1 200 OK\r\nA: b\001\r\n\r\n", 0, 0, NULL, NULL},
	{"a bare CR in a value",               "HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n", 0, 0, NULL, NULL},
	{"a bare CR in the reason",            "HTTP/1.1 200 O\rK\r\n\r\n", 0, 0, NULL, NULL},
	{"no colon",                           "HTTP/1.1 200 OK\r\nA\r\n\r\n", 0, 0, NULL, NULL},
	{"no name",                            "HTTP/1.1 200 OK\r\n: b\r\n\r\n", 0, 0, NULL, NULL},
	{"a name that is no token",            "HTTP/1.1 200 OK\r\nA(: b\r\n\r\n", 0, 0, NULL, NULL},
	{"something behind the empty line",    "HTTP/1.1 200 OK\r\n\r\nA: b\r\n", 0, 0, NULL, NULL},
	{"nothing",                            "", 0, 0, NULL, NULL},
	/* clang-format on */
};

START_TEST(response)
{
	struct field field[4];
	struct response r = {.fields = {.v = field, .cap = 4}};
	const char *says = responses[_i].says;
	bool ok = h1_parse_response(str_of(responses[_i].head), &r);
	ck_assert_msg(ok == (responses[_i].status != 0), "%s", says);
	if (!ok)
		return;
	ck_assert_msg(r.status == responses[_i].status && r.minor == responses[_i].minor, "%s",
		      says);
	ck_assert_msg(str_eq(r.reason, str_of(responses[_i].reason)), "%s", says);
	ck_assert_msg((r.fields.n > 0) == (responses[_i].value != NULL), "%s", says);
	if (r.fields.n)
		ck_assert_msg(str_eq(field[0].value, str_of(responses[_i].value)), "%s", says);
}
END_TEST

START_TEST(a_response_with_too_many_fields_is_refused)
{
	struct field field[1];
	struct response r = {.fields = {.v = field, .cap = 1}};
	ck_assert(!h1_parse_response(STR("HTTP/1.1 200 OK\r\nA: b\r\nC: d\r\n\r\n"), &r));
}
END_TEST

UNIT("h1_parse", LOOP(a_head_that_drips_costs_linear_work, drips),
     LOOP(a_first_line_without_a_version_is_known, first_lines), TEST(vectors_earn_their_faults),
     LOOP(understands, understood), TEST(a_head_is_found_wherever_it_is_cut),
     TEST(empty_lines_before_a_request_are_skipped), LOOP(response, responses),
     TEST(a_response_with_too_many_fields_is_refused))
