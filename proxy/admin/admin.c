/* admin.c - a table of routes on libevent's HTTP server, in a thread of its own.
 *
 * Nothing here is fast and nothing needs to be: people and scrapers ask once a second. What counts
 * is that it answers while the workers are busy, and to nobody who should not be asking: a page in
 * somebody's browser must not read or purge through 127.0.0.1, by a name of its own that it points
 * there (DNS rebinding: Host) or by a form (Origin).
 */
#include "proxy/admin/admin.h"

#include "proxy/admin/dashboard.h"
#include "proxy/admin/guests.h"
#include "proxy/admin/orders.h"
#include "proxy/admin/questions.h"
#include "proxy/base/address.h"
#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	HEAD_BYTES_MOST = 16384,
	BODY_BYTES_MOST = 1 << 20,
	IDLE_SECONDS = 30,
	TICK_SECONDS = 5,
	BACKLOG = 64,
	LEAVE_SECONDS = 1,
	END_MS = 5000, /* for answers to what was asked before the end */
	END_TICK_MS = 5
};

enum wish { WISH_END, WISH_LEAVE, WISH_RETURN };

struct admin {
	struct admin_source source;
	struct address bound;
	struct event_base *base;
	struct evhttp *http;
	struct event *stopped;
	struct event *tick;
	struct guests guests;
	int stop_fd; /* eventfd: readable when the thread shall do what is wished */
	_Atomic enum wish wish, granted;
	sem_t done;				  /* posted when a wish is granted */
	struct evhttp_bound_socket *listeners[2]; /* at the address, and at the path */
	bool left;				  /* they are disabled */
	int64_t end_ms; /* 0: it goes on; else the latest moment to end at */
	pthread_t thread;
};

static struct bufferevent *
connection_of(struct evhttp_request *q)
{
	return evhttp_connection_get_bufferevent(evhttp_request_get_connection(q));
}

/* ---- answers --------------------------------------------------------------------------------- */

static void
answer(struct evhttp_request *q, int status, const char *type, const char *p, size_t n)
{
	struct evkeyvalq *fields = evhttp_request_get_output_headers(q);
	struct evbuffer *body = evbuffer_new();
	evhttp_add_header(fields, "Content-Type", type);
	evhttp_add_header(fields, "Cache-Control", "no-store");
	evhttp_add_header(fields, "X-Content-Type-Options", "nosniff");
	evbuffer_add(body, p, n);
	evhttp_send_reply(q, status, NULL, body);
	evbuffer_free(body);
}

static const char TYPE_JSON[] = "application/json", TYPE_TEXT[] = "text/plain; charset=utf-8";

/* The text is freed. */
static void
answer_buf(struct evhttp_request *q, int status, const char *type, struct buf *text)
{
	answer(q, status, type, text->p, text->n);
	buf_fini(text);
}

static void
answer_text(struct evhttp_request *q, int status, const char *text)
{
	answer(q, status, TYPE_TEXT, text, strlen(text));
}

static void
on_stats(struct admin *a, struct evhttp_request *q)
{
	struct report r = {0};
	struct buf text = {0};
	a->source.report(a->source.ctx, &r);
	report_json(&r, &text);
	answer_buf(q, 200, TYPE_JSON, &text);
}

static void
on_metrics(struct admin *a, struct evhttp_request *q)
{
	struct report r = {0};
	struct buf text = {0};
	a->source.report(a->source.ctx, &r);
	report_prometheus(&r, &text);
	answer_buf(q, 200, "text/plain; version=0.0.4; charset=utf-8", &text);
}

static const char *
query_of(struct evhttp_request *q)
{
	return evhttp_uri_get_query(evhttp_request_get_evhttp_uri(q));
}

static void
on_history(struct admin *a, struct evhttp_request *q)
{
	struct buf text = {0};
	int status = questions_history(&a->source, query_of(q), &text);
	answer_buf(q, status, status == 200 ? TYPE_JSON : TYPE_TEXT, &text);
}

