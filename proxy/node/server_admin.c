/* server_admin.c - what the node answers to who asks: the admin server, and the history each second. */
#include "proxy/node/server_inside.h"

#include "config/changes.h"
#include "config/config.h"
#include "config/listen.h"
#include "proxy/admin/admin.h"
#include "proxy/admin/judge.h"
#include "proxy/base/mem.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/flight/flight.h"
#include "proxy/cache/admission/seen.h"
#include "proxy/node/chronicle.h"
#include "proxy/node/explain.h"
#include "proxy/node/heir.h"
#include "proxy/node/inherited.h"
#include "proxy/node/membership.h"
#include "proxy/node/numbers.h"
#include "proxy/node/purge.h"
#include "proxy/serve/access_log.h"
#include "proxy/node/top.h"
#include "proxy/node/watchdog.h"
#include "proxy/wire/clients.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- facts --------------------------------------------------------------------------------- */

/* What-if keeps the rule of admission that it was created with, unless sightings are chosen: after a reload to
 * another one, its rows would be told as differences from what is not set any more. */
static void
tell_what_if(const struct config *c, const struct seen *seen, struct whatif_stats *w)
{
	unsigned saved_s;
	uint64_t budget_bytes_s = config_budget(c, &saved_s);
	struct sighting_settings now = seen_settings(seen);
	if (w->sightings != now.sightings || w->large_sightings != now.large_sightings ||
	    w->budget_bytes_s != budget_bytes_s || w->budget_saved_s != saved_s)
		*w = (struct whatif_stats){0};
}

static void
tell(struct server *s, const struct edition *e, struct report *out)
{
	memset(out, 0, sizeof *out);
	numbers_add(s->workers, s->worker_count, &e->origins, out);
	numbers_routes(s->workers, s->worker_count, e->config, e->counted, out);
	numbers_name(e->config, e->ports, out);
	out->version = s->version;
	out->uptime_s = (double)(now_us() - s->begun_us) / 1e6;
	out->now_s = now_s();
	pthread_mutex_lock(&s->lock);
	out->log_dropped = s->log_dropped + (s->access_log ? logfile_dropped(s->access_log) : 0);
	pthread_mutex_unlock(&s->lock);
	cache_stats(s->shelves.cache, &out->cache);
	baseline_stats(s->shelves.baseline, &out->baseline);
	tell_what_if(e->config, s->shelves.seen, &out->baseline.what_if);
	seen_report(s->shelves.seen, &out->generation);
	out->sightings.interval_s = seen_interval_s(s->shelves.seen);
	out->sightings.unlogged = seen_unlogged(s->shelves.seen);
	struct sighting_settings asked = seen_settings(s->shelves.seen);
	out->sightings.asked = asked.sightings;
	out->sightings.asked_large =
		asked.large_sightings ? asked.large_sightings : asked.sightings;
	out->sightings.chosen = seen_choice(s->shelves.seen, &out->sightings.choice);
	seen_most_written(s->shelves.seen, &out->most_written.who, &out->most_written.bytes);
	out->endurance_bytes = (double)e->config->cache.endurance_bytes;
	out->sightings.turn_alarm_s = (double)e->config->admission.turn_alarm_s;
	out->open_connections = clients_count(s->clients);
	out->health.stalled_workers = watchdog_stalled(s->watchdog);
	out->health.draining = atomic_load(&s->draining);
	out->health.lost_directories = cache_lost(s->shelves.cache);
	out->health.directories = cache_directories(s->shelves.cache);
	membership_report(s->outward.membership, &out->health.fleet);
	if (s->shelves.packer)
		out->packing = packer_count(s->shelves.packer);
	flights_count(s->shelves.flights, &out->flights, &out->flight_bytes);
	history_lifetime(chronicle_history(s->chronicle), out);
}

void
server_admin_count(void *ctx, struct report *out)
{
	struct server *s = ctx;
	numbers_count(s->workers, s->worker_count, out);
	out->uptime_s = (double)(now_us() - s->begun_us) / 1e6;
	cache_stats(s->shelves.cache, &out->cache);
	baseline_stats(s->shelves.baseline, &out->baseline);
}

/* ---- who asks ------------------------------------------------------------------------------ */

/* The edition of now, held in *mine until the next call with it. */
static struct edition *
hold(struct server *s, struct edition **mine)
{
	struct edition *old = *mine;
	pthread_mutex_lock(&s->lock);
	*mine = edition_ref(s->edition);
	pthread_mutex_unlock(&s->lock);
	edition_unref(&old);
	return *mine;
}

