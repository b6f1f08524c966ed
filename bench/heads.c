/* heads.c - the load and the origin of bench/heads.sh: a cached page is asked for with the dearest heads that
 * the limits allow.
 *
 *	heads origin                                    prints port=N; serves until its input ends
 *	heads names                                     of the kinds
 *	heads HTTP_PORT H2C_PORT PID REQUESTS KIND      KIND: a row of kinds[]
 *
 * For each protocol a connection asks for one page, first with the kind's small head, then with its
 * dear one, each REQUESTS times, one request after the other, behind two that are not counted. A line
 * says how many microseconds of CPU the proxy (PID) took for each, the bytes of each request, and what
 * share of a core a client has for each Mbit/s that it sends. By HTTP/2 the field is a line of 4 KB that
 * lies in the table of HPACK, and each request names it. (A second time it would be refused.)
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { VALUE_MOST = 28000, ENTRY_MOST = 3990, REFERENCES = 1, OUT_BYTES = 64 << 10, ROUNDS = 5 };

/* The field's value, or without a field the rest of the path, is begin and then as many `again` as fit; or
 * functions write it. */
struct kind {
	const char *name, *path, *field, *begin, *again;
	bool h1_only;
	void (*lines)(char *out), (*rest)(char *out);
};

/* Connection names 32 fields that are not there, among those whose names differ in their middle. */
static void
connection_names(char *out)
{
	char name[200];
	memset(name, 'a', sizeof name);
	out += sprintf(out, "Connection: ");
	for (int i = 0; i < 32; i++)
		out += sprintf(out, "%s%.90sb%02d%.90s", i ? "," : "", name, i, name);
	out += sprintf(out, "\r\n");
	for (int i = 0; i < 90; i++)
		out += sprintf(out, "%.90sc%02d%.90s: 1\r\n", name, i, name);
}

/* Eight fields that are keyed, each a list, in 95 lines. */
static void
key_fields(char *out)
{
	for (int i = 0; i < 95; i++) {
		out += sprintf(out, "x-tw%c%c: a", 'a' + i % 8, 'a' + i % 8);
		for (int k = 0; k < 140; k++)
			out += sprintf(out, ",a");
		out += sprintf(out, "\r\n");
	}
}

/* The longest list that has a normal form. */
static void
languages_read(char *out)
{
	out += sprintf(out, "Accept-Language: en");
	for (int i = 1; i < 128; i++)
		out += sprintf(out, ",dE-aT-a");
	sprintf(out, "\r\n");
}

/* As many names that must be decoded as are. */
static void
cookies_odd(char *out)
{
	out += sprintf(out, "Cookie: session_a=1");
	for (int i = 0; i < 512; i++)
		out += sprintf(
			out,
			";%%73%%65%%73%%73%%69%%6f%%6e%%5f%%78%%41%%41%%41%%41%%41%%41%%41%%41=");
	sprintf(out, "\r\n");
}

/* 127 parameters, the last one first, that differ in their last byte. */
static void
query_mixed(char *out)
{
	for (int i = 126; i >= 0; i--)
		out += sprintf(out, "%055d%03d&", 0, i);
}

/* Something of each, as much as fits. */
static void
all_lines(char *out)
{
	out += sprintf(out, "Accept-Language: en");
	for (int i = 1; i < 128; i++)
		out += sprintf(out, ",dE-aT-a");
	out += sprintf(out, "\r\nIf-None-Match: \"a\"");
	for (int i = 0; i < 1000; i++)
		out += sprintf(out, ",\"b\"");
	out += sprintf(out, "\r\nCookie: session_a=1");
	for (int i = 0; i < 6500; i++)
		out += sprintf(out, ";s");
	out += sprintf(out, "\r\n");
}

static void
all_path(char *out)
{
	for (int i = 0; i < 990; i++)
		out += sprintf(out, "/;a%%253b");
}

/* clang-format off */
#define BOTH(...)  {__VA_ARGS__, false, NULL, NULL} /* by HTTP/1 and HTTP/2 */
#define BY_H1(...) {__VA_ARGS__, true, NULL, NULL}
#define TEN(s)	 s s s s s s s s s s
#define LONG_HOP TEN(TEN("aaaa"))