static void
on_explain(struct admin *a, struct evhttp_request *q)
{
	struct buf text = {0};
	int status = questions_explain(&a->source, query_of(q), &text);
	answer_buf(q, status, status == 200 ? TYPE_JSON : TYPE_TEXT, &text);
}

static void
on_top(struct admin *a, struct evhttp_request *q)
{
	struct buf text = {0};
	a->source.top(a->source.ctx, &text);
	answer_buf(q, 200, TYPE_JSON, &text);
}

static void
on_healthz(struct admin *a, struct evhttp_request *q)
{
	struct buf line = {0};
	bool healthy = a->source.healthy(a->source.ctx, &line);
	answer(q, healthy ? 200 : 503, "text/plain; charset=utf-8", line.p, line.n);
	buf_fini(&line);
}

static void
on_dashboard(struct admin *a, struct evhttp_request *q)
{
	(void)a;
	const struct dashboard_file *f =
		dashboard_find(evhttp_uri_get_path(evhttp_request_get_evhttp_uri(q)));
	evhttp_add_header(evhttp_request_get_output_headers(q), "Content-Security-Policy",
			  dashboard_policy);
	answer(q, 200, f->type, f->bytes, *f->n);
}

static void
on_purge(struct admin *a, struct evhttp_request *q)
{
	const char *query = evhttp_uri_get_query(evhttp_request_get_evhttp_uri(q));
	struct evbuffer *body = evhttp_request_get_input_buffer(q);
	struct str bytes = {(const char *)evbuffer_pullup(body, -1), evbuffer_get_length(body)};
	struct orders o;
	if (!orders_read(query ? str_of(query) : STR(""), bytes, &o)) {
		answer(q, 400, "text/plain; charset=utf-8", o.wrong.p, o.wrong.n);
		orders_fini(&o);
		return;
	}
	struct purge_result *results = mem_zalloc(o.n * sizeof *results);
	struct buf text = {0};
	int status;
	struct purge_others others = {.wait_ms = o.wait_ms};
	a->source.purge(a->source.ctx, o.list, o.n, results, &others);
	orders_answer(&o, results, &others, &status, &text);
	free(others.json);
	answer_buf(q, status, status == 400 ? TYPE_TEXT : TYPE_JSON, &text);
	free(results);
	orders_fini(&o);
}

/* JSON, which is freed; or why there is none. */
static void
answer_or(struct evhttp_request *q, int status, struct buf *text, const char *none)
{
	if (text->n)
		answer_buf(q, status, TYPE_JSON, text);
	else
		answer_text(q, 501, none);
}

static void
on_reload(struct admin *a, struct evhttp_request *q)
{
	struct buf text = {0};
	int result = a->source.reload ? a->source.reload(a->source.ctx, &text) : -1;
	answer_or(q, result ? 422 : 200, &text,
		  "this program has no configuration to read again\n");
}

static void
on_upgrade(struct admin *a, struct evhttp_request *q)
{
	struct buf text = {0};
	if (a->source.upgrade)
		a->source.upgrade(a->source.ctx, evhttp_request_get_command(q) == EVHTTP_REQ_POST,
				  &text);
	answer_or(q, 200, &text, "this program cannot be replaced while it runs\n");
}

static void
on_fleet(struct admin *a, struct evhttp_request *q)
{
	bool posts = evhttp_request_get_command(q) == EVHTTP_REQ_POST;
	struct buf text = {0};
	int status = a->source.fleet(a->source.ctx, posts, query_of(q), &text);
	answer_buf(q, status, status == 200 ? TYPE_JSON : TYPE_TEXT, &text);
}

/* ---- routes ---------------------------------------------------------------------------------- */

