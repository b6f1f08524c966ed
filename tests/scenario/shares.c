/* admission.per_address: how much is written of what one address alone asks for. */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=600\r\n"
#define MIB   (1 << 20)

enum { URLS = 30, BYTES = 100000, FIT = 10 };

static void
start_with_share(const char *share, const char *more)
{
	edge_start_yaml(text("admission:\n  per_address: %s\n%s", share, more));
}

static void
ask_for_all(const char *from)
{
	client_from(from);
	for (int i = 0; i < URLS; i++)
		expect_status(get(text("/%d", i)), 200);
}

static void
expect_most_written_by(const char *address)
{
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, "GET /stats HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	struct answer a = client_read(c, "GET");
	const char *at = strstr(a.body, "\"most_written\"");
	expect_that(at && strstr(at, text("\"address\": \"%s\"", address)), "not named: %s",
		    at ? at : a.body);
}

SCENARIO("what one address alone asks for is written up to its share, what two ask for beyond it")
{
	origin_says("*", .fields = FRESH, .pattern_bytes = BYTES);
	start_with_share("1MiB", "");
	ask_for_all("127.0.0.2");
	ask_for_all("127.0.0.2");
	edge_expect_stat("admission.seen_current", FIT);
	edge_expect_stat("admission.over_budget", URLS - FIT);
	edge_expect_stat("disk.objects", FIT);
	expect_between(edge_stat("admission.most_written.bytes"), FIT * BYTES, MIB);
	expect_most_written_by("127.0.0.2");
	origin_expect_requests(URLS); /* what is not written is in RAM all the same */
	ask_for_all("127.0.0.3");
	edge_expect_stat("disk.objects", URLS);
	expect_most_written_by("127.0.0.2");
}

SCENARIO("a share is each address's own")
{
	origin_says("*", .fields = FRESH, .pattern_bytes = BYTES);
	start_with_share("1MiB", "");
	ask_for_all("127.0.0.2");
	ask_for_all("127.0.0.2");
	edge_expect_stat("disk.objects", FIT);
	client_from("127.0.0.3");
	get("/of/another");
	get("/of/another");
	edge_expect_stat("disk.objects", FIT + 1);
}

static void
ask_at_once(bool chunked)
{
	struct barrier *go = barrier_new();
	struct client *c[URLS];
	origin_says("*", .fields = FRESH, .pattern_bytes = BYTES, .chunked = chunked,
		    .hold_body = go);
	start_with_share("1MiB", "routes:\n  - path: /\n    admit: always\n");
	client_from("127.0.0.2");
	for (int i = 0; i < URLS; i++) {
		c[i] = client_open();
		client_request(c[i], "GET", text("/%d", i), NULL);
		expect_status(client_read_head(c[i]), 200);
	}
	barrier_open(go);
	for (int i = 0; i < URLS; i++) {
		static char body[BYTES + 5];
		expect_int((long long)client_read_body(c[i], body, chunked ? BYTES + 5 : BYTES),
			   chunked ? BYTES + 5 : BYTES);
	}
	wait_until(edge_stat("origin.active_fetches") == 0);
}

SCENARIO("many requests at once have no more written than one after the other")
{
	by_http_only();
	ask_at_once(false);
	edge_wait_stat("disk.objects", FIT);
	expect_between(edge_stat("disk.admitted_bytes"), FIT * BYTES, MIB);
}

SCENARIO("nor do those whose answers do not say how long they are")
{
	by_http_only();
	ask_at_once(true);
	/* Some of them may have met where there was room for one. */
	expect_between(edge_stat("disk.admitted_bytes"), 0, MIB);
	expect_between(edge_stat("admission.most_written.bytes"), 0, MIB);
}

SCENARIO("slices are bounded one by one, whoever reads them")
{
	enum { FILMS = 4, SLICES = 4 };
	for (int i = 0; i < FILMS; i++)
		origin_says(text("/film/%d", i), .fields = FRESH, .etag = "\"1\"",
			    .pattern_bytes = SLICES * MIB, .ranges = true);
	start_with_share("9MiB", "");
	client_from("127.0.0.2");
	for (int times = 0; times < 3; times++)
		for (int i = 0; i < FILMS; i++)
			get(text("/film/%d", i));
	expect_between(edge_stat("disk.admitted_bytes"), 8 * MIB, 9 * MIB);
	expect_between(edge_stat("admission.most_written.bytes"), 8 * MIB, 9 * MIB);
}

SCENARIO("the addresses are those that a trusted forwarder names")
{
	origin_says("*", .fields = FRESH, .pattern_bytes = BYTES);
	start_with_share("1MiB", "forwarded:\n  trust: [ 127.0.0.1 ]\n");
	for (int times = 0; times < 2; times++)
		for (int i = 0; i < URLS; i++)
			get_with(text("/%d", i), "X-Forwarded-For: 2001:db8:1:2::7\r\n");
	edge_expect_stat("disk.objects", FIT);
	expect_most_written_by("2001:db8:1:2::/64");
	for (int i = 0; i < URLS; i++) /* of the same /64 */
		get_with(text("/%d", i), "X-Forwarded-For: 2001:db8:1:2:3::8\r\n");
	edge_expect_stat("disk.objects", FIT);
	for (int i = 0; i < URLS; i++)
		get_with(text("/%d", i), "X-Forwarded-For: 2001:db8:1:3::7\r\n");
	edge_expect_stat("disk.objects", URLS);
}

SCENARIO("without a bound all is written, and the address that had most of it is named")
{
	origin_says("*", .fields = FRESH, .pattern_bytes = BYTES);
	edge_start();
	ask_for_all("127.0.0.2");
	ask_for_all("127.0.0.2");
	client_from("127.0.0.3");
	get("/of/another");
	get("/of/another");
	edge_expect_stat("disk.objects", URLS + 1);
	expect_between(edge_stat("admission.most_written.bytes"), URLS * BYTES, 2 * URLS * BYTES);
	expect_most_written_by("127.0.0.2");
}
