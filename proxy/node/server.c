/* server.c - turns the rooms on in order, and off in the opposite one. */
#include "proxy/node/server.h"
#include "proxy/node/admin_door.h"
#include "proxy/node/chronicle.h"
#include "proxy/node/explain.h"
#include "proxy/node/numbers.h"
#include "proxy/node/origins.h"
#include "proxy/node/purge.h"

#include "proxy/admin/admin.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/serve/fill.h"
#include "proxy/serve/txn.h"
#include "proxy/wire/clients.h"
#include "proxy/wire/room.h"
#include "proxy/node/doorway.h"
#include "proxy/node/keeper.h"
#include "proxy/node/top.h"
#include "proxy/node/watchdog.h"
#include "proxy/node/worker.h"

#include <assert.h>
#include <malloc.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* LOG_LANE_BYTES: lines that one worker may have waiting. LOG_END_MS: for the last of them. */
enum { LOG_LANE_BYTES = 512 << 10, LOG_END_MS = 2000 };

struct server {
	const struct config *config;
	const char *version;
	struct shelves shelves;
	struct settings *settings; /* for who asks from the admin thread */
	struct origins origins;
	struct admin *admin;
	struct admin_door admin_door;
	struct chronicle *chronicle;
	struct clients *clients;
	struct room *room;
	_Atomic bool draining;
	struct logfile *access_log; /* NULL: none */
	struct worker *workers;	    /* aligned: metrics have their own cache lines */
	unsigned worker_count;
	struct listener *listeners;   /* of config->listen_count */
	struct doorway_place *places; /* the same */
	struct tls_server *tls;	      /* NULL: no listener needs it */
	int64_t begun_us;
	bool started;
	struct keeper *keeper;
	struct watchdog *watchdog; /* NULL: nobody asked for one */
};

/* ---- opening ------------------------------------------------------------------------------- */

static unsigned
cores(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (unsigned)n : 1;
}

static unsigned
worker_count(const struct config *c)
{
	return c->workers ? c->workers : cores();
}

static struct memory_options
memory_of(const struct config *c)
{
	static const enum memory_kind kind_of[] = {
		[CONFIG_FILTER_PAIR] = MEMORY_PAIR,
		[CONFIG_FILTER_COUNTING] = MEMORY_COUNTING,
		[CONFIG_FILTER_STABLE] = MEMORY_STABLE,
		[CONFIG_FILTER_SCALABLE] = MEMORY_SCALABLE,
	};
	return (struct memory_options){
		.kind = kind_of[c->admission.filter],
		.sightings = c->admission.sightings,
		.capacity = c->admission.capacity,
		.false_positives = c->admission.false_positives,
		.rotate_after_s = c->admission.rotate_after_s,
	};
}

static int
open_sightings(struct server *s, char *err, size_t err_bytes)
{
	const struct config *c = s->config;
	unsigned saved_s;
	uint64_t budget = config_budget(c, &saved_s);
	struct seen_options o = {
		.cache = s->shelves.cache,
		.saved = c->cache.dir != NULL,
		.memory = memory_of(c),
		.max_object_bytes = c->cache.max_object_bytes,
		.fill_until = c->admission.fill_until,
		.write_budget_bytes_s = budget,
		.write_budget_saved_s = saved_s,
		.now_ms = now_ms(),
	};
	return seen_open(&s->shelves.seen, &o, err, err_bytes);
}

/* The ghost takes at most an eighth of what the RAM tier does, and is exact up to so many objects.
 * More would make it dearer than a hundredth of a request: an event costs 100 ns while its tables
 * fit in the processor's caches, 440 ns with 200,000 objects; sampled, only some requests are
 * events. All of it, notes and ghost, is 0.6% of the CPU time both of hits in RAM (bench/load
 * --same 400 --bytes 1024) and of the mix (--cdn): perf record -e task-clock -p PID, symbols of
 * bill, baseline and ghost. */
static uint32_t
ghost_entries(const struct config *c)
{
	enum { LEAST = 16 << 10, MOST = 32 << 10, BYTES_EACH = 136 };
	uint64_t n = c->cache.memory_bytes / 8 / BYTES_EACH;
	return n < LEAST ? LEAST : n > MOST ? MOST : (uint32_t)n;
}

