/* abuse.c - attacks by HTTP/2 beside a client that does none: the load of bench/abuse.sh.
 *
 *	abuse H2C_PORT HTTP_PORT SECONDS KIND
 *
 * For SECONDS a thread attacks, with one connection after the other, each for UNITS_MOST units at most
 * or until it is ended; a client with a kept connection of HTTP/1.1 asks for a cached object every
 * millisecond. Prints what each of them got; ends_after: units until the first connection was ended, within
 * BATCH (the others send on until they hear of it, so their units include what lies in sockets). KIND: a row of kinds[].
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { UNITS_MOST = 20000, BATCH = 50, OUT_BYTES = 64 << 10, FRAME_HEAD = 9 };
enum {
	DATA,
	HEADERS,
	PRIORITY,
	RST_STREAM,
	SETTINGS,
	PING = 6,
	GOAWAY,
	WINDOW_UPDATE,
	CONTINUATION
};
enum { END_STREAM = 1, END_HEADERS = 4 };
#define CACHED "/cdn/0123456789abcdef/1024"

struct out {
	unsigned char p[OUT_BYTES];
	size_t n;
};

static _Atomic bool over;
static uint64_t unique; /* of the next path that nobody asked for */

static int64_t
now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

static int
open_to(int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				 .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	struct timeval patience = {.tv_sec = 10};
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
		return fd;
	close(fd);
	return -1;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void
frame(struct out *o, int type, int flags, unsigned stream, const void *p, size_t n)
{
	const unsigned char head[FRAME_HEAD] = {(unsigned char)(n >> 16),
						(unsigned char)(n >> 8),
						(unsigned char)n,
						(unsigned char)type,
						(unsigned char)flags,
						(unsigned char)(stream >> 24),
						(unsigned char)(stream >> 16),
						(unsigned char)(stream >> 8),
						(unsigned char)stream};
	memcpy(o->p + o->n, head, sizeof head);
	if (n)
		memcpy(o->p + o->n + sizeof head, p, n);
	o->n += sizeof head + n;
}

/* method and scheme by their numbers (RFC 7541 A), path and authority as texts; then more. */
static void
request(struct out *o, unsigned stream, int flags, int method, const char *path, const void *more,
	size_t more_bytes)
{
	unsigned char block[8192];
	size_t n = 0, length = strlen(path);
	block[n++] = (unsigned char)method;
	block[n++] = 0x86;
	block[n++] = 0x04;
	block[n++] = (unsigned char)length;
	memcpy(block + n, path, length);
	memcpy(block + n + length, "\1\1a", 3);
	n += length + 3;
	if (more_bytes)
		memcpy(block + n, more, more_bytes);
	frame(o, HEADERS, flags, stream, block, n + more_bytes);
}

static void
get(struct out *o, unsigned stream)
{
	request(o, stream, END_STREAM | END_HEADERS, 0x82, CACHED, NULL, 0);
}

/* ---- kinds of attacks: what comes once, and each unit ------------------------------------------ */

static unsigned
stream_of(int i)
{
	return 2 * (unsigned)i + 1;
}

static void
reset(struct out *o, int i)
{
	get(o, stream_of(i));
	frame(o, RST_STREAM, 0, stream_of(i), "\0\0\0\10", 4);
}

static void
reset_miss(struct out *o, int i)
{
	char path[64];
	snprintf(path, sizeof path, "/cdn/%016llx/100", (unsigned long long)unique++);
	request(o, stream_of(i), END_STREAM | END_HEADERS, 0x82, path, NULL, 0);
	frame(o, RST_STREAM, 0, stream_of(i), "\0\0\0\10", 4);
}

static void
overflow(struct out *o, int i)
{
	get(o, stream_of(i));
	frame(o, WINDOW_UPDATE, 0, stream_of(i), "\x7f\xff\xff\xff", 4);
}

static void
zero_window(struct out *o, int i)
{
	get(o, stream_of(i));
	frame(o, WINDOW_UPDATE, 0, stream_of(i), "\0\0\0\0", 4);
}

static void
long_body(struct out *o, int i)
{
	request(o, stream_of(i), END_HEADERS, 0x83, CACHED,
		"\x0f\x0d\1"
		"1",
		4);
	frame(o, DATA, END_STREAM, stream_of(i), "hello", 5);
}

static void
self_priority(struct out *o, int i)
{
	unsigned s = stream_of(i);
	const unsigned char p[5] = {(unsigned char)(s >> 24), (unsigned char)(s >> 16),
				    (unsigned char)(s >> 8), (unsigned char)s, 1};
	get(o, s);
	frame(o, PRIORITY, 0, s, p, sizeof p);
}

static void
malformed(struct out *o, int i)
{
	frame(o, HEADERS, END_STREAM | END_HEADERS, stream_of(i), "\x82", 1);
}

static void
settings(struct out *o, int i)
{
	(void)i;
	frame(o, SETTINGS, 0, 0, NULL, 0);
}

static void
ping(struct out *o, int i)
{
	(void)i;
	frame(o, PING, 0, 0, "12345678", 8);
}

static void
priority(struct out *o, int i)
{
	frame(o, PRIORITY, 0, stream_of(i), "\0\0\0\0\1", 5);
}

static void
small_window(struct out *o, int i)
{
	(void)i;
	frame(o, WINDOW_UPDATE, 0, 0, "\0\0\0\1", 4);
}

static void
begin_post(struct out *o)
{
	request(o, 1, END_HEADERS, 0x83, CACHED, NULL, 0);
}

static void
empty_data(struct out *o, int i)
{
	(void)i;
	frame(o, DATA, 0, 1, NULL, 0);
}

static void
unknown(struct out *o, int i)
{
	(void)i;
	frame(o, 0xbb, 0, 0, "12345678", 8);
}

static void
begin_head(struct out *o)
{
	request(o, 1, END_STREAM, 0x82, CACHED, NULL, 0);
}

static void
continuation(struct out *o, int i)
{
	(void)i;
	frame(o, CONTINUATION, 0, 1, "\0\1x\20aaaaaaaaaaaaaaaa", 20);
}

static void
empty_continuation(struct out *o, int i)
{
	(void)i;
	frame(o, CONTINUATION, 0, 1, NULL, 0);
}

/* The first adds a field of 4,000 bytes to the table of the receiver, the others name it 60 times. */
static void
bomb(struct out *o, int i)
{
	unsigned char more[4100];
	size_t n = 60;
	memset(more, i ? 0xbe : 'a', sizeof more);
	if (i == 0) {
		memcpy(more, "\x40\1x\x7f\xa1\x1e", 6); /* a length of 127 + 0x21 + 0x1e * 128 */
		n = 6 + 4000;
	}
	request(o, stream_of(i), END_STREAM | END_HEADERS, 0x82, CACHED, more, n);
}

static void
begin_stalled(struct out *o)
{
	frame(o, SETTINGS, 0, 0, "\0\4\0\0\0\0", 6);
	for (int i = 0; i < 100; i++)
		get(o, stream_of(i));
}

static const struct kind {
	const char *name;
	void (*begin)(struct out *o);
	void (*unit)(struct out *o, int i);
	bool deaf; /* reads nothing */
} kinds[] = {
	{"nobody", NULL, NULL, false},
	{"reset", NULL, reset, false},
	{"reset-miss", NULL, reset_miss, false},
	{"window-overflow", NULL, overflow, false},
	{"window-zero", NULL, zero_window, false},
	{"body-too-long", NULL, long_body, false},
	{"self-priority", NULL, self_priority, false},
	{"malformed", NULL, malformed, false},
	{"settings", NULL, settings, false},
	{"ping", NULL, ping, false},
	{"ping-unread", NULL, ping, true},
	{"priority", NULL, priority, false},
	{"window-1", NULL, small_window, false},
	{"empty-data", begin_post, empty_data, false},
	{"unknown", NULL, unknown, false},
	{"continuation", begin_head, continuation, false},
	{"empty-continuation", begin_head, empty_continuation, false},
	{"hpack-bomb", NULL, bomb, false},
	{"stalled", begin_stalled, NULL, false},
};

/* ---- the attacker ---------------------------------------------------------------------------- */

struct attack {
	const struct kind *kind;
	int port, connections, unended;
	long long units;
	int ends_after; /* units of the first connection, which waits a little behind each batch */
	double most_s;
	int goaway; /* code of the last; -1: none came */
};

/* Reads what is here. True: the connection is over. Looks for a GOAWAY at the beginning of what comes
 * last: the frames before it are not followed. */
static bool
is_over(struct attack *a, int fd, int wait_ms)
{
	static unsigned char in[1 << 16];
	struct pollfd p = {.fd = fd, .events = POLLIN};
	for (; poll(&p, 1, wait_ms) > 0; wait_ms = 0) {
		ssize_t n = recv(fd, in, sizeof in, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN))
			return true;
		for (ssize_t i = 0; i + 17 <= n; i++)
			if (in[i] == 0 && in[i + 3] == GOAWAY &&
			    memcmp(in + i + 4, "\0\0\0\0\0", 5) == 0 && in[i + 13] == 0) {
				a->goaway = in[i + 16];
				return true;
			}
	}
	return false;
}

