/* sample_origin.c - a few threads around epoll; an answer is a stream of head and generated body
 * of which only the position is kept, so a slow reader costs nothing but its struct. */
#include "proxy/cli/demo/sample_origin.h"

#include "proxy/base/mem.h"
#include "proxy/cli/demo/mix.h"
#include "proxy/http/date.h"
#include "proxy/http/h1_parse.h"
#include "proxy/http/precond.h"
#include "proxy/http/range.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define REQUEST_BYTES 8192
#define HEAD_BYTES    512
#define CHUNK_BYTES   (128 * 1024)
#define EVENTS	      64

struct visitor { /* home: one clerk */
	LIST_ENTRY(visitor) link;
	int fd;
	bool answering, last; /* last: close after this answer */
	size_t request_n, scanned;
	char request[REQUEST_BYTES];
	/* The answer: head_n bytes of head, then the body of object from body_at. */
	uint64_t sent, total;
	struct mix_object object;
	uint64_t body_at;
	size_t head_n;
	char head[HEAD_BYTES];
};

struct clerk { /* one thread */
	struct sample_origin *origin;
	pthread_t thread;
	int epoll;
	LIST_HEAD(, visitor) visitors;
	_Atomic uint64_t requests, body_bytes, connections; /* written by this thread only */
	int64_t now;
	char date[DATE_BYTES + 1];
	char chunk[CHUNK_BYTES];
};

struct sample_origin {
	int listener, closing; /* closing: an eventfd that every clerk watches */
	unsigned port, max_age_s, clerk_count;
	struct clerk *clerks;
};

static void
count(_Atomic uint64_t *n, uint64_t by)
{
	uint64_t v = atomic_load_explicit(n, memory_order_relaxed);
	atomic_store_explicit(n, v + by, memory_order_relaxed);
}

/* ---- what to answer -------------------------------------------------------------------------- */

static int64_t
last_modified(const struct mix_object *o)
{
	return 1700000000 - (int64_t)(o->name % (90 * 86400));
}

/* A short answer without an object: the sentence is part of the head. */
static void
refuse(struct clerk *c, struct visitor *v, const char *status, const char *sentence)
{
	v->head_n = (size_t)snprintf(v->head, HEAD_BYTES,
				     "HTTP/1.1 %s\r\n"
				     "Date: %s\r\n"
				     "Content-Type: text/plain\r\n"
				     "Content-Length: %zu\r\n"
				     "Cache-Control: no-store\r\n"
				     "Connection: close\r\n\r\n%s",
				     status, c->date, strlen(sentence), sentence);
	v->total = v->head_n;
	v->last = true;
}

/* The fields that 200, 206 and 304 share, and those that say how much follows. */
static void
write_head(struct clerk *c, struct visitor *v, const struct request *r, const char *status,
	   const char *etag, const char *length_fields)
{
	char modified[DATE_BYTES + 1] = "";
	date_format(last_modified(&v->object), modified);
	v->head_n = (size_t)snprintf(v->head, HEAD_BYTES,
				     "HTTP/1.1 %s\r\n"
				     "Date: %s\r\n"
				     "Content-Type: application/octet-stream\r\n"
				     "%s"
				     "Cache-Control: public, max-age=%u\r\n"
				     "ETag: %s\r\n"
				     "Last-Modified: %s\r\n"
				     "Accept-Ranges: bytes\r\n"
				     "%s\r\n",
				     status, c->date, length_fields, c->origin->max_age_s, etag,
				     modified,
				     v->last	     ? "Connection: close\r\n"
				     : r->minor == 0 ? "Connection: keep-alive\r\n"
						     : "");
}

