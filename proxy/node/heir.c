/* heir.c - takes what is handed over, step by step; the end of the stream means that it is alone. */
#include "proxy/node/heir.h"

#include "proxy/base/buf.h"
#include "proxy/base/le.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/cache/heritage.h"
#include "proxy/node/handover.h"
#include "proxy/node/inherited.h"
#include "proxy/origin/resolver.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* The old process waits in each of its steps for less than that. */
enum { STEP_MS = 120000, FOUND_MOST = 1024 };

/* A name of an origin. */
struct found_name {
	char *name;
	unsigned n;
	struct ip at[RESOLVER_HINT_MOST];
};

struct heir {
	int end;
	bool inside;	   /* both are in this process */
	bool alone;	   /* the old process has ended before this one serves */
	const char *wrong; /* it has not, but cannot be followed: why */
	int locks[CACHE_DISKS_MOST];
	unsigned locks_n;
	int admin, admin_path;
	bool path_is_ours;
	struct buf tickets; /* secret */
	struct found_name *found;
	unsigned found_n;
	struct cache *cache;
	pthread_t thread;
	bool listens, settled;
	_Atomic bool over, leaves; /* the old process has ended; this one ends */
};

static void
check(const struct heir *h)
{
	assert(h->end >= 0 && h->locks_n <= CACHE_DISKS_MOST);
	assert(!(h->alone && (h->wrong || h->inside)));
	assert(!h->listens || (h->cache && !h->wrong));
	assert(!h->settled || h->listens);
	assert(h->found_n <= FOUND_MOST);
}

int
heir_called(unsigned long *number)
{
	const char *said = getenv("TWICE_HANDOVER");
	int end = -1, type = 0;
	socklen_t n = sizeof type;
	*number = 0;
	if (said && sscanf(said, "%d:%lu", &end, number) != 2)
		end = -1;
	unsetenv("TWICE_HANDOVER");
	if (end < 0 || getsockopt(end, SOL_SOCKET, SO_TYPE, &type, &n) || type != SOCK_SEQPACKET)
		return -1;
	fcntl(end, F_SETFD, FD_CLOEXEC);
	return end;
}

/* ---- what is said --------------------------------------------------------------------------- */

/* The other end is gone. */
static void
lose(struct heir *h)
{
	h->alone = !h->inside;
	if (h->inside)
		h->wrong = "it is not to take over any more";
}

static void
say(struct heir *h, enum handover_kind kind, const char *bytes, size_t n)
{
	if (handover_send(h->end, kind, (struct str){bytes, n}, -1, STEP_MS) == 0)
		return;
	if (errno != EAGAIN)
		lose(h);
	else
		h->wrong = "the process before this one does not listen";
}

/* The next message. False: the old process has ended, or cannot be followed. */
static bool
hear(struct heir *h, struct handover_message *m)
{
	switch (handover_receive(h->end, m, STEP_MS)) {
	case HANDOVER_GOT:
		return true;
	case HANDOVER_END:
		lose(h);
		break;
	case HANDOVER_NOTHING:
		h->wrong = "the process before this one says nothing";
		break;
	case HANDOVER_WRONG:
		h->wrong = "the process before this one says something that this one does not "
			   "understand, or there are no descriptors left";
		break;
	}
	return false;
}

static bool
is_followed(const struct heir *h)
{
	check(h);
	return !h->alone && !h->wrong;
}

/* ---- what is given -------------------------------------------------------------------------- */

static void
take(int *to, struct handover_message *m)
{
	if (*to >= 0)
		close(*to);
	*to = m->fd;
	m->fd = -1;
}

static void
take_door(struct handover_message *m)
{
	char listen[512];
	if (m->fd < 0 || m->n < 2 || m->n > sizeof listen)
		return;
	memcpy(listen, m->bytes + 1, m->n - 1);
	listen[m->n - 1] = '\0';
	inherited_give(listen, m->fd, m->bytes[0] == 1);
	m->fd = -1;
}

static void
take_name(struct heir *h, const struct handover_message *m)
{
	unsigned n = m->n ? (unsigned char)m->bytes[0] : 0;
	size_t at = 1 + n * sizeof(struct ip);
	if (n == 0 || n > RESOLVER_HINT_MOST || m->n <= at || h->found_n == FOUND_MOST)
		return;
	h->found = mem_realloc(h->found, (h->found_n + 1) * sizeof *h->found);
	struct found_name *f = &h->found[h->found_n++];
	f->n = n;
	memcpy(f->at, m->bytes + 1, n * sizeof *f->at);
	f->name = mem_strndup(m->bytes + at, m->n - at);
}

static void
take_part(struct heir *h, struct handover_message *m)
{
	switch (m->kind) {
	case HANDOVER_LOCK:
		if (m->fd >= 0 && h->locks_n < CACHE_DISKS_MOST) {
			h->locks[h->locks_n++] = m->fd;
			m->fd = -1;
		}
		break;
	case HANDOVER_DOOR:
		take_door(m);
		break;
	case HANDOVER_ADMIN:
		take(&h->admin, m);
		break;
	case HANDOVER_ADMIN_PATH:
		take(&h->admin_path, m);
		h->path_is_ours = m->n == 1 && m->bytes[0] == 1;
		break;
	case HANDOVER_TICKETS:
		buf_add(&h->tickets, m->bytes, m->n);
		OPENSSL_cleanse(m->bytes, m->n);
		break;
	case HANDOVER_NAME:
		take_name(h, m);
		break;
	default:
		break;
	}
	handover_drop(m);
}

