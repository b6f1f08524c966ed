/* The admin server where others can reach it. */
#include "tests/kit/kit.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static int
admin(const char *method, const char *path, const char *host, const char *fields)
{
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, text("%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\n%s\r\n", method,
			    path, host, fields));
	struct answer a = client_try(c, method);
	client_close(c);
	return a.status;
}

#define PURGE "/purge?url=http://example.com/x"

#define BEARER "Authorization: Bearer s3cret\r\n"

SCENARIO("on a public address only /healthz is answered without a token")
{
	edge_start("--admin", "0.0.0.0:0");
	expect_int(admin("GET", "/healthz", "127.0.0.1", ""), 200);
	expect_int(admin("GET", "/stats", "127.0.0.1", ""), 403);
	expect_int(admin("GET", "/metrics", "127.0.0.1", ""), 403);
	expect_int(admin("GET", "/", "127.0.0.1", BEARER), 403);
	expect_int(admin("POST", PURGE, "127.0.0.1", ""), 403);
	expect_that(edge_said("others can reach 0.0.0.0:0, so nothing but /healthz"), "no warning");
}

SCENARIO(
	"on a public address nothing is told or purged without the token, and names must be listed")
{
	edge_yaml("admin_hosts: [ twice.ops.example ]\nadmin_token: s3cret\n");
	edge_start("--admin", "0.0.0.0:0");
	expect_int(admin("GET", "/stats", "127.0.0.1", BEARER), 200);
	expect_int(admin("GET", "/stats", "twice.ops.example", BEARER), 200);
	expect_int(admin("GET", "/stats", "evil.example", BEARER), 403);
	expect_int(admin("GET", "/healthz", "evil.example", ""), 200); /* for load balancers */
	expect_int(admin("POST", PURGE, "127.0.0.1", ""), 403);
	expect_int(admin("POST", PURGE, "127.0.0.1", "Authorization: Bearer x\r\n"), 403);
}

SCENARIO("with admin_token whoever changes something says it")
{
	by_http_only();
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .body = "x");
	edge_yaml("admin_token: s3cret\n");
	edge_start("--admin", "0.0.0.0:0");
	get("/x");
	expect_int(admin("POST", PURGE, "127.0.0.1", "Authorization: Bearer wrong\r\n"), 403);
	expect_hit(get("/x"));
	expect_int(admin("POST", PURGE, "127.0.0.1", "Authorization: Bearer s3cret\r\n"), 200);
	expect_miss(get("/x"));

	char *at = text("127.0.0.1:%u", edge_admin_port());
	expect(program(edge_binary(), "purge", "http://example.com/x", "--admin", at).status != 0);
	setenv("TWICE_ADMIN_TOKEN", "s3cret", 1);
	struct output o = program(edge_binary(), "purge", "http://example.com/x", "--admin", at);
	expect_that(o.status == 0, "%s%s", o.out, o.err);
}

SCENARIO("a Unix socket is guarded by its file: every command speaks it, and it goes at the end")
{
	by_http_only();
	struct stat st;
	char *path = text("%s/admin.sock", kit_dir()), *at = text("unix:%s", path);
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .body = "x");
	edge_yaml(text("admin_socket: %s\nadmin_token: s3cret\nsocket_mode: 600\n", path));
	edge_start();
	get("/x");
	expect_hit(get("/x"));
	expect(lstat(path, &st) == 0 && S_ISSOCK(st.st_mode));
	expect_int((int)(st.st_mode & 0777), 0600);
	struct output o = program(edge_binary(), "stats", "--json", "--admin", at);
	expect_that(o.status == 0 && strstr(o.out, "\"uptime_s\""), "%s%s", o.out, o.err);
	o = program(edge_binary(), "top", "--json", "--admin", at);
	expect_that(o.status == 0, "%s%s", o.out, o.err);
	o = program(edge_binary(), "explain", "http://example.com/x", "--admin", at);
	expect_that(o.status == 0, "%s%s", o.out, o.err);
	o = program(edge_binary(), "purge", "http://example.com/x", "--admin", at);
	expect_that(o.status == 0, "%s%s", o.out, o.err);
	expect_miss(get("/x"));
	expect_int(admin("POST", PURGE, "127.0.0.1", ""), 403); /* by TCP the token counts */
	edge_stop();
	expect(lstat(path, &st) < 0);
	o = program(edge_binary(), "stats", "--admin", at);
	expect_that(o.status == 1 && strstr(o.err, "--admin unix:PATH"), "%s", o.err);
}

SCENARIO("the socket's file is replaced after kill -9, and is no way in for pages of strangers")
{
	char *path = text("%s/admin.sock", kit_dir());
	edge_yaml(text("admin_socket: %s\n", path));
	edge_start();
	edge_kill9();
	edge_restart();
	struct client *c = client_open_path(path);
	client_send(c, "POST /purge?all=1 HTTP/1.1\r\nHost: localhost\r\n"
		       "Origin: http://evil.example\r\nContent-Length: 0\r\n\r\n");
	expect_int(client_try(c, "POST").status, 403);
	client_close(c);
}

static void
write_file(const char *name, const char *what)
{
	FILE *f = fopen(text("%s/%s", kit_dir(), name), "w");
	fputs(what, f);
	fclose(f);
}

SCENARIO("the token may be in a file, and a file without one is refused")
{
	char *says = NULL, *yaml = text("admin_token_file: %s/token\n", kit_dir());
	edge_yaml(yaml);
	expect_int(edge_refuses(&says, "--admin", "0.0.0.0:0"), 2);
	expect_that(strstr(says, "cannot read") && strstr(says, "openssl rand"), "%s", says);
	static const char *const wrong[] = {"", "\n", "two words\n", "s3cret\nmore\n"};
	for (int i = 0; i < 4; i++) {
		write_file("token", wrong[i]);
		expect_int(edge_refuses(&says, "--admin", "0.0.0.0:0"), 2);
		expect_that(strstr(says, "holds no token"), "%d: %s", i, says);
	}
	write_file("token", "s3cret\n");
	edge_yaml(text("%sadmin_token: other\n", yaml));
	expect_int(edge_refuses(&says, "--admin", "0.0.0.0:0"), 2);
	expect_that(strstr(says, "leave one of both"), "%s", says);
	edge_yaml(yaml);
	edge_start("--admin", "0.0.0.0:0");
	expect_int(admin("GET", "/stats", "127.0.0.1", ""), 403);
	expect_int(admin("GET", "/stats", "127.0.0.1", BEARER), 200);
	expect_int(admin("POST", PURGE, "127.0.0.1", BEARER), 200);
}
