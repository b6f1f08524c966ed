/* server.c - turns the rooms on in order, and off in the opposite one. */
#include "proxy/node/server_inside.h"
#include "config/config.h"
#include "config/listen.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/heritage.h"
#include "proxy/cache/admission/seen.h"
#include "proxy/node/challenges.h"
#include "proxy/node/chronicle.h"
#include "proxy/node/health.h"
#include "proxy/node/heir.h"
#include "proxy/node/inherited.h"
#include "proxy/node/membership.h"
#include "proxy/node/sibling_door.h"

#include "proxy/admin/admin.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/origin/resolver.h"
#include "proxy/serve/fill.h"
#include "proxy/serve/rules/passes.h"
#include "proxy/serve/rules/rests.h"
#include "proxy/serve/routes/rates.h"
#include "proxy/serve/txn.h"
#include "proxy/wire/clients.h"
#include "proxy/wire/room.h"
#include "proxy/node/keeper.h"
#include "proxy/node/preflight.h"
#include "proxy/node/watchdog.h"

#include <assert.h>
#include <malloc.h>
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LOG_LANE_BYTES = 512 << 10 }; /* lines that one worker may have waiting */

void
server_check(const struct server *s)
{
	assert(s->edition && s->edition->settings && s->worker_count > 0);
	assert(s->place_count == s->edition->config->listen_count);
	/* A server with a successor writes nothing, and takes no change any more. */
	assert(s->heir_end < 0 || (s->ending && !s->keeper && cache_rests(s->shelves.cache)));
	assert(s->ending || !s->started || s->outward.health); /* which server_stop ends first */
}

/* ---- opening ------------------------------------------------------------------------------- */

int
server_open_log(const struct server *s, const struct config *c, struct logfile **out, char *err,
		size_t err_bytes)
{
	const char *path = c->access_log;
	*out = NULL;
	if (!path || strcmp(path, "off") == 0)
		return 0;
	if (logfile_start(out, path, s->worker_count + 1, LOG_LANE_BYTES) == 0)
		return 0;
	snprintf(err, err_bytes, "access_log: cannot start its thread: %s", strerror(errno));
	return -1;
}

/* The sockets of one worker, all entries of listen. */
static int
open_doors(struct server *s, unsigned w, char *err, size_t err_bytes)
{
	const struct config *c = s->edition->config;
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
			worker->doors[worker->door_count++] = (struct worker_door){
				fd, s->places[i].id, doorway_listener(c, i, &s->listeners)};
		}
	return 0;
}

/* All workers share it. */
static int
open_doorway(struct server *s, char *err, size_t err_bytes)
{
	const struct config *c = s->edition->config;
	s->places = mem_zalloc(c->listen_count * sizeof *s->places);
	s->place_count = c->listen_count;
	for (unsigned i = 0; i < s->place_count; i++)
		s->places[i].id = s->next_place++;
	if (doorway_has_tls(c) && doorway_open_tls(c, !s->heir, &s->tls, err, err_bytes))
		return -1;
	if (s->heir && s->tls && heir_tickets(s->heir).n &&
	    !tls_server_load_tickets(s->tls, heir_tickets(s->heir)))
		log_warning("session tickets of the process before are of another ticket_period; "
			    "clients shake hands anew");
	doorway_speak(&s->listeners);
	doorway_speak_tls(&s->listeners, s->tls);
	return doorway_places(c, s->places, err, err_bytes);
}

static int
open_workers(struct server *s, char *err, size_t err_bytes)
{
	const struct config *c = s->edition->config;
	unsigned n = s->worker_count;
	if (posix_memalign((void **)&s->workers, 64, n * sizeof *s->workers))
		abort();
	memset(s->workers, 0, n * sizeof *s->workers);
	if (open_doorway(s, err, err_bytes))
		return -1;
	const struct clients_limits l = {
		.most = c->limits.connections,
		.per_address = c->limits.per_address,
		.forwarders = s->edition->settings->trusted,
		.forwarder_count = s->edition->settings->trusted_count,
	};
	s->clients = clients_create(&l);
	for (unsigned w = 0; w < n; w++) {
		struct worker *worker = &s->workers[w];
		worker->clients = s->clients;
		worker->siblings = sibling_door_clients(s->outward.siblings);
		worker->room = s->room;
		worker->serve = (struct serve){
			.shelves = &s->shelves,
			.settings = edition_settings(s->edition),
			.log = {.file = s->access_log, .lane = w},
		};
		if (open_doors(s, w, err, err_bytes))
			return -1;
		if (worker_open(worker, w)) {
			snprintf(err, err_bytes, "cannot set up worker %u: %s", w, strerror(errno));
			return -1;
		}
	}
	doorway_shared(s->places, s->place_count);
	for (unsigned i = 0; i < s->place_count; i++)
		s->edition->ports[i] = s->places[i].port;
	return 0;
}

/* Each thread would have a heap of its own, and keep what others could use: what RAM holds comes and
 * goes in all sizes (bench/ram.c: 58% waste with four workers, 19% with one heap for them). A heap has
 * a lock, so not too many share one. */
