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
#include "proxy/cache/seen.h"
#include "proxy/node/handover.h"
#include "proxy/node/heir.h"
#include "proxy/node/inherited.h"
#include "proxy/node/keeper.h"
#include "proxy/node/watchdog.h"
#include "proxy/wire/clients.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	SLICE_MS = 50,	   /* between two looks whether somebody wants it to end */
	GIVE_MS = 10000,   /* for the other one to take a message */
	REST_MS = 10000,   /* for the disks */
	SETTLE_MS = 60000, /* most for the other one, between two moments of which nobody accepts */
	FORGET_MS = 4000   /* less than a purge waits (FORGET_LIMIT_MS) */
};

struct door_copy {
	int fd;
	unsigned place;
};

struct bequest {
	struct server *s;
	int end;
	const struct server_heir *heir;
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
		fail(b, "the new process has ended, or does not listen");
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
					: fail(b, "the new process was not ready within %lld s",
					       (long long)(limit_ms + 999) / 1000);
	if (got == HANDOVER_END)
		return fail(b, "the new process ended; what it wrote to the log says why");
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

/* Hashes are made with the seed of the directory: it must be the same. */
static int
await_ready(struct bequest *b, struct handover_message *m)
{
	if (await(b, HANDOVER_READY, b->limit_ms, m))
		return -1;
	uint64_t mine = twice_seed_fingerprint(cache_seed(b->s->shelves.cache));
	return m->n == 8 && le_get64(m->bytes) == mine
		       ? 0
		       : fail(b, "cache.dir is another one than this process has; restart");
}

/* ---- sockets -------------------------------------------------------------------------------- */

/* Of which entry of listen a descriptor is a socket; -1: of none. */
static int
place_of(const struct server *s, int fd)
{
	for (unsigned i = 0; i < s->place_count; i++)
		if (inherited_listens_at(fd, s->edition->config->listen[i], s->places[i].port))
			return (int)i;
	return -1;
}

/* The sockets that workers listen at are told by what they are: all descriptors are looked at, and then
 * those found are copied, for a copy is one too. */
static int
copy_doors(struct bequest *b)
{
	DIR *d = opendir("/proc/self/fd");
	for (struct dirent *e; d && (e = readdir(d));) {
		int fd = e->d_name[0] == '.' ? -1 : (int)strtol(e->d_name, NULL, 10);
		int place = fd < 0 || fd == dirfd(d) ? -1 : place_of(b->s, fd);
		if (place < 0)
			continue;
		b->doors = mem_realloc(b->doors, (b->door_n + 1) * sizeof *b->doors);
		b->doors[b->door_n++] = (struct door_copy){fd, (unsigned)place};
	}
	if (d)
		closedir(d);
	bool fine = b->door_n >= b->s->place_count;
	for (unsigned i = 0; i < b->door_n; i++) {
		b->doors[i].fd = fcntl(b->doors[i].fd, F_DUPFD_CLOEXEC, 0);
		fine &= b->doors[i].fd >= 0;
	}
	return fine ? 0 : fail(b, "cannot copy the listening sockets");
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
	unsigned char at[ORIGIN_ADDRESSES_MOST][16];
	int n = origin_addresses(server, at);
	if (n <= 0)
		return 0;
	struct buf text = {0};
	char count = (char)n;
	buf_add(&text, &count, 1);
	buf_add(&text, (const char *)at, (size_t)n * sizeof *at);
	buf_add_str(&text, str_of(origin_name(server)));
	int r = give(b, HANDOVER_NAME, buf_str(&text), -1);
	buf_fini(&text);
	return r;
}

/* Where the names of origins were found: a name server may be gone just now. */
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
	sem_t done;
	sem_init(&done, 0, 0);
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
			.done = &done,
		};
	if (!leaves)
		share_doors(b, c, each);
	for (unsigned w = 0; w < n; w++)
		worker_change(&s->workers[w], &c[w]);
	for (unsigned w = 0; w < n; w++)
		while (sem_wait(&done))
			;
	sem_destroy(&done);
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

static int
rest(struct bequest *b)
{
	struct server *s = b->s;
	assert(!b->changed);
	if (s->keeper) /* it could not be started again after an upgrade that failed */
		keeper_stop(&s->keeper); /* saves and rotates nothing meanwhile */
	baseline_save(s->shelves.baseline);
	cache_save_earnings(s->shelves.cache);
	b->changed = true;
	return cache_rest(s->shelves.cache, REST_MS)
		       ? 0
		       : fail(b, "the cache cannot be written, or not in time");
}