static void
answer_object(struct clerk *c, struct visitor *v, const struct request *r)
{
	char etag[40], lengths[128];
	const struct mix_object *o = &v->object;
	int etag_n = snprintf(etag, sizeof(etag), "\"%llx\"", (unsigned long long)o->name);
	struct validators has = {
		.etag = {etag, (size_t)etag_n}, .last_modified = last_modified(o), .date = c->now};
	struct range piece = {0, o->bytes}, ranges[RANGES_MAX];
	unsigned n = 0;
	enum range_answer range = RANGE_WHOLE;

	switch (precond_decide(r, &has, c->now)) {
	case PRECOND_NOT_MODIFIED:
		write_head(c, v, r, "304 Not Modified", etag, "");
		v->total = v->head_n;
		return;
	case PRECOND_FAILED:
		refuse(c, v, "412 Precondition Failed", "");
		return;
	case PRECOND_GO:
		break;
	}
	if (r->method == METHOD_GET && fields_has(&r->fields, FIELD_RANGE) &&
	    if_range_holds(r, &has, c->now))
		range = range_parse(fields_get(&r->fields, FIELD_RANGE), o->bytes, ranges, &n);
	if (range == RANGE_UNSATISFIABLE) {
		refuse(c, v, "416 Range Not Satisfiable", "");
		return;
	}
	if (range == RANGE_PART && n == 1)
		piece = ranges[0];
	n = (unsigned)snprintf(lengths, sizeof(lengths), "Content-Length: %llu\r\n",
			       (unsigned long long)piece.n);
	if (piece.n < o->bytes)
		snprintf(lengths + n, sizeof(lengths) - n,
			 "Content-Range: bytes %llu-%llu/%llu\r\n", (unsigned long long)piece.at,
			 (unsigned long long)(piece.at + piece.n - 1),
			 (unsigned long long)o->bytes);
	write_head(c, v, r, piece.n < o->bytes ? "206 Partial Content" : "200 OK", etag, lengths);
	v->body_at = piece.at;
	v->total = v->head_n + (r->method == METHOD_HEAD ? 0 : piece.n);
}

static void
respond(struct clerk *c, struct visitor *v, struct str head)
{
	static const struct h1_limits limits = {REQUEST_BYTES, REQUEST_BYTES, 64};
	struct field fields[64];
	struct request r = {.fields = {.v = fields, .cap = 64}};
	const struct fault *fault = h1_parse_request(head, &limits, &r);

	count(&c->requests, 1);
	v->answering = true;
	v->sent = 0;
	v->last = fault || !r.keep_alive || r.framing != FRAMING_NONE;
	if (fault)
		refuse(c, v, "400 Bad Request", "This request is malformed.\n");
	else if (r.method != METHOD_GET && r.method != METHOD_HEAD)
		refuse(c, v, "405 Method Not Allowed", "Only GET and HEAD here.\n");
	else if (!mix_path_parse(r.path_query, &v->object))
		refuse(c, v, "404 Not Found",
		       "An object here is /cdn/, 16 hexadecimal digits, /, its length in bytes.\n");
	else
		answer_object(c, v, &r);
	count(&c->body_bytes, v->total - v->head_n);
}

/* ---- one visitor ----------------------------------------------------------------------------- */

enum step { STEP_ON, STEP_WAIT, STEP_CLOSE };

static enum step
step_of(ssize_t n)
{
	if (n > 0)
		return STEP_ON;
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? STEP_WAIT : STEP_CLOSE;
}

/* The next bytes of head and body as one stream. */
static size_t
fill_chunk(struct clerk *c, const struct visitor *v)
{
	size_t n = 0;
	if (v->sent < v->head_n) {
		n = v->head_n - v->sent;
		memcpy(c->chunk, v->head + v->sent, n);
	}
	uint64_t at = v->sent + n - v->head_n, left = v->total - v->sent - n;
	size_t body = left < CHUNK_BYTES - n ? (size_t)left : CHUNK_BYTES - n;
	mix_body_fill(&v->object, v->body_at + at, c->chunk + n, body);
	return n + body;
}

static enum step
send_answer(struct clerk *c, struct visitor *v)
{
	ssize_t n = send(v->fd, c->chunk, fill_chunk(c, v), MSG_NOSIGNAL);
	if (n <= 0)
		return step_of(n);
	v->sent += (uint64_t)n;
	if (v->sent < v->total)
		return STEP_ON;
	v->answering = false;
	return v->last ? STEP_CLOSE : STEP_ON;
}

static enum step
read_request(struct clerk *c, struct visitor *v)
{
	size_t head_n = h1_head_bytes(v->request, v->request_n, &v->scanned);
	if (head_n) {
		respond(c, v, (struct str){v->request, head_n});
		v->request_n -= head_n;
		memmove(v->request, v->request + head_n, v->request_n);
		v->scanned = 0;
		return STEP_ON;
	}
	if (v->request_n == REQUEST_BYTES)
		return STEP_CLOSE;
	ssize_t n = recv(v->fd, v->request + v->request_n, REQUEST_BYTES - v->request_n, 0);
	if (n > 0)
		v->request_n += (size_t)n;
	return step_of(n);
}

static void
leave(struct visitor *v)
{
	LIST_REMOVE(v, link);
	close(v->fd);
	free(v);
}

static void
serve(struct clerk *c, struct visitor *v)
{
	enum step step = STEP_ON;
	while (step == STEP_ON)
		step = v->answering ? send_answer(c, v) : read_request(c, v);
	if (step == STEP_CLOSE)
		leave(v);
}

