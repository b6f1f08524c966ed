/* Connections that switch protocols: WebSocket and its like, to origins that mean it and to those
 * that do not. */
#include "tests/kit/kit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#define ASKS "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: abc\r\n"
#define AGREES                                                                              \
	"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" \
	"Sec-WebSocket-Accept: xyz\r\n\r\n"

/* ---- an origin by hand ------------------------------------------------------------------------ */

static int door = -1;

static unsigned
open_door(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof at;
	door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	expect(bind(door, (struct sockaddr *)&at, n) == 0 && listen(door, 64) == 0);
	expect(getsockname(door, (struct sockaddr *)&at, &n) == 0);
	return ntohs(at.sin_port);
}

/* A proxy in front of it, with more lines of configuration. */
static void
start_with(const char *more)
{
	by_h1_only();
	edge_yaml(text("origins:\n  - url: http://127.0.0.1:%u\n"
		       "routes:\n  - { path: /ws, upgrade: [ WebSocket, chat ] }\n%s",
		       open_door(), more));
	edge_start();
}

static bool
comes(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	return poll(&p, 1, ms) > 0;
}

static int
take(void)
{
	expect(comes(door, KIT_FOREVER));
	int fd = accept(door, NULL, NULL);
	expect(fd >= 0);
	return fd;
}

/* Exactly n bytes, or fewer at the end. */
static size_t
hear(int fd, char *p, size_t n)
{
	size_t got = 0;
	while (got < n && comes(fd, KIT_FOREVER)) {
		ssize_t r = recv(fd, p + got, n - got, 0);
		if (r <= 0)
			break;
		got += (size_t)r;
	}
	return got;
}

/* A head, and nothing behind it. */
static char *
hear_head(int fd)
{
	static char head[8192];
	size_t n = 0;
	while (n < sizeof head - 1 && (n < 4 || memcmp(head + n - 4, "\r\n\r\n", 4) != 0))
		if (hear(fd, head + n, 1) != 1)
			break;
		else
			n++;
	head[n] = '\0';
	return head;
}

static void
say_bytes(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t r = send(fd, p, n, MSG_NOSIGNAL);
		expect(r > 0);
		p += r;
		n -= (size_t)r;
	}
}

static void
say(int fd, const char *text)
{
	say_bytes(fd, text, strlen(text));
}

static bool
has(const char *text, const char *words)
{
	return strcasestr(text, words) != NULL;
}

/* Heard of by the peer within a while: the end of what is said, or a reset. */
static bool
ends(int fd)
{
	char byte;
	return comes(fd, KIT_FOREVER) && recv(fd, &byte, 1, 0) <= 0;
}

static struct client *
request(const char *path)
{
	struct client *c = client_open();
	client_request(c, "GET", path, ASKS);
	return c;
}

/* A tunnel; the origin's end of it in *origin. */
static struct client *
tunnel(int *origin)
{
	struct client *c = request("/ws");
	*origin = take();
	hear_head(*origin);
	say(*origin, AGREES);
	expect_status(client_read_head(c), 101);
	return c;
}

static void
expect_hears(int fd, const char *words)
{
	char got[256] = "";
	hear(fd, got, strlen(words));
	expect_text(got, words);
}

static void
expect_reads(struct client *c, const char *words)
{
	char got[256] = "";
	client_read_body(c, got, strlen(words));
	expect_text(got, words);
}

/* ---- it works --------------------------------------------------------------------------------- */

SCENARIO("a route that allows it switches protocols, and both sides say what they like")
{
	start_with("access_log: \"-\"\naccess_log_format: json\n");
	struct client *c = request("/ws?room=1");
	int o = take();
	const char *head = hear_head(o);
	expect(has(head, "GET /ws?room=1 HTTP/1.1\r\n") && has(head, "Sec-WebSocket-Key: abc\r\n"));
	expect(has(head, "\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\n\r\n"));
	say(o, AGREES);
	struct answer a = client_read_head(c);
	expect_status(a, 101);
	expect_field(a, "Upgrade", "WebSocket");
	expect_field(a, "Connection", "upgrade");
	expect_field(a, "Sec-WebSocket-Accept", "xyz");
	expect_no_field(a, "Content-Length");
	expect_no_field(a, "Transfer-Encoding");
	for (int i = 0; i < 20; i++) {
		client_send(c, "ping");
		expect_hears(o, "ping");
		say(o, "pong");
		expect_reads(c, "pong");
	}
	edge_expect_stat("tunnels.opened", 1);
	edge_expect_stat("tunnels.closed", 0);
	client_close(c);
	expect(ends(o));
	close(o);
	edge_expect_stat("tunnels.closed", 1);
	edge_expect_stat("tunnels.bytes_sent", 80);
	edge_expect_stat("tunnels.bytes_received", 80);
	edge_expect_stat("requests.passed", 1);
	edge_stop();
	const char *log = edge_stdout();
	expect(has(log, "\"status\":101,\"body_bytes\":80") && has(log, "\"received\":80"));
}