/* What was asked for up to now is known to the other one. */
static int
give_the_last(struct bequest *b)
{
	struct server *s = b->s;
	struct purge_entry *forgotten;
	seen_save(s->shelves.seen, now_s());
	chronicle_save(s->chronicle);
	size_t n = cache_waiting(s->shelves.cache, &forgotten);
	int r = handover_send_forgets(b->end, forgotten, n, GIVE_MS);
	free(forgotten);
	return r ? fail_to_give(b) : give(b, HANDOVER_GO, STR(""), -1);
}

/* One answer, of which there is one to each message, in their order: of what was sent before *others go
 * first, for they may have been waited for in vain. */
static enum handover_got
hear(struct server *s, struct handover_message *m, int limit_ms, size_t *others, bool *durable)
{
	enum handover_got got = handover_receive(s->heir_end, m, limit_ms);
	assert(*others <= s->heir_owes);
	if (got != HANDOVER_GOT)
		return got;
	handover_drop(m);
	if (m->kind != HANDOVER_DURABLE || s->heir_owes == 0)
		return got;
	s->heir_owes--;
	if (*others)
		--*others;
	else
		*durable = *durable && m->n == 1 && m->bytes[0] == 1;
	return got;
}

/* On the thread of the purge log. */
static size_t
forget_there(void *ctx, const struct purge_entry *list, size_t n, bool *durable)
{
	struct server *s = ctx;
	struct handover_message *m = NEW(struct handover_message);
	int64_t until = now_ms() + FORGET_MS;
	size_t others = s->heir_owes, at = 0;
	bool taken = true, gone = false;
	assert(s->heir_end >= 0);
	*durable = true;
	while (at < n && taken) {
		size_t part = handover_at_once(list + at, n - at);
		int64_t left = until - now_ms();
		taken = handover_send_forgets(s->heir_end, list + at, part,
					      left > 0 ? (int)left : 0) == 0;
		gone = !taken && errno != EAGAIN;
		at += taken ? part : 0;
		s->heir_owes += taken;
		while (hear(s, m, 0, &others, durable) ==
		       HANDOVER_GOT) /* it may wait for room as well */
			continue;
	}
	while (s->heir_owes && !gone && now_ms() < until)
		gone = hear(s, m, SLICE_MS, &others, durable) == HANDOVER_END;
	*durable = *durable && s->heir_owes == 0 && at == n;
	free(m);
	return gone ? n : at;
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
	kill(b->heir->pid, SIGKILL);
	while (waitpid(b->heir->pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (!b->changed)
		return;
	assert(!s->keeper);
	cache_work(s->shelves.cache);
	if (heir_is_over(s->heir))
		cache_release(s->shelves.cache);
	if (b->left)
		tell_workers(b, s->edition, false);
	if (keeper_start(&s->keeper, &s->shelves, s->chronicle))
		log_error("cannot start a thread: nothing more is saved until a restart");
}

static void
let_go(struct bequest *b)
{
	struct server *s = b->s;
	assert(!s->keeper && cache_rests(s->shelves.cache) && b->left);
	assert(s->heir_end < 0 && s->heir_owes == 0);
	s->ending = true;
	s->heir_end = b->end;
	cache_bequeath(s->shelves.cache, forget_there, s);
	for (unsigned i = 0; i < s->place_count; i++)
		if (s->places[i].file.path)
			unix_socket_leave(&s->places[i].file);
	admin_door_leave(&s->admin_door);
	watchdog_stop(&s->watchdog); /* what it says would be taken for the other one's life */
	malloc_trim(0);
}

int
server_bequeath(struct server *s, int end, const struct server_heir *heir, char *err,
		size_t err_bytes)
{
	struct bequest b = {.s = s, .end = end, .heir = heir, .err = err, .err_bytes = err_bytes};
	pthread_mutex_lock(&s->changing);
	server_check(s);
	b.limit_ms = (int64_t)s->edition->config->timeouts.upgrade_ms;
	int r = -1;
	if (s->ending || !s->started)
		fail(&b, "the program is about to end");
	else if (!*cache_directory(s->shelves.cache))
		fail(&b, "objects are kept in RAM only, which cannot be handed over; restart");
	else
		r = hand_over(&b);
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

bool
server_linger(struct server *s, bool (*is_over)(void *ctx), void *ctx)
{
	pthread_mutex_lock(&s->lock);
	int64_t until = now_ms() + (int64_t)s->edition->config->timeouts.drain_ms;
	pthread_mutex_unlock(&s->lock);
	struct pollfd successor = {.fd = s->heir_end};
	bool alone = false, over = false;
	/* Segments are kept for as long as this process lives: what those before it may be reading
	 * depends on that too. Without a successor nobody can start before it ends. */
	while (!alone && !over &&
	       (!heir_is_over(s->heir) || (clients_count(s->clients) && now_ms() < until))) {
		alone = poll(&successor, 1, SLICE_MS) > 0 && successor.revents & POLLHUP;
		over = is_over(ctx);
	}
	return over;
}
