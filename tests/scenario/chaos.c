/* Everybody misbehaves at once: an origin that closes, resets, drips, babbles and lies about
 * lengths; clients that leave in every state, send halves, pipeline and do not read. What arrives
 * whole must be true to its ETag, nobody waits for ever, and when all are gone nothing is left:
 * no connection, no flight, and a clean exit (with MODE=asan: no leak).
 *
 * CHAOS_SEED repeats a run; TWICE_LONG makes it longer.
 */
#include "tests/kit/kit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { PATHS = 24, CLIENTS = 8, BODY_MOST = 300000, PIPELINE = 30 };

#define TIMES                                                                    \
	"timeouts:\n  header: 500ms\n  idle: 1h\n  body: 300ms\n  send: 500ms\n" \
	"  coalesce: 300ms\n"                                                    \
	"origins:\n  - url: %O\n    read_timeout: 400ms\n    max_connections: 6\n"

static _Atomic long answers, whole, cuts, refusals;
static int turns_each;

struct dice {
	unsigned state;
};

static unsigned
roll(struct dice *d, unsigned sides)
{
	return (unsigned)rand_r(&d->state) % sides;
}

/* ---- the origin ---------------------------------------------------------------------------- */

static size_t
size_of(int path)
{
	static const size_t sizes[] = {0, 1, 700, 20000, 70000, BODY_MOST};
	return sizes[path % 6];
}

static char *
hints(int n)
{
	static const char hint[] = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
	char *s = malloc((size_t)n * sizeof hint + 1);
	*s = 0;
	for (int i = 0; i < n; i++)
		memcpy(s + (size_t)i * (sizeof hint - 1), hint, sizeof hint);
	return s;
}

