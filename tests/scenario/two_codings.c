/* Two codings of one version are fetched where a client of gzip alone asks for what lies here as br: they are compared. */
#include "tests/kit/packed.h"
#include "tests/kit/uncoded.h"

#define VARY "Cache-Control: max-age=600\r\nContent-Type: text/html\r\nVary: Accept-Encoding\r\n"
#define GZIP VARY "Content-Encoding: gzip\r\n"
#define BR   VARY "Content-Encoding: br\r\n"

static const char takes_br[] = "Accept-Encoding: gzip, br\r\n";
static const char takes_gzip[] = "Accept-Encoding: gzip\r\n";

enum { SIZE = 40000 };

/* The same page as another day's: one byte is another one. */
static char *
other_page(size_t n, size_t at)
{
	char *p = uncoded_page(n);
	p[at] = '#';
	return p;
}

static void
br_lies_here(const char *path, const char *p, size_t n, const char *etag)
{
	struct packed b = packed_br(p, n);
	origin_says(path, .fields = BR, .body = b.p, .body_bytes = b.n, .etag = etag);
}

static void
gzip_is_next(const char *path, const char *p, size_t n, const char *etag)
{
	struct packed b = packed_gzip(p, n);
	origin_says(path, .fields = GZIP, .body = b.p, .body_bytes = b.n, .etag = etag);
}

/* By the third client of gzip alone. */
static void
fetch_both(const char *path)
{
	expect_field(get_with(path, takes_br), "Content-Encoding", "br");
	for (int i = 0; i < 2; i++)
		expect_no_field(get_with(path, takes_gzip), "Content-Encoding");
	expect_field(get_with(path, takes_gzip), "Content-Encoding", "gzip");
	/* The one worker has stored it, and looked: a question for numbers might be at the packer's queue then. */
	wait_until(strstr(field(get_with(path, takes_gzip), "Cache-Status"), "hit"));
	origin_expect_requests_for(path, 2);
}

SCENARIO("codings of one version with different bytes are kept apart from then on, on their route")
{
	char *p = uncoded_page(SIZE), *q = other_page(SIZE, SIZE - 1);
	by_http_only(); /* the log's URL */
	br_lies_here("/x", p, SIZE, "\"1\"");
	gzip_is_next("/x", q, SIZE, "\"1\"");
	origin_says("/x", .fields = VARY, .body = "plain", .etag = "\"1\"");
	br_lies_here("/x", p, SIZE, "\"1\"");
	gzip_is_next("/x", q, SIZE, "\"1\"");
	br_lies_here("/y", p, SIZE, NULL);
	origin_says("/y", .fields = VARY, .body = "plain");
	br_lies_here("/one/y", p, SIZE, NULL);
	br_lies_here("/z", p, SIZE, NULL);
	edge_start_yaml("workers: 1\nroutes: [ { path: /one/ } ]\n");
	fetch_both("/x");
	edge_expect_stat("packing.differing", 1);
	edge_expect_stat("packing.compared", 1);
	wait_until(edge_said("the origin's answers for http://example.com/x as br and as gzip"));
	/* Each class has its own by now, and is sent it as it came. */
	expect_answer(get("/x"), 200, "plain");
	uncoded_expect(get_with("/x", takes_br), "br", p, SIZE);
	uncoded_expect(get_with("/x", takes_gzip), "gzip", q, SIZE);
	origin_expect_requests_for("/x", 5);
	struct answer a = get("/x");
	expect_answer(a, 200, "plain");
	expect_hit(a);
	a = get_with("/x", takes_br);
	uncoded_expect(a, "br", p, SIZE);
	expect_hit(a);
	a = get_with("/x", takes_gzip);
	uncoded_expect(a, "gzip", q, SIZE);
	expect_hit(a);
	/* So has another URL of that route, and not one of another. */
	get_with("/y", takes_br);
	expect_answer(get("/y"), 200, "plain");
	a = get_with("/y", takes_br);
	uncoded_expect(a, "br", p, SIZE);
	expect_hit(a);
	origin_expect_requests_for("/y", 2);
	get_with("/one/y", takes_br);
	uncoded_expect_plain(get("/one/y"), p, SIZE);
	origin_expect_requests_for("/one/y", 1);
	/* Until the configuration changes. */
	edge_rewrite("workers: 1\nroutes: [ { path: /one/ }, { path: /two/ } ]\n");
	expect_int(
		program(edge_binary(), "reload", "--admin", text("127.0.0.1:%u", edge_admin_port()))
			.status,
		0);
	get_with("/z", takes_br);
	uncoded_expect_plain(get("/z"), p, SIZE);
	origin_expect_requests_for("/z", 1);
	expect_int(edge_times_said("have one validator and different bytes"), 1);
}

