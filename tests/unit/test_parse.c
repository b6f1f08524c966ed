/* test_parse.c - lines of every format into entries, and formats known by looking.
 * rooms: simulate config cache coding http base filter
 */
#include "proxy/simulate/parse.h"
#include "proxy/simulate/value.h"
#include "tests/kit/unit.h"

#include <stdio.h>

/* clang-format off */
static const struct {
	const char *says, *text;
	enum format format;
	const char *method, *scheme, *host, *target, *client;
	int64_t time_us;
	int status;
	int64_t bytes; /* below 0: none */
} lines[] = {
	{ "common", "192.0.2.7 - frank [10/Oct/2000:13:55:36 -0700] \"GET /apache_pb.gif HTTP/1.0\" 200 2326",
	  FORMAT_CLF, "GET", "", "", "/apache_pb.gif", "192.0.2.7", 971211336000000, 200, 2326 },
	{ "combined", "::1 - - [22/Nov/2026:05:20:44 +0000] \"GET /a?b=c HTTP/1.1\" 304 - \"http://x/\" \"agent [1] \\\"x\\\"\"",
	  FORMAT_CLF, "GET", "", "", "/a?b=c", "::1", 1795324844000000, 304, -1 },
	{ "combined with a site in front", "www.example.com:443 192.0.2.7 - - [22/Nov/2026:05:20:44 +0000] \"GET /a HTTP/1.1\" 200 5 \"-\" \"-\"",
	  FORMAT_CLF, "GET", "", "www.example.com:443", "/a", "192.0.2.7", 1795324844000000, 200, 5 },
	{ "a quote in the request", "1.2.3.4 - - [22/Nov/2026:05:20:44 +0000] \"GET /a\\\"b HTTP/1.1\" 200 5",
	  FORMAT_CLF, "GET", "", "", "/a\\\"b", "1.2.3.4", 1795324844000000, 200, 5 },
	{ "Varnish NCSA", "1.2.3.4 - - [22/Nov/2026:05:20:44 +0000] \"GET http://example.com/a HTTP/1.1\" 200 5 \"-\" \"curl\"",
	  FORMAT_CLF, "GET", "", "", "http://example.com/a", "1.2.3.4", 1795324844000000, 200, 5 },
	{ "twice", "1.2.3.4 - - [22/Nov/2026:05:20:44 +0000] \"GET /a HTTP/1.1\" 200 5 \"-\" \"-\" host=\"h.example\" cache=\"twice; hit; ttl=3\" head_us=12 total_us=13",
	  FORMAT_CLF, "GET", "", "h.example", "/a", "1.2.3.4", 1795324844000000, 200, 5 },
	{ "twice, JSON", "{\"time\":\"2026-11-22T05:20:44Z\",\"client\":\"1.2.3.4\",\"host\":\"h.example\",\"method\":\"GET\",\"target\":\"/a\",\"protocol\":\"HTTP/1.1\",\"status\":200,\"body_bytes\":5,\"referer\":\"\",\"user_agent\":\"x\",\"cache\":\"twice; hit\",\"head_us\":1,\"total_us\":2,\"cut\":false,\"id\":\"2c6e5ab08f9e466a794339a92f9d41a5\"}",
	  FORMAT_JSON, "GET", "", "h.example", "/a", "1.2.3.4", 1795324844000000, 200, 5 },
	{ "nginx, JSON", "{\"msec\":\"1795324844.250\",\"request_uri\":\"/a%20b?x=1\",\"uri\":\"/a b\",\"request_method\":\"GET\",\"status\":\"206\",\"body_bytes_sent\":\"77\",\"bytes_sent\":\"400\",\"scheme\":\"https\",\"host\":\"h.example\",\"remote_addr\":\"1.2.3.4\",\"x\":{\"status\":500,\"l\":[1,{\"a\":\"]\"}]}}",
	  FORMAT_JSON, "GET", "https", "h.example", "/a%20b?x=1", "1.2.3.4", 1795324844250000, 206, 77 },
	{ "Caddy", "{\"level\":\"info\",\"ts\":1795324844.5,\"logger\":\"http.log.access\",\"request\":{\"remote_ip\":\"1.2.3.4\",\"proto\":\"HTTP/2.0\",\"method\":\"GET\",\"host\":\"h.example\",\"uri\":\"/a?b\",\"headers\":{\"Host\":[\"no\"],\"Range\":[\"x\"]}},\"bytes_read\":0,\"duration\":0.1,\"size\":10900,\"status\":200,\"resp_headers\":{\"Server\":[\"Caddy\"]}}",
	  FORMAT_JSON, "GET", "", "h.example", "/a?b", "1.2.3.4", 1795324844500000, 200, 10900 },
	{ "Envoy", "{\"start_time\":\"2026-11-22T05:20:44.123Z\",\"method\":\"GET\",\"path\":\"/a\",\"authority\":\"h.example\",\"response_code\":200,\"bytes_sent\":12,\"bytes_received\":0,\"response_flags\":\"-\"}",
	  FORMAT_JSON, "GET", "", "h.example", "/a", "", 1795324844123000, 200, 12 },
	{ "Cloudflare", "{\"ClientIP\":\"1.2.3.4\",\"ClientRequestHost\":\"h.example\",\"ClientRequestMethod\":\"GET\",\"ClientRequestURI\":\"/a?b\",\"EdgeEndTimestamp\":\"2026-11-22T05:20:45Z\",\"EdgeResponseBytes\":9000,\"EdgeResponseStatus\":200,\"EdgeStartTimestamp\":1795324844000000000}",
	  FORMAT_JSON, "GET", "", "h.example", "/a?b", "1.2.3.4", 1795324844000000, 200, 9000 },
	{ "JSON, escaped", "{\"time\":1795324844, \"url\":\"\\/a\\u00e9\\\"\" , \"status\":200,\"size\":5}",
	  FORMAT_JSON, "", "", "", "/a\xc3\xa9\"", "", 1795324844000000, 200, 5 },
	{ "Squid", "1795324844.129    345 1.2.3.4 TCP_MISS/200 4512 GET http://h.example/a - HIER_DIRECT/192.0.2.9 text/html",
	  FORMAT_SQUID, "GET", "", "", "http://h.example/a", "1.2.3.4", 1795324844129000, 200, 4512 },
	{ "Traffic Server", "1795324844.129 0 1.2.3.4 TCP_MEM_HIT/200 4512 GET http://h.example/a - NONE/- image/png -",
	  FORMAT_SQUID, "GET", "", "", "http://h.example/a", "1.2.3.4", 1795324844129000, 200, 4512 },
	{ "HAProxy", "Nov 22 05:20:44 lb haproxy[14389]: 1.2.3.4:33317 [22/Nov/2026:05:20:44.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {h.example|x} {} \"GET /index.html HTTP/1.1\"",
	  FORMAT_HAPROXY, "GET", "", "h.example", "/index.html", "1.2.3.4:33317", 1795324844655000, 200, 2750 },
	{ "HAProxy, no answer", "1.2.3.4:33317 [22/Nov/2026:05:20:44.655] http-in static/<NOSRV> -1/-1/-1/-1/109 -1 0 - - CR-- 1/1/1/1/0 0/0 \"GET https://h.example/a HTTP/2.0\"",
	  FORMAT_HAPROXY, "GET", "", "", "https://h.example/a", "1.2.3.4:33317", 1795324844655000, 0, 0 },
	{ "CloudFront", "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs-uri-query x-host-header cs-protocol\n2026-11-22\t05:20:44\tFRA2\t1045619\t1.2.3.4\tGET\td111.cloudfront.net\t/view/a.pdf\t200\tx=1\tcdn.example\thttps",
	  FORMAT_W3C, "GET", "https", "cdn.example", "/view/a.pdf", "1.2.3.4", 1795324844000000, 200, 1045619 },
	{ "W3C with blanks", "#Fields: time cs-method cs-uri sc-status sc-bytes\n1795324844 GET /a 200 7",
	  FORMAT_W3C, "GET", "", "", "/a", "", 1795324844000000, 200, 7 },
	{ "TSV whose host is the client", "host\tlogname\ttime\tmethod\turl\tresponse\tbytes\treferer\tuseragent\nppp.example\t-\t807256800\tGET\t/a.gif\t200\t1713\t\t",
	  FORMAT_TABLE, "GET", "", "", "/a.gif", "ppp.example", 807256800000000, 200, 1713 },
	{ "TSV whose host is the site", "time\thost\turl\tstatus\tbytes\n1795324844\th.example\t/a\t200\t5",
	  FORMAT_TABLE, "", "", "h.example", "/a", "", 1795324844000000, 200, 5 },
	{ "CSV, quoted", "timestamp,client_ip,url,status,size\n2026-11-22 05:20:44,1.2.3.4,\"/a,b\",200,5",
	  FORMAT_TABLE, "", "", "", "/a,b", "1.2.3.4", 1795324844000000, 200, 5 },
	{ "time id size", "1795324844 77 1500", FORMAT_TRIPLE, "", "", "", "", "", 1795324844000000, ENTRY_NO_STATUS, 1500 },
	{ "time id size, a name", "0,abc,1500,9", FORMAT_TRIPLE, "", "", "", "abc", "", 0, ENTRY_NO_STATUS, 1500 },
};

