/* rooms: serve coding http base
 * test_access_line.c - one request, one line, whatever a client sent.
 */
#include "proxy/serve/access_line.h"
#include "tests/kit/unit.h"

#include <jansson.h>

static struct access_line
usual(void)
{
	return (struct access_line){
		.now_s = 1763651045,
		.client = STR("192.0.2.1"),
		.request_line = STR("GET /a?b=c HTTP/1.1"),
		.host = STR("example.com"),
		.status = 200,
		.body_bytes = 1024,
		.referer = STR(""),
		.agent = STR("curl/7.88"),
		.cache = STR("twice; hit; ttl=60; detail=ram"),
		.head_us = 38,
		.total_us = 41,
	};
}

static const char *
printed(void form(const struct access_line *, struct buf *), const struct access_line *l)
{
	static char z[8192];
	struct buf out = {0};
	form(l, &out);
	ck_assert_uint_lt(out.n, sizeof z);
	memcpy(z, out.p, out.n);
	z[out.n] = '\0';
	buf_fini(&out);
	return z;
}

START_TEST(combined_and_then_more)
{
	struct access_line l = usual();
	ck_assert_str_eq(
		printed(access_line_combined, &l),
		"192.0.2.1 - - [20/Nov/2025:15:04:05 +0000] \"GET /a?b=c HTTP/1.1\" 200 1024 "
		"\"-\" \"curl/7.88\" host=\"example.com\" "
		"cache=\"twice; hit; ttl=60; detail=ram\" head_us=38 total_us=41\n");
	l.cut = true;
	ck_assert_ptr_nonnull(strstr(printed(access_line_combined, &l), "total_us=41 cut\n"));
	l.range = STR("bytes=0-\"9");
	ck_assert_ptr_nonnull(strstr(printed(access_line_combined, &l),
				     "total_us=41 range=\"bytes=0-\\x229\" cut\n"));
	ck_assert_ptr_nonnull(
		strstr(printed(access_line_json, &l), ",\"range\":\"bytes=0-\\u00229\""));
	l.range = STR("");
	l.id = STR("4f");
	ck_assert_ptr_nonnull(
		strstr(printed(access_line_combined, &l), "total_us=41 cut id=\"4f\"\n"));
	ck_assert_ptr_nonnull(strstr(printed(access_line_json, &l), ",\"id\":\"4f\""));
	l.id = STR("");
	l.life.is_known = l.variant.is_known = true;
	l.variant.hash = 0x1b2c;
	ck_assert_ptr_nonnull(
		strstr(printed(access_line_combined, &l), "total_us=41 life=0 var=00001b2c cut\n"));
	ck_assert_ptr_nonnull(strstr(printed(access_line_json, &l),
				     "detail=ram\",\"life\":0,\"var\":\"00001b2c\",\"reused\""));
	l.life.is_known = l.variant.is_known = false;
	l.purge.kind = STR("url");
	ck_assert_ptr_nonnull(
		strstr(printed(access_line_combined, &l), "total_us=41 purge=\"url\" cut\n"));
	l.purge.soft = true;
	ck_assert_ptr_nonnull(
		strstr(printed(access_line_combined, &l), " purge=\"soft-url\" cut\n"));
	ck_assert_ptr_nonnull(
		strstr(printed(access_line_json, &l), ",\"purge\":\"soft-url\",\"reused\""));
	l.purge.kind = STR("");
	l.trace = STR("00-\"1-2-01");
	ck_assert_ptr_nonnull(strstr(printed(access_line_combined, &l),
				     "total_us=41 cut trace=\"00-\\x221-2-01\"\n"));
	ck_assert_ptr_nonnull(
		strstr(printed(access_line_json, &l), ",\"trace\":\"00-\\u00221-2-01\","));
}
END_TEST

START_TEST(a_tunnel_says_what_its_client_sent)
{
	struct access_line l = usual();
	l.received = 77; /* of a tunnel alone */
	ck_assert_ptr_null(strstr(printed(access_line_combined, &l), "received"));
	ck_assert_ptr_null(strstr(printed(access_line_json, &l), "received"));
	l.tunnel = l.cut = true;
	ck_assert_ptr_nonnull(
		strstr(printed(access_line_combined, &l), " total_us=41 received=77 cut\n"));
	ck_assert_ptr_nonnull(
		strstr(printed(access_line_json, &l), ",\"received\":77,\"reused\":"));
}
END_TEST