static int
open_shelves(struct server *s, char *err, size_t err_bytes)
{
	const struct config *c = s->config;
	struct shelves *sh = &s->shelves;
	struct cache_disk more[CONFIG_DISKS_MOST];
	for (unsigned i = 0; i < c->disk_count; i++)
		more[i] = (struct cache_disk){c->disks[i].dir, c->disks[i].bytes};
	struct cache_options o = {
		.more = more,
		.more_n = c->disk_count,
		.dir = c->cache.dir,
		.disk_bytes = c->cache.disk_bytes,
		.memory_bytes = c->cache.memory_bytes,
		.max_object_bytes = c->cache.max_object_bytes,
		.keep_free = c->cache.keep_free,
		.scrub_every_s = c->cache.scrub_every_s,
		.io_threads = c->cache.io_threads,
		.verify_always = c->cache.verify == CONFIG_VERIFY_ALWAYS,
		.read_limit_ms = (unsigned)c->cache.read_timeout_ms,
	};
	o.reserve_bytes = baseline_reserve_bytes(c->cache.disk_bytes, c->admission.capacity);
	if (cache_open(&sh->cache, &o, err, err_bytes))
		return -1;
	sh->seed = cache_seed(sh->cache);
	s->chronicle = chronicle_create(sh->cache);
	if (open_sightings(s, err, err_bytes))
		return -1;
	unsigned saved_s;
	uint64_t budget_bytes_s = config_budget(c, &saved_s);
	struct baseline_options b = {
		.ghost =
			{
				.disk_bytes = config_disk_bytes(c),
				.reserve_bytes = o.reserve_bytes,
				.max_object_bytes = o.max_object_bytes,
				.memory_bytes = o.memory_bytes,
				.max_entries = ghost_entries(c),
			},
		.memory = memory_of(c),
		.budget_bytes_s = budget_bytes_s,
		.budget_saved_s = saved_s,
		.rings = worker_count(c),
		.cache = sh->cache,
	};
	if (baseline_create(&sh->baseline, &b)) {
		snprintf(err, err_bytes, "cannot start the thread of the baseline");
		return -1;
	}
	uint64_t budget = c->cache.memory_bytes / 4;
	struct flights_options f = {.window_bytes = 512 << 10};
	f.total_bytes = budget > 64 << 20 ? budget : 64 << 20;
	f.retain_bytes = f.total_bytes / 2;
	f.cache = sh->cache;
	sh->flights = flights_create(&f);
	sh->passes = passes_create();
	sh->reloads = passes_create();
	sh->unsliced = passes_create();
	return 0;
}

static int
open_log(struct server *s, char *err, size_t err_bytes)
{
	const char *path = s->config->access_log;
	if (!path || strcmp(path, "off") == 0)
		return 0;
	if (logfile_start(&s->access_log, path, worker_count(s->config), LOG_LANE_BYTES) == 0)
		return 0;
	snprintf(err, err_bytes, "cannot start the access log's thread: %s", strerror(errno));
	return -1;
}

/* Tells this node from others in Via: two of one name may be in a row, and a request that comes
 * back must be known. The seed lies in the cache directory (without one it is new at each start),
 * so the number stays the same over restarts; host name and listeners tell a node from another one
 * that was started in a copy of its directory. The machine's name alone would not do: an edge and
 * its shield may run on one. */
static uint32_t
node_of(const struct filter_seed *seed, const struct config *c)
{
	char host[256] = "";
	struct buf b = {0};
	gethostname(host, sizeof host - 1);
	buf_printf(&b, "node %s", host);
	for (unsigned i = 0; i < c->listen_count; i++)
		buf_printf(&b, " %s", c->listen[i]);
	uint32_t node = (uint32_t)key_hash_of(seed, b.p, b.n).lo;
	buf_fini(&b);
	return node;
}

/* The sockets of one worker, all entries of listen. */
static int
open_doors(struct server *s, unsigned w, char *err, size_t err_bytes)
{
	const struct config *c = s->config;
	struct worker *worker = &s->workers[w];
	unsigned n = 0;
	for (unsigned i = 0; i < c->listen_count; i++)
		n += doorway_count(&s->places[i], w, s->worker_count);
	worker->doors = mem_zalloc(n * sizeof *worker->doors);
	for (unsigned i = 0; i < c->listen_count; i++)
		for (unsigned k = 0; k < doorway_count(&s->places[i], w, s->worker_count); k++) {
			int fd = doorway_door(c, i, &s->places[i], w + k * s->worker_count, err,
					      err_bytes);
			if (fd < 0)
				return -1;
			worker->doors[worker->door_count++] =
				(struct worker_door){fd, &s->listeners[i]};
		}
	return 0;
}

