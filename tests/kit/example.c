/* example.c - see example.h. */
#include "tests/kit/example.h"

#include "tests/kit/inside.h"
#include "tests/kit/tls.h"

#include <sys/stat.h>

struct swap {
	const char *theirs, *ours;
};

/* Of several that begin alike the longest comes first. */
/* clang-format off */
static const struct swap settings[] = {
	{"0.0.0.0:8080",                                        "127.0.0.1:0"},
	{"0.0.0.0:8082",                                        "127.0.0.1:0"},
	{"0.0.0.0:8443",                                        "127.0.0.1:0"},
	{"0.0.0.0:80",                                          "127.0.0.1:0"},
	{"0.0.0.0:443",                                         "127.0.0.1:0"},
	{"0.0.0.0:9180",                                        "0.0.0.0:0"},
	{"127.0.0.1:8080",                                      "127.0.0.1:0"},
	{"[::]:8080",                                           "[::1]:0"},
	{"https://origin.example.com",                          "%O"},
	{"https://a.example.com",                               "http://127.0.0.1:1"},
	{"https://b.example.com",                               "http://127.0.0.1:2"},
	{"https://c.example.com",                               "http://127.0.0.1:3"},
	{"https://api.example.com",                             "%O"},
	{"https://media.example.com",                           "%O"},
	{"https://assets.s3.eu-central-1.amazonaws.com",        "%O"},
	{"http://127.0.0.1:8000",                               "%O"},
	{"http://origin:8000",                                  "%O"},
	{"http://10.0.1.10:8000",                               "%O"},
	{"http://10.0.1.11:8000",                               "http://127.0.0.1:1"},
	{"http://10.0.2.10:8000",                               "http://127.0.0.1:2"},
	{"http://10.0.1.20:9000",                               "%O"},
	{"http://10.0.1.30:8080",                               "%O"},
	{"10.0.0.0/8",                                          "127.0.0.1"},
	{"user: twice",                                         "user: none"},
	{"/etc/",                                               "%D/etc/"},
	{"/var/",                                               "%D/var/"},
	{"/run/twice/",                                         "%D/"},
	{"/run/secrets/",                                       "%D/secrets/"},
	{"/mnt/",                                               "%D/"},
	{"connections: 50000",                                  "connections: 500"}, /* as the machine may have files */
	{"connections: 20k",                                    "connections: 500"},
	{"10GiB",                                               "64MiB"},
	{"20GiB",                                               "96MiB"},
	{"100GiB",                                              "64MiB"},
	{"200GiB",                                              "64MiB"},
	{"400GiB",                                              "64MiB"},
	{"500GiB",                                              "64MiB"},
	{"1500GiB",                                             "64MiB"},
	{"memory: 1GiB",                                        "memory: 8MiB"},
	{"memory: 2GiB",                                        "memory: 8MiB"},
	{"memory: 4GiB",                                        "memory: 8MiB"},
	{"memory: 8GiB",                                        "memory: 8MiB"},
	{"memory: 256MiB",                                      "memory: 8MiB"},
	{"capacity: 50M",                                       "capacity: 50k"},
	{"capacity: 10M",                                       "capacity: 50k"},
	{NULL, NULL}
};
static const struct swap commands[] = {
	{"--origin https://www.example.com",                    "--origin %O"},
	{"0.0.0.0:8443",                                        "127.0.0.1:0"},
	{"/etc/",                                               "%D/etc/"},
	{"/var/",                                               "%D/var/"},
	{"/run/twice/",                                         "%D/"},
	{NULL, NULL}
};
/* clang-format on */

/* A number of which the swap names the end only ("100GiB" holds "00GiB") is another word. */
static bool
begins_inside_number(const char *in, const char *p)
{
	return p > in && p[0] >= '0' && p[0] <= '9' && p[-1] >= '0' && p[-1] <= '9';
}

static char *
swapped(const char *in, const struct swap *swaps)
{
	struct heap h = {0};
	heap_add(&h, "", 0);
	for (const char *p = in; *p;) {
		const struct swap *s = swaps;
		while (s->theirs && strncmp(p, s->theirs, strlen(s->theirs)) != 0)
			s++;
		if (!s->theirs || begins_inside_number(in, p)) {
			heap_add(&h, p++, 1);
			continue;
		}
		heap_add(&h, s->ours, strlen(s->ours));
		p += strlen(s->theirs);
	}
	return h.p;
}

char *
example_settings(const char *yaml)
{
	return swapped(yaml, settings);
}

char *
example_command(const char *line)
{
	return swapped(line, commands);
}

char *
example_read(const char *path)
{
	struct heap h = {0};
	char buf[4096];
	size_t n;
	FILE *f = fopen(path, "r");
	if (!f)
		fail("there is no %s", path);
	heap_add(&h, "", 0);
	while ((n = fread(buf, 1, sizeof buf, f)) > 0)
		heap_add(&h, buf, n);
	fclose(f);
	return h.p;
}

static void
put(const char *name, const char *words)
{
	FILE *f = fopen(text("%s/%s", kit_dir(), name), "w");
	if (!f || fputs(words, f) < 0 || fclose(f) != 0)
		fail("cannot write %s", name);
}

/* Some hundred requests for some dozen URLs within ten minutes. */
static char *
log_of_nginx(void)
{
	struct heap h = {0};
	for (int i = 0; i < 400; i++)
		heap_text(
			&h,
			"192.0.2.%d - - [28/Nov/2026:10:%02d:%02d +0000] \"GET /%d HTTP/1.1\" 200 %d "
			"\"-\" \"-\"\n",
			i % 9 + 1, i / 60, i % 60, i * i % 53, 1000 + i * i % 53 * 100);
	return h.p;
}

void
example_places(void)
{
	static const char *const dirs[] = {"etc",
					   "etc/twice",
					   "etc/twice/certs",
					   "etc/letsencrypt",
					   "etc/letsencrypt/live",
					   "var",
					   "var/cache",
					   "var/log",
					   "var/log/twice",
					   "var/log/nginx",
					   "var/lib",
					   "var/lib/twice",
					   "var/lib/twice/acme",
					   "var/lib/twice/acme/.well-known",
					   "var/lib/twice/acme/.well-known/acme-challenge",
					   "nvme0",
					   "nvme1",
					   "disk1",
					   "disk2"};
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
		mkdir(text("%s/%s", kit_dir(), dirs[i]), 0755);
	static const char *const certs[] = {"etc/twice/certs/all.pem",
					    "etc/letsencrypt/live/all.pem"};
	for (size_t i = 0; i < sizeof certs / sizeof *certs; i++)
		cert_write(text("%s/%s", kit_dir(), certs[i]),
			   .names = "www.example.com,shop.example.com,*.blog.example.com");
	put("etc/twice/admin.token", "0123456789abcdef\n");
	put("etc/twice/closed.html", "<p>Closed.\n");
	put("var/log/nginx/access.log", log_of_nginx());
	put("var/log/nginx/access.log.1", log_of_nginx());
	struct output o = program(
		"sh", "-c",
		text("cd %s/var/log/nginx && gzip -c access.log.1 >access.log.1.gz", kit_dir()));
	if (o.status != 0)
		fail("gzip: %d %s", o.status, o.err);
}