static struct heir *
create(int end, bool inside)
{
	struct heir *h = NEW(struct heir);
	*h = (struct heir){.end = end, .inside = inside, .admin = -1, .admin_path = -1};
	return h;
}

/* Says hello, and hears all up to OPEN. */
static void
greet(struct heir *h)
{
	struct handover_message *m = NEW(struct handover_message);
	char version[4];
	le_put32(version, HANDOVER_VERSION);
	say(h, HANDOVER_HELLO, version, sizeof version);
	bool open = false;
	while (!open && is_followed(h) && hear(h, m)) {
		open = m->kind == HANDOVER_OPEN;
		take_part(h, m);
	}
	free(m);
}

struct heir *
heir_begin(int end, const char *problem)
{
	struct heir *h = create(end, false);
	if (problem)
		heir_refuse(&h, problem);
	else
		greet(h);
	return h;
}

struct heir *
heir_begin_inside(int end)
{
	struct heir *h = create(end, true);
	greet(h);
	if (h->wrong)
		heir_end(&h);
	return h;
}

bool
heir_is_alone(const struct heir *h)
{
	return h->alone;
}

bool
heir_is_over(const struct heir *h)
{
	return !h || h->alone || atomic_load(&h->over);
}

unsigned
heir_locks(const struct heir *h, const int **out)
{
	*out = h->locks;
	return h->locks_n;
}

struct str
heir_tickets(const struct heir *h)
{
	return buf_str(&h->tickets);
}

void
heir_hint(const struct heir *h, struct resolver *r)
{
	for (unsigned i = 0; i < h->found_n; i++)
		resolver_hint(r, h->found[i].name, h->found[i].at, h->found[i].n);
}

int
heir_admin(struct heir *h, bool path, bool *is_ours)
{
	int *from = path ? &h->admin_path : &h->admin, fd = *from;
	*from = -1;
	*is_ours = path && h->path_is_ours;
	return fd;
}

/* ---- in its place --------------------------------------------------------------------------- */

int
heir_await(struct heir *h, uint64_t fingerprint, struct purge_entry **forgotten, size_t *n,
	   char *err, size_t err_bytes)
{
	struct handover_message *m = NEW(struct handover_message);
	char whose[8];
	bool goes = false;
	assert(!h->listens);
	*forgotten = NULL;
	*n = 0;
	le_put64(whose, fingerprint);
	if (is_followed(h))
		say(h, HANDOVER_READY, whose, sizeof whose);
	while (!goes && is_followed(h) && hear(h, m)) {
		handover_drop(m);
		goes = m->kind == HANDOVER_GO;
		if (!goes &&
		    (m->kind != HANDOVER_FORGET || !handover_read_forgets(m, forgotten, n)))
			h->wrong = "the process before this one says something else than this one "
				   "understands";
	}
	if (h->wrong)
		snprintf(err, err_bytes, "%s", h->wrong);
	free(m);
	/* Alone: it was killed; what it wrote is there, as after any crash. */
	return h->wrong ? -1 : 0;
}

/* Orders to forget that the old process gets are durable here, or it tells whoever asked. */
static void
forget(struct heir *h, const struct handover_message *m)
{
	struct purge_entry *list = NULL;
	size_t n = 0;
	char durable = handover_read_forgets(m, &list, &n) && cache_inherit(h->cache, list, n);
	free(list);
	handover_send(h->end, HANDOVER_DURABLE, (struct str){&durable, 1}, -1, STEP_MS);
}

static void *
listen_to_it(void *arg)
{
	struct heir *h = arg;
	struct handover_message *m = NEW(struct handover_message);
	enum handover_got got;
	while ((got = handover_receive(h->end, m, -1)) != HANDOVER_END) {
		if (got != HANDOVER_GOT)
			continue;
		handover_drop(m);
		if (m->kind == HANDOVER_FORGET)
			forget(h, m);
	}
	free(m);
	if (atomic_load(&h->leaves))
		return NULL;
	atomic_store(&h->over, true); /* before: undo() in bequest.c looks there */
	cache_release(h->cache);
	log_info(h->inside ? "what served before has ended with its last client"
			   : "the process before this one has ended");
	return NULL;
}

int
heir_listen(struct heir *h, struct cache *c)
{
	check(h);
	assert(!h->listens && !h->wrong);
	h->cache = c;
	h->listens = pthread_create(&h->thread, NULL, listen_to_it, h) == 0;
	return h->listens ? 0 : -1;
}

void
heir_settle(struct heir *h)
{
	check(h);
	assert(!h->settled);
	h->settled = true;
	handover_send(h->end, HANDOVER_SETTLED, STR(""), -1, STEP_MS);
}

void
heir_refuse(struct heir **ph, const char *why)
{
	struct heir *h = *ph;
	if (h && !h->settled)
		handover_send(h->end, HANDOVER_REFUSED, str_of(why), -1, STEP_MS);
	heir_end(ph);
}

void
heir_end(struct heir **ph)
{
	struct heir *h = *ph;
	*ph = NULL;
	if (!h)
		return;
	if (h->listens) {
		atomic_store(&h->leaves, true);
		shutdown(h->end, SHUT_RDWR);
		pthread_join(h->thread, NULL);
	}
	close(h->end);
	for (unsigned i = 0; i < h->locks_n; i++)
		close(h->locks[i]);
	if (h->admin >= 0)
		close(h->admin);
	if (h->admin_path >= 0)
		close(h->admin_path);
	if (h->tickets.n)
		OPENSSL_cleanse(h->tickets.p, h->tickets.n);
	buf_fini(&h->tickets);
	for (unsigned i = 0; i < h->found_n; i++)
		free(h->found[i].name);
	free(h->found);
	free(h);
}