/* Tells what is configured, and how the last change went. */
static void
tell_configuration(struct server *s, struct report *out)
{
	pthread_mutex_lock(&s->lock);
	struct tls_server *tls = s->tls;
	struct server_orders o = s->orders;
	pthread_mutex_unlock(&s->lock);
	numbers_certificates(tls, out);
	struct report_configuration *c = &out->configuration;
	if (o.reloaded)
		o.reloaded(o.ctx, &c->read_s, &c->refused);
	if (o.upgrade_failed)
		o.upgrade_failed(o.ctx, c->upgrade_failed, sizeof c->upgrade_failed);
}

void
server_admin_second(void *ctx, struct report *out)
{
	struct server *s = ctx;
	tell(s, hold(s, &s->keepers), out);
	tell_configuration(s, out);
	judge_second(chronicle_judge(s->chronicle), out, now_us());
}

static void
on_report(void *ctx, struct report *out)
{
	struct server *s = ctx;
	tell(s, hold(s, &s->admins), out);
	process_read(&out->process);
	tell_configuration(s, out);
	judge_report(chronicle_judge(s->chronicle), out, now_us());
}

static const char *
on_explain(void *ctx, const struct explain_order *o, struct buf *out)
{
	struct server *s = ctx;
	return explain_url(&s->shelves, hold(s, &s->admins)->settings, s->workers, s->worker_count,
			   o, out);
}

static void
on_top(void *ctx, struct buf *out)
{
	struct server *s = ctx;
	top_json(s->workers, s->worker_count, out);
}

static int
on_fleet(void *ctx, bool orders, const char *query, struct buf *out)
{
	struct server *s = ctx;
	return membership_answer(s->outward.membership, hold(s, &s->admins)->settings,
				 s->shelves.seed, orders, query, out);
}

static bool
on_history(void *ctx, int64_t step_s, int64_t since_s, struct buf *out)
{
	struct server *s = ctx;
	return history_json(chronicle_history(s->chronicle), step_s, since_s, out);
}

/* "draining" is a word that balancers look for. */
static bool
on_healthy(void *ctx, struct buf *line)
{
	struct report *r = NEW(struct report);
	on_report(ctx, r);
	if (r->health.draining)
		buf_add_lit(line, "draining\n");
	else
		judgement_print(&r->health.judgement, line);
	bool healthy = !r->health.judgement.elsewhere;
	free(r);
	return healthy;
}

struct purge_note {
	struct server *server;
	const struct config *config;
};

/* A line of the access log, in a lane of its own: in the order of time among requests. */
static void
log_purge(void *ctx, const struct purge_order *o)
{
	const struct purge_note *l = ctx;
	struct server *s = l->server;
	struct buf line = {0};
	access_log_purge(l->config, o->kind, o->soft, o->name, &line);
	pthread_mutex_lock(&s->lock);
	if (s->access_log)
		logfile_add(s->access_log, s->worker_count, line.p, line.n);
	pthread_mutex_unlock(&s->lock);
	buf_fini(&line);
}

static void
on_purge(void *ctx, const struct purge_order *o, unsigned n, struct purge_result *out,
	 struct purge_others *others)
{
	struct server *s = ctx;
	const struct edition *e = hold(s, &s->admins);
	struct purge_note log = {s, e->config};
	purge_apply(&s->shelves, e->settings, o, n, out, &(struct purge_teller){log_purge, &log});
	if (!out[0].refused)
		membership_purged(s->outward.membership, others);
}

static struct access_rules
on_access(void *ctx)
{
	struct server *s = ctx;
	const struct edition *e = hold(s, &s->admins);
	const struct config *c = e->config;
	return (struct access_rules){
		.hosts = c->admin_hosts, .host_count = c->admin_host_count, .token = e->token};
}

static int
on_reload(void *ctx, struct buf *out)
{
	struct server *s = ctx;
	pthread_mutex_lock(&s->lock);
	struct server_orders o = s->orders;
	pthread_mutex_unlock(&s->lock);
	return o.reload ? o.reload(o.ctx, out) : -1;
}

