/* `sightings: auto` asks for a third sighting of large bodies where that spares the disk and costs little; it says
 * why, and remembers it. */
#include "tests/kit/clock.h"
#include "tests/kit/kit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#define FRESH "Cache-Control: max-age=86400\r\n"

enum { LARGE = 80000, SMALL = 200, EACH = 260, HOT = 20 };

#define CACHE "cache:\n  dir: %D/cache\n  disk: 64MiB\n  memory: 128MiB\n"

/* The second pair of the filter holds a quarter of the capacity: of what comes twice, so many end a generation. */
static const char AUTO[] = CACHE "admission: { sightings: auto, capacity: 1000 }\n",
		  TWO[] = CACHE "admission: { sightings: 2, capacity: 1000 }\n",
		  THREE_LARGE[] = "3 for bodies over 64 KiB, 2 for others";

static void
script(void)
{
	origin_says("*", .fields = FRESH, .pattern_bytes = LARGE, .times = 1 << 20);
	for (int i = 0; i < HOT; i++)
		origin_says(text("/hot/%d", i), .fields = FRESH, .pattern_bytes = SMALL);
}

static int generations;

/* Large bodies that come twice and never again, and a second is over. */
static void
a_generation(void)
{
	double number = edge_stat("admission.generation.number");
	for (int i = 0; i < EACH; i++) {
		char *large = text("/large/%d/%d", generations, i);
		get(large);
		get(large);
		get(text("/hot/%d", i % HOT));
		get(text("/hot/%d", i % HOT));
	}
	generations++;
	clock_advance(1000);
	edge_wait_stat("admission.generation.number", number + 1);
	clock_advance(1000); /* what the keeper does with it is done */
}

/* Two periods of three generations; a keeper that is late may see one as a part of the next. */
static void
until_it_changes(void)
{
	enum { MOST = 16 };
	for (int i = 0; i < MOST && edge_stat("admission.sightings.changes") < 1; i++)
		a_generation();
	edge_wait_stat("admission.sightings.changes", 1);
}

static char *
admin(void)
{
	return text("127.0.0.1:%u", edge_admin_port());
}

static char *
explained(const char *path)
{
	struct output o = program(edge_binary(), "explain", text("http://example.com%s", path),
				  "--admin", admin());
	expect_int(o.status, 0);
	return o.out;
}

static bool
is_told(const char *path, const char *words)
{
	struct client *c = client_open_to(edge_admin_port());
	client_send(c,
		    text("GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path));
	bool is = strstr(client_read(c, "GET").body, words) != NULL;
	client_close(c);
	return is;
}

static void
expect_three(void)
{
	expect_int((int)edge_stat("admission.sightings.large"), 3);
	expect_int((int)edge_stat("admission.sightings.small"), 2);
	expect_int((int)edge_stat("admission.sightings.changes"), 1);
	expect(is_told("/stats", text("\"why\": \"%s: with 3", THREE_LARGE)));
	expect(is_told("/metrics", "twice_admission_sightings{bodies=\"large\"} 3"));
}

static pid_t
upgraded(void)
{
	int pid = 0;
	expect(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
	struct output o = program(edge_binary(), "upgrade", "--admin", admin());
	expect_that(sscanf(o.out, "process %d (", &pid) == 1, "it says: %s%s", o.out, o.err);
	return pid;
}

static void
damage(void)
{
	int fd = open(text("%s/choice", edge_cache_dir()), O_WRONLY);
	expect(fd >= 0 && pwrite(fd, "!", 1, 40) == 1);
	close(fd);
}

SCENARIO_IN(120,
	    "three sightings of large bodies are chosen where they spare the disk, and why is said")
{
	script();
	clock_hold();
	edge_start_yaml(AUTO);
	expect(edge_said("sightings: auto asks for 2 for all bodies: it began so"));
	get("/large/first");
	expect(strstr(explained("/large/first"), "it is written at sighting 2") != NULL);
	a_generation();
	expect_int((int)edge_stat("admission.sightings.large"), 2);
	until_it_changes();
	expect_three();
	expect(edge_said(text("sightings: auto asks for %s: with 3", THREE_LARGE)));
	get("/large/new");
	char *why = explained("/large/new");
	expect_that(strstr(why, "it is written at sighting 3") &&
			    strstr(why, "admission.sightings is auto: now 3"),
		    "it says: %s", why);
	double written = edge_stat("admission.seen_current");
	a_generation();
	/* All came twice alone; the filter takes some of them for known. */
	expect(edge_stat("admission.seen_current") - written < EACH / 10);

	edge_kill9();
	edge_restart();
	expect_three();
	edge_becomes(upgraded(), 0);
	expect_three();
	edge_kill9();
	damage();
	edge_restart();
	expect(edge_said("the choice of sightings is ignored (it is damaged)"));
	expect_int((int)edge_stat("admission.sightings.large"), 2);
}

SCENARIO_IN(120,
	    "before the write budget refuses what two sightings would write, three are asked for")
{
	script();
	clock_hold();
	edge_start_yaml(CACHE
			"admission: { sightings: auto, capacity: 1000, write_budget: 100KiB/s }\n");
	until_it_changes(); /* a generation takes two seconds */
	expect_int((int)edge_stat("admission.sightings.large"), 3);
	expect(is_told("/stats", "with 2 the write budget would refuse"));
	expect(edge_said("with 2 the write budget would refuse"));
}

SCENARIO("a reload ends the choice at once, and the filter for it is made at a restart")
{
	script();
	clock_hold();
	edge_start_yaml(AUTO);
	edge_rewrite(TWO);
	expect_int(program(edge_binary(), "reload", "--admin", admin()).status, 0);
	expect(edge_said("2 sightings are asked for, and none are chosen any more"));
	expect(is_told("/stats", "\"auto\": false"));
	edge_rewrite(AUTO);
	expect_int(program(edge_binary(), "reload", "--admin", admin()).status, 0);
	expect(edge_said(
		"admission.sightings has changed in the configuration; restart to apply it"));
	expect(is_told("/stats", "\"auto\": false"));
	edge_restart();
	expect(is_told("/stats", "\"auto\": true"));
}