static const struct kind kinds[] = {
	BOTH("plain",            "/plain",                "X-Text",            "a", "aaaaaaaaaaaaaaaaaaaaaaa"),
	BOTH("encoding",         "/vary/accept-encoding", "Accept-Encoding",   "gzip", ",gzip"),
	BOTH("encoding-short",   "/vary/accept-encoding", "Accept-Encoding",   "gzip", ",a"),
	BOTH("encoding-params",  "/vary/accept-encoding", "Accept-Encoding",   "gzip", ";a"),
	BOTH("language",         "/vary/accept-language", "Accept-Language",   "en", ",de"),
	BOTH("language-parts",   "/vary/accept-language", "Accept-Language",   "en", "-a"),
	BOTH("language-params",  "/vary/accept-language", "Accept-Language",   "en", ";a"),
	{"language-read",    "/vary/accept-language", NULL,                "", NULL, true, languages_read, NULL},
	BOTH("accept",           "/vary/accept",          "Accept",            "text/html", ",a/b;q=0.5"),
	BOTH("accept-quoted",    "/vary/accept",          "Accept",            "text/html;a=\"", ","),
	BOTH("tokens",           "/vary/x-any",           "X-Any",             "a", ",a"),
	{"key-fields",       "/fields",               NULL,                "", NULL, true, key_fields, NULL},
	BOTH("cookie",           "/cookie",               "Cookie",            "lang=de", "; a=1"),
	BOTH("cookie-near",      "/cookie",               "Cookie",            "lang=de", ";lanf"),
	BOTH("cookie-commas",    "/cookie",               "Cookie",            "lang=de", ","),
	BOTH("cookies",          "/cookies",              "Cookie",            "session_a=1", "; session_x=1"),
	BOTH("cookies-short",    "/cookies",              "Cookie",            "session_a=1", ";s"),
	{"cookies-odd",      "/cookies",              NULL,                "", NULL, true, cookies_odd, NULL},
	BOTH("cache-control",    "/plain",                "Cache-Control",     "max-stale", ",a"),
	BOTH("pragma",           "/plain",                "Pragma",            "a", ",a"),
	BOTH("via",              "/plain",                "Via",               "1.1 a", ",1.1 " LONG_HOP LONG_HOP),
	BOTH("if-none-match",    "/plain",                "If-None-Match",     "\"a\"", ",\"b\""),
	BOTH("if-none-match-long", "/plain",              "If-None-Match",     "\"a", "bbbbbbbbbbbbb"),
	BOTH("modified-since",   "/plain",                "If-Modified-Since", "a", "aaa"),
	BOTH("range",            "/plain",                "Range",             "bytes=0-1", ",1-1"),
	BOTH("forwarded",        "/inside",               "Forwarded",         "for=192.0.2.1", ",for=a"),
	BOTH("forwarded-quoted", "/inside",               "Forwarded",         "for=192.0.2.1", ",a=\"\""),
	BOTH("forwarded-hosts",  "/inside",               "Forwarded",         "for=192.0.2.1", ",host=b"),
	BOTH("forwarded-for",    "/inside",               "X-Forwarded-For",   "192.0.2.1", ",192.0.2.1"),
	BOTH("forwarded-short",  "/inside",               "X-Forwarded-For",   "192.0.2.1", ",1"),
	BOTH("forwarded-proto",  "/inside",               "X-Forwarded-Proto", "http", ",a"),
	BY_H1("length",           "/plain",                "Content-Length",    "0", "000000000"),
	BY_H1("upgrade",          "/tunnel",               "Connection: upgrade\r\nUpgrade", "a", ",a"),
	{"connection",       "/plain",                NULL,                "", NULL, true, connection_names, NULL},
	{"all",              "/cookies/",             NULL,                "", NULL, true, all_lines, all_path},
	BOTH("query",            "/plain?",               NULL,                "a", "&a"),
	BOTH("query-sorted",     "/query?",               NULL,                "b=1", "&a=1"),
	{"query-mixed",      "/query?",               NULL,                "", NULL, true, NULL, query_mixed},
	BOTH("query-kept",       "/kept?",                NULL,                "b=1", "&per0000000000000"),
	BOTH("query-escapes",    "/query?",               NULL,                "b=1", "&%61=11111111111"),
	BOTH("path-slashes",     "/plain/",               NULL,                "a", "/a"),
	BOTH("path-dots",        "/plain/",               NULL,                "a", "/./a"),
	BOTH("path-up",          "/plain/",               NULL,                "a", "/a/.."),
	BOTH("path-escapes",     "/plain/",               NULL,                "a", "%61"),
	BOTH("path-parameters",  "/plain/",               NULL,                "a", "/;a%253b"),
};
/* clang-format on */
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void
die(const char *what)
{
	fprintf(stderr, "heads: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- the origin ------------------------------------------------------------------------------ */

static int
listen_any(int *port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(fd, (void *)&at, n) || listen(fd, 16) || getsockname(fd, (void *)&at, &n))
		die("listen");
	*port = ntohs(at.sin_port);
	return fd;
}

/* One request, one answer, and the connection ends. A path /vary/NAME is answered with Vary: NAME. */
static void
answer_one(int fd)
{
	static char in[OUT_BYTES];
	char vary[64] = "", out[512];
	size_t n = 0;
	ssize_t got;
	while (n + 1 < sizeof in && (got = read(fd, in + n, sizeof in - 1 - n)) > 0) {
		n += (size_t)got;
		in[n] = '\0';
		if (strstr(in, "\r\n\r\n"))
			break;
	}
	sscanf(in, "GET /vary/%60[a-z-]", vary);
	int m = snprintf(out, sizeof out,
			 "HTTP/1.1 200 OK\r\nCache-Control: max-age=86400\r\nETag: \"e\"\r\n"
			 "Connection: close\r\nContent-Length: 100\r\n%s%s%s\r\n%0100d",
			 *vary ? "Vary: " : "", vary, *vary ? "\r\n" : "", 0);
	if (write(fd, out, (size_t)m) != m)
		die("write");
}

static void
serve(void)
{
	int port, fd = listen_any(&port);
	printf("port=%d\n", port);
	fflush(stdout);
	for (;;) {
		struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = 0, .events = POLLIN}};
		poll(p, 2, -1);
		if (p[1].revents)
			return;
		int client = accept(fd, NULL, NULL);
		answer_one(client);
		close(client);
	}
}

