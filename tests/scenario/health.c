/* Checks of servers: who fails them is not asked, whatever else it answers. The kit's origin has
 * doors: door 2 hears "/x" as "@2/x". The clock is the test's: a check is answered before its time is
 * over, or is not, because the origin does so. */
#include "tests/kit/kit.h"
#include "tests/kit/tls.h"

#include <stdio.h>
#include <stdlib.h>

#define WELL .body = "well"

/* The proxy looks every TICK_MS whether something is due. */
enum { EVERY_MS = 500, TICK_MS = 50 };
enum { FIRST_ANSWERS = 1, SECOND_ANSWERS = 2, BOTH_ANSWER = 3 };

static void
check_next(unsigned door, bool answers)
{
	const char *target = text("@%u/healthz", door);
	int n = origin_requests_for(target) + 1;
	clock_advance(EVERY_MS / 2);
	wait_until(origin_requests_for(target) >= n);
	wait_until(!answers || origin_answers_for(target) >= n);
	clock_settle();
}

/* One check of each server, half of EVERY_MS between them, and the proxy has the answers of those who
 * answer. */
static void
check_each_once(int who)
{
	check_next(1, who & FIRST_ANSWERS);
	check_next(2, who & SECOND_ANSWERS);
}

static void
begin(const char *rules)
{
	clock_hold();
	for (unsigned i = 1; i <= 2; i++)
		origin_says(text("@%u*", i), .fields = "Cache-Control: no-store\r\n",
			    .body = text("door %u", i));
	edge_start_yaml(text("origins:\n  - name: web\n    balance: round-robin\n"
			     "    servers: [ { url: %s }, { url: %s } ]\n"
			     "    health: { path: /healthz, every: 500ms, timeout: 500ms, %s }\n",
			     origin_door(1), origin_door(2), rules));
}

static bool
stats_say(const char *words)
{
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, "GET /stats HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	return strstr(client_read(c, "GET").body, words) != NULL;
}

static int
served_by(unsigned door, int from)
{
	int n = 0;
	for (int i = 0; i < 10; i++) {
		struct answer a = get(text("/%d", from + i));
		expect_status(a, 200);
		n += strcmp(a.body, text("door %u", door)) == 0;
	}
	return n;
}

enum { UNWELL = 1000000 }; /* answers, until is_well_again */

static void
is_well_again(void)
{
	origin_forget("@1/healthz");
	origin_says("@1/healthz", WELL);
	check_each_once(BOTH_ANSWER);
	expect(!stats_say("health check: "));
}

SCENARIO("a server that fails its checks is not asked, and is when they succeed again")
{
	origin_says("@1/healthz", .status = 503, .times = UNWELL);
	origin_says("@2/healthz", WELL);
	begin("fall: 3, rise: 1");
	check_each_once(BOTH_ANSWER);
	check_each_once(BOTH_ANSWER);
	expect(!edge_said("is left alone until its checks succeed"));
	check_each_once(BOTH_ANSWER);
	expect(stats_say("health check: 503"));
	expect_int(served_by(1, 0), 0);
	wait_until(edge_said("is left alone until its checks succeed: health check: 503"));
	is_well_again();
	expect_between(served_by(1, 20), 0, 9);
	wait_until(edge_said("passes its checks again"));
	edge_expect_stat("requests.total", 20);
}

SCENARIO("of servers that all fail their checks, half are asked all the same")
{
	origin_says("@1/healthz", .status = 503);
	origin_says("@2/healthz", .status = 503);
	begin("fall: 1");
	check_each_once(BOTH_ANSWER);
	expect(stats_say("\"out\"") && stats_say("\"failing\""));
	int first = served_by(1, 0);
	expect_that(first == 0 || first == 10, "%d of 10 went to the first", first);
}

SCENARIO("a check that is not answered in time has failed")
{
	origin_says("@1/healthz", .mute = true);
	origin_says("@2/healthz", WELL);
	begin("fall: 1");
	check_each_once(SECOND_ANSWERS);
	clock_advance(EVERY_MS / 2 - 1);
	expect(!stats_say("health check: "));
	clock_advance(TICK_MS);
	expect(stats_say("health check: total-timeout"));
	expect_int(served_by(2, 0), 10);
}

static void
change_to(const char *yaml)
{
	edge_rewrite(yaml);
	struct output o = program(edge_binary(), "reload", "--admin",
				  text("127.0.0.1:%u", edge_admin_port()));
	expect_that(o.status == 0, "%s%s", o.out, o.err);
}

