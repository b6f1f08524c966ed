/* purge_names.c - a table of nodes that only grows; its numbers are read without a lock. */
#include "proxy/fleet/purge_names.h"

#include "proxy/base/le.h"
#include "proxy/base/mem.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { PLACES = 2 * PURGE_NAMES_NODES };
/* So many numbers may be given before the file is written again. */
static const uint64_t AHEAD = 1 << 24;
static const uint32_t MAGIC = 0x314c5754; /* "TWL1" */

struct account {
	uint64_t node; /* constant */
	_Atomic uint64_t told, through, highest;
	_Atomic int64_t told_ms;
	_Atomic int64_t
		gap_ms; /* since when a number above through is applied and not all below it; 0: none is */
	uint64_t recent[PURGE_NAMES_RECENT]; /* under lock, as the next one: in order */
	unsigned recent_n;
};

struct purge_names {
	_Atomic(struct account *) place[PLACES]; /* by node, with linear probing */
	_Atomic(struct account *) list[PURGE_NAMES_NODES];
	_Atomic unsigned n;
	_Atomic int64_t told_ms; /* of whatever was heard of last */
	pthread_mutex_t lock;	 /* of all changes */
	uint64_t next;		 /* number of this node */
	uint64_t self;		 /* 0: not known yet */
	uint64_t first;		 /* of those that this node has given in this process */
};

/* ---- nodes --------------------------------------------------------------------------------- */

static unsigned
place_of(uint64_t node)
{
	return (unsigned)(node * UINT64_C(0x9e3779b97f4a7c15) >> 53) % PLACES;
}

static struct account *
find(const struct purge_names *l, uint64_t node)
{
	for (unsigned i = place_of(node);; i = (i + 1) % PLACES) {
		struct account *a = atomic_load_explicit(&l->place[i], memory_order_acquire);
		if (!a || a->node == node)
			return a;
	}
}

/* Under the lock. NULL: there are too many. */
static struct account *
account_of(struct purge_names *l, uint64_t node)
{
	struct account *a = find(l, node);
	unsigned n = atomic_load(&l->n), i = place_of(node);
	if (a || n == PURGE_NAMES_NODES)
		return a;
	a = NEW(struct account);
	a->node = node;
	while (atomic_load(&l->place[i]))
		i = (i + 1) % PLACES;
	atomic_store_explicit(&l->place[i], a, memory_order_release);
	atomic_store(&l->list[n], a);
	atomic_store(&l->n, n + 1);
	return a;
}

/* ---- numbers ------------------------------------------------------------------------------- */

/* The place of the first that is not below. */
static unsigned
at_or_behind(const struct account *a, uint64_t number)
{
	unsigned i = a->recent_n;
	while (i && a->recent[i - 1] >= number)
		i--;
	return i;
}

static bool
has(const struct account *a, uint64_t number)
{
	unsigned i = at_or_behind(a, number);
	return i < a->recent_n && a->recent[i] == number;
}

/* Moves the number up to which all are applied; a gap is waited for from now on. */
static void
settle(struct account *a, int64_t now)
{
	uint64_t through = atomic_load(&a->through);
	while (has(a, through + 1))
		through++;
	atomic_store(&a->through, through);
	bool gap = atomic_load(&a->highest) > through;
	if (!gap)
		atomic_store(&a->gap_ms, 0);
	else if (!atomic_load(&a->gap_ms))
		atomic_store(&a->gap_ms, now ? now : 1);
}

static void
note(struct account *a, uint64_t number, int64_t now)
{
	unsigned i = at_or_behind(a, number);
	if (i < a->recent_n && a->recent[i] == number)
		return;
	if (a->recent_n == PURGE_NAMES_RECENT) {
		/* A number that has not come by now comes no more, or is applied again. */
		uint64_t lowest = a->recent[0] < number ? a->recent[0] : number;
		if (lowest > atomic_load(&a->through))
			atomic_store(&a->through, lowest);
		if (i == 0)
			return;
		memmove(a->recent, a->recent + 1, (PURGE_NAMES_RECENT - 1) * sizeof *a->recent);
		a->recent_n--;
		i--;
	}
	memmove(a->recent + i + 1, a->recent + i, (a->recent_n - i) * sizeof *a->recent);
	a->recent[i] = number;
	a->recent_n++;
	if (number > atomic_load(&a->highest))
		atomic_store(&a->highest, number);
	settle(a, now);
}