/* ---- what is sent ---------------------------------------------------------------------------- */

struct out {
	unsigned char p[OUT_BYTES];
	size_t n;
};

static void
add(struct out *o, const void *p, size_t n)
{
	memcpy(o->p + o->n, p, n);
	o->n += n;
}

static void
fill(char *out, const char *begin, const char *again, size_t most)
{
	size_t n = strlen(begin), step = again ? strlen(again) : 0;
	memcpy(out, begin, n);
	while (step && n + step < most) {
		memcpy(out + n, again, step);
		n += step;
	}
	out[n] = '\0';
}

/* Path and field of a request; no field: an empty text. */
static void
texts(const struct kind *k, bool dear, size_t most, char *path, char *value)
{
	size_t url = most < 8000 ? most : 8000;
	strcpy(path, k->path);
	*value = '\0';
	if (k->field)
		fill(value, k->begin, dear ? k->again : NULL, most);
	else if (k->rest && dear)
		k->rest(path + strlen(path));
	else
		fill(path + strlen(path), k->begin, dear ? k->again : NULL, url);
}

static void
write_h1(const struct kind *k, bool dear, struct out *o)
{
	static char path[16384], value[VALUE_MOST + 100], lines[VALUE_MOST + 8000];
	texts(k, dear, VALUE_MOST, path, value);
	*lines = '\0';
	if (k->lines && dear)
		k->lines(lines);
	else if (k->field)
		sprintf(lines, "%s: %s\r\n", k->field, value);
	o->n = (size_t)sprintf((char *)o->p, "GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n", path, lines);
}

static void
add_int(struct out *o, unsigned first, unsigned prefix, size_t n)
{
	unsigned char c = (unsigned char)(first | (n < prefix ? n : prefix));
	add(o, &c, 1);
	if (n < prefix)
		return;
	for (n -= prefix; n >= 128; n >>= 7)
		add(o, &(unsigned char){(unsigned char)(n | 128)}, 1);
	add(o, &(unsigned char){(unsigned char)n}, 1);
}

