/* worker.c - the thread: accepts, ticks, opens its mail, drains. */
#include "proxy/node/worker.h"

#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/wire/conn.h"
#include "proxy/serve/fill.h"
#include "proxy/serve/txn.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ACCEPT_MOST = 64, DISPATCH_MOST = 64, SPARE_CHUNKS = 512 };

/* ---- accepting ----------------------------------------------------------------------------- */

static void
refuse(struct worker *w, int fd)
{
	static const char full[] = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
				   "Retry-After: 1\r\nConnection: close\r\n\r\n";
	metrics_add(&w->metrics, METRIC_REFUSED_CONNECTIONS, 1);
	ssize_t n = send(fd, full, sizeof full - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)n;
	close(fd);
}

static void
on_accept(evutil_socket_t fd, short what, void *arg)
{
	(void)what;
	struct listener *l = arg;
	struct worker *w = l->worker;
	for (int i = 0; i < ACCEPT_MOST; i++) {
		struct sockaddr_storage peer = {0};
		socklen_t n = sizeof peer;
		int client =
			accept4(fd, (struct sockaddr *)&peer, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (client < 0) {
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			    errno == ENOMEM) {
				log_warning(
					"cannot accept: %s; trying again shortly (raise the limit of "
					"open files, or lower limits.connections)",
					strerror(errno));
				event_del(l->ev); /* the next tick adds it again */
			}
			return;
		}
		metrics_add(&w->metrics, METRIC_ACCEPTED, 1);
		if (atomic_fetch_add(w->connections, 1) >=
		    w->serve.settings->config->limits.connections) {
			atomic_fetch_sub(w->connections, 1);
			refuse(w, client);
			continue;
		}
		conn_accept(w, client, (struct sockaddr *)&peer);
	}
}

/* ---- the clock's turn ---------------------------------------------------------------------- */

static void
time_out(struct worker *w, int64_t now)
{
	for (int kind = WAIT_HEADER; kind < WAIT_KINDS; kind++) {
		struct wait_list *l = &w->waits[kind];
		while (l->first && now - l->first->wait_since_ms >= l->limit_ms) {
			struct conn *c = l->first;
			conn_timeout(c);
			/* Still waiting, and not anew: nothing more to be done with it. */
			if (l->first == c && now - c->wait_since_ms >= l->limit_ms)
				conn_close(c);
		}
	}
}

static void
begin_drain(struct letter *letter)
{
	struct worker *w =
		(struct worker *)((char *)letter - offsetof(struct worker, drain_letter));
	w->serve.draining = true;
	w->drain_until_ms = now_ms() + (int64_t)w->serve.settings->config->timeouts.drain_ms;
	for (unsigned i = 0; i < w->listener_count; i++) {
		on_accept(w->listeners[i].fd, EV_READ, &w->listeners[i]); /* who already knocked */
		event_del(w->listeners[i].ev);
		close(w->listeners[i].fd);
		w->listeners[i].fd = -1;
	}
	for (struct conn *c = w->conns, *next; c; c = next) {
		next = c->next;
		conn_begin_drain(c);
	}
}

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	struct worker *w = arg;
	int64_t now = now_ms();
	time_out(w, now);
	alarm_run(&w->serve.alarms, now);
	atomic_store_explicit(&w->active_fetches, fetcher_active(w->serve.fetcher),
			      memory_order_relaxed);
	if (w->serve.draining) {
		bool idle = w->conn_count == 0 && !fill_is_read(&w->serve);
		if (idle || now >= w->drain_until_ms)
			event_base_loopbreak(w->base);
		return;
	}
	for (unsigned i = 0; i < w->listener_count; i++)
		if (!event_pending(w->listeners[i].ev, EV_READ, NULL))
			event_add(w->listeners[i].ev, NULL);
}

/* ---- mail ---------------------------------------------------------------------------------- */

static void
on_mail(evutil_socket_t fd, short what, void *arg)
{
	struct worker *w = arg;
	mailbox_run(&w->mailbox, fd >= 0 && (what & EV_READ));
}

static void
nudge(void *arg)
{
	struct worker *w = arg;
	event_active(w->nudged, EV_TIMEOUT, 0);
}

