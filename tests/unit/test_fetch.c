/* rooms: origin http base
 *
 * Fetches against an origin that says exactly what a test wants, when it wants it: a thread with
 * plain blocking sockets on an ephemeral loopback port.
 */
#include "tests/kit/own_clock.h"
#include "tests/kit/unit.h"

#include "proxy/base/buf.h"
#include "proxy/origin/fetch.h"

#include <arpa/inet.h>
#include <assert.h>
#include <curl/curl.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* -- the origin -------------------------------------------------------------------------------- */

struct stage {
	int lfd;
	uint16_t port;
	pthread_t thread;
	void (*play)(struct stage *s);
	const void *script;
	sem_t go, reached; /* barriers: the test lets the origin go; the origin says it is there */
	atomic_int accepted, requests;
	_Atomic uint64_t said;
	struct buf body;  /* of the last request */
	struct buf heads; /* of all, to be read when the origin is gone */
	char head[8192];  /* of the last request */
	size_t extra;	  /* bytes after that head, at head + head_bytes */
	size_t head_bytes;
};

static void *
stage_main(void *arg)
{
	struct stage *s = arg;
	s->play(s);
	return NULL;
}

static void
stage_start(struct stage *s, void (*play)(struct stage *), const void *script)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	*s = (struct stage){.play = play, .script = script};
	sem_init(&s->go, 0, 0);
	sem_init(&s->reached, 0, 0);
	s->lfd = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert(bind(s->lfd, (void *)&a, n) == 0 && listen(s->lfd, 64) == 0);
	ck_assert(getsockname(s->lfd, (void *)&a, &n) == 0);
	s->port = ntohs(a.sin_port);
	if (play)
		pthread_create(&s->thread, NULL, stage_main, s);
}

static void
stage_end(struct stage *s)
{
	if (s->play)
		pthread_join(s->thread, NULL);
	close(s->lfd);
	buf_fini(&s->body);
	buf_fini(&s->heads);
}

static int
stage_accept(struct stage *s)
{
	int fd = accept(s->lfd, NULL, NULL);
	s->accepted++;
	return fd;
}

/* Reads a request head; false when the connection ends before it. */
static bool
hear(struct stage *s, int fd)
{
	size_t n = 0;
	char *end = NULL;
	while (!end) {
		ssize_t r = recv(fd, s->head + n, sizeof s->head - 1 - n, 0);
		if (r <= 0)
			return false;
		n += (size_t)r;
		s->head[n] = 0;
		end = strstr(s->head, "\r\n\r\n");
	}
	s->head_bytes = (size_t)(end + 4 - s->head);
	s->extra = n - s->head_bytes;
	s->requests++;
	buf_add(&s->heads, s->head, s->head_bytes);
	return true;
}

/* Reads body bytes until there are n, or to the end of the connection. */
static void
hear_body(struct stage *s, int fd, size_t n)
{
	s->body.n = 0;
	buf_add(&s->body, s->head + s->head_bytes, s->extra);
	while (s->body.n < n) {
		ssize_t r = recv(fd, buf_room(&s->body, 65536), 65536, 0);
		if (r <= 0)
			return;
		buf_added(&s->body, (size_t)r);
	}
}

/* Reads a chunked body, chunk sizes and all, to its end. */
static void
hear_chunks(struct stage *s, int fd)
{
	size_t n = s->extra;
	hear_body(s, fd, n);
	while (s->body.n < 5 || memcmp(s->body.p + s->body.n - 5, "0\r\n\r\n", 5) != 0) {
		ssize_t r = recv(fd, buf_room(&s->body, 65536), 65536, 0);
		if (r <= 0)
			return;
		buf_added(&s->body, (size_t)r);
	}
}

static void
say_bytes(struct stage *s, int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t r = send(fd, p, n, MSG_NOSIGNAL);
		if (r <= 0)
			return;
		s->said += (uint64_t)r;
		p += r;
		n -= (size_t)r;
	}
}

static void
say(struct stage *s, int fd, const char *z)
{
	say_bytes(s, fd, z, strlen(z));
}

static void
reset(int fd)
{
	struct linger l = {1, 0};
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
	close(fd);
}

/* -- the one who fetches ----------------------------------------------------------------------- */

enum { NOWHERE, IN_INTERIM, IN_HEAD, IN_BODY, IN_SEND };

struct desk {
	struct event_base *base;
	struct fetcher *fetcher;
	struct origin *origin;
};

struct call {
	struct desk *desk;
	struct fetch *fetch;
	struct buf interim, head, body;
	struct fetch_result result;
	char detail[256];
	int dones;
	/* what to do */
	int cancel_in;
	bool refuse; /* on_body takes nothing */
	bool refuse_once;
	struct str upload; /* what on_send gives */
	size_t piece;	   /* at most so much at once */
	int send_says;	   /* when upload is used up: 0, FETCH_SEND_LATER, FETCH_SEND_ABORT */
	sem_t *tell_head;  /* posted in on_head */
	unsigned sends_called, refused;
	uint64_t client;
	void (*then)(struct call *c); /* called in on_done */
};

static void
maybe_cancel(struct call *c, int where)
{
	if (c->cancel_in != where)
		return;
	fetch_cancel(&c->fetch);
	ck_assert_ptr_null(c->fetch);
	event_base_loopbreak(c->desk->base);
}

static void
add_head(struct buf *out, const struct response *rs)
{
	buf_printf(out, "HTTP/1.%d %d%s%.*s\r\n", rs->minor, rs->status, rs->reason.n ? " " : "",
		   STR_ARG(rs->reason));
	for (unsigned i = 0; i < rs->fields.n; i++)
		buf_printf(out, "%.*s: %.*s\r\n", STR_ARG(rs->fields.v[i].name),
			   STR_ARG(rs->fields.v[i].value));
}

static void
on_interim(void *ctx, const struct response *rs)
{
	struct call *c = ctx;
	add_head(&c->interim, rs);
	maybe_cancel(c, IN_INTERIM);
}

static void
on_head(void *ctx, const struct response *rs)
{
	struct call *c = ctx;
	ck_assert_uint_eq(c->head.n, 0);
	add_head(&c->head, rs);
	if (c->tell_head)
		sem_post(c->tell_head);
	maybe_cancel(c, IN_HEAD);
}

static bool
on_body(void *ctx, const char *p, size_t n)
{
	struct call *c = ctx;
	ck_assert_uint_gt(c->head.n, 0);
	maybe_cancel(c, IN_BODY);
	if (c->refuse || c->refuse_once) {
		c->refuse_once = false;
		c->refused++;
		event_base_loopbreak(c->desk->base);
		return false;
	}
	buf_add(&c->body, p, n);
	return true;
}

static ptrdiff_t
on_send(void *ctx, char *p, size_t max)
{
	struct call *c = ctx;
	c->sends_called++;
	maybe_cancel(c, IN_SEND);
	if (c->upload.n == 0) {
		if (c->send_says == FETCH_SEND_LATER)
			event_base_loopbreak(c->desk->base);
		return c->send_says;
	}
	size_t n = c->upload.n < max ? c->upload.n : max;
	if (c->piece && n > c->piece)
		n = c->piece;
	memcpy(p, c->upload.p, n);
	c->upload = str_from(c->upload, n);
	return (ptrdiff_t)n;
}

static void
on_done(void *ctx, const struct fetch_result *r)
{
	struct call *c = ctx;
	c->dones++;
	c->result = *r;
	snprintf(c->detail, sizeof c->detail, "%s", r->detail);
	ck_assert_int_le(r->wait_us, r->total_us);
	if (c->then)
		c->then(c);
	fetch_cancel(&c->fetch); /* harmless here */
	event_base_loopbreak(c->desk->base);
}

static uint64_t
client(void *ctx)
{
	return ((struct call *)ctx)->client;
}

static const struct fetch_events events = {.client = client,
					   .on_interim = on_interim,
					   .on_head = on_head,
					   .on_body = on_body,
					   .on_send = on_send,
					   .on_done = on_done};

static void
desk_open(struct desk *d, const struct stage *s, struct origin_options o)
{
	char url[64], err[256] = "";
	snprintf(url, sizeof url, "http://127.0.0.1:%u", s ? s->port : 1);
	if (!o.url)
		o.url = url;
	d->base = event_base_new();
	d->fetcher = fetcher_create(d->base);
	d->origin = origin_create(&o, err, sizeof err);
	ck_assert_msg(d->origin != NULL, "%s", err);
}

static void
desk_close(struct desk *d)
{
	fetcher_destroy(&d->fetcher);
	fetcher_destroy(&d->fetcher);
	origin_destroy(&d->origin);
	event_base_free(d->base);
}

static struct fetch_request
request_of(const struct desk *d, const char *method)
{
	return (struct fetch_request){
		.origin = d->origin,
		.method = str_of(method),
		.target = STR("/x"),
		.host = STR("www.example.com"),
		.idempotent = strcmp(method, "POST") != 0,
	};
}

static void
call_start(struct call *c, struct desk *d, const struct fetch_request *r)
{
	c->desk = d;
	c->fetch = fetch_start(d->fetcher, r, &events, c);
	ck_assert_ptr_nonnull(c->fetch);
}

static void
call_wait(struct call *c)
{
	while (!c->dones)
		event_base_dispatch(c->desk->base);
	ck_assert_int_eq(c->dones, 1);
}

static void
call_fini(struct call *c)
{
	buf_fini(&c->interim);
	buf_fini(&c->head);
	buf_fini(&c->body);
}

static void
expect(const struct buf *b, const char *z)
{
	if (!str_eq(buf_str(b), str_of(z)))
		ck_abort_msg("got '%.*s', want '%s'", (int)b->n, b->n ? b->p : "", z);
}

static void
expect_end(const struct call *c, enum fetch_end end)
{
	ck_assert_msg(c->result.end == end, "ended as %s (%s), not as %d", c->result.word,
		      c->detail, end);
}