static void
welcome(struct clerk *c)
{
	int fd = accept4(c->origin->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0)
		return;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	struct visitor *v = NEW(struct visitor);
	v->fd = fd;
	LIST_INSERT_HEAD(&c->visitors, v, link);
	count(&c->connections, 1);
	epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd,
		  &(struct epoll_event){.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = v});
}

/* ---- threads --------------------------------------------------------------------------------- */

static void
look_at_the_clock(struct clerk *c)
{
	int64_t now = time(NULL);
	if (now != c->now)
		date_format(c->now = now, c->date);
}

static void *
work(void *arg)
{
	struct clerk *c = arg;
	struct epoll_event events[EVENTS];
	for (bool open = true; open;) {
		int n = epoll_wait(c->epoll, events, EVENTS, -1);
		look_at_the_clock(c);
		for (int i = 0; i < n; i++) {
			void *who = events[i].data.ptr;
			if (who == &c->origin->closing)
				open = false;
			else if (who == &c->origin->listener)
				welcome(c);
			else
				serve(c, who);
		}
	}
	while (!LIST_EMPTY(&c->visitors))
		leave(LIST_FIRST(&c->visitors));
	return NULL;
}

static int
watch(struct clerk *c, int *fd, uint32_t how)
{
	return epoll_ctl(c->epoll, EPOLL_CTL_ADD, *fd,
			 &(struct epoll_event){.events = EPOLLIN | how, .data.ptr = fd});
}

/* 0, or an errno. */
static int
hire(struct sample_origin *o, struct clerk *c)
{
	c->origin = o;
	LIST_INIT(&c->visitors);
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (c->epoll < 0)
		return errno;
	int failed = watch(c, &o->listener, EPOLLEXCLUSIVE) || watch(c, &o->closing, 0)
			     ? errno
			     : pthread_create(&c->thread, NULL, work, c);
	if (failed)
		close(c->epoll);
	return failed;
}

static int
open_listener(struct sample_origin *o, unsigned port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				.sin_port = htons((uint16_t)port)};
	socklen_t n = sizeof(a);
	o->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (o->listener < 0)
		return -1;
	setsockopt(o->listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	if (bind(o->listener, (struct sockaddr *)&a, n) || listen(o->listener, 1024) ||
	    getsockname(o->listener, (struct sockaddr *)&a, &n))
		return -1;
	o->port = ntohs(a.sin_port);
	return 0;
}

int
sample_origin_start(struct sample_origin **out, const struct sample_origin_options *options,
		    char *err, size_t err_bytes)
{
	struct sample_origin *o = NEW(struct sample_origin);
	o->max_age_s = options->max_age_s;
	if (open_listener(o, options->port)) {
		snprintf(err, err_bytes, "the sample origin cannot listen on 127.0.0.1:%u: %s",
			 options->port, strerror(errno));
		if (o->listener >= 0)
			close(o->listener);
		free(o);
		return -1;
	}
	unsigned wanted = options->threads ? options->threads : 1;
	o->closing = eventfd(0, EFD_CLOEXEC);
	int failed = o->closing < 0 ? errno : 0;
	o->clerks = mem_zalloc(wanted * sizeof(*o->clerks));
	while (!failed && o->clerk_count < wanted)
		if ((failed = hire(o, &o->clerks[o->clerk_count])) == 0)
			o->clerk_count++;
	*out = o;
	if (!failed)
		return 0;
	snprintf(
		err, err_bytes,
		"the sample origin has no thread or no epoll (%s); raise the limits of open files and of "
		"processes (ulimit -n, ulimit -u)",
		strerror(failed));
	sample_origin_stop(out);
	return -1;
}

void
sample_origin_stop(struct sample_origin **out)
{
	struct sample_origin *o = *out;
	if (!o)
		return;
	if (o->clerk_count)
		eventfd_write(o->closing, 1);
	for (unsigned i = 0; i < o->clerk_count; i++) {
		pthread_join(o->clerks[i].thread, NULL);
		close(o->clerks[i].epoll);
	}
	if (o->closing >= 0)
		close(o->closing);
	close(o->listener);
	free(o->clerks);
	free(o);
	*out = NULL;
}

unsigned
sample_origin_port(const struct sample_origin *o)
{
	return o->port;
}

void
sample_origin_counts(const struct sample_origin *o, struct sample_origin_counts *out)
{
	*out = (struct sample_origin_counts){0};
	for (unsigned i = 0; i < o->clerk_count; i++) {
		out->requests += o->clerks[i].requests;
		out->body_bytes += o->clerks[i].body_bytes;
		out->connections += o->clerks[i].connections;
	}
}
