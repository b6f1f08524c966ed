/* `twice check` finds what `twice run` would refuse or half do,
 * each with its place and a way out. */
#include "tests/kit/kit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <linux/capability.h>
#include <sys/prctl.h>
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
	{ "a log below what is no folder",
	  ELSE "access_log: %D/t.yaml/access.log\n",
	  "t.yaml:5: access_log", "Not a directory", "make a directory of" },
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

SCENARIO("mistakes of several settings and several lines are told together")
{
	struct output o = checked("cache: { dir: none, mem: 1GiB }\nlisten:\nadmin: off\n"
				  "routes: [ { path: x }, { host: .y } ]\naccess_log: on\n");
	expect_int(o.status, 2);
	static const char *const lines[] = {"t.yaml:1: there is no setting", "t.yaml:2: listen",
					    "t.yaml:4: routes.path", "t.yaml:4: routes.host",
					    "t.yaml:5: access_log"};
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
		expect_that(strstr(o.err, lines[i]), "no %s in %s", lines[i], o.err);
}

SCENARIO("what a lifetime instead of the origin's may break is said, and is no mistake")
{
	struct output o = checked(ELSE "routes:\n  - path: /a\n"
				       "    cache: { ttl: 1h, ignore: [ private, vary ] }\n");
	expect_int(o.status, 0);
	expect_that(strstr(o.err, "t.yaml:7: routes.cache.ignore: private: an answer") &&
			    strstr(o.err, "t.yaml:7: routes.cache.ignore: vary: all get"),
		    "%s", o.err);
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

/* A port of somebody else, who listens there. */
static unsigned
taken_port(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	socklen_t n = sizeof a;
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_STREAM, 0); /* closed with the scenario */
	expect_int(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	expect_int(listen(fd, 1), 0);
	expect_int(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	return ntohs(a.sin_port);
}

SCENARIO("a port that another program has is named, for clients and for admin")
{
	unsigned port = taken_port();
	struct output o = checked(text("cache: { dir: none }\nlisten: '127.0.0.1:%u'\nadmin: off\n"
				       "origins: http://127.0.0.1:9\n",
				       port));
	expect_int(o.status, 2);
	expect_that(strstr(o.err, "t.yaml:2: listen: another program listens on"), "%s", o.err);
	o = checked(text("cache: { dir: none }\nlisten: '127.0.0.1:0'\nadmin: '127.0.0.1:%u'\n"
			 "origins: http://127.0.0.1:9\n",
			 port));
	expect_int(o.status, 2);
	expect_that(strstr(o.err, "t.yaml:3: admin: another program listens on"), "%s", o.err);
}

SCENARIO("a key that no certificate belongs to is named, and a certificate without its key")
{
	needs("openssl");
	for (int i = 0; i < 2; i++)
		expect_int(program("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
				   "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
				   text("%s/%d.key", kit_dir(), i), "-out",
				   text("%s/%d.crt.pem", kit_dir(), i), "-subj", "/CN=a.example")
				   .status,
			   0);
#define TLS                                                                 \
	"cache: { dir: none }\nlisten: 'https://127.0.0.1:0'\nadmin: off\n" \
	"origins: http://127.0.0.1:9\ntls: { certificates: "
	struct output o = checked(TLS "[ { cert: %D/0.crt.pem, key: %D/0.key } ] }\n");
	expect_that(o.status == 0, "%s", o.err);
	o = checked(TLS "[ %D/0.crt.pem, %D/0.key, %D/1.key ] }\n");
	expect_int(o.status, 2);
	expect_that(
		strstr(o.err, "t.yaml:5: tls.certificates: no certificate belongs to the key in"),
		"%s", o.err);
	o = checked(TLS "[ %D/0.crt.pem ] }\n");
	expect_int(o.status, 2);
	expect_that(
		strstr(o.err, "t.yaml:5: tls.certificates: there is no key for the certificate"),
		"%s", o.err);
	o = checked(TLS "[ %D/1.key ] }\n");
	expect_int(o.status, 2);
	expect_that(strstr(o.err, "t.yaml:5: tls.certificates: there is no certificate in"), "%s",
		    o.err);
}

SCENARIO("check says that so many connections cannot be kept with so few files")
{
	FILE *f = fopen(text("%s/t.yaml", kit_dir()), "w");
	fputs("cache: { dir: none }\nlisten: '127.0.0.1:0'\nadmin: off\norigins: http://127.0.0.1:9\n"
	      "limits: { connections: 900 }\n",
	      f);
	fclose(f);
	/* Root may raise the hard limit again, which the program would do too. */
	prctl(PR_CAPBSET_DROP, CAP_SYS_RESOURCE, 0, 0, 0);
	for (int few = 0; few < 2; few++) {
		struct output o = program("sh", "-c",
					  text("ulimit -n %d; exec %s check -c %s/t.yaml",
					       few ? 800 : 900, edge_binary(), kit_dir()));
		expect_int(o.status, few ? 2 : 0);
		expect_that(
			!few == !strstr(o.err,
					"t.yaml:5: limits.connections: 900 connections cannot be "
					"kept where 800 files may be open"),
			"%s", o.err);
	}
}

SCENARIO("run refuses what it cannot do, with the same line")
{
	char *says;
	edge_yaml("listen: '192.0.2.222:8080'\n");
	expect_int(edge_refuses(&says), 2);
	expect_that(strstr(says, "twice.yaml:1: listen: cannot listen"), "%s", says);
}
