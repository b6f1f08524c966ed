/* test_h1.c - wire against a serve that is only a script: framing, pipelines, slow clients, resets,
 * and the order that the contract promises.
 * rooms: wire http base
 */
#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/wire/h1_stream.h"

#include "tests/kit/own_clock.h"
#include "tests/kit/own_wire.h"
#include "tests/kit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- a serve that does what the target says -------------------------------------------------- */

/*	/len/5        5 bytes of known length, in one pull
 *	/bits/5       the same, a byte a pull, LATER before each
 *	/chunks/5     length unknown, END alone
 *	/chunked/5    length unknown, END with the last piece
 *	/short/5      announces 5, ends after 4
 *	/error/5      announces 5, ERROR after 4
 *	/uerror/5     length unknown, ERROR after 4
 *	/reset        stream_reset at once
 *	/wait         no answer
 *	/late         answered when the test says so
 *	/wide/5       the same from few large pieces, letters or not
 *	/file/5       of known length, from a file
 *	/unread/5     from a file that cannot be read: it is pulled
 *	/silent/5     from one whose disk does not answer: so is it
 *	/echo         the request's body comes back
 *	/interim      a 103 before the answer
 *	/pauses       an answer without an end, while the request's body may pause
 */
struct say {
	struct stream *s;
	struct say *next;
	char how[16];
	unsigned n, at;
	bool asked_later, done, has_head;
	struct str *got; /* of the request's body */
	char body[70000];
	size_t body_n;
	unsigned bodies; /* on_body calls */
	enum stream_end end;
	uint64_t sent;
	unsigned asked; /* for a piece of a file */
};

enum { LETTERS_BYTES = 200000 };
enum { TUNNEL_S = 60 };

static struct {
	struct say *first;
	unsigned requests, done, within_call, pulls, asked_back, let_go, files;
	int file, no_file; /* of letters; one that cannot be read */
	void *view;	   /* of the first */
	const struct fault *fault;
	struct own_wire own;
	struct wire_limits limits;
} all;

/* Wire's own calls of the allocator are counted, where no sanitizer has its own: not those of the
 * script below, and not those of check. */
static unsigned allocations;
static bool counting;
#if defined __GLIBC__ && !SANITIZED && !defined __clang__
#define COUNTS_ALLOCATIONS
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);

void *
malloc(size_t n)
{
	allocations += counting;
	return __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
	allocations += counting;
	return __libc_calloc(n, size);
}

void *
realloc(void *p, size_t n)
{
	allocations += counting;
	return __libc_realloc(p, n);
}
#endif

#ifdef COUNTS_ALLOCATIONS
/* A client that takes whatever is sent to it, at once. */
static bool swallows;

ssize_t
send(int fd, const void *p, size_t n, int flags)
{
	return swallows ? (ssize_t)n : sendto(fd, p, n, flags, NULL, 0);
}
#endif

/* Every stream_* call goes through this: nothing may come up from within one. */
#define DOWN(call)                                     \
	do {                                           \
		ck_assert_uint_eq(all.within_call, 0); \
		all.within_call = 1;                   \
		counting = true;                       \
		call;                                  \
		counting = false;                      \
		all.within_call = 0;                   \
	} while (0)

static const char letters[] = "abcdefghijklmnopqrstuvwxyz";

static enum stream_pull
pull_wide(struct say *y, size_t most, struct str *pieces, unsigned *n)
{
	size_t size = y->n - y->at < sizeof y->body ? y->n - y->at : sizeof y->body;
	size = size < most ? size : most;
	pieces[(*n)++] = (struct str){y->body, size};
	y->at += (unsigned)size;
	return STREAM_PULL_SOME;
}

static enum stream_pull
pull(void *ctx, size_t most, struct str *pieces, unsigned *n)
{
	struct say *y = ctx;
	ck_assert_uint_eq(all.within_call, 0);
	ck_assert_uint_eq(*n, 0);
	ck_assert(!y->done);
	all.pulls++;
	if (strcmp(y->how, "wide") == 0)
		return pull_wide(y, most, pieces, n);
	if (strcmp(y->how, "echo") == 0) {
		pieces[(*n)++] = (struct str){y->body, y->body_n};
		return STREAM_PULL_END;
	}
	bool bits = strcmp(y->how, "bits") == 0, error = strstr(y->how, "error") != NULL;
	bool lacks = error || strcmp(y->how, "short") == 0;
	if (bits && !y->asked_later) {
		y->asked_later = true;
		return STREAM_PULL_LATER;
	}
	y->asked_later = false;
	unsigned end = lacks ? y->n - 1 : y->n;
	if (y->at == end)
		return error ? STREAM_PULL_ERROR : STREAM_PULL_END;
	while (y->at < end && *n < (bits ? 1 : STREAM_PIECES)) {
		size_t size = bits ? 1 : 3;
		if (size > end - y->at)
			size = end - y->at;
		if (size > most)
			break;
		ck_assert_uint_le(y->at % 26 + size, 28);
		if (y->at % 26 + size > 26)
			size = 26 - y->at % 26;
		pieces[(*n)++] = (struct str){letters + y->at % 26, size};
		y->at += (unsigned)size;
		most -= size;
	}
	bool last = y->at == end && !lacks && strcmp(y->how, "chunks") != 0 && !bits;
	return last ? STREAM_PULL_END : STREAM_PULL_SOME;
}

static enum stream_pull
on_pull(void *ctx, size_t most, struct str *pieces, unsigned *n)
{
	counting = false;
	enum stream_pull r = pull(ctx, most, pieces, n);
	counting = true;
	return r;
}