static const struct { const char *text; int64_t us; } times[] = {
	{ "1795324844", 1795324844000000 },
	{ "1795324844.25", 1795324844250000 },
	{ "1795324844250", 1795324844250000 },
	{ "1795324844250001", 1795324844250001 },
	{ "1795324844250001999", 1795324844250001 },
	{ "2026-11-22T05:20:44Z", 1795324844000000 },
	{ "2026-11-22T06:20:44.5+01:00", 1795324844500000 },
	{ "2026-11-22 05:20:44", 1795324844000000 },
	{ "22/Nov/2026:00:20:44 -0500", 1795324844000000 },
	{ "[22/Nov/2026:05:20:44 +0000]", 1795324844000000 },
	{ "29/Feb/2024:00:00:00 +0000", 1709164800000000 },
	{ "01/Jan/1970:00:00:00 +0000", 0 },
	{ "yesterday", -1 }, { "", -1 }, { "2026-13-22T05:20:44Z", -1 }, { "1e9", -1 },
	{ "22/Nov/2026:05:20", -1 }, { "99999999999999999999", -1 }, { "22-Nov-2026:05:20:44", -1 },
};

static const struct { const char *text; int64_t from; uint64_t total; } parts[] = {
	{ "bytes=0-99", 0, 0 }, { "bytes=5-", 5, 0 }, { "5-9", 5, 0 }, { "bytes 5-9/20", 5, 20 },
	{ "bytes=5-9,11-12", 5, 0 }, { "bytes 5-9/*", 5, 0 }, { "bytes=-5", -1, 0 }, { "", -1, 0 },
	{ "5", -1, 0 }, { "bytes */20", -1, 0 }, { "bytes=x-9", -1, 0 }, { "bytes 25-29/20", -1, 0 },
	{ "bytes=99999999999999999999-", -1, 0 },
};

