/* own_logs.c - the proxy's own access log goes through `twice simulate`, which comes to the same hits, and writes the
 * same objects, where lifetimes are short, answers vary, URLs are purged, two ask at once, and others than GET ask.
 */
#include "tests/kit/clock.h"
#include "tests/kit/kit.h"

#include <jansson.h>

#define FRESH "Cache-Control: max-age=600\r\n"

enum { URLS = 30, BYTES = 8000 };

static void
start(const char *format)
{
	clock_hold();
	edge_start_yaml(text("workers: 1\naccess_log: %%D/log\naccess_log_format: %s\n"
			     "cache: { dir: %%D/own, disk: 64MiB, memory: 1MiB }\n",
			     format));
}

static int purged; /* lines of purges so far */

static bool
has_lines(int n)
{
	FILE *f = fopen(text("%s/log", kit_dir()), "r");
	for (int c; f && (c = getc(f)) != EOF;)
		n -= c == '\n';
	if (f)
		fclose(f);
	return n == 0;
}

/* A purge has a lane of its own: all lines so far are written before, and its own before the next. */
static void
await_lines(void)
{
	int n = (int)edge_stat("requests.total") + purged;
	wait_until(has_lines(n));
}

static void
admin_purge(const char *query)
{
	await_lines();
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, text("POST /purge?%s HTTP/1.1\r\nHost: localhost\r\n"
			    "Content-Length: 0\r\nConnection: close\r\n\r\n",
			    query));
	expect_status(client_read(c, "POST"), 200);
	client_close(c);
	purged++;
	await_lines();
}

static double
number(json_t *row, const char *name)
{
	json_t *value = json_object_get(row, name);
	expect_that(value != NULL, "there is no %s", name);
	return json_number_value(value);
}

/* Hits exactly, and bytes of what was admitted within 3%. */
static void
expect_simulated(void)
{
	clock_advance(3000);
	edge_expect_stat("disk.pending_bytes", 0);
	double requests = edge_stat("requests.total"), hits = edge_stat("requests.hits");
	double written = edge_stat("disk.admitted_bytes");
	edge_stop();
	struct output o = program(edge_binary(), "simulate", "--json", "--disk", "64MiB",
				  "--memory", "1MiB", "--policies", "2", text("%s/log", kit_dir()));
	expect_that(o.status == 0, "%s%s", o.out, o.err);
	json_t *top = json_loads(o.out, 0, NULL);
	json_t *row = json_array_get(json_object_get(top, "policies"), 0);
	double said = number(row, "hit_ratio") * requests, bytes = number(row, "written_bytes");
	note("%.0f requests: %.0f hits true, %.2f simulated; %.0f bytes written, %.0f simulated",
	     requests, hits, said, written, bytes);
	expect_that(said > hits - 0.01 && said < hits + 0.01,
		    "%.2f hits are simulated where %.0f are true:\n%s", said, hits, o.out);
	expect_that(bytes > 0.97 * written && bytes < 1.03 * written + 8192,
		    "%.0f bytes are simulated where %.0f are true", bytes, written);
	json_decref(top);
}

static void
ask_each(int step)
{
	for (int i = 0; i < URLS; i += step)
		get(text("/%d", i));
}

static void
script(const char *fields)
{
	for (int i = 0; i < URLS; i++)
		origin_says(text("/%d", i), .fields = fields, .pattern_bytes = BYTES,
			    .etag = i % 2 ? "\"1\"" : NULL);
}

SCENARIO("own log: short lifetimes")
{
	script("Cache-Control: max-age=20\r\n");
	start("combined");
	for (int round = 0; round < 6; round++) {
		ask_each(1 + round % 3);
		clock_advance(7000);
	}
	expect_simulated();
}

SCENARIO("own log: answers that vary")
{
	script(FRESH "Vary: X-Kind\r\n");
	start("json");
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < URLS; i++)
			get_with(text("/%d", i), text("X-Kind: %d\r\n", (i + round) % 2));
	expect_simulated();
}

SCENARIO("own log: purges")
{
	script(FRESH);
	start("combined");
	ask_each(1);
	ask_each(1);
	admin_purge("url=http://example.com/3");
	admin_purge("prefix=http://example.com/1"); /* and 10 to 19 */
	ask_each(1);
	admin_purge("host=example.com&soft=1");
	ask_each(1);
	admin_purge("all=1");
	ask_each(2);
	ask_each(1);
	expect_simulated();
}

SCENARIO("own log: two clients at once")
{
	start("json");
	for (int i = 0; i < URLS; i++) {
		struct barrier *go = barrier_new();
		origin_says(text("/%d", i), .fields = FRESH, .pattern_bytes = BYTES,
			    .hold_head = i % 3 ? NULL : go);
		if (i % 3) {
			get(text("/%d", i));
			continue;
		}
		int heard = origin_requests();
		double joined = edge_stat("requests.joined");
		struct call *a = call_get(text("/%d", i));
		origin_wait_requests(heard + 1);
		struct call *b = call_get(text("/%d", i));
		edge_wait_stat("requests.joined", joined + 1);
		barrier_open(go);
		expect_status(call_wait(a), 200);
		expect_status(call_wait(b), 200);
	}
	ask_each(2);
	expect_simulated();
}

SCENARIO("own log: POST, HEAD, and what may not be stored")
{
	script(FRESH);
	origin_says("/private", .fields = "Cache-Control: private\r\n", .body = "hello");
	start("combined");
	ask_each(1);
	for (int i = 0; i < URLS; i += 2) {
		struct client *c = client_open();
		client_send(c, text("HEAD /%d HTTP/1.1\r\nHost: example.com\r\n\r\n", i));
		expect_status(client_read(c, "HEAD"), 200);
		client_close(c);
		get("/private");
	}
	for (int i = 0; i < URLS; i += 3) {
		struct client *c = client_open();
		client_send(c, text("POST /%d HTTP/1.1\r\nHost: example.com\r\n"
				    "Content-Length: 1\r\n\r\nx",
				    i));
		expect_status(client_read(c, "POST"), 200);
		client_close(c);
	}
	ask_each(1);
	ask_each(2);
	expect_simulated();
}