/* A whole fetch that must be well; on its own connection or a kept one. */
static void
get_ok(struct desk *d, bool reused)
{
	struct call c = {0};
	struct fetch_request r = request_of(d, "GET");
	call_start(&c, d, &r);
	call_wait(&c);
	expect_end(&c, FETCH_OK);
	ck_assert_int_eq(c.result.reused, reused);
	expect(&c.body, "hello");
	call_fini(&c);
}

#define HELLO "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

/* -- all the ways an answer can look ----------------------------------------------------------- */

enum { CLOSE, RESET };

static const struct answer {
	const char *says;
	const char *method;
	const char *bytes;
	enum fetch_end end;
	const char *head; /* NULL: on_head is not called */
	const char *body;
	int how; /* the connection ends */
} answers[] = {
	{"a length", "GET", HELLO, FETCH_OK, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", "hello",
	 CLOSE},
	{"a body of no bytes", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", FETCH_OK,
	 "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", "", CLOSE},
	{"chunks", "GET",
	 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n",
	 FETCH_OK, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", "hello", CLOSE},
	{"a trailer is dropped", "GET",
	 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n",
	 FETCH_OK, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", "hello", CLOSE},
	{"HTTP/1.0 until the end of the connection", "GET", "HTTP/1.0 200 OK\r\nA: b\r\n\r\nhello",
	 FETCH_OK, "HTTP/1.0 200 OK\r\nA: b\r\n", "hello", CLOSE},
	{"no length in HTTP/1.1: the same", "GET", "HTTP/1.1 200 OK\r\n\r\nhello", FETCH_OK,
	 "HTTP/1.1 200 OK\r\n", "hello", CLOSE},
	{"such a body cut by a reset is not whole", "GET", "HTTP/1.0 200 OK\r\n\r\nhello",
	 FETCH_TRUNCATED, "HTTP/1.0 200 OK\r\n", NULL, RESET},
	{"HEAD has no body", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", FETCH_OK,
	 "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n", "", CLOSE},
	{"HEAD of a chunked one neither", "HEAD",
	 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", FETCH_OK,
	 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", "", CLOSE},
	{"204 has no body", "GET", "HTTP/1.1 204 No Content\r\n\r\n", FETCH_OK,
	 "HTTP/1.1 204 No Content\r\n", "", CLOSE},
	{"304 neither, whatever its length says", "GET",
	 "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", FETCH_OK,
	 "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n", "", CLOSE},
	{"no redirect is followed", "GET",
	 "HTTP/1.1 302 Found\r\nLocation: http://a/\r\nContent-Length: 2\r\n\r\nhi", FETCH_OK,
	 "HTTP/1.1 302 Found\r\nLocation: http://a/\r\nContent-Length: 2\r\n", "hi", CLOSE},
	{"nothing is decompressed", "GET",
	 "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nzz", FETCH_OK,
	 "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n", "zz", CLOSE},
	{"a 401 is an answer", "GET",
	 "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic\r\nContent-Length: 2\r\n\r\nno", FETCH_OK,
	 "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic\r\nContent-Length: 2\r\n", "no", CLOSE},
	{"a status line without a reason", "GET", "HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx",
	 FETCH_OK, "HTTP/1.1 200\r\nContent-Length: 1\r\n", "x", CLOSE},
	{"lines ended by LF alone are put right", "GET",
	 "HTTP/1.1 200 OK\nA: b\nContent-Length: 1\n\nx", FETCH_OK,
	 "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 1\r\n", "x", CLOSE},
	{"empty values stay", "GET", "HTTP/1.1 200 OK\r\nA:\r\nB: \r\nContent-Length: 1\r\n\r\nx",
	 FETCH_OK, "HTTP/1.1 200 OK\r\nA: \r\nB: \r\nContent-Length: 1\r\n", "x", CLOSE},
	{"the same length twice", "GET",
	 "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", FETCH_OK,
	 "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n", "x", CLOSE},
	{"100 is swallowed", "GET", "HTTP/1.1 100 Continue\r\nA: b\r\n\r\n" HELLO, FETCH_OK,
	 "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", "hello", CLOSE},

	{"less than the length", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
	 FETCH_TRUNCATED, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n", "hello", CLOSE},
	{"a reset within the body", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
	 FETCH_TRUNCATED, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n", NULL, RESET},
	{"no last chunk", "GET",
	 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", FETCH_TRUNCATED,
	 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", "hello", CLOSE},
	{"a chunk size that is none", "GET",
	 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nxyz\r\n",
	 FETCH_TRUNCATED, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", NULL, CLOSE},
	{"closed before a byte", "GET", "", FETCH_CLOSED, NULL, "", CLOSE},
	{"reset before a byte", "GET", "", FETCH_CLOSED, NULL, "", RESET},
	{"closed within the status line", "GET", "HTTP/1.1 20", FETCH_CLOSED, NULL, "", CLOSE},
	{"closed within the fields", "GET", "HTTP/1.1 200 OK\r\nA: b\r\n", FETCH_CLOSED, NULL, "",
	 CLOSE},

	{"HTTP/0.9", "GET", "<html>hello</html>\n", FETCH_PROTOCOL, NULL, "", CLOSE},
	{"HTTP/2 in clear text", "GET", "HTTP/2 200\r\nContent-Length: 1\r\n\r\nx", FETCH_PROTOCOL,
	 NULL, "", CLOSE},
	{"a version nobody knows", "GET", "HTTP/3.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
	 FETCH_PROTOCOL, NULL, "", CLOSE},
	{"a status of four digits", "GET", "HTTP/1.1 2000 OK\r\n\r\n", FETCH_PROTOCOL, NULL, "",
	 CLOSE},
	{"a status of two", "GET", "HTTP/1.1 20 OK\r\n\r\n", FETCH_PROTOCOL, NULL, "", CLOSE},
	{"two lengths", "GET",
	 "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy", FETCH_PROTOCOL,
	 NULL, "", CLOSE},
	{"a list of lengths", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\nx",
	 FETCH_PROTOCOL, NULL, "", CLOSE},
	{"a length with a sign", "GET", "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\nx",
	 FETCH_PROTOCOL, NULL, "", CLOSE},
	{"a length and chunks", "GET",
	 "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
	 FETCH_PROTOCOL, NULL, "", CLOSE},
	{"chunks in HTTP/1.0", "GET",
	 "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", FETCH_PROTOCOL,
	 NULL, "", CLOSE},
	{"a coding nobody asked for", "GET",
	 "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", FETCH_PROTOCOL,
	 NULL, "", CLOSE},
	{"a folded line", "GET", "HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 1\r\n\r\nx",
	 FETCH_PROTOCOL, NULL, "", CLOSE},
	{"a space before the colon", "GET", "HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\nx",
	 FETCH_PROTOCOL, NULL, "", CLOSE},
	{"a line without a colon", "GET", "HTTP/1.1 200 OK\r\nnonsense\r\n\r\nx", FETCH_PROTOCOL,
	 NULL, "", CLOSE},
	{"a lone CR", "GET", "HTTP/1.1 200 OK\r\nA: b\rC: d\r\nContent-Length: 1\r\n\r\nx",
	 FETCH_PROTOCOL, NULL, "", CLOSE},
	{"a protocol nobody wanted", "GET", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nxyz",
	 FETCH_PROTOCOL, NULL, "", CLOSE},
};

static void
play_answer_in(struct stage *s, size_t piece)
{
	const struct answer *a = s->script;
	int fd = stage_accept(s), one = 1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	hear(s, fd);
	for (struct str left = str_of(a->bytes); left.n; left = str_from(left, piece))
		say_bytes(s, fd, left.p, left.n < piece ? left.n : piece);
	if (a->how == RESET && a->head)
		sem_wait(&s->go); /* a reset throws away what was not read yet */
	a->how == RESET ? reset(fd) : (void)close(fd);
}

static void
play_answer(struct stage *s)
{
	play_answer_in(s, SIZE_MAX);
}

static void
play_answer_by_the_byte(struct stage *s)
{
	play_answer_in(s, 1);
}

static void
check_answer(const struct answer *a, void (*play)(struct stage *))
{
	struct stage s;
	struct desk d;
	struct call c = {.tell_head = &s.go};
	stage_start(&s, play, a);
	desk_open(&d, &s, (struct origin_options){0});
	struct fetch_request r = request_of(&d, a->method);
	call_start(&c, &d, &r);
	call_wait(&c);
	ck_assert_msg(c.result.end == a->end, "%s: %s, %s", a->says, c.result.word, c.detail);
	ck_assert_int_eq(c.result.head_seen, a->head != NULL);
	expect(&c.head, a->head ? a->head : "");
	if (a->body)
		expect(&c.body, a->body);
	ck_assert_uint_eq(fetcher_active(d.fetcher), 0);
	call_fini(&c);
	desk_close(&d);
	stage_end(&s);
}

START_TEST(answer)
{
	check_answer(&answers[_i], play_answer);
	check_answer(&answers[_i], play_answer_by_the_byte);
}
END_TEST

static void
play_odd_head(struct stage *s)
{
	int fd = stage_accept(s);
	hear(s, fd);
	const struct str *a = s->script;
	say_bytes(s, fd, a->p, a->n);
	close(fd);
}

static enum fetch_end
end_of_answer(struct str bytes)
{
	struct stage s;
	struct desk d;
	struct call c = {0};
	stage_start(&s, play_odd_head, &bytes);
	desk_open(&d, &s, (struct origin_options){0});
	struct fetch_request r = request_of(&d, "GET");
	call_start(&c, &d, &r);
	call_wait(&c);
	call_fini(&c);
	desk_close(&d);
	stage_end(&s);
	return c.result.end;
}

START_TEST(nul_in_a_head_is_refused)
{
	ck_assert_int_eq(
		end_of_answer(STR("HTTP/1.1 200 OK\r\nA: b\0c\r\nContent-Length: 0\r\n\r\n")),
		FETCH_PROTOCOL);
}
END_TEST

START_TEST(a_head_has_a_bound)
{
	struct buf b = {0};
	buf_add_lit(&b, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n");
	for (int i = 0; i < 3000; i++)
		buf_printf(&b, "X-%04d: %080d\r\n", i, i);
	buf_add_lit(&b, "\r\n");
	ck_assert_int_eq(end_of_answer(buf_str(&b)), FETCH_PROTOCOL);
	b.n = 0;
	buf_add_lit(&b, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n");
	for (int i = 0; i < 200; i++)
		buf_printf(&b, "X-%04d: %080d\r\n", i, i);
	buf_add_lit(&b, "\r\n");
	ck_assert_int_eq(end_of_answer(buf_str(&b)), FETCH_OK);
	buf_fini(&b);
}
END_TEST

static void
play_interim(struct stage *s)
{
	int fd = stage_accept(s);
	hear(s, fd);
	say(s, fd,
	    "HTTP/1.1 103 Early Hints\r\nConnection: x-hop\r\nLink: </a>\r\nX-Hop: 1\r\n"
	    "Content-Length: 5\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
	    "HTTP/1.1 102 Processing\r\n\r\n" HELLO);
	close(fd);
}

START_TEST(interim_heads_come_on_their_own)
{
	struct stage s;
	struct desk d;
	struct call c = {0};
	stage_start(&s, play_interim, NULL);
	desk_open(&d, &s, (struct origin_options){0});
	struct fetch_request r = request_of(&d, "GET");
	call_start(&c, &d, &r);
	call_wait(&c);
	expect(&c.interim, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nHTTP/1.1 102 Processing\r\n");
	expect(&c.head, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n");
	expect(&c.body, "hello");
	call_fini(&c);
	desk_close(&d);
	stage_end(&s);
}
END_TEST

/* -- what the origin gets ---------------------------------------------------------------------- */

static const struct {
	const char *says;
	const char *method, *target, *host, *own_host, *fields;
	const char *want;
} requests[] = {
	{"nothing is added but Host", "GET", "/x", "a.example", NULL, "",
	 "GET /x HTTP/1.1\r\nHost: a.example\r\n\r\n"},
	{"the target is sent as it is", "GET", "/a/../b//c?x=%41&y=#z", "a.example", NULL, "",
	 "GET /a/../b//c?x=%41&y=#z HTTP/1.1\r\nHost: a.example\r\n\r\n"},
	{"the origin's own Host wins", "GET", "/", "a.example", "o.example:81", "",
	 "GET / HTTP/1.1\r\nHost: o.example:81\r\n\r\n"},
	{"fields as given, in order", "GET", "/", "a", NULL,
	 "Accept: x\r\nUser-Agent: y\r\nX: 1\r\nX: 2\r\n",
	 "GET / HTTP/1.1\r\nHost: a\r\nAccept: x\r\nUser-Agent: y\r\nX: 1\r\nX: 2\r\n\r\n"},
	{"empty values too", "GET", "/", "a", NULL, "A:\r\nB: \r\n",
	 "GET / HTTP/1.1\r\nHost: a\r\nA:\r\nB: \r\n\r\n"},
	{"one empty value alone", "GET", "/", "a", NULL, "Accept:\r\n",
	 "GET / HTTP/1.1\r\nHost: a\r\nAccept:\r\n\r\n"},
	{"HEAD", "HEAD", "/", "a", NULL, "A: b\r\n", "HEAD / HTTP/1.1\r\nHost: a\r\nA: b\r\n\r\n"},
	{"any method", "M-SEARCH", "*", "a", NULL, "", "M-SEARCH * HTTP/1.1\r\nHost: a\r\n\r\n"},
	{"POST without a body", "POST", "/", "a", NULL, "", "POST / HTTP/1.1\r\nHost: a\r\n\r\n"},
	{"credentials and cookies", "GET", "/", "a", NULL,
	 "Authorization: Basic eA==\r\nCookie: a=b\r\n",
	 "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Basic eA==\r\nCookie: a=b\r\n\r\n"},
};

static void
play_hello(struct stage *s)
{
	int fd = stage_accept(s);
	while (hear(s, fd))
		say(s, fd, strncmp(s->head, "HEAD", 4) ? HELLO : "HTTP/1.1 200 OK\r\n\r\n");
	close(fd);
}

START_TEST(request)
{
	struct stage s;
	struct desk d;
	struct call c = {0};
	stage_start(&s, play_hello, NULL);
	desk_open(&d, &s, (struct origin_options){.host = requests[_i].own_host});
	struct fetch_request r = request_of(&d, requests[_i].method);
	r.target = str_of(requests[_i].target);
	r.host = str_of(requests[_i].host);
	r.fields = str_of(requests[_i].fields);
	call_start(&c, &d, &r);
	call_wait(&c);
	expect_end(&c, FETCH_OK);
	call_fini(&c);
	desk_close(&d);
	stage_end(&s);
	ck_assert_str_eq(s.head, requests[_i].want);
}
END_TEST

/* The handles are re-used: nothing of one request may show in the next. */
START_TEST(methods_in_turn_on_one_connection)
{
	static const char *const methods[] = {"HEAD", "GET",	"PUT", "GET", "PUT",
					      "HEAD", "DELETE", "GET", "PUT"};
	struct stage s;
	struct desk d;
	struct buf want = {0};
	stage_start(&s, play_hello, NULL);
	desk_open(&d, &s, (struct origin_options){0});
	for (int i = 0; i < COUNT(methods); i++) {
		struct call c = {0};
		struct fetch_request r = request_of(&d, methods[i]);
		bool put = strcmp(methods[i], "PUT") == 0;
		r.framing = put ? FRAMING_LENGTH : FRAMING_NONE;
		call_start(&c, &d, &r);
		call_wait(&c);
		expect_end(&c, FETCH_OK);
		buf_printf(&want, "%s /x HTTP/1.1\r\nHost: www.example.com\r\n%s\r\n", methods[i],
			   put ? "Content-Length: 0\r\n" : "");
		call_fini(&c);
	}
	desk_close(&d);
	pthread_join(s.thread, NULL);
	s.play = NULL;
	ck_assert(str_eq(buf_str(&s.heads), buf_str(&want)));
	ck_assert_int_eq(s.accepted, 1);
	buf_fini(&want);
	stage_end(&s);
}
END_TEST

/* -- connections ------------------------------------------------------------------------------- */

START_TEST(a_connection_is_kept)
{
	struct stage s;
	struct desk d;
	stage_start(&s, play_hello, NULL);
	desk_open(&d, &s, (struct origin_options){0});
	for (int i = 0; i < 5; i++)
		get_ok(&d, i > 0);
	desk_close(&d);
	stage_end(&s);
	ck_assert_int_eq(s.accepted, 1);
	ck_assert_int_eq(s.requests, 5);
}
END_TEST

/* Answers the first request; the second it reads and leaves unanswered. */
static void
play_dies(struct stage *s)
{
	int fd = stage_accept(s);
	hear(s, fd);
	say(s, fd, HELLO);
	hear(s, fd);
	close(fd);
	if (!s->script) {
		play_hello(s);
		return;
	}
	sem_wait(&s->go);
}

START_TEST(a_dead_kept_connection_is_tried_once_more)
{
	struct stage s;
	struct desk d;
	stage_start(&s, play_dies, NULL);
	desk_open(&d, &s, (struct origin_options){0});
	get_ok(&d, false);
	get_ok(&d, false);
	ck_assert_str_eq(s.head, "GET /x HTTP/1.1\r\nHost: www.example.com\r\n\r\n");
	desk_close(&d);
	stage_end(&s);
	ck_assert_int_eq(s.requests, 3);
}
END_TEST

static const struct {
	const char *method;
	enum framing framing;
} once[] = {{"POST", FRAMING_NONE}, {"POST", FRAMING_LENGTH}, {"PUT", FRAMING_CHUNKED}};

START_TEST(what_may_not_be_repeated_is_not)
{
	struct stage s;
	struct desk d;
	struct call c = {.upload = STR("body")};
	stage_start(&s, play_dies, "no more");
	desk_open(&d, &s, (struct origin_options){0});
	get_ok(&d, false);
	struct fetch_request r = request_of(&d, once[_i].method);
	r.framing = once[_i].framing;
	r.content_length = 4;
	call_start(&c, &d, &r);
	call_wait(&c);
	ck_assert(c.result.end == FETCH_CLOSED || c.result.end == FETCH_SEND);
	ck_assert_int_eq(c.result.status, 502);
	sem_post(&s.go);
	call_fini(&c);
	desk_close(&d);
	stage_end(&s);
	ck_assert_int_eq(s.requests, 2);
}
END_TEST

START_TEST(a_small_body_is_sent_once_more_with_its_head)
{
	struct stage s;
	struct desk d;
	struct call c = {.upload = STR("body")};
	stage_start(&s, play_dies, NULL);
	desk_open(&d, &s, (struct origin_options){0});
	get_ok(&d, false);
	struct fetch_request r = request_of(&d, "PUT");
	r.framing = FRAMING_LENGTH;
	r.content_length = 4;
	call_start(&c, &d, &r);
	call_wait(&c);
	ck_assert_int_eq(c.result.end, FETCH_OK);
	ck_assert_ptr_nonnull(strstr(s.head, "Content-Length: 4\r\n\r\n"));
	call_fini(&c);
	desk_close(&d);
	stage_end(&s);
	ck_assert_int_eq(s.requests, 3);
}
END_TEST

/* Answers, and then closes the idle connection or talks on it. */
static void
play_idle(struct stage *s)
{
	int fd = stage_accept(s);
	hear(s, fd);
	say(s, fd, HELLO);
	sem_wait(&s->go);
	if (s->script)
		say(s, fd, s->script);
	else
		shutdown(fd, SHUT_WR);
	sem_post(&s->reached);
	play_hello(s);
	close(fd);
}

START_TEST(an_idle_connection_that_closed_is_not_used)
{
	struct stage s;
	struct desk d;
	struct call c = {0};
	stage_start(&s, play_idle, NULL);
	desk_open(&d, &s, (struct origin_options){0});
	get_ok(&d, false);
	sem_post(&s.go);
	sem_wait(&s.reached);
	struct fetch_request r = request_of(&d, "POST");
	call_start(&c, &d, &r);
	call_wait(&c);
	expect_end(&c, FETCH_OK);
	call_fini(&c);
	desk_close(&d);
	stage_end(&s);
	ck_assert_int_eq(s.accepted, 2);
}
END_TEST

START_TEST(bytes_of_nobodys_response_are_not_the_next_one)
{
	struct stage s;
	struct desk d;
	stage_start(&s, play_idle, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
	desk_open(&d, &s, (struct origin_options){0});
	get_ok(&d, false);
	sem_post(&s.go);
	sem_wait(&s.reached);
	/* Fetches begin in callbacks, so the loop has looked at its connections before. */
	event_base_loop(d.base, EVLOOP_NONBLOCK);
	get_ok(&d, false);
	desk_close(&d);
	stage_end(&s);
	ck_assert_int_eq(s.accepted, 2);
}
END_TEST

/* The event loop alone notices: the origin sees its connection closed. */
static void
play_idle_watch(struct stage *s)
{
	char c;
	int fd = stage_accept(s);
	hear(s, fd);
	say(s, fd, HELLO);
	sem_wait(&s->go);
	shutdown(fd, SHUT_WR);
	recv(fd, &c, 1, 0);
	sem_post(&s->reached);
	close(fd);
}

START_TEST(an_idle_connection_that_closed_is_closed)
{
	struct stage s;
	struct desk d;
	stage_start(&s, play_idle_watch, NULL);
	desk_open(&d, &s, (struct origin_options){0});
	get_ok(&d, false);
	sem_post(&s.go);
	while (sem_trywait(&s.reached))
		event_base_loop(d.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	desk_close(&d);
	stage_end(&s);
}
END_TEST

static void
play_two_closing(struct stage *s)
{
	for (int i = 0; i < 2; i++) {
		int fd = stage_accept(s);
		hear(s, fd);
		say(s, fd,
		    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello");
		close(fd);
	}
}

START_TEST(connection_close_is_obeyed)
{
	struct stage s;
	struct desk d;
	stage_start(&s, play_two_closing, NULL);
	desk_open(&d, &s, (struct origin_options){0});
	get_ok(&d, false);
	get_ok(&d, false);
	desk_close(&d);
	stage_end(&s);
}
END_TEST

START_TEST(those_beyond_max_connections_wait_their_turn)
{
	struct stage s;
	struct desk d;
	struct call c[6] = {0};
	stage_start(&s, play_hello, NULL);
	desk_open(&d, &s, (struct origin_options){.max_connections = 1});
	struct fetch_request r = request_of(&d, "GET");
	for (int i = 0; i < COUNT(c); i++)
		call_start(&c[i], &d, &r);
	ck_assert_uint_eq(fetcher_active(d.fetcher), COUNT(c));
	fetch_cancel(&c[2].fetch);
	for (int i = 0; i < COUNT(c); i++) {
		if (i == 2)
			continue;
		for (int j = i + 1; j < COUNT(c); j++)
			ck_assert_int_eq(c[j].dones, 0);
		call_wait(&c[i]);
		expect_end(&c[i], FETCH_OK);
		call_fini(&c[i]);
	}
	ck_assert_int_eq(c[2].dones, 0);
	ck_assert_uint_eq(fetcher_active(d.fetcher), 0);
	desk_close(&d);
	stage_end(&s);
	ck_assert_int_eq(s.accepted, 1);
}
END_TEST

static struct call second;
static void
start_another(struct call *c)
{
	struct fetch_request r = request_of(c->desk, "GET");
	call_start(&second, c->desk, &r);
}

START_TEST(a_fetch_may_start_in_the_end_of_another)
{
	struct stage s;
	struct desk d;
	struct call c = {.then = start_another};
	stage_start(&s, play_hello, NULL);
	desk_open(&d, &s, (struct origin_options){0});
	struct fetch_request r = request_of(&d, "GET");
	call_start(&c, &d, &r);
	call_wait(&c);
	call_wait(&second);
	expect_end(&second, FETCH_OK);
	ck_assert(second.result.reused);
	call_fini(&c);
	call_fini(&second);
	desk_close(&d);
	stage_end(&s);
}
END_TEST

/* -- time and failure -------------------------------------------------------------------------- */

START_TEST(a_refused_connection)
{
	struct stage s;
	struct desk d;
	struct call c = {0};
	stage_start(&s, NULL, NULL);
	desk_open(&d, &s, (struct origin_options){0});
	close(s.lfd);
	struct fetch_request r = request_of(&d, "GET");
	call_start(&c, &d, &r);
	call_wait(&c);
	expect_end(&c, FETCH_CONNECT);
	ck_assert_int_eq(c.result.status, 502);
	ck_assert_str_eq(c.result.word, "connect-failed");
	call_fini(&c);
	desk_close(&d);
}
END_TEST

/* No descriptor is left; that is not said of the server. */
START_TEST(no_socket_is_left)
{
	struct stage s;
	struct desk d;
	struct call c = {0};
	struct rlimit before, few;
	stage_start(&s, NULL, NULL);
	desk_open(&d, &s, (struct origin_options){0});
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
	struct fetch_request r = request_of(&d, "GET");
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	call_start(&c, &d, &r);
	call_wait(&c);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	expect_end(&c, FETCH_NO_SOCKET);
	ck_assert_int_eq(c.result.status, 503);
	ck_assert_str_eq(c.detail, strerror(EMFILE));
	close(s.lfd);
	call_fini(&c);
	desk_close(&d);
}
END_TEST

START_TEST(an_unknown_name)
{
	struct desk d;
	struct call c = {0};
	desk_open(&d, NULL, (struct origin_options){.url = "http://no-such-host.invalid"});
	struct fetch_request r = request_of(&d, "GET");
	call_start(&c, &d, &r);
	call_wait(&c);
	/* A machine without a resolver may be slow to say so. */
	ck_assert(c.result.end == FETCH_DNS || c.result.end == FETCH_CONNECT_TIMEOUT);
	call_fini(&c);
	desk_close(&d);
}
END_TEST

/* Nobody accepts; the kernel does the TCP part, and TLS waits for ever. */
START_TEST(a_handshake_that_does_not_come)
{
	struct stage s;
	struct desk d;
	struct call c = {0};
	char url[64];
	stage_start(&s, NULL, NULL);
	snprintf(url, sizeof url, "https://127.0.0.1:%u", s.port);
	desk_open(&d, &s,
		  (struct origin_options){.url = url, .insecure = true, .connect_timeout_ms = 30});
	struct fetch_request r = request_of(&d, "GET");
	call_start(&c, &d, &r);
	call_wait(&c);
	expect_end(&c, FETCH_CONNECT_TIMEOUT);
	ck_assert_int_eq(c.result.status, 504);
	call_fini(&c);
	desk_close(&d);
	close(s.lfd);
}
END_TEST

static void
play_silence(struct stage *s)
{
	int fd = stage_accept(s);
	hear(s, fd);
	if (s->script)
		say(s, fd, s->script);
	sem_wait(&s->go);
	close(fd);
}

static const char *const silences[] = {NULL, "HTTP/1.1 200 OK\r\nA: b",
				       "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"};

START_TEST(an_origin_that_falls_silent)
{
	struct stage s;
	struct desk d;
	struct call c = {0};
	stage_start(&s, play_silence, silences[_i]);
	desk_open(&d, &s, (struct origin_options){.read_timeout_ms = 40});
	struct fetch_request r = request_of(&d, "GET");
	call_start(&c, &d, &r);
	call_wait(&c);
	expect_end(&c, FETCH_READ_TIMEOUT);
	ck_assert_int_ge(c.result.total_us, 35000);
	sem_post(&s.go);
	call_fini(&c);
	desk_close(&d);
	stage_end(&s);
}
END_TEST

/* The lane that comes free calls the second, which is gone before it can come. */
START_TEST(a_lane_whose_next_has_left_goes_to_the_one_after)
{
	struct stage s;
	struct desk d;
	struct call c[3] = {0};
	stage_start(&s, play_hello, NULL);
	desk_open(&d, &s, (struct origin_options){.max_connections = 1});
	struct fetch_request r = request_of(&d, "GET");
	for (int i = 0; i < COUNT(c); i++)
		call_start(&c[i], &d, &r);
	call_wait(&c[0]); /* the loop stops before the call is heard */
	fetch_cancel(&c[1].fetch);
	call_wait(&c[2]);
	expect_end(&c[2], FETCH_OK);
	ck_assert_int_eq(c[1].dones, 0);
	for (int i = 0; i < COUNT(c); i++)
		call_fini(&c[i]);
	desk_close(&d);
	stage_end(&s);
}
END_TEST

/* Hears a request head on a connection that may have had one before. */
static void
hear_next(struct desk *d, int fd)
{
	char head[1024];
	static const struct timeval soon = {0, 2000};
	do {
		event_base_loopexit(d->base, &soon);
		event_base_dispatch(d->base);
	} while (recv(fd, head, sizeof head, MSG_DONTWAIT) <= 0);
}

/* Two connections come free in one turn of the event loop: the first of those who wait is called
 * twice, and must not be the only one who comes. */
START_TEST(two_lanes_that_come_free_at_once_go_to_two_who_wait)
{
	enum { MOST = 2, CALLS = 5 };
	struct stage s;
	struct desk d;
	struct call c[CALLS] = {0};
	int fds[MOST];
	stage_start(&s, NULL, NULL);
	desk_open(&d, &s, (struct origin_options){.max_connections = MOST});
	struct fetch_request r = request_of(&d, "GET");
	for (int i = 0; i < CALLS; i++)
		call_start(&c[i], &d, &r);
	event_base_loop(d.base, EVLOOP_NONBLOCK);
	for (int i = 0; i < MOST; i++) {
		fds[i] = stage_accept(&s);
		hear_next(&d, fds[i]);
	}
	for (int i = 0; i < MOST; i++)
		say(&s, fds[i], "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	call_wait(&c[0]);
	call_wait(&c[1]);
	for (int i = 0; i < MOST; i++) /* neither stays idle */
		hear_next(&d, fds[i]);
	for (int i = MOST; i < CALLS; i++)
		fetch_cancel(&c[i].fetch);
	for (int i = 0; i < CALLS; i++)
		call_fini(&c[i]);
	desk_close(&d);
	for (int i = 0; i < MOST; i++)
		close(fds[i]);
	stage_end(&s);
}
END_TEST

/* Takes so many connections, and more if they come, and answers nothing; how many of the requests heard
 * were GETs. */
static int
hear_all(struct stage *s, struct desk *d, int n)
{
	enum { MORE = 20 };
	static const struct timeval soon = {0, 2000};
	int gets = 0;
	for (int i = 0; i < MORE; i += s->accepted >= n) {
		int fd;
		event_base_loopexit(d->base, &soon);
		event_base_dispatch(d->base);
		while ((fd = accept4(s->lfd, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
			char head[4];
			s->accepted++;
			while (recv(fd, head, 4, MSG_PEEK) != 4) {
				event_base_loopexit(d->base, &soon);
				event_base_dispatch(d->base);
			}
			gets += memcmp(head, "GET ", 4) == 0;
		}
	}
	return gets;
}

/* Uploads whose bodies never come, and requests without: half of the connections is theirs. */
START_TEST(slow_uploads_hold_half_of_the_connections_at_most)
{
	enum { MOST = 6, UPLOADS = 10 };
	struct stage s;
	struct desk d;
	struct call up[UPLOADS] = {0}, plain = {0};
	stage_start(&s, NULL, NULL);
	fcntl(s.lfd, F_SETFL, O_NONBLOCK);
	desk_open(&d, &s,
		  (struct origin_options){.max_connections = MOST, .connect_timeout_ms = 60000});
	struct fetch_request r = request_of(&d, "POST");
	r.framing = FRAMING_CHUNKED;
	for (int i = 0; i < UPLOADS; i++) {
		up[i].send_says = FETCH_SEND_LATER;
		call_start(&up[i], &d, &r);
	}
	r = request_of(&d, "GET");
	call_start(&plain, &d, &r);
	ck_assert_int_eq(hear_all(&s, &d, MOST / 2 + 1), 1);
	ck_assert_int_eq(s.accepted, MOST / 2 + 1);
	fetch_cancel(&up[0].fetch); /* makes room for the next that waits */
	hear_all(&s, &d, MOST / 2 + 2);
	ck_assert_int_eq(s.accepted, MOST / 2 + 2);
	desk_close(&d);
	stage_end(&s);
}
END_TEST

/* The clock stands otherwise. */
static void
pass_ms(struct event_base *base, int ms)
{
	enum { TURNS = 20 };
	own_clock_pass_ms(ms);
	for (int i = 0; i < TURNS; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
}

START_TEST(waiting_for_a_lane_has_an_end)
{
	struct stage s;
	struct desk d;
	struct call c[2] = {0};
	own_clock_hold();
	stage_start(&s, play_silence, NULL);
	desk_open(&d, &s, (struct origin_options){.max_connections = 1, .connect_timeout_ms = 40});
	struct fetch_request r = request_of(&d, "GET");
	call_start(&c[0], &d, &r);
	call_start(&c[1], &d, &r);
	while (s.requests == 0)
		event_base_loop(d.base, EVLOOP_NONBLOCK);
	pass_ms(d.base, 39);
	ck_assert_int_eq(c[1].dones, 0);
	pass_ms(d.base, 1);
	expect_end(&c[1], FETCH_QUEUE_TIMEOUT);
	ck_assert_int_eq(c[0].dones, 0);
	fetch_cancel(&c[0].fetch);
	sem_post(&s.go);
	desk_close(&d);
	stage_end(&s);
}
END_TEST

/* A long answer on one connection, which is closed before its end, and hello on a second. */
static void
play_two(struct stage *s)
{
	int slow = stage_accept(s);
	hear(s, slow);
	say(s, slow, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nlong");
	int fd = stage_accept(s);
	hear(s, fd);
	say(s, fd, HELLO);
	sem_wait(&s->go);
	close(fd);
	close(slow);
}

static const struct {
	const char *says;
	uint64_t who_waits; /* the client with the paused fetch is 1 */
	bool resumes;
} paused[] = {
	{"a reader that takes nothing has its place for half of the others' patience", 2, false},
	{"of the same client as well", 1, false},
	{"one that comes back in time keeps it, and the other waits in vain", 2, true},
};

START_TEST(a_paused_fetch_gives_its_place)
{
	struct stage s;
	struct desk d;
	struct call slow = {.refuse = true}, c = {0};
	own_clock_hold();
	stage_start(&s, play_two, NULL);
	desk_open(&d, &s,
		  (struct origin_options){.max_connections = 1,
					  .connect_timeout_ms = 10000,
					  .read_timeout_ms = 20000});
	struct fetch_request r = request_of(&d, "GET");
	slow.client = 1;
	call_start(&slow, &d, &r);
	event_base_dispatch(d.base); /* until the body is refused */
	c.client = paused[_i].who_waits;
	call_start(&c, &d, &r);
	pass_ms(d.base, 0);
	pass_ms(d.base, 4999);
	ck_assert_int_eq(slow.dones + c.dones, 0);
	ck_assert_int_eq(s.accepted, 1);
	if (paused[_i].resumes) {
		slow.refuse = false;
		fetch_resume(slow.fetch);
		pass_ms(d.base, 4000);
		expect(&slow.body, "long");
		ck_assert_int_eq(slow.dones + c.dones, 0);
		pass_ms(d.base, 1100);
		expect_end(&c, FETCH_QUEUE_TIMEOUT);
		fetch_cancel(&slow.fetch);
		call_start(&c, &d, &r);
		c.dones = 0;
	} else {
		pass_ms(d.base, 251);
		ck_assert_int_eq(slow.dones, 1);
		expect_end(&slow, FETCH_STALLED);
	}
	call_wait(&c);
	expect_end(&c, FETCH_OK);
	expect(&c.body, "hello");
	sem_post(&s.go);
	call_fini(&slow);
	call_fini(&c);
	desk_close(&d);
	stage_end(&s);
}
END_TEST

/* A queue that is full: those who come may wait only in others' places. */
START_TEST(a_full_queue)
{
	enum { A = 1, B = 2, C = 3 };
	struct stage s;
	struct desk d;
	struct call under_way = {.client = A}, a[3] = {{.client = A}, {.client = A}, {.client = A}},
		    b = {.client = B}, c[2] = {{.client = C}, {.client = C}}, other = {.client = C};
	stage_start(&s, play_silence, NULL);
	desk_open(&d, &s,
		  (struct origin_options){.max_connections = 1, .connect_timeout_ms = 60000});
	struct fetch_request r = request_of(&d, "GET");
	r.refused = true; /* it needs no place, for a connection is free */
	call_start(&under_way, &d, &r);
	while (s.requests == 0)
		event_base_loop(d.base, EVLOOP_NONBLOCK);
	r.share = 1;
	call_start(&a[0], &d, &r); /* it has one at any rate */
	r.refused = false;
	call_start(&a[1], &d, &r);
	call_start(&a[2], &d, &r);
	event_base_loop(d.base, EVLOOP_NONBLOCK);
	r.refused = true;
	r.group = &d; /* nobody of its group waits */
	call_start(&other, &d, &r);
	call_wait(&other);
	expect_end(&other, FETCH_QUEUE_FULL);
	r.group = NULL;
	call_start(&b, &d, &r);
	call_wait(&a[2]);
	expect_end(&a[2], FETCH_QUEUE_FULL);
	call_start(&c[0], &d, &r);
	call_wait(&a[1]);
	expect_end(&a[1], FETCH_QUEUE_FULL);
	call_start(&c[1], &d, &r); /* nobody has more than it has now */
	call_wait(&c[1]);
	expect_end(&c[1], FETCH_QUEUE_FULL);
	ck_assert_int_eq(under_way.dones + a[0].dones + b.dones + c[0].dones, 0);
	desk_close(&d);
	sem_post(&s.go);
	stage_end(&s);
}
END_TEST

/* Says half its answer before the request's body is over, if there is one; the rest after it, when
 * told to. */
static void
play_patient(struct stage *s)
{
	int fd = stage_accept(s);
	hear(s, fd);
	say(s, fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
	if (s->script)
		hear_chunks(s, fd);
	sem_wait(&s->go);
	say(s, fd, "lo");
	close(fd);
}

/* By read_timeout, and by total_timeout. */
START_TEST(our_own_slowness_is_not_the_origins)
{
	struct stage s;
	struct desk d;
	bool upload = _i % 2;
	struct call c = {.refuse = !upload, .send_says = FETCH_SEND_LATER};
	own_clock_hold();
	stage_start(&s, play_patient, upload ? "a body" : NULL);
	desk_open(&d, &s,
		  (struct origin_options){.read_timeout_ms = 1000,
					  .total_timeout_ms = _i < 2 ? 0 : 1000});
	struct fetch_request r = request_of(&d, upload ? "PUT" : "GET");
	r.framing = upload ? FRAMING_CHUNKED : FRAMING_NONE;
	call_start(&c, &d, &r);
	while (upload ? !c.sends_called || c.body.n < 3 : !c.refused)
		event_base_loop(d.base, EVLOOP_ONCE);
	pass_ms(d.base, 1500);
	ck_assert_int_eq(c.dones, 0);
	c.refuse = false;
	c.send_says = 0;
	fetch_resume(c.fetch);
	fetch_send_more(c.fetch);
	pass_ms(d.base, 20);
	sem_post(&s.go);
	call_wait(&c);
	expect_end(&c, FETCH_OK);
	expect(&c.body, "hello");
	call_fini(&c);
	desk_close(&d);
	stage_end(&s);
}
END_TEST

/* The time that the caller took is not given to the origin: what was left of total_timeout is. */
START_TEST(total_timeout_goes_on_when_the_caller_is_back)
{
	struct stage s;
	struct desk d;
	struct call c = {.refuse = true};
	own_clock_hold();
	stage_start(&s, play_patient, NULL);
	desk_open(&d, &s, (struct origin_options){.total_timeout_ms = 1000});
	struct fetch_request r = request_of(&d, "GET");
	call_start(&c, &d, &r);
	while (!c.refused)
		event_base_loop(d.base, EVLOOP_ONCE);
	pass_ms(d.base, 1500);
	ck_assert_int_eq(c.dones, 0);
	c.refuse = false;
	fetch_resume(c.fetch);
	pass_ms(d.base, 0);
	pass_ms(d.base, 999);
	ck_assert_int_eq(c.dones, 0);
	pass_ms(d.base, 1);
	call_wait(&c);
	expect_end(&c, FETCH_TOTAL_TIMEOUT);
	sem_post(&s.go);
	call_fini(&c);
	desk_close(&d);
	stage_end(&s);
}
END_TEST

/* -- bodies ------------------------------------------------------------------------------------ */

static atomic_size_t curl_bytes, curl_peak;

static void *
count(void *p)
{
	size_t now = p ? atomic_fetch_add(&curl_bytes, *(size_t *)p) + *(size_t *)p : 0;
	size_t peak = curl_peak;
	while (now > peak && !atomic_compare_exchange_weak(&curl_peak, &peak, now))
		;
	return p ? (char *)p + 16 : NULL;
}
static void *
counted_malloc(size_t n)
{
	size_t *p = malloc(n + 16);
	if (p)
		*p = n;
	return count(p);
}
static void *
counted_calloc(size_t a, size_t b)
{
	void *p = counted_malloc(a * b);
	return p ? memset(p, 0, a * b) : NULL;
}
static void
counted_free(void *p)
{
	if (!p)
		return;
	size_t *q = (void *)((char *)p - 16);
	curl_bytes -= *q;
	free(q);
}
static void *
counted_realloc(void *p, size_t n)
{
	void *q = counted_malloc(n);
	size_t had = p ? *(size_t *)(void *)((char *)p - 16) : 0;
	if (q && p)
		memcpy(q, p, had < n ? had : n);
	counted_free(p);
	return q;
}
static char *
counted_strdup(const char *z)
{
	char *p = counted_malloc(strlen(z) + 1);
	return p ? strcpy(p, z) : NULL;
}

enum { LARGE = 64 << 20 };

static void
play_large(struct stage *s)
{
	static char block[1 << 16];
	int fd = stage_accept(s);
	bool chunked = s->script != NULL;
	char line[128];
	hear(s, fd);
	if (chunked)
		snprintf(line, sizeof line,
			 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
	else
		snprintf(line, sizeof line, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", LARGE);
	say(s, fd, line);
	for (size_t at = 0; at < LARGE; at += sizeof block) {
		for (size_t i = 0; i < sizeof block; i += 8)
			memcpy(block + i, &(uint64_t){at + i}, 8);
		if (chunked)
			say(s, fd, "10000\r\n");
		say_bytes(s, fd, block, sizeof block);
		if (chunked)
			say(s, fd, "\r\n");
	}
	if (chunked)
		say(s, fd, "0\r\n\r\n");
	close(fd);
}

struct sieve { /* takes every other offer, checks what it takes */
	struct desk *desk;
	struct fetch *fetch;
	uint64_t taken;
	unsigned offers;
	bool done;
	struct fetch_result result;
};

static void
ignore_head(void *ctx, const struct response *rs)
{
	(void)ctx;
	(void)rs;
}

static bool
sieve_body(void *ctx, const char *p, size_t n)
{
	struct sieve *v = ctx;
	if (v->offers++ % 2 == 0) {
		event_base_loopbreak(v->desk->base);
		return false;
	}
	for (size_t i = 0; i < n; i++, v->taken++)
		if (p[i] != (char)((v->taken & ~7ul) >> (v->taken % 8 * 8)))
			ck_abort_msg("a wrong byte at %zu", (size_t)v->taken);
	return true;
}

static void
sieve_done(void *ctx, const struct fetch_result *r)
{
	struct sieve *v = ctx;
	v->done = true;
	v->result = *r;
	event_base_loopbreak(v->desk->base);
}

static const char *const large[] = {NULL, "chunked"};

START_TEST(a_slow_client_grows_no_memory)
{
	static const struct fetch_events ev = {
		.on_head = ignore_head, .on_body = sieve_body, .on_done = sieve_done};
	struct stage s;
	struct desk d;
	struct sieve v = {.desk = &d};
	curl_global_init_mem(CURL_GLOBAL_DEFAULT, counted_malloc, counted_free, counted_realloc,
			     counted_strdup, counted_calloc);
	stage_start(&s, play_large, large[_i]);
	desk_open(&d, &s, (struct origin_options){0});
	struct fetch_request r = request_of(&d, "GET");
	v.fetch = fetch_start(d.fetcher, &r, &ev, &v);
	while (!v.done) {
		event_base_dispatch(d.base);
		if (!v.done)
			fetch_resume(v.fetch);
	}
	ck_assert_int_eq(v.result.end, FETCH_OK);
	ck_assert_uint_eq(v.taken, LARGE);
	/* fetch.h: 128 KiB of body, beside what libcurl needs for itself. */
	ck_assert_msg(curl_peak < 192 << 10, "libcurl held %zu bytes", (size_t)curl_peak);
	desk_close(&d);
	stage_end(&s);
}
END_TEST

static void
play_upload(struct stage *s)
{
	int fd = stage_accept(s);
	hear(s, fd);
	char *length = strstr(s->head, "Content-Length: ");
	if (length)
		hear_body(s, fd, strtoul(length + 16, NULL, 10));
	else
		hear_chunks(s, fd);
	say(s, fd, HELLO);
	close(fd);
}

/* Takes "<hex>\r\n<data>\r\n" apart in place. */
static void
unchunk(struct buf *b)
{
	char *from = b->p, *to = b->p;
	for (;;) {
		size_t n = strtoul(from, &from, 16);
		from += 2;
		if (n == 0)
			break;
		memmove(to, from, n);
		to += n;
		from += n + 2;
	}
	b->n = (size_t)(to - b->p);
}

static const struct {
	const char *says, *method;
	enum framing framing;
	size_t piece;
	bool in_two; /* half of it comes later */
} uploads[] = {
	{"a length", "POST", FRAMING_LENGTH, 0, false},
	{"a length in small pieces", "PUT", FRAMING_LENGTH, 1000, false},
	{"a length in two goes", "PUT", FRAMING_LENGTH, 0, true},
	{"chunks", "POST", FRAMING_CHUNKED, 0, false},
	{"chunks in small pieces", "PATCH", FRAMING_CHUNKED, 777, false},
	{"chunks in two goes", "POST", FRAMING_CHUNKED, 0, true},
	{"GET with a body", "GET", FRAMING_LENGTH, 0, false},
};

START_TEST(upload)
{
	struct stage s;
	struct desk d;
	struct buf b = {0};
	for (int i = 0; i < 100000; i++)
		buf_add_u64(&b, (uint64_t)i);
	size_t half = uploads[_i].in_two ? b.n / 2 : b.n;
	struct call c = {.upload = {b.p, half}, .piece = uploads[_i].piece};
	c.send_says = uploads[_i].in_two ? FETCH_SEND_LATER : 0;
	stage_start(&s, play_upload, NULL);
	desk_open(&d, &s, (struct origin_options){0});
	struct fetch_request r = request_of(&d, uploads[_i].method);
	r.framing = uploads[_i].framing;
	r.content_length = b.n;
	r.fields = STR("Content-Type: a/b\r\n");
	call_start(&c, &d, &r);
	if (uploads[_i].in_two) {
		while (c.upload.n)
			event_base_dispatch(d.base);
		c.upload = (struct str){b.p + half, b.n - half};
		c.send_says = 0;
		fetch_send_more(c.fetch);
	}
	call_wait(&c);
	expect_end(&c, FETCH_OK);
	desk_close(&d);
	pthread_join(s.thread, NULL);
	char want[256], framing[64];
	snprintf(framing, sizeof framing,
		 r.framing == FRAMING_LENGTH ? "Content-Length: %zu" : "Transfer-Encoding: chunked",
		 b.n);
	s.head[s.head_bytes] = 0;
	snprintf(want, sizeof want, "%s /x HTTP/1.1\r\n", r.method.p);
	ck_assert_ptr_nonnull(strstr(s.head, want));
	ck_assert_ptr_nonnull(strstr(s.head, framing));
	ck_assert_ptr_nonnull(strstr(s.head, "Content-Type: a/b\r\n"));
	ck_assert_ptr_null(strstr(s.head, "Expect"));
	if (r.framing == FRAMING_CHUNKED)
		unchunk(&s.body);
	ck_assert_uint_eq(s.body.n, b.n);
	ck_assert_int_eq(memcmp(s.body.p, b.p, b.n), 0);
	s.play = NULL;
	stage_end(&s);
	call_fini(&c);
	buf_fini(&b);
}
END_TEST

static void
play_deaf(struct stage *s)
{
	int fd = stage_accept(s);
	hear(s, fd);
	hear_body(s, fd, SIZE_MAX);
	close(fd);
}

START_TEST(a_client_whose_body_breaks_off)
{
	struct stage s;
	struct desk d;
	struct call c = {.upload = STR("half"), .send_says = _i ? FETCH_SEND_ABORT : 0};
	stage_start(&s, play_deaf, NULL);
	desk_open(&d, &s, (struct origin_options){0});
	struct fetch_request r = request_of(&d, "PUT");
	r.framing = FRAMING_LENGTH;
	r.content_length = 8;
	call_start(&c, &d, &r);
	call_wait(&c);
	expect_end(&c, FETCH_ABORTED);
	call_fini(&c);
	desk_close(&d);
	stage_end(&s);
}
END_TEST

/* Answers in full, long before the request's body is over, and reads no more of it. */
static void
play_hasty(struct stage *s)
{
	char c;
	int fd = stage_accept(s);
	hear(s, fd);
	say(s, fd, s->script);
	while (recv(fd, &c, 1, 0) > 0)
		;
	close(fd);
}

static const char *const hasty[] = {
	HELLO,
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
	"HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\n\r\nhello",
	"HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
};

START_TEST(an_answer_before_the_body_is_over)
{
	struct stage s;
	struct desk d;
	struct call c = {.upload = STR("half"), .send_says = FETCH_SEND_LATER};
	stage_start(&s, play_hasty, hasty[_i]);
	desk_open(&d, &s, (struct origin_options){0});
	struct fetch_request r = request_of(&d, "PUT");
	r.framing = _i % 2 ? FRAMING_LENGTH : FRAMING_CHUNKED;
	r.content_length = 1000;
	call_start(&c, &d, &r);
	call_wait(&c);
	expect_end(&c, FETCH_OK);
	expect(&c.body, "hello");
	call_fini(&c);
	desk_close(&d);
	stage_end(&s);
}
END_TEST

/* -- cancelling -------------------------------------------------------------------------------- */

static void
play_chatty(struct stage *s)
{
	int fd = stage_accept(s);
	hear(s, fd);
	hear_chunks(s, fd);
	say(s, fd,
	    "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello");
	hear(s, fd); /* until it is closed */
	sem_post(&s->reached);
	close(fd);
	play_hello(s);
}

START_TEST(a_cancel_in_a_callback)
{
	struct stage s;
	struct desk d;
	struct call c = {.cancel_in = IN_INTERIM + _i, .upload = STR("body")};
	stage_start(&s, play_chatty, NULL);
	desk_open(&d, &s, (struct origin_options){0});
	struct fetch_request r = request_of(&d, "POST");
	r.framing = FRAMING_CHUNKED;
	call_start(&c, &d, &r);
	while (c.fetch)
		event_base_dispatch(d.base);
	ck_assert_uint_eq(fetcher_active(d.fetcher), 0);
	sem_wait(&s.reached);
	get_ok(&d, false);
	ck_assert_int_eq(c.dones, 0);
	call_fini(&c);
	desk_close(&d);
	stage_end(&s);
}
END_TEST

START_TEST(a_cancel_while_paused)
{
	struct stage s;
	struct desk d;
	struct call c = {.refuse = true};
	stage_start(&s, play_large, NULL);
	desk_open(&d, &s, (struct origin_options){0});
	struct fetch_request r = request_of(&d, "GET");
	call_start(&c, &d, &r);
	event_base_dispatch(d.base);
	ck_assert_uint_gt(c.head.n, 0);
	if (_i) /* a resume that is still to be carried out */
		fetch_resume(c.fetch);
	fetch_cancel(&c.fetch);
	ck_assert_uint_eq(fetcher_active(d.fetcher), 0);
	call_fini(&c);
	desk_close(&d);
	stage_end(&s);
}
END_TEST

START_TEST(a_cancel_before_anything_happened)
{
	struct stage s;
	struct desk d;
	struct call c = {0};
	stage_start(&s, NULL, NULL);
	desk_open(&d, &s, (struct origin_options){0});
	struct fetch_request r = request_of(&d, "GET");
	call_start(&c, &d, &r);
	fetch_cancel(&c.fetch);
	fetch_cancel(&c.fetch);
	event_base_loop(d.base, EVLOOP_NONBLOCK);
	ck_assert_int_eq(c.dones, 0);
	desk_close(&d);
	close(s.lfd);
}
END_TEST

START_TEST(a_fetcher_destroyed_at_work)
{
	struct stage s;
	struct desk d;
	struct call c[3] = {0};
	stage_start(&s, play_large, NULL);
	desk_open(&d, &s, (struct origin_options){.max_connections = 1});
	struct fetch_request r = request_of(&d, "GET");
	c[0].refuse = true;
	call_start(&c[0], &d, &r);
	call_start(&c[1], &d, &r);
	event_base_dispatch(d.base);
	call_start(&c[2], &d, &r);
	desk_close(&d);
	for (int i = 0; i < COUNT(c); i++) {
		ck_assert_int_eq(c[i].dones, 0);
		call_fini(&c[i]);
	}
	stage_end(&s);
}
END_TEST

/* -- TLS --------------------------------------------------------------------------------------- */

struct papers {
	char ca_file[64], other_ca_file[64];
	X509 *cert;
	EVP_PKEY *key;
};

static X509 *
certify(const char *name, const char *san, EVP_PKEY *key, X509 *issuer, EVP_PKEY *issuer_key)
{
	static long serial = 1;
	X509 *x = X509_new();
	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x), serial++);
	X509_gmtime_adj(X509_getm_notBefore(x), -3600);
	X509_gmtime_adj(X509_getm_notAfter(x), 86400);
	X509_set_pubkey(x, key);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
				   (const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(x, X509_get_subject_name(issuer ? issuer : x));
	X509_EXTENSION *e =
		issuer ? X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, san)
		       : X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints, "critical,CA:TRUE");
	X509_add_ext(x, e, -1);
	X509_EXTENSION_free(e);
	X509_sign(x, issuer ? issuer_key : key, EVP_sha256());
	return x;
}

static void
write_cert(X509 *x, char *path, size_t n)
{
	snprintf(path, n, "/tmp/test_fetch_ca_XXXXXX");
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");
	PEM_write_X509(f, x);
	fclose(f);
}

static void
papers_make(struct papers *p)
{
	EVP_PKEY *ca_key = EVP_EC_gen("P-256"), *other_key = EVP_EC_gen("P-256");
	X509 *ca = certify("a CA", NULL, ca_key, NULL, NULL);
	X509 *other = certify("another CA", NULL, other_key, NULL, NULL);
	p->key = EVP_EC_gen("P-256");
	p->cert = certify("origin", "DNS:localhost,DNS:origin.example", p->key, ca, ca_key);
	write_cert(ca, p->ca_file, sizeof p->ca_file);
	write_cert(other, p->other_ca_file, sizeof p->other_ca_file);
	X509_free(ca);
	X509_free(other);
	EVP_PKEY_free(ca_key);
	EVP_PKEY_free(other_key);
}

static void
papers_burn(struct papers *p)
{
	unlink(p->ca_file);
	unlink(p->other_ca_file);
	X509_free(p->cert);
	EVP_PKEY_free(p->key);
}

struct tls_script {
	struct papers *papers;
	int connections;
	bool rude;	    /* ends without a close_notify, and without a length */
	char sni[64];	    /* heard */
	atomic_int resumed; /* connections */
};

static void
play_tls_one(struct stage *s, struct tls_script *t, SSL_CTX *ctx)
{
	int fd = stage_accept(s);
	SSL *ssl = SSL_new(ctx);
	SSL_set_fd(ssl, fd);
	char head[4096];
	if (SSL_accept(ssl) == 1 && SSL_read(ssl, head, sizeof head) > 0) {
		static const char answer_end[] =
			"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
		static const char answer_rude[] = "HTTP/1.1 200 OK\r\n\r\nhello";
		const char *sni = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
		snprintf(t->sni, sizeof t->sni, "%s", sni ? sni : "");
		t->resumed += SSL_session_reused(ssl);
		const char *a = t->rude ? answer_rude : answer_end;
		SSL_write(ssl, a, (int)strlen(a));
		if (!t->rude)
			SSL_shutdown(ssl);
	}
	shutdown(fd, SHUT_WR);
	while (recv(fd, head, sizeof head, 0) > 0)
		;
	SSL_free(ssl);
	close(fd);
}

static void
play_tls(struct stage *s)
{
	struct tls_script *t = (void *)(uintptr_t)s->script;
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	SSL_CTX_use_certificate(ctx, t->papers->cert);
	SSL_CTX_use_PrivateKey(ctx, t->papers->key);
	SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"t", 1);
	for (int i = 0; i < t->connections; i++)
		play_tls_one(s, t, ctx);
	SSL_CTX_free(ctx);
}

static const struct {
	const char *says, *name, *host;
	int ca; /* 0: none given, 1: ours, 2: another */
	bool insecure, rude;
	enum fetch_end end;
	const char *sni;
} tls_cases[] = {
	{"a certificate of the CA given", "localhost", NULL, 1, false, false, FETCH_OK,
	 "localhost"},
	{"one of another CA", "localhost", NULL, 2, false, false, FETCH_TLS, NULL},
	{"one the system does not know", "localhost", NULL, 0, false, false, FETCH_TLS, NULL},
	{"no questions asked", "localhost", NULL, 0, true, false, FETCH_OK, "localhost"},
	{"an address is no name in it", "127.0.0.1", NULL, 1, false, false, FETCH_TLS, NULL},
	{"but host may name an address", "127.0.0.1", "origin.example", 1, false, false, FETCH_OK,
	 "origin.example"},
	{"with a port", "127.0.0.1", "origin.example:8443", 1, false, false, FETCH_OK,
	 "origin.example"},
	{"host does not replace a name", "localhost", "www.example", 1, false, false, FETCH_OK,
	 "localhost"},
	{"a wrong name beside an address", "127.0.0.1", "www.example", 1, false, false, FETCH_TLS,
	 NULL},
	{"cut without a goodbye", "localhost", NULL, 1, false, true, FETCH_TRUNCATED, "localhost"},
};

START_TEST(tls)
{
	struct papers p;
	struct stage s;
	struct desk d;
	struct call c = {0};
	char url[64];
	papers_make(&p);
	struct tls_script t = {.papers = &p, .connections = 1, .rude = tls_cases[_i].rude};
	stage_start(&s, play_tls, &t);
	snprintf(url, sizeof url, "https://%s:%u", tls_cases[_i].name, s.port);
	desk_open(&d, &s,
		  (struct origin_options){
			  .url = url,
			  .host = tls_cases[_i].host,
			  .insecure = tls_cases[_i].insecure,
			  .ca_file = (const char *[]){NULL, p.ca_file,
						      p.other_ca_file}[tls_cases[_i].ca],
		  });
	struct fetch_request r = request_of(&d, "GET");
	call_start(&c, &d, &r);
	call_wait(&c);
	ck_assert_msg(c.result.end == tls_cases[_i].end, "%s: %s, %s", tls_cases[_i].says,
		      c.result.word, c.detail);
	if (tls_cases[_i].end == FETCH_TLS)
		ck_assert_msg(strstr(c.detail, "SSL") != NULL, "%s", c.detail);
	call_fini(&c);
	desk_close(&d);
	stage_end(&s);
	if (tls_cases[_i].sni)
		ck_assert_str_eq(t.sni, tls_cases[_i].sni);
	papers_burn(&p);
}
END_TEST

/* Sends a request's body back. */
enum { TLS_BODY = 3 << 20 };

static void
play_tls_bodies(struct stage *s)
{
	struct tls_script *t = (void *)(uintptr_t)s->script;
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	SSL_CTX_use_certificate(ctx, t->papers->cert);
	SSL_CTX_use_PrivateKey(ctx, t->papers->key);
	int fd = stage_accept(s), n;
	SSL *ssl = SSL_new(ctx);
	SSL_set_fd(ssl, fd);
	SSL_accept(ssl);
	struct buf in = {0};
	const char *end = NULL;
	while (!end || in.n < (size_t)(end + 4 - in.p) + TLS_BODY) {
		if ((n = SSL_read(ssl, buf_room(&in, 16384), 16384)) <= 0)
			break;
		buf_added(&in, (size_t)n);
		end = memmem(in.p, in.n, "\r\n\r\n", 4);
	}
	char head[128];
	n = snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", TLS_BODY);
	SSL_write(ssl, head, n);
	if (end) /* an echo */
		SSL_write(ssl, end + 4, (int)(in.p + in.n - end - 4));
	buf_fini(&in);
	while (SSL_read(ssl, head, sizeof head) > 0)
		;
	SSL_free(ssl);
	SSL_CTX_free(ctx);
	close(fd);
}

struct echo { /* sends words that count up, takes every other offer of them */
	struct sieve sieve;
	uint64_t sent;
};

static ptrdiff_t
echo_send(void *ctx, char *p, size_t max)
{
	struct echo *e = ctx;
	size_t n = 0;
	for (; n < max && e->sent < TLS_BODY; n++, e->sent++)
		p[n] = (char)((e->sent & ~7ul) >> (e->sent % 8 * 8));
	return (ptrdiff_t)n;
}

START_TEST(tls_bodies_both_ways)
{
	static const struct fetch_events ev = {.on_head = ignore_head,
					       .on_body = sieve_body,
					       .on_send = echo_send,
					       .on_done = sieve_done};
	struct papers p;
	struct stage s;
	struct desk d;
	struct echo e = {.sieve = {.desk = &d}};
	char url[64];
	papers_make(&p);
	struct tls_script t = {.papers = &p};
	stage_start(&s, play_tls_bodies, &t);
	snprintf(url, sizeof url, "https://localhost:%u", s.port);
	desk_open(&d, &s, (struct origin_options){.url = url, .ca_file = p.ca_file});
	struct fetch_request r = request_of(&d, "POST");
	r.framing = FRAMING_LENGTH;
	r.content_length = TLS_BODY;
	e.sieve.fetch = fetch_start(d.fetcher, &r, &ev, &e);
	while (!e.sieve.done) {
		event_base_dispatch(d.base);
		if (!e.sieve.done)
			fetch_resume(e.sieve.fetch);
	}
	ck_assert_int_eq(e.sieve.result.end, FETCH_OK);
	ck_assert_uint_eq(e.sieve.taken, TLS_BODY);
	desk_close(&d);
	stage_end(&s);
	papers_burn(&p);
}
END_TEST

START_TEST(tls_sessions_are_resumed)
{
	struct papers p;
	struct stage s;
	struct desk d;
	char url[64];
	papers_make(&p);
	struct tls_script t = {.papers = &p, .connections = 3};
	stage_start(&s, play_tls, &t);
	snprintf(url, sizeof url, "https://localhost:%u", s.port);
	desk_open(&d, &s, (struct origin_options){.url = url, .ca_file = p.ca_file});
	for (int i = 0; i < 3; i++)
		get_ok(&d, false);
	desk_close(&d);
	stage_end(&s);
	ck_assert_int_eq(t.resumed, 2);
	papers_burn(&p);
}
END_TEST

/* -- origins and threads ----------------------------------------------------------------------- */

static const struct {
	const char *url, *ca_file, *wrong; /* NULL: it is right */
} urls[] = {
	{"http://a.example", NULL, NULL},
	{"http://a.example/", NULL, NULL},
	{"http://a.example:8080", NULL, NULL},
	{"https://[::1]:8443", NULL, NULL},
	{"a.example", NULL, "is not a URL"},
	{"http://", NULL, "is not a URL"},
	{"http://a:99999", NULL, "is not a URL"},
	{"", NULL, "is not a URL"},
	{"ftp://a.example", NULL, "must begin with http"},
	{"http://a.example/path", NULL, "must end after"},
	{"http://a.example/?q", NULL, "must end after"},
	{"http://u:p@a.example", NULL, "must not hold a user"},
	{"https://a.example", "/no/such/file", "ca_file: cannot read /no/such/file"},
};

START_TEST(url)
{
	char err[256] = "";
	struct origin *o = origin_create(
		&(struct origin_options){.url = urls[_i].url, .ca_file = urls[_i].ca_file}, err,
		sizeof err);
	if (urls[_i].wrong) {
		ck_assert_ptr_null(o);
		ck_assert_msg(strstr(err, urls[_i].wrong) != NULL, "%s", err);
		return;
	}
	ck_assert_msg(o != NULL, "%s", err);
	ck_assert_str_eq(origin_url(o), urls[_i].url);
	origin_destroy(&o);
	ck_assert_ptr_null(o);
	origin_destroy(&o);
}
END_TEST

static void *
fetch_some(void *arg)
{
	struct stage s;
	struct desk d;
	(void)arg;
	stage_start(&s, play_hello, NULL);
	desk_open(&d, &s, (struct origin_options){0});
	for (int i = 0; i < 50; i++)
		get_ok(&d, i > 0);
	desk_close(&d);
	stage_end(&s);
	return NULL;
}

START_TEST(a_fetcher_per_thread)
{
	pthread_t t[4];
	for (int i = 0; i < COUNT(t); i++)
		pthread_create(&t[i], NULL, fetch_some, NULL);
	for (int i = 0; i < COUNT(t); i++)
		pthread_join(t[i], NULL);
}
END_TEST

UNIT("fetch", LOOP(answer, answers), TEST(nul_in_a_head_is_refused), TEST(a_head_has_a_bound),
     TEST(interim_heads_come_on_their_own), LOOP(request, requests),
     TEST(methods_in_turn_on_one_connection), TEST(a_connection_is_kept),
     TEST(a_dead_kept_connection_is_tried_once_more), LOOP(what_may_not_be_repeated_is_not, once),
     TEST(a_small_body_is_sent_once_more_with_its_head),
     TEST(an_idle_connection_that_closed_is_not_used),
     TEST(bytes_of_nobodys_response_are_not_the_next_one),
     TEST(an_idle_connection_that_closed_is_closed), TEST(connection_close_is_obeyed),
     TEST(those_beyond_max_connections_wait_their_turn),
     TEST(a_lane_whose_next_has_left_goes_to_the_one_after),
     TEST(a_fetch_may_start_in_the_end_of_another), TEST(a_refused_connection),
     TEST(no_socket_is_left), TEST(an_unknown_name), TEST(a_handshake_that_does_not_come),
     LOOP(an_origin_that_falls_silent, silences),
     TEST(two_lanes_that_come_free_at_once_go_to_two_who_wait),
     TEST(slow_uploads_hold_half_of_the_connections_at_most), TEST(a_full_queue),
     LOOP(a_paused_fetch_gives_its_place, paused), TEST(waiting_for_a_lane_has_an_end),
     TIMES(our_own_slowness_is_not_the_origins, 4),
     TEST(total_timeout_goes_on_when_the_caller_is_back),
     LOOP(a_slow_client_grows_no_memory, large), LOOP(upload, uploads),
     TIMES(a_client_whose_body_breaks_off, 2), LOOP(an_answer_before_the_body_is_over, hasty),
     TIMES(a_cancel_in_a_callback, 4), TIMES(a_cancel_while_paused, 2),
     TEST(a_cancel_before_anything_happened), TEST(a_fetcher_destroyed_at_work),
     LOOP(tls, tls_cases), TEST(tls_bodies_both_ways), TEST(tls_sessions_are_resumed),
     LOOP(url, urls), TEST(a_fetcher_per_thread))