/* The server that is mute: the proxy has asked it, and its time is over. */
static void
let_check_fail(void)
{
	int n = origin_requests_for("@1/healthz") + 1;
	clock_advance(TICK_MS);
	wait_until(origin_requests_for("@1/healthz") >= n);
	clock_advance(EVERY_MS);
	expect(stats_say("health check: total-timeout"));
}

SCENARIO("a reload without checks lets a server return, and one with them finds it unwell again")
{
	origin_says("@1/healthz", .mute = true);
	origin_says("@2/healthz", WELL);
	const char *group = text("origins:\n  - name: web\n    balance: round-robin\n"
				 "    servers: [ { url: %s }, { url: %s } ]\n",
				 origin_door(1), origin_door(2));
	const char *checks =
		"    health: { path: /healthz, every: 500ms, timeout: 500ms, fall: 1 }\n";
	begin("fall: 1");
	for (int i = 0; i < 3; i++) {
		let_check_fail();
		change_to(group);
		expect(!stats_say("health check: "));
		change_to(text("%s%s", group, checks));
	}
	let_check_fail();
}

SCENARIO("reloads in a row do not put off the checks")
{
	origin_says("@1/healthz", WELL, .times = UNWELL);
	origin_says("@2/healthz", .status = 503, .times = UNWELL);
	const char *yaml = text("origins:\n  - name: web\n    balance: round-robin\n"
				"    servers: [ { url: %s }, { url: %s } ]\n"
				"    health: { path: /healthz, every: 3s, timeout: 2s, fall: 1 }\n",
				origin_door(1), origin_door(2));
	clock_hold();
	edge_start_yaml(yaml);
	for (int ms = 0; ms < 3000; ms += 200) {
		change_to(yaml);
		clock_advance(200);
	}
	wait_until(stats_say("health check: 503")); /* it was begun: no time passes any more */
}

/* ---- other ways than plain TCP -------------------------------------------------------------- */

static void
begin_at(const char *one, const char *other, const char *more)
{
	for (unsigned i = 1; i <= 2; i++)
		origin_says(text("@%u*", i), .fields = "Cache-Control: no-store\r\n",
			    .body = text("door %u", i));
	clock_hold();
	edge_start_yaml(text("origins:\n  - name: web\n    balance: round-robin\n"
			     "    servers: [ { url: \"%s\" }, { url: \"%s\" } ]\n%s"
			     "    health: { path: /healthz, every: 500ms, timeout: 500ms, fall: 1, "
			     "rise: 1 }\n",
			     one, other, more));
}

static void
goes_out_and_comes_back(void)
{
	check_each_once(BOTH_ANSWER);
	expect(stats_say("health check: 503"));
	expect_int(served_by(1, 0), 0);
	is_well_again();
	expect_between(served_by(1, 20), 0, 9);
	edge_expect_stat("requests.total", 20);
}

SCENARIO("servers are checked by https as they are asked: Host, name and authority")
{
	cert_write(text("%s/cert.pem", kit_dir()), .names = "web.example");
	origin_tls(text("%s/cert.pem", kit_dir()), text("%s/cert.pem", kit_dir()));
	origin_says("@1/healthz", .status = 503, .times = UNWELL);
	origin_says("@2/healthz", WELL);
	begin_at(origin_door(1), origin_door(2),
		 text("    host: web.example\n    ca_file: %s/cert.pem\n", kit_dir()));
	goes_out_and_comes_back();
	expect_text(heard_field(origin_request(0), "Host"), "web.example");
}

SCENARIO("a server whose certificate nobody vouches for fails its checks")
{
	cert_write(text("%s/cert.pem", kit_dir()), .names = "web.example");
	cert_write(text("%s/other.pem", kit_dir()), .names = "web.example");
	origin_tls(text("%s/cert.pem", kit_dir()), text("%s/cert.pem", kit_dir()));
	begin_at(origin_door(1), origin_door(2),
		 text("    host: web.example\n    ca_file: %s/other.pem\n", kit_dir()));
	clock_advance(TICK_MS);
	wait_until(stats_say("health check: tls-failed"));
	origin_expect_requests(0);
}

SCENARIO("servers are checked by Unix sockets")
{
	const char *one = origin_door_unix(1), *other = origin_door_unix(2);
	origin_says("@1/healthz", .status = 503, .times = UNWELL);
	origin_says("@2/healthz", WELL);
	begin_at(one, other, "");
	goes_out_and_comes_back();
}