static const char *const nonsense[] = {
	"", "\n", "hello world", "{", "{\"a\"", "{\"a\":}", "{\"time\":1,\"url\":\"/a\"", "[", "\"", "#",
	"1.2.3.4 - - [22/Nov/2026:05:20:44 +0000] \"GET /a", "1.2.3.4 - - [22/Nov/2026:05:20:44 +0000] \"\" 200 5",
	"1.2.3.4 - - [22/Nov/2026:05:20:44 +0000", "1 2", "1.5 x TCP_HIT/200 1 GET", "\x80\xff\x00",
	"{\"time\":1795324844,\"status\":200}", "1.2.3.4 - - [32/Nov/2026:25:20:44 +0000] \"GET /a HTTP/1.1\" 200 5",
};
/* clang-format on */

static enum format
detect(const char *text)
{
	return parse_detect(str_of(text), FORMAT_AUTO, NULL).format;
}

static void
begin(struct parsing *p, enum format f, struct roles_own *own)
{
	parse_init(p, &(struct shape){.format = f}, own);
}

static bool
is(struct str s, const char *z)
{
	return str_eq(s, str_of(z));
}

/* Reads all lines of text, and leaves the last entry. */
static enum parsed
read_all(struct parsing *p, const char *text, struct entry *e)
{
	enum parsed r = PARSED_BAD;
	for (struct str rest = str_of(text); rest.n;) {
		struct str line = str_before(rest, '\n');
		rest = str_from(rest, line.n + 1);
		r = parse_line(p, line, e);
	}
	return r;
}

START_TEST(a_line)
{
	struct parsing p;
	struct entry e;
	const char *says = lines[_i].says;
	ck_assert_msg(detect(lines[_i].text) == lines[_i].format, "%s: taken for %s", says,
		      parse_word(detect(lines[_i].text)));
	for (int twice = 0; twice < 2; twice++) { /* the second time with what was remembered */
		begin(&p, lines[_i].format, NULL);
		if (twice)
			read_all(&p, lines[_i].text, &e);
		ck_assert_msg(read_all(&p, lines[_i].text, &e) == PARSED_ENTRY, "%s", says);
		ck_assert_msg(is(e.method, lines[_i].method), "%s: method", says);
		ck_assert_msg(is(e.scheme, lines[_i].scheme), "%s: scheme", says);
		ck_assert_msg(is(e.host, lines[_i].host), "%s: host %.*s", says, STR_ARG(e.host));
		ck_assert_msg(is(e.target, lines[_i].target), "%s: target %.*s", says,
			      STR_ARG(e.target));
		ck_assert_msg(is(e.client, lines[_i].client), "%s: client %.*s", says,
			      STR_ARG(e.client));
		ck_assert_msg(e.time_us == lines[_i].time_us, "%s: time %lld", says,
			      (long long)e.time_us);
		ck_assert_msg(e.status == lines[_i].status, "%s: status %d", says, e.status);
		ck_assert_msg((e.has_bytes ? (int64_t)e.bytes : -1) == lines[_i].bytes,
			      "%s: bytes %llu", says, (unsigned long long)e.bytes);
		parse_fini(&p);
	}
}
END_TEST

