/* bequest.c - the old process: another one takes its place, or it goes on with all it had.
 *
 *	await   the new one has read its configuration
 *	rest    nothing is written to the cache any more; what was learnt is saved
 *	give    locks, sockets, keys
 *	await   it has opened the cache
 *	leave   no client is accepted, and nothing is looked up for those that are here
 *	give    what was forgotten meanwhile, and all that was learnt; it may write
 *	await   it serves
 *
 * Up to there every step is undone when one fails, and the new process is killed before that, so
 * that two never write. Then nothing can fail: what this process is told to forget the other one makes
 * durable, and its clients go on until they take another connection, or timeouts.drain.
 */
#include "proxy/node/server_inside.h"

#include "proxy/admin/admin.h"
#include "proxy/base/clock.h"
#include "proxy/base/le.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/heritage.h"
#include "proxy/cache/admission/seen.h"
#include "proxy/node/hand_on.h"
#include "proxy/node/handover.h"
#include "proxy/node/heir.h"
#include "proxy/node/keeper.h"
#include "proxy/node/membership.h"
#include "proxy/node/disinherit.h"
#include "proxy/node/watchdog.h"
#include "proxy/wire/clients.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	SLICE_MS = 50,	  /* between two looks whether somebody wants it to end */
	GIVE_MS = 10000,  /* for the other one to take a message */
	REST_MS = 10000,  /* for the disks */
	SETTLE_MS = 60000 /* most for the other one, between two moments of which nobody accepts */
};

struct door_copy {
	int fd;
	unsigned place;
};

struct bequest {
	struct server *s;
	int end;
	struct server_heir *heir;
	int64_t limit_ms;	 /* timeouts.upgrade */
	struct door_copy *doors; /* what the workers listen at */
	unsigned door_n;
	char *err;
	size_t err_bytes;
	bool changed, left; /* cache_work is due; clients are to be taken back */
};

__attribute__((format(printf, 2, 3))) static int
fail(struct bequest *b, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(b->err, b->err_bytes, fmt, args);
	va_end(args);
	return -1;
}

static const char *
who(const struct bequest *b)
{
	return b->heir->pid ? "the new process" : "the new server";
}

/* ---- what is said --------------------------------------------------------------------------- */

/* It takes nothing more: perhaps it said why. */
static int
fail_to_give(struct bequest *b)
{
	struct handover_message *m = NEW(struct handover_message);
	bool says = handover_receive(b->end, m, 0) == HANDOVER_GOT;
	if (says)
		handover_drop(m);
	if (says && m->kind == HANDOVER_REFUSED)
		fail(b, "%.*s", (int)m->n, m->bytes);
	else
		fail(b, "%s has ended, or does not listen", who(b));
	free(m);
	return -1;
}

static int
give(struct bequest *b, enum handover_kind kind, struct str bytes, int fd)
{
	return handover_send(b->end, kind, bytes, fd, GIVE_MS) ? fail_to_give(b) : 0;
}

/* Waits for one message of a kind. */
static int
await(struct bequest *b, enum handover_kind kind, int64_t limit_ms, struct handover_message *m)
{
	int64_t until = now_ms() + limit_ms;
	enum handover_got got = HANDOVER_NOTHING;
	while (got == HANDOVER_NOTHING && now_ms() < until &&
	       !(b->heir->is_over && b->heir->is_over(b->heir->ctx)))
		got = handover_receive(b->end, m, SLICE_MS);
	if (got == HANDOVER_NOTHING)
		return now_ms() < until ? fail(b, "this process was asked to stop meanwhile")
					: fail(b, "%s was not ready within %lld s", who(b),
					       (long long)(limit_ms + 999) / 1000);
	if (got == HANDOVER_END)
		return fail(b, "%s ended; its lines in the log say why", who(b));
	if (got == HANDOVER_WRONG)
		return fail(b, "the new process speaks another protocol");
	handover_drop(m);
	if (m->kind == HANDOVER_REFUSED)
		return fail(b, "%.*s", (int)m->n, m->bytes);
	return m->kind == kind ? 0 : fail(b, "the new process speaks another protocol");
}

