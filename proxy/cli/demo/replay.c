/* replay.c - connections spread over threads, an epoll each; one shared position in the mix. */
#include "proxy/cli/demo/replay.h"

#include "proxy/base/mem.h"
#include "proxy/http/h1_parse.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HEAD_BYTES  8192
#define CHUNK_BYTES (256 * 1024)
#define TICK_MS	    200

struct call {	     /* one connection and the request on it; home: one player */
	int fd;	     /* -1: not open */
	bool reused; /* answered before: that it closes now may be bad luck */
	bool in_body, hit, wrong, keep;
	const struct mix_object *object; /* asked for; NULL: the mix is over */
	uint64_t received;		 /* of the body */
	size_t head_n, scanned;
	int64_t last_byte_s;
	char head[HEAD_BYTES]; /* and the body bytes that came with it */
};

struct player { /* one thread */
	struct replay *replay;
	pthread_t thread;
	int epoll;
	unsigned call_count, active;
	struct call *calls;
	int64_t now_s;
	/* Written by this thread only. */
	_Atomic uint64_t answered, hits, body_bytes, hit_bytes, wrong_bodies, failures;
	char chunk[CHUNK_BYTES];
};

struct replay {
	struct replay_options options;
	_Atomic uint64_t next; /* request of the mix */
	_Atomic unsigned playing;
	atomic_bool stop, complained;
	char complaint[256];
	unsigned player_count;
	struct player *players;
};

static void
count(_Atomic uint64_t *n, uint64_t by)
{
	uint64_t v = atomic_load_explicit(n, memory_order_relaxed);
	atomic_store_explicit(n, v + by, memory_order_relaxed);
}

/* The first complaint is kept: it is the one to look into. */
static __attribute__((format(printf, 3, 4))) void
complain(struct replay *r, const struct call *c, const char *fmt, ...)
{
	char path[MIX_PATH_BYTES], what[160];
	va_list args;
	if (atomic_exchange(&r->complained, true))
		return;
	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	mix_path(c->object, path);
	snprintf(r->complaint, sizeof(r->complaint), "%s: %s", path, what);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static bool
connect_call(struct player *p, struct call *c)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				.sin_port = htons((uint16_t)p->replay->options.port)};
	c->reused = false;
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return false;
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	if (connect(c->fd, (struct sockaddr *)&a, sizeof(a)) == 0 &&
	    epoll_ctl(p->epoll, EPOLL_CTL_ADD, c->fd,
		      &(struct epoll_event){.events = EPOLLIN, .data.ptr = c}) == 0)
		return true;
	close(c->fd);
	c->fd = -1;
	return false;
}

