/* twice inspect: what a directory holds is what it says, damage is found, nothing is written. */
#include "tests/kit/kit.h"

#include <jansson.h>
#include <unistd.h>

#define FRESH "Cache-Control: max-age=3600\r\n"

static json_t *
inspect(int want)
{
	struct output o = program(edge_binary(), "inspect", "--json", edge_cache_dir());
	expect_that(o.status == want, "status %d: %s%s", o.status, o.out, o.err);
	json_t *json = json_loads(o.out, 0, NULL);
	expect_that(json != NULL, "no JSON: %s", o.out);
	return json;
}

static long long
number(json_t *json, const char *a, const char *b, const char *c)
{
	json_t *at = json_object_get(json, a);
	at = b ? json_object_get(at, b) : at;
	at = c ? json_object_get(at, c) : at;
	expect_that(json_is_integer(at), "%s.%s.%s is missing", a, b ? b : "", c ? c : "");
	return json_integer_value(at);
}

/* All names, sizes, times and bytes; not the blocks of the disk, which the file system may choose later. */
static char *
state_of_directory(void)
{
	return program("sh", "-c",
		       text("cd %s && ls -la --time-style=full-iso . | grep -v ^total && sha256sum *",
			    edge_cache_dir()))
		.out;
}

static void
store(int pages)
{
	origin_says("*", .fields = FRESH "Cache-Tag: t\r\n", .pattern_bytes = 5000, .times = 999);
	origin_says("/large", .fields = FRESH, .pattern_bytes = 700000, .times = 9);
	edge_start_yaml("admission:\n  sightings: 1\n");
	for (int i = 0; i < pages; i++)
		get_with(text("/%d", i), text("Host: h%d.example\r\n", i % 2));
	get("/large");
}

SCENARIO("objects by host, their ages, purges; the same after a crash; nothing is written")
{
	by_http_only();
	store(10);
	program(edge_binary(), "purge", "http://h0.example/0", "--admin",
		text("127.0.0.1:%u", edge_admin_port()));
	program(edge_binary(), "purge", "--soft", "--prefix", "http://h1.example/1", "--admin",
		text("127.0.0.1:%u", edge_admin_port()));
	edge_stop();
	for (int crashed = 0; crashed < 2; crashed++) {
		char *before = state_of_directory();
		json_t *j = inspect(0);
		expect_text(state_of_directory(), before);
		expect_int(number(j, "objects", "sound", "objects"), 9);
		expect_int(number(j, "objects", "stale", "objects"), 1);
		expect_int(number(j, "objects", "damaged", "objects"), 0);
		expect_int(number(j, "hosts", "h0.example", "objects"), 4);
		expect_int(number(j, "hosts", "h1.example", "body_bytes"), 25000);
		expect_int(number(j, "hosts", "example.com", "body_bytes"), 700000);
		expect_int(number(j, "ages", "hour", NULL), 10);
		expect_int(number(j, "fresh", NULL, NULL), 9);
		expect_int(number(j, "tagged", NULL, NULL), 9);
		expect_int(number(j, "purges", "url", "hard"), 1);
		expect_int(number(j, "purges", "prefix", "soft"), 1);
		struct output o = program(edge_binary(), "inspect", edge_cache_dir());
		expect_that(o.status == 0 && strstr(o.out, "h1.example") &&
				    strstr(o.out, "1 prefix (1 soft)"),
			    "%s", o.out);
		if (crashed)
			continue;
		edge_restart();
		edge_kill9();
	}
}

SCENARIO("a flipped bit is found in a record, a body in pieces, a table")
{
	store(20);
	edge_stop();
	/* The first record, somewhere in the large body, and a copy of a small file. */
	char *dir = text("%s", edge_cache_dir());
	expect_int(number(inspect(0), "objects", "damaged", "objects"), 0);
	program("sh", "-c", text("cp -r %s %s.kept", dir, dir));
	program("sh", "-c", text("printf damaged. | dd of=%s/seed bs=1 seek=20 conv=notrunc", dir));
	expect_int(number(inspect(1), "bad_copies", NULL, NULL), 1);
	program("sh", "-c", text("rm -r %s && cp -r %s.kept %s", dir, dir, dir));
	program("sh", "-c",
		text("f=$(ls %s/segment.* | head -1); printf '\\377\\376' | "
		     "dd of=$f bs=1 seek=400 conv=notrunc",
		     dir));
	expect_int(number(inspect(1), "objects", "damaged", "objects"), 1);
	program("sh", "-c",
		text("for f in %s/segment.*; do for at in 150000 200000 250000; do printf '\\377\\376' | "
		     "dd of=$f bs=1 seek=$at conv=notrunc; done; done",
		     dir));
	expect(number(inspect(1), "objects", "damaged", "objects") >= 2);
	program("sh", "-c", text("rm %s/purges", dir));
	json_t *j = inspect(1);
	expect(json_is_true(json_object_get(json_object_get(j, "purges"), "lost")));
	expect_int(number(j, "objects", "sound", "objects"), 0);
}

SCENARIO("a directory in use, and what is none, is refused")
{
	edge_start();
	struct output o = program(edge_binary(), "inspect", edge_cache_dir());
	expect_int(o.status, 1);
	expect_that(strstr(o.err, text("in use by process %d", (int)edge_pid())), "%s", o.err);
	o = program(edge_binary(), "inspect", "/nonexistent");
	expect_that(o.status == 1 && strstr(o.err, "cannot read directory"), "%s", o.err);
	o = program(edge_binary(), "inspect", "/");
	expect_that(o.status == 1 && strstr(o.err, "holds no cache"), "%s", o.err);
	char *loop = text("%s/segment.01000", edge_cache_dir());
	expect_int(symlink(loop, loop), 0);
	edge_stop();
	o = program(edge_binary(), "inspect", edge_cache_dir());
	expect_that(o.status == 1 && strstr(o.err, "cannot read directory"), "%s%s", o.out, o.err);
	expect_int(unlink(loop), 0);
	edge_restart();
	expect_int(program(edge_binary(), "inspect").status, 2);
	expect_int(program(edge_binary(), "inspect", "/a", "/b").status, 2);
	get("/x"); /* the proxy was not disturbed */
}