SCENARIO("codings of one version with the same bytes stay one form, and are compared once a minute")
{
	char *p = uncoded_page(SIZE), *q = other_page(SIZE, 7);
	static const char *const paths[] = {"/1", "/2", "/other/1", "/3"};
	for (int i = 0; i < 4; i++) {
		br_lies_here(paths[i], p, SIZE, "\"1\"");
		gzip_is_next(paths[i], i == 1 ? q : p, SIZE, "\"1\"");
	}
	clock_hold();
	edge_start_yaml("workers: 1\nroutes: [ { path: /other/ } ]\n");
	fetch_both("/1");
	edge_expect_stat("packing.compared", 1);
	clock_advance(59000);
	fetch_both("/2"); /* too soon for its route: nobody looks */
	fetch_both("/other/1");
	edge_expect_stat("packing.compared", 2);
	clock_advance(2000);
	fetch_both("/3");
	edge_expect_stat("packing.compared", 3);
	edge_expect_stat("packing.differing", 0);
	for (int i = 0; i < 4; i++)
		uncoded_expect_plain(get(paths[i]), i == 1 ? q : p, SIZE);
	origin_expect_requests(8);
}

/* Each has a route of its own; the last one is compared behind them. */
SCENARIO("what strong validators do not call one version is not compared, nor what is damaged")
{
	char *p = uncoded_page(SIZE), *q = other_page(SIZE, 7);
	struct packed cut = packed_gzip(q, SIZE);
	br_lies_here("/none/", p, SIZE, NULL);
	gzip_is_next("/none/", q, SIZE, NULL);
	br_lies_here("/weak/", p, SIZE, "W/\"1\"");
	gzip_is_next("/weak/", q, SIZE, "W/\"1\"");
	br_lies_here("/others/", p, SIZE, "\"1\"");
	gzip_is_next("/others/", q, SIZE, "\"2\"");
	br_lies_here("/cut/", p, SIZE, "\"1\"");
	origin_says("/cut/", .fields = GZIP, .body = cut.p, .body_bytes = cut.n - 9,
		    .etag = "\"1\"");
	struct packed a = packed_br(p, SIZE), b = packed_gzip(q, SIZE);
	origin_says("/date/", .fields = BR, .body = a.p, .body_bytes = a.n, .etag = "\"1\"",
		    .last_modified = "Mon, 02 Nov 2026 10:00:00 GMT");
	origin_says("/date/", .fields = GZIP, .body = b.p, .body_bytes = b.n, .etag = "\"1-gzip\"",
		    .last_modified = "Mon, 02 Nov 2026 10:00:00 GMT");
	edge_start_yaml(
		"workers: 1\nroutes: [ { path: /none/ }, { path: /weak/ }, { path: /others/ }, "
		"{ path: /cut/ }, { path: /date/ } ]\n");
	static const char *const none[] = {"/none/", "/weak/", "/others/"};
	for (int i = 0; i < 3; i++)
		fetch_both(none[i]);
	fetch_both("/date/");
	edge_expect_stat("packing.differing", 1);
	edge_expect_stat("packing.compared", 1);
	wait_until(edge_said("/date/ as br and as gzip"));
	fetch_both("/cut/"); /* behind the others: pairs are compared one at a time */
	wait_until(edge_stat("packing.waiting") == 0);
	edge_expect_stat("packing.compared", 1);
	edge_stop();
	expect(!edge_said("/cut/ as br"));
}