/* At most 40 KiB at once. */
static bool
file(void *ctx, size_t most, struct file_piece *piece)
{
	struct say *y = ctx;
	ck_assert_uint_eq(all.within_call, 0);
	static const _Atomic int64_t long_ago;
	bool unread = strcmp(y->how, "unread") == 0, silent = strcmp(y->how, "silent") == 0;
	if (!unread && strcmp(y->how, "file") != 0 && (!silent || y->asked++))
		return false;
	uint64_t n = y->n - y->at;
	n = n < most ? n : most;
	n = n < 40 << 10 ? n : 40 << 10;
	*piece = (struct file_piece){
		.fd = unread ? all.no_file : all.file, .view = all.view, .at = y->at, .n = n};
	piece->is_here = y->at == 0 && !silent; /* the later ones are looked at */
	piece->until_ms = silent ? &long_ago : NULL;
	y->at += (unsigned)n;
	all.files++;
	return true;
}

static bool
on_file(void *ctx, size_t most, struct file_piece *piece)
{
	counting = false;
	bool yes = file(ctx, most, piece);
	counting = true;
	return yes;
}

/* /len gives its bytes again; the others keep what they gave. */
static bool
give_back(void *ctx, uint64_t bytes)
{
	struct say *y = ctx;
	ck_assert_uint_eq(all.within_call, 0);
	ck_assert_uint_le(bytes, y->at);
	if (bytes == 0) {
		all.let_go++;
		return true;
	}
	all.asked_back++;
	if (strcmp(y->how, "len") != 0 && strcmp(y->how, "unread") != 0 &&
	    strcmp(y->how, "silent") != 0)
		return false;
	y->at -= (unsigned)bytes;
	return true;
}

static void
answer(struct say *y, int status, uint64_t bytes)
{
	static const struct stream_line line = {STR_INIT("X-Y"), STR_INIT("z")};
	static const struct field_block stored = {.lines = STR_INIT("A: b\r\n"), .count = 1};
	struct stream_head h = {
		.status = status, .bytes = bytes, .add = &line, .add_n = 1, .stored = &stored};
	struct stream_source src = {
		.pull = on_pull, .ctx = y, .give_back = give_back, .file = on_file};
	y->has_head = true;
	DOWN(stream_head(y->s, &h, &src));
}

static enum stream_pull
pull_never(void *ctx, size_t most, struct str *pieces, unsigned *n)
{
	(void)ctx, (void)most, (void)pieces, (void)n;
	return STREAM_PULL_LATER;
}

static void
answer_patiently(struct say *y)
{
	struct stream_head h = {
		.status = 200, .bytes = LENGTH_UNKNOWN, .pauses = STREAM_PAUSES_REQUEST};
	y->has_head = true;
	DOWN(stream_head(y->s, &h, &(struct stream_source){.pull = pull_never}));
}

static void
take_body(struct say *y)
{
	for (;;) {
		struct str some;
		const struct fault *why;
		enum stream_body r;
		DOWN(r = stream_body(y->s, &some, &why));
		if (r == STREAM_BODY_WAIT)
			return;
		if (r == STREAM_BODY_FAULT) {
			all.fault = why;
			answer(y, why ? why->status : 400, 0);
			return;
		}
		if (r == STREAM_BODY_END) {
			answer(y, 200, y->body_n);
			return;
		}
		size_t n = some.n > 7 ? 7 : some.n; /* not all at once */
		ck_assert_uint_le(y->body_n + n, sizeof y->body);
		memcpy(y->body + y->body_n, some.p, n);
		y->body_n += n;
		DOWN(stream_took(y->s, n));
	}
}

static void *
request(void *node, struct stream *s, const struct stream_request *r)
{
	ck_assert_ptr_eq(node, &all);
	ck_assert_uint_eq(all.within_call, 0);
	struct say *y = NEW(struct say);
	y->s = s;
	y->next = all.first;
	all.first = y;
	all.requests++;
	char target[32];
	snprintf(target, sizeof target, "%.*s", STR_ARG(r->rq.path_query));
	if (sscanf(target, "/%15[a-z]/%u", y->how, &y->n) < 1)
		strcpy(y->how, "fault");
	if (r->fault) {
		all.fault = r->fault;
		answer(y, r->fault->status, 0);
	} else if (strcmp(y->how, "reset") == 0) {
		DOWN(stream_reset(s));
	} else if (strcmp(y->how, "echo") == 0) {
		take_body(y);
	} else if (strcmp(y->how, "pauses") == 0) {
		take_body(y);
		answer_patiently(y);
	} else if (strcmp(y->how, "interim") == 0) {
		DOWN(own_wire_hint(s, STR("Link"), STR("<x>")));
		y->n = 5;
		answer(y, 200, 5);
	} else if (strcmp(y->how, "wait") != 0 && strcmp(y->how, "late") != 0) {
		bool unknown = strstr(y->how, "chunk") || strcmp(y->how, "uerror") == 0;
		answer(y, 200, unknown ? LENGTH_UNKNOWN : y->n);
	}
	return y;
}

static void
body(void *ctx)
{
	struct say *y = ctx;
	ck_assert_uint_eq(all.within_call, 0);
	ck_assert(!y->done);
	y->bodies++;
	if (!y->has_head)
		take_body(y);
}

static void
done(void *ctx, enum stream_end how, uint64_t bytes)
{
	struct say *y = ctx;
	char peer[STREAM_PEER_BYTES];
	ck_assert_uint_eq(all.within_call, 0);
	ck_assert(!y->done);
	stream_peer(y->s, peer);
	ck_assert_str_eq(peer, "192.0.2.1");
	y->done = true;
	y->end = how;
	y->sent = bytes;
	all.done++;
}

static void *
on_request(void *node, struct stream *s, const struct stream_request *r)
{
	counting = false;
	void *ctx = request(node, s, r);
	counting = true;
	return ctx;
}

