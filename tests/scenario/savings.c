/* The report says that so much is saved as a second run would show. */
#include "tests/kit/clock.h"
#include "tests/kit/kit.h"

#include <unistd.h>

#define FRESH "Cache-Control: max-age=600\r\n"
#define SHORT "Cache-Control: max-age=10\r\nAge: 20\r\n"

enum {
	URLS = 60,
	BYTES = 60000,
	SMALL = 400,
	SMALL_BYTES = 12000,
	FILMS = 6,
	FILM_BYTES = 5 << 20
};

struct outcome {
	double written, baseline, ratio, origin, net, hits;
	double all_hits;	      /* the ratio that is said of a cache that admits all */
	double requests, of_baseline; /* all; those that it has an answer, or none, for */
	char *stats;		      /* the whole of GET /stats */
};

static void (*play)(void);
static int plays;	 /* each has a directory of its own */
static int asked_before; /* origin requests until the proxy that is asked for its report began */

static char *
admin_get(const char *path)
{
	struct client *c = client_open_to(edge_admin_port());
	client_send(c,
		    text("GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path));
	struct answer r = client_read(c, "GET");
	expect_status(r, 200);
	client_close(c);
	return text("%s", r.body);
}

/* The same requests with `sightings`; "written" is counted from before to after. */
static struct outcome
run(int sightings)
{
	edge_start_yaml(text("cache:\n  dir: %%D/cache%d\n  disk: 64MiB\n  memory: 1MiB\n"
			     "admission:\n  sightings: %d\n",
			     plays++, sightings));
	asked_before = origin_requests();
	play();
	edge_expect_stat("connections.open", 0); /* so that all answers are counted */
	edge_expect_stat("origin.active_fetches",
			 0); /* a slice is fetched to its end behind its client */
	edge_expect_stat("flights.active", 0);
	edge_expect_stat("disk.pending_bytes", 0);
	struct outcome o = {edge_stat("disk.written_bytes"),
			    edge_stat("disk.baseline_bytes"),
			    edge_stat("disk.saved_ratio"),
			    origin_requests() - asked_before,
			    edge_stat("origin.net_requests"),
			    edge_stat("requests.hit_ratio"),
			    edge_stat("requests.baseline_hit_ratio"),
			    edge_stat("requests.total"),
			    edge_stat("baseline.hits") + edge_stat("baseline.misses") +
				    edge_stat("baseline.validated"),
			    admin_get("/stats")};
	edge_stop();
	return o;
}

/* saved_ratio within two points of the truth, net requests within a tenth (or three). */
static void
expect_true(const char *what, void (*requests)(void))
{
	play = requests;
	struct outcome one = run(1), two = run(2);
	double saved = one.written > 100000 ? 1 - two.written / one.written : 0;
	double net = two.origin - one.origin, slack = 0.1 * (net < 0 ? -net : net) + 3;
	note("%s: saved %.3f said, %.3f true; net origin requests %.0f said, %.0f true (%.0f said by admitting all of itself)",
	     what, two.ratio, saved, two.net, net, one.net);
	expect_that(two.ratio > saved - 0.02 && two.ratio < saved + 0.02,
		    "%s: saved %.3f is said where %.3f is true", what, two.ratio, saved);
	expect_that(two.net >= net - slack && two.net <= net + slack,
		    "%s: %.0f net origin requests are said where %.0f are true", what, two.net,
		    net);
	expect_that(one.ratio > -0.03 && one.ratio < 0.03, "%s: admitting all is said to save %.3f",
		    what, one.ratio);
}

/* Each URL below folder, or each second, third, ... of them, so many times. */
static void
ask_each(const char *folder, int rounds, int step)
{
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < URLS; i += step)
			get(text("%s/%d", folder, i));
}

static void
short_lives(void)
{
	ask_each("/tag", 3, 1);
}

static void
one_hit_wonders(void)
{
	ask_each("/fresh", 1, 1);
	ask_each("/fresh", 1, 4);
}

static void
restart_in_the_middle(void)
{
	ask_each("/fresh", 2, 1);
	edge_restart();
	asked_before = origin_requests();
	ask_each("/fresh", 1, 1);
	ask_each("/tag", 1, 1);
	ask_each("/tag", 1, 3);
}

/* Each look is five seconds later. */
static bool
baseline_is_written(void)
{
	clock_advance(5000);
	return access(text("%s/cache%d/baseline.log", kit_dir(), plays - 1), F_OK) == 0;
}

/* The store is a moment behind when it is killed, and the baseline some seconds. */
static void
killed_in_the_middle(void)
{
	ask_each("/fresh", 1, 1);
	ask_each("/fresh", 1, 2);
	clock_advance(2000); /* what is gathered is written */
	edge_expect_stat("disk.pending_bytes", 0);
	wait_until(baseline_is_written());
	edge_kill9();
	edge_restart();
	asked_before = origin_requests();
	ask_each("/fresh", 1, 1);
	ask_each("/tag", 1, 2);
	clock_advance(2000);
}

/* Only hits after a restart with a warm disk: nothing is saved. */
static void
warm_restart(void)
{
	ask_each("/fresh", 2, 1);
	edge_restart();
	asked_before = origin_requests();
	for (int i = 0; i < URLS; i++)
		expect_hit(get(text("/fresh/%d", i)));
}

static void
purge(const char *query)
{
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, text("POST /purge?%s HTTP/1.1\r\nHost: localhost\r\n"
			    "Content-Length: 0\r\nConnection: close\r\n\r\n",
			    query));
	expect_status(client_read(c, "POST"), 200);
	client_close(c);
}

