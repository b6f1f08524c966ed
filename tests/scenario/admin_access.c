/* The admin server where others can reach it. */
#include "tests/kit/kit.h"

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

SCENARIO("on a public address nothing is purged without a token, and names must be listed")
{
	edge_yaml("admin_hosts: [ twice.ops.example ]\n");
	edge_start("--admin", "0.0.0.0:0");
	expect_int(admin("GET", "/stats", "127.0.0.1", ""), 200);
	expect_int(admin("GET", "/stats", "twice.ops.example", ""), 200);
	expect_int(admin("GET", "/stats", "evil.example", ""), 403);
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
	const char *twice = getenv("TWICE") ? getenv("TWICE") : "build/twice";
	expect(program(twice, "purge", "http://example.com/x", "--admin", at).status != 0);
	setenv("TWICE_ADMIN_TOKEN", "s3cret", 1);
	struct output o = program(twice, "purge", "http://example.com/x", "--admin", at);
	expect_that(o.status == 0, "%s%s", o.out, o.err);
}
