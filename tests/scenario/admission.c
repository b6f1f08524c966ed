/* The rule of admission: the first sighting stays off the disk, the second is written. */
#include "tests/kit/kit.h"

#include <time.h>

#define FRESH "Cache-Control: max-age=600\r\n"
enum { OBJECT = 200 << 10 };

SCENARIO("a first sighting is not written to disk")
{
	origin_says("/one", .fields = FRESH, .pattern_bytes = OBJECT);
	edge_start();
	double before = edge_stat("disk.written_bytes");
	struct answer a = get("/one");
	expect_status(a, 200);
	expect_verdict(a, "fwd=uri-miss");
	expect_verdict(a, "fwd-status=200");
	expect_verdict(a, "detail=first-sight");
	expect_no_verdict(a, "stored");
	edge_expect_stat("admission.first_sight", 1);
	edge_expect_stat("admission.refused_bytes", OBJECT);
	edge_stop();
	edge_restart();
	expect_miss(get("/one"));
	origin_expect_requests(2);
	expect_between(edge_stat("disk.written_bytes") - before, 0, OBJECT);
}

SCENARIO("a second sighting is written, the third comes from the cache, also after a restart")
{
	/* 300 KiB: more than the RAM tier keeps of a refused object for certain, so both ways of a
	 * second sighting (from RAM, from the origin) are right. */
	origin_says("/two", .fields = FRESH, .body = "hello");
	edge_start();
	get("/two");
	struct answer second = get("/two");
	expect_status(second, 200);
	edge_wait_stat("disk.objects", 1);
	edge_expect_stat("admission.seen_current", 1);
	struct answer third = get("/two");
	expect_answer(third, 200, "hello");
	expect_hit(third);
	edge_restart();
	struct answer fourth = get("/two");
	expect_answer(fourth, 200, "hello");
	expect_hit(fourth);
	expect_verdict(fourth, "detail=disk");
	edge_expect_stat("requests.disk_hits", 1);
}

SCENARIO(
	"the second sighting of an object still in RAM is written from there, without a second fetch")
{
	origin_says("/ram", .fields = FRESH, .body = "small enough");
	edge_start();
	get("/ram");
	struct answer a = get("/ram");
	expect_hit(a);
	expect_verdict(a, "detail=ram");
	edge_wait_stat("disk.objects", 1);
	origin_expect_requests(1);
	edge_expect_stat("origin.extra_requests", 0);
}

SCENARIO(
	"the second sighting without RAM is fetched again and stored, and counted as the rule's cost")
{
	/* An object too large for a RAM tier of 1 MiB to keep on probation. */
	enum { BIG = 3 << 20 };
	origin_says("/big", .fields = FRESH, .pattern_bytes = BIG, .seed = 3);
	edge_start("--memory", "1MiB");
	expect_verdict(get("/big"), "detail=first-sight");
	struct answer a = get("/big");
	expect_int((long long)a.body_bytes, BIG);
	expect_verdict(a, "stored");
	expect_verdict(a, "detail=seen-current");
	edge_wait_stat("disk.objects", 1);
	a = get("/big");
	expect_hit(a);
	expect(a.body_bytes == BIG && is_pattern(a.body, 3, 0, BIG));
	origin_expect_requests(2);
	edge_expect_stat("origin.extra_requests", 1);
	edge_expect_stat("admission.seen_current", 1);
}

SCENARIO("saved bytes: one-hit URLs are saved, deferred ones are not")
{
	enum { ONCE = 30, TWICE = 10 };
	origin_says("*", .fields = FRESH, .pattern_bytes = 100000);
	edge_start();
	for (int i = 0; i < ONCE; i++)
		get(text("/once/%d", i));
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < TWICE; i++)
			get(text("/twice/%d", i));
	edge_wait_stat("disk.objects", TWICE);
	edge_wait_stat("disk.written_bytes", TWICE * 100000);
	double baseline = edge_stat("disk.baseline_bytes"), saved = edge_stat("disk.saved_bytes");
	expect_between(baseline, 40 * 100000.0, 40 * 110000.0);
	/* saved = N1 / (N1 + N2) of the baseline; the log's own overhead costs a little. */
	expect_between(saved / baseline, 0.70, 0.76);
	expect_between(edge_stat("disk.saved_ratio"), 0.70, 0.76);
}

SCENARIO("sightings: 1 writes everything at once")
{
	origin_says("/x", .fields = FRESH, .body = "hello");
	edge_start_yaml("admission:\n  sightings: 1\n");
	struct answer a = get("/x");
	expect_verdict(a, "stored");
	edge_wait_stat("disk.objects", 1);
	edge_restart();
	expect_hit(get("/x"));
	origin_expect_requests(1);
}

