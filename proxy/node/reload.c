/* reload.c - another configuration: made aside, then handed to every worker, or not at all.
 *
 * Up to `commit` everything can fail, and nothing that runs knows of it. What is made: an edition
 * (settings, groups of servers, those of before where nothing has changed), sockets for entries of
 * `listen` that are new, a log where its path is another, certificates. Then nothing can fail any more:
 * one pointer for the threads that ask (server.c), a letter for each worker, which it opens
 * between two events. When all have opened theirs, nothing of before is asked for anew, and it goes
 * with the last request that began under it.
 */
#include "config/changes.h"
#include "config/config.h"
#include "config/listen.h"
#include "proxy/cache/admission/seen.h"
#include "proxy/node/health.h"
#include "proxy/node/membership.h"
#include "proxy/node/server_inside.h"

#include "proxy/coding/packer.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/origin/resolver.h"
#include "proxy/wire/clients.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct making {
	struct server *s;
	struct server_change *say;
	struct config *fresh;
	struct edition *edition;
	struct doorway_place *places; /* of its listen; those of before, copied, where `kept` */
	bool *kept;
	struct worker_door *turned; /* those: what is spoken there from now on */
	unsigned turned_n;
	unsigned *closed; /* ids of places that are left */
	unsigned closed_n;
	struct worker_door **doors; /* for each worker, and how many */
	unsigned *door_n;
	struct tls_server *tls;
	struct logfile *log;
	unsigned forgotten[REPORT_ORIGINS_MOST], forgotten_n;
	unsigned unnamed[MEASURES_ROUTES], unnamed_n; /* numbers of routes that have new names */
};

static int
refuse(struct making *m, const char *setting)
{
	snprintf(m->say->setting, sizeof m->say->setting, "%s", setting);
	return -1;
}

/* ---- listeners ----------------------------------------------------------------------------- */

/* The place of before that is this entry's; each is taken once. NULL: it is new. At port 0 several may be,
 * which the text alone tells apart. */
static struct doorway_place *
place_before(const struct making *m, const char *listen, bool *taken)
{
	const struct config *was = m->s->edition->config;
	for (unsigned i = 0; i < was->listen_count; i++)
		if (!taken[i] && (strcmp(was->listen[i], listen) == 0 ||
				  config_listen_same(was->listen[i], listen))) {
			taken[i] = true;
			return &m->s->places[i];
		}
	return NULL;
}

/* A socket of ours would look like somebody else's that has the port. */
static bool
is_beside_ours(const struct making *m, const char *listen)
{
	const struct config *was = m->s->edition->config;
	for (unsigned i = 0; i < was->listen_count; i++)
		if (config_listen_overlaps(was->listen[i], listen))
			return true;
	return false;
}

static int
open_place(struct making *m, unsigned i)
{
	struct server *s = m->s;
	const struct config *c = m->edition->config;
	struct doorway_place *p = &m->places[i];
	struct address at;
	p->id = s->next_place++;
	assert(p->id < s->next_place && !p->given_n && !p->file.path);
	if (is_beside_ours(m, c->listen[i]) &&
	    address_parse(config_listen_address(c->listen[i]), &at) == 0)
		p->port = address_port(&at);
	if (doorway_place(c, i, p, m->say->err, m->say->err_bytes))
		return -1;
	for (unsigned w = 0; w < s->worker_count; w++) {
		int fd = doorway_door(c, i, p, w, m->say->err, m->say->err_bytes);
		if (fd < 0)
			return -1;
		m->doors[w][m->door_n[w]++] =
			(struct worker_door){fd, p->id, doorway_listener(c, i, &s->listeners)};
	}
	doorway_shared(p, 1);
	return 0;
}

/* Entries whose sockets stay. Which listener: it is the same pointer for what is spoken alike. */
static void
keep_places(struct making *m, bool *taken)
{
	const struct config *c = m->edition->config;
	m->turned = mem_zalloc((c->listen_count + 1) * sizeof *m->turned);
	for (unsigned i = 0; i < c->listen_count; i++) {
		struct doorway_place *before = place_before(m, c->listen[i], taken);
		m->kept[i] = before != NULL;
		if (!before)
			continue;
		m->places[i] = *before;
		m->turned[m->turned_n++] = (struct worker_door){
			-1, before->id, doorway_listener(c, i, &m->s->listeners)};
	}
	assert(m->turned_n <= c->listen_count);
}

