/* The files of config/examples are what a stranger begins with: check finds nothing in them, and they
 * serve. Only addresses, paths and sizes are this test's (tests/kit/example.h). */
#include "tests/kit/example.h"
#include "tests/kit/kit.h"
#include "tests/kit/tls.h"

#include <dirent.h>
#include <unistd.h>
#include <sys/stat.h>

#define CACHEABLE "Cache-Control: max-age=600\r\n"

/* Checks the example, where nothing must be found, and starts it. */
static void
start_example(const char *name)
{
	by_http_only();
	example_places();
	edge_yaml(example_settings(example_read(text("config/examples/%s.yaml", name))));
	edge_start();
	const char *twice = edge_binary();
	struct output o = program(twice, "check", "-c", text("%s/twice.yaml", kit_dir()));
	expect_that(o.status == 0, "check finds: %s", o.err);
}

static void
expect_cached(const char *path, const char *fields)
{
	get_with(path, fields);
	expect_hit(get_with(path, fields));
}

SCENARIO("one-origin.yaml serves, with a log and a Unix socket for admin")
{
	origin_says("/x", .body = "hello"); /* without a lifetime: default_ttl */
	start_example("one-origin");
	expect_cached("/x", NULL);
	expect_text(heard_field(origin_request(0), "Host"), "origin.example.com");
	const char *twice = edge_binary();
	struct output o = program(twice, "stats", "--admin", text("unix:%s/admin.sock", kit_dir()));
	expect_that(o.status == 0, "%s", o.err);
	edge_stop();
	struct stat st;
	expect(stat(text("%s/var/log/twice/access.log", kit_dir()), &st) == 0 && st.st_size > 0);
}

/* The port of the listener with TLS. */
static unsigned
tls_port(void)
{
	const char *p = strstr(edge_stderr(), "https://127.0.0.1:");
	expect_that(p != NULL, "no listener with TLS");
	return (unsigned)atoi(p + strlen("https://127.0.0.1:"));
}

static struct answer
ask_tls(const char *host, const char *target, const char *fields)
{
	struct client *c = client_open_tls(.port = tls_port(), .name = host);
	client_send(c, text("GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", target, host, fields));
	struct answer a = client_read(c, "GET");
	client_close(c);
	return a;
}

SCENARIO("many-hosts.yaml sends http to https, and each host to its origins by its rules")
{
	origin_says("/a?x=1", .fields = CACHEABLE, .body = "shop");
	origin_says("/api/v1", .fields = CACHEABLE, .body = "api");
	origin_says("/b?a=1&b=2", .fields = CACHEABLE, .body = "blog");
	start_example("many-hosts");
	expect_int(get_with("/a", "Host: shop.example.com\r\n").status / 100, 3);
	FILE *f = fopen(text("%s/var/lib/twice/acme/.well-known/acme-challenge/t", kit_dir()), "w");
	fputs("proof", f);
	fclose(f);
	expect_answer(get("/.well-known/acme-challenge/t"), 200, "proof");

	expect_answer(ask_tls("shop.example.com", "/a?x=1&utm_source=mail", ""), 200, "shop");
	expect_hit(ask_tls("shop.example.com", "/a?x=1&utm_source=feed", ""));
	expect_miss(ask_tls("shop.example.com", "/a?x=1", "Cookie: session=1\r\n"));
	expect_text(heard_field(origin_last(), "Host"), "shop.example.com");
	expect_answer(ask_tls("shop.example.com", "/api/v1", ""), 200, "api");
	expect_text(heard_field(origin_last(), "Host"), "api.internal");
	expect_miss(ask_tls("shop.example.com", "/api/v1", ""));
	expect_answer(ask_tls("x.blog.example.com", "/b?b=2&a=1", ""), 200, "blog");
	expect_hit(ask_tls("x.blog.example.com", "/b?a=1&b=2", ""));
	expect_int(ask_tls("shop.example.com", "/.well-known/x", "").status, 404);
}

