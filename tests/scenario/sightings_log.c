/* sightings_log.c - what was seen is on disk within a minute, whatever becomes of the process. */
#include "tests/kit/clock.h"
#include "tests/kit/disk.h"
#include "tests/kit/kit.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FRESH "Cache-Control: max-age=600\r\n"

static const char FIRST[] = "detail=first-sight", SEEN[] = "stored";

static pid_t
upgraded(void)
{
	int pid = 0;
	expect(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
	struct output o = program(edge_binary(), "upgrade", "--admin",
				  text("127.0.0.1:%u", edge_admin_port()));
	expect_that(sscanf(o.out, "process %d (", &pid) == 1, "it says: %s%s", o.out, o.err);
	return pid;
}

enum { KEYS = 8192 + 100 }; /* more than are written at once */

static long
sightings_at(const char *dir)
{
	struct stat is;
	return stat(text("%s/sightings", dir), &is) == 0 ? (long)is.st_size : 0;
}

static long
log_bytes(void)
{
	return sightings_at(edge_cache_dir());
}

/* A minute passes, and a thread has written what was due. */
static void
pass_a_minute(void)
{
	long was = log_bytes();
	clock_advance(60000);
	wait_until(log_bytes() > was);
}

/* The first minute of a log is the hardest: there is no snapshot yet. */
SCENARIO("a sighting survives kill -9 a minute later, and the second request is written")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	clock_hold();
	edge_start();
	expect_verdict(get("/x"), FIRST);
	pass_a_minute();
	edge_kill9();
	edge_restart();
	expect_verdict(get("/x"), SEEN);
	expect_verdict(get("/y"), FIRST);
	pass_a_minute(); /* behind what the first process wrote */
	edge_kill9();
	edge_restart();
	expect_verdict(get("/y"), SEEN);
}

SCENARIO(
	"three sightings need no filter to be named, and are counted through a restart, a kill and an upgrade")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	clock_hold();
	edge_start_yaml("admission: { sightings: 3 }\ncache: { memory: 1MiB }\n");
	expect_verdict(get("/x"), FIRST);
	expect_verdict(get("/y"), FIRST);
	edge_restart(); /* it saves its snapshot at the end */
	expect_verdict(get("/x"), FIRST);
	pass_a_minute();
	edge_kill9();
	edge_restart();
	expect_verdict(get("/x"), SEEN);
	edge_becomes(upgraded(), 0);
	expect_verdict(get("/y"), FIRST);
	expect_verdict(get("/z"), FIRST);
	expect(edge_stat("admission.generation.keys") == 3);
}

SCENARIO(
	"a counting filter's snapshot and log count for the cascade that takes its place, and back")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	clock_hold();
	edge_start_yaml("admission: { sightings: 3, filter: counting, capacity: 10000 }\n");
	expect_verdict(get("/saved"), FIRST);
	edge_restart();
	expect_verdict(get("/logged"), FIRST);
	pass_a_minute();
	edge_kill9();
	edge_rewrite("admission: { sightings: 3, capacity: 10000 }\n");
	edge_restart();
	expect(edge_said("the filter is made with other options"));
	expect_verdict(get("/saved"), FIRST); /* the second */
	expect_verdict(get("/logged"), FIRST);
	expect_verdict(get("/new"), FIRST);
	edge_restart(); /* so that RAM answers nothing */
	expect_verdict(get("/saved"), SEEN);
	expect_verdict(get("/new"), FIRST);
	edge_rewrite("admission: { sightings: 3, filter: counting, capacity: 10000 }\n");
	edge_restart();
	expect_verdict(get("/new"), SEEN);
	expect_verdict(get("/logged"), SEEN);
}

SCENARIO("the log of sightings begins anew with each snapshot, and its bytes are counted")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	clock_hold();
	edge_start();
	expect_verdict(get("/x"), FIRST);
	double before = edge_stat("disk.written_bytes");
	pass_a_minute();
	expect(edge_stat("disk.written_bytes") > before);
	long was = log_bytes();
	edge_restart(); /* it saves its snapshot at the end */
	expect(log_bytes() < was);
	expect_verdict(get("/y"), FIRST);
	pass_a_minute();
	edge_kill9();
	edge_restart();
	expect_verdict(get("/x"), SEEN);
	expect_verdict(get("/y"), SEEN);
	expect(edge_stat("admission.unlogged") == 0);
}

SCENARIO("an upgrade takes the log of sightings along, and goes on with it")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	clock_hold();
	edge_start();
	expect_verdict(get("/x"), FIRST);
	clock_advance(60000);
	expect_verdict(get("/y"), FIRST);
	clock_run(1);
	edge_becomes(upgraded(), 0);
	expect_verdict(get("/z"), FIRST);
	clock_hold();
	pass_a_minute();
	edge_kill9();
	edge_restart();
	expect_verdict(get("/x"), SEEN);
	expect_verdict(get("/y"), SEEN);
	expect_verdict(get("/z"), SEEN);
}

SCENARIO("a changed capacity forgets nothing, over a restart, a kill and an upgrade")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	clock_hold();
	edge_start_yaml("admission:\n  capacity: 10000\n");
	expect_verdict(get("/saved"), FIRST);
	edge_restart();
	expect_verdict(get("/logged"), FIRST);
	pass_a_minute();
	edge_kill9();
	edge_rewrite("admission:\n  capacity: 50000\n");
	edge_restart();
	expect(edge_said("the filter is made with other options"));
	expect_verdict(get("/saved"), SEEN);
	expect_verdict(get("/logged"), SEEN);
	expect_verdict(get("/new"), FIRST);
	clock_advance(60000);
	wait_until(access(text("%s/filter.old", edge_cache_dir()), F_OK) == 0);
	edge_rewrite("admission:\n  capacity: 20000\n  false_positives: 0.1%\n");
	clock_run(1);
	edge_becomes(upgraded(), 0);
	expect_verdict(get("/newer"), FIRST);
	expect_verdict(get("/new"), SEEN);
}

SCENARIO(
	"a disk that hangs while sightings are written holds up nobody, and has them when it goes on")
{
	struct disk *d = disk_new("disk");
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_start_yaml(
		"cache:\n  dir: %D/disk/c\n  disk: 64MiB\n  memory: 8MiB\n  keep_free: 0\n");
	for (int i = 0; i < KEYS; i++)
		expect_verdict(get(text("/%d", i)), FIRST);
	wait_until(sightings_at(text("%s/c", disk_path(d))) > 8192 * 8);
	disk_hang(d, "c");
	for (int i = 0; i < 2 * KEYS; i++)
		expect_status(get(text("/more/%d", i)), 200);
	disk_expect_awake("worker");
	disk_go_on(d);
	edge_restart();
	expect_verdict(get("/more/0"), SEEN);
}
