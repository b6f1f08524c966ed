/* Clients come in by Unix sockets and by IPv6, besides IPv4. */
#include "tests/kit/kit.h"
#include "tests/kit/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define NOT_STORED "Cache-Control: no-store\r\n"

static char *
path_of(const char *name)
{
	return text("%s/%s", kit_dir(), name);
}

static void
start_with(const char *more)
{
	edge_yaml(text("listen: [ \"127.0.0.1:0\", \"unix:%s\" ]\n%s", path_of("t.sock"), more));
	edge_start();
}

static struct answer
ask_path(const char *fields)
{
	struct client *c = client_open_path(path_of("t.sock"));
	client_request(c, "GET", "/x", fields);
	struct answer a = client_read(c, "GET");
	client_close(c);
	return a;
}

static bool
is_there(const char *name)
{
	struct stat st;
	return lstat(path_of(name), &st) == 0;
}

/* ---- Unix sockets -------------------------------------------------------------------------- */

SCENARIO("a Unix socket serves what TCP serves, and the file goes at the end")
{
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .body = "hello");
	start_with("access_log: \"-\"\n");
	expect_answer(ask_path(NULL), 200, "hello");
	expect_text(heard_field(origin_request(0), "X-Forwarded-For"), "unknown");
	const char *f = heard_field(origin_request(0), "Forwarded");
	expect_that(strncmp(f, "for=unknown;", 12) == 0, "Forwarded: %s", f);
	struct answer again = ask_path(NULL);
	expect_answer(again, 200, "hello");
	expect_hit(again);
	edge_stop();
	expect_that(strstr(edge_stdout(), "unix - - ["), "log: %s", edge_stdout());
	expect(!is_there("t.sock"));
	edge_restart();
	expect_answer(ask_path(NULL), 200, "hello");
}

SCENARIO("who comes by a Unix socket is a forwarder where forwarded.trust says unix")
{
	const char *claims = "X-Forwarded-For: 10.0.0.1\r\nX-Forwarded-Proto: https\r\n";
	origin_says("/x", .fields = NOT_STORED, .body = "hello");
	start_with("");
	ask_path(claims);
	expect_text(heard_field(origin_last(), "X-Forwarded-For"), "unknown");
	expect_text(heard_field(origin_last(), "X-Forwarded-Proto"), "http");
	edge_stop();
	start_with("forwarded:\n  trust: [ unix ]\naccess_log: \"-\"\n");
	ask_path(claims);
	expect_text(heard_field(origin_last(), "X-Forwarded-For"), "10.0.0.1, unknown");
	expect_text(heard_field(origin_last(), "X-Forwarded-Proto"), "https");
	get_with("/x", claims);
	expect_text(heard_field(origin_last(), "X-Forwarded-For"), "127.0.0.1");
	edge_stop();
	expect_that(strstr(edge_stdout(), "10.0.0.1 - - ["), "log: %s", edge_stdout());
}

SCENARIO("a head of the PROXY protocol names the client behind a Unix socket")
{
	origin_says("/x", .fields = NOT_STORED, .body = "hello");
	edge_yaml(text("listen: [ \"127.0.0.1:0\", \"proxy+http://unix:%s\" ]\n"
		       "forwarded:\n  trust: [ unix ]\n",
		       path_of("t.sock")));
	edge_start();
	struct client *c = client_open_path(path_of("t.sock"));
	client_send(c, "PROXY TCP4 192.0.2.1 192.0.2.9 1 2\r\n");
	client_request(c, "GET", "/x", NULL);
	expect_answer(client_read(c, "GET"), 200, "hello");
	expect_text(heard_field(origin_last(), "X-Forwarded-For"), "192.0.2.1");
}

SCENARIO("a large answer by a Unix socket is whole, and one request follows another")
{
	enum { BYTES = 3 << 20 };
	origin_says("/big", .fields = "Cache-Control: max-age=600\r\n", .pattern_bytes = BYTES,
		    .seed = 7);
	start_with("");
	struct client *c = client_open_path(path_of("t.sock"));
	for (int i = 0; i < 3; i++) { /* from the origin, from RAM or disk, and once more */
		client_request(c, "GET", "/big", NULL);
		struct answer a = client_read(c, "GET");
		expect_int(a.status, 200);
		expect(a.body_bytes == BYTES && is_pattern(a.body, 7, 0, BYTES));
	}
}

SCENARIO(
	"a file that kill -9 left is replaced; one where somebody answers is not, nor any other file")
{
	origin_says("/x", .fields = NOT_STORED, .body = "hello");
	start_with("");
	edge_kill9();
	expect(is_there("t.sock"));
	edge_restart();
	expect_answer(ask_path(NULL), 200, "hello");
	char *says;
	edge_yaml(text("listen: [ \"unix:%s\" ]\ncache:\n  dir: none\n", path_of("t.sock")));
	expect_int(edge_refuses(&says), 1);
	expect_that(strstr(says, "another program listens there"), "%s", says);
	expect_answer(ask_path(NULL), 200, "hello");
	close(open(path_of("file"), O_CREAT | O_WRONLY, 0600));
	edge_yaml(text("listen: [ \"unix:%s\" ]\ncache:\n  dir: none\n", path_of("file")));
	expect(edge_refuses(&says) != 0);
	expect_that(strstr(says, "File exists"), "%s", says);
	expect(is_there("file"));
}

SCENARIO("a file that another program put in its place is left alone")
{
	start_with("");
	expect_int(unlink(path_of("t.sock")), 0);
	close(open(path_of("t.sock"), O_CREAT | O_WRONLY, 0600));
	edge_stop();
	expect(is_there("t.sock"));
}