static void
misbehave(const char *path, struct say s, unsigned how)
{
	switch (how) {
	case 0:
		s.cut = true, s.cut_at = s.pattern_bytes / 2;
		break;
	case 1:
		s.cut = s.reset = true, s.cut_at = s.pattern_bytes / 3;
		break;
	case 2:
		s.promise = s.pattern_bytes + 100, s.close = true;
		break;
	case 3:
		s = (struct say){.mute = true};
		break;
	case 4:
		s = (struct say){.raw = "HTTP/1.1 200 OK\r\nContent-Le"};
		break;
	case 5:
		s = (struct say){
			.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n"};
		break;
	case 6:
		s = (struct say){.raw = "\x16\x03\x01 what?\r\n\r\n"};
		break;
	case 7:
		s = (struct say){
			.raw = "HTTP/1.1 200 OK\r\nETag: \"x\"\r\nContent-Length: 2\r\n\r\nab"
			       "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"};
		break;
	case 8:
		s.interim = hints(800);
		break;
	case 9:
		s.early = true;
		break;
	case 10:
		s.drip = 1 + s.pattern_bytes / 50;
		break;
	default:
		s = (struct say){.status = 503, .body = "no"};
	}
	s.times = 1;
	origin_script(path, &s);
}

static void
script(struct dice *d, int path)
{
	static const char *const lives[] = {"max-age=600",
					    "max-age=600\r\nAge: 600",
					    "max-age=0, stale-while-revalidate=60",
					    "no-store",
					    "private",
					    "max-age=600\r\nVary: X-Kind",
					    "no-cache",
					    "max-age=0, stale-if-error=600"};
	const char *target = text("/%d", path);
	for (int v = 0; v < 60; v++) {
		struct say s = {
			.fields = text("Cache-Control: %s\r\n", lives[path % 8]),
			.etag = text("\"%d-%d\"", path, v / 4),
			.pattern_bytes = size_of(path),
			.seed = (uint64_t)(path * 100 + v / 4),
			.chunked = roll(d, 3) == 0,
			.ranges = roll(d, 2),
			.times = 1 + (int)roll(d, 6),
		};
		if (!s.pattern_bytes)
			s.body = "";
		origin_script(target, &s);
		if (roll(d, 2))
			misbehave(target, s, roll(d, 12));
	}
}

/* ---- clients ------------------------------------------------------------------------------- */

static void
check(struct answer a, int path)
{
	static _Thread_local char want[BODY_MOST];
	int p = -1, v = -1;
	size_t first = 0, last, total;
	answers++;
	if (a.cut || a.status == 0) {
		cuts++;
		return;
	}
	expect_that(!a.fault, "/%d: %s\n%s", path, a.fault, a.head);
	if (a.status != 200 && a.status != 206) {
		refusals++;
		expect_that(a.status == 304 || (a.status >= 400 && a.status < 600), "/%d: %s", path,
			    a.head);
		return;
	}
	const char *etag = field(a, "ETag"), *range = field(a, "Content-Range");
	if (!etag || sscanf(etag, "\"%d-%d\"", &p, &v) != 2)
		return; /* one of the raw ones, or a length that nobody promised */
	expect_that(p == path, "/%d: ETag %s", path, etag);
	expect_that(a.status == 200 || (range && sscanf(range, "bytes %zu-%zu/%zu", &first, &last,
							&total) == 3),
		    "/%d: %s", path, a.head);
	if (a.status == 200)
		expect_that(a.body_bytes == size_of(path), "/%d: %zu bytes\n%s", path, a.body_bytes,
			    a.head);
	pattern_fill(want, a.body_bytes, (uint64_t)(p * 100 + v), first);
	expect_that(memcmp(a.body, want, a.body_bytes) == 0, "/%d: wrong bytes\n%s", path, a.head);
	whole++;
}

static char *
request(struct dice *d, int path, const char *method)
{
	static const char *const extra[] = {"",
					    "",
					    "",
					    "X-Kind: 1\r\n",
					    "X-Kind: 2\r\n",
					    "Range: bytes=10-400\r\n",
					    "Range: bytes=600-\r\n",
					    "Cache-Control: no-cache\r\n",
					    "If-None-Match: \"0-0\", \"3-1\"\r\n"};
	return text("%s /%d HTTP/1.1\r\nHost: h\r\n%s\r\n", method, path, extra[roll(d, 9)]);
}

/* False: the connection is of no more use. */
static bool
take_answer(struct client *c, int path, const char *method)
{
	struct answer a = client_try(c, method);
	if (*method == 'G')
		check(a, path);
	const char *connection = a.status ? field(a, "Connection") : "close";
	return !a.cut && !a.fault && !(connection && strcmp(connection, "close") == 0);
}

static bool
pipeline(struct client *c, struct dice *d)
{
	int path[PIPELINE], n = 2 + (int)roll(d, PIPELINE - 2);
	size_t bytes = 0;
	static _Thread_local char all[PIPELINE * 200];
	for (int i = 0; i < n; i++) {
		path[i] = (int)roll(d, PATHS);
		bytes += (size_t)snprintf(all + bytes, sizeof all - bytes, "%s",
					  request(d, path[i], "GET"));
	}
	if (client_send_some(c, all, bytes) < bytes)
		return false;
	int leaves = roll(d, 3) ? n : (int)roll(d, (unsigned)n);
	for (int i = 0; i < leaves; i++)
		if (!take_answer(c, path[i], "GET"))
			return false;
	return leaves == n;
}

static bool
upload(struct client *c, struct dice *d)
{
	static const char zeros[40000];
	size_t n = 1 + roll(d, sizeof zeros - 1), sent = roll(d, 3) ? n : roll(d, (unsigned)n);
	bool chunked = roll(d, 2);
	char *head = text("POST /%d HTTP/1.1\r\nHost: h\r\n%s%s\r\n", (int)roll(d, PATHS),
			  roll(d, 2) ? "Expect: 100-continue\r\n" : "",
			  chunked ? "Transfer-Encoding: chunked\r\n"
				  : text("Content-Length: %zu\r\n", n));
	client_send_some(c, head, strlen(head));
	if (chunked) {
		char *line = text("%zx\r\n", n);
		client_send_some(c, line, strlen(line));
	}
	if (client_send_some(c, zeros, sent) < sent || (sent < n && roll(d, 2)))
		return false; /* leaves in the middle */
	if (chunked && sent == n)
		client_send_some(c, "\r\n0\r\n\r\n", 7);
	return take_answer(c, 0, "POST") && sent == n;
}

/* One thing that a client does; false: it needs another connection. */
static bool
turn(struct client *c, struct dice *d)
{
	int path = roll(d, 2) ? (int)roll(d, 4) : (int)roll(d, PATHS);
	char *r = request(d, path, roll(d, 12) ? "GET" : "HEAD");
	size_t n = strlen(r);
	switch (roll(d, 12)) {
	case 0:
		return pipeline(c, d);
	case 1:
		return upload(c, d);
	case 2: /* a head in two halves, or one half only */
		client_send_some(c, r, n / 2);
		if (roll(d, 3) == 0)
			return false;
		client_send_some(c, r + n / 2, n - n / 2);
		break;
	case 3: /* leaves at once */
		client_send_some(c, r, n);
		return false;
	case 4: /* leaves a little later */
		client_send_some(c, r, n);
		for (unsigned i = roll(d, 20); i; i--)
			kit_pause();
		return false;
	case 5:
		client_send_some(c, r, n);
		client_half_close(c);
		take_answer(c, path, *r == 'G' ? "GET" : "HEAD");
		return false;
	case 6:
		client_send_some(c, "DELETE /3 HTTP/1.1\r\nHost: h\r\n\r\n", 32);
		return take_answer(c, 3, "DELETE");
	default:
		client_send_some(c, r, n);
	}
	return take_answer(c, path, *r == 'G' ? "GET" : "HEAD");
}

static void *
client(void *ctx)
{
	struct dice *d = ctx;
	struct client *c = client_open();
	for (int i = 0; i < turns_each; i++) {
		if (turn(c, d))
			continue;
		if (roll(d, 2))
			client_reset(c);
		else
			client_close(c);
		c = roll(d, 8) ? client_open() : client_open_narrow();
	}
	client_close(c);
	return NULL;
}

static unsigned
seed(void)
{
	const char *given = getenv("CHAOS_SEED");
	return given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)getpid() * 2654435761u;
}

SCENARIO_IN(120, "origins and clients that misbehave in every state leave nothing behind")
{
	pthread_t thread[CLIENTS];
	struct dice dice[CLIENTS], first = {seed()};
	note("CHAOS_SEED=%u", first.state);
	turns_each = kit_long() ? 3000 : 150;
	for (int i = 0; i < PATHS; i++)
		script(&first, i);
	edge_yaml(TIMES);
	edge_start("--disk", "8MiB", "--memory", "1MiB", "--workers", "3");
	for (int i = 0; i < CLIENTS; i++) {
		dice[i].state = first.state + (unsigned)i * 7919;
		pthread_create(&thread[i], NULL, client, &dice[i]);
	}
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(thread[i], NULL);
	note("%ld answers: %ld whole, %ld cut, %ld refusals; %d requests at the origin", answers,
	     whole, cuts, refusals, origin_requests());
	expect(whole > answers / 10);
	wait_until(edge_stat("connections.open") == 0);
	wait_until(edge_stat("flights.active") == 0);
	wait_until(edge_stat("flights.bytes") == 0);
}