SCENARIO("routes may admit always or never")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml("routes:\n"
			"  - path: /always/\n    admit: always\n"
			"  - path: /never/\n    admit: never\n");
	expect_verdict(get("/always/a"), "detail=always");
	edge_wait_stat("disk.objects", 1);
	get("/never/a");
	get("/never/a");
	get("/never/a");
	edge_restart();
	expect_hit(get("/always/a"));
	expect_miss(get("/never/a"));
}

SCENARIO("HEAD, POST, errors, redirects and uncacheable answers use up no sighting")
{
	static const struct {
		const char *says, *method, *path;
	} rows[] = {
		{"a HEAD", "HEAD", "/head"},	      {"a POST", "POST", "/post"},
		{"a redirect", "GET", "/redirect"},   {"an error", "GET", "/error"},
		{"a private answer", "GET", "/mine"},
	};
	origin_says("/redirect", .status = 302, .fields = "Location: /elsewhere\r\n");
	origin_says("/error", .status = 500, .body = "no");
	origin_says("/mine", .fields = "Cache-Control: private\r\n", .body = "mine");
	origin_says("/post", .body = "posted");
	origin_says("/head", .fields = FRESH, .body = "x");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		origin_says(rows[i].path, .fields = FRESH, .body = "now a page");
	edge_start();
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		ask(rows[i].method, rows[i].path, NULL,
		    strcmp(rows[i].method, "POST") ? NULL : "x");
		struct answer a = get(rows[i].path);
		expect_answer(a, 200, "now a page");
		expect_that(verdict_has(a, "detail=first-sight"), "%s used up a sighting: %s",
			    rows[i].says, verdict(a));
	}
}

SCENARIO("a revalidation uses up no sighting")
{
	/* Stale on arrival, with a validator: kept in RAM, revalidated by the second request. */
	origin_says("/r", .fields = "Cache-Control: max-age=10\r\nAge: 20\r\n", .etag = "\"1\"",
		    .body = "one");
	edge_start();
	expect_verdict(get("/r"), "detail=first-sight");
	expect_answer(get("/r"), 200, "one");
	expect_text(heard_field(origin_request(1), "If-None-Match"), "\"1\"");
	expect_answer(get("/r"), 200, "one");
	edge_expect_stat("admission.first_sight", 1);
}

SCENARIO("a Range counts for the slice it touches, once per address and minute")
{
	enum { BYTES = 1 << 20 };
	static const char *const player[] = {"0-1", "0-", "0-", "500000-", "-1000", "700000-"};
	origin_says("/r", .fields = FRESH, .pattern_bytes = BYTES, .seed = 9, .etag = "\"v\"",
		    .ranges = true);
	edge_start();
	/* A player probes, plays, seeks: one sighting. */
	client_from("127.0.0.2");
	for (size_t i = 0; i < sizeof player / sizeof *player; i++)
		expect_status(get_with("/r", text("Range: bytes=%s\r\n", player[i])), 206);
	for (int i = 0; i < origin_requests(); i++)
		expect_that(heard_field(origin_request(i), "Range") != NULL,
			    "request %d asked the origin for the whole", i);
	edge_expect_stat("disk.objects", 0);
	/* One key for the URL, and one for what lies at an end that nobody knows. */
	edge_expect_stat("admission.generation.keys", 2);
	/* Another address asks for some of the same slice: the second sighting, and the whole is stored. */
	client_from("127.0.0.3");
	struct answer a = get_with("/r", "Range: bytes=1000-1999\r\n");
	expect_status(a, 206);
	expect(a.body_bytes == 1000 && is_pattern(a.body, 9, 1000, 1000));
	edge_wait_stat("disk.objects", 2); /* the head comes first, and then the slice */
	a = get("/r");
	expect_status(a, 200);
	expect_hit(a);
	expect(a.body_bytes == BYTES && is_pattern(a.body, 9, 0, BYTES));
}

/* bytes=AT-: of a thousand. From that address. */
static struct answer
seeks(const char *address, const char *path, int at)
{
	client_from(address);
	struct answer a = get_with(path, text("Range: bytes=%d-%d\r\n", at, at + 999));
	expect_status(a, 206);
	expect(a.body_bytes == 1000 && is_pattern(a.body, 9, (size_t)at, 1000));
	return a;
}