SCENARIO("bytes that come early, behind the head of either side, are not lost")
{
	start_with("");
	struct client *c = client_open();
	client_send(c, "GET /ws HTTP/1.1\r\nHost: a\r\n" ASKS "\r\nearly from the client");
	int o = take();
	hear_head(o);
	expect(!comes(o, 200)); /* not before the origin has agreed */
	say(o, AGREES "early from the origin");
	expect_status(client_read_head(c), 101);
	expect_reads(c, "early from the origin");
	expect_hears(o, "early from the client");
	client_close(c);
	close(o);
}

static void
origin_ends_first(void)
{
	int o;
	char byte;
	struct client *c = tunnel(&o);
	say(o, "last words");
	shutdown(o, SHUT_WR);
	expect_reads(c, "last words");
	expect_int((long long)client_read_body(c, &byte, 1), 0);
	client_send(c, "are answered");
	expect_hears(o, "are answered");
	client_close(c);
	expect(ends(o));
	close(o);
}

SCENARIO("each direction ends by itself")
{
	start_with("");
	int o;
	struct client *c = tunnel(&o);
	client_send(c, "last words");
	client_half_close(c);
	expect_hears(o, "last words");
	expect(ends(o));
	say(o, "are answered");
	expect_reads(c, "are answered");
	close(o);
	client_expect_closed(c);

	origin_ends_first();
	edge_expect_stat("tunnels.closed", 2);
}

struct echo {
	int fd;
	uint64_t bytes;
};

static void *
echo(void *arg)
{
	struct echo *e = arg;
	char *p = malloc(1 << 16);
	for (ssize_t n; (n = recv(e->fd, p, 1 << 16, 0)) > 0; e->bytes += (uint64_t)n)
		say_bytes(e->fd, p, (size_t)n);
	shutdown(e->fd, SHUT_WR);
	free(p);
	return NULL;
}

struct talk {
	struct client *c;
	const char *text;
	size_t bytes;
};

static void *
send_all(void *arg)
{
	struct talk *t = arg;
	client_send_bytes(t->c, t->text, t->bytes);
	return NULL;
}

SCENARIO("a hundred megabytes go both ways at once, and come back as they went")
{
	size_t bytes = edge_is_sanitized() ? (size_t)8 << 20 : (size_t)100 << 20;
	start_with("");
	struct echo e = {0};
	struct client *c = tunnel(&e.fd);
	struct talk t = {c, pattern(5, bytes), bytes};
	char *got = malloc(bytes);
	pthread_t echoing, sending;
	double before = (double)edge_rss_bytes();
	if (edge_is_tls()) { /* a client of TLS is for one thread: it sends in turns */
		pthread_create(&echoing, NULL, echo, &e);
		for (size_t at = 0, n; at < bytes; at += n) {
			n = bytes - at < 65536 ? bytes - at : 65536;
			client_send_bytes(c, t.text + at, n);
			expect_int((long long)client_read_body(c, got + at, n), (long long)n);
		}
	} else {
		pthread_create(&echoing, NULL, echo, &e);
		pthread_create(&sending, NULL, send_all, &t);
		expect_int((long long)client_read_body(c, got, bytes), (long long)bytes);
		pthread_join(sending, NULL);
	}
	expect(memcmp(got, t.text, bytes) == 0);
	if (!edge_is_sanitized())
		expect_between((double)edge_rss_bytes() - before, -1e9, 4 << 20);
	client_half_close(c);
	pthread_join(echoing, NULL);
	expect_int((long long)e.bytes, (long long)bytes);
	client_expect_closed(c);
	close(e.fd);
}