static int
open_workers(struct server *s, char *err, size_t err_bytes)
{
	const struct config *c = s->config;
	unsigned n = worker_count(c);
	if (posix_memalign((void **)&s->workers, 64, n * sizeof *s->workers))
		abort();
	memset(s->workers, 0, n * sizeof *s->workers);
	s->places = mem_zalloc(c->listen_count * sizeof *s->places);
	s->listeners = doorway_open(c, &s->tls, err, err_bytes);
	if (!s->listeners || doorway_places(c, s->places, err, err_bytes))
		return -1;
	s->worker_count = n;
	const struct clients_limits l = {
		.most = c->limits.connections,
		.per_address = c->limits.per_address,
		.forwarders = s->settings->trusted,
		.forwarder_count = s->settings->trusted_count,
	};
	s->clients = clients_create(&l);
	s->room = room_create(n);
	for (unsigned w = 0; w < n; w++) {
		struct worker *worker = &s->workers[w];
		worker->clients = s->clients;
		worker->room = s->room;
		worker->serve = (struct serve){
			.shelves = &s->shelves,
			.settings = settings_create(c, node_of(s->shelves.seed, c)),
			.groups = s->origins.groups,
			.log = {.file = s->access_log, .lane = w},
		};
		if (open_doors(s, w, err, err_bytes))
			return -1;
		if (worker_open(worker, w)) {
			snprintf(err, err_bytes, "cannot set up worker %u: %s", w, strerror(errno));
			return -1;
		}
	}
	doorway_shared(s->places, c->listen_count);
	return 0;
}

static void
on_second(void *ctx, struct report *out)
{
	server_report(ctx, out);
}

static void
on_report(void *ctx, struct report *out)
{
	server_report(ctx, out);
	process_read(&out->process);
}

static const char *
on_explain(void *ctx, const struct explain_order *o, struct buf *out)
{
	struct server *s = ctx;
	return explain_url(&s->shelves, s->settings, s->workers, s->worker_count, o, out);
}

static void
on_top(void *ctx, struct buf *out)
{
	struct server *s = ctx;
	top_json(s->workers, s->worker_count, out);
}

static bool
on_history(void *ctx, int64_t step_s, int64_t since_s, struct buf *out)
{
	struct server *s = ctx;
	return history_json(chronicle_history(s->chronicle), step_s, since_s, out);
}

static bool
on_healthy(void *ctx)
{
	struct server *s = ctx;
	return !atomic_load(&s->draining);
}

static void
on_purge(void *ctx, const struct purge_order *o, unsigned n, struct purge_result *out)
{
	struct server *s = ctx;
	purge_apply(&s->shelves, s->settings, o, n, out);
}

static int
open_admin(struct server *s, char *err, size_t err_bytes)
{
	if (admin_door_open(&s->admin_door, s->config, err, err_bytes))
		return -1;
	const struct admin_source source = {
		.report = on_report,
		.history = on_history,
		.top = on_top,
		.explain = on_explain,
		.healthy = on_healthy,
		.purge = on_purge,
		.ctx = s,
		.access = {.hosts = s->config->admin_hosts,
			   .host_count = s->config->admin_host_count,
			   .token = s->admin_door.token},
		.socket = s->admin_door.fd >= 0 ? &s->admin_door.fd : NULL,
	};
	const char *addr = s->config->admin;
	return addr || source.socket ? admin_start(&s->admin, addr, &source, err, err_bytes) : 0;
}

/* Each thread would have a heap of its own, and keep what others could use: what RAM holds comes and
 * goes in all sizes (bench/ram.c: 58% waste with four workers, 19% with one heap for them). A heap has
 * a lock, so not too many share one. */
static void
share_heaps(const struct config *c)
{
#ifdef M_ARENA_MAX
	enum { WORKERS_TO_A_HEAP = 4 };
	mallopt(M_ARENA_MAX, (int)((worker_count(c) + WORKERS_TO_A_HEAP - 1) / WORKERS_TO_A_HEAP));
#else
	(void)c;
#endif
}

int
server_create(struct server **out, const struct config *c, const char *version, char *err,
	      size_t err_bytes)
{
	struct server *s = NEW(struct server);
	s->config = c;
	s->version = version;
	s->begun_us = now_us();
	share_heaps(c);
	s->settings = settings_create(c, 0); /* asks for routes only */
	if (open_shelves(s, err, err_bytes) ||
	    origins_open(&s->origins, c, worker_count(c), err, err_bytes) ||
	    open_log(s, err, err_bytes) || open_workers(s, err, err_bytes) ||
	    open_admin(s, err, err_bytes)) {
		server_destroy(&s);
		return -1;
	}
	*out = s;
	return 0;
}

