/* The method PURGE: from whom, for what, and what it is answered. */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=3600\r\n"

static const char settings[] = EDGE_CACHE(
	"  purge_from: [ 127.0.0.1, 10.0.0.0/8 ]\n") "admission:\n  sightings: 1\n"
						     "routes:\n  - { key_headers: [ x-device ] }\n";

static bool
is_here(const char *path, const char *fields)
{
	return get_with(path, text("Cache-Control: only-if-cached\r\n%s", fields)).status == 200;
}

SCENARIO("PURGE removes all keys of its URL, and is on disk when it is answered")
{
	origin_says("*", .fields = FRESH "Vary: Accept-Language\r\n", .body = "x", .etag = "\"1\"",
		    .times = 99);
	edge_start_yaml(settings);
	client_from("127.0.0.1");
	static const char *const keys[] = {"X-Device: a\r\n", "X-Device: b\r\n",
					   "X-Device: b\r\nAccept-Language: de\r\n"};
	for (int i = 0; i < 3; i++)
		get_with("/x", keys[i]);
	get_with("/y", keys[0]);
	expect_answer(ask("PURGE", "/x", "", NULL), 200, "nothing was stored under this URL\n");
	edge_kill9();
	edge_restart();
	for (int i = 0; i < 3; i++)
		expect(!is_here("/x", keys[i]));
	get_with("/x", keys[0]);
	expect_answer(ask("PURGE", "/x", keys[0], NULL), 200, "purged\n");
	expect(!is_here("/x", keys[0]));
	int n = origin_requests();
	get_with("/x", keys[0]);
	expect_answer(ask("PURGE", "/x", "X-Device: a\r\nSoft-Purge: 1\r\n", NULL), 200,
		      "purged\n");
	expect_verdict(get_with("/x", keys[0]), "fwd-status=304");
	origin_expect_requests(n + 2);
}

SCENARIO("PURGE is for the addresses that the settings name, and not for those behind a forwarder")
{
	origin_says("*", .fields = FRESH, .body = "x", .times = 99);
	edge_start_yaml(settings);
	client_from("127.0.0.1");
	get("/x");
	int n = origin_requests();
	client_from("127.0.0.2");
	struct answer refused = ask("PURGE", "/x", "", NULL);
	expect_status(refused, 403);
	expect(strstr(refused.body, "purge-not-allowed") != NULL);
	client_from("127.0.0.1");
	static const char *const forwarded[] = {"X-Forwarded-For: 10.0.0.1\r\n",
						"Forwarded: for=127.0.0.1\r\n", "Via: 1.1 a\r\n"};
	for (int i = 0; i < 3; i++)
		expect_status(ask("PURGE", "/x", forwarded[i], NULL), 403);
	expect(is_here("/x", ""));
	expect_status(ask("PURGE", "/x", "", "a body"), 200);
	expect(!is_here("/x", ""));
	origin_expect_requests(n);
	expect_status(ask("purge", "/x", "", NULL), 200); /* another method: to the origin */
	origin_expect_requests(n + 1);
}

SCENARIO("without that setting PURGE is a method like any other")
{
	origin_says("/x", .fields = FRESH, .body = "x", .times = 99);
	edge_start();
	get("/x");
	expect_answer(ask("PURGE", "/x", "", NULL), 200, "x");
	expect_text(origin_last()->method, "PURGE");
	edge_stop();
	char *says;
	edge_yaml(EDGE_CACHE("  purge_from: [ example.com ]\n"));
	expect_int(edge_refuses(&says), 2);
	expect_that(strstr(says, "purge_from"), "%s", says);
}

SCENARIO("many clients that leave before the disk has answered")
{
	origin_says("*", .fields = FRESH, .body = "x", .times = 999);
	edge_start_yaml(settings);
	client_from("127.0.0.1");
	for (int i = 0; i < 200; i++) {
		struct client *c = client_open();
		client_send(c, text("PURGE /%d HTTP/1.1\r\nHost: example.com\r\n\r\n", i));
		client_reset(c);
	}
	expect_status(ask("PURGE", "/x", "", NULL), 200);
}

static const char tagged[] = EDGE_CACHE("  purge_from: 127.0.0.1\n"
					"  tag_headers: [ default, xkey, x-magento-tags ]\n");

SCENARIO("PURGE with a star covers what begins alike, and with fields of tags what came with them")
{
	static const char *const paths[] = {"/blog/a", "/blog/b?c", "/news", "/k",
					    "/x",      "/m",	    "/d"};
	enum { N = sizeof paths / sizeof *paths };
	origin_says("/k", .fields = FRESH "Surrogate-Key: k1 k2\r\n", .body = "x", .times = 9);
	origin_says("/x", .fields = FRESH "xkey: x1\r\n", .body = "x", .times = 9);
	origin_says("/m", .fields = FRESH "X-Magento-Tags: cat_1,cat_2\r\n", .body = "x",
		    .times = 9);
	origin_says("*", .fields = FRESH, .body = "x", .times = 99);
	edge_start_yaml(tagged);
	client_from("127.0.0.1");
	for (int i = 0; i < N; i++)
		get(paths[i]);
	expect_answer(ask("PURGE", "/blog/*", "", NULL), 200, "purged\n");
	expect_answer(ask("PURGE", "/", "Surrogate-Key: none k2\r\n", NULL), 200, "purged\n");
	expect_answer(ask("PURGE", "/", "xkey-purge: x1\r\n", NULL), 200, "purged\n");
	expect_answer(ask("PURGE", "/", "X-Magento-Tags-Pattern: ((^|,)cat_2(,|$))\r\n", NULL), 200,
		      "purged\n");
	for (int i = 0; i < N; i++)
		expect_that(is_here(paths[i], "") ==
				    (!strcmp(paths[i], "/news") || !strcmp(paths[i], "/d")),
			    "%s", paths[i]);
	expect_answer(ask("PURGE", "/.*", "X-Purge-Method: regex\r\n", NULL), 200, "purged\n");
	for (int i = 0; i < N; i++)
		expect(!is_here(paths[i], ""));
}

SCENARIO("PURGE that is not understood is refused, and forgets nothing")
{
	static const struct {
		const char *target, *fields, *says;
	} orders[] = {
		{"/a*b", "", "PURGE /blog/*"},
		{"/x", "X-Purge-Method: ban\r\n", "exact or regex"},
		{"/x", "X-Purge-Method: regex\r\n", "/.*"},
		{"/x", "X-Cache-Tags: a\r\n", "cache.tag_headers"},
		{"/x", "Purge-Cache-Tags: a\r\n", "cache.tag_headers"},
		{"/x", "Soft-Purge: maybe\r\n", "1 or 0"},
	};
	origin_says("*", .fields = FRESH, .body = "x", .times = 99);
	edge_start_yaml(tagged);
	client_from("127.0.0.1");
	get("/x");
	for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
		struct answer a = ask("PURGE", orders[i].target, orders[i].fields, NULL);
		expect_that(a.status == 400 && strstr(a.body, orders[i].says), "%s %s: %d %s",
			    orders[i].target, orders[i].fields, a.status, a.body);
	}
	expect(is_here("/x", ""));
	client_from("127.0.0.2"); /* who may not hears nothing of it */
	expect_status(ask("PURGE", "/a*b", "", NULL), 403);
}
