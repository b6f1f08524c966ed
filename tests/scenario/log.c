/* The access log: one line per request, combined format plus cache status and timings; off by
 * default. */
#include "tests/kit/kit.h"

#include <ctype.h>
#include <signal.h>
#include <unistd.h>

static char *
line_with(const char *log, const char *words)
{
	const char *at = strstr(log, words);
	if (!at)
		return NULL;
	while (at > log && at[-1] != '\n')
		at--;
	return strndup(at, strcspn(at, "\n"));
}

SCENARIO("a line per request on stdout")
{
	origin_says("*", .fields = "Cache-Control: max-age=60\r\n", .body = "hello");
	edge_start_yaml("access_log: \"-\"\n");
	get_with("/first", "User-Agent: me \"quoted\"\r\nReferer: http://from/\r\n");
	get("/x");
	ask("POST", "/post?q=1", NULL, "x");
	edge_stop();
	char *log = edge_stdout();
	char *line = line_with(log, "\"GET /first HTTP/1.1\"");
	expect_that(line, "no line for GET /first:\n%s", log);
	/* host ident user [date] "request" status bytes "referer" "agent" ... */
	expect_that(strncmp(line, "127.0.0.1 - - [", 15) == 0, "%s", line);
	expect_that(strstr(line, "\" 200 5 \"http://from/\""), "%s", line);
	expect_that(strstr(line, "me "), "%s", line);
	expect_that(!strstr(line, "\"me \"quoted\"\""), "a quote that is not escaped: %s", line);
	expect_that(strstr(line, "first-sight"), "no verdict: %s", line);
	expect_that(strstr(log, "\"POST /post?q=1 HTTP/1.1\" 200"), "no line for the POST:\n%s",
		    log);
	int lines = 0;
	for (char *p = log; *p; p++)
		lines += *p == '\n';
	expect_int(lines, 3);
}

SCENARIO("bytes of a client cannot make lines of their own")
{
	edge_start_yaml("access_log: \"-\"\n");
	get_with("/x%0a%0d", "User-Agent: a\tb\x80\xff\r\n");
	struct client *c = client_open();
	client_send(c, "GET /bad\x01 HTTP/1.1\r\nHost: a\r\n\r\n");
	client_try(c, "GET");
	edge_stop();
	for (char *p = edge_stdout(); *p; p++)
		expect_that(*p == '\n' || (unsigned char)*p >= 32, "byte %d in the log:\n%s", *p,
			    edge_stdout());
}

SCENARIO("no log by default")
{
	edge_start();
	get("/x");
	edge_stop();
	expect_text(edge_stdout(), "");
}

SCENARIO("a log file is reopened on SIGHUP")
{
	edge_start_yaml("access_log: %D/access.log\n");
	char *log = text("%s/access.log", kit_dir()), *moved = text("%s/access.log.1", kit_dir());
	get("/before");
	expect_int(rename(log, moved), 0);
	edge_signal(SIGHUP);
	wait_until(access(log, F_OK) == 0);
	get("/after");
	edge_stop();
	expect(line_with(program("cat", moved).out, "/before") != NULL);
	expect(line_with(program("cat", log).out, "/after") != NULL);
	expect(line_with(program("cat", log).out, "/before") == NULL);
}

SCENARIO("twice stats says what /stats says")
{
	origin_says("/x", .body = "hello");
	edge_start();
	get("/x");
	const char *bin = getenv("TWICE") ? getenv("TWICE") : "build/twice";
	struct output o =
		program(bin, "stats", "--json", "--admin", text("127.0.0.1:%u", edge_admin_port()));
	expect_that(o.status == 0 && strstr(o.out, "\"requests\""), "exit %d: %s%s", o.status,
		    o.out, o.err);
	o = program(bin, "stats", "--admin", text("127.0.0.1:%u", edge_admin_port()));
	expect_that(o.status == 0 && o.out_bytes > 100, "exit %d: %s%s", o.status, o.out, o.err);
	o = program(bin, "stats", "--admin", "127.0.0.1:1");
	expect_that(o.status == 1 && strstr(o.err, "127.0.0.1:1"), "exit %d: %s", o.status, o.err);
}
