/* GET /top and twice top: what is asked for most, and whose bytes are written. */
#include "tests/kit/kit.h"

#include <jansson.h>
#include <time.h>

#define FRESH "Cache-Control: max-age=600\r\n"

enum { HOT_MINUTE_S = 60 };

/* The share of a name in a table, in percent; -1: it is not there. */
static int
share(const char *table, const char *name)
{
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, "GET /top HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	json_t *top = json_loads(client_read(c, "GET").body, 0, NULL), *one;
	size_t i;
	expect_that(json_is_array(json_object_get(top, table)), "there is no %s", table);
	json_array_foreach(json_object_get(top, table), i, one)
	{
		if (strcmp(json_string_value(json_object_get(one, "name")), name) == 0)
			return (int)(100 * json_number_value(json_object_get(one, "share")) + 0.5);
	}
	return -1;
}

SCENARIO("the most frequent URLs and hosts are told, and whose bytes are refused and written")
{
	by_http_only();
	origin_says("*", .fields = FRESH, .pattern_bytes = 10000);
	/* Requests of the minute before count half. */
	clock_hold();
	edge_start();
	clock_advance((HOT_MINUTE_S - clock_s() % HOT_MINUTE_S) * 1000);
	for (int i = 0; i < 12; i++)
		get("/news/popular");
	for (int i = 0; i < 6; i++)
		get(text("/images/%d?x=1", i));
	get("/once");
	get("/once");
	edge_wait_stat("status.2xx", 20); /* counted when an answer has ended */
	edge_expect_stat("admission.first_sight", 8);
	expect_int(share("urls", "http://example.com/news/popular"), 60);
	expect_int(share("urls", "http://example.com/images/3?x=1"), 5);
	expect_int(share("hosts", "example.com"), 100);
	expect_int(share("first_sight_bytes", "example.com/images"), 75);
	expect_int(share("first_sight_bytes", "example.com/news"), 13);
	expect_int(share("first_sight_bytes", "example.com"), 13); /* at the top */

	const char *bin = edge_binary();
	char *at = text("127.0.0.1:%u", edge_admin_port());
	struct output o = program(bin, "top", "--admin", at);
	expect_that(o.status == 0 && strstr(o.out, " 60.0%  http://example.com/news/popular"),
		    "exit %d: %s%s", o.status, o.out, o.err);
	o = program(bin, "top", "--json", "--admin", at);
	expect_that(o.status == 0 && strstr(o.out, "\"urls\""), "exit %d: %s", o.status, o.err);
	expect_int(program(bin, "top", "--admin", "127.0.0.1:1").status, 1);
}

/* An address of clients was named, and the origin answers everything. */
SCENARIO("what answers and is not twice's admin server is no success")
{
	static const char *const commands[][3] = {{"purge", "http://example.com/x"},
						  {"reload"},
						  {"top", "--once"},
						  {"explain", "/x"}};
	origin_says("*", .body = "<html>hello</html>", .times = 99);
	char *at = text("127.0.0.1:%u", origin_port());
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		const char *word = commands[i][1];
		struct output o = word ? program(edge_binary(), commands[i][0], "--admin", at, word)
				       : program(edge_binary(), commands[i][0], "--admin", at);
		expect_that(o.status == 1 && strstr(o.err, "is not twice"), "%s: exit %d: %s%s",
			    commands[i][0], o.status, o.out, o.err);
	}
	origin_says("/upgrade", .body = "{\"id\": 3, \"state\": \"running\", \"pid\": 1}");
	origin_says("/upgrade", .body = "{\"id\": 0, \"state\": \"none\", \"pid\": 2}",
		    .times = 99);
	struct output o = program(edge_binary(), "upgrade", "--admin", at);
	expect_that(o.status == 1 && strstr(o.err, "another upgrade"), "exit %d: %s", o.status,
		    o.err);
}

SCENARIO("a name of a stranger is no control sequence in a terminal")
{
	origin_says("*", .fields = FRESH, .body = "x");
	edge_start();
	get_with("/a%1b%5b2J", "");
	edge_wait_stat("requests.misses", 1);
	struct output o =
		program(edge_binary(), "top", "--admin", text("127.0.0.1:%u", edge_admin_port()));
	expect_that(o.status == 0 && !strchr(o.out, '\033'), "%s", o.out);
}