void
worker_drain(struct worker *w)
{
	w->drain_letter.open = begin_drain;
	mailbox_post(&w->mailbox, &w->drain_letter);
}

/* ---- life ---------------------------------------------------------------------------------- */

int
worker_open(struct worker *w, unsigned index)
{
	const struct config *c = w->serve.settings->config;
	w->serve.metrics = &w->metrics;
	w->serve.ring = baseline_ring(w->serve.shelves->baseline, index);
	w->serve.mailbox = &w->mailbox;
	w->index = index;
	w->scratch = mem_alloc(SCRATCH_BYTES);
	alarm_init(&w->serve.alarms, now_ms());
	w->serve.arenas.spare_most = SPARE_CHUNKS;
	const int64_t limits[WAIT_KINDS] = {
		[WAIT_HEADER] = (int64_t)c->timeouts.header_ms,
		[WAIT_IDLE] = (int64_t)c->timeouts.idle_ms,
		[WAIT_BODY] = (int64_t)c->timeouts.body_ms,
		[WAIT_SEND] = (int64_t)c->timeouts.send_ms,
		[WAIT_FLIGHT] = (int64_t)c->timeouts.coalesce_ms,
	};
	for (int i = 0; i < WAIT_KINDS; i++) {
		w->waits[i].last = &w->waits[i].first;
		w->waits[i].limit_ms = limits[i];
	}
	struct event_config *ec = event_config_new();
	event_config_set_flag(ec, EVENT_BASE_FLAG_NOLOCK);
	event_config_require_features(ec, EV_FEATURE_ET | EV_FEATURE_EARLY_CLOSE);
	/* Callbacks that make each other active again must not keep the loop from sockets and
	 * clock. */
	event_config_set_max_dispatch_interval(ec, NULL, DISPATCH_MOST, 0);
	w->base = event_base_new_with_config(ec);
	event_config_free(ec);
	if (!w->base || mailbox_init(&w->mailbox))
		return -1;
	w->serve.fetcher = fetcher_create(w->base);
	w->mail = event_new(w->base, w->mailbox.fd, EV_READ | EV_PERSIST, on_mail, w);
	w->nudged = event_new(w->base, -1, 0, on_mail, w);
	w->tick = event_new(w->base, -1, EV_PERSIST, on_tick, w);
	struct timeval every = {0, TICK_MS * 1000};
	for (unsigned i = 0; i < w->listener_count; i++) {
		struct listener *l = &w->listeners[i];
		l->worker = w;
		l->index = i;
		l->ev = event_new(w->base, l->fd, EV_READ | EV_PERSIST, on_accept, l);
		if (!l->ev || event_add(l->ev, NULL))
			return -1;
	}
	return event_add(w->mail, NULL) || event_add(w->tick, &every) ? -1 : 0;
}

void *
worker_run(void *arg)
{
	struct worker *w = arg;
	mailbox_adopt(&w->mailbox, nudge, w);
	event_base_dispatch(w->base);
	while (w->conns)
		conn_close(w->conns);
	fill_cancel_all(&w->serve);
	return NULL;
}

void
worker_close(struct worker *w)
{
	if (w->serve.fetcher)
		fetcher_destroy(&w->serve.fetcher);
	/* Letters of flights and disk reads that came too late. */
	if (w->base) {
		mailbox_run(&w->mailbox, true);
		txn_free_spares(&w->serve);
		for (unsigned i = 0; i < w->listener_count; i++)
			if (w->listeners[i].ev)
				event_free(w->listeners[i].ev);
		struct event *evs[] = {w->mail, w->nudged, w->tick};
		for (size_t i = 0; i < sizeof evs / sizeof evs[0]; i++)
			if (evs[i])
				event_free(evs[i]);
		event_base_free(w->base);
		mailbox_fini(&w->mailbox);
	}
	for (unsigned i = 0; i < w->listener_count; i++)
		if (w->listeners[i].fd >= 0)
			close(w->listeners[i].fd);
	free(w->listeners);
	arena_pool_fini(&w->serve.arenas);
	buf_fini(&w->serve.log.line);
	settings_unref(&w->serve.settings);
	free(w->scratch);
}