static bool
put(struct attack *a, int fd, struct out *o)
{
	for (size_t at = 0; at < o->n && !over;) {
		struct pollfd p = {.fd = fd, .events = POLLOUT};
		ssize_t n = send(fd, o->p + at, o->n - at, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0)
			at += (size_t)n;
		else if (errno != EAGAIN || (!a->kind->deaf && is_over(a, fd, 0)))
			return false;
		else
			poll(&p, 1, 20);
	}
	o->n = 0;
	return true;
}

static bool
begin(struct attack *a, int fd, struct out *o)
{
	memcpy(o->p, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24);
	o->n = 24;
	if (a->kind->begin != begin_stalled)
		frame(o, SETTINGS, 0, 0, NULL, 0);
	if (a->kind->begin)
		a->kind->begin(o);
	return put(a, fd, o);
}

/* One batch. The first connection waits a little behind each. */
static bool
send_batch(struct attack *a, int fd, struct out *o, int *units)
{
	bool first = a->connections == 0;
	for (int i = 0; i < BATCH; i++)
		a->kind->unit(o, (*units)++);
	return put(a, fd, o) && ((a->kind->deaf && !first) || !is_over(a, fd, first ? 20 : 0));
}

/* Nothing more is sent: a flood is waited for a while, one that stalls as long as it takes. */
static bool
wait_for_end(struct attack *a, int fd)
{
	int64_t from = now_us();
	bool alive = true;
	while (alive && !over && (!a->kind->unit || now_us() - from < 3000000))
		alive = !is_over(a, fd, 100);
	return alive;
}

