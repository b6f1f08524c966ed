/* GET /history: what the proxy did lately, also before it was restarted. */
#include "tests/kit/kit.h"

#include <jansson.h>

#define FRESH "Cache-Control: max-age=600\r\n"

static struct answer
admin(const char *path)
{
	struct client *c = client_open_to(edge_admin_port());
	client_send(c,
		    text("GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path));
	struct answer a = client_read(c, "GET");
	client_close(c);
	return a;
}

/* The sum of a column over all steps of a second. A rate is the growth over the time that was seen of
 * a step, so it may be more than what came in it. */
static double
whole(const char *column)
{
	json_t *all = json_loads(admin("/history?step=1").body, 0, NULL), *v;
	json_t *values = json_object_get(json_object_get(all, "columns"), column);
	double sum = 0;
	size_t i;
	expect_that(json_array_size(values) == 600, "%s has %zu steps", column,
		    json_array_size(values));
	json_array_foreach(values, i, v) sum += json_number_value(v);
	json_decref(all);
	return sum;
}

SCENARIO("requests and hits appear in the history, and stay there over a restart")
{
	origin_says("/x", .fields = FRESH, .body = "hello");
	edge_start();
	for (int i = 0; i < 5; i++)
		get("/x");
	wait_until(whole("hits") > 0);
	double hits = whole("hits"), requests = whole("requests");
	expect(hits > 0 && hits < requests);
	edge_restart();
	expect(whole("requests") >= requests && whole("hits") >= hits);
	get("/x");
	edge_wait_stat("lifetime.requests", 6);
	expect_int((int)edge_stat("lifetime.requests"), 6);
	expect_int((int)edge_stat("requests.total"), 1);
	expect(edge_stat("lifetime.written") >= edge_stat("disk.written_bytes"));
	edge_kill9(); /* loses what came since the last stop, and no more */
	edge_restart();
	expect_int((int)edge_stat("lifetime.requests"), 5);
}

SCENARIO("a damaged history is said, ignored and replaced")
{
	origin_says("/x", .fields = FRESH, .body = "hello");
	edge_start();
	get("/x");
	edge_stop();
	FILE *f = fopen(text("%s/history", edge_cache_dir()), "r+");
	expect_that(f != NULL, "no history was saved");
	fseek(f, 60, SEEK_SET);
	fputs("damage", f);
	fclose(f);
	edge_restart();
	wait_until(edge_said("history of this node is ignored (it is damaged)"));
	expect_int((int)edge_stat("lifetime.requests"), 0);
	get("/x");
	edge_restart();
	expect_int((int)edge_stat("lifetime.requests"), 1);
}

SCENARIO("what is no history is refused in a sentence, and every step that is kept is told")
{
	edge_start();
	expect_int(admin("/history").status, 200);
	expect_int(admin("/history?step=10").status, 200);
	expect_int(admin("/history?step=300&since=0").status, 200);
	expect_int(admin("/history?step=7").status, 400);
	expect_int(admin("/history?step=-1").status, 400);
	expect_int(admin("/history?since=x").status, 400);
	expect_int(admin("/history?since=99999999999999999999").status, 400);
}
