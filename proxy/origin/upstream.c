/* upstream.c - which server of a group is asked, and how often; who is well is
 * upstream_health.c's. */
#include "proxy/origin/upstream.h"

#include "proxy/base/mem.h"
#include "proxy/origin/origin_inside.h"
#include "proxy/origin/upstream_inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- life ------------------------------------------------------------------------------------ */

/* FNV-1a: URLs of a configuration are nobody's to choose but the operator's. */
static uint64_t
name_of(const char *url)
{
	uint64_t h = 0xcbf29ce484222325u;
	for (; *url; url++)
		h = (h ^ (unsigned char)*url) * 0x100000001b3u;
	return h;
}

static uint16_t
mark_of(uint64_t name)
{
	uint16_t mark = (uint16_t)(name ^ name >> 16 ^ name >> 32 ^ name >> 48);
	return mark ? mark : 1;
}

static unsigned
weight_of(const struct upstream_server *s)
{
	return s->weight ? s->weight : 1;
}

struct upstream *
upstream_create(const struct upstream_options *o, const struct upstream_server *servers,
		unsigned count)
{
	struct upstream *u = NULL;
	assert(count >= 1 && count <= UPSTREAM_MOST);
	size_t bytes = sizeof *u + count * sizeof u->members[0];
	if (posix_memalign((void **)&u, _Alignof(struct upstream), bytes))
		abort();
	memset(u, 0, bytes);
	atomic_init(&u->users, 1);
	u->name = mem_strdup(o->name);
	u->balance = o->balance;
	u->retries = o->retries;
	u->most = o->most;
	u->share = o->share;
	u->count = count;
	u->checks = o->checks;
	u->checks.path = o->checks.path ? mem_strdup(o->checks.path) : NULL;
	u->checks.host = o->checks.host ? mem_strdup(o->checks.host) : NULL;
	for (unsigned i = 0; i < count; i++) {
		struct member *m = &u->members[i];
		m->origin = servers[i].origin;
		m->name = name_of(origin_url(m->origin));
		m->mark = mark_of(m->name);
		m->number = servers[i].number;
		m->weight = weight_of(&servers[i]);
		m->backup = servers[i].backup;
	}
	return u;
}

void
upstream_destroy(struct upstream **pu)
{
	struct upstream *u = *pu;
	*pu = NULL;
	if (!u || atomic_fetch_sub_explicit(&u->users, 1, memory_order_acq_rel) > 1)
		return;
	for (unsigned i = 0; i < u->count; i++)
		origin_destroy(&u->members[i].origin);
	free((char *)(uintptr_t)u->checks.path);
	free((char *)(uintptr_t)u->checks.host);
	free(u->name);
	free(u);
}

struct upstream *
upstream_ref(struct upstream *u)
{
	atomic_fetch_add_explicit(&u->users, 1, memory_order_relaxed);
	return u;
}

static bool
is_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool
are_checks(const struct upstream_checks *a, const struct upstream_checks *b)
{
	return is_text(a->path, b->path) && is_text(a->host, b->host) &&
	       a->every_ms == b->every_ms && a->timeout_ms == b->timeout_ms &&
	       a->least == b->least && a->most == b->most && a->fall == b->fall &&
	       a->rise == b->rise;
}

const struct upstream_checks *
upstream_checks(const struct upstream *u)
{
	return u->checks.path ? &u->checks : NULL;
}

bool
upstream_is(const struct upstream *u, const struct upstream_options *o,
	    const struct upstream_server *servers, unsigned count)
{
	bool same = strcmp(u->name, o->name) == 0 && u->balance == o->balance &&
		    u->retries == o->retries && u->most == o->most && u->share == o->share &&
		    u->count == count && are_checks(&u->checks, &o->checks);
	for (unsigned i = 0; same && i < count; i++) {
		const struct member *m = &u->members[i];
		same = m->origin == servers[i].origin && m->number == servers[i].number &&
		       m->weight == weight_of(&servers[i]) && m->backup == servers[i].backup;
	}
	return same;
}

#define COPY(to, from, what)                                                             \
	atomic_store_explicit(&(to)->what,                                               \
			      atomic_load_explicit(&(from)->what, memory_order_relaxed), \
			      memory_order_relaxed)

/* At most half of a group is left alone, also of one that became smaller. */
static void
learn_member(struct upstream *u, struct member *m, const struct member *was)
{
	unsigned held = atomic_load_explicit(&u->held, memory_order_relaxed);
	outlier_copy(&m->outlier, &was->outlier);
	usual_copy(&m->usual, &was->usual);
	COPY(m, was, failing);
	COPY(m, was, said);
	COPY(m, was, said_ms);
	COPY(m, was, why);
	COPY(m, was, returned_ms);
	COPY(m, was, answered_ms);
	COPY(m, was, probed_by);
	if (u->checks.path) {
		COPY(m, was, unwell);
		COPY(m, was, check_why);
	} else if (atomic_load_explicit(&was->held, memory_order_relaxed) == UPSTREAM_UNWELL) {
		return; /* nobody would bring it back */
	}
	if (!atomic_load_explicit(&was->held, memory_order_relaxed) || 2 * (held + 1) > u->count)
		return;
	COPY(m, was, held);
	atomic_store_explicit(&u->held, held + 1, memory_order_relaxed);
}

