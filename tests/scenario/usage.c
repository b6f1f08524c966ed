/* The command line: what is wrong use of it, and where the running proxy is found. */
#include "tests/kit/kit.h"

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* In a network of its own every port is free. */
static void
alone_in_its_network(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		skip("no network of its own: that takes root, or user namespaces");
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	expect(fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &lo) == 0);
	close(fd);
}

#define ADMIN_AT(port) "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:" port

SCENARIO("commands ask 127.0.0.1:9180, and 9090 where nobody listens there")
{
	static const char *const commands[][2] = {{"stats", "--json"},
						  {"top", "--json"},
						  {"explain", "http://a/"},
						  {"purge", "--all"}};
	alone_in_its_network();
	edge_start(ADMIN_AT("9090"));
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		struct output o = program(edge_binary(), commands[i][0], commands[i][1]);
		expect_that(o.status == 0, "%s: %s", commands[i][0], o.err);
	}
	expect_int(program(edge_binary(), "stats", "--admin", "127.0.0.1:9180").status, 1);
	edge_stop();
	edge_start(ADMIN_AT("9180"));
	expect_int(program(edge_binary(), "stats").status, 0);
	expect(!edge_said("builds before 0.3.0"));
}

SCENARIO("a program at 9090 that is not twice is told no token")
{
	alone_in_its_network();
	setenv("TWICE_ADMIN_TOKEN", "0123456789abcdef", 1);
	edge_start("--listen", "127.0.0.1:9090", "--admin", "127.0.0.1:0");
	struct output o = program(edge_binary(), "purge", "--all");
	expect_int(o.status, 1);
	expect_that(strstr(o.err, "no answer from 127.0.0.1:9180"), "%s", o.err);
	expect_int(origin_requests_for("/healthz"), 1);
	expect_int(origin_requests(), 1);
	expect(!heard_field(origin_request(0), "Authorization"));
}

SCENARIO("a start that leaves admin out says where it is now, and where it was")
{
	alone_in_its_network();
	struct output o = program(
		"sh", "-c",
		text("%s run --origin %s --cache none --listen 127.0.0.1:0 2>%s/said & "
		     "until grep -q 'listening on' %s/said; do sleep 0.02; done; kill $! && wait $!; "
		     "cat %s/said >&2",
		     edge_binary(), origin_url(), kit_dir(), kit_dir(), kit_dir()));
	expect_that(strstr(o.err, "twice: admin on 127.0.0.1:9180\n"), "%s", o.err);
	expect_that(strstr(o.err, "builds before 0.3.0 had admin on 127.0.0.1:9090"), "%s", o.err);
}

SCENARIO("an address of admin may be written as a browser shows it")
{
	edge_start();
	static const char *const around[][2] = {{"http://", ""}, {"http://", "/"}, {"", ""}};
	for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
		const char *at =
			text("%s127.0.0.1:%u%s", around[i][0], edge_admin_port(), around[i][1]);
		struct output o = program(edge_binary(), "stats", "--admin", at);
		expect_that(o.status == 0, "%s: %s", at, o.err);
	}
}

SCENARIO("every wrong use of a command is 2, and one sentence")
{
	static const char *const rows[] = {"stats x",
					   "stats --nope",
					   "stats --json=1",
					   "stats --admin",
					   "stats --admin https://a",
					   "stats --admin a,b://c",
					   "top x",
					   "reload x",
					   "upgrade x",
					   "upgrade --admin https://a",
					   "explain",
					   "explain a b",
					   "purge",
					   "purge --all http://a/",
					   "purge --nope",
					   "inspect",
					   "inspect a b",
					   "size",
					   "size --urls zz",
					   "size --urls 1 --fpr 7",
					   "size x",
					   "demo x",
					   "demo --requests 0",
					   "demo --sightings 99",
					   "demo --workers zz",
					   "run x",
					   "run --listen zz",
					   "run --host a",
					   "check x",
					   "check -c /nonexistent",
					   "route",
					   "route http://a/",
					   "route a -c /nonexistent",
					   "simulate",
					   "simulate --policies zz %L",
					   "simulate --curves 2+x=1 %L",
					   "simulate --eviction zz %L",
					   "simulate --format zz %L",
					   "simulate --field zz=a %L",
					   "simulate --field host=nosuch %L",
					   "simulate --tbw zz %L",
					   "simulate --disk zz %L",
					   "help zz",
					   "--version x",
					   "zz",
					   "manual",
					   "manual zz",
					   "help run zz",
					   "inspect %0",
					   "simulate %0",
					   "stats --admin %0",
					   "stats --admin=",
					   "explain http://a/ --from --json",
					   "explain http://a/ -H nocolon",
					   "run --origin --host x",
					   "run --origin %0",
					   "route http://a/ -c %L -H nocolon"};
	FILE *f = fopen(text("%s/log", kit_dir()), "w");
	fputs("{\"time\":\"2026-11-20T15:04:05Z\",\"method\":\"GET\",\"host\":\"a\",\"target\":\"/a\","
	      "\"status\":200,\"body_bytes\":100}\n",
	      f);
	fclose(f);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *argv[16] = {edge_binary()};
		char *save, *word = strtok_r(strdup(rows[i]), " ", &save);
		for (int n = 1; word; word = strtok_r(NULL, " ", &save))
			argv[n++] = strcmp(word, "%L") == 0   ? text("%s/log", kit_dir())
				    : strcmp(word, "%0") == 0 ? ""
							      : word;
		struct output o = run_program(argv);
		expect_that(o.status == 2, "twice %s: %d, %s", rows[i], o.status, o.err);
		expect_that(strncmp(o.err, "twice", 5) == 0 && strlen(o.err) > 20,
			    "twice %s: \"%s\"", rows[i], o.err);
	}
}

SCENARIO("a question that the proxy finds malformed is wrong use too, and its own words are shown")
{
	edge_start();
	const char *at = text("127.0.0.1:%u", edge_admin_port());
	struct output o = program(edge_binary(), "explain", "nonsense", "--admin", at);
	expect_int(o.status, 2);
	expect_text(o.err, "twice explain: a URL begins with http:// or https:// and a host\n");
	expect_int(
		program(edge_binary(), "explain", "http://a/", "--from", "z", "--admin", at).status,
		2);
	expect_int(program(edge_binary(), "purge", "nonsense", "--admin", at).status, 2);
	expect_int(program(edge_binary(), "purge", "--host", "a b", "--admin", at).status, 2);
}

SCENARIO("--field that names a key of the log is none of that")
{
	FILE *f = fopen(text("%s/log", kit_dir()), "w");
	for (int i = 0; i < 50; i++)
		fprintf(f,
			"{\"time\":\"2026-11-20T15:04:%02dZ\",\"method\":\"GET\",\"vh\":\"a\","
			"\"target\":\"/%d\",\"status\":200,\"body_bytes\":100}\n",
			i, i % 7);
	fclose(f);
	struct output o =
		program(edge_binary(), "simulate", "--field", "host=vh", text("%s/log", kit_dir()));
	expect_that(o.status == 0, "%s", o.err);
}