static void
share_heaps(const struct config *c)
{
#ifdef M_ARENA_MAX
	enum { WORKERS_TO_A_HEAP = 4 };
	mallopt(M_ARENA_MAX,
		(int)((server_workers(c) + WORKERS_TO_A_HEAP - 1) / WORKERS_TO_A_HEAP));
#else
	(void)c;
#endif
}

static int
open_edition(struct server *s, char *err, size_t err_bytes)
{
	s->edition->node = edition_number(s->shelves.seed, s->edition->config);
	s->edition->lenient = !s->heir;
	if (edition_open(s->edition, s->worker_count, NULL, &s->names, err, err_bytes))
		return -1;
	for (unsigned i = 0; i < REPORT_ORIGINS_MOST; i++)
		s->names.origins.of[i].counted = s->names.origins.of[i].taken;
	for (unsigned i = 0; i < MEASURES_ROUTES; i++)
		s->names.routes.of[i].clean = s->names.routes.of[i].taken;
	return 0;
}

static int
open_membership(struct server *s, char *err, size_t err_bytes)
{
	char why[400];
	const char *setting;
	int r = membership_open(s->outward.membership, s->edition->config, &setting, why,
				sizeof why);
	if (r)
		snprintf(err, err_bytes, "%s: %s", setting, why);
	return r;
}

int
server_create(struct server **out, const struct config *c, const char *version, char *err,
	      size_t err_bytes)
{
	return server_create_heir(out, c, version, NULL, err, err_bytes);
}

int
server_create_heir(struct server **out, const struct config *c, const char *version,
		   struct heir *heir, char *err, size_t err_bytes)
{
	struct server *s = NEW(struct server);
	s->watchdog = watchdog_create();
	s->heir = heir;
	s->heir_end = -1;
	s->version = version;
	s->begun_us = now_us();
	s->worker_count = server_workers(c);
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->changing, NULL);
	share_heaps(c);
	s->edition = edition_create(c, 0);
	s->room = room_create(s->worker_count);
	s->outward.siblings = sibling_door_create(s->room, s->worker_count);
	s->names.origins.resolver = resolver_create(NULL, (int64_t)c->resolve_s * 1000);
	if (heir) {
		heir_hint(heir, s->names.origins.resolver);
		inherited_hold();
	}
	if (server_open_shelves(s, err, err_bytes) || open_edition(s, err, err_bytes) ||
	    server_open_log(s, c, &s->access_log, err, err_bytes) ||
	    open_workers(s, err, err_bytes) ||
	    (!heir &&
	     (open_membership(s, err, err_bytes) || server_admin_open(s, err, err_bytes)))) {
		server_refuse(s, err);
		server_destroy(&s);
		return -1;
	}
	*out = s;
	return 0;
}

/* ---- in another one's place ----------------------------------------------------------------- */

/* Opens again what was opened while the old process went on: nobody has used it yet. */
static int
learn_again(struct server *s, char *err, size_t err_bytes)
{
	chronicle_destroy(&s->chronicle);
	s->chronicle = chronicle_create(s->shelves.cache);
	seen_close(&s->shelves.seen);
	return server_open_sightings(s, err, err_bytes);
}

int
server_accede(struct server *s, char *err, size_t err_bytes)
{
	struct purge_entry *forgotten = NULL;
	struct cache *c = s->shelves.cache;
	size_t n = 0;
	assert(s->heir && !s->started);
	uint64_t whose = twice_seed_fingerprint(cache_seed(c));
	resolver_wait(s->names.origins.resolver, SERVER_NAMES_MS); /* clients are served */
	int r = heir_await(s->heir, whose, &forgotten, &n, err, err_bytes);
	if (r == 0)
		r = learn_again(s, err, err_bytes);
	if (r == 0) {
		cache_work(c);
		if (heir_is_alone(s->heir))
			cache_release(c);
		if (!cache_inherit(c, forgotten, n)) {
			snprintf(err, err_bytes, "the purge log cannot be written");
			r = -1;
		}
	}
	if (r == 0 && heir_listen(s->heir, c)) {
		snprintf(err, err_bytes, "cannot start a thread; raise the limit on threads");
		r = -1;
	}
	free(forgotten);
	if (!heir_is_alone(s->heir))
		membership_go_on(s->outward.membership);
	if (r == 0)
		r = open_membership(s, err, err_bytes);
	return r ? r : server_admin_open(s, err, err_bytes);
}

void
server_settle(struct server *s)
{
	assert(s->heir && s->started);
	heir_settle(s->heir);
	inherited_tell();
}

/* The process that handed over its listening sockets has their files again. It may not have heard yet that
 * it goes on, so this process must not remove the files. */
static void
leave_files(struct server *s)
{
	for (unsigned i = 0; i < s->place_count; i++)
		if (s->places[i].adopted)
			unix_socket_leave(&s->places[i].file);
	if (s->admin_door.adopted)
		admin_door_leave(&s->admin_door);
}

