/* rooms: cli http base
 * The demo's "no wrong bodies" is worth what its client notices: every way of answering wrongly is
 * tried on it. And the sample origin must be an origin that caches can work with. */
#include "proxy/cli/demo/replay.h"
#include "proxy/cli/demo/sample_origin.h"

#include "tests/kit/unit.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PATIENT_S = 2 * UNIT_GUARD_S }; /* nobody is slow but the machine */

static struct replay_counts
play(const struct mix *m, unsigned port, unsigned connections, unsigned threads, unsigned timeout_s)
{
	struct replay_options o = {.mix = m,
				   .port = port,
				   .connections = connections,
				   .threads = threads,
				   .timeout_s = timeout_s};
	struct replay_counts n;
	struct replay *r;
	char err[256];
	ck_assert_msg(replay_start(&r, &o, err, sizeof(err)) == 0, "%s", err);
	unit_wait_until(replay_is_done(r));
	replay_counts(r, &n);
	ck_assert_int_eq(*replay_complaint(r) != 0, n.wrong_bodies + n.failures > 0);
	replay_stop(&r);
	ck_assert_ptr_null(r);
	return n;
}

static struct sample_origin *
open_origin(void)
{
	struct sample_origin_options o = {.max_age_s = 60};
	struct sample_origin *origin = NULL;
	char err[200] = "";
	ck_assert_msg(sample_origin_start(&origin, &o, err, sizeof(err)) == 0, "%s", err);
	return origin;
}

static const struct {
	unsigned connections, threads;
} crowds[] = {{1, 1}, {7, 1}, {32, 2}};

START_TEST(origin_and_client_agree_on_every_byte)
{
	struct sample_origin *origin = open_origin();
	struct sample_origin_counts served;
	struct mix m;
	mix_init_cdn(&m, 3000, 5);
	struct replay_counts n = play(&m, sample_origin_port(origin), crowds[_i].connections,
				      crowds[_i].threads, PATIENT_S);
	sample_origin_counts(origin, &served);
	ck_assert_uint_eq(n.answered, 3000);
	ck_assert_uint_eq(n.wrong_bodies + n.failures + n.hits, 0);
	ck_assert_uint_eq(n.body_bytes, m.asked_bytes);
	ck_assert_uint_eq(served.requests, 3000);
	ck_assert_uint_eq(served.body_bytes, m.asked_bytes);
	ck_assert_uint_eq(served.connections, crowds[_i].connections);
	mix_fini(&m);
	sample_origin_stop(&origin);
}
END_TEST

START_TEST(nobody_there_is_a_failure)
{
	struct sample_origin *origin = open_origin();
	unsigned port = sample_origin_port(origin);
	struct mix m;
	sample_origin_stop(&origin);
	mix_init_unique(&m, 10, 100, 1);
	struct replay_counts n = play(&m, port, 2, 1, PATIENT_S);
	ck_assert_uint_eq(n.answered, 0);
	ck_assert_uint_eq(n.failures, 10);
	mix_fini(&m);
}
END_TEST

/* ---- a server that answers one request with anything ----------------------------------------- */

#define BODY "BODY" /* stands for the eight right bytes */

struct liar {
	int listener;
	unsigned port;
	const char *answer; /* NULL: none, and the connection stays */
	struct mix_object object;
	pthread_t thread;
};

static void *
lie(void *arg)
{
	struct liar *l = arg;
	char in[1024], out[1024];
	int fd = accept(l->listener, NULL, NULL);
	ck_assert_int_gt(recv(fd, in, sizeof(in), 0), 0);
	const char *answer = l->answer ? l->answer : "", *body = strstr(answer, BODY);
	size_t n = body ? (size_t)(body - answer) : strlen(answer);
	memcpy(out, answer, n);
	if (body) {
		mix_body_fill(&l->object, 0, out + n, l->object.bytes);
		n += l->object.bytes;
		memcpy(out + n, body + strlen(BODY), strlen(body + strlen(BODY)));
		n += strlen(body + strlen(BODY));
	}
	send(fd, out, n, MSG_NOSIGNAL);
	if (l->answer)
		shutdown(fd, SHUT_WR);
	while (recv(fd, in, sizeof(in), 0) > 0)
		;
	close(fd);
	return NULL;
}

static void
open_liar(struct liar *l)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	l->listener = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(l->listener, (struct sockaddr *)&a, n), 0);
	ck_assert_int_eq(listen(l->listener, 8), 0);
	getsockname(l->listener, (struct sockaddr *)&a, &n);
	l->port = ntohs(a.sin_port);
	pthread_create(&l->thread, NULL, lie, l);
}