/* Sends until the peer's socket has taken nothing for a while. */
static size_t
stuff(int fd, const char *p, size_t n)
{
	size_t sent = 0;
	for (int quiet = 0; quiet < 50;) {
		ssize_t r = send(fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
		quiet = r > 0 ? 0 : quiet + 1;
		sent += r > 0 ? (size_t)r : 0;
		if (r <= 0)
			kit_pause();
	}
	return sent;
}

SCENARIO("who reads nothing holds up the other side, and costs no memory")
{
	if (edge_is_sanitized())
		skip("a sanitizer keeps freed memory for itself");
	start_with("");
	enum { PIECE = 1 << 20 };
	char *piece = pattern(3, PIECE);
	int o;
	struct client *c = tunnel(&o);
	double before = (double)edge_rss_bytes();
	size_t down = stuff(o, piece, PIECE), up = 0;
	for (int quiet = 0; quiet < 50;) {
		size_t n = client_send_some(c, piece, PIECE);
		quiet = n ? 0 : quiet + 1;
		up += n;
		if (!n)
			kit_pause();
	}
	double grown = (double)edge_rss_bytes() - before;
	note("%zu KiB down and %zu KiB up lie in sockets; %.0f KiB more memory", down >> 10,
	     up >> 10, grown / 1024);
	expect_between(grown, -1e9, 4 << 20);
	char byte;
	expect_int((long long)client_read_body(c, &byte, 1), 1); /* it goes on */
	client_reset(c);
	close(o);
	edge_expect_stat("tunnels.closed", 1);
}

/* ---- how it ends ------------------------------------------------------------------------------ */

SCENARIO("a tunnel in which nothing moves ends, one in which something moves goes on")
{
	clock_hold();
	start_with("timeouts: { tunnel: 2s }\n");
	int o, other;
	struct client *idle = tunnel(&other), *c = tunnel(&o);
	for (int ms = 0; ms < 4500; ms += 300) {
		clock_advance(300);
		say(o, "tick");
		expect_reads(c, "tick");
	}
	expect(ends(other));
	client_expect_closed(idle);
	edge_expect_stat("tunnels.idle", 1);
	client_send(c, "still here");
	expect_hears(o, "still here");
	client_close(c);
	close(o);
	close(other);
}

SCENARIO("draining ends tunnels at once")
{
	clock_hold();
	start_with("timeouts: { drain: 60s }\n");
	int o;
	struct client *c = tunnel(&o);
	edge_signal(SIGTERM);
	expect(ends(o));
	client_expect_closed(c);
	expect_int(edge_wait_exit(), 0);
	close(o);
}

SCENARIO("a reset by either side reaches the other")
{
	start_with("");
	struct linger at_once = {.l_onoff = 1};
	int o;
	struct client *c = tunnel(&o);
	setsockopt(o, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
	close(o);
	size_t extra = 0;
	expect(client_try_closed(c, KIT_FOREVER, &extra));
	client_close(c);
	c = tunnel(&o);
	client_reset(c);
	expect(ends(o));
	close(o);
	edge_expect_stat("tunnels.closed", 2);
}

SCENARIO("at the limit of connections a tunnel in which nothing moves makes room, another does not")
{
	clock_hold();
	start_with("workers: 1\nlimits: { connections: 2 }\ntimeouts: { idle: 500ms }\n");
	int o, other;
	struct client *idle = tunnel(&other), *c = tunnel(&o);
	for (int ms = 0; ms < 1500; ms += 100) {
		clock_advance(100);
		client_send(c, "tick");
		expect_hears(o, "tick");
	}
	struct client *plain = client_open();
	client_request(plain, "GET", "/page", NULL);
	int p = take();
	hear_head(p);
	say(p, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage");
	expect_answer(client_read(plain, "GET"), 200, "page");
	expect(ends(other));
	client_expect_closed(idle);
	client_send(c, "still here");
	expect_hears(o, "still here");
	client_close(c);
	client_close(plain);
	close(o);
	close(p);
	close(other);
}

SCENARIO("through another proxy, by TLS: bytes, and each direction's end")
{
	by_h1_only();
	unsigned behind = edge_reserve_port();
	edge_beside(text("listen: [ \"127.0.0.1:0\", \"https://127.0.0.1:%u\" ]\nadmin: off\n"
			 "tls: { self_signed: on, strict_host: off }\ncache: { dir: none }\n"
			 "origins:\n  - url: http://127.0.0.1:%u\n"
			 "routes:\n  - { path: /ws, upgrade: [ websocket ] }\n",
			 behind, open_door()));
	edge_yaml(text("origins:\n  - { url: \"https://127.0.0.1:%u\", verify: off }\n"
		       "routes:\n  - { path: /ws, upgrade: [ websocket ] }\n",
		       behind));
	edge_start();
	enum { BYTES = 3 << 20 };
	int o;
	struct client *c = tunnel(&o);
	char *sent = pattern(7, BYTES), *got = malloc(BYTES);
	pthread_t sending;
	struct talk t = {c, sent, BYTES};
	pthread_create(&sending, NULL, send_all, &t);
	expect_int((long long)hear(o, got, BYTES), BYTES);
	pthread_join(sending, NULL);
	expect(memcmp(got, sent, BYTES) == 0);
	client_half_close(c);
	expect(ends(o));
	say(o, "are answered");
	expect_reads(c, "are answered");
	close(o);
	client_expect_closed(c);

	origin_ends_first();
	edge_expect_stat("tunnels.closed", 2);
}

/* ---- who does not get one --------------------------------------------------------------------- */

SCENARIO("without a route that allows it, or a request that asks well, Upgrade stays here")
{
	static const struct {
		const char *path, *fields;
	} rows[] = {
		{"/other", ASKS},
		{"/ws%2f..%2fadmin", ASKS}, /* nobody knows which route is meant */
		{"/ws", "Upgrade: websocket\r\n"},
		{"/ws", "Connection: Upgrade\r\n"},
		{"/ws", "Connection: Upgrade\r\nUpgrade: h2c\r\n"},
		{"/ws", "Connection: Upgrade\r\nUpgrade: websocket/13\r\n"},
		{"/ws", "Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n"},
	};
	start_with("");
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct client *c = client_open();
		client_request(c, "GET", rows[i].path, rows[i].fields);
		int o = take();
		const char *head = hear_head(o);
		expect(!has(head, "Upgrade"));
		say(o, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
		       "Upgrade: websocket\r\n\r\n");
		struct answer a = client_read(c, "GET");
		expect_status(a, 502);
		client_close(c);
		close(o);
	}
	edge_expect_stat("tunnels.opened", 0);
}

SCENARIO("of several protocols the one that is allowed is asked for")
{
	start_with("");
	struct client *c = client_open();
	client_request(c, "GET", "/ws",
		       "Connection: Upgrade\r\nUpgrade: h2c, foo/2, Chat, websocket\r\n");
	int o = take();
	expect(has(hear_head(o), "\r\nUpgrade: chat\r\n"));
	say(o, "HTTP/1.1 101 OK\r\nConnection: upgrade\r\nUpgrade: CHAT\r\n\r\nhello");
	struct answer a = client_read_head(c);
	expect_status(a, 101);
	expect_field(a, "Upgrade", "chat");
	expect_reads(c, "hello");
	client_close(c);
	close(o);
}

SCENARIO("a 101 that is not what was asked for is a 502")
{
	static const char *const rows[] = {
		"HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
		"HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n",
		"HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket, h2c\r\n\r\n",
		"HTTP/1.1 101 S\r\nConnection: Upgrade\r\n\r\n",
		"HTTP/1.1 101 S\r\nUpgrade: websocket\r\n\r\n",
		"HTTP/1.0 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		"HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
		"Content-Length: 3\r\n\r\nabc",
		"HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
		"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	};
	start_with("");
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct client *c = request("/ws");
		int o = take();
		hear_head(o);
		say(o, rows[i]);
		expect_status(client_read(c, "GET"), 502);
		expect(ends(o));
		client_close(c);
		close(o);
	}
	edge_expect_stat("tunnels.opened", 0);
}

/* ---- what one client can do to another -------------------------------------------------------- */

SCENARIO(
	"an origin that answers 200 and talks on is heard no more, and its connection is not used again")
{
	start_with("cache: { default_ttl: 60s }\n");
	struct client *c = request("/ws/page");
	int o = take();
	hear_head(o);
	say(o, "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 5\r\n\r\nfirst"
	       "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 4\r\n\r\nevil");
	struct answer a = client_read(c, "GET");
	expect_answer(a, 200, "first");
	expect_no_verdict(a, "stored");
	expect_field(a, "Connection", "close");
	client_expect_closed(c);
	expect(ends(o));
	close(o);

	c = request("/ws/page"); /* one that could be kept, by all that is said */
	o = take();
	hear_head(o);
	say(o, "HTTP/1.1 426 Upgrade Required\r\nContent-Length: 2\r\n\r\nno");
	expect_answer(client_read(c, "GET"), 426, "no");
	client_expect_closed(c);
	expect(ends(o));
	close(o);

	struct client *plain = client_open();
	client_request(plain, "GET", "/ws/page", NULL);
	o = take(); /* nothing was stored, and it is a connection of its own */
	hear_head(o);
	say(o, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood");
	expect_answer(client_read(plain, "GET"), 200, "good");
	client_close(plain);
	close(o);
}

/* One that could be two; the origin's end of the first in *origin. */
static struct client *
request_and_more(int *origin)
{
	struct client *c = client_open();
	client_send(c, "GET /ws HTTP/1.1\r\nHost: a\r\n" ASKS "\r\n"
		       "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n");
	*origin = take();
	hear_head(*origin);
	return c;
}

SCENARIO("what a client sends behind a refused upgrade is no request")
{
	start_with("");
	int o;
	struct client *c = request_and_more(&o);
	say(o, "HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n");
	expect_status(client_read(c, "GET"), 400);
	client_expect_closed(c);
	expect(ends(o));
	close(o);
	expect(!comes(door, 300));
	edge_expect_stat("requests.total", 1);
}

SCENARIO("nor is it behind an upgrade that fails here")
{
	start_with("");
	int o;
	struct client *c = request_and_more(&o);
	say(o, "HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n");
	struct answer a = client_read(c, "GET");
	expect_status(a, 502);
	expect_field(a, "Connection", "close");
	client_expect_closed(c);
	close(o);
	edge_expect_stat("requests.total", 1);
}

SCENARIO("an origin that neither speaks nor listens any more ends the tunnel for its client")
{
	start_with("");
	int o;
	struct client *c = tunnel(&o);
	close(o);
	wait_until((send(client_fd(c), "a", 1, MSG_NOSIGNAL), edge_stat("tunnels.closed") == 1));
	client_reset(c);
}

SCENARIO("an origin that has said all takes what is said to it, or the tunnel ends")
{
	enum { BYTES = 64 << 20 };
	by_h1_only();
	edge_yaml(text("origins:\n  - { url: \"http://127.0.0.1:%u\", read_timeout: 300ms }\n"
		       "routes:\n  - { path: /ws, upgrade: [ websocket ] }\n",
		       open_door()));
	clock_hold();
	edge_start();
	int o;
	struct client *c = tunnel(&o);
	char *much = pattern(1, BYTES);
	shutdown(o, SHUT_WR);
	wait_until((client_send_some(c, much, BYTES), clock_advance(100),
		    edge_stat("tunnels.closed") == 1));
	client_reset(c);
	close(o);
}

SCENARIO("requests for the same URL do not wait for a tunnel, and are not answered by it")
{
	start_with("");
	struct client *c = request("/ws");
	int o = take();
	hear_head(o);
	struct client *other = client_open();
	client_request(other, "GET", "/ws", NULL);
	int p = take();
	expect(!has(hear_head(p), "Upgrade"));
	say(p, "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nConnection: close\r\n"
	       "Content-Length: 4\r\n\r\npage");
	expect_answer(client_read(other, "GET"), 200, "page");
	say(o, AGREES);
	expect_status(client_read_head(c), 101);
	struct client *third = request("/ws"); /* though a page lies in the cache */
	int q = take();
	expect(has(hear_head(q), "Upgrade: WebSocket"));
	close(q);
	expect_status(client_read(third, "GET"), 502);
	client_close(c);
	client_close(other);
	client_close(third);
	close(o);
	close(p);
}

SCENARIO("so many tunnels and no more; they take no connection of the origin's from requests")
{
	by_h1_only();
	edge_yaml(text("origins:\n  - { url: \"http://127.0.0.1:%u\", max_connections: 1 }\n"
		       "workers: 1\nlimits: { tunnels: 3 }\n"
		       "routes:\n  - { path: /ws, upgrade: [ websocket ] }\n",
		       open_door()));
	edge_start();
	int o[3];
	struct client *c[3];
	for (int i = 0; i < 3; i++)
		c[i] = tunnel(&o[i]);
	struct client *more = request("/ws");
	struct answer a = client_read(more, "GET");
	expect_status(a, 503);
	expect_verdict(a, "detail=tunnels-full");
	edge_expect_stat("tunnels.refused", 1);
	client_close(more);
	struct client *plain = client_open();
	client_request(plain, "GET", "/page", NULL);
	int p = take();
	hear_head(p);
	say(p, "HTTP/1.1 200 OK\r\nConnection: close\r\n"
	       "Content-Length: 4\r\n\r\npage");
	expect_answer(client_read(plain, "GET"), 200, "page");
	client_close(plain);
	client_close(c[0]);
	expect(ends(o[0]));
	close(o[0]);
	edge_expect_stat("tunnels.closed", 1);
	c[0] = tunnel(&o[0]);
	for (int i = 0; i < 3; i++) {
		client_close(c[i]);
		close(o[i]);
	}
	close(p);
}

SCENARIO("many tunnels take no place of the requests' either")
{
	enum { MANY = 17 };
	by_h1_only();
	edge_yaml(text("origins:\n  - { url: \"http://127.0.0.1:%u\", max_connections: 1, "
		       "connect_timeout: 2s }\nworkers: 1\n"
		       "routes:\n  - { path: /ws, upgrade: [ websocket ] }\n",
		       open_door()));
	clock_hold();
	edge_start();
	int o[MANY];
	struct client *c[MANY];
	for (int i = 0; i < MANY; i++)
		c[i] = tunnel(&o[i]);
	struct client *plain = client_open();
	client_request(plain, "GET", "/page", NULL);
	int p = take();
	hear_head(p);
	say(p, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage");
	expect_answer(client_read(plain, "GET"), 200, "page");
	for (int i = 0; i < MANY; i++) {
		client_close(c[i]);
		close(o[i]);
	}
	close(p);
}

SCENARIO("a client that leaves before the 101 leaves no tunnel behind")
{
	start_with("");
	struct client *c = request("/ws");
	int o = take();
	hear_head(o);
	client_reset(c);
	expect(ends(o));
	close(o);
	edge_expect_stat("tunnels.opened", 0);
	c = tunnel(&o);
	client_close(c);
	close(o);
}

SCENARIO("a call both ways pauses for longer than timeouts.body, and not for timeouts.tunnel")
{
	enum { ROUNDS = 6, STEP_MS = 1500 };
	uint8_t got[5];
	edge_yaml(text("listen: [ \"127.0.0.1:0\", \"h2c://127.0.0.1:0\" ]\n"
		       "origins:\n  - url: http://127.0.0.1:%u\n"
		       "timeouts: { body: 200ms, tunnel: 10s }\n"
		       "routes:\n  - { path: /call, stream: on }\n",
		       open_door()));
	clock_hold();
	edge_start();
	struct client *c = h2_raw_open();
	h2_raw_headers(c, H2_END_HEADERS, 1,
		       (const char *const[]){":method", "POST", ":scheme", "http", ":authority",
					     "a", ":path", "/call", NULL});
	int o = take();
	hear_head(o);
	say(o, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
	for (int i = 0; i < ROUNDS; i++) {
		h2_raw_frame(c, H2_DATA, 0, 1, "hello", 5);
		expect_hears(o, "5\r\nhello\r\n");
		for (int k = 0; k < 2; k++)
			clock_advance(STEP_MS);
		say(o, "5\r\nworld\r\n");
		expect(h2_raw_wait(c, H2_DATA, 1, got, sizeof got) &&
		       memcmp(got, "world", sizeof got) == 0);
	}
	edge_expect_stat("connections.too_slow", 0);
	for (int i = 0; i < 8; i++)
		clock_advance(STEP_MS);
	edge_wait_stat("connections.too_slow", 1);
	client_close(c);
	close(o);
}

SCENARIO("an upgrade that cannot work is named before the start")
{
	by_http_only();
	static const struct {
		const char *yaml, *says;
	} rows[] = {
		{"routes:\n  - { path: /a, upgrade: [ h2c ] }\n", "h2c would bring requests past"},
		{"routes:\n  - { path: /a, upgrade: [ \"web socket\" ] }\n",
		 "\"web socket\" is no name"},
		{"listen: [ \"h2c://127.0.0.1:0\" ]\nroutes:\n"
		 "  - { path: /a, upgrade: [ websocket ] }\n",
		 "HTTP/2 has no Upgrade"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char *says;
		edge_yaml(rows[i].yaml);
		expect(edge_refuses(&says) != 0);
		expect(has(says, rows[i].says) && has(says, "upgrade"));
	}
}