void
server_refuse(struct server *s, const char *why)
{
	if (!heir_is_over(s->heir))
		leave_files(s);
	heir_refuse(&s->heir, why);
}

/* ---- running ------------------------------------------------------------------------------- */

/* The first n workers, which run, finish what they have, and the threads beside them end. */
static void
end_threads(struct server *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		worker_drain(&s->workers[i]);
	for (unsigned i = 0; i < n; i++)
		pthread_join(s->workers[i].thread, NULL);
	watchdog_stop(s->watchdog);
}

int
server_start(struct server *s)
{
	unsigned n = 0;
	assert(!s->started && s->worker_count > 0);
	if (!s->heir)
		resolver_wait(s->names.origins.resolver, SERVER_NAMES_MS);
	chronicle_begin(s->chronicle, server_admin_second, s);
	while (n < s->worker_count &&
	       pthread_create(&s->workers[n].thread, NULL, worker_run, &s->workers[n]) == 0)
		n++;
	if (n < s->worker_count ||
	    keeper_start(&s->keeper, &s->shelves, s->chronicle, s->outward.membership) ||
	    watchdog_start(s->watchdog, s->workers, s->worker_count, s->shelves.cache)) {
		end_threads(s, n);
		return -1;
	}
	s->outward.health = health_create();
	health_settle(s->outward.health, &s->edition->origins);
	membership_begin(s->outward.membership);
	s->started = true;
	return 0;
}

uint64_t
server_lame_duck(struct server *s)
{
	bool already = atomic_exchange(&s->draining, true);
	pthread_mutex_lock(&s->lock);
	uint64_t ms = s->edition->config->timeouts.lame_duck_ms;
	pthread_mutex_unlock(&s->lock);
	for (unsigned i = 0; i < s->worker_count && ms && !already; i++)
		worker_be_lame_duck(&s->workers[i]);
	return ms;
}

uint64_t
server_drain_ms(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	uint64_t ms = s->edition->config->timeouts.drain_ms;
	pthread_mutex_unlock(&s->lock);
	return ms;
}

void
server_stop(struct server *s)
{
	if (!s->started)
		return;
	server_lame_duck(s);
	pthread_mutex_lock(&s->changing); /* what changes now is waited for */
	server_check(s);
	s->ending = true;
	pthread_mutex_unlock(&s->changing);
	health_destroy(&s->outward.health);
	membership_end(s->outward.membership, s->heir_end < 0);
	doorway_end(s->places, s->place_count);
	end_threads(s, s->worker_count);
	s->started = false;
}

void
server_destroy(struct server **sp)
{
	struct server *s = *sp;
	*sp = NULL;
	if (!s)
		return;
	assert(!s->started);
	struct shelves *sh = &s->shelves;
	if (s->keeper) /* not of one that another process has followed */
		keeper_stop(&s->keeper);
	admin_stop(&s->admin); /* it asks and purges to the end */
	admin_door_close(&s->admin_door);
	heir_end(&s->heir);
	if (sh->cache && !cache_rests(sh->cache)) /* else others save */
		keeper_save(sh, s->chronicle, s->outward.membership);
	membership_destroy(&s->outward.membership);
	/* Bodies that wait to be packed are written as they are. */
	packer_stop(&sh->packer, false);
	for (unsigned i = 0; s->workers && i < s->worker_count; i++)
		worker_read_mail(&s->workers[i]);
	/* The I/O threads end first: after that no letter can come any more. The last letters bring
	 * objects, so the cache itself goes last. */
	if (sh->cache)
		cache_stop(sh->cache);
	challenges_destroy(&sh->challenges);
	for (unsigned i = 0; s->workers && i < s->worker_count; i++)
		worker_close(&s->workers[i]);
	cache_close(&sh->cache);
	if (s->heir_end >= 0)
		close(s->heir_end);
	free(s->workers);
	clients_destroy(&s->clients);
	sibling_door_destroy(&s->outward.siblings);
	room_destroy(&s->room);
	passes_destroy(&sh->passes);
	rests_destroy(&sh->rests);
	rates_destroy(&sh->rates);
	flights_destroy(&sh->flights);
	baseline_destroy(&sh->baseline);
	seen_close(&sh->seen);
	chronicle_destroy(&s->chronicle);
	watchdog_destroy(&s->watchdog);
	edition_unref(&s->admins);
	edition_unref(&s->keepers);
	edition_unref(&s->edition);
	origins_names_fini(&s->names.origins);
	route_names_fini(&s->names.routes);
	logfile_stop(&s->access_log, SERVER_LOG_END_MS);
	doorway_end(s->places, s->place_count);
	free(s->places);
	tls_server_destroy(&s->tls);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->changing);
	free(s);
}

void
server_take_orders(struct server *s, const struct server_orders *o)
{
	assert(!s->started);
	pthread_mutex_lock(&s->lock); /* the admin server answers already */
	s->orders = *o;
	pthread_mutex_unlock(&s->lock);
}