static int
open_places(struct making *m)
{
	struct server *s = m->s;
	const struct config *c = m->edition->config;
	bool *taken = mem_zalloc((s->place_count + 1) * sizeof *taken);
	int r = 0;
	m->places = mem_zalloc(c->listen_count * sizeof *m->places);
	m->kept = mem_zalloc(c->listen_count * sizeof *m->kept);
	m->closed = mem_zalloc((s->place_count + 1) * sizeof *m->closed);
	for (unsigned w = 0; w < s->worker_count; w++)
		m->doors[w] = mem_zalloc(c->listen_count * sizeof **m->doors);
	keep_places(m, taken);
	for (unsigned i = 0; i < c->listen_count && !r; i++)
		if (!m->kept[i])
			r = open_place(m, i);
	for (unsigned i = 0; i < c->listen_count; i++)
		m->edition->ports[i] = m->places[i].port;
	for (unsigned i = 0; i < s->place_count; i++)
		if (!taken[i])
			m->closed[m->closed_n++] = s->places[i].id;
	free(taken);
	return r ? refuse(m, "listen") : 0;
}

/* Certificates come last: from there on nothing fails. */
static int
open_tls(struct making *m)
{
	struct server *s = m->s;
	const struct config *c = m->edition->config;
	if (!doorway_has_tls(c))
		return 0;
	if (s->tls)
		return doorway_reload(c, s->tls, m->say->err, m->say->err_bytes)
			       ? refuse(m, "tls.certificates")
			       : 0;
	return 0;
}

/* A first listener of TLS needs the server before its doors are made. */
static int
open_first_tls(struct making *m)
{
	struct server *s = m->s;
	const struct config *c = m->edition->config;
	if (s->tls || !doorway_has_tls(c))
		return 0;
	struct tls_server *tls;
	if (doorway_open_tls(c, false, &tls, m->say->err, m->say->err_bytes))
		return refuse(m, "tls.certificates");
	pthread_mutex_lock(&s->lock);
	s->tls = tls;
	pthread_mutex_unlock(&s->lock);
	doorway_speak_tls(&s->listeners, s->tls);
	return 0;
}

/* ---- the rest ------------------------------------------------------------------------------ */

static int
open_edition(struct making *m)
{
	struct server *s = m->s;
	const char *bad = config_keep(m->fresh, s->edition->config, m->say->err, m->say->err_bytes);
	if (bad)
		return refuse(m, bad);
	m->edition = edition_create_own(m->fresh, s->edition->node);
	if (edition_open(m->edition, s->worker_count, s->edition, &s->names, m->say->err,
			 m->say->err_bytes))
		return refuse(m, m->edition->wrong);
	resolver_wait(s->names.origins.resolver, SERVER_NAMES_MS);
	for (unsigned i = 0; i < REPORT_ORIGINS_MOST; i++)
		if (s->names.origins.of[i].taken && !s->names.origins.of[i].counted)
			m->forgotten[m->forgotten_n++] = i;
	for (unsigned i = 0; i < MEASURES_ROUTES; i++)
		if (s->names.routes.of[i].taken && !s->names.routes.of[i].clean)
			m->unnamed[m->unnamed_n++] = i;
	return 0;
}

static bool
is_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static int
open_log(struct making *m)
{
	struct server *s = m->s;
	m->log = s->access_log;
	if (is_text(s->edition->config->access_log, m->edition->config->access_log))
		return 0;
	return server_open_log(s, m->edition->config, &m->log, m->say->err, m->say->err_bytes)
		       ? refuse(m, "access_log")
		       : 0;
}

static int
open_membership(struct making *m)
{
	const char *setting;
	return membership_open(m->s->outward.membership, m->edition->config, &setting, m->say->err,
			       m->say->err_bytes)
		       ? refuse(m, setting)
		       : 0;
}

/* ---- in the end ---------------------------------------------------------------------------- */

static void
tell_workers(struct making *m)
{
	struct server *s = m->s;
	struct worker_change *c = mem_zalloc(s->worker_count * sizeof *c);
	for (unsigned w = 0; w < s->worker_count; w++)
		c[w] = (struct worker_change){
			.settings = edition_settings(m->edition),
			.log = m->log,
			.doors = m->doors[w],
			.door_count = m->door_n[w],
			.turned = m->turned,
			.turned_count = m->turned_n,
			.closed = m->closed,
			.closed_count = m->closed_n,
			.forgotten = m->forgotten,
			.forgotten_count = m->forgotten_n,
			.unnamed = m->unnamed,
			.unnamed_count = m->unnamed_n,
			.origins = &m->edition->origins,
		};
	workers_change(s->workers, c, s->worker_count);
	for (unsigned w = 0; w < s->worker_count; w++)
		for (unsigned i = 0; i < m->door_n[w]; i++)
			assert(m->doors[w][i].fd < 0); /* wire has it */
	free(c);
}