static int
await_hello(struct bequest *b, struct handover_message *m)
{
	if (await(b, HANDOVER_HELLO, b->limit_ms, m))
		return -1;
	return m->n == 4 && le_get32(m->bytes) == HANDOVER_VERSION
		       ? 0
		       : fail(b,
			      "the new program hands over in another way than this one; restart");
}

/* Hashes are made with the seed of the directory: it must be the same. A server that has no directory has a seed of
 * its own, and gives no hash to the other one of its process. */
static int
await_ready(struct bequest *b, struct handover_message *m)
{
	if (await(b, HANDOVER_READY, b->limit_ms, m))
		return -1;
	uint64_t mine = twice_seed_fingerprint(cache_seed(b->s->shelves.cache));
	return m->n == 8 && (!b->heir->pid || le_get64(m->bytes) == mine)
		       ? 0
		       : fail(b, "cache.dir is another one than this process has; restart");
}

/* ---- sockets -------------------------------------------------------------------------------- */

/* The workers will close theirs, and perhaps need them again. */
static int
copy_doors(struct bequest *b)
{
	const struct server *s = b->s;
	unsigned n = 0;
	for (unsigned i = 0; i < s->place_count; i++)
		n += s->places[i].open_n;
	b->doors = mem_alloc((n + 1) * sizeof *b->doors);
	for (unsigned i = 0; i < s->place_count; i++)
		for (unsigned k = 0; k < s->places[i].open_n; k++) {
			int fd = fcntl(s->places[i].open[k], F_DUPFD_CLOEXEC, 0);
			if (fd < 0)
				return fail(b, "cannot copy the listening sockets");
			b->doors[b->door_n++] = (struct door_copy){fd, i};
		}
	assert(b->door_n == n && n >= s->place_count);
	return 0;
}

static int
give_doors(struct bequest *b)
{
	const struct server *s = b->s;
	const struct config *c = s->edition->config;
	for (unsigned i = 0; i < b->door_n; i++) {
		char text[512];
		unsigned place = b->doors[i].place;
		text[0] = s->places[place].file.path != NULL;
		int n = snprintf(text + 1, sizeof text - 1, "%s", c->listen[place]);
		assert(n > 0 &&
		       (size_t)n < sizeof text - 1); /* it was parsed as an address or a path */
		if (give(b, HANDOVER_DOOR, (struct str){text, (size_t)n + 1}, b->doors[i].fd))
			return -1;
	}
	if (s->admin && admin_listening(s->admin) >= 0 &&
	    give(b, HANDOVER_ADMIN, STR(""), admin_listening(s->admin)))
		return -1;
	char ours = s->admin_door.file.path != NULL;
	return s->admin_door.fd < 0
		       ? 0
		       : give(b, HANDOVER_ADMIN_PATH, (struct str){&ours, 1}, s->admin_door.fd);
}

static int
give_name(struct bequest *b, const struct origin *server)
{
	unsigned char at[ORIGIN_ADDRESSES_TOLD][16];
	int n = origin_addresses(server, at);
	if (n <= 0)
		return 0;
	n = n < ORIGIN_ADDRESSES_TOLD ? n : ORIGIN_ADDRESSES_TOLD;
	struct buf text = {0};
	char count = (char)n;
	buf_add(&text, &count, 1);
	buf_add(&text, (const char *)at, (size_t)n * sizeof *at);
	buf_add_str(&text, str_of(origin_name(server)));
	int r = give(b, HANDOVER_NAME, buf_str(&text), -1);
	buf_fini(&text);
	return r;
}

/* Gives the addresses of origins' names: a name server may be gone just now. */
static int
give_names(struct bequest *b)
{
	const struct origins *o = &b->s->edition->origins;
	for (unsigned g = 0; g < o->group_count; g++)
		for (unsigned i = 0; i < upstream_count(o->groups[g]); i++) {
			const struct origin *server = upstream_server_origin(o->groups[g], i);
			if (give_name(b, server))
				return -1;
		}
	return 0;
}