static void
hang_up(struct call *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

static bool
send_request(struct player *p, struct call *c)
{
	char path[MIX_PATH_BYTES], request[256];
	mix_path(c->object, path);
	int n = snprintf(request, sizeof(request),
			 "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nUser-Agent: twice-replay\r\n"
			 "Accept: */*\r\n\r\n",
			 path, p->replay->options.port);
	c->in_body = c->hit = c->wrong = false;
	c->received = c->head_n = c->scanned = 0;
	c->last_byte_s = p->now_s;
	return send(c->fd, request, (size_t)n, MSG_NOSIGNAL) == n;
}

static bool
ask(struct player *p, struct call *c)
{
	if (c->fd >= 0 && send_request(p, c))
		return true;
	hang_up(c);
	return connect_call(p, c) && send_request(p, c);
}

/* Takes the next request of the mix, and the next if that cannot even be asked. */
static void
ask_next(struct player *p, struct call *c)
{
	struct replay *r = p->replay;
	for (;;) {
		uint64_t i = atomic_fetch_add_explicit(&r->next, 1, memory_order_relaxed);
		if (i >= r->options.mix->request_count) {
			c->object = NULL;
			p->active--;
			hang_up(c);
			return;
		}
		c->object = mix_request(r->options.mix, (uint32_t)i);
		if (ask(p, c))
			return;
		complain(r, c, "cannot connect to 127.0.0.1:%u: %s", r->options.port,
			 strerror(errno));
		count(&p->failures, 1);
	}
}

/* ---- listening ------------------------------------------------------------------------------- */

static void
answered(struct player *p, struct call *c)
{
	count(&p->answered, 1);
	count(&p->wrong_bodies, c->wrong);
	if (c->hit) {
		count(&p->hits, 1);
		count(&p->hit_bytes, c->received);
	}
	if (!c->keep)
		hang_up(c);
	c->reused = true;
	ask_next(p, c);
}

static void
failed(struct player *p, struct call *c)
{
	count(&p->failures, 1);
	hang_up(c);
	ask_next(p, c);
}

/* The other side closed, or the read failed. */
static void
cut(struct player *p, struct call *c)
{
	if (c->reused && c->head_n == 0) { /* between two requests: that is allowed */
		hang_up(c);
		if (ask(p, c))
			return;
	}
	complain(p->replay, c, "the answer was cut after %llu of %llu body bytes",
		 (unsigned long long)c->received, (unsigned long long)c->object->bytes);
	failed(p, c);
}

static void
take_body(struct player *p, struct call *c, const char *bytes, size_t n)
{
	count(&p->body_bytes, n);
	if (c->received + n > c->object->bytes ||
	    !mix_body_matches(c->object, c->received, bytes, n)) {
		complain(p->replay, c, "wrong bytes in the %zu body bytes from %llu", n,
			 (unsigned long long)c->received);
		c->wrong = true;
		c->keep = false;
	}
	c->received += n;
	if (c->received >= c->object->bytes)
		answered(p, c);
}

static bool
is_hit(const struct response *r)
{
	struct str status = fields_get(&r->fields, FIELD_CACHE_STATUS);
	return status.p && memmem(status.p, status.n, "; hit", 5);
}

/* Reads the head; false when it is no good answer (counted, and the next one asked for). */
static bool
take_head(struct player *p, struct call *c, struct str head)
{
	struct field fields[64];
	struct response r = {.fields = {.v = fields, .cap = 64}};
	bool ok = h1_parse_response(head, &r);
	struct str length = fields_get(&r.fields, FIELD_CONTENT_LENGTH);

	if (!ok || r.status != 200 || !length.n) {
		complain(p->replay, c,
			 "an answer 200 with Content-Length was expected, not \"%.*s\"",
			 (int)(head.n < 40 ? head.n : 40), head.p);
		failed(p, c);
		return false;
	}
	c->in_body = true;
	c->hit = is_hit(&r);
	c->keep = !fields_list_has(&r.fields, FIELD_CONNECTION, STR("close"));
	if (strtoull(length.p, NULL, 10) == c->object->bytes)
		return true;
	complain(p->replay, c, "Content-Length is %.*s", STR_ARG(length));
	c->wrong = true;
	c->keep = false;
	answered(p, c);
	return false;
}

static void
on_head_bytes(struct player *p, struct call *c, size_t n)
{
	c->head_n += n;
	size_t head_n = h1_head_bytes(c->head, c->head_n, &c->scanned);
	if (head_n == 0) {
		if (c->head_n == HEAD_BYTES)
			cut(p, c);
		return;
	}
	if (take_head(p, c, (struct str){c->head, head_n}))
		take_body(p, c, c->head + head_n, c->head_n - head_n);
}

static void
on_readable(struct player *p, struct call *c)
{
	char *to = c->in_body ? p->chunk : c->head + c->head_n;
	size_t room = c->in_body ? CHUNK_BYTES : HEAD_BYTES - c->head_n;
	ssize_t n = recv(c->fd, to, room, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	c->last_byte_s = p->now_s;
	if (n <= 0)
		cut(p, c);
	else if (c->in_body)
		take_body(p, c, p->chunk, (size_t)n);
	else
		on_head_bytes(p, c, (size_t)n);
}

/* ---- threads --------------------------------------------------------------------------------- */

static int64_t
now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec;
}

static void
give_up_on_the_silent(struct player *p)
{
	for (unsigned i = 0; i < p->call_count; i++) {
		struct call *c = &p->calls[i];
		if (!c->object || p->now_s - c->last_byte_s <= p->replay->options.timeout_s)
			continue;
		complain(p->replay, c, "no byte for %u seconds, after %llu of %llu body bytes",
			 p->replay->options.timeout_s, (unsigned long long)c->received,
			 (unsigned long long)c->object->bytes);
		failed(p, c);
	}
}

static void *
play(void *arg)
{
	struct player *p = arg;
	struct epoll_event events[64];
	int64_t looked_s = p->now_s = now_s();

	for (unsigned i = 0; i < p->call_count; i++)
		ask_next(p, &p->calls[i]);
	while (p->active && !atomic_load_explicit(&p->replay->stop, memory_order_relaxed)) {
		int n = epoll_wait(p->epoll, events, 64, TICK_MS);
		p->now_s = now_s();
		for (int i = 0; i < n; i++)
			on_readable(p, events[i].data.ptr);
		if (p->now_s != looked_s) {
			give_up_on_the_silent(p);
			looked_s = p->now_s;
		}
	}
	for (unsigned i = 0; i < p->call_count; i++)
		hang_up(&p->calls[i]);
	atomic_fetch_sub(&p->replay->playing, 1);
	return NULL;
}

/* With calls for its part of the connections. 0, or an errno. */
static int
start_player(struct replay *r, struct player *p, unsigned calls)
{
	p->replay = r;
	p->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (p->epoll < 0)
		return errno;
	p->active = p->call_count = calls;
	p->calls = mem_zalloc(calls * sizeof(*p->calls));
	for (unsigned k = 0; k < calls; k++)
		p->calls[k].fd = -1;
	int failed = pthread_create(&p->thread, NULL, play, p);
	if (failed) {
		close(p->epoll);
		free(p->calls);
	}
	return failed;
}

int
replay_start(struct replay **out, const struct replay_options *options, char *err, size_t err_bytes)
{
	struct replay *r = NEW(struct replay);
	struct replay_options *o = &r->options;
	int failed = 0;
	*o = *options;
	o->connections = o->connections ? o->connections : 32;
	o->timeout_s = o->timeout_s ? o->timeout_s : 30;
	unsigned wanted = o->threads ? o->threads : 1;
	atomic_init(&r->playing, wanted);
	r->players = mem_zalloc(wanted * sizeof(*r->players));
	*out = r;
	for (unsigned i = 0; i < wanted && !failed; i++)
		if ((failed = start_player(r, &r->players[i],
					   (o->connections + wanted - 1 - i) / wanted)) == 0)
			r->player_count++;
	if (!failed)
		return 0;
	snprintf(
		err, err_bytes,
		"the clients have no thread or no epoll (%s); raise the limits of open files and of "
		"processes (ulimit -n, ulimit -u)",
		strerror(failed));
	replay_stop(out);
	return -1;
}

void
replay_counts(const struct replay *r, struct replay_counts *out)
{
	*out = (struct replay_counts){0};
	for (unsigned i = 0; i < r->player_count; i++) {
		const struct player *p = &r->players[i];
		out->answered += p->answered;
		out->hits += p->hits;
		out->body_bytes += p->body_bytes;
		out->hit_bytes += p->hit_bytes;
		out->wrong_bodies += p->wrong_bodies;
		out->failures += p->failures;
	}
}

bool
replay_is_done(const struct replay *r)
{
	return atomic_load(&r->playing) == 0;
}

const char *
replay_complaint(const struct replay *r)
{
	return r->complaint;
}

void
replay_stop(struct replay **out)
{
	struct replay *r = *out;
	if (!r)
		return;
	atomic_store(&r->stop, true);
	for (unsigned i = 0; i < r->player_count; i++) {
		pthread_join(r->players[i].thread, NULL);
		close(r->players[i].epoll);
		free(r->players[i].calls);
	}
	free(r->players);
	free(r);
	*out = NULL;
}