void
upstream_learn_from(struct upstream *u, const struct upstream *before)
{
	for (unsigned i = 0; i < u->count; i++)
		for (unsigned k = 0; k < before->count; k++)
			if (u->members[i].number == before->members[k].number)
				learn_member(u, &u->members[i], &before->members[k]);
}

/* These must hold of a try whose turn it is. */
static void
check(const struct upstream *u, const struct upstream_try *t)
{
	assert(t->current < u->count && u->count <= UPSTREAM_MOST);
	assert(t->tried >> t->current & 1);
	assert(u->members[t->current].origin);
}

const struct origin *
upstream_origin(const struct upstream *u, const struct upstream_try *t)
{
	check(u, t);
	return u->members[t->current].origin;
}

unsigned
upstream_number(const struct upstream *u, const struct upstream_try *t)
{
	return u->members[t->current].number;
}

uint16_t
upstream_mark(const struct upstream *u, const struct upstream_try *t)
{
	return u->members[t->current].mark;
}

unsigned
upstream_count(const struct upstream *u)
{
	return u->count;
}

const struct origin *
upstream_server_origin(const struct upstream *u, unsigned i)
{
	assert(i < u->count);
	return u->members[i].origin;
}

unsigned
upstream_share(const struct upstream *u)
{
	return u->share;
}

struct str
upstream_host(const struct upstream *u, struct str client)
{
	struct str host = origin_host(u->members[0].origin, client);
	for (unsigned i = 1; i < u->count; i++)
		if (!str_ieq(host, origin_host(u->members[i].origin, client)))
			return STR("");
	return host;
}

const char *
upstream_name(const struct upstream *u)
{
	return u->name;
}

/* ---- which is asked -------------------------------------------------------------------------- */

static void
take(struct upstream *u, struct upstream_try *t, unsigned i, bool probe)
{
	t->tried |= (uint64_t)1 << i;
	t->current = i;
	t->probe = probe;
	atomic_fetch_add_explicit(&u->members[i].active, 1, memory_order_relaxed);
}

static void
let_go(struct upstream *u, const struct upstream_try *t)
{
	check(u, t);
	atomic_fetch_sub_explicit(&u->members[t->current].active, 1, memory_order_relaxed);
}

static uint64_t
held_of(const struct member *m)
{
	return atomic_load_explicit(&m->held, memory_order_relaxed);
}

/* Of the backups, or of the others: not tried yet, and well. */
static bool
may_ask(const struct upstream *u, const struct upstream_try *t, unsigned i, bool backup)
{
	const struct member *m = &u->members[i];
	return m->backup == backup && !(t->tried >> i & 1) && !held_of(m);
}

/* To find out whether it is back. A request that may be refused perhaps asks nobody, so it does not. */
static bool
wins_probe(struct upstream_try *t, struct member *m, int64_t now_ms)
{
	return !t->refused && upstream_wins_probe(m, t->from, now_ms);
}

/* In order, one whose time is up is asked when it is its turn. */
static bool
take_in_order(struct upstream *u, struct upstream_try *t, bool backup, int64_t now_ms)
{
	for (unsigned i = 0; i < u->count; i++) {
		struct member *m = &u->members[i];
		if (m->backup != backup || t->tried >> i & 1)
			continue;
		bool is_held = held_of(m) != 0;
		if (!is_held || wins_probe(t, m, now_ms)) {
			take(u, t, i, is_held);
			return true;
		}
	}
	return false;
}

static bool
take_balanced(struct upstream *u, struct upstream_try *t, bool backup, int64_t now_ms)
{
	struct balance_server v[UPSTREAM_MOST];
	for (unsigned i = 0; i < u->count; i++) {
		struct member *m = &u->members[i];
		bool is_other = m->backup != backup || t->tried >> i & 1;
		if (!is_other && wins_probe(t, m, now_ms)) {
			take(u, t, i, true);
			return true;
		}
		v[i] = (struct balance_server){
			.may = may_ask(u, t, i, backup),
			.weight = upstream_weight(m, now_ms),
			.active = atomic_load_explicit(&m->active, memory_order_relaxed),
			.name = m->name,
		};
	}
	uint64_t turn = atomic_fetch_add_explicit(&u->turn, 1, memory_order_relaxed);
	int i = balance_pick(u->balance, v, u->count, turn, t->key);
	if (i != BALANCE_NONE)
		take(u, t, (unsigned)i, false);
	return i != BALANCE_NONE;
}

