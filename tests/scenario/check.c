/* `twice check` finds what `twice run` would refuse or half do,
 * each with its place and a way out. */
#include "tests/kit/kit.h"

#include <sys/stat.h>
#include <unistd.h>

/* Runs check on the text; %D is the scenario's directory. */
static struct output
checked(const char *yaml)
{
	const char *bin = edge_binary();
	char *path = text("%s/t.yaml", kit_dir());
	FILE *f = fopen(path, "w");
	for (const char *p = yaml; *p; p++)
		if (strncmp(p, "%D", 2) == 0)
			fputs(kit_dir(), f), p++;
		else
			fputc(*p, f);
	fclose(f);
	return program(bin, "check", "-c", path);
}

#define ELSE \
	"cache: { dir: none }\nlisten: '127.0.0.1:0'\nadmin: off\norigins: http://127.0.0.1:9\n"

/* clang-format off */
static const struct {
	const char *says, *yaml;
	const char *place, *wrong, *way_out; /* words of the line that must come */
} rows[] = {
	{ "no origin",
	  "cache: { dir: none }\nlisten: '127.0.0.1:0'\nadmin: off\n",
	  "", "no origin", "--origin URL" },
	{ "a file of certificates that is not there",
	  "cache: { dir: none }\nlisten: '127.0.0.1:0'\nadmin: off\norigins:\n  - url: https://127.0.0.1:9\n    ca_file: %D/none.pem\n",
	  "t.yaml:6: origins.ca_file", "No such file", "PEM" },
	{ "a log in a folder that is not there",
	  ELSE "access_log: %D/none/access.log\n",
	  "t.yaml:5: access_log", "no request would be logged", "make " },
	{ "a log that is a folder",
	  ELSE "access_log: %D\n",
	  "t.yaml:5: access_log", "is a directory", "name a file" },
	{ "its own address as origin",
	  "cache: { dir: none }\nlisten: '127.0.0.1:18080'\nadmin: off\norigins: http://127.0.0.1:18080\n",
	  "t.yaml:4: origins.url", "where twice itself listens", "server behind it" },
	{ "rules of a query that contradict each other",
	  ELSE "routes:\n  - keep_params: a\n    query: ignore\n",
	  "t.yaml:6: routes.keep_params", "query: ignore", "leave one" },
	{ "a route that is never reached",
	  ELSE "routes:\n  - path: /\n  - path: /a\n",
	  "t.yaml:7: routes.path", "route 1 matches all of it", "before it" },
	{ "more memory than the machine has",
	  "cache: { dir: none, memory: 15TiB }\nlisten: '127.0.0.1:0'\nadmin: off\norigins: http://127.0.0.1:9\n",
	  "t.yaml:1: cache.memory", "this machine's memory", "smaller size" },
	{ "a disk larger than its file system",
	  "cache:\n  dir: %D/cache\n  disk: 1000TiB\nlisten: '127.0.0.1:0'\nadmin: off\norigins: http://127.0.0.1:9\n",
	  "t.yaml:3: cache.disk", "file system", "smaller size" },
	{ "a cache directory that is a file",
	  "cache:\n  dir: %D/t.yaml\nlisten: '127.0.0.1:0'\nadmin: off\norigins: http://127.0.0.1:9\n",
	  "t.yaml:2: cache.dir", "is no directory", "or none" },
	{ "an address of another machine",
	  "cache: { dir: none }\nlisten: '192.0.2.222:8080'\nadmin: off\norigins: http://127.0.0.1:9\n",
	  "t.yaml:2: listen", "cannot listen on 192.0.2.222:8080", "of this machine" },
};
/* clang-format on */

SCENARIO("each mistake is one line with place, reason and way out; the exit code is 2")
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct output o = checked(rows[i].yaml);
		expect_that(o.status == 2 && strstr(o.err, rows[i].place) &&
				    strstr(o.err, rows[i].wrong) && strstr(o.err, rows[i].way_out),
			    "%s: exit %d, said: %s", rows[i].says, o.status, o.err);
		expect_that(strchr(o.err, '\n')[1] == '\0', "%s: more than one line: %s",
			    rows[i].says, o.err);
	}
}

SCENARIO("all that is wrong is said at once, and the effective settings all the same")
{
	struct output o = checked("cache: { dir: none, memory: 15TiB }\nlisten: '127.0.0.1:0'\n"
				  "admin: off\naccess_log: %D/none/log\n");
	expect_int(o.status, 2);
	expect_that(strstr(o.err, "no origin") && strstr(o.err, "cache.memory") &&
			    strstr(o.err, "access_log"),
		    "%s", o.err);
	expect_that(strstr(o.out, "memory: 15TiB"), "%s", o.out);
}

SCENARIO("what is right is left in peace, beside a proxy that runs with it too")
{
	edge_yaml("access_log: %D/access.log\n");
	edge_start("--cache", "none");
	struct output o = checked(
		text("cache: { dir: %%D/cache }\nlisten: '127.0.0.1:%u'\nadmin: '127.0.0.1:%u'\n"
		     "origins: http://127.0.0.1:%u\naccess_log: %%D/access.log\n",
		     edge_port(), edge_admin_port(), origin_port()));
	expect_that(o.status == 0 && o.err[0] == '\0', "exit %d: %s", o.status, o.err);
	expect(access(text("%s/cache", kit_dir()), F_OK) != 0); /* nothing is made */
}

SCENARIO("run refuses what it cannot do, with the same line")
{
	char *says;
	edge_yaml("origins:\n  - url: https://127.0.0.1:9\n    ca_file: %D/none.pem\n");
	expect_int(edge_refuses(&says), 2);
	expect_that(strstr(says, "twice.yaml:3: origins.ca_file: cannot read"), "%s", says);
}