static void
add_text(struct out *o, const char *text, size_t n)
{
	add_int(o, 0, 127, n);
	add(o, text, n);
}

/* first: the line enters the table (RFC 7541 6.2.1), and is its newest entry later. A cookie that is keyed
 * comes once, beside the line of others. */
static void
write_h2(const struct kind *k, bool dear, bool first, unsigned stream, struct out *o)
{
	static char path[16384], value[VALUE_MOST + 100];
	char name[64] = "";
	texts(k, dear, ENTRY_MOST, path, value);
	for (size_t i = 0; k->field && k->field[i]; i++)
		name[i] = (char)(k->field[i] >= 'A' && k->field[i] <= 'Z' ? k->field[i] | 0x20
									  : k->field[i]);
	o->n = 9;
	add(o, "\x82\x86", 2);
	if (!k->field && !first) {
		add(o, "\xbe", 1);
	} else {
		add_int(o, k->field ? 0 : 64, k->field ? 15 : 63, 4);
		add_text(o, path, strlen(path));
	}
	add(o, "\1\1a", 3);
	if (k->field && strcmp(k->field, "Cookie") == 0) {
		add(o, "\0", 1);
		add_text(o, name, strlen(name));
		add_text(o, k->begin, strlen(k->begin));
		fill(value, "", dear ? k->again : "; a=1", dear ? ENTRY_MOST : 6);
	}
	if (k->field && first) {
		add(o, "\x40", 1);
		add_text(o, name, strlen(name));
		add_text(o, value, strlen(value));
	}
	for (int i = first; k->field && i < (dear ? REFERENCES : 1); i++)
		add(o, "\xbe", 1);
	size_t n = o->n - 9;
	const unsigned char head[9] = {(unsigned char)(n >> 16),
				       (unsigned char)(n >> 8),
				       (unsigned char)n,
				       1,
				       5, /* END_STREAM | END_HEADERS */
				       (unsigned char)(stream >> 24),
				       (unsigned char)(stream >> 16),
				       (unsigned char)(stream >> 8),
				       (unsigned char)stream};
	memcpy(o->p, head, sizeof head);
}

/* ---- the client ------------------------------------------------------------------------------ */

struct client {
	int fd;
	unsigned char in[OUT_BYTES];
	size_t n;
};

static void
client_open(struct client *c, int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				 .sin_port = htons((uint16_t)port)};
	int one = 1;
	struct timeval patience = {.tv_sec = 10};
	c->n = 0;
	c->fd = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (connect(c->fd, (void *)&to, sizeof to))
		die("connect");
}

static void
client_send(struct client *c, const void *p, size_t n)
{
	if (send(c->fd, p, n, MSG_NOSIGNAL) != (ssize_t)n)
		die("send");
}

static void
client_need(struct client *c, size_t n)
{
	while (c->n < n) {
		ssize_t got = recv(c->fd, c->in + c->n, sizeof c->in - 1 - c->n, 0);
		if (got <= 0)
			die("the connection ended");
		c->n += (size_t)got;
	}
	c->in[c->n] = '\0';
}

static void
client_drop(struct client *c, size_t n)
{
	memmove(c->in, c->in + n, c->n - n);
	c->n -= n;
}

/* All of an answer that has a length. What it says of its status stays in status. */
static void
read_h1(struct client *c, char status[4])
{
	char *end, *length;
	c->in[c->n] = '\0';
	while ((end = strstr((char *)c->in, "\r\n\r\n")) == NULL)
		client_need(c, c->n + 1);
	memcpy(status, c->in + 9, 3);
	status[3] = '\0';
	length = strcasestr((char *)c->in, "content-length:");
	size_t all = (size_t)(end + 4 - (char *)c->in) +
		     (length && length < end ? strtoul(length + 15, NULL, 10) : 0);
	client_need(c, all);
	client_drop(c, all);
}

/* Frames up to the end of the stream. */
static void
read_h2(struct client *c)
{
	for (;;) {
		client_need(c, 9);
		size_t n = (size_t)(c->in[0] << 16 | c->in[1] << 8 | c->in[2]) + 9;
		client_need(c, n);
		int type = c->in[3], flags = c->in[4];
		client_drop(c, n);
		if (type == 3 || type == 7) {
			errno = 0;
			die("RST_STREAM or GOAWAY");
		}
		if (type <= 1 && (flags & 1))
			return;
	}
}