static const struct route {
	const char *path;
	bool changes; /* POST; else GET and HEAD */
	bool either;  /* all three */
	bool open;    /* for whoever asks, under whatever name */
	void (*answer)(struct admin *a, struct evhttp_request *q);
} routes[] = {
	{"/", .answer = on_dashboard},
	{"/dashboard.css", .answer = on_dashboard},
	{"/dashboard.js", .answer = on_dashboard},
	{"/stats", .answer = on_stats},
	{"/metrics", .answer = on_metrics},
	{"/healthz", .open = true, .answer = on_healthz},
	{"/purge", .changes = true, .answer = on_purge},
	{"/history", .answer = on_history},
	{"/explain", .answer = on_explain},
	{"/top", .answer = on_top},
	{"/reload", .changes = true, .answer = on_reload},
	{"/upgrade", .either = true, .answer = on_upgrade},
	{"/fleet", .either = true, .answer = on_fleet},
};

static const struct route *
find_route(const char *path)
{
	for (size_t i = 0; path && i < sizeof(routes) / sizeof(routes[0]); i++)
		if (strcmp(routes[i].path, *path ? path : "/") == 0)
			return &routes[i];
	return NULL;
}

/* Its own address tells which of the two sockets accepted it. */
static bool
came_by_path(struct evhttp_request *q)
{
	struct sockaddr_storage own = {0};
	socklen_t n = sizeof own;
	return getsockname(bufferevent_getfd(connection_of(q)), (struct sockaddr *)&own, &n) == 0 &&
	       own.ss_family == AF_UNIX;
}

static const char *
refusal(const struct admin *a, struct evhttp_request *q, bool changes)
{
	struct evkeyvalq *fields = evhttp_request_get_input_headers(q);
	struct access_request r = {
		.host = evhttp_request_get_host(q), /* without the port */
		.host_port = evhttp_find_header(fields, "Host"),
		.origin = evhttp_find_header(fields, "Origin"),
		.authorization = evhttp_find_header(fields, "Authorization"),
		.changes = changes,
	};
	struct access_rules rules = a->source.access(a->source.ctx);
	rules.guarded = came_by_path(q);
	rules.loopback = address_is_loopback(&a->bound);
	return access_refusal(&rules, &r);
}

/* ---- listeners ------------------------------------------------------------------------------- */

/* A disabled one keeps its socket, from whose queue another process may accept. It needs no descriptor,
 * of which there may be none left. */
static void
listen_or_not(struct admin *a, bool listens)
{
	for (int i = 0; i < 2; i++) {
		if (!a->listeners[i])
			continue;
		struct evconnlistener *l = evhttp_bound_socket_get_listener(a->listeners[i]);
		if (listens)
			evconnlistener_enable(l);
		else
			evconnlistener_disable(l);
	}
}

/* New clients wait until the next tick: the socket stays readable, and would call at once. */
static void
on_no_accept(struct evconnlistener *l, void *ctx)
{
	(void)ctx; /* libevent's */
	log_warning("the admin server cannot accept: %s; it tries again in a few seconds",
		    strerror(errno));
	evconnlistener_disable(l);
}

static int
accept_at(struct admin *a, int i, int fd)
{
	a->listeners[i] = evhttp_accept_socket_with_handle(a->http, fd);
	if (!a->listeners[i])
		return -1;
	evconnlistener_set_error_cb(evhttp_bound_socket_get_listener(a->listeners[i]),
				    on_no_accept);
	return 0;
}

/* ---- connections ----------------------------------------------------------------------------- */

/* The server makes a connection, and sets its callbacks before it makes the next one. */
static struct bufferevent *
make_connection(struct event_base *base, void *ctx)
{
	struct admin *a = ctx;
	struct bufferevent *c = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	if (c) {
		bufferevent_incref(c);
		guests_add(&a->guests, c, now_ms());
	}
	return c;
}

static void
on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct admin *a = ctx;
	(void)fd;
	(void)what;
	guests_tick(&a->guests, now_ms());
	if (!a->left)
		listen_or_not(a, true);
	if (a->end_ms && (!guests_wait(&a->guests) || now_ms() >= a->end_ms))
		event_base_loopbreak(a->base);
}