/* Places that are left lose their files; those that stay were copied. */
static void
take_places(struct making *m, const struct config *was)
{
	struct server *s = m->s;
	assert(s->place_count == was->listen_count);
	for (unsigned i = 0; i < s->place_count; i++)
		for (unsigned k = 0; k < m->closed_n; k++)
			if (s->places[i].id == m->closed[k])
				doorway_leave(was, i, &s->places[i]);
	free(s->places);
	s->places = m->places;
	s->place_count = m->edition->config->listen_count;
	m->places = NULL;
}

static void
commit(struct making *m)
{
	struct server *s = m->s;
	const struct config *c = m->edition->config;
	struct edition *old = s->edition;
	struct logfile *old_log = s->access_log == m->log ? NULL : s->access_log;
	struct seen_rule rule;
	assert(!s->ending && m->edition->settings && m->edition != old);
	server_budget(c, &rule);
	seen_settle(s->shelves.seen, &rule);
	if (s->shelves.packer)
		packer_change(s->shelves.packer, server_packing_ppm(c), now_us());
	resolver_every(s->names.origins.resolver, (int64_t)c->resolve_s * 1000);
	clients_settle(s->clients, c->limits.connections, c->limits.per_address);
	pthread_mutex_lock(&s->lock);
	s->edition = edition_ref(m->edition);
	s->access_log = m->log;
	if (old_log)
		s->log_dropped += logfile_dropped(old_log);
	pthread_mutex_unlock(&s->lock);
	tell_workers(m);
	health_settle(s->outward.health, &m->edition->origins);
	membership_begin(s->outward.membership);
	for (unsigned i = 0; i < m->forgotten_n; i++)
		s->names.origins.of[m->forgotten[i]].counted = true;
	for (unsigned i = 0; i < m->unnamed_n; i++)
		s->names.routes.of[m->unnamed[i]].clean = true;
	take_places(m, old->config);
	logfile_stop(&old_log, SERVER_LOG_END_MS);
	edition_unref(&old);
}

/* Both ways: what nobody took goes. */
static void
clear_up(struct making *m)
{
	struct server *s = m->s;
	for (unsigned w = 0; w < s->worker_count; w++) {
		for (unsigned i = 0; i < m->door_n[w]; i++)
			if (m->doors[w][i].fd >= 0)
				close(m->doors[w][i].fd);
		free(m->doors[w]);
	}
	for (unsigned i = 0; m->places && i < m->edition->config->listen_count; i++)
		if (!m->kept[i])
			doorway_leave(m->edition->config, i, &m->places[i]);
	membership_discard(s->outward.membership);
	free(m->doors);
	free(m->door_n);
	free(m->places);
	free(m->kept);
	free(m->turned);
	free(m->closed);
	if (m->log != s->access_log)
		logfile_stop(&m->log, 0);
	edition_unref(&m->edition);
}

struct naming {
	const struct config *running, *fresh;
	struct server_change *say;
};

static void
on_difference(void *ctx, const char *setting)
{
	const struct naming *n = ctx;
	n->say->each(n->say->ctx, setting, config_restart_for(n->running, n->fresh, setting));
}

static int
change(struct making *m)
{
	struct server *s = m->s;
	struct config asked; /* as the file says it, to tell what differs */
	m->doors = mem_zalloc(s->worker_count * sizeof *m->doors);
	m->door_n = mem_zalloc(s->worker_count * sizeof *m->door_n);
	config_copy(&asked, m->fresh);
	int r = open_edition(m) || open_first_tls(m) || open_places(m) || open_log(m) ||
				open_tls(m) || open_membership(m)
			? -1
			: 0;
	if (r == 0) {
		config_differences(s->edition->config, &asked, on_difference,
				   &(struct naming){s->edition->config, &asked, m->say});
		commit(m);
	}
	clear_up(m);
	config_fini(&asked);
	return r;
}

int
server_reload(struct server *s, struct config *fresh, struct server_change *say)
{
	struct making m = {.s = s, .say = say, .fresh = fresh};
	say->setting[0] = '\0';
	pthread_mutex_lock(&s->changing);
	server_check(s);
	int r = -1;
	if (s->ending || !s->started)
		snprintf(say->err, say->err_bytes, "the program is about to end");
	else
		r = change(&m);
	server_check(s);
	pthread_mutex_unlock(&s->changing);
	return r;
}

void
server_reopen_log(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	if (s->access_log)
		logfile_reopen(s->access_log);
	pthread_mutex_unlock(&s->lock);
}