static void
on_upgrade(void *ctx, bool begin, struct buf *out)
{
	struct server *s = ctx;
	pthread_mutex_lock(&s->lock);
	struct server_orders o = s->orders;
	pthread_mutex_unlock(&s->lock);
	if (o.upgrade)
		o.upgrade(o.ctx, begin, out);
}

/* The socket that the process before has, if it is the one that is wanted; else -1. */
static int
admin_socket_before(struct server *s, const char *listen, bool path, bool *is_ours)
{
	int fd = s->heir ? heir_admin(s->heir, path, is_ours) : -1;
	if (fd < 0 || (listen && inherited_listens_at(fd, listen)))
		return fd;
	close(fd);
	return -1;
}

static int
open_admin_door(struct server *s, char *err, size_t err_bytes)
{
	const struct config *c = s->edition->config;
	char listen[UNIX_SOCKET_PATH_BYTES + 8];
	bool is_ours;
	snprintf(listen, sizeof listen, "unix:%s", c->admin_socket ? c->admin_socket : "");
	int fd = admin_socket_before(s, c->admin_socket ? listen : NULL, true, &is_ours);
	if (fd < 0)
		return admin_door_open(&s->admin_door, c, err, err_bytes);
	admin_door_adopt(&s->admin_door, c, fd, is_ours);
	return 0;
}

int
server_admin_open(struct server *s, char *err, size_t err_bytes)
{
	const char *addr = s->edition->config->admin;
	bool is_ours;
	if (open_admin_door(s, err, err_bytes))
		return -1;
	int before = admin_socket_before(s, addr, false, &is_ours);
	const struct admin_source source = {
		.report = on_report,
		.history = on_history,
		.top = on_top,
		.fleet = on_fleet,
		.explain = on_explain,
		.healthy = on_healthy,
		.purge = on_purge,
		.reload = on_reload,
		.upgrade = on_upgrade,
		.access = on_access,
		.ctx = s,
		.listening = before >= 0 ? &before : NULL,
		.socket = s->admin_door.fd >= 0 ? &s->admin_door.fd : NULL,
	};
	return addr || source.socket ? admin_start(&s->admin, addr, &source, err, err_bytes) : 0;
}

void
server_report(struct server *s, struct report *out)
{
	tell(s, s->edition, out);
}

unsigned
server_port(const struct server *s, unsigned listener)
{
	assert(listener < s->place_count);
	return s->places[listener].port;
}

bool
server_listens(const struct server *s, const char *listen)
{
	const struct config *c = s->edition->config;
	for (unsigned i = 0; i < c->listen_count; i++)
		if (config_listen_same(c->listen[i], listen))
			return true;
	return c->admin && config_listen_same(c->admin, listen);
}

unsigned
server_admin_port(const struct server *s)
{
	return s->admin ? admin_port(s->admin) : 0;
}

bool
server_keeps_files(const struct server *s)
{
	return *cache_directory(s->shelves.cache) != '\0';
}

bool
server_is_without_directory(const struct server *s)
{
	return cache_directories(s->shelves.cache) > 0 && !server_keeps_files(s);
}

bool
server_may_return(const struct server *s, bool *all)
{
	unsigned n = cache_waits(s->shelves.cache);
	*all = n == cache_lost(s->shelves.cache);
	return n > 0;
}

void
server_copy_config(struct server *s, struct config *to)
{
	pthread_mutex_lock(&s->changing);
	config_copy(to, s->edition->config);
	pthread_mutex_unlock(&s->changing);
}

bool
server_linger(struct server *s, bool (*is_over)(void *ctx), void *ctx)
{
	/* Until those who ask for the upgrade have heard of its end; between two looks. */
	enum { LINGER_LEAST_MS = 1000, SLICE_MS = 50 };
	pthread_mutex_lock(&s->lock);
	int64_t since = now_ms(), until = since + (int64_t)s->edition->config->timeouts.drain_ms;
	pthread_mutex_unlock(&s->lock);
	struct pollfd successor = {.fd = s->heir_end};
	bool alone = false, over = false;
	/* Segments are kept for as long as this process lives: what those before it may be reading
	 * depends on that too. Without a successor nobody can start before it ends. */
	while (!alone && !over &&
	       (!heir_is_over(s->heir) || (clients_count(s->clients) && now_ms() < until) ||
		now_ms() < since + LINGER_LEAST_MS)) {
		alone = poll(&successor, 1, SLICE_MS) > 0 && successor.revents & POLLHUP;
		over = is_over(ctx);
	}
	return over;
}
