/* The files of config/examples are what a stranger begins with: check finds nothing in them, and they
 * serve. Only addresses, paths and sizes are this test's. */
#include "tests/kit/kit.h"
#include "tests/kit/tls.h"

#include <dirent.h>
#include <unistd.h>
#include <sys/stat.h>

#define CACHEABLE "Cache-Control: max-age=600\r\n"

/* In every example; the longer of two that begin alike comes first. */
static const struct {
	const char *theirs, *ours;
} swaps[] = {
	/* clang-format off */
	{"0.0.0.0:8080",                                        "127.0.0.1:0"},
	{"0.0.0.0:8443",                                        "127.0.0.1:0"},
	{"0.0.0.0:80",                                          "127.0.0.1:0"},
	{"0.0.0.0:443",                                         "127.0.0.1:0"},
	{"0.0.0.0:9090",                                        "0.0.0.0:0"},
	{"https://origin.example.com",                          "%O"},
	{"https://media.example.com",                           "%O"},
	{"https://assets.s3.eu-central-1.amazonaws.com",        "%O"},
	{"http://10.0.1.10:8000",                               "%O"},
	{"http://10.0.1.11:8000",                               "http://127.0.0.1:1"},
	{"http://10.0.2.10:8000",                               "http://127.0.0.1:2"},
	{"http://10.0.1.20:9000",                               "%O"},
	{"http://10.0.1.30:8080",                               "%O"},
	{"10.0.0.0/8",                                          "127.0.0.1"},
	{"/etc/twice/",                                         "%D/etc/"},
	{"/var/",                                               "%D/"},
	{"/run/twice/",                                         "%D/"},
	{"/mnt/",                                               "%D/"},
	{"100GiB",                                              "64MiB"},
	{"200GiB",                                              "64MiB"},
	{"500GiB",                                              "64MiB"},
	{"1500GiB",                                             "64MiB"},
	{"memory: 1GiB",                                        "memory: 8MiB"},
	{"memory: 2GiB",                                        "memory: 8MiB"},
	{"memory: 4GiB",                                        "memory: 8MiB"},
	{"memory: 8GiB",                                        "memory: 8MiB"},
	{"capacity: 50M",                                       "capacity: 50k"},
	/* clang-format on */
};

/* The words of the file, with this test's places, as one pass: what was put in is not looked at. */
static char *
read_example(const char *name)
{
	enum { MOST = 1 << 16 };
	char *in = calloc(1, MOST), *out = calloc(1, MOST), *to = out;
	FILE *f = fopen(text("config/examples/%s.yaml", name), "r");
	expect_that(f != NULL, "there is no example %s", name);
	expect(fread(in, 1, MOST - 1, f) > 0);
	fclose(f);
	for (const char *p = in; *p;) {
		size_t i = 0, n = sizeof swaps / sizeof *swaps;
		while (i < n && strncmp(p, swaps[i].theirs, strlen(swaps[i].theirs)) != 0)
			i++;
		if (i == n) {
			*to++ = *p++;
			continue;
		}
		to += sprintf(to, "%s", swaps[i].ours);
		p += strlen(swaps[i].theirs);
	}
	return out;
}

/* What an administrator has made before. */
static void
make_places(void)
{
	static const char *const dirs[] = {
		"etc",	     "etc/certs",      "cache",
		"log",	     "log/twice",      "lib",
		"lib/twice", "lib/twice/acme", "lib/twice/acme/.well-known",
		"nvme0",     "nvme1",	       "lib/twice/acme/.well-known/acme-challenge"};
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
		mkdir(text("%s/%s", kit_dir(), dirs[i]), 0755);
	cert_write(text("%s/etc/certs/all.pem", kit_dir()),
		   .names = "shop.example.com,*.blog.example.com");
	FILE *f = fopen(text("%s/etc/admin.token", kit_dir()), "w");
	fputs("0123456789abcdef\n", f);
	fclose(f);
}

/* Checks the example, where nothing must be found, and starts it. */
static void
start_example(const char *name)
{
	by_http_only();
	make_places();
	edge_yaml(read_example(name));
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
	expect(stat(text("%s/log/twice/access.log", kit_dir()), &st) == 0 && st.st_size > 0);
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
	FILE *f = fopen(text("%s/lib/twice/acme/.well-known/acme-challenge/t", kit_dir()), "w");
	fputs("proof", f);
	fclose(f);
	expect_answer(get("/.well-known/acme-challenge/t"), 200, "proof");

	expect_answer(ask_tls("shop.example.com", "/a?x=1&utm_source=mail", ""), 200, "shop");
	expect_hit(ask_tls("shop.example.com", "/a?x=1&utm_source=feed", ""));
	expect_miss(ask_tls("shop.example.com", "/a?x=1", "Cookie: session=1\r\n"));
	expect_answer(ask_tls("shop.example.com", "/api/v1", ""), 200, "api");
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
	for (int i = 0; i < 2; i++) {
		struct answer a = get_with("/film", "Range: bytes=2000000-2000999\r\n");
		expect_int(a.status, 206);
		expect(a.body_bytes == 1000 && memcmp(a.body, film + 2000000, 1000) == 0);
	}
	struct stat st;
	expect(stat(text("%s/nvme1/twice/seed", kit_dir()), &st) == 0);
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