static void
on_body(void *ctx)
{
	counting = false;
	body(ctx);
	counting = true;
}

static void
on_done(void *ctx, enum stream_end how, uint64_t bytes)
{
	counting = false;
	done(ctx, how, bytes);
	counting = true;
}

static unsigned doubts;

static void
on_doubt(void *ctx)
{
	(void)ctx;
	doubts++;
}

static const struct stream_up up = {on_request, on_body, on_done, on_doubt};

/* ---- the client's side ----------------------------------------------------------------------- */

static void
begin(void)
{
	if (!all.limits.head_bytes)
		all.limits = (struct wire_limits){.head_bytes = 4096,
						  .url_bytes = 1000,
						  .field_count = 50,
						  .header_ms = 1000,
						  .idle_ms = 5000,
						  .body_ms = 1000,
						  .send_ms = 1000,
						  .tunnel_ms = TUNNEL_S * 1000,
						  .half_close_ms = 1000};
	all.file = memfd_create("letters", 0);
	static char text[LETTERS_BYTES];
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = letters[i % 26];
	ck_assert_int_eq(write(all.file, text, sizeof text), sizeof text);
	all.view = mmap(NULL, sizeof text, PROT_READ, MAP_SHARED, all.file, 0);
	ck_assert_ptr_ne(all.view, MAP_FAILED);
	all.no_file = open(".", O_RDONLY | O_DIRECTORY);
	own_clock_hold();
	own_wire_begin(&all.own, &up, &all, &all.limits, 3);
}

static void
end(void)
{
	own_wire_end(&all.own);
	munmap(all.view, LETTERS_BYTES);
	close(all.file);
	close(all.no_file);
	ck_assert_uint_eq(all.done, all.requests);
	while (all.first) {
		struct say *y = all.first;
		all.first = y->next;
		free(y);
	}
}

/* A connection over loopback: resets are what they are in earnest. */
static int served; /* the proxy's end of the last one */

static int
open_client(int sndbuf)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	int door = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(door, (struct sockaddr *)&a, sizeof a) | listen(door, 5), 0);
	ck_assert_int_eq(getsockname(door, (struct sockaddr *)&a, &n), 0);
	if (sndbuf)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &sndbuf, sizeof sndbuf);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
	int one = 1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	served = accept4(door, NULL, NULL, SOCK_NONBLOCK);
	if (sndbuf)
		setsockopt(served, SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof sndbuf);
	close(door);
	static const struct listener listener = {.scheme = STR_INIT("http")};
	const struct sockaddr_in peer = {.sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(0xc0000201)};
	struct arrival arrival = {.fd = served, .listener = &listener};
	memcpy(&arrival.peer, &peer, sizeof peer);
	wire_accept(all.own.wire, &arrival);
	return fd;
}

static void
turn(void)
{
	for (int i = 0; i < 20; i++) {
		counting = true;
		event_base_loop(all.own.base, EVLOOP_NONBLOCK);
		counting = false;
		for (struct say *y = all.first; y; y = y->next)
			if (y->asked_later && !y->done)
				DOWN(stream_ready(y->s));
	}
}

static void
tell(int fd, const char *z)
{
	ck_assert_int_eq(send(fd, z, strlen(z), MSG_NOSIGNAL), (ssize_t)strlen(z));
	turn();
}

/* All that came so far; *closed: 0 no, 1 FIN, 2 RST. */
static char *
hear(int fd, int *closed)
{
	static char got[1 << 20];
	size_t n = 0;
	*closed = 0;
	for (;;) {
		turn();
		ssize_t r = recv(fd, got + n, sizeof got - 1 - n, MSG_DONTWAIT);
		if (r < 0 && errno == ECONNRESET)
			*closed = 2;
		if (r == 0)
			*closed = 1;
		if (r <= 0)
			break;
		n += (size_t)r;
	}
	got[n] = 0;
	return got;
}

#define LINES  "HTTP/1.1 200 OK\r\nA: b\r\nX-Y: z\r\n"
#define LATEST (all.first)

/* ---- tables ---------------------------------------------------------------------------------- */

