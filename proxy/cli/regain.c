/* regain.c - the second server is made by a thread, for a disk may hang again; the first one ends on another. */
#include "proxy/cli/regain.h"

#include "config/changes.h"
#include "config/config.h"
#include "proxy/base/aside.h"
#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/cli/cli.h"
#include "proxy/cli/succeed.h"
#include "proxy/node/handover.h"
#include "proxy/node/heir.h"
#include "proxy/node/inherited.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* OTHERS_MS: some directories can be used again, and others perhaps soon, which would come back empty. STILL_MS: a thread
 * that stands still for so long is not waited for. */
enum { TRIES = 3, OTHERS_MS = 30000, STILL_MS = 1000 };
static const int64_t again_ms[TRIES] = {60000, 600000};

enum progress {
	PREPARES,
	STARTS, /* which takes no time to speak of */
	SERVES,
	STANDS_DOWN /* it must not begin to, or could not */
};

/* A second server; of its thread until that is done. */
struct attempt {
	struct config config;
	struct server_orders orders;
	int end;
	_Atomic int progress; /* enum progress */
	struct server *server;
	char err[512];
};

struct regaining {
	unsigned tries;
	int64_t seen_ms, next_ms;
	struct attempt *attempt;
	struct aside *aside; /* its thread; NULL: none, or it is done */
	bool done;
	/* The first server, on its way out. */
	bool has_thread;
	pthread_t thread;
	pthread_mutex_t lock;
	struct server *first; /* under lock; NULL: it has ended */
	_Atomic bool ends;
};

/* ---- the second server ---------------------------------------------------------------------- */

static bool
leave_preparing(struct attempt *a, enum progress to)
{
	int was = PREPARES;
	return atomic_compare_exchange_strong(&a->progress, &was, to);
}

static int
take_over(struct attempt *a)
{
	server_take_orders(a->server, &a->orders);
	if (server_accede(a->server, a->err, sizeof a->err))
		return -1;
	if (!leave_preparing(a, STARTS)) {
		snprintf(a->err, sizeof a->err, "it took too long");
		return -1;
	}
	bool starts = server_start(a->server) == 0;
	atomic_store(&a->progress, starts ? SERVES : STANDS_DOWN);
	snprintf(a->err, sizeof a->err, "cannot start the worker threads");
	return starts ? 0 : -1;
}

/* On a thread of its own. */
static void
make(void *ctx)
{
	struct attempt *a = ctx;
	bool required = a->config.cache.required;
	struct heir *heir = heir_begin_inside(a->end);
	if (!heir)
		return;
	a->config.cache.required = true; /* there is a server without a directory already */
	int r = server_create_heir(&a->server, &a->config, cli_version, heir, a->err,
				   sizeof a->err);
	a->config.cache.required = required; /* as a reload compares it */
	if (r)
		return;
	if (take_over(a) == 0) {
		server_settle(a->server);
		return;
	}
	server_refuse(a->server, a->err);
	server_destroy(&a->server);
}

static void
drop(void *ctx)
{
	struct attempt *a = ctx;
	config_fini(&a->config);
	free(a);
}

static bool
stands_down(void *ctx)
{
	struct attempt *a = ctx;
	if (leave_preparing(a, STANDS_DOWN))
		return true;
	while (atomic_load(&a->progress) == STARTS)
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	return atomic_load(&a->progress) == STANDS_DOWN;
}

/* ---- the first one -------------------------------------------------------------------------- */

static bool
is_over(void *ctx)
{
	const struct regaining *g = ctx;
	return atomic_load(&g->ends);
}

static void *
end_first(void *arg)
{
	struct regaining *g = arg;
	struct server *s = g->first;
	server_linger(s, is_over, g);
	server_stop(s);
	pthread_mutex_lock(&g->lock);
	g->first = NULL;
	pthread_mutex_unlock(&g->lock);
	server_destroy(&s);
	return NULL;
}

void
regain_reopen_log(struct regaining *g)
{
	pthread_mutex_lock(&g->lock);
	if (g->first)
		server_reopen_log(g->first);
	pthread_mutex_unlock(&g->lock);
}

/* ---- all of it ------------------------------------------------------------------------------ */

struct regaining *
regain_create(void)
{
	struct regaining *g = NEW(struct regaining);
	pthread_mutex_init(&g->lock, NULL);
	return g;
}

bool
regain_looks(const struct regaining *g, const struct server *s)
{
	return !g->done && g->tries < TRIES && server_is_without_directory(s);
}