/* The untried one whose time is up first; of one request only one such. */
static bool
take_held(struct upstream *u, struct upstream_try *t)
{
	uint64_t least = UINT64_MAX;
	unsigned best = 0;
	for (unsigned i = 0; i < u->count; i++) {
		uint64_t held = held_of(&u->members[i]);
		if (!(t->tried >> i & 1) && held < least) {
			least = held;
			best = i;
		}
	}
	if (t->held_asked || least == UINT64_MAX)
		return false;
	t->held_asked = true;
	take(u, t, best, false);
	return true;
}

/* The one that has what is asked for. */
static bool
take_home(struct upstream *u, struct upstream_try *t, bool in_order)
{
	for (unsigned i = 0; t->home && i < u->count; i++) {
		const struct member *m = &u->members[i];
		bool may = t->stays || (!in_order && !m->backup);
		if (m->mark == t->home && may && may_ask(u, t, i, m->backup)) {
			take(u, t, i, false);
			return true;
		}
	}
	return false;
}

static bool
pick(struct upstream *u, struct upstream_try *t, int64_t now_ms)
{
	bool in_order = u->balance == BALANCE_ORDER || u->count == 1;
	if (take_home(u, t, in_order))
		return true;
	for (int backup = 0; backup < 2; backup++)
		if (in_order ? take_in_order(u, t, backup, now_ms)
			     : take_balanced(u, t, backup, now_ms))
			return true;
	return take_held(u, t);
}

/* ---- how often ------------------------------------------------------------------------------- */

bool
upstream_begin(struct upstream *u, struct upstream_try *t, int64_t now_ms)
{
	assert(!t->tried && !t->under_way);
	unsigned active = atomic_fetch_add_explicit(&u->active, 1, memory_order_relaxed) + 1;
	t->refused = u->most && active > u->most;
	bool any = pick(u, t, now_ms);
	assert(any); /* nothing was tried yet, and there is one at least */
	t->under_way = true;
	return !t->refused;
}

static _Atomic unsigned *
retrying_by(struct upstream *u, const struct upstream_try *t)
{
	return &u->retrying_by[t->from.client % OUTLIER_PLACES];
}

static void
count_retry(struct upstream *u, struct upstream_try *t)
{
	if (t->retrying)
		return;
	t->retrying = true;
	atomic_fetch_add_explicit(&u->retrying, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(retrying_by(u, t), 1, memory_order_relaxed);
}

static void
count_retry_no_more(struct upstream *u, struct upstream_try *t)
{
	if (!t->retrying)
		return;
	t->retrying = false;
	atomic_fetch_sub_explicit(&u->retrying, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(retrying_by(u, t), 1, memory_order_relaxed);
}

/* A client without a retry under way may have one beyond the budget, up to twice as many: one whose
 * retries hang does not use up what the others need. */
static bool
may_ask_another(struct upstream *u, const struct upstream_try *t)
{
	unsigned active = atomic_load_explicit(&u->active, memory_order_relaxed);
	unsigned retrying = atomic_load_explicit(&u->retrying, memory_order_relaxed);
	unsigned most = active / UPSTREAM_RETRIES_SHARE;
	most = most > UPSTREAM_RETRIES_LEAST ? most : UPSTREAM_RETRIES_LEAST;
	if (t->retrying || retrying < most)
		return true;
	return t->from.client && retrying < 2 * most &&
	       !atomic_load_explicit(retrying_by(u, t), memory_order_relaxed);
}

bool
upstream_retry(struct upstream *u, struct upstream_try *t, int64_t now_ms)
{
	struct upstream_try next = *t;
	if (t->retries >= u->retries || !may_ask_another(u, t) || !pick(u, &next, now_ms))
		return false;
	let_go(u, t);
	*t = next;
	t->retries++;
	count_retry(u, t);
	return true;
}

void
upstream_apart(struct upstream *u, struct upstream_try *t)
{
	assert(t->under_way && !t->apart);
	t->apart = true;
	atomic_fetch_sub_explicit(&u->active, 1, memory_order_relaxed);
	count_retry_no_more(u, t);
}

void
upstream_end(struct upstream *u, struct upstream_try *t)
{
	if (!t->under_way)
		return;
	let_go(u, t);
	if (!t->apart)
		upstream_apart(u, t);
	t->under_way = t->apart = false;
}

bool
upstream_may_ask_another(const struct fetch_result *r, bool safe)
{
	switch (r->end) {
	case FETCH_DNS:
	case FETCH_CONNECT:
	case FETCH_CONNECT_TIMEOUT:
	case FETCH_QUEUE_TIMEOUT:
	case FETCH_NO_SOCKET: /* the other may have a kept connection */
	case FETCH_TLS:
	case FETCH_NO_LENGTH: /* the other may speak HTTP/1.1 */
		return !r->body_taken;
	case FETCH_SEND:
	case FETCH_CLOSED:
	case FETCH_READ_TIMEOUT:
		return safe && !r->begun && !r->body_taken;
	default:
		return false;
	}
}