/* ---- running ------------------------------------------------------------------------------- */

int
server_start(struct server *s)
{
	assert(!s->started && s->worker_count > 0);
	chronicle_begin(s->chronicle, on_second, s);
	for (unsigned i = 0; i < s->worker_count; i++)
		if (pthread_create(&s->workers[i].thread, NULL, worker_run, &s->workers[i]))
			return -1;
	if (keeper_start(&s->keeper, &s->shelves, s->chronicle) ||
	    watchdog_start(&s->watchdog, s->workers, s->worker_count))
		return -1;
	s->started = true;
	return 0;
}

void
server_stop(struct server *s)
{
	if (!s->started)
		return;
	atomic_store(&s->draining, true);
	doorway_end(s->places, s->config->listen_count);
	for (unsigned i = 0; i < s->worker_count; i++)
		worker_drain(&s->workers[i]);
	for (unsigned i = 0; i < s->worker_count; i++)
		pthread_join(s->workers[i].thread, NULL);
	watchdog_stop(&s->watchdog);
	keeper_stop(&s->keeper);
	s->started = false;
}

void
server_destroy(struct server **sp)
{
	struct server *s = *sp;
	*sp = NULL;
	if (!s)
		return;
	assert(!s->started && !s->keeper);
	struct shelves *sh = &s->shelves;
	admin_stop(&s->admin); /* it asks and purges to the end */
	admin_door_close(&s->admin_door);
	keeper_save(sh, s->chronicle);
	/* The I/O threads end first: after that no letter can come any more. The last letters bring
	 * objects, so the cache itself goes last. */
	if (sh->cache)
		cache_stop(sh->cache);
	for (unsigned i = 0; i < s->worker_count; i++)
		worker_close(&s->workers[i]);
	cache_close(&sh->cache);
	free(s->workers);
	clients_destroy(&s->clients);
	room_destroy(&s->room);
	origins_close(&s->origins);
	passes_destroy(&sh->passes);
	passes_destroy(&sh->reloads);
	passes_destroy(&sh->unsliced);
	flights_destroy(&sh->flights);
	baseline_destroy(&sh->baseline);
	seen_close(&sh->seen);
	chronicle_destroy(&s->chronicle);
	settings_unref(&s->settings);
	logfile_stop(&s->access_log, LOG_END_MS);
	if (s->places)
		doorway_end(s->places, s->config->listen_count);
	free(s->places);
	free(s->listeners);
	tls_server_destroy(&s->tls);
	free(s);
}

unsigned
server_port(const struct server *s, unsigned listener)
{
	assert(listener < s->config->listen_count);
	return s->places[listener].port;
}

unsigned
server_admin_port(const struct server *s)
{
	return s->admin ? admin_port(s->admin) : 0;
}

int
server_reload(struct server *s, const struct config *fresh, char *err, size_t err_bytes)
{
	if (s->access_log)
		logfile_reopen(s->access_log);
	return s->tls && fresh ? doorway_reload(fresh, s->tls, err, err_bytes) : 0;
}

/* ---- facts --------------------------------------------------------------------------------- */

void
server_report(struct server *s, struct report *out)
{
	memset(out, 0, sizeof *out);
	numbers_add(s->workers, s->worker_count, &s->origins, out);
	numbers_name(s->config, s->places, out);
	out->version = s->version;
	out->uptime_s = (double)(now_us() - s->begun_us) / 1e6;
	out->now_s = now_s();
	if (s->access_log)
		out->log_dropped = logfile_dropped(s->access_log);
	cache_stats(s->shelves.cache, &out->cache);
	baseline_stats(s->shelves.baseline, &out->baseline);
	seen_report(s->shelves.seen, &out->generation);
	out->generation_interval_s = seen_interval_s(s->shelves.seen);
	out->endurance_bytes = (double)s->config->cache.endurance_bytes;
	out->turn_alarm_s = (double)s->config->admission.turn_alarm_s;
	out->open_connections = clients_count(s->clients);
	flights_count(s->shelves.flights, &out->flights, &out->flight_bytes);
	history_lifetime(chronicle_history(s->chronicle), out);
}