#define OK "HTTP/1.1 200 OK\r\n"
static const struct {
	const char *says, *answer;
	uint64_t answered, hits, wrong, failures;
} lies[] = {
	{"the truth", OK "Content-Length: 8\r\n\r\n" BODY, 1, 0, 0, 0},
	{"a hit", OK "Content-Length: 8\r\nCache-Status: twice; hit; ttl=9\r\n\r\n" BODY, 1, 1, 0,
	 0},
	{"a miss", OK "Content-Length: 8\r\nCache-Status: twice; fwd=uri-miss\r\n\r\n" BODY, 1, 0,
	 0, 0},
	{"a wrong byte", OK "Content-Length: 8\r\n\r\nabcdefgh", 1, 0, 1, 0},
	{"too long a length", OK "Content-Length: 9\r\n\r\n" BODY "x", 1, 0, 1, 0},
	{"too short a length", OK "Content-Length: 7\r\n\r\n" BODY, 1, 0, 1, 0},
	{"bytes behind the body", OK "Content-Length: 8\r\n\r\n" BODY "x", 1, 0, 1, 0},
	{"cut before the body", OK "Content-Length: 8\r\n\r\n", 0, 0, 0, 1},
	{"cut in the head", OK "Content-Le", 0, 0, 0, 1},
	{"nothing", "", 0, 0, 0, 1},
	{"no length", OK "\r\n" BODY, 0, 0, 0, 1},
	{"another status", "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 8\r\n\r\n" BODY, 0, 0, 0,
	 1},
	{"no HTTP", "220 smtp.example.com\r\n\r\n", 0, 0, 0, 1},
	{"silence", NULL, 0, 0, 0, 1},
};

START_TEST(every_lie_is_noticed)
{
	struct liar l = {.answer = lies[_i].answer};
	struct mix m;
	mix_init_unique(&m, 1, 8, 3);
	l.object = m.objects[0];
	open_liar(&l);
	struct replay_counts n = play(&m, l.port, 1, 1, l.answer ? PATIENT_S : 1);
	pthread_join(l.thread, NULL);
	close(l.listener);
	ck_assert_msg(n.answered == lies[_i].answered && n.hits == lies[_i].hits &&
			      n.wrong_bodies == lies[_i].wrong && n.failures == lies[_i].failures,
		      "%s: answered %d hits %d wrong %d failures %d", lies[_i].says,
		      (int)n.answered, (int)n.hits, (int)n.wrong_bodies, (int)n.failures);
	mix_fini(&m);
}
END_TEST

/* ---- the origin, asked by hand --------------------------------------------------------------- */

#define PATH "/cdn/0123456789abcdef/100"
#define ASK  " HTTP/1.1\r\nHost: o\r\nConnection: close\r\n"
static const struct {
	const char *request, *status, *has;
	int body_bytes; /* -1: does not matter */
} questions[] = {
	{"GET " PATH ASK "\r\n", "200 OK", "Content-Length: 100\r\n", 100},
	{"GET " PATH "?x=1" ASK "\r\n", "200 OK", "Cache-Control: public, max-age=60\r\n", 100},
	{"HEAD " PATH ASK "\r\n", "200 OK", "Content-Length: 100\r\n", 0},
	{"GET " PATH " HTTP/1.0\r\n\r\n", "200 OK", "Connection: close\r\n", 100},
	{"GET " PATH ASK "If-None-Match: \"123456789abcdef\"\r\n\r\n", "304 ", "ETag: \"1", 0},
	{"GET " PATH ASK "If-None-Match: \"other\"\r\n\r\n", "200 OK", "ETag: \"1", 100},
	{"GET " PATH ASK "If-Modified-Since: Wed, 01 Jan 2025 00:00:00 GMT\r\n\r\n", "304 ",
	 "Date: ", 0},
	{"GET " PATH ASK "Range: bytes=10-19\r\n\r\n", "206 ", "Content-Range: bytes 10-19/100\r\n",
	 10},
	{"GET " PATH ASK "Range: bytes=90-\r\n\r\n", "206 ", "Content-Length: 10\r\n", 10},
	{"GET " PATH ASK "Range: bytes=200-\r\n\r\n", "416 ", "", -1},
	{"GET /nothing" ASK "\r\n", "404 ", "text/plain", -1},
	{"POST " PATH ASK "Content-Length: 0\r\n\r\n", "405 ", "", -1},
	{"GET " PATH " HTTP/1.1\r\n\r\n", "400 ", "", -1},
};

START_TEST(answers_as_an_origin_should)
{
	struct sample_origin *origin = open_origin();
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)sample_origin_port(origin)),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	char in[4096] = "";
	size_t n = 0;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	send(fd, questions[_i].request, strlen(questions[_i].request), 0);
	for (ssize_t got; (got = recv(fd, in + n, sizeof(in) - 1 - n, 0)) > 0;)
		n += (size_t)got;
	close(fd);
	const char *body = memmem(in, n, "\r\n\r\n", 4);
	ck_assert_ptr_nonnull(body);
	ck_assert_msg(strncmp(in + strlen("HTTP/1.1 "), questions[_i].status,
			      strlen(questions[_i].status)) == 0,
		      "%s was answered by %s", questions[_i].request, in);
	ck_assert_msg(strstr(in, questions[_i].has), "%s was answered by %s", questions[_i].request,
		      in);
	if (questions[_i].body_bytes >= 0)
		ck_assert_int_eq((int)(in + n - body) - 4, questions[_i].body_bytes);
	sample_origin_stop(&origin);
}
END_TEST

UNIT("replay", LOOP(origin_and_client_agree_on_every_byte, crowds), TEST(nobody_there_is_a_failure),
     LOOP(every_lie_is_noticed, lies), LOOP(answers_as_an_origin_should, questions))