static void
attack_once(struct attack *a, struct out *o)
{
	int fd = open_to(a->port), units = 0;
	int64_t from = now_us();
	if (fd < 0)
		return;
	bool alive = begin(a, fd, o);
	while (alive && !over && a->kind->unit && units < UNITS_MOST)
		alive = send_batch(a, fd, o, &units);
	alive = alive && wait_for_end(a, fd);
	if (a->connections == 0)
		a->ends_after = alive ? -1 : units;
	a->unended += alive && !over;
	a->connections++;
	a->units += units;
	double s = (double)(now_us() - from) / 1e6;
	a->most_s = s > a->most_s ? s : a->most_s;
	close(fd);
}

static void *
attack(void *arg)
{
	struct attack *a = arg;
	struct out *o = malloc(sizeof *o);
	while (!over && a->kind->name != kinds[0].name)
		attack_once(a, o);
	free(o);
	return NULL;
}

/* ---- the other client ------------------------------------------------------------------------ */

static bool
ask(int fd)
{
	static const char text[] = "GET " CACHED " HTTP/1.1\r\nHost: a\r\n\r\n";
	char in[4096];
	size_t n = 0;
	if (send(fd, text, sizeof text - 1, MSG_NOSIGNAL) != sizeof text - 1)
		return false;
	for (;;) {
		ssize_t got = recv(fd, in + n, sizeof in - n, 0);
		if (got <= 0)
			return false;
		n += (size_t)got;
		const char *end = memmem(in, n, "\r\n\r\n", 4);
		if (end && n - (size_t)(end - in) == 4 + 1024)
			return memcmp(in, "HTTP/1.1 200", 12) == 0;
	}
}

static int
by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static double
part(const int64_t *v, size_t n, double of)
{
	return n ? (double)v[(size_t)(of * (double)(n - 1))] / 1000 : 0;
}

static void
watch(int port, int seconds)
{
	int64_t until = now_us() + seconds * INT64_C(1000000);
	size_t cap = (size_t)seconds * 1000 + 1, n = 0, failed = 0;
	int64_t *us = malloc(cap * sizeof *us);
	int fd = open_to(port);
	while (now_us() < until && n < cap) {
		int64_t from = now_us();
		if (ask(fd)) {
			us[n++] = now_us() - from;
		} else {
			failed++;
			close(fd);
			fd = open_to(port);
		}
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	close(fd);
	qsort(us, n, sizeof *us, by_size);
	printf("asked=%zu failed=%zu p50_ms=%.2f p99_ms=%.2f most_ms=%.2f", n, failed,
	       part(us, n, 0.5), part(us, n, 0.99), part(us, n, 1));
	free(us);
}

int
main(int argc, char **argv)
{
	struct attack a = {.goaway = -1};
	for (size_t i = 0; argc == 5 && i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(kinds[i].name, argv[4]) == 0)
			a.kind = &kinds[i];
	if (!a.kind) {
		fprintf(stderr, "usage: abuse H2C_PORT HTTP_PORT SECONDS KIND; kinds:");
		for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
			fprintf(stderr, " %s", kinds[i].name);
		fprintf(stderr, "\n");
		return 2;
	}
	a.port = atoi(argv[1]);
	unique = (uint64_t)now_us() << 20;
	pthread_t attacker;
	pthread_create(&attacker, NULL, attack, &a);
	watch(atoi(argv[2]), atoi(argv[3]));
	over = true;
	pthread_join(attacker, NULL);
	printf(" connections=%d units=%lld ends_after=%d most_s=%.1f unended=%d goaway=%d\n",
	       a.connections, a.units, a.ends_after, a.most_s, a.unended, a.goaway);
	return 0;
}