SCENARIO("socket_mode says who may connect")
{
	struct stat st;
	start_with("");
	expect_int(stat(path_of("t.sock"), &st), 0);
	expect_int(st.st_mode & 0777, 0660);
	edge_stop();
	start_with("socket_mode: 666\n");
	expect_int(stat(path_of("t.sock"), &st), 0);
	expect_int(st.st_mode & 0777, 0666);
}

SCENARIO("TLS and HTTP/2 are spoken by a Unix socket too, and draining ends it")
{
	needs("curl");
	origin_says("/x", .fields = NOT_STORED, .body = "hello");
	cert_write(path_of("a.pem"), .names = "a.example");
	edge_yaml(text("listen: [ \"127.0.0.1:0\", \"https://unix:%s\" ]\n"
		       "tls:\n  certificates: [ %s ]\n",
		       path_of("t.sock"), path_of("a.pem")));
	edge_start();
	struct output o =
		program("curl", "-sS", "--fail", "--cacert", path_of("a.pem"), "--unix-socket",
			path_of("t.sock"), "-w", " %{http_version}", "https://a.example/x");
	expect_text(o.out, "hello 2");
}

SCENARIO("limits.per_address is not for Unix sockets: all who may open the file are as one")
{
	origin_says("/x", .fields = NOT_STORED, .body = "hello");
	start_with("limits:\n  per_address: 1\n");
	struct client *c[3];
	for (int i = 0; i < 3; i++) {
		c[i] = client_open_path(path_of("t.sock"));
		client_request(c[i], "GET", "/x", NULL);
		expect_answer(client_read(c[i], "GET"), 200, "hello");
	}
}

/* ---- IPv6 ---------------------------------------------------------------------------------- */

static struct client *
open_six(unsigned port)
{
	struct sockaddr_in6 to = {.sin6_family = AF_INET6,
				  .sin6_port = htons((uint16_t)port),
				  .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	return client_open_address((const struct sockaddr *)&to, sizeof to);
}

static void
needs_six(void)
{
	struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	bool can = fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0;
	if (fd >= 0)
		close(fd);
	if (!can)
		skip("this machine has no ::1");
}

static struct answer
ask_six(const char *host, const char *fields)
{
	struct client *c = open_six(edge_port());
	client_send(c, text("GET /x HTTP/1.1\r\nHost: %s\r\n%s\r\n", host, fields));
	struct answer a = client_read(c, "GET");
	client_close(c);
	return a;
}

SCENARIO("by IPv6 the address is in logs and fields, and a literal in Host is part of the key")
{
	needs_six();
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .body = "hello");
	edge_yaml("listen: [ \"[::1]:0\" ]\naccess_log: \"-\"\n");
	edge_start();
	expect_answer(ask_six("[::1]:8080", ""), 200, "hello");
	expect_text(heard_field(origin_request(0), "X-Forwarded-For"), "::1");
	expect_text(heard_field(origin_request(0), "Host"), "[::1]:8080");
	const char *f = heard_field(origin_request(0), "Forwarded");
	expect_that(strstr(f, "for=\"[::1]\"") && strstr(f, "host=\"[::1]:8080\""), "Forwarded: %s",
		    f);
	expect_hit(ask_six("[::1]:8080", ""));
	expect_miss(ask_six("[::1]:8081", ""));
	expect_miss(ask_six("[::2]:8080", ""));
	origin_expect_requests(3);
	expect_status(ask_six("[::1", ""), 400);
	expect_status(ask_six("::1", ""), 400);
	edge_stop();
	expect_that(strstr(edge_stdout(), "::1 - - ["), "log: %s", edge_stdout());
}

SCENARIO("a forwarder with an address of IPv6 is trusted by its network, and others are not")
{
	needs_six();
	origin_says("/x", .fields = NOT_STORED, .body = "hello");
	edge_yaml("listen: [ \"[::1]:0\" ]\nforwarded:\n  trust: [ \"::1\" ]\n");
	edge_start();
	ask_six("a", "X-Forwarded-For: 2001:db8::7\r\n");
	expect_text(heard_field(origin_last(), "X-Forwarded-For"), "2001:db8::7, ::1");
	edge_stop();
	edge_yaml("listen: [ \"[::1]:0\" ]\nforwarded:\n  trust: [ \"2001:db8::/32\" ]\n");
	edge_start();
	ask_six("a", "X-Forwarded-For: 2001:db8::7\r\n");
	expect_text(heard_field(origin_last(), "X-Forwarded-For"), "::1");
}

SCENARIO(
	"limits.per_address counts an IPv6 client by its /64, and an IPv4 one at [::] by its address")
{
	needs_six();
	origin_says("/x", .fields = NOT_STORED, .body = "hello");
	edge_yaml("listen: [ \"[::]:0\" ]\nlimits:\n  per_address: 1\n");
	edge_start();
	struct client *six = open_six(edge_port());
	client_request(six, "GET", "/x", NULL);
	expect_answer(client_read(six, "GET"), 200, "hello");
	struct client *more = open_six(edge_port());
	expect_status(client_read(more, "GET"), 503);
	struct client *four = client_open();
	client_request(four, "GET", "/x", NULL);
	expect_answer(client_read(four, "GET"), 200, "hello");
	expect_text(heard_field(origin_last(), "X-Forwarded-For"), "127.0.0.1");
	struct client *another = client_open();
	expect_status(client_read(another, "GET"), 503);
	client_from("127.0.0.2");
	struct client *other = client_open();
	client_request(other, "GET", "/x", NULL);
	expect_answer(client_read(other, "GET"), 200, "hello");
}