static const struct {
	const char *says, *request, *answer;
	int closed;
	enum stream_end end;
	unsigned sent;
} answers[] = {
	{"a length known", "GET /len/5 HTTP/1.1\r\nHost: h\r\n\r\n",
	 LINES "Content-Length: 5\r\n\r\nabcde", 0, STREAM_SENT, 5},
	{"in bits", "GET /bits/5 HTTP/1.1\r\nHost: h\r\n\r\n",
	 LINES "Content-Length: 5\r\n\r\nabcde", 0, STREAM_SENT, 5},
	{"from a file", "GET /file/5 HTTP/1.1\r\nHost: h\r\n\r\n",
	 LINES "Content-Length: 5\r\n\r\nabcde", 0, STREAM_SENT, 5},
	{"a file that cannot be read", "GET /unread/5 HTTP/1.1\r\nHost: h\r\n\r\n",
	 LINES "Content-Length: 5\r\n\r\nabcde", 0, STREAM_SENT, 5},
	{"a file whose disk does not answer", "GET /silent/5 HTTP/1.1\r\nHost: h\r\n\r\n",
	 LINES "Content-Length: 5\r\n\r\nabcde", 0, STREAM_SENT, 5},
	{"HEAD", "HEAD /len/5 HTTP/1.1\r\nHost: h\r\n\r\n", LINES "Content-Length: 5\r\n\r\n", 0,
	 STREAM_SENT, 0},
	{"HEAD of a length unknown", "HEAD /chunks/5 HTTP/1.1\r\nHost: h\r\n\r\n", LINES "\r\n", 0,
	 STREAM_SENT, 0},
	{"chunked, END alone", "GET /chunks/20 HTTP/1.1\r\nHost: h\r\n\r\n",
	 LINES "Transfer-Encoding: chunked\r\n\r\nc\r\nabcdefghijkl\r\n8\r\nmnopqrst\r\n0\r\n\r\n",
	 0, STREAM_SENT, 20},
	{"chunked, END with the last piece", "GET /chunked/5 HTTP/1.1\r\nHost: h\r\n\r\n",
	 LINES "Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n", 0, STREAM_SENT, 5},
	{"HTTP/1.0 has the end of the connection", "GET /chunks/5 HTTP/1.0\r\n\r\n",
	 LINES "Connection: close\r\n\r\nabcde", 1, STREAM_SENT, 5},
	{"HTTP/1.0 kept", "GET /len/5 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
	 LINES "Content-Length: 5\r\nConnection: keep-alive\r\n\r\nabcde", 0, STREAM_SENT, 5},
	{"close asked for", "GET /len/5 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
	 LINES "Content-Length: 5\r\nConnection: close\r\n\r\nabcde", 1, STREAM_SENT, 5},
	{"fewer than promised", "GET /short/5 HTTP/1.1\r\nHost: h\r\n\r\n",
	 LINES "Content-Length: 5\r\n\r\nabcd", 1, STREAM_RESET, 4},
	{"an error in the middle", "GET /error/5 HTTP/1.1\r\nHost: h\r\n\r\n",
	 LINES "Content-Length: 5\r\n\r\nabcd", 1, STREAM_RESET, 4},
	{"an error in chunks: no last chunk", "GET /uerror/5 HTTP/1.1\r\nHost: h\r\n\r\n",
	 LINES "Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n", 1, STREAM_RESET, 4},
	{"an error where the end of the connection ends the body", "GET /uerror/5 HTTP/1.0\r\n\r\n",
	 LINES "Connection: close\r\n\r\nabcd", 2, STREAM_RESET, 4},
	{"reset before a head", "GET /reset HTTP/1.1\r\nHost: h\r\n\r\n", "", 1, STREAM_RESET, 0},
	{"interim", "GET /interim HTTP/1.1\r\nHost: h\r\n\r\n",
	 "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" LINES "Content-Length: 5\r\n\r\nabcde", 0,
	 STREAM_SENT, 5},
	{"no interim for HTTP/1.0", "GET /interim HTTP/1.0\r\n\r\n",
	 LINES "Content-Length: 5\r\nConnection: close\r\n\r\nabcde", 1, STREAM_SENT, 5},
	{"a body of length",
	 "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n0123456789",
	 LINES "Content-Length: 10\r\n\r\n0123456789", 0, STREAM_SENT, 10},
	{"a body in chunks",
	 "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
	 "9;x=y\r\n012345678\r\n1\r\n9\r\n0\r\nT: u\r\n\r\n",
	 LINES "Content-Length: 10\r\n\r\n0123456789", 0, STREAM_SENT, 10},
	{"an empty body in chunks",
	 "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	 LINES "Content-Length: 0\r\n\r\n", 0, STREAM_SENT, 0},
	{"a broken chunk",
	 "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
	 "HTTP/1.1 400 Bad Request\r\nA: b\r\nX-Y: z\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
	 1, STREAM_SENT, 0},
	{"an answer that overtakes the body ends the connection",
	 "POST /len/5 HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n0",
	 LINES "Content-Length: 5\r\nConnection: close\r\n\r\nabcde", 1, STREAM_SENT, 5},
	{"no version: 400 at the line's end", "GET /len/5\r\n",
	 "HTTP/1.1 400 Bad Request\r\nA: b\r\nX-Y: z\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
	 1, STREAM_SENT, 0},
};

START_TEST(an_answer)
{
	int closed;
	begin();
	int fd = open_client(0);
	tell(fd, answers[_i].request);
	ck_assert_msg(strcmp(hear(fd, &closed), answers[_i].answer) == 0, "%s: got %s",
		      answers[_i].says, hear(fd, &closed));
	ck_assert_msg(closed == answers[_i].closed, "%s: closed %d", answers[_i].says, closed);
	ck_assert_uint_eq(all.done, 1);
	ck_assert_int_eq(LATEST->end, answers[_i].end);
	ck_assert_uint_eq(LATEST->sent, answers[_i].sent);
	close(fd);
	turn();
	end();
}
END_TEST

START_TEST(an_answer_to_a_request_that_comes_byte_by_byte)
{
	int closed = 0;
	begin();
	int fd = open_client(0);
	for (const char *p = answers[_i].request; *p; p++)
		tell(fd, (char[]){*p, 0});
	char *got = strdup(hear(fd, &closed));
	/* A body that is answered before its end is another matter byte by byte. */
	ck_assert_msg(strcmp(got, answers[_i].answer) == 0 || strstr(answers[_i].says, "overtakes"),
		      "%s: got %s", answers[_i].says, got);
	free(got);
	close(fd);
	turn();
	end();
}
END_TEST

START_TEST(an_answer_to_a_client_that_reads_byte_by_byte)
{
	begin();
	int fd = open_client(1);
	tell(fd, "GET /chunks/300000 HTTP/1.1\r\nHost: h\r\n\r\n");
	size_t n = 0;
	char piece[997], tail[6] = "";
	for (int idle = 0; idle < 100;) {
		ssize_t r = recv(fd, piece, sizeof piece, MSG_DONTWAIT);
		idle = r > 0 ? 0 : idle + 1;
		for (ssize_t i = 0; i < r; i++) {
			memmove(tail, tail + 1, 4);
			tail[4] = piece[i];
		}
		n += r > 0 ? (size_t)r : 0;
		turn();
	}
	ck_assert_uint_eq(LATEST->sent, 300000);
	ck_assert_str_eq(tail, "0\r\n\r\n");
	ck_assert_uint_gt(n, 300000);
	close(fd);
	turn();
	end();
}
END_TEST

/* ---- journeys -------------------------------------------------------------------------------- */

START_TEST(a_pipeline_is_answered_in_order)
{
	char requests[8000] = "", wanted[20000] = "";
	int closed;
	begin();
	int fd = open_client(0);
	for (int i = 0; i < 100; i++) {
		sprintf(requests + strlen(requests), "GET /%s/%d HTTP/1.1\r\nHost: h\r\n\r\n",
			i % 3 ? "len" : "bits", i % 9 + 1);
		sprintf(wanted + strlen(wanted), LINES "Content-Length: %d\r\n\r\n%.*s", i % 9 + 1,
			i % 9 + 1, letters);
	}
	tell(fd, requests);
	for (int i = 0; i < 100; i++)
		turn();
	ck_assert_str_eq(hear(fd, &closed), wanted);
	ck_assert_int_eq(closed, 0);
	ck_assert_uint_eq(all.done, 100);
	close(fd);
	end();
}
END_TEST

/* Those behind the first one wait in the socket, but for what may be a head: so a connection holds no more
 * for a client that sends many than for one that sends one. */
START_TEST(a_pipeline_waits_in_the_socket)
{
	static const char first[] = "GET /late HTTP/1.1\r\nHost: h\r\n\r\n";
	static char more[60000];
	int left = 0;
	begin();
	memset(more, 'x', sizeof more);
	int fd = open_client(0);
	ck_assert_int_gt(send(fd, first, sizeof first - 1, MSG_NOSIGNAL), 0);
	ck_assert_int_eq(send(fd, more, sizeof more, MSG_NOSIGNAL), (ssize_t)sizeof more);
	turn();
	ck_assert_uint_eq(all.requests, 1);
	ck_assert_int_eq(ioctl(served, FIONREAD, &left), 0);
	ck_assert_int_ge(left, (int)(sizeof more - all.limits.head_bytes));
	close(fd);
	turn();
	end();
}
END_TEST

START_TEST(a_100_comes_once_and_only_when_the_body_is_waited_for)
{
	int closed;
	begin();
	int fd = open_client(0);
	tell(fd,
	     "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
	ck_assert_str_eq(hear(fd, &closed), "HTTP/1.1 100 Continue\r\n\r\n");
	tell(fd, "ab");
	ck_assert_str_eq(hear(fd, &closed), "");
	tell(fd, "cd");
	ck_assert_str_eq(hear(fd, &closed), LINES "Content-Length: 4\r\n\r\nabcd");
	tell(fd,
	     "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab");
	ck_assert_str_eq(hear(fd, &closed), LINES "Content-Length: 2\r\n\r\nab");
	close(fd);
	turn();
	end();
}
END_TEST

START_TEST(a_reset_is_noticed_while_serve_thinks)
{
	begin();
	int fd = open_client(0);
	tell(fd, "GET /wait HTTP/1.1\r\nHost: h\r\n\r\nGET /len/5 HTTP/1.1\r\nHost: h\r\n\r\n");
	ck_assert_uint_eq(all.done, 0);
	struct linger at_once = {.l_onoff = 1};
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
	close(fd);
	turn();
	ck_assert_uint_eq(all.done, 1);
	ck_assert_int_eq(LATEST->end, STREAM_GONE);
	ck_assert_uint_eq(wire_connections(all.own.wire), 0);
	end();
}
END_TEST

START_TEST(a_client_that_stopped_sending_has_a_second_and_not_more)
{
	int closed;
	begin();
	int fd = open_client(0);
	int64_t start = now_ms();
	tell(fd, "GET /late HTTP/1.1\r\nHost: h\r\n\r\n");
	shutdown(fd, SHUT_WR);
	turn();
	wire_tick(all.own.wire, start + 900);
	ck_assert_uint_eq(all.done, 0);
	answer(LATEST, 200, 0);
	ck_assert_str_eq(hear(fd, &closed), LINES "Content-Length: 0\r\n\r\n");
	ck_assert_int_eq(closed, 1);
	close(fd);
	fd = open_client(0);
	tell(fd, "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
	wire_tick(all.own.wire, now_ms() + 100000);
	ck_assert_uint_eq(all.done, 1); /* who may still speak is waited for as long as it takes */
	shutdown(fd, SHUT_WR);
	turn();
	wire_tick(all.own.wire, now_ms() + 1100);
	ck_assert_uint_eq(all.done, 2);
	ck_assert_int_eq(LATEST->end, STREAM_GONE);
	close(fd);
	end();
}
END_TEST

START_TEST(the_idle_and_the_half_closed_make_room)
{
	int closed;
	begin();
	int busy = open_client(0), idle = open_client(0), half = open_client(0);
	tell(busy, "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
	tell(idle, "GET /len/1 HTTP/1.1\r\nHost: h\r\n\r\n");
	tell(half, "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
	shutdown(half, SHUT_WR);
	turn();
	hear(idle, &closed);
	int fourth = open_client(0);
	turn();
	hear(half, &closed);
	ck_assert_int_ne(closed, 0);
	tell(fourth, "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
	int fifth = open_client(0);
	turn();
	hear(idle, &closed);
	ck_assert_int_ne(closed, 0);
	tell(fifth, "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
	int sixth = open_client(0); /* all three wait for answers: no room */
	ck_assert_int_eq(strncmp(hear(sixth, &closed), "HTTP/1.1 503 ", 13), 0);
	int fds[] = {busy, idle, half, fourth, fifth, sixth};
	for (int i = 0; i < 6; i++)
		close(fds[i]);
	turn();
	end();
}
END_TEST

static const struct {
	const char *says, *more;
	bool resets;
	unsigned doubts, done;
} leavings[] = {
	{"a client that stops sending is in doubt", "", false, 1, 0},
	{"behind bytes that nobody reads yet as well", "GET /next", false, 1, 0},
	{"one that has reset is gone", "", true, 0, 1},
	{"behind bytes that nobody reads yet as well", "GET /next", true, 0, 1},
};

START_TEST(who_stops_sending)
{
	begin();
	doubts = 0;
	int fd = open_client(0);
	tell(fd, "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
	send(fd, leavings[_i].more, strlen(leavings[_i].more), MSG_NOSIGNAL);
	if (leavings[_i].resets) {
		struct linger now = {.l_onoff = 1};
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
		close(fd);
	} else {
		shutdown(fd, SHUT_WR);
	}
	turn();
	ck_assert_msg((doubts > 0) == (leavings[_i].doubts > 0), "%s", leavings[_i].says);
	ck_assert_msg((unsigned)all.done == leavings[_i].done, "%s", leavings[_i].says);
	if (!leavings[_i].resets)
		close(fd);
	turn();
	end();
}
END_TEST

START_TEST(a_head_begun_and_not_ended_is_a_fault_in_time)
{
	int closed;
	begin();
	int fd = open_client(0);
	tell(fd, "GET /len/5 HT");
	int64_t start = now_ms();
	wire_tick(all.own.wire, start + 900);
	tell(fd, "TP/1.1\r\n");
	ck_assert_str_eq(hear(fd, &closed), "");
	wire_tick(all.own.wire, start + 1100);
	ck_assert_int_eq(strncmp(hear(fd, &closed), "HTTP/1.1 408 ", 13), 0);
	ck_assert_ptr_eq(all.fault, &fault_HEADER_TIMEOUT);
	close(fd);
	turn();
	end();
}
END_TEST

START_TEST(a_body_that_drips_is_a_fault_when_its_time_is_over)
{
	int closed;
	all.limits = (struct wire_limits){.head_bytes = 4096,
					  .url_bytes = 100,
					  .field_count = 9,
					  .least_rate = 100,
					  .header_ms = 90,
					  .idle_ms = 90,
					  .body_ms = 100,
					  .send_ms = 100,
					  .half_close_ms = 100};
	begin();
	int fd = open_client(0);
	tell(fd, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n");
	for (int i = 0; i < 600 && all.done == 0; i++) {
		if (i % 20 == 0)
			send(fd, "x", 1, MSG_NOSIGNAL);
		own_clock_pass_ms(1);
		turn();
		wire_tick(all.own.wire, now_ms());
	}
	ck_assert_ptr_eq(all.fault, &fault_BODY_TIMEOUT);
	ck_assert_int_eq(strncmp(hear(fd, &closed), "HTTP/1.1 408 ", 13), 0);
	ck_assert_uint_eq(all.own.metrics.n[METRIC_SLOW_CLIENTS], 1);
	close(fd);
	turn();
	end();
}
END_TEST

static void
pass(int seconds)
{
	own_wire_pass(&all.own, &own_clock_ahead_ms, seconds, turn);
}

/* Where both sides speak in turn, the client may read its answer and say nothing for long; but not both
 * sides for as long as a tunnel may be silent. */
START_TEST(a_client_that_has_its_answer_may_pause_within_its_body)
{
	int closed;
	begin();
	int fd = open_client(0);
	tell(fd, "POST /pauses HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
		 "5\r\nhello\r\n");
	ck_assert_int_eq(strncmp(hear(fd, &closed), "HTTP/1.1 200 ", 13), 0);
	for (unsigned i = 0; i < 3; i++) {
		pass(TUNNEL_S - 5);
		ck_assert_uint_eq(all.own.metrics.n[METRIC_SLOW_CLIENTS], 0);
		ck_assert_uint_eq(LATEST->bodies, i);
		ck_assert(!LATEST->done);
		tell(fd, "5\r\nhello\r\n");
		ck_assert_uint_eq(LATEST->bodies, i + 1);
		take_body(LATEST);
	}
	pass(TUNNEL_S + 1);
	ck_assert(LATEST->done);
	ck_assert_uint_eq(all.own.metrics.n[METRIC_SLOW_CLIENTS], 1);
	hear(fd, &closed);
	ck_assert(closed);
	close(fd);
	turn();
	end();
}
END_TEST

/* In pieces as the socket takes them, between two answers from memory. */
START_TEST(a_body_from_a_file_that_the_client_takes_slowly)
{
	enum { BYTES = 150000 };
	int closed;
	begin();
	int fd = open_client(4096);
	tell(fd, "GET /len/5 HTTP/1.1\r\nHost: h\r\n\r\nGET /file/150000 HTTP/1.1\r\n"
		 "Host: h\r\n\r\nGET /len/5 HTTP/1.1\r\nHost: h\r\n\r\n");
	char *got = strdup("");
	while (all.done < 3 || !strstr(got + strlen(got) - 5, "abcde")) {
		char *more = hear(fd, &closed);
		size_t n = strlen(got);
		got = realloc(got, n + strlen(more) + 1);
		strcpy(got + n, more);
	}
	ck_assert_uint_ge(all.files, 4);
	const char *body = strstr(strstr(got, "Content-Length: 150000"), "\r\n\r\n") + 4;
	for (unsigned i = 0; i < BYTES; i++)
		ck_assert_msg(body[i] == letters[i % 26], "byte %u", i);
	ck_assert(strncmp(body + BYTES, "HTTP/1.1 200", 12) == 0);
	free(got);
	close(fd);
	turn();
	end();
}
END_TEST

static const struct {
	const char *says, *target;
	unsigned asked; /* whether wire asks for it back */
} stuck[] = {
	{"a source that takes it back", "len", 1},
	{"a source that does not", "bits", 1},
	{"chunks are begun already", "chunks", 0},
};

START_TEST(what_a_client_does_not_take_is_given_back_and_pulled_again)
{
	enum { BYTES = 100000 };
	char request[80];
	begin();
	end();
	all.limits.send_ms = 100000;
	begin();
	int fd = open_client(1), closed;
	snprintf(request, sizeof request, "GET /%s/%d HTTP/1.1\r\nHost: h\r\n\r\n",
		 stuck[_i].target, BYTES);
	tell(fd, request);
	while (all.pulls < 100)
		turn();
	for (unsigned before = 0; before != all.pulls; turn())
		before = all.pulls;
	ck_assert_uint_eq(all.asked_back, 0);
	wire_tick(all.own.wire, now_ms() + 2000); /* not timeouts.send yet */
	ck_assert_msg(all.asked_back == stuck[_i].asked, "%s: %u", stuck[_i].says, all.asked_back);
	tell(fd, ""); /* what it sends pulls nothing */
	char *got = strdup(hear(fd, &closed));
	for (bool last = false; !last;) {
		last = LATEST->done; /* what it sent at the end is still to be read */
		size_t n = strlen(got);
		char *more = hear(fd, &closed);
		got = realloc(got, n + strlen(more) + 1);
		strcpy(got + n, more);
	}
	const char *body = strstr(got, "\r\n\r\n") + 4;
	if (stuck[_i].asked)
		for (unsigned i = 0; i < BYTES; i++)
			ck_assert_msg(body[i] == letters[i % 26], "%s: byte %u", stuck[_i].says, i);
	ck_assert_int_eq(LATEST->end, STREAM_SENT);
	ck_assert_uint_eq(LATEST->sent, BYTES);
	free(got);
	close(fd);
	turn();
	end();
}
END_TEST

#ifdef COUNTS_ALLOCATIONS /* where calls of the C library can be replaced */
START_TEST(what_is_sent_is_not_kept_while_others_have_their_turn)
{
	begin();
	int fd = open_client(0);
	swallows = true;
	static const char request[] = "GET /wide/3500000 HTTP/1.1\r\nHost: h\r\n\r\n";
	ck_assert_int_eq(write(fd, request, sizeof request - 1), sizeof request - 1);
	while (all.done == 0)
		turn();
	swallows = false;
	ck_assert_uint_eq(LATEST->sent, 3500000);
	ck_assert_int_eq(LATEST->end, STREAM_SENT);
	ck_assert_uint_eq(all.let_go, 3); /* a turn is some more than 1 MiB */
	ck_assert_uint_eq(all.asked_back, 0);
	close(fd);
	turn();
	end();
}
END_TEST
#endif

START_TEST(a_body_over_the_limit_is_a_fault)
{
	begin();
	end();
	all.limits.body_bytes = 10;
	begin();
	int fd = open_client(0), closed;
	tell(fd, "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
		 "a\r\n0123456789\r\n1\r\nx\r\n");
	ck_assert_ptr_eq(all.fault, &fault_BODY_TOO_LARGE);
	ck_assert_int_eq(strncmp(hear(fd, &closed), "HTTP/1.1 413 ", 13), 0);
	ck_assert_uint_eq(LATEST->body_n, 10);
	close(fd);
	fd = open_client(0);
	tell(fd, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n");
	ck_assert_int_eq(strncmp(hear(fd, &closed), "HTTP/1.1 413 ", 13), 0);
	close(fd);
	turn();
	end();
}
END_TEST

START_TEST(a_body_cut_by_the_client_is_a_fault_without_a_rule)
{
	begin();
	int fd = open_client(0), closed;
	all.fault = &fault_CHUNK;
	tell(fd, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\nabc");
	shutdown(fd, SHUT_WR);
	ck_assert_int_eq(strncmp(hear(fd, &closed), "HTTP/1.1 400 ", 13), 0);
	ck_assert_ptr_null(all.fault);
	close(fd);
	turn();
	end();
}
END_TEST

START_TEST(draining_answers_what_is_here_and_closes)
{
	int closed;
	begin();
	int waits = open_client(0), idle = open_client(0);
	tell(waits, "GET /late HTTP/1.1\r\nHost: h\r\n\r\n");
	tell(idle, "GET /len/1 HTTP/1.1\r\nHost: h\r\n\r\n");
	wire_drain(all.own.wire);
	hear(idle, &closed);
	ck_assert_int_eq(closed, 1);
	struct say *y = all.first;
	while (strcmp(y->how, "late") != 0)
		y = y->next;
	y->n = 2;
	answer(y, 200, 2);
	ck_assert_str_eq(hear(waits, &closed),
			 LINES "Content-Length: 2\r\nConnection: close\r\n\r\nab");
	ck_assert_int_eq(closed, 1);
	ck_assert_uint_eq(wire_connections(all.own.wire), 0);
	close(waits);
	close(idle);
	end();
}
END_TEST

/* The turn of a long pipeline ends between two requests: what the first of them waited for is over. */
START_TEST(a_wait_ends_with_its_request)
{
	char requests[8000] = "GET /late HTTP/1.1\r\nHost: h\r\n\r\n";
	int closed;
	begin();
	int fd = open_client(0);
	for (int i = 0; i < 100; i++)
		strcat(requests, "GET /len/5 HTTP/1.1\r\nHost: h\r\n\r\n");
	ck_assert_int_eq(send(fd, requests, strlen(requests), 0), (ssize_t)strlen(requests));
	shutdown(fd, SHUT_WR);
	turn();
	answer(LATEST, 200, 0);
	for (int i = 0; i < 10; i++)
		turn();
	ck_assert_uint_eq(all.done, 101);
	hear(fd, &closed);
	ck_assert_int_eq(closed, 1);
	close(fd);
	end();
}
END_TEST

/* Where the last answer of a connection is followed by requests, closing would reset it, and destroy
 * what is on its way. */
START_TEST(a_last_answer_is_whole_though_more_is_asked)
{
	enum { BYTES = 400000 };
	int closed = 0;
	size_t n = 0;
	begin();
	int fd = open_client(0);
	tell(fd, "GET /late HTTP/1.1\r\nHost: h\r\n\r\n");
	wire_drain(all.own.wire);
	tell(fd, "GET /len/5 HTTP/1.1\r\nHost: h\r\n\r\n");
	LATEST->n = BYTES;
	answer(LATEST, 200, BYTES);
	while (!closed) {
		char *got = hear(fd, &closed);
		n += strlen(got);
	}
	ck_assert_int_eq(closed, 1);
	ck_assert_uint_gt(n, BYTES);
	ck_assert_uint_eq(all.requests, 1);
	close(fd);
	turn();
	end();
}
END_TEST

/* A client that takes interim answers too slowly is given up in the next turn of the loop; the head of
 * its answer may come before that. */
START_TEST(a_head_may_come_for_who_was_too_slow)
{
	int closed = 0;
	begin();
	int fd = open_client(0);
	tell(fd, "GET /late HTTP/1.1\r\nHost: h\r\n\r\n");
	h1_stream_of(LATEST->s)->answering = ANSWER_SLOW; /* as h1_pace does it */
	conn_wake(h1_stream_of(LATEST->s)->conn);
	answer(LATEST, 200, 5);
	turn();
	ck_assert(LATEST->done);
	ck_assert_int_eq(LATEST->end, STREAM_SLOW);
	hear(fd, &closed);
	ck_assert_int_ne(closed, 0);
	close(fd);
	end();
}
END_TEST

/* However many clients are in the queue of a listening socket when it closes. */
START_TEST(draining_takes_in_all_who_have_come)
{
	enum { MANY = 100 };
	static const struct listener listener = {.scheme = STR_INIT("http")};
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	int fds[MANY];
	begin();
	int door = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(bind(door, (struct sockaddr *)&a, sizeof a) | listen(door, MANY), 0);
	ck_assert_int_eq(getsockname(door, (struct sockaddr *)&a, &n), 0);
	ck_assert_int_eq(wire_listen(all.own.wire, door, &listener, 1), 0);
	for (int i = 0; i < MANY; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM, 0);
		ck_assert_int_eq(connect(fds[i], (struct sockaddr *)&a, sizeof a), 0);
	}
	wire_unlisten(all.own.wire, 1);
	ck_assert_uint_eq(all.own.metrics.n[METRIC_ACCEPTED], MANY);
	for (int i = 0; i < MANY; i++)
		close(fds[i]);
	turn();
	end();
}
END_TEST

START_TEST(the_steady_state_keeps_its_chunks)
{
	int closed;
	begin();
	all.own.arenas.spare_most = 4;
	int fd = open_client(0);
	for (int i = 0; i < 50; i++) {
		if (i == 2)
			allocations = 0;
		tell(fd, "GET /len/5 HTTP/1.1\r\nHost: h\r\n\r\n");
		hear(fd, &closed);
		ck_assert_uint_eq(all.own.arenas.spare_count, 1);
		ck_assert_uint_eq(all.own.arenas.arenas, 0);
	}
	ck_assert_uint_eq(all.pulls, 50); /* a body of known length is pulled once */
	ck_assert_uint_eq(allocations, 0);
	tell(fd, "GET /len/5 HT"); /* a head in two pieces is gathered */
#ifdef COUNTS_ALLOCATIONS
	tell(fd, "TP/1.1\r\nHost: h\r\n\r\n");
	ck_assert_uint_ge(allocations, 1); /* and counted: the check can fail */
#endif
	close(fd);
	turn();
	end();
}
END_TEST

UNIT("h1", LOOP(an_answer, answers), LOOP(an_answer_to_a_request_that_comes_byte_by_byte, answers),
     TEST(an_answer_to_a_client_that_reads_byte_by_byte), TEST(a_pipeline_is_answered_in_order),
     TEST(a_pipeline_waits_in_the_socket),
     TEST(a_100_comes_once_and_only_when_the_body_is_waited_for),
     TEST(a_reset_is_noticed_while_serve_thinks),
     TEST(a_client_that_stopped_sending_has_a_second_and_not_more),
     TEST(the_idle_and_the_half_closed_make_room), LOOP(who_stops_sending, leavings),
     TEST(a_head_begun_and_not_ended_is_a_fault_in_time),
     TEST(a_body_that_drips_is_a_fault_when_its_time_is_over),
     TEST(a_client_that_has_its_answer_may_pause_within_its_body),
     LOOP(what_a_client_does_not_take_is_given_back_and_pulled_again, stuck),
#ifdef COUNTS_ALLOCATIONS
     TEST(what_is_sent_is_not_kept_while_others_have_their_turn),
#endif
     TEST(a_body_from_a_file_that_the_client_takes_slowly), TEST(a_body_over_the_limit_is_a_fault),
     TEST(a_body_cut_by_the_client_is_a_fault_without_a_rule),
     TEST(draining_answers_what_is_here_and_closes), TEST(a_wait_ends_with_its_request),
     TEST(a_head_may_come_for_who_was_too_slow), TEST(a_last_answer_is_whole_though_more_is_asked),
     TEST(draining_takes_in_all_who_have_come), TEST(the_steady_state_keeps_its_chunks))