static int
give_all(struct bequest *b)
{
	int locks[CACHE_DISKS_MOST];
	unsigned n = cache_locks(b->s->shelves.cache, locks);
	struct buf keys = {0};
	for (unsigned i = 0; i < n; i++)
		if (give(b, HANDOVER_LOCK, STR(""), locks[i]))
			return -1;
	if (copy_doors(b) || give_doors(b))
		return -1;
	if (b->s->tls)
		tls_server_save_tickets(b->s->tls, &keys);
	int r = keys.n ? give(b, HANDOVER_TICKETS, buf_str(&keys), -1) : 0;
	if (keys.n)
		OPENSSL_cleanse(keys.p, keys.n);
	buf_fini(&keys);
	return r || give_names(b) ? -1 : give(b, HANDOVER_OPEN, STR(""), -1);
}

/* ---- clients -------------------------------------------------------------------------------- */

/* As from the start, each worker has its share of every entry's sockets. */
static void
share_doors(struct bequest *b, struct worker_change *c, unsigned each)
{
	struct server *s = b->s;
	unsigned *had = mem_zalloc((s->place_count + 1) * sizeof *had);
	for (unsigned i = 0; i < b->door_n; i++) {
		unsigned place = b->doors[i].place;
		assert(place < s->place_count);
		struct worker_change *to = &c[had[place]++ % s->worker_count];
		assert(to->door_count < each);
		to->doors[to->door_count++] = (struct worker_door){
			b->doors[i].fd, s->places[place].id,
			doorway_listener(s->edition->config, place, &s->listeners)};
		doorway_remember(&s->places[place], b->doors[i].fd);
		b->doors[i].fd = -1; /* no copy, for which there may be no descriptor */
	}
	free(had);
}

/* Every worker takes the edition; and where clients come in, or not any more. */
static void
tell_workers(struct bequest *b, struct edition *e, bool leaves)
{
	struct server *s = b->s;
	unsigned n = s->worker_count, each = b->door_n / n + s->place_count + 1;
	assert(s->started && b->left == !leaves);
	struct worker_change *c = mem_zalloc(n * sizeof *c);
	struct worker_door *doors = mem_zalloc((size_t)n * each * sizeof *doors);
	unsigned *closed = mem_zalloc((s->place_count + 1) * sizeof *closed);
	for (unsigned i = 0; i < s->place_count; i++)
		closed[i] = s->places[i].id;
	for (unsigned w = 0; w < n; w++)
		c[w] = (struct worker_change){
			.settings = edition_settings(e),
			.log = s->access_log,
			.doors = doors + (size_t)w * each,
			.closed = closed,
			.closed_count = leaves ? s->place_count : 0,
			.origins = &e->origins,
			.leaves = leaves,
		};
	if (!leaves)
		share_doors(b, c, each);
	workers_change(s->workers, c, n);
	for (unsigned i = 0; leaves && i < s->place_count; i++)
		doorway_forget(&s->places[i]);
	free(closed);
	free(doors);
	free(c);
}

static void
leave(struct bequest *b)
{
	struct server *s = b->s;
	struct edition *passing = edition_create_passing(s->edition);
	if (s->admin) /* may take a while, so clients are accepted meanwhile */
		admin_leave(s->admin, true);
	tell_workers(b, passing, true);
	b->left = true;
	edition_unref(&passing);
}

/* ---- the cache ------------------------------------------------------------------------------ */

static struct keeper_patience
patience_of(const struct bequest *b, int64_t limit_ms)
{
	return (struct keeper_patience){limit_ms, b->heir->is_over, b->heir->ctx};
}

static int
rest(struct bequest *b)
{
	struct server *s = b->s;
	struct keeper_patience p = patience_of(b, b->limit_ms < REST_MS ? b->limit_ms : REST_MS);
	assert(!b->changed);
	/* The disks are asked before the new process is: one that hangs would hold it, so that it could not even
	 * be killed. */
	if (!keeper_rest(s->keeper, &p))
		return fail(b, "a disk of the cache does not answer, or too slowly");
	b->changed = true;
	return cache_rest(s->shelves.cache, REST_MS)
		       ? 0
		       : fail(b, "the cache cannot be written, or not in time");
}

/* All that was forgotten since the cache rests. Before that nothing was, if another server of this process takes over;
 * all workers have read since that it rests (leave), so that a change is seen here: then that one is to forget
 * everything. */
