/* The access log: one line per request, combined format plus cache status and timings; off by
 * default. */
#include "tests/kit/inside.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
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
	by_h1_only();
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
	client_close(c);
	edge_stop();
	for (char *p = edge_stdout(); *p; p++)
		expect_that(*p == '\n' || (unsigned char)*p >= 32, "byte %d in the log:\n%s", *p,
			    edge_stdout());
}

/* ---- who reads the log, and who does not ----------------------------------------------------- */

/* A named pipe whose reader sleeps: it is full after 64 KiB. */
static int
sleeping_reader(char **path)
{
	*path = text("%s/log.pipe", kit_dir());
	expect_int(mkfifo(*path, 0600), 0);
	int reader = open(*path, O_RDONLY | O_NONBLOCK);
	expect(reader >= 0);
	return reader;
}

static void
ask_often(int times)
{
	struct client *c = client_open();
	char agent[7000];
	memset(agent, 'a', sizeof agent - 1);
	agent[sizeof agent - 1] = '\0';
	char *request = text("GET /a HTTP/1.1\r\nHost: t\r\nUser-Agent: %s\r\n\r\n", agent);
	for (int i = 0; i < times; i++) {
		client_send(c, request);
		expect_int(client_read(c, "GET").status, 200);
	}
}

SCENARIO("an access log that nobody reads stops no request, and no SIGTERM")
{
	char *path;
	origin_says("*", .fields = "Cache-Control: max-age=60\r\n", .body = "hello");
	int reader = sleeping_reader(&path);
	edge_start_yaml(text("access_log: %s\n", path));
	ask_often(300); /* 2 MB of lines, for a pipe of 64 KiB and a lane of 512 KiB */
	expect_int(get("/b").status, 200);
	edge_wait_stat("access_log.dropped_lines", 1);
	wait_until(edge_said("lines are dropped"));
	edge_signal(SIGHUP);
	wait_until(edge_said("the configuration is read again"));
	expect_int(get("/c").status, 200);
	edge_stop();
	close(reader);
}

static ssize_t
max_0(ssize_t n)
{
	return n > 0 ? n : 0;
}

/* Reads from the pipe until the words are there. */
static char *
read_until(int fd, const char *words)
{
	static char said[8192];
	size_t n = 0;
	wait_until((n += (size_t)max_0(read(fd, said + n, sizeof said - 1 - n)),
		    strstr(said, words) && strchr(strstr(said, words), '\n')));
	return strstr(said, words) + strlen(words);
}

SCENARIO("standard output and standard error that nobody reads stop nothing either")
{
	char *path;
	origin_says("*", .fields = "Cache-Control: max-age=60\r\n", .body = "hello");
	int reader = sleeping_reader(&path);
	int blocking = open(path, O_WRONLY), writer = open(path, O_WRONLY | O_NONBLOCK);
	char *yaml = text("%s/stuck.yaml", kit_dir());
	FILE *f = fopen(yaml, "w");
	fprintf(f,
		"listen: 127.0.0.1:0\nadmin: off\norigins: %s\ncache: { dir: none }\n"
		"workers: 2\naccess_log: '-'\n",
		origin_url());
	fclose(f);
	const char *bin = edge_binary();
	pid_t pid = kit_spawn((const char *[]){bin, "run", "-c", yaml, NULL},
			      (const int[]){-1, blocking, blocking});
	unsigned port = (unsigned)atoi(read_until(reader, "listening on 127.0.0.1:"));
	char block[4096] = {0};
	while (write(writer, block, sizeof block) > 0)
		;
	for (int i = 0; i < 100; i++) {
		struct client *c = client_open_to(port);
		client_request(c, "GET", "/x", "");
		expect_int(client_read(c, "GET").status, 200);
		client_close(c);
	}
	expect_int(kill(pid, SIGHUP), 0);
	expect_int(kill(pid, SIGTERM), 0);
	expect_int(kit_reap(pid, KIT_FOREVER), 0);
	close(reader);
}

/* ---- who asked, in which form ---------------------------------------------------------------- */

SCENARIO("the client's address comes from a trusted forwarder")
{
	edge_start_yaml("access_log: \"-\"\nforwarded: { trust: 127.0.0.0/8 }\n");
	get_with("/far", "X-Forwarded-For: 1.1.1.1, 192.0.2.7\r\n");
	get_with("/near", "");
	edge_stop();
	char *log = edge_stdout();
	expect_that(strncmp(line_with(log, "/far"), "192.0.2.7 - - [", 15) == 0, "%s", log);
	expect_that(strncmp(line_with(log, "/near"), "127.0.0.1 - - [", 15) == 0, "%s", log);
}

SCENARIO("a stranger cannot write another's address into the log")
{
	edge_start_yaml("access_log: \"-\"\nforwarded: { trust: 10.0.0.0/8 }\n");
	get_with("/far", "X-Forwarded-For: 192.0.2.7\r\nForwarded: for=192.0.2.7\r\n");
	edge_stop();
	char *log = edge_stdout();
	expect_that(strncmp(line_with(log, "/far"), "127.0.0.1 - - [", 15) == 0, "%s", log);
	expect_that(!strstr(heard_field(origin_last(), "X-Forwarded-For"), "192.0.2.7"),
		    "what a stranger said was passed on");
}