static void
purges(void)
{
	for (int round = 0; round < 4; round++)
		for (int i = 0; i < URLS; i++) {
			get(text("/fresh/%d", i));
			if (i % 3 == round % 3)
				purge(text("url=http://example.com/fresh/%d", i));
		}
}

/* Of those that were asked for once, too. */
static void
purges_of_many(void)
{
	static const char *const orders[] = {"tag=even", "prefix=http://example.com/fresh/1",
					     "tag=all", "host=example.com&soft=1",
					     "tag=even&soft=1"};
	for (int i = 0; i < 5; i++) {
		ask_each("/fresh", 1, i == 1 ? 3 : 1);
		purge(orders[i]);
	}
	ask_each("/fresh", 2, 1);
}

static void
variants(void)
{
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < URLS; i++)
			if (round == 0 || i % 3 == 0)
				get_with("/vary", text("X-Kind: %d\r\n", i));
}

static void
ranges(void)
{
	static const char *const ranges[] = {"0-1", "0-", "30000-39999", "50000-"};
	for (int client = 2; client < 4; client++) {
		client_from(text("127.0.0.%d", client));
		for (int i = 0; i < URLS; i++)
			if (client == 2 || i % 3 == 0)
				for (int r = 0; r < 4; r++)
					get_with(text("/fresh/%d", i),
						 text("Range: bytes=%s\r\n", ranges[r]));
	}
	client_from(NULL);
}

static void
script(void)
{
	for (int i = 0; i < URLS; i++) {
		origin_says(text("/tag/%d", i), .fields = SHORT, .etag = "\"1\"",
			    .pattern_bytes = BYTES);
		origin_says(text("/fresh/%d", i),
			    .fields = i % 2 ? FRESH "Cache-Tag: all\r\n"
					    : FRESH "Cache-Tag: all, even\r\n",
			    .etag = "\"1\"", .pattern_bytes = BYTES, .ranges = true);
	}
	for (int i = 0; i < SMALL; i++)
		origin_says(text("/small/%d", i), .fields = FRESH, .etag = "\"1\"",
			    .pattern_bytes = SMALL_BYTES);
	origin_says("/vary", .fields = FRESH "Vary: X-Kind\r\n", .pattern_bytes = BYTES);
}