/* The thread of the attempt before has returned, if there was one. As long as it may still ask for sockets, they are
 * there for it: it would make others, where nobody accepts. */
static bool
is_free(struct regaining *g)
{
	if (g->aside && !aside_is_done(g->aside))
		return false;
	if (g->aside)
		aside_end(&g->aside, drop);
	if (g->attempt) {
		drop(g->attempt);
		g->attempt = NULL;
		inherited_drop();
		inherited_tell(); /* nothing more is held back for one that did not come */
	}
	return true;
}

bool
regain_is_due(struct regaining *g, struct server *s)
{
	bool all;
	int64_t now = now_ms();
	if (!server_may_return(s, &all)) {
		g->seen_ms = 0;
		return false;
	}
	if (!g->seen_ms)
		g->seen_ms = now;
	return (all || now >= g->seen_ms + OTHERS_MS) && now >= g->next_ms && is_free(g);
}

static void
say_failure(struct regaining *g, const char *why)
{
	static const char way_out[] =
		"a restart finds what the directory holds; twice purge --all takes it back at once, empty";
	if (g->tries < TRIES)
		log_warning(
			"the directory cannot be taken back with what it holds: %s. It is tried "
			"again in %lld s; %s",
			why, (long long)(g->next_ms - now_ms() + 999) / 1000, way_out);
	else
		log_error(
			"the directory cannot be taken back with what it holds: %s. It is not tried "
			"again; %s",
			why, way_out);
}

/* 0: the second server serves. */
static int
hand_over(struct regaining *g, struct server *s, int ends[2], char *err, size_t err_bytes)
{
	struct attempt *a = g->attempt;
	struct server_heir heir = {
		.stands_down = stands_down, .is_over = succeed_is_told_to_end, .ctx = a};
	if (!(g->aside = aside_begin(make, a))) {
		snprintf(err, err_bytes, "cannot start a thread; raise the limit on threads");
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	int r = server_bequeath(s, ends[0], &heir, err, err_bytes);
	if (r)
		close(ends[0]);
	for (unsigned i = 0; i < heir.socket_n; i++)
		close(heir.sockets[i]);
	free(heir.sockets);
	/* A start waits for no disk. */
	while (!aside_wait(g->aside, STILL_MS) && r == 0)
		continue;
	return r;
}

static int
try(struct regaining *g, struct server *s, const struct server_orders *orders, char *err,
    size_t err_bytes)
{
	int ends[2];
	if (handover_pair(ends)) {
		snprintf(err, err_bytes, "cannot make a socket: %s", strerror(errno));
		return -1;
	}
	struct attempt *a = g->attempt = NEW(struct attempt);
	a->orders = *orders;
	a->end = ends[1];
	server_copy_config(s, &a->config);
	return hand_over(g, s, ends, err, err_bytes);
}

/* The second server serves. */
static void
dismiss(struct regaining *g, struct server *first)
{
	aside_end(&g->aside, drop);
	g->done = true;
	g->first = first;
	g->has_thread = pthread_create(&g->thread, NULL, end_first, g) == 0;
	if (!g->has_thread) {
		regain_drain(g);
		end_first(g);
	}
}

struct server *
regain_run(struct regaining *g, struct server *s, const struct server_orders *orders)
{
	char err[512] = "";
	int64_t begun = now_ms();
	assert(!g->attempt && !g->done && g->tries < TRIES);
	log_info("the directory is taken back with what it holds: another server opens it");
	if (try(g, s, orders, err, sizeof err)) {
		g->next_ms = now_ms() + again_ms[g->tries++];
		is_free(g);
		say_failure(g, err);
		return s;
	}
	dismiss(g, s);
	log_info(
		"the cache is on disk again, with what the directory held, after %lld ms; connections of "
		"before end with their next answer",
		(long long)(now_ms() - begun));
	return g->attempt->server;
}

void
regain_drain(struct regaining *g)
{
	atomic_store(&g->ends, true);
}

void
regain_stop(struct regaining *g)
{
	if (g->has_thread)
		pthread_join(g->thread, NULL);
	g->has_thread = false;
}

bool
regain_destroy(struct regaining **pg)
{
	struct regaining *g = *pg;
	*pg = NULL;
	assert(!g->has_thread);
	bool left = g->aside && !aside_wait(g->aside, STILL_MS);
	if (g->aside && !aside_end(&g->aside, drop)) {
		left = true; /* it has moved, and was left all the same */
		g->attempt = NULL;
	}
	if (g->attempt)
		drop(g->attempt);
	pthread_mutex_destroy(&g->lock);
	free(g);
	return !left;
}
