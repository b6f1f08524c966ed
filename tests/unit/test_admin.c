/* rooms: admin cache http base filter
 * test_admin.c - the admin server over a real socket.
 */
#include "proxy/admin/admin.h"
#include "proxy/base/address.h"
#include "tests/kit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <unistd.h>

static struct admin *admin;
static char purged[256];
static _Atomic bool healthy;
static char answer[1 << 20];

static void
on_report(void *ctx, struct report *out)
{
	(void)ctx;
	out->version = "test";
	out->n[METRIC_REQUESTS] = 4711;
}

static bool
on_healthy(void *ctx, struct buf *line)
{
	(void)ctx;
	buf_printf(line, healthy ? "ok\n" : "draining\n");
	return healthy;
}

static void
on_purge(void *ctx, const struct purge_order *o, unsigned n, struct purge_result *out,
	 struct purge_others *others)
{
	(void)others;
	(void)ctx;
	static const char *const words[FORGET_KINDS] = {[FORGET_URL] = "",
							[FORGET_PREFIX] = "prefix ",
							[FORGET_HOST] = "host ",
							[FORGET_TAG] = "tag ",
							[FORGET_ALL] = "all"};
	ck_assert_uint_eq(n, 1);
	snprintf(purged, sizeof(purged), "%s%.*s", words[o->kind], STR_ARG(o->name));
	*out = (struct purge_result){.found = strstr(purged, "missing") == NULL, .durable = true};
	if (strstr(purged, "broken"))
		out->durable = false;
	if (strstr(purged, "nonsense"))
		out->refused = "that is nonsense";
}

static bool
on_history(void *ctx, int64_t step_s, int64_t since_s, struct buf *out)
{
	(void)ctx;
	buf_printf(out, "%d %d", (int)step_s, (int)since_s);
	return step_s == 10;
}

static const char *
on_explain(void *ctx, const struct explain_order *o, struct buf *out)
{
	(void)ctx;
	buf_printf(out, "%.*s %.*s", STR_ARG(o->url), STR_ARG(o->fields));
	return NULL;
}

static void
on_top(void *ctx, struct buf *out)
{
	(void)ctx;
	buf_add_lit(out, "hot");
}

static struct access_rules
on_access(void *ctx)
{
	(void)ctx;
	return (struct access_rules){0};
}

static const char *reloaded = "{}"; /* what the answer says; "": nobody can reload */
static int reload_result;

static int
on_reload(void *ctx, struct buf *out)
{
	(void)ctx;
	buf_printf(out, "%s", reloaded);
	return reload_result;
}

static const struct admin_source source = {.report = on_report,
					   .history = on_history,
					   .explain = on_explain,
					   .top = on_top,
					   .healthy = on_healthy,
					   .purge = on_purge,
					   .reload = on_reload,
					   .access = on_access};

static void
start(void)
{
	char err[256] = "";
	healthy = true;
	purged[0] = '\0';
	ck_assert_msg(admin_start(&admin, "127.0.0.1:0", &source, err, sizeof(err)) == 0, "%s",
		      err);
	ck_assert_uint_ne(admin_port(admin), 0);
}

/* Sends the bytes, reads until the server closes; the status. */
static int
ask(const char *request)
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)admin_port(admin))};
	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_STREAM, 0), status = 0;
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	ck_assert_int_eq(write(fd, request, strlen(request)), (ssize_t)strlen(request));
	size_t n = 0;
	for (ssize_t got; (got = read(fd, answer + n, sizeof(answer) - 1 - n)) > 0;)
		n += (size_t)got;
	answer[n] = '\0';
	close(fd);
	sscanf(answer, "HTTP/1.%*d %d", &status);
	return status;
}