SCENARIO("behind-haproxy.yaml believes HAProxy who the client is, and tells it that it is well")
{
	origin_says("/x", .fields = "Cache-Control: no-store\r\n", .body = "hello");
	start_example("behind-haproxy");
	struct client *c = client_open();
	client_send(c, "PROXY TCP4 192.0.2.1 192.0.2.9 56324 80\r\n");
	client_request(c, "GET", "/x", NULL);
	expect_answer(client_read(c, "GET"), 200, "hello");
	expect_text(heard_field(origin_last(), "X-Forwarded-For"), "192.0.2.1");
	client_close(c);
	static const char line[] = "PROXY TCP4 192.0.2.2 192.0.2.9 56324 443\r\n";
	c = client_open_tls(.port = tls_port(), .name = "shop.example.com", .before = line,
			    .before_bytes = sizeof line - 1);
	client_send(c, "GET /x HTTP/1.1\r\nHost: shop.example.com\r\n\r\n");
	expect_answer(client_read(c, "GET"), 200, "hello");
	expect_text(heard_field(origin_last(), "X-Forwarded-For"), "192.0.2.2");
	expect_text(heard_field(origin_last(), "X-Forwarded-Proto"), "https");
	client_close(c);
	c = client_open_to(edge_admin_port());
	client_send(c, "GET /healthz HTTP/1.1\r\nHost: 10.0.0.5\r\n\r\n");
	expect_int(client_read(c, "GET").status, 200);
	client_close(c);
}

SCENARIO("s3.yaml names the bucket, keeps what has no lifetime, and never shares a presigned URL")
{
	origin_says("/a.png", .etag = "\"1\"", .body = "image");
	origin_says("/p?X-Amz-Signature=good", .etag = "\"2\"", .body = "private");
	origin_says("*", .status = 403, .body = "denied");
	start_example("s3");
	expect_cached("/a.png", NULL);
	expect_text(heard_field(origin_request(0), "Host"), "assets.s3.eu-central-1.amazonaws.com");
	expect_cached("/p?X-Amz-Signature=good", NULL);
	expect_int(get("/p").status, 403);
	expect_int(get("/p?X-Amz-Signature=bad").status, 403);
}

SCENARIO("media.yaml answers ranges of a large file from its cache, on two disks")
{
	size_t n = 3 << 20;
	char *film = pattern(7, n);
	origin_says("/film", .fields = CACHEABLE, .etag = "\"film\"", .body = film, .body_bytes = n,
		    .ranges = true);
	start_example("media");
	get("/film");
	expect_text(heard_field(origin_request(0), "Host"), "media.example.com");
	for (int i = 0; i < 2; i++) {
		struct answer a = get_with("/film", "Range: bytes=2000000-2000999\r\n");
		expect_int(a.status, 206);
		expect(a.body_bytes == 1000 && memcmp(a.body, film + 2000000, 1000) == 0);
	}
	struct stat st;
	expect(stat(text("%s/nvme1/twice/seed", kit_dir()), &st) == 0);
}

/* The # before its lines for admin is taken away. */
static char *
read_docker(void)
{
	char *words = example_read("packaging/docker.yaml");
	for (char *at; (at = strstr(words, "#admin"));)
		memmove(at, at + 1, strlen(at));
	return example_settings(words);
}

static int
metrics(const char *fields)
{
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, text("GET /metrics HTTP/1.1\r\nHost: 10.0.0.5\r\n%s\r\n", fields));
	int status = client_read(c, "GET").status;
	client_close(c);
	return status;
}

SCENARIO("docker.yaml with its two lines for admin shows metrics to who has the token, and is well")
{
	by_http_only();
	mkdir(text("%s/secrets", kit_dir()), 0755);
	FILE *f = fopen(text("%s/secrets/twice-admin-token", kit_dir()), "w");
	fputs("0123456789abcdef\n", f);
	fclose(f);
	edge_yaml(read_docker());
	edge_start();
	expect_int(metrics(""), 403);
	expect_int(metrics("Authorization: Bearer 0123456789abcdef\r\n"), 200);
	const char *check =
		text("%s stats --json --admin unix:%s/admin.sock", edge_binary(), kit_dir());
	expect_int(program("sh", "-c", check).status, 0);
	edge_stop();
	expect_int(program("sh", "-c", check).status, 1);
}

/* A new example must have its scenario. */
SCENARIO("every example is started here")
{
	static const char *const known[] = {"one-origin.yaml", "many-hosts.yaml",
					    "behind-haproxy.yaml", "s3.yaml", "media.yaml"};
	DIR *d = opendir("config/examples");
	int n = 0;
	for (struct dirent *e; d && (e = readdir(d));) {
		bool found = e->d_name[0] == '.';
		for (size_t i = 0; i < sizeof known / sizeof *known; i++)
			found |= strcmp(known[i], e->d_name) == 0;
		expect_that(found, "%s has no scenario", e->d_name);
		n += e->d_name[0] != '.';
	}
	expect_int(n, 5);
}