START_TEST(how_it_came)
{
	struct access_line l = usual();
	l.reused = l.resumed = true;
	ck_assert_ptr_nonnull(strstr(printed(access_line_combined, &l), "total_us=41 reused\n"));
	ck_assert_ptr_nonnull(strstr(printed(access_line_json, &l), ",\"reused\":true,"));
	ck_assert_ptr_null(strstr(printed(access_line_json, &l), "resumed"));
	l.tls = STR("TLSv1.3");
	l.cipher = STR("TLS_AES_128_GCM_SHA256");
	l.sni = STR("a\"b");
	ck_assert_ptr_nonnull(strstr(printed(access_line_combined, &l),
				     "reused tls=\"TLSv1.3\" cipher=\"TLS_AES_128_GCM_SHA256\" "
				     "sni=\"a\\x22b\" alpn=\"-\" resumed\n"));
	json_t *j = json_loads(printed(access_line_json, &l), 0, NULL);
	ck_assert_str_eq(json_string_value(json_object_get(j, "tls")), "TLSv1.3");
	ck_assert_str_eq(json_string_value(json_object_get(j, "sni")), "a\"b");
	ck_assert(json_is_true(json_object_get(j, "resumed")));
	json_decref(j);
}
END_TEST

static const struct {
	const char *says, *sent, *combined, *json;
} escapes[] = {
	{"quotes and backslashes", "a\"b\\c", "\"a\\x22b\\x5cc\"", "\"a\\u0022b\\u005cc\""},
	{"the end of a line", "a\r\nb", "\"a\\x0d\\x0ab\"", "\"a\\u000d\\u000ab\""},
	{"bytes that are not ASCII", "\xc3\xa9\x7f", "\"\\xc3\\xa9\\x7f\"",
	 "\"\\u00c3\\u00a9\\u007f\""},
	{"a terminal's command", "\x1b[2J", "\"\\x1b[2J\"", "\"\\u001b[2J\""},
	{"nothing to escape", "Mozilla/5.0 (X11; Linux)", "\"Mozilla/5.0 (X11; Linux)\"",
	 "\"Mozilla/5.0 (X11; Linux)\""},
};

START_TEST(is_escaped)
{
	struct access_line l = usual();
	l.agent = str_of(escapes[_i].sent);
	const char *line = printed(access_line_combined, &l);
	ck_assert_msg(strstr(line, escapes[_i].combined) != NULL, "%s: %s", escapes[_i].says, line);
	ck_assert_msg(strchr(line, '\n')[1] == '\0', "%s", escapes[_i].says);
	line = printed(access_line_json, &l);
	ck_assert_msg(strstr(line, escapes[_i].json) != NULL, "%s: %s", escapes[_i].says, line);
	ck_assert_msg(strchr(line, '\n')[1] == '\0', "%s", escapes[_i].says);
}
END_TEST

/* The key in Cache-Status is a quoted string: it must not end the field of the log. */
START_TEST(quotes_of_cache_status_are_escaped)
{
	struct access_line l = usual();
	l.cache = STR("twice; hit; key=\"http://a/\"");
	ck_assert_ptr_nonnull(strstr(printed(access_line_combined, &l),
				     "cache=\"twice; hit; key=\\x22http://a/\\x22\" head_us"));
}
END_TEST

START_TEST(json_reads_back)
{
	struct access_line l = usual();
	l.host = STR("ex\"a\x80\x01mple");
	json_error_t why;
	json_t *top = json_loads(printed(access_line_json, &l), 0, &why);
	ck_assert_msg(top != NULL, "%s", why.text);
	ck_assert_str_eq(json_string_value(json_object_get(top, "time")), "2025-11-20T15:04:05Z");
	ck_assert_str_eq(json_string_value(json_object_get(top, "client")), "192.0.2.1");
	ck_assert_str_eq(json_string_value(json_object_get(top, "method")), "GET");
	ck_assert_str_eq(json_string_value(json_object_get(top, "target")), "/a?b=c");
	ck_assert_str_eq(json_string_value(json_object_get(top, "protocol")), "HTTP/1.1");
	ck_assert_str_eq(json_string_value(json_object_get(top, "host")), "ex\"a\xc2\x80\x01mple");
	ck_assert_int_eq(json_integer_value(json_object_get(top, "status")), 200);
	ck_assert_int_eq(json_integer_value(json_object_get(top, "body_bytes")), 1024);
	ck_assert(json_is_false(json_object_get(top, "cut")));
	json_decref(top);
}
END_TEST

START_TEST(a_request_that_was_none_still_has_a_line)
{
	struct access_line l = usual();
	l.request_line = l.host = l.agent = l.cache = STR("");
	json_t *top = json_loads(printed(access_line_json, &l), 0, NULL);
	ck_assert_ptr_nonnull(top);
	ck_assert_str_eq(json_string_value(json_object_get(top, "method")), "");
	json_decref(top);
	ck_assert_ptr_nonnull(
		strstr(printed(access_line_combined, &l), "] \"-\" 200 1024 \"-\" \"-\""));
}
END_TEST

UNIT("access_line", TEST(combined_and_then_more), TEST(a_tunnel_says_what_its_client_sent),
     TEST(how_it_came), LOOP(is_escaped, escapes), TEST(quotes_of_cache_status_are_escaped),
     TEST(json_reads_back), TEST(a_request_that_was_none_still_has_a_line))