#define HEAD(line, more) line " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" more "\r\n"
#define BODY(line, type, length, body) \
	HEAD(line, "Content-Type: " type "\r\nContent-Length: " #length "\r\n") body

/* clang-format off */
static const struct {
	const char *says, *request;
	int status;
	const char *holds;
} requests[] = {
	{ "the numbers are JSON",          HEAD("GET /stats", ""), 200, "\"total\": 4711" },
	{ "a query does not hinder",       HEAD("GET /stats?x=1", ""), 200, "\"total\": 4711" },
	{ "Prometheus text",               HEAD("GET /metrics", ""), 200, "\ntwice_requests_begun_total 4711\n" },
	{ "its content type",              HEAD("GET /metrics", ""), 200, "text/plain; version=0.0.4" },
	{ "well",                          HEAD("GET /healthz", ""), 200, "ok\n" },
	{ "the dashboard",                 HEAD("GET /", ""), 200, "<!doctype html>" },
	{ "whole",                         HEAD("GET /", ""), 200, "</html>" },
	{ "no script and no style in it",  HEAD("GET /", ""), 200, "script-src 'self'; style-src 'self'" },
	{ "its style",                     HEAD("GET /dashboard.css", ""), 200, "text/css" },
	{ "its script",                    HEAD("GET /dashboard.js", ""), 200, "text/javascript" },
	{ "HEAD is a GET without body",    HEAD("HEAD /stats", ""), 200, "application/json" },
	{ "a history of such a step",      HEAD("GET /history?step=10&since=5", ""), 200, "10 5" },
	{ "a history of another step",     HEAD("GET /history?step=3", ""), 400, "step=1, 10 or 300" },
	{ "an explanation",                HEAD("GET /explain?url=http://a/%3Fb&header=A:%20b&header=C:d", ""), 200, "http://a/?b A: b\r\nC:d\r\n" },
	{ "a header in a header",          HEAD("GET /explain?url=http://a/&header=A:%0d%0aB:c&header=D:e", ""), 200, "http://a/ D:e\r\n" },
	{ "an explanation of nothing",     HEAD("GET /explain?header=A:b", ""), 400, "/explain?url=" },
	{ "what is hot",                   HEAD("GET /top", ""), 200, "hot" },
	{ "what is not here",              HEAD("GET /nope", ""), 404, "/stats /metrics" },
	{ "reading is GET",                HEAD("DELETE /stats", ""), 405, "Allow: GET, HEAD" },
	{ "purging is POST",               HEAD("GET /purge?url=http://a/", ""), 405, "Allow: POST" },
	{ "purging what?",                 HEAD("POST /purge", "Content-Length: 0\r\n"), 400, "url=" },
	{ "purging two things at once",    HEAD("POST /purge?url=http://a/&all=1", "Content-Length: 0\r\n"), 400, "url=" },
	{ "a purge that is not durable",   HEAD("POST /purge?url=http://broken/", "Content-Length: 0\r\n"), 503, "\"durable\": false" },
	{ "a purge that makes no sense",   HEAD("POST /purge?host=nonsense", "Content-Length: 0\r\n"), 400, "nonsense" },
	{ "quotes in what is purged",      HEAD("POST /purge?url=http://a/%22", "Content-Length: 0\r\n"), 200, "a/\\\"" },
	{ "by name",                       "GET /stats HTTP/1.1\r\nHost: 127.0.0.1:99\r\nConnection: close\r\n\r\n", 200, "4711" },
	{ "by IPv6 address",               "GET /stats HTTP/1.1\r\nHost: [::1]:99\r\nConnection: close\r\n\r\n", 200, "4711" },
	{ "without any name",              "GET /stats HTTP/1.0\r\n\r\n", 200, "4711" },
	{ "by a name nobody can register", "GET /stats HTTP/1.1\r\nHost: edge7\r\nConnection: close\r\n\r\n", 200, "4711" },
	{ "health is no secret",           "GET /healthz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 200, "ok" },
	{ "a name pointed here",           "GET /stats HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 403, "localhost" },
	{ "a name that begins like ours",  "GET /stats HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\nConnection: close\r\n\r\n", 403, "localhost" },
	{ "another site's page",           HEAD("POST /purge?url=http://a/", "Origin: http://evil.example\r\nContent-Length: 0\r\n"), 403, "site" },
	{ "our own page",                  HEAD("POST /purge?url=http://a/", "Origin: http://localhost\r\nContent-Length: 0\r\n"), 200, "true" },
};

static const struct {
	const char *says, *request, *want, *answer;
} purges[] = {
	{ "in the query",     HEAD("POST /purge?url=http%3A%2F%2Fa%2Fb%3Fc%3Dd", "Content-Length: 0\r\n"), "http://a/b?c=d", "true" },
	{ "as a form",        BODY("POST /purge", "application/x-www-form-urlencoded", 21, "url=http%3A%2F%2Fa%2F"), "http://a/", "true" },
	{ "as it is",         BODY("POST /purge", "text/plain", 15, "http://a/?b=c&d"), "http://a/?b=c&d", "true" },
	{ "with a newline",   BODY("POST /purge", "text/plain", 10, "http://a/\n"), "http://a/", "true" },
	{ "a host",           HEAD("POST /purge?host=example.com", "Content-Length: 0\r\n"), "host example.com", "\"host\": \"example.com\"" },
	{ "all",              HEAD("POST /purge?all=1", "Content-Length: 0\r\n"), "all", "\"all\": true" },
	{ "what is not here", BODY("POST /purge", "text/plain", 16, "http://a/missing"), "http://a/missing", "false" },
};
/* clang-format on */

START_TEST(is_answered)
{
	start();
	int status = ask(requests[_i].request);
	ck_assert_msg(status == requests[_i].status, "%s: %d", requests[_i].says, status);
	ck_assert_msg(strstr(answer, requests[_i].holds) != NULL, "%s: %.1000s", requests[_i].says,
		      answer);
	admin_stop(&admin);
}
END_TEST

START_TEST(forgets)
{
	start();
	ck_assert_int_eq(ask(purges[_i].request), 200);
	admin_stop(&admin);
	ck_assert_msg(strcmp(purged, purges[_i].want) == 0, "%s: %s", purges[_i].says, purged);
	ck_assert_msg(strstr(answer, purges[_i].answer) != NULL, "%s", answer);
}
END_TEST

START_TEST(draining_is_not_healthy)
{
	start();
	healthy = false;
	ck_assert_int_eq(ask(HEAD("GET /healthz", "")), 503);
	admin_stop(&admin);
}
END_TEST

START_TEST(a_taken_address_is_refused_with_a_way_out)
{
	struct admin *second = NULL;
	char addr[32], err[256] = "";
	start();
	snprintf(addr, sizeof(addr), "127.0.0.1:%u", admin_port(admin));
	ck_assert_int_eq(admin_start(&second, addr, &source, err, sizeof(err)), -1);
	ck_assert_msg(strstr(err, addr) && strstr(err, "--admin"), "%s", err);
	ck_assert_int_eq(admin_start(&second, "nonsense", &source, err, sizeof(err)), -1);
	admin_stop(&admin);
	admin_stop(&admin);
}
END_TEST

UNIT("admin", LOOP(is_answered, requests), LOOP(forgets, purges), TEST(draining_is_not_healthy),
     TEST(a_taken_address_is_refused_with_a_way_out))