SCENARIO(
	"a slice that is asked for a second time is written, and those that are not stay off the disk")
{
	enum { MIB = 1 << 20 };
	origin_says("*", .fields = FRESH, .pattern_bytes = 4 * MIB, .seed = 9, .etag = "\"v\"",
		    .ranges = true);
	edge_start();
	seeks("127.0.0.2", "/film", 2 * MIB);
	seeks("127.0.0.2", "/film", 2 * MIB + 5000); /* the same client: once a minute */
	seeks("127.0.0.3", "/film", 3 * MIB);
	edge_expect_stat("disk.objects", 0);
	seeks("127.0.0.3", "/film", 2 * MIB + 9000);
	edge_wait_stat("disk.objects", 2); /* the head, and that slice */
	expect_hit(seeks("127.0.0.4", "/film", 2 * MIB + 100000));
	/* One address that asks for very much has many clients behind it. */
	for (int i = 0; i < 110; i++)
		seeks("127.0.0.5", text("/other%d", i), MIB);
	seeks("127.0.0.5", "/more", MIB);
	seeks("127.0.0.5", "/more", MIB + 5000);
	edge_wait_stat("disk.objects", 4);
}

SCENARIO("ranges of what varies are counted by the variant, and its second sighting is stored")
{
	enum { BYTES = 100000 };
	origin_says("/r", .fields = FRESH "Vary: Accept-Language\r\n", .pattern_bytes = BYTES,
		    .etag = "\"v\"", .ranges = true);
	edge_start();
	for (int i = 0; i < 2; i++) {
		client_from(i ? "127.0.0.3" : "127.0.0.2");
		expect_status(get_with("/r", "Range: bytes=0-9\r\nAccept-Language: de\r\n"), 206);
	}
	edge_wait_stat("disk.objects", 3); /* and the slice last, behind what leads to it */
	struct answer a = get_with("/r", "Accept-Language: de\r\n");
	expect_hit(a);
	expect_int((long long)a.body_bytes, BYTES);
}

SCENARIO("variants are counted one by one: those that are asked for once stay off the disk")
{
	enum { VARIANTS = 60, BYTES = 30000 };
	origin_says("/v", .fields = FRESH "Vary: User-Agent\r\n", .pattern_bytes = BYTES);
	edge_start("--memory", "1MiB"); /* far less than they take */
	for (int i = 0; i < VARIANTS; i++)
		expect_verdict(get_with("/v", text("User-Agent: ua/%d\r\n", i)),
			       "detail=first-sight");
	edge_expect_stat("disk.objects", 0);
	expect_between(edge_stat("disk.written_bytes"), 0, 2 * BYTES);
	/* One of them again is a second sighting, wherever it is answered from. */
	get_with("/v", "User-Agent: ua/0\r\n");
	edge_wait_stat("disk.objects", 1);
	expect_hit(get_with("/v", "User-Agent: ua/0\r\n"));
}

SCENARIO("a client's no-cache writes nothing to disk, however often it comes")
{
	enum { BYTES = 200000, TIMES = 20 };
	origin_says("/x", .fields = FRESH, .pattern_bytes = BYTES);
	origin_says("/y", .fields = FRESH, .body = "small");
	edge_start_yaml(EDGE_CACHE("  client_directives: obey\n"));
	get("/x");
	get("/x");
	edge_wait_stat("disk.objects", 1);
	edge_wait_stat("disk.written_bytes", BYTES);
	double before = edge_stat("disk.written_bytes");
	for (int i = 0; i < TIMES; i++) {
		struct answer a = get_with("/x", "Cache-Control: no-cache\r\n");
		expect_verdict(a, "detail=reload");
		expect_no_verdict(a, "stored");
		expect_int((long long)a.body_bytes, BYTES);
	}
	get("/y");
	get("/y");
	edge_wait_stat("disk.written_bytes", before + 1); /* and all that came before it */
	expect_between(edge_stat("disk.written_bytes") - before, 1, BYTES);
}

SCENARIO("the write budget holds, for what is written from RAM too, and the verdict says so")
{
	enum { URLS = 100, BYTES = 60000, RATE = 64 << 10 };
	origin_says("*", .fields = FRESH, .pattern_bytes = BYTES);
	edge_start_yaml("admission:\n  write_budget: 64KiB\n");
	time_t begun = time(NULL);
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < URLS; i++)
			get(text("/%d", i));
	for (int i = 0; i < URLS; i++) {
		struct answer a = get(text("/new/%d", i));
		expect_verdict(a, "detail=first-sight");
	}
	edge_wait_stat("disk.written_bytes", BYTES);
	double written = edge_stat("disk.written_bytes");
	double seconds = difftime(time(NULL), begun) + 1; /* of which a pause is one too */
	expect_between(written, BYTES, RATE * (seconds + 2) + 2 * BYTES + (64 << 10));
	expect_between(edge_stat("admission.seen_current"), 1, URLS / 2);
}