static void
tell(struct purge_names *l, struct account *a, uint64_t number, int64_t now)
{
	if (number > atomic_load(&a->told))
		atomic_store(&a->told, number);
	atomic_store(&a->told_ms, now);
	atomic_store(&l->told_ms, now);
}

void
purge_names_begin(struct purge_names *l, uint64_t self)
{
	pthread_mutex_lock(&l->lock);
	struct account *a = self && l->self != self ? account_of(l, self) : NULL;
	if (a && l->next - 1 > atomic_load(&a->through))
		atomic_store(&a->through, l->next - 1);
	if (l->self != self)
		l->first = l->next;
	l->self = self;
	pthread_mutex_unlock(&l->lock);
}

uint64_t
purge_names_take(struct purge_names *l, uint64_t self, int64_t now)
{
	pthread_mutex_lock(&l->lock);
	uint64_t number = l->next++;
	struct account *a = account_of(l, self);
	if (a)
		tell(l, a, number, now);
	if (l->self != self)
		l->first = number;
	l->self = self;
	pthread_mutex_unlock(&l->lock);
	return number;
}

uint64_t
purge_names_self(struct purge_names *l)
{
	pthread_mutex_lock(&l->lock);
	uint64_t self = l->self;
	pthread_mutex_unlock(&l->lock);
	return self;
}

/* Under the lock. Of this process' own all that are through are. */
static bool
was_applied(const struct purge_names *l, const struct account *a, uint64_t number)
{
	bool own = a->node == l->self && number >= l->first;
	return has(a, number) || (own && number <= atomic_load(&a->through));
}

bool
purge_names_has(struct purge_names *l, uint64_t node, uint64_t number)
{
	pthread_mutex_lock(&l->lock);
	const struct account *a = find(l, node);
	bool yes = a && was_applied(l, a, number);
	pthread_mutex_unlock(&l->lock);
	return yes;
}

bool
purge_names_hear(struct purge_names *l, uint64_t node, uint64_t number, int64_t now)
{
	pthread_mutex_lock(&l->lock);
	struct account *a = account_of(l, node);
	bool new = !a || !was_applied(l, a, number);
	if (a && new)
		tell(l, a, number, now);
	pthread_mutex_unlock(&l->lock);
	return new;
}

void
purge_names_apply(struct purge_names *l, uint64_t node, uint64_t number, int64_t now)
{
	pthread_mutex_lock(&l->lock);
	struct account *a = account_of(l, node);
	if (a)
		note(a, number, now);
	pthread_mutex_unlock(&l->lock);
}

void
purge_names_advance(struct purge_names *l, uint64_t node, uint64_t base, int64_t now)
{
	pthread_mutex_lock(&l->lock);
	struct account *a = base ? account_of(l, node) : NULL;
	if (a && base - 1 > atomic_load(&a->through)) {
		atomic_store(&a->through, base - 1);
		atomic_store(&a->gap_ms, 0);
		settle(a, now);
	}
	pthread_mutex_unlock(&l->lock);
}

/* ---- without a lock ------------------------------------------------------------------------ */

unsigned
purge_names_seen(const struct purge_names *l, int64_t now,
		 struct purge_name out[PURGE_NAMES_SEEN_MOST])
{
	int64_t since = now - PURGE_NAMES_SEEN_MS;
	unsigned n = 0, all;
	if (atomic_load_explicit(&l->told_ms, memory_order_acquire) <= since)
		return 0;
	all = atomic_load_explicit(&l->n, memory_order_acquire);
	for (unsigned i = 0; i < all && n < PURGE_NAMES_SEEN_MOST; i++) {
		const struct account *a = atomic_load(&l->list[i]);
		if (atomic_load(&a->told_ms) > since)
			out[n++] = (struct purge_name){a->node, atomic_load(&a->told)};
	}
	return n;
}

