/* worker.c - the thread: ticks, opens its mail, drains. */
#include "proxy/node/worker.h"

#include "config/config.h"
#include "proxy/base/log.h"
#include "proxy/node/origins.h"
#include "proxy/serve/fill.h"
#include "proxy/serve/txn.h"
#include "proxy/wire/room.h"
#include "proxy/wire/listener.h"
#include "proxy/wire/wire.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

enum { DISPATCH_MOST = 64, SPARE_CHUNKS = 512 };

/* ---- the clock's turn ---------------------------------------------------------------------- */

static void
begin_drain(struct letter *letter)
{
	struct worker *w =
		(struct worker *)((char *)letter - offsetof(struct worker, drain_letter));
	assert(!w->draining);
	w->draining = true;
	w->drain_until_ms = now_ms() + (int64_t)w->serve.settings->config->timeouts.drain_ms;
	wire_drain(w->wire);
}

/* Origins but those of nodes that have left the fleet. */
static bool
is_not_gone(void *ctx, const struct origin *o)
{
	const struct worker *w = ctx;
	return !chart_has_origin(w->chart_seen, o) || chart_has_origin(w->serve.fleet.chart, o);
}

static void
follow_fleet(struct worker *w)
{
	struct chart *now;
	charts_follow(w->serve.shelves->fleet, &w->serve.fleet);
	if ((now = w->serve.fleet.chart) == w->chart_seen)
		return;
	fetcher_retire(w->serve.fetcher, is_not_gone, w);
	chart_unref(&w->chart_seen);
	w->chart_seen = now ? chart_ref(now) : NULL;
}

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	struct worker *w = arg;
	int64_t now = now_ms();
	wire_tick(w->wire, now);
	alarm_run(&w->serve.alarms, now);
	follow_fleet(w);
	if (w->serve.fleet.chart && !chart_is_well(w->serve.fleet.chart, now))
		fill_leave_siblings(&w->serve, now);
	fetcher_sweep(w->serve.fetcher);
	atomic_fetch_add_explicit(&w->ticks, 1, memory_order_relaxed);
	atomic_store_explicit(&w->active_fetches, fetcher_active(w->serve.fetcher),
			      memory_order_relaxed);
	if (!w->draining)
		return;
	bool idle = wire_connections(w->wire) == 0 && !fill_is_read(&w->serve);
	if (idle || now >= w->drain_until_ms)
		event_base_loopbreak(w->base);
}

/* ---- other settings ------------------------------------------------------------------------ */

static struct wire_limits
limits_of(const struct config *c)
{
	return (struct wire_limits){
		.head_bytes = c->limits.head_bytes,
		.url_bytes = c->limits.url_bytes,
		.body_bytes = c->limits.body_bytes,
		.field_count = c->limits.fields,
		.least_rate = c->limits.least_rate,
		.h2_streams = c->http2.streams,
		.h2_resets = c->http2.resets,
		.h2_frames = c->http2.frames,
		.h2_memory = c->http2.memory_bytes,
		.header_ms = (int64_t)c->timeouts.header_ms,
		.idle_ms = (int64_t)c->timeouts.idle_ms,
		.body_ms = (int64_t)c->timeouts.body_ms,
		.send_ms = (int64_t)c->timeouts.send_ms,
		.tunnel_ms = (int64_t)c->timeouts.tunnel_ms,
		.half_close_ms = (int64_t)c->timeouts.half_close_ms,
	};
}

static int
listen_at(struct worker *w, struct worker_door *d)
{
	int fd = d->fd;
	d->fd = -1;
	return wire_listen(w->wire, fd, d->listener, d->id);
}

static bool
is_used(void *ctx, const struct origin *o)
{
	return origins_have(ctx, o);
}

static void
take_over(struct letter *letter)
{
	struct worker_change *c =
		(struct worker_change *)((char *)letter - offsetof(struct worker_change, letter));
	struct worker *w = c->worker;
	struct wire_limits limits = limits_of(c->settings->config);
	assert(!w->draining); /* nothing changes once the server ends */
	assert(!c->leaves || c->door_count == 0);
	settings_unref(&w->serve.settings);
	w->serve.settings = c->settings;
	w->serve.log.file = c->log;
	for (unsigned i = 0; i < c->forgotten_count; i++)
		measures_forget_origin(&w->measures, c->forgotten[i]);
	for (unsigned i = 0; i < c->unnamed_count; i++)
		measures_forget_route(&w->measures, c->unnamed[i]);
	wire_settle(w->wire, &limits, c->settings->trusted, c->settings->trusted_count);
	for (unsigned i = 0; i < c->door_count; i++)
		if (listen_at(w, &c->doors[i]))
			log_error("cannot watch a listening socket: out of memory or descriptors");
	for (unsigned i = 0; i < c->turned_count; i++)
		wire_speak(w->wire, c->turned[i].id, c->turned[i].listener);
	for (unsigned i = 0; i < c->closed_count; i++)
		wire_unlisten(w->wire, c->closed[i]);
	wire_leave(w->wire, c->leaves);
	fetcher_retire(w->serve.fetcher, is_used, (void *)(uintptr_t)c->origins);
	sem_post(c->done);
}