SCENARIO("a write budget in drive writes per day holds, and what is written is shown as such")
{
	enum { URLS = 40, BYTES = 60000 };
	origin_says("*", .fields = FRESH, .pattern_bytes = BYTES);
	edge_start_yaml("cache:\n  dir: %D/cache\n  disk: 64MiB\n  memory: 8MiB\n"
			"  endurance: 600TB\n"
			"admission:\n  write_budget: 1 DWPD\n"); /* 776 bytes a second */
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < URLS; i++)
			get(text("/%d", i));
	/* One at most is let go before the budget is overdrawn: what the cache itself wrote at the
	 * start counts too. */
	edge_wait_stat("admission.over_budget", URLS - 1);
	expect_between(edge_stat("admission.over_budget"), URLS - 1, URLS);
	edge_wait_stat("disk.written_bytes", 1);
	expect(edge_stat("disk.drive_writes_per_day") > 0);
	expect(edge_stat("disk.drive_life_years") > 0);
}

SCENARIO("an object over max_object is never written, and says so")
{
	origin_says("/big", .fields = FRESH, .pattern_bytes = 2 << 20);
	edge_start_yaml(
		"cache:\n  dir: %D/cache\n  disk: 64MiB\n  memory: 8MiB\n  max_object: 1MiB\n");
	for (int i = 0; i < 3; i++)
		expect_verdict(get("/big"), "detail=too-large");
	expect_int((long long)edge_stat("disk.objects"), 0);
}

SCENARIO("fill_until admits first sightings while the disk is empty")
{
	origin_says("/x", .fields = FRESH, .body = "hello");
	edge_start_yaml("admission:\n  fill_until: 50%\n");
	struct answer a = get("/x");
	expect_verdict(a, "detail=filling");
	expect_verdict(a, "stored");
}

SCENARIO("a redirect or an error that is stored and hit uses up no sighting and no disk")
{
	static const int statuses[] = {301, 404, 410};
	for (int i = 0; i < 3; i++)
		origin_says(text("/%d", i), .status = statuses[i],
			    .fields = FRESH "Location: /y\r\n", .body = "x");
	edge_start();
	for (int i = 0; i < 3; i++) {
		get(text("/%d", i));
		expect_hit(get(text("/%d", i)));
		expect_hit(get(text("/%d", i)));
	}
	expect_int((long long)edge_stat("disk.objects"), 0);
	expect_int((long long)edge_stat("admission.generation.keys"), 0);
}

/* ---- fresh for too short --------------------------------------------------------------------- */

enum { SHORT_BYTES = 40 << 10, SHORT_ASKED = 20 };

SCENARIO(
	"answers that change each time and cannot be used again are not written, by us nor by the baseline")
{
	static const struct {
		const char *path, *fields;
	} pages[] = {
		{"/etag", ""},
		{"/no-cache", "Cache-Control: no-cache\r\n"},
		{"/age-0", "Cache-Control: max-age=0\r\n"},
	};
	enum { PAGES = sizeof pages / sizeof *pages };
	edge_start();
	for (int p = 0; p < PAGES; p++)
		for (int i = 0; i < SHORT_ASKED; i++)
			origin_says(pages[p].path, .fields = pages[p].fields,
				    .etag = text("\"%d\"", i), .pattern_bytes = SHORT_BYTES,
				    .seed = (unsigned)i);
	double before = edge_stat("disk.written_bytes"),
	       baseline = edge_stat("disk.baseline_bytes");
	for (int p = 0; p < PAGES; p++)
		for (int i = 0; i < SHORT_ASKED; i++)
			expect_status(get(pages[p].path), 200);
	origin_expect_requests(PAGES * SHORT_ASKED);
	edge_expect_stat("admission.too_short", PAGES * (SHORT_ASKED - 1));
	edge_expect_stat("admission.too_short_bytes", PAGES * (SHORT_ASKED - 1) * SHORT_BYTES);
	edge_stop();
	edge_restart();
	expect_between(edge_stat("disk.written_bytes") - before, 0, SHORT_BYTES);
	expect_between(edge_stat("disk.baseline_bytes") - baseline, 0, SHORT_BYTES);
}

SCENARIO("what is validated well is worth its bytes: the first 304 has it written")
{
	origin_says("/x", .fields = "Cache-Control: no-cache\r\n", .etag = "\"1\"",
		    .pattern_bytes = SHORT_BYTES);
	edge_start();
	for (int i = 0; i < 3; i++)
		expect_status(get("/x"), 200);
	edge_wait_stat("disk.objects", 1);
	edge_restart();
	struct answer a = get("/x");
	expect_status(a, 200);
	expect_int((long long)a.body_bytes, SHORT_BYTES);
	expect_text(heard_field(origin_request(origin_requests() - 1), "If-None-Match"), "\"1\"");
}

SCENARIO("a route that admits always has short lives written too")
{
	origin_says("*", .fields = "Cache-Control: max-age=5\r\n", .pattern_bytes = SHORT_BYTES);
	edge_start_yaml("routes:\n  - { path: /always, admit: always }\n");
	get("/other");
	get("/other");
	edge_expect_stat("admission.too_short", 1);
	get("/always");
	edge_wait_stat("disk.objects", 1);
}