/* ---- what it costs --------------------------------------------------------------------------- */

/* Of all threads, in nanoseconds. */
static uint64_t
cpu_ns(const char *pid)
{
	char name[300];
	uint64_t sum = 0;
	snprintf(name, sizeof name, "/proc/%s/task", pid);
	DIR *d = opendir(name);
	if (!d)
		die(name);
	for (struct dirent *e; (e = readdir(d)) != NULL;) {
		unsigned long long ns = 0;
		snprintf(name, sizeof name, "/proc/%s/task/%.20s/schedstat", pid, e->d_name);
		FILE *f = e->d_name[0] == '.' ? NULL : fopen(name, "r");
		if (f && fscanf(f, "%llu", &ns) == 1)
			sum += ns;
		if (f)
			fclose(f);
	}
	closedir(d);
	return sum;
}

struct cost {
	double us;
	size_t bytes;
	char status[4];
};

static struct cost
cost_h1(int port, const char *pid, int requests, const struct kind *k, bool dear)
{
	static struct out o;
	static struct client c;
	struct cost cost = {.us = 0};
	uint64_t before = 0;
	client_open(&c, port);
	write_h1(k, dear, &o);
	for (int i = -2; i < requests; i++) {
		if (i == 0)
			before = cpu_ns(pid);
		client_send(&c, o.p, o.n);
		read_h1(&c, cost.status);
	}
	cost.us = (double)(cpu_ns(pid) - before) / requests / 1e3;
	cost.bytes = o.n;
	close(c.fd);
	return cost;
}

static struct cost
cost_h2(int port, const char *pid, int requests, const struct kind *k, bool dear)
{
	static const char hello[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
				    "\0\0\4\10\0\0\0\0\0\x7f\xff\0\0";
	static struct out o;
	static struct client c;
	struct cost cost = {.us = 0, .status = "-"};
	uint64_t before = 0;
	unsigned stream = 1;
	client_open(&c, port);
	client_send(&c, hello, sizeof hello - 1);
	for (int i = -2; i < requests; i++, stream += 2) {
		if (i == 0)
			before = cpu_ns(pid);
		write_h2(k, dear, stream == 1, stream, &o);
		client_send(&c, o.p, o.n);
		read_h2(&c);
	}
	cost.us = (double)(cpu_ns(pid) - before) / requests / 1e3;
	cost.bytes = o.n;
	close(c.fd);
	return cost;
}

typedef struct cost cost_fn(int, const char *, int, const struct kind *, bool);

/* The least of some rounds: whatever else the machine does adds to the others. */
static void
report(const struct kind *k, const char *by, cost_fn *cost, int port, const char *pid, int requests)
{
	struct cost small = {.us = 1e9}, dear = {.us = 1e9};
	for (int i = 0; i < ROUNDS; i++) {
		struct cost a = cost(port, pid, requests, k, false),
			    b = cost(port, pid, requests, k, true);
		small = a.us < small.us ? a : small;
		dear = b.us < dear.us ? b : dear;
	}
	printf("%-20s %-4s small_us=%.1f dear_us=%.1f more_us=%.1f bytes=%zu "
	       "core_per_mbit=%.2f%% status=%s\n",
	       k->name, by, small.us, dear.us, dear.us - small.us, dear.bytes,
	       100 * dear.us / 1e6 / ((double)dear.bytes * 8 / 1e6), dear.status);
}

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "origin") == 0) {
		serve();
		return 0;
	}
	for (int i = 0; argc == 2 && i < KINDS; i++)
		puts(kinds[i].name);
	if (argc == 2)
		return 0;
	for (int i = 0; argc == 6 && i < KINDS; i++)
		if (strcmp(kinds[i].name, argv[5]) == 0) {
			report(&kinds[i], "h1", cost_h1, atoi(argv[1]), argv[3], atoi(argv[4]));
			if (!kinds[i].h1_only)
				report(&kinds[i], "h2", cost_h2, atoi(argv[2]), argv[3],
				       atoi(argv[4]));
			return 0;
		}
	fprintf(stderr, "usage: heads origin | names | HTTP_PORT H2C_PORT PID REQUESTS KIND\n");
	return 1;
}