START_TEST(a_time)
{
	int64_t us = -1;
	bool yes = value_time(str_of(times[_i].text), &us);
	ck_assert_msg(yes == (times[_i].us >= 0), "%s", times[_i].text);
	ck_assert_msg(!yes || us == times[_i].us, "%s: %lld", times[_i].text, (long long)us);
}
END_TEST

START_TEST(a_range)
{
	uint64_t from = 0, total = 0;
	bool yes = value_range(str_of(parts[_i].text), &from, &total);
	ck_assert_msg(yes == (parts[_i].from >= 0), "%s", parts[_i].text);
	ck_assert_msg(!yes || (from == (uint64_t)parts[_i].from && total == parts[_i].total),
		      "%s: %llu of %llu", parts[_i].text, (unsigned long long)from,
		      (unsigned long long)total);
}
END_TEST

START_TEST(nonsense_is_no_entry)
{
	for (enum format f = 0; f < FORMAT_COUNT; f++) {
		struct parsing p;
		struct entry e;
		begin(&p, f, NULL);
		ck_assert_msg(parse_line(&p, str_of(nonsense[_i]), &e) != PARSED_ENTRY, "%s: %s",
			      parse_word(f), nonsense[_i]);
		parse_fini(&p);
	}
}
END_TEST

START_TEST(names_of_fields_can_be_given)
{
	struct roles_own own = {0};
	struct parsing p;
	struct entry e;
	ck_assert_int_eq(roles_name(&own, "target", "my_url"), 0);
	ck_assert_int_eq(roles_name(&own, "time", "when"), 0);
	ck_assert_int_eq(roles_name(&own, "bytes", "n"), 0);
	ck_assert_int_eq(roles_name(&own, "colour", "n"), -1);
	begin(&p, FORMAT_JSON, &own);
	struct str line = STR("{\"when\":5,\"url\":\"/no\",\"my_url\":\"/a\",\"n\":7}");
	ck_assert_int_eq(parse_line(&p, line, &e), PARSED_ENTRY);
	ck_assert(is(e.target, "/a") && e.bytes == 7 && e.time_us == 5000000);
	ck_assert_int_eq(parse_detect(line, FORMAT_AUTO, &own).format, FORMAT_JSON);
	ck_assert_int_eq(detect("{\"when\":5,\"n\":7}\n"), FORMAT_AUTO);
	parse_fini(&p);
}
END_TEST

START_TEST(a_log_may_begin_with_other_words)
{
	struct buf log = {0};
	for (int i = 0; i < 100; i++)
		buf_add_lit(&log, "the server has been started, and says so at length\n");
	ck_assert_int_eq(parse_detect(buf_str(&log), FORMAT_AUTO, NULL).format, FORMAT_AUTO);
	for (int i = 0; i < 200; i++)
		buf_add_lit(&log, "192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] \"GET /a HTTP/1.0\" "
				  "200 2326\n");
	ck_assert_int_eq(parse_detect(buf_str(&log), FORMAT_AUTO, NULL).format, FORMAT_CLF);
	buf_fini(&log);
}
END_TEST

START_TEST(a_second_that_is_none_is_none_the_second_time_too)
{
	static const char *const seconds[] = {"44", "99", "44", "61", "60", "59"};
	struct parsing p;
	struct entry e;
	char line[128];
	begin(&p, FORMAT_CLF, NULL);
	for (int i = 0; i < COUNT(seconds); i++) {
		snprintf(line, sizeof line,
			 "1.2.3.4 - - [22/Nov/2026:05:20:%s +0000] \"GET /a HTTP/1.1\" 200 5",
			 seconds[i]);
		ck_assert_msg((parse_line(&p, str_of(line), &e) == PARSED_ENTRY) ==
				      (strcmp(seconds[i], "60") <= 0),
			      "%s", seconds[i]);
	}
	parse_fini(&p);
}
END_TEST

START_TEST(a_query_in_a_column_of_its_own)
{
	struct parsing p;
	struct entry e;
	begin(&p, FORMAT_W3C, NULL);
	read_all(&p, "#Fields: date time cs-uri-stem cs-uri-query\n2026-11-22\t05:20:44\t/a\tx=1",
		 &e);
	ck_assert(is(e.target, "/a") && is(e.query, "x=1"));
	read_all(&p, "2026-11-22\t05:20:44\t/a\t-", &e);
	ck_assert_uint_eq(e.query.n, 0);
	parse_fini(&p);
}
END_TEST

UNIT("parse", LOOP(a_line, lines), LOOP(a_time, times), LOOP(a_range, parts),
     LOOP(nonsense_is_no_entry, nonsense), TEST(names_of_fields_can_be_given),
     TEST(a_log_may_begin_with_other_words), TEST(a_query_in_a_column_of_its_own),
     TEST(a_second_that_is_none_is_none_the_second_time_too))