static int
give_forgotten(struct bequest *b)
{
	struct cache *c = b->s->shelves.cache;
	struct purge_entry *forgotten;
	if (!b->heir->pid)
		return handover_send_forgets(b->end, &hand_on_everything, !cache_is_as_it_was(c),
					     GIVE_MS);
	size_t n = cache_waiting(c, &forgotten);
	int r = handover_send_forgets(b->end, forgotten, n, GIVE_MS);
	free(forgotten);
	return r;
}

/* The other process knows what was asked for up to now. */
static int
give_the_last(struct bequest *b)
{
	struct server *s = b->s;
	struct keeper_patience p = patience_of(b, GIVE_MS);
	if (!keeper_save_last(s->keeper, &p))
		return fail(b, "the filters and the history cannot be saved, or not in time");
	return give_forgotten(b) ? fail_to_give(b) : give(b, HANDOVER_GO, STR(""), -1);
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* The order of the head of this file, up to the last moment at which it can be undone. */
static int
hand_over(struct bequest *b)
{
	struct handover_message *m = NEW(struct handover_message);
	int64_t settle_ms = b->limit_ms < SETTLE_MS ? b->limit_ms : SETTLE_MS;
	int r = await_hello(b, m) || rest(b) || give_all(b) || await_ready(b, m) ? -1 : 0;
	if (r == 0) {
		leave(b);
		r = give_the_last(b) || await(b, HANDOVER_SETTLED, settle_ms, m) ? -1 : 0;
	}
	free(m);
	return r;
}

static void
undo(struct bequest *b)
{
	struct server *s = b->s;
	disinherit(s, b->heir->pid, b->changed);
	if (b->left)
		tell_workers(b, s->edition, false);
}

static void
let_go(struct bequest *b)
{
	struct server *s = b->s;
	assert(cache_rests(s->shelves.cache) && b->left);
	assert(s->heir_end < 0 && s->heir_owes == 0);
	s->ending = true;
	s->heir_end = b->end;
	keeper_stop(&s->keeper);
	membership_end(s->outward.membership, false);
	cache_bequeath(s->shelves.cache, b->heir->pid ? hand_on_forgets : hand_on_any, s);
	for (unsigned i = 0; i < s->place_count; i++)
		if (s->places[i].file.path)
			unix_socket_leave(&s->places[i].file);
	admin_door_leave(&s->admin_door);
	watchdog_stop(s->watchdog); /* what it says would be taken for the other one's life */
	b->heir->sockets = mem_zalloc((b->door_n + 1) * sizeof *b->heir->sockets);
	while (b->door_n)
		b->heir->sockets[b->heir->socket_n++] = b->doors[--b->door_n].fd;
	malloc_trim(0);
}

int
server_bequeath(struct server *s, int end, struct server_heir *heir, char *err, size_t err_bytes)
{
	struct bequest b = {.s = s, .end = end, .heir = heir, .err = err, .err_bytes = err_bytes};
	pthread_mutex_lock(&s->changing);
	server_check(s);
	b.limit_ms = (int64_t)s->edition->config->timeouts.upgrade_ms;
	int r = -1;
	if (s->ending || !s->started)
		fail(&b, "the program is about to end");
	else if (disinherit_waits(s))
		fail(&b, "the process of the upgrade before has not ended, for a disk holds it");
	else if (!heir->pid && !cache_waits(s->shelves.cache))
		fail(&b, "something was purged or invalidated meanwhile");
	else if (heir->pid && !*cache_directory(s->shelves.cache))
		fail(&b, "objects are kept in RAM only, which cannot be handed over; restart");
	else
		r = hand_over(&b);
	if (r && !heir->pid && !heir->stands_down(heir->ctx))
		r = 0; /* what it says was only late */
	if (r)
		undo(&b);
	else
		let_go(&b);
	server_check(s);
	pthread_mutex_unlock(&s->changing);
	/* Its thread may be waiting for `changing`, in a reload. */
	if (r && b.left && s->admin)
		admin_leave(s->admin, false);
	for (unsigned i = 0; i < b.door_n; i++)
		if (b.doors[i].fd >= 0)
			close(b.doors[i].fd);
	free(b.doors);
	return r;
}
