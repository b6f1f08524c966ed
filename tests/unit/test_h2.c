/* test_h2.c - HTTP/2 against a serve that does what the test says, when the test says it: orders of
 * events that a real serve brings about now and then.
 * rooms: wire http base
 */
#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/wire/tls_server.h"

#include "tests/kit/own_clock.h"
#include "tests/kit/own_wire.h"
#include "tests/kit/unit.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* LEAST: bytes a second. */
enum { MOST = 32, BIG = 15000, SOCKET = 4096 };
enum { BODY_S = 60, SEND_S = 60, TUNNEL_S = 300, LEAST = 500 };

static struct {
	struct stream *streams[MOST]; /* in the order in which they came */
	bool done[MOST];
	enum stream_end end[MOST];
	size_t n, done_n;
	uint64_t left[MOST]; /* of the bodies of their answers */
	unsigned messages;   /* that can be pulled */
	unsigned bodies;     /* calls of on_body */
	bool keeps;	     /* ... their arenas, as a fetch does */
	struct arena *kept[MOST];
	struct own_wire own;
} all;

/* ---- serve ----------------------------------------------------------------------------------- */

static void *
on_request(void *node, struct stream *s, const struct stream_request *r)
{
	(void)node;
	ck_assert_ptr_null(r->fault);
	ck_assert_uint_lt(all.n, MOST);
	if (all.keeps)
		all.kept[all.n] = arena_ref(r->arena);
	all.streams[all.n] = s;
	return &all.streams[all.n++];
}

static void
on_body(void *ctx)
{
	(void)ctx;
	all.bodies++;
}

static void
on_done(void *ctx, enum stream_end how, uint64_t bytes)
{
	size_t i = (size_t)((struct stream **)ctx - all.streams);
	(void)bytes;
	ck_assert(!all.done[i]);
	all.done[i] = true;
	all.end[i] = how;
	all.done_n++;
}

static const struct stream_up up = {on_request, on_body, on_done, NULL};

static void
answer(size_t i, struct str value)
{
	const struct stream_line line = {STR("X"), value};
	stream_head(all.streams[i], &(struct stream_head){.status = 200, .add = &line, .add_n = 1},
		    NULL);
}

/* This nearly fills a record of TLS; a small socket does not take it. */
static struct str
big(void)
{
	static char text[BIG];
	memset(text, '~', sizeof text);
	return (struct str){text, sizeof text};
}

static enum stream_pull
pull(void *ctx, size_t most, struct str *pieces, unsigned *n)
{
	uint64_t *left = ctx;
	size_t bytes = *left < BIG ? (size_t)*left : BIG;
	pieces[(*n)++] = (struct str){big().p, bytes < most ? bytes : most};
	*left -= pieces[0].n;
	return STREAM_PULL_SOME;
}

static enum stream_pull
pull_message(void *ctx, size_t most, struct str *pieces, unsigned *n)
{
	(void)ctx, (void)most;
	if (all.messages == 0)
		return STREAM_PULL_LATER;
	all.messages--;
	pieces[(*n)++] = STR("hello");
	return STREAM_PULL_SOME;
}

static void
answer_body(size_t i, uint64_t bytes)
{
	all.left[i] = bytes;
	stream_head(all.streams[i], &(struct stream_head){.status = 200, .bytes = bytes},
		    &(struct stream_source){.pull = bytes == LENGTH_UNKNOWN ? pull_message : pull,
					    .ctx = &all.left[i]});
}

/* ---- the client's side ----------------------------------------------------------------------- */

static void
begin(void)
{
	static const struct wire_limits limits = {.head_bytes = 4096,
						  .url_bytes = 1000,
						  .field_count = 50,
						  .h2_streams = MOST - 1,
						  .h2_resets = 1000,
						  .h2_frames = 1000,
						  .header_ms = 60000,
						  .idle_ms = 60000,
						  .body_ms = BODY_S * 1000,
						  .send_ms = SEND_S * 1000,
						  .tunnel_ms = TUNNEL_S * 1000,
						  .least_rate = LEAST,
						  .half_close_ms = 60000};
	own_clock_hold();
	own_wire_begin(&all.own, &up, &all, &limits, 3);
}