SCENARIO_IN(120, "what is said to be saved is what a second run shows: one-hit URLs, short lives")
{
	script();
	expect_true("one-hit URLs", one_hit_wonders);
	expect_true("short lives with ETag", short_lives);
}

SCENARIO_IN(120, "what is said to be saved is what a second run shows: purges, variants")
{
	script();
	expect_true("purges", purges);
	expect_true("variants", variants);
}

SCENARIO_IN(120,
	    "what is said to be saved is what a second run shows: purges by tag, prefix, softly")
{
	script();
	expect_true("purges of many", purges_of_many);
}

SCENARIO_IN(120, "what is said to be saved is what a second run shows: kill -9")
{
	clock_hold();
	script();
	play = killed_in_the_middle;
	struct outcome two = run(2), one = run(1);
	note("hits %.3f, admitting all %.3f said, %.3f true", two.hits, two.all_hits, one.hits);
	expect_that(one.hits > two.hits + 0.1, "two sightings hit less: %.3f and %.3f", two.hits,
		    one.hits);
	expect_that(two.all_hits > one.hits - 0.02 && two.all_hits < one.hits + 0.02,
		    "%.3f are said where %.3f are true", two.all_hits, one.hits);
}

SCENARIO_IN(120, "what is said to be saved is what a second run shows: a restart, ranges")
{
	script();
	expect_true("a restart in the middle", restart_in_the_middle);
	expect_true("a warm restart with hits only", warm_restart);
	expect_true("ranges", ranges);
}

/* Whole films of five slices: some in a row, and each a while after the other. */
static void
films(void)
{
	for (int round = 0; round < 4; round++)
		for (int i = 0; i < FILMS; i += round + 1) {
			get(text("/film/%d", i));
			get_with(text("/film/%d", (i + 3) % FILMS),
				 "Range: bytes=1500000-4000000\r\n");
		}
}

SCENARIO_IN(
	120,
	"a request counts once in the hit ratio of an ordinary cache, however many slices it touches")
{
	for (int i = 0; i < FILMS; i++)
		origin_says(text("/film/%d", i), .fields = FRESH, .etag = "\"1\"",
			    .pattern_bytes = FILM_BYTES, .ranges = true);
	play = films;
	struct outcome two = run(2), one = run(1);
	note("hits %.3f, admitting all %.3f said, %.3f true; %.0f net origin requests", two.hits,
	     two.all_hits, one.hits, two.net);
	expect_that(two.hits < one.hits - 0.1, "two sightings hit less: %.3f and %.3f", two.hits,
		    one.hits);
	expect_that(two.all_hits > one.hits - 0.01 && two.all_hits < one.hits + 0.01,
		    "%.3f are said where %.3f are true", two.all_hits, one.hits);
	expect_that(one.all_hits == one.hits, "admitting all is said to hit %.3f, not %.3f",
		    one.all_hits, one.hits);
	expect_that(one.requests == one.of_baseline, "%.0f requests are %.0f of the baseline",
		    one.requests, one.of_baseline);
}

/* ---- what if ------------------------------------------------------------------------------- */

/* Number of a row of what_if. */
static double
row(const struct outcome *o, const char *name, const char *number)
{
	char *at = strstr(o->stats, text("\"name\": \"%s\"", name));
	expect_that(at != NULL, "there is no row \"%s\":\n%s", name, o->stats);
	at = strstr(at, text("\"%s\": ", number));
	return strtod(at + strlen(number) + 4, NULL);
}

/* A row of one run says what another run with these settings shows, within two points of hits and of the
 * bytes that admitting all writes. */