SCENARIO("JSON, one object per line")
{
	by_h1_only();
	origin_says("*", .fields = "Cache-Control: max-age=60\r\n", .body = "hello");
	edge_start_yaml("access_log: \"-\"\naccess_log_format: json\ncache: { status_key: on }\n");
	get_with("/x?y", "User-Agent: \"q\" \\ \xff\r\n");
	edge_stop();
	char *log = edge_stdout();
	expect_that(strstr(log, "\"method\":\"GET\",\"target\":\"/x?y\",\"protocol\":\"HTTP/1.1\","
				"\"status\":200,\"body_bytes\":5,"),
		    "%s", log);
	expect_that(strstr(log, "\"user_agent\":\"\\u0022q\\u0022 \\u005c \\u00ff\""), "%s", log);
	expect_that(strstr(log, "\"host\":\"example.com\""), "%s", log);
	expect_that(log[0] == '{' && strcmp(strchr(log, '}'), "}\n") == 0, "%s", log);
}

SCENARIO("a trace goes on to the origin, and is in the log")
{
	static const char id[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
	origin_says("*", .fields = "Cache-Control: max-age=60\r\n", .body = "hello");
	edge_start_yaml("access_log: \"-\"\n");
	get_with("/traced", text("traceparent: %s\r\ntracestate: a=b\r\n", id));
	expect_that(strstr(origin_last()->head, id) && strstr(origin_last()->head, "a=b"), "%s",
		    origin_last()->head);
	get("/other");
	edge_stop();
	char *line = line_with(edge_stdout(), "/traced");
	expect_that(line && strstr(line, text(" trace=\"%s\"", id)), "%s", edge_stdout());
	line = line_with(edge_stdout(), "/other");
	expect_that(line && !strstr(line, "trace="), "%s", line);
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
	wait_until(
		strstr(program("cat", log).out, "/before")); /* written a moment after the answer */
	expect_int(rename(log, moved), 0);
	edge_signal(SIGHUP);
	wait_until(access(log, F_OK) == 0);
	get("/after");
	edge_stop();
	expect(line_with(program("cat", moved).out, "/before") != NULL);
	expect(line_with(program("cat", log).out, "/after") != NULL);
	expect(line_with(program("cat", log).out, "/before") == NULL);
}

SCENARIO("SIGUSR1 reopens a log file, and reads no configuration anew")
{
	edge_start_yaml("access_log: %D/access.log\n");
	char *log = text("%s/access.log", kit_dir()), *moved = text("%s/access.log.1", kit_dir());
	get("/before");
	wait_until(strstr(program("cat", log).out, "/before"));
	expect_int(rename(log, moved), 0);
	edge_rewrite(
		"access_log: %D/access.log\nno_such_setting: on\n"); /* a reload would say so */
	edge_signal(SIGUSR1);
	wait_until(access(log, F_OK) == 0);
	get("/after");
	wait_until(strstr(program("cat", log).out, "/after"));
	expect(line_with(program("cat", moved).out, "/before") != NULL);
	expect(line_with(program("cat", log).out, "/before") == NULL);
	expect(!edge_said("no_such_setting"));
	edge_stop();
}

SCENARIO("a signal that is harmless elsewhere ends nothing and stops nothing")
{
	static const int harmless[] = {SIGUSR1, SIGPIPE, SIGALRM,  SIGVTALRM, SIGPROF,
				       SIGIO,	SIGPWR,	 SIGWINCH, SIGTTIN,   SIGTTOU,
				       SIGXFSZ, SIGURG,	 SIGCHLD,  SIGCONT};
	origin_says("*", .body = "hello");
	edge_start();
	for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
		edge_signal(harmless[i]);
		expect_int(get("/x").status, 200);
	}
	for (int sig = SIGRTMIN; sig <= SIGRTMAX; sig++)
		edge_signal(sig);
	expect_int(get("/x").status, 200);
	edge_stop();
}

SCENARIO("SIGQUIT finishes open requests, as SIGTERM does")
{
	struct barrier *go = barrier_new();
	origin_says("/x", .body = "hello", .hold_head = go);
	edge_start();
	struct call *call = call_get("/x");
	origin_wait_requests(1);
	edge_signal(SIGQUIT);
	wait_until(edge_said("finishing open requests"));
	barrier_open(go);
	call_expect(call, 200, "hello");
	expect_int(edge_wait_exit(), 0);
}

/* The report again and again, until the proxy is gone; then why. */
SCENARIO("twice stats --watch repeats the report")
{
	origin_says("*", .fields = "Cache-Control: max-age=60\r\n", .body = "hello");
	/* It asks at that port when the proxy has ended. */
	edge_start("--admin", text("127.0.0.1:%u", edge_reserve_port()));
	get("/x");
	FILE *f = popen(text("exec %s stats --watch --admin 127.0.0.1:%u 2>&1", edge_binary(),
			     edge_admin_port()),
			"r");
	char line[512];
	int reports = 0;
	while (reports < 2 && fgets(line, sizeof line, f))
		reports += strstr(line, "twice wrote") != NULL;
	expect_int(reports, 2);
	edge_stop();
	bool said = false;
	while (fgets(line, sizeof line, f))
		said = said || strstr(line, "twice stats: ");
	expect_that(said, "it says why it ends");
	expect_int(WEXITSTATUS(pclose(f)), 1);
}

SCENARIO("twice stats says what /stats says")
{
	origin_says("/x", .body = "hello");
	edge_start();
	get("/x");
	const char *bin = edge_binary();
	struct output o =
		program(bin, "stats", "--json", "--admin", text("127.0.0.1:%u", edge_admin_port()));
	expect_that(o.status == 0 && strstr(o.out, "\"requests\""), "exit %d: %s%s", o.status,
		    o.out, o.err);
	o = program(bin, "stats", "--admin", text("127.0.0.1:%u", edge_admin_port()));
	expect_that(o.status == 0 && o.out_bytes > 100, "exit %d: %s%s", o.status, o.out, o.err);
	o = program(bin, "stats", "--admin", "127.0.0.1:1");
	expect_that(o.status == 1 && strstr(o.err, "127.0.0.1:1"), "exit %d: %s", o.status, o.err);
}