static void
on_answered(struct evhttp_request *q, void *ctx)
{
	struct admin *a = ctx;
	guests_answered(&a->guests, connection_of(q));
}

static void
note_request(struct admin *a, struct evhttp_request *q)
{
	guests_asked(&a->guests, connection_of(q), now_ms());
	evhttp_request_set_on_complete_cb(q, on_answered, a);
}

static bool
is_allowed(const struct route *r, enum evhttp_cmd_type method)
{
	bool posts = method == EVHTTP_REQ_POST;
	bool reads = method == EVHTTP_REQ_GET || method == EVHTTP_REQ_HEAD;
	return r->either ? posts || reads : r->changes ? posts : reads;
}

static void
on_request(struct evhttp_request *q, void *ctx)
{
	struct admin *a = ctx;
	note_request(a, q);
	if (a->left)
		evhttp_add_header(evhttp_request_get_output_headers(q), "Connection", "close");
	enum evhttp_cmd_type method = evhttp_request_get_command(q);
	const char *path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(q));
	const struct route *route = find_route(path);
	bool reads = method == EVHTTP_REQ_GET || method == EVHTTP_REQ_HEAD;
	const char *no = route && route->open ? NULL : refusal(a, q, !reads);
	if (no) {
		answer_text(q, 403, no);
	} else if (!route) {
		answer_text(
			q, 404,
			"these paths exist: / /stats /metrics /history /explain /top /healthz /purge /reload /upgrade /fleet\n");
	} else if (!is_allowed(route, method)) {
		evhttp_add_header(evhttp_request_get_output_headers(q), "Allow",
				  route->either	   ? "GET, HEAD, POST"
				  : route->changes ? "POST"
						   : "GET, HEAD");
		answer_text(q, 405, route->changes ? "use POST\n" : "use GET\n");
	} else {
		route->answer(a, q);
	}
}

/* ---- life ------------------------------------------------------------------------------------ */

static int
listen_at(struct address *addr)
{
	int one = 1;
	int fd = socket(addr->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&addr->sa, addr->bytes) == 0 && listen(fd, BACKLOG) == 0 &&
	    getsockname(fd, (struct sockaddr *)&addr->sa, &addr->bytes) == 0)
		return fd;
	int why = errno;
	close(fd);
	errno = why;
	return -1;
}

static void
do_wish(struct admin *a, enum wish wish)
{
	uint64_t one = 1;
	atomic_store(&a->wish, wish);
	ssize_t n = write(a->stop_fd, &one, sizeof(one));
	(void)n; /* an eventfd of ours takes 8 bytes */
}

/* Accepted clients that have asked are answered, so that nobody has to wonder whether a purge holds. */
static void
begin_end(struct admin *a)
{
	struct timeval soon = {.tv_usec = END_TICK_MS * 1000};
	a->end_ms = now_ms() + END_MS;
	event_add(a->tick, &soon);
}

static void
on_stop(evutil_socket_t fd, short what, void *ctx)
{
	struct admin *a = ctx;
	uint64_t times;
	(void)what;
	if (read(fd, &times, sizeof times) < 0)
		return;
	enum wish wish = atomic_load(&a->wish);
	a->left = wish != WISH_RETURN;
	listen_or_not(a, !a->left);
	if (wish == WISH_END)
		begin_end(a);
	atomic_store(&a->granted, wish);
	sem_post(&a->done);
}

static void *
run(void *ctx)
{
	struct admin *a = ctx;
	event_base_dispatch(a->base);
	return NULL;
}

static void
destroy(struct admin *a)
{
	if (a->http)
		evhttp_free(a->http); /* closes the listener too */
	guests_fini(&a->guests);
	if (a->stopped)
		event_free(a->stopped);
	if (a->tick)
		event_free(a->tick);
	if (a->base)
		event_base_free(a->base);
	if (a->stop_fd >= 0)
		close(a->stop_fd);
	sem_destroy(&a->done);
	free(a);
}