static void
end(void)
{
	own_wire_end(&all.own);
	ck_assert_uint_eq(all.done_n, all.n);
}

static void
turn(void)
{
	for (int i = 0; i < 20; i++)
		event_base_loop(all.own.base, EVLOOP_NONBLOCK);
}

/* More may come to the client: if it does, at once or when this is called again. */
static void
wait_for(int fd)
{
	turn();
	poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 10);
	turn();
}

static void
frame(int fd, uint8_t type, uint8_t flags, uint8_t id, const char *p, size_t n)
{
	char text[64] = {[1] = (char)(n >> 8), (char)n, (char)type, (char)flags, [8] = (char)id};
	ck_assert_uint_le(9 + n, sizeof text);
	memcpy(text + 9, p, n);
	ck_assert_int_eq(send(fd, text, 9 + n, MSG_NOSIGNAL), (ssize_t)(9 + n));
}

/* So much of a body. */
static void
data(int fd, uint8_t id, size_t n)
{
	char text[9 + BIG] = {[1] = (char)(n >> 8), (char)n, [8] = (char)id};
	ck_assert_uint_le(n, BIG);
	ck_assert_int_eq(send(fd, text, 9 + n, MSG_NOSIGNAL), (ssize_t)(9 + n));
	turn();
}

/* More of a window; id 0: the connection's. */
static void
grant(int fd, uint8_t id, uint32_t n)
{
	const char text[4] = {(char)(n >> 24), (char)(n >> 16), (char)(n >> 8), (char)n};
	frame(fd, 8, 0, id, text, sizeof text);
}

/* Frames that came, by kind. */
static struct {
	unsigned n[256];
	uint8_t head[9];
	size_t head_n, skip;
} came;
enum { CAME_RST_STREAM = 3, CAME_GOAWAY = 7 };

static void
note_byte(uint8_t byte)
{
	if (came.skip) {
		came.skip--;
		return;
	}
	came.head[came.head_n++] = byte;
	if (came.head_n < sizeof came.head)
		return;
	came.n[came.head[3]]++;
	came.head_n = 0;
	came.skip = (size_t)came.head[0] << 16 | (size_t)came.head[1] << 8 | came.head[2];
}

/* The client reads all that comes. */
static void
read_all(int fd)
{
	static uint8_t text[BIG];
	ssize_t n;
	turn();
	for (int i = 0; i < 2; i++, wait_for(fd))
		while ((n = recv(fd, text, sizeof text, MSG_DONTWAIT)) > 0) {
			for (ssize_t k = 0; k < n; k++)
				note_byte(text[k]);
			turn();
		}
}

/* The client has read so many frames of this kind. */
static void
read_until(int fd, unsigned kind, unsigned n)
{
	do
		read_all(fd);
	while (came.n[kind] < n);
	ck_assert_uint_eq(came.n[kind], n);
}

static void
pass(int seconds)
{
	own_wire_pass(&all.own, &own_clock_ahead_ms, seconds, turn);
}