bool
purge_names_is_behind(const struct purge_names *l, const struct purge_name *seen, unsigned n,
		      int64_t now)
{
	for (unsigned i = 0; i < n; i++) {
		const struct account *a = find(l, seen[i].node);
		if (!a)
			return true;
		if (seen[i].number <= atomic_load(&a->through))
			continue;
		int64_t gap = atomic_load(&a->gap_ms);
		if (seen[i].number > atomic_load(&a->highest) || !gap ||
		    now - gap < PURGE_NAMES_GAP_MS)
			return true;
	}
	return false;
}

/* ---- the file ------------------------------------------------------------------------------ */

/* u32 magic, u32 nodes, u64 a number above all of this node's; then of each node: u64 node, told, through, count, and
 * as many numbers. */
void
purge_names_write(struct purge_names *l, struct buf *out)
{
	char bytes[32];
	pthread_mutex_lock(&l->lock);
	unsigned n = atomic_load(&l->n);
	le_put32(bytes, MAGIC);
	le_put32(bytes + 4, n);
	le_put64(bytes + 8, l->next + AHEAD);
	buf_add(out, bytes, 16);
	for (unsigned i = 0; i < n; i++) {
		const struct account *a = atomic_load(&l->list[i]);
		le_put64(bytes, a->node);
		le_put64(bytes + 8, atomic_load(&a->told));
		le_put64(bytes + 16, atomic_load(&a->through));
		le_put64(bytes + 24, a->recent_n);
		buf_add(out, bytes, 32);
		for (unsigned k = 0; k < a->recent_n; k++) {
			le_put64(bytes, a->recent[k]);
			buf_add(out, bytes, 8);
		}
	}
	pthread_mutex_unlock(&l->lock);
}

/* Reads one node's, and keeps it in l, if there is one; its bytes, 0: it is damaged. */
static size_t
read_account(struct purge_names *l, struct str s)
{
	if (s.n < 32)
		return 0;
	uint64_t node = le_get64(s.p), told = le_get64(s.p + 8), through = le_get64(s.p + 16),
		 n = le_get64(s.p + 24), before = 0;
	if (!node || n > PURGE_NAMES_RECENT || (s.n - 32) / 8 < n)
		return 0;
	struct account *a = l ? account_of(l, node) : NULL;
	if (a) {
		atomic_store(&a->told, told);
		atomic_store(&a->through, through);
		atomic_store(&a->highest, through);
	}
	for (unsigned i = 0; i < n; i++) {
		uint64_t number = le_get64(s.p + 32 + 8 * i);
		if (number <= before)
			return 0;
		before = number;
		if (a)
			note(a, number, 1);
	}
	return 32 + 8 * (size_t)n;
}

static int
read_all(struct purge_names *l, struct str s)
{
	if (s.n < 16 || le_get32(s.p) != MAGIC)
		return -1;
	uint32_t n = le_get32(s.p + 4);
	s = str_from(s, 16);
	while (n--) {
		size_t bytes = read_account(l, s);
		if (!bytes)
			return -1;
		s = str_from(s, bytes);
	}
	return s.n ? -1 : 0;
}

int
purge_names_read(struct purge_names *l, struct str file)
{
	if (read_all(NULL, file))
		return -1;
	pthread_mutex_lock(&l->lock);
	read_all(l, file);
	uint64_t above = le_get64(file.p + 8);
	l->next = above > l->next ? above : l->next;
	pthread_mutex_unlock(&l->lock);
	return 0;
}

/* ---- life ---------------------------------------------------------------------------------- */

struct purge_names *
purge_names_create(uint64_t clock_us)
{
	struct purge_names *l = NEW(struct purge_names);
	pthread_mutex_init(&l->lock, NULL);
	l->next = clock_us ? clock_us : 1;
	atomic_store(&l->told_ms, INT64_MIN / 2);
	return l;
}

void
purge_names_destroy(struct purge_names **pl)
{
	struct purge_names *l = *pl;
	*pl = NULL;
	if (!l)
		return;
	for (unsigned i = 0; i < atomic_load(&l->n); i++)
		free(atomic_load(&l->list[i]));
	pthread_mutex_destroy(&l->lock);
	free(l);
}