static void
expect_row(const struct outcome *o, const char *name, const struct outcome *truth, double all)
{
	double hits = row(o, name, "hit_ratio"), written = row(o, name, "written_bytes");
	note("%s: hits %.3f said, %.3f true; written %.2f MB said, %.2f true", name, hits,
	     truth->hits, written / 1e6, truth->written / 1e6);
	expect_that(hits > truth->hits - 0.02 && hits < truth->hits + 0.02,
		    "%s: hits %.3f are said where %.3f are true", name, hits, truth->hits);
	expect_that(written > truth->written - 0.02 * all && written < truth->written + 0.02 * all,
		    "%s: %.0f bytes are said where %.0f are true", name, written, truth->written);
}

/* The smaller the number of a URL, the more often it is asked for. */
static void
some_often(void)
{
	unsigned x = 1;
	for (int i = 0; i < 1500; i++) {
		x = x * 1664525 + 1013904223;
		unsigned below = (x >> 8) % SMALL + 1;
		x = x * 1664525 + 1013904223;
		get(text("/small/%u", (x >> 8) % below));
	}
}

SCENARIO_IN(120, "what if: rows say what second runs with other settings show")
{
	script();
	play = some_often;
	struct outcome two = run(2), one = run(1), three = run(3);
	expect_row(&two, "sightings: 1", &one, one.written);
	expect_row(&two, "sightings: 3", &three, one.written);
	expect_row(&one, "sightings: 2", &two, one.written);
	expect_row(&three, "sightings: 1", &one, one.written);
	expect_that(three.written < 0.8 * two.written, "three sightings write less");
}

enum { REELS = 20, REEL_BYTES = 3 << 20, PIECE = 128 << 10 };

/* Pieces behind the first byte of reels, most of a few of them, each by a client of its own. */
static void
pieces_of_reels(void)
{
	unsigned x = 1;
	for (int i = 0; i < 400; i++) {
		x = x * 1664525 + 1013904223;
		unsigned reel = (x >> 8) % 5 ? (x >> 12) % 4 : (x >> 12) % REELS;
		x = x * 1664525 + 1013904223;
		unsigned at = 1 + (x >> 8) % (REEL_BYTES - PIECE);
		client_from(text("127.0.%d.%d", 1 + i / 200, 1 + i % 200));
		get_with(text("/reel/%u", reel),
			 text("Range: bytes=%u-%u\r\n", at, at + PIECE - 1));
	}
	client_from(NULL);
}

SCENARIO_IN(120, "what if: rows are right of ranges, whose slices count each for itself")
{
	for (int i = 0; i < REELS; i++)
		origin_says(text("/reel/%d", i), .fields = FRESH, .etag = "\"1\"",
			    .pattern_bytes = REEL_BYTES, .ranges = true, .times = 9999);
	play = pieces_of_reels;
	struct outcome two = run(2), one = run(1), three = run(3);
	double all =
		1.5 * one.written; /* a slice alone is more than two points of what one writes */
	expect_row(&two, "sightings: 1", &one, all);
	expect_row(&two, "sightings: 3", &three, all);
	expect_row(&one, "sightings: 2", &two, all);
	expect_row(&one, "sightings: 3", &three, all);
	expect_row(&three, "sightings: 1", &one, all);
	expect_row(&three, "sightings: 2", &two, all);
	expect_that(three.written < 0.95 * two.written && two.written < 0.95 * one.written,
		    "each sighting more writes less");
}

/* All that is asked for after it is there, in the simulation too. */
SCENARIO_IN(120, "what if: what is held survives a restart")
{
	script();
	play = warm_restart;
	struct outcome two = run(2);
	expect_that(row(&two, "sightings: 1", "hit_ratio_change") == 0 &&
			    row(&two, "sightings: 1", "written_change") == 0,
		    "admitting all is as it is:\n%s", two.stats);
	char *off = strstr(two.stats, "\"off_hit_ratio\": ");
	expect_that(off && strtod(off + 17, NULL) == 0, "it holds what was held:\n%s", two.stats);
}