/* Sockets are small on both sides. */
static int
open_socket(const struct listener *listener)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	int door = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
	int bytes = SOCKET, one = 1;
	ck_assert_int_eq(bind(door, (struct sockaddr *)&a, sizeof a) | listen(door, 5), 0);
	ck_assert_int_eq(getsockname(door, (struct sockaddr *)&a, &n), 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
	struct arrival arrival = {.fd = accept4(door, NULL, NULL, SOCK_NONBLOCK),
				  .listener = listener};
	setsockopt(arrival.fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
	memcpy(&arrival.peer, &a, sizeof a);
	close(door);
	wire_accept(all.own.wire, &arrival);
	return fd;
}

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";

static int
open_client(void)
{
	static const struct listener listener = {.scheme = STR_INIT("http"), .h2 = true};
	int fd = open_socket(&listener);
	ck_assert_int_eq(send(fd, preface, sizeof preface - 1, MSG_NOSIGNAL),
			 (ssize_t)sizeof preface - 1);
	return fd;
}

/* GET http://h/ */
static void
ask(int fd, uint8_t id)
{
	frame(fd, 1, 5, id, "\x82\x86\x84\x41\x01h", 6);
}

/* ---- orders of events ------------------------------------------------------------------------ */

/* An interim answer waits, with answers to others that fill the socket, when its stream is to be reset
 * for what the client sent: it cannot go any more, nor can the reset yet. Then the head comes. */
START_TEST(a_head_comes_behind_an_interim_answer_that_could_not_go)
{
	enum { OTHERS = 20 };
	char text[SOCKET];
	begin();
	int fd = open_client();
	for (uint8_t i = 0; i <= OTHERS; i++)
		ask(fd, (uint8_t)(2 * i + 1));
	turn();
	ck_assert_uint_eq(all.n, 1 + OTHERS);
	own_wire_hint(all.streams[0], STR("Link"), STR("<x>"));
	for (size_t i = 1; i <= OTHERS; i++)
		answer(i, big());
	frame(fd, 8, 0, 1, "\x7f\xff\xff\xff", 4); /* its window overflows */
	turn();
	ck_assert(!all.done[0]);
	answer(0, STR("y"));
	turn();
	ck_assert(!all.done[0]);
	for (; all.done_n < all.n; wait_for(fd))
		while (recv(fd, text, sizeof text, MSG_DONTWAIT) > 0)
			;
	ck_assert_uint_eq(all.done_n, all.n);
	ck_assert_int_eq(all.end[0], STREAM_GONE);
	close(fd);
	end();
}
END_TEST

/* Three seconds: the session's frame and its table are given back. */
START_TEST(a_connection_that_was_idle_answers_as_before)
{
	begin();
	int fd = open_client();
	for (uint8_t i = 0; i < 3; i++) {
		ask(fd, (uint8_t)(2 * i + 1));
		turn();
		answer(i, i % 2 ? STR("y") : big());
		read_until(fd, 1, i + 1u);
		while (all.done_n <= i)
			read_all(fd);
		ck_assert_int_eq(all.end[i], STREAM_SENT);
		pass(3);
	}
	close(fd);
	turn();
	end();
}
END_TEST

/* ---- what the client could not know ------------------------------------------------------------ */

/* A request with a body that is not complete. */
static void
post(int fd, uint8_t id)
{
	frame(fd, 1, 4, id, "\x83\x86\x84\x41\x01h", 6);
}

/* Up to a stream's window may be on its way when the client hears that it is of no use. */
START_TEST(the_rest_of_a_body_that_was_refused_is_no_offence)
{
	begin();
	int fd = open_client();
	post(fd, 1);
	turn();
	answer(0, STR("x"));
	read_all(fd);
	ck_assert_uint_eq(all.done_n, 1);
	for (int i = 0; i < 4; i++)
		data(fd, 1, BIG);
	ask(fd, 3);
	turn();
	ck_assert_uint_eq(all.n, 2);
	answer(1, STR("y"));
	read_all(fd);
	ck_assert_uint_eq(all.done_n, 2);
	ck_assert_int_eq(all.end[1], STREAM_SENT);
	ck_assert_uint_eq(came.n[CAME_GOAWAY], 0);
	/* It is forgiven once. */
	for (int i = 0; i < 4; i++)
		data(fd, 1, BIG);
	read_until(fd, CAME_GOAWAY, 1);
	close(fd);
	turn();
	end();
}
END_TEST

/* Fetches go on for as many requests as there may be. */
START_TEST(the_body_of_a_request_that_was_refused_is_no_offence)
{
	enum { REFUSED = MOST - 1 };
	begin();
	int fd = open_client();
	all.keeps = true;
	for (uint8_t i = 0; i < REFUSED; i++) {
		ask(fd, (uint8_t)(2 * i + 1));
		turn();
		answer(i, STR("x"));
		read_all(fd);
	}
	post(fd, 2 * REFUSED + 1);
	read_until(fd, CAME_RST_STREAM, 1);
	ck_assert_uint_eq(all.own.metrics.n[METRIC_H2_REFUSED], 1);
	for (int i = 0; i < 4; i++)
		data(fd, 2 * REFUSED + 1, BIG);
	for (size_t i = 0; i < REFUSED; i++)
		arena_unref(&all.kept[i]);
	all.keeps = false;
	ask(fd, 2 * REFUSED + 3);
	turn();
	ck_assert_uint_eq(all.n, REFUSED + 1);
	answer(REFUSED, STR("y"));
	read_all(fd);
	ck_assert_int_eq(all.end[REFUSED], STREAM_SENT);
	close(fd);
	turn();
	end();
}
END_TEST

/* So are those of requests that came behind the last GOAWAY. */
START_TEST(a_body_sent_before_the_last_GOAWAY_was_heard_is_no_offence)
{
	begin();
	int fd = open_client();
	ask(fd, 1);
	turn();
	wire_drain(all.own.wire);
	pass(1);
	read_until(fd, CAME_GOAWAY, 2);
	post(fd, 3);
	for (int i = 0; i < 4; i++)
		data(fd, 3, BIG);
	ck_assert_uint_eq(all.n, 1);
	ck_assert_uint_eq(all.done_n, 0);
	answer(0, STR("y"));
	read_all(fd);
	ck_assert_int_eq(all.end[0], STREAM_SENT);
	ck_assert_uint_eq(came.n[CAME_GOAWAY], 2);
	close(fd);
	end();
}
END_TEST

START_TEST(the_last_GOAWAY_is_said_once)
{
	begin();
	int fd = open_client();
	ask(fd, 1);
	turn();
	wire_drain(all.own.wire);
	pass(5);
	frame(fd, 6, 1, 0, "12345678", 8); /* the answer to the PING */
	read_until(fd, CAME_GOAWAY, 2);
	answer(0, STR("y"));
	read_all(fd);
	ck_assert_int_eq(all.end[0], STREAM_SENT);
	close(fd);
	end();
}
END_TEST

/* As gRPC does: each message brings a PING, by which the client measures the path, and a window. */
START_TEST(a_client_answers_each_small_message_with_frames)
{
	enum { MESSAGES = 3000 };
	begin();
	int fd = open_client();
	ask(fd, 1);
	turn();
	answer_body(0, LENGTH_UNKNOWN);
	for (int i = 0; i < MESSAGES; i++) {
		char text[100];
		all.messages++;
		stream_ready(all.streams[0]);
		turn();
		frame(fd, 6, 0, 0, "12345678", 8);
		grant(fd, 0, 5);
		turn();
		while (recv(fd, text, sizeof text, MSG_DONTWAIT) > 0)
			;
		ck_assert_uint_eq(all.done_n, 0);
	}
	close(fd);
	turn();
	end();
}
END_TEST

/* ---- clients that keep up, and those that do not ------------------------------------------------ */

/* A client with windows of a megabyte for each stream. */
static int
open_wide(void)
{
	int fd = open_client();
	frame(fd, 4, 0, 0, "\0\4\0\x20\0\0", 6);
	return fd;
}

/* Answers of equal urgency go one after the other: the second waits for the first. */
START_TEST(a_download_that_waits_its_turn_is_not_cut)
{
	begin();
	int fd = open_wide();
	for (size_t i = 0; i < 2; i++) {
		ask(fd, (uint8_t)(2 * i + 1));
		turn();
		answer_body(i, 1 << 20);
	}
	for (int i = 0; i < 3 * SEND_S; i++) {
		read_all(fd);
		grant(fd, 0, 2 * LEAST);
		pass(1);
	}
	ck_assert_uint_eq(all.done_n, 0);
	pass(2 * SEND_S + 1);
	read_all(fd);
	ck_assert_uint_eq(all.done_n, 2);
	ck_assert_int_eq(all.end[0], STREAM_SLOW);
	ck_assert_int_eq(all.end[1], STREAM_SLOW);
	close(fd);
	turn();
	end();
}
END_TEST

/* A client that lets no answer in has a part of its requests begun; the next one when one of these has a
 * window or is over. */
START_TEST(requests_without_a_window_are_begun_some_at_a_time)
{
	enum { AT_ONCE = 8, ALL = 20 };
	begin();
	int fd = open_client();
	frame(fd, 4, 0, 0, "\0\4\0\0\0\0", 6);
	for (uint8_t i = 0; i < ALL; i++)
		ask(fd, (uint8_t)(2 * i + 1));
	turn();
	ck_assert_uint_eq(all.n, AT_ONCE);
	answer_body(0, BIG);
	turn();
	ck_assert_uint_eq(all.n, AT_ONCE);
	grant(fd, 1, 1 << 20); /* it is sent, and over */
	read_all(fd);
	ck_assert_uint_eq(all.done_n, 1);
	ck_assert_uint_eq(all.n, AT_ONCE + 1);
	grant(fd, 5, 1 << 20);
	turn();
	ck_assert_uint_eq(all.n, AT_ONCE + 2);
	answer(4, STR("no body"));
	read_all(fd);
	ck_assert_uint_eq(all.n, AT_ONCE + 3);
	frame(fd, 3, 0, 2 * ALL - 1, "\0\0\0\x8", 4); /* one that was not begun */
	turn();
	ck_assert_uint_eq(all.n, AT_ONCE + 3);
	frame(fd, 4, 0, 0, "\0\4\0\0\xff\xff", 6); /* as most clients have it */
	turn();
	ck_assert_uint_eq(all.n, ALL - 1);
	ck_assert_uint_eq(all.own.metrics.n[METRIC_H2_REFUSED], 0);
	close(fd);
	turn();
	end();
}
END_TEST

/* Serve waits for more of its body. */
static void
want(size_t i)
{
	struct str bytes;
	const struct fault *why;
	ck_assert_int_eq(stream_body(all.streams[i], &bytes, &why), STREAM_BODY_WAIT);
}

/* Bodies that serve does not take use up the connection's window: no other may be sent. */
START_TEST(a_body_that_may_not_be_sent_is_waited_for)
{
	enum { OTHERS = 4, WINDOW = 65535 };
	const struct fault *why;
	struct str bytes;
	begin();
	int fd = open_client();
	for (uint8_t i = 0; i <= OTHERS; i++)
		post(fd, (uint8_t)(2 * i + 1));
	turn();
	for (uint8_t i = 0; i < OTHERS; i++)
		for (size_t left = WINDOW, n; left; left -= n) {
			n = left < BIG ? left : BIG;
			data(fd, (uint8_t)(2 * i + 1), n);
		}
	want(OTHERS);
	pass(2 * BODY_S);
	ck_assert_uint_eq(all.bodies, 0);
	for (size_t i = 0; i < OTHERS; i++) {
		ck_assert_int_eq(stream_body(all.streams[i], &bytes, &why), STREAM_BODY_SOME);
		stream_took(all.streams[i], bytes.n);
	}
	want(OTHERS);
	pass(2 * BODY_S);
	ck_assert_uint_eq(all.bodies, 1);
	ck_assert_int_eq(stream_body(all.streams[OTHERS], &bytes, &why), STREAM_BODY_FAULT);
	ck_assert_ptr_eq(why, &fault_BODY_TIMEOUT);
	close(fd);
	turn();
	end();
}
END_TEST

/* On a route whose calls talk both ways either side may say nothing for long, but not both for as long
 * as a tunnel may be silent. */
START_TEST(a_call_in_which_nobody_speaks_has_an_end)
{
	const struct fault *why;
	struct str bytes;
	begin();
	int fd = open_client();
	post(fd, 1);
	turn();
	want(0);
	stream_head(all.streams[0],
		    &(struct stream_head){.status = 200,
					  .bytes = LENGTH_UNKNOWN,
					  .pauses = STREAM_PAUSES_REQUEST},
		    &(struct stream_source){.pull = pull_message});
	for (unsigned i = 0; i < 4; i++) {
		pass(TUNNEL_S - 10);
		ck_assert_uint_eq(all.done_n, 0);
		if (i % 2) {
			all.messages++;
			stream_ready(all.streams[0]);
		} else {
			data(fd, 1, 5);
			ck_assert_int_eq(stream_body(all.streams[0], &bytes, &why),
					 STREAM_BODY_SOME);
			stream_took(all.streams[0], bytes.n);
			want(0);
		}
		read_all(fd);
	}
	ck_assert_uint_eq(all.own.metrics.n[METRIC_SLOW_CLIENTS], 0);
	pass(TUNNEL_S + 2);
	ck_assert_uint_eq(all.done_n, 1);
	ck_assert_uint_eq(all.own.metrics.n[METRIC_SLOW_CLIENTS], 1);
	read_until(fd, CAME_RST_STREAM, 1);
	close(fd);
	turn();
	end();
}
END_TEST

/* A client that takes whatever is sent to it, at once. */
static bool swallows;

ssize_t
send(int fd, const void *p, size_t n, int flags)
{
	return swallows ? (ssize_t)n : sendto(fd, p, n, flags, NULL, 0);
}

/* Its last bytes are also the last of a connection's turn. */
START_TEST(an_answer_that_ends_with_the_turn_and_the_session_is_whole)
{
	enum { BYTES = (1 << 20) + 20000 };
	begin();
	int fd = open_wide();
	grant(fd, 0, 2 << 20);
	ask(fd, 1);
	frame(fd, 7, 0, 0, "\0\0\0\0\0\0\0", 8);
	turn();
	swallows = true;
	answer_body(0, BYTES);
	turn();
	swallows = false;
	ck_assert_uint_eq(all.done_n, 1);
	ck_assert_int_eq(all.end[0], STREAM_SENT);
	close(fd);
	turn();
	end();
}
END_TEST

/* ---- by TLS ---------------------------------------------------------------------------------- */

static struct {
	struct listener listener;
	SSL_CTX *ctx;
	SSL *ssl;
} tls;

static struct tls_server *
make_server(void)
{
	struct tls_problems problems = {0};
	struct tls_server *s =
		tls_server_create(&(struct tls_server_options){.certs.self_signed = true,
							       .ticket_period_s = 3600,
							       .h2 = true,
							       .handshakes = 3},
				  &problems);
	ck_assert_ptr_nonnull(s);
	return s;
}

/* A client that has shaken hands, and sent the preface. */
static SSL *
open_by_tls(SSL_CTX *ctx, const struct listener *listener)
{
	SSL *ssl = SSL_new(ctx);
	int fd = open_socket(listener);
	ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(SSL_set_fd(ssl, fd), 1);
	ck_assert_int_eq(SSL_set_alpn_protos(ssl, (const unsigned char *)"\2h2", 3), 0);
	while (SSL_connect(ssl) != 1)
		turn();
	ck_assert_int_eq(SSL_write(ssl, preface, sizeof preface - 1), sizeof preface - 1);
	turn();
	return ssl;
}

static void
ask_by_tls(SSL *ssl, size_t i)
{
	char text[] = "\0\0\6\1\5\0\0\0\0\x82\x87\x84\x41\1h";
	text[8] = (char)(2 * i + 1);
	ck_assert_int_eq(SSL_write(ssl, text, sizeof text - 1), sizeof text - 1);
	turn();
}

static void
begin_by_tls(void)
{
	begin();
	tls.listener = (struct listener){.scheme = STR("https"), .tls = make_server()};
	tls.ctx = SSL_CTX_new(TLS_client_method());
	tls.ssl = open_by_tls(tls.ctx, &tls.listener);
}

static void
end_by_tls(void)
{
	close(SSL_get_fd(tls.ssl));
	SSL_free(tls.ssl);
	SSL_CTX_free(tls.ctx);
	end();
	tls_server_destroy(&tls.listener.tls);
}

/* The client reads so much at least, and serve hears of the end of so many. How much it was. */
static size_t
hear(size_t least, size_t done_n)
{
	static char text[BIG];
	size_t bytes = 0;
	int n = 1, why = SSL_ERROR_WANT_READ;
	for (; why == SSL_ERROR_WANT_READ && (bytes < least || all.done_n < done_n);
	     wait_for(SSL_get_fd(tls.ssl))) {
		while ((n = SSL_read(tls.ssl, text, sizeof text)) > 0)
			bytes += (size_t)n;
		why = SSL_get_error(tls.ssl, n);
	}
	return bytes;
}

/* Requests refused or reset are answered too, and would wait in memory. */
START_TEST(nothing_is_read_for_a_client_of_TLS_that_takes_nothing)
{
	size_t asked = 0;
	begin_by_tls();
	do { /* until the socket is full */
		ask_by_tls(tls.ssl, asked++);
		ck_assert_uint_eq(all.n, asked);
		answer(asked - 1, big());
		turn();
	} while (all.done[asked - 1]);
	ask_by_tls(tls.ssl, asked);
	ck_assert_uint_eq(all.n, asked);
	hear(asked * BIG, asked);
	ck_assert_uint_eq(all.n, asked + 1);
	answer(asked, STR("y"));
	hear(1, asked + 1);
	ck_assert_uint_eq(all.done_n, all.n);
	end_by_tls();
}
END_TEST

/* A connection whose last answer this is goes on until the socket has taken what TLS keeps of it. */
START_TEST(the_end_of_the_last_answer_is_not_lost_by_TLS)
{
	static const char goaway[] = "\0\0\x8\7\0\0\0\0\0\0\0\0\0\0\0\0\0";
	begin_by_tls();
	ask_by_tls(tls.ssl, 0);
	ck_assert_int_eq(SSL_write(tls.ssl, goaway, sizeof goaway - 1), sizeof goaway - 1);
	turn();
	answer(0, big());
	turn();
	ck_assert(!all.done[0]);
	ck_assert_uint_ge(hear(BIG, 1), BIG);
	ck_assert(all.done[0]);
	ck_assert_int_eq(all.end[0], STREAM_SENT);
	ck_assert_uint_eq(clients_count(all.own.clients), 0);
	end_by_tls();
}
END_TEST

UNIT("h2", TEST(requests_without_a_window_are_begun_some_at_a_time),
     TEST(a_head_comes_behind_an_interim_answer_that_could_not_go),
     TEST(a_connection_that_was_idle_answers_as_before),
     TEST(the_rest_of_a_body_that_was_refused_is_no_offence),
     TEST(the_body_of_a_request_that_was_refused_is_no_offence),
     TEST(a_body_sent_before_the_last_GOAWAY_was_heard_is_no_offence),
     TEST(the_last_GOAWAY_is_said_once), TEST(a_client_answers_each_small_message_with_frames),
     TEST(a_download_that_waits_its_turn_is_not_cut),
     TEST(a_body_that_may_not_be_sent_is_waited_for),
     TEST(a_call_in_which_nobody_speaks_has_an_end),
     TEST(an_answer_that_ends_with_the_turn_and_the_session_is_whole),
     TEST(nothing_is_read_for_a_client_of_TLS_that_takes_nothing),
     TEST(the_end_of_the_last_answer_is_not_lost_by_TLS))