void
workers_change(struct worker *w, struct worker_change *c, unsigned n)
{
	sem_t done;
	sem_init(&done, 0, 0);
	for (unsigned i = 0; i < n; i++) {
		c[i].worker = &w[i];
		c[i].done = &done;
		c[i].letter.open = take_over;
		mailbox_post(&w[i].mailbox, &c[i].letter);
	}
	for (unsigned i = 0; i < n; i++)
		while (sem_wait(&done))
			;
	sem_destroy(&done);
}

/* ---- mail ---------------------------------------------------------------------------------- */

static void
on_mail(evutil_socket_t fd, short what, void *arg)
{
	struct worker *w = arg;
	clock_begin_event();
	mailbox_run(&w->mailbox, fd >= 0 && (what & EV_READ));
	clock_end_event();
}

static void
nudge(void *arg)
{
	struct worker *w = arg;
	event_active(w->nudged, EV_TIMEOUT, 0);
}

static void
become_lame_duck(struct letter *letter)
{
	const struct worker *w =
		(struct worker *)((char *)letter - offsetof(struct worker, lame_letter));
	wire_be_lame_duck(w->wire);
}

void
worker_be_lame_duck(struct worker *w)
{
	w->lame_letter.open = become_lame_duck;
	mailbox_post(&w->mailbox, &w->lame_letter);
}

void
worker_drain(struct worker *w)
{
	w->drain_letter.open = begin_drain;
	mailbox_post(&w->mailbox, &w->drain_letter);
}

/* ---- life ---------------------------------------------------------------------------------- */

static int
open_wire(struct worker *w)
{
	struct wire_options o = {
		.base = w->base,
		.metrics = &w->metrics,
		.arenas = &w->serve.arenas,
		.clients = w->clients,
		.siblings = w->siblings,
		.room = w->room,
		.worker = w->index,
		.forwarders = w->serve.settings->trusted,
		.forwarder_count = w->serve.settings->trusted_count,
		.up = &txn_stream_up,
		.node = &w->serve,
		.limits = limits_of(w->serve.settings->config),
	};
	w->wire = wire_create(&o);
	room_join(w->room, w->index, w->wire, wire_arrive, &w->mailbox);
	for (unsigned i = 0; i < w->door_count; i++)
		if (listen_at(w, &w->doors[i]))
			return -1;
	return 0;
}

int
worker_open(struct worker *w, unsigned index)
{
	assert(w->serve.shelves && w->serve.settings && w->clients && w->siblings && w->room);
	w->serve.metrics = &w->metrics;
	measures_init(&w->measures, REPORT_ORIGINS_MOST);
	w->serve.measures = &w->measures;
	w->serve.lately = &w->lately;
	hot_init(&w->hot);
	w->serve.hot = &w->hot;
	w->serve.ring = baseline_ring(w->serve.shelves->baseline, index);
	w->serve.mailbox = &w->mailbox;
	w->index = index;
	alarm_init(&w->serve.alarms, now_ms());
	w->serve.arenas.spare_most = SPARE_CHUNKS;
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
	if (open_wire(w))
		return -1;
	return event_add(w->mail, NULL) || event_add(w->tick, &every) ? -1 : 0;
}

void *
worker_run(void *arg)
{
	struct worker *w = arg;
	assert(w->base && w->wire && w->mail && w->tick);
	mailbox_adopt(&w->mailbox, nudge, w);
	pthread_setname_np(pthread_self(), "worker");
	log_never_wait();
	event_base_dispatch(w->base);
	atomic_store_explicit(&w->ticks, WORKER_HAS_ENDED, memory_order_relaxed);
	wire_close_all(w->wire);
	fill_cancel_all(&w->serve);
	return NULL;
}

void
worker_read_mail(struct worker *w)
{
	if (w->base)
		mailbox_run(&w->mailbox, true);
}

void
worker_close(struct worker *w)
{
	uint64_t ticks = atomic_load_explicit(&w->ticks, memory_order_relaxed);
	assert(ticks == 0 || ticks == WORKER_HAS_ENDED); /* its thread is gone, or never was */
	if (w->wire) {
		wire_destroy(&w->wire);
		room_leave(w->room, w->index);
	}
	if (w->serve.fetcher)
		fetcher_destroy(&w->serve.fetcher);
	chart_unref(&w->serve.fleet.chart);
	chart_unref(&w->chart_seen);
	/* Letters of flights and disk reads that came too late. */
	if (w->base) {
		mailbox_run(&w->mailbox, true);
		txn_free_spares(&w->serve);
		fill_free_spares(&w->serve);
		struct event *evs[] = {w->mail, w->nudged, w->tick};
		for (size_t i = 0; i < sizeof evs / sizeof evs[0]; i++)
			if (evs[i])
				event_free(evs[i]);
		event_base_free(w->base);
		mailbox_fini(&w->mailbox);
	}
	for (unsigned i = 0; i < w->door_count; i++)
		if (w->doors[i].fd >= 0)
			close(w->doors[i].fd);
	free(w->doors);
	measures_fini(&w->measures);
	hot_fini(&w->hot);
	arena_pool_fini(&w->serve.arenas);
	buf_fini(&w->serve.log.line);
	settings_unref(&w->serve.settings);
}