/* The HTTP server on a new event base, with its limits. */
static int
set_up(struct admin *a)
{
	a->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	a->base = event_base_new();
	a->http = a->base ? evhttp_new(a->base) : NULL;
	if (a->stop_fd < 0 || !a->http)
		return -1;
	a->stopped = event_new(a->base, a->stop_fd, EV_READ | EV_PERSIST, on_stop, a);
	a->tick = event_new(a->base, -1, EV_PERSIST, on_tick, a);
	if (!a->stopped || !a->tick)
		return -1;
	evhttp_set_max_headers_size(a->http, HEAD_BYTES_MOST);
	evhttp_set_max_body_size(a->http, BODY_BYTES_MOST);
	evhttp_set_timeout(a->http, IDLE_SECONDS);
	evhttp_set_allowed_methods(a->http, 0xffff); /* the table says what each may */
	evhttp_set_gencb(a->http, on_request, a);
	evhttp_set_bevcb(a->http, make_connection, a);
	struct timeval every = {.tv_sec = TICK_SECONDS};
	return event_add(a->stopped, NULL) == 0 && event_add(a->tick, &every) == 0 ? 0 : -1;
}

static int
accept_copy(struct admin *a, int socket)
{
	int fd = fcntl(socket, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0 && accept_at(a, 1, fd) == 0)
		return 0;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* An address with port 0 does not say which port it got. */
static int
adopt(struct admin *a, int fd)
{
	a->bound.bytes = sizeof a->bound.sa;
	return getsockname(fd, (struct sockaddr *)&a->bound.sa, &a->bound.bytes) == 0 ? fd : -1;
}

int
admin_start(struct admin **out, const char *addr, const struct admin_source *s, char *err,
	    size_t err_bytes)
{
	struct admin *a = NEW(struct admin);
	int fd = -1;
	a->source = *s;
	a->stop_fd = -1;
	sem_init(&a->done, 0, 0);
	if (addr && address_parse(addr, &a->bound) < 0) {
		snprintf(err, err_bytes, "admin: \"%s\" is not IP:PORT", addr);
		goto failed;
	}
	fd = !addr ? -1 : s->listening ? adopt(a, *s->listening) : listen_at(&a->bound);
	if (addr && fd < 0) {
		snprintf(err, err_bytes,
			 "cannot listen on admin address %s: %s; choose another with "
			 "--admin, or --admin off",
			 addr, strerror(errno));
		goto failed;
	}
	if (set_up(a) < 0 || (addr && accept_at(a, 0, fd) < 0) ||
	    (s->socket && accept_copy(a, *s->socket) < 0)) {
		snprintf(err, err_bytes, "cannot start the admin server: %s", strerror(errno));
		goto failed;
	}
	if (pthread_create(&a->thread, NULL, run, a)) {
		snprintf(err, err_bytes,
			 "cannot start the thread of the admin server; raise the "
			 "limit on threads, or choose --admin off");
		goto failed;
	}
	*out = a;
	return 0;
failed:
	if (fd >= 0 && !a->http)
		close(fd);
	destroy(a);
	return -1;
}

unsigned
admin_port(const struct admin *a)
{
	return a->bound.bytes ? address_port(&a->bound) : 0;
}

int
admin_listening(const struct admin *a)
{
	return a->listeners[0] ? evhttp_bound_socket_get_fd(a->listeners[0]) : -1;
}

void
admin_leave(struct admin *a, bool yes)
{
	enum wish wish = yes ? WISH_LEAVE : WISH_RETURN;
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until); /* as sem_timedwait has it */
	until.tv_sec += LEAVE_SECONDS;
	do_wish(a, wish);
	int error = 0;
	while (atomic_load(&a->granted) != wish && error != ETIMEDOUT)
		error = (yes ? sem_timedwait(&a->done, &until) : sem_wait(&a->done)) ? errno : 0;
}

void
admin_stop(struct admin **a)
{
	if (!*a)
		return;
	do_wish(*a, WISH_END);
	pthread_join((*a)->thread, NULL);
	destroy(*a);
	*a = NULL;
}
