/* fleet_purger.c - a thread with a queue of news, and two files. */
#include "proxy/node/fleet_purger.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_files.h"
#include "proxy/cache/ghost/baseline.h"
#include "proxy/cache/heritage.h"
#include "proxy/fleet/journal_state.h"
#include "proxy/fleet/outbox.h"
#include "proxy/fleet/purge_items.h"
#include "proxy/serve/bill.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static const char PURGE_NAMES_FILE[] = "fleet.purges", OUTBOX_FILE[] = "fleet.outbox",
		  JOURNAL_FILE[] = "fleet.journal";

struct fleet_purger {
	const struct shelves *sh;
	struct purge_names *names;
	struct outbox *outbox;
	struct journal_state *journal;
	struct relay relay;
	_Atomic uint64_t last;	  /* number of a purge of this node */
	_Atomic uint64_t lasting; /* when the latest that is in the names was forgotten */
	_Atomic bool names_changed;
	uint64_t outbox_saved, journal_saved; /* their changes, as they were written; under files */
	pthread_mutex_t files;
	pthread_t thread;
	bool runs;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t wake;
	struct fleet_news *first, **end;
	size_t bytes;
	bool stopping;
	struct {
		_Atomic uint64_t heard, skipped, unknown, invalidated, refused;
	} count;
};

/* ---- purges of this node --------------------------------------------------------------------- */

static void
raise(_Atomic uint64_t *to, uint64_t value)
{
	uint64_t was = atomic_load(to);
	while (was < value && !atomic_compare_exchange_weak(to, &was, value))
		continue;
}

static uint64_t
tell(void *ctx, enum forget_kind kind, bool soft, bool passing, struct str name)
{
	struct fleet_purger *p = ctx;
	struct purge_item i = {.kind = (uint8_t)kind,
			       .flags = (uint8_t)((soft ? PURGE_ITEM_SOFT : 0) |
						  (passing ? PURGE_ITEM_PASSING : 0)),
			       .name = name};
	return outbox_put(p->outbox, &i, now_ms());
}

/* Before it counts as applied, so that the file of the names never says more than the purge log. */
static void
note(struct fleet_purger *p, uint64_t node, uint64_t number, uint64_t at)
{
	raise(&p->lasting, at);
	purge_names_apply(p->names, node, number, now_ms());
	atomic_store(&p->names_changed, true);
}

static void
applied(void *ctx, uint64_t number, uint64_t at)
{
	struct fleet_purger *p = ctx;
	raise(&p->last, number);
	note(p, purge_names_self(p->names), number, at);
}

/* ---- purges of others ----------------------------------------------------------------------- */

static bool
is_url(struct str name)
{
	return str_starts(name, STR("http://")) || str_starts(name, STR("https://"));
}

/* A kind that a newer version knows, or a name that cannot be one, purges everything. */
static enum forget_kind
kind_of(const struct purge_item *i)
{
	switch (i->kind) {
	case FORGET_URL:
		return is_url(i->name) ? FORGET_URL : FORGET_ALL;
	case FORGET_PREFIX:
		return is_url(i->name) && i->name.n < CACHE_PREFIX_MOST ? FORGET_PREFIX
									: FORGET_ALL;
	case FORGET_HOST:
	case FORGET_TAG:
		return i->name.n ? (enum forget_kind)i->kind : FORGET_ALL;
	default:
		return FORGET_ALL;
	}
}

static uint64_t
purge(struct fleet_purger *p, const struct purge_item *i)
{
	const struct shelves *sh = p->sh;
	enum forget_kind kind = kind_of(i);
	bool known = kind == (enum forget_kind)i->kind, soft = known && i->flags & PURGE_ITEM_SOFT;
	struct str name = kind == FORGET_ALL ? STR("") : i->name;
	struct twice_key_hash hash = {0};
	if (kind == FORGET_URL)
		hash = twice_key_hash_of(sh->seed, name.p, name.n);
	if (!known && i->kind != PURGE_ITEM_EVERYTHING)
		atomic_fetch_add(&p->count.unknown, 1);
	uint64_t at = cache_purge(sh->cache, kind, soft, hash, name).at;
	if (soft)
		return at;
	if (kind == FORGET_URL)
		bill_forget(sh, name);
	else if (kind == FORGET_HOST)
		bill_forget_host(sh, name);
	else if (kind == FORGET_ALL)
		baseline_forget_all(sh->baseline);
	return at;
}

static void
invalidate(struct fleet_purger *p, const struct purge_item *i)
{
	const struct shelves *sh = p->sh;
	if (kind_of(i) != FORGET_URL)
		return;
	struct twice_key_hash hash = twice_key_hash_of(sh->seed, i->name.p, i->name.n);
	relay_note_change(sh, hash);
	cache_forget(sh->cache, hash, i->name, STR(""), UINT64_MAX);
	bill_forget(sh, i->name);
	atomic_fetch_add(&p->count.invalidated, 1);
}

/* When what is to last was forgotten; 0: nothing of it is. */
static uint64_t
apply(struct fleet_purger *p, const struct fleet_news *n)
{
	struct purge_items_reader r;
	struct purge_item i;
	uint64_t last = 0;
	if (!purge_items_open(&r, buf_str(&n->items)))
		return 0;
	purge_names_advance(p->names, n->from, r.base, now_ms());
	while (purge_items_next(&r, &i)) {
		if (i.flags & PURGE_ITEM_PASSING) {
			invalidate(p, &i);
			continue;
		}
		atomic_fetch_add(&p->count.heard, 1);
		if (i.number && !purge_names_hear(p->names, n->from, i.number, now_ms())) {
			atomic_fetch_add(&p->count.skipped, 1);
			continue;
		}
		last = purge(p, &i);
		if (i.number)
			note(p, n->from, i.number, last);
	}
	return last;
}

static void
apply_all(struct fleet_purger *p, struct fleet_news *list)
{
	uint64_t at = 0, was = atomic_load(&p->lasting);
	for (const struct fleet_news *n = list; n; n = n->next) {
		uint64_t last = apply(p, n);
		at = last > at ? last : at;
	}
	/* A purge that was skipped may have been applied a moment ago, and not be on disk yet. */
	at = was > at ? was : at;
	bool durable = !at || cache_purge_wait(p->sh->cache, at);
	while (list) {
		struct fleet_news *n = list;
		list = n->next;
		fleet_news_done(n, durable);
	}
}

void
fleet_purger_hear(struct fleet_purger *p, struct fleet_news *n)
{
	pthread_mutex_lock(&p->lock);
	bool fits = p->bytes + n->items.n <= FLEET_PURGER_WAIT_MOST && !p->stopping;
	if (fits) {
		n->next = NULL;
		*p->end = n;
		p->end = &n->next;
		p->bytes += n->items.n;
		pthread_cond_signal(&p->wake);
	} else {
		atomic_fetch_add(&p->count.refused, 1);
	}
	pthread_mutex_unlock(&p->lock);
	if (!fits)
		fleet_news_done(n, false);
}

static void *
run(void *arg)
{
	struct fleet_purger *p = arg;
	pthread_mutex_lock(&p->lock);
	while (!p->stopping || p->first) {
		struct fleet_news *list = p->first;
		if (!list) {
			pthread_cond_wait(&p->wake, &p->lock);
			continue;
		}
		p->first = NULL;
		p->end = &p->first;
		p->bytes = 0;
		pthread_mutex_unlock(&p->lock);
		apply_all(p, list);
		pthread_mutex_lock(&p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* ---- files --------------------------------------------------------------------------------- */

static int
fill(int (*write)(void *, const void *, size_t), void *to, void *ctx)
{
	const struct str *bytes = ctx;
	return write(to, bytes->p, bytes->n);
}

static int
save_file(struct fleet_purger *p, const char *name, const struct buf *bytes)
{
	struct str s = buf_str(bytes);
	return cache_save_file(p->sh->cache, name, fill, &s) && errno != ENOTDIR ? -1 : 0;
}

static int
save_names(struct fleet_purger *p)
{
	struct buf bytes = {0};
	/* Purges that were applied since the cache rests are another process' to make durable. */
	if (cache_rests(p->sh->cache) || !atomic_exchange(&p->names_changed, false))
		return 0;
	purge_names_write(p->names, &bytes);
	uint64_t at = atomic_load(&p->lasting);
	int r = !at || cache_purge_wait(p->sh->cache, at) ? save_file(p, PURGE_NAMES_FILE, &bytes)
							  : -1;
	if (r)
		atomic_store(&p->names_changed, true);
	buf_fini(&bytes);
	return r;
}

static int
save_outbox(struct fleet_purger *p)
{
	struct buf bytes = {0};
	uint64_t changes = outbox_facts(p->outbox).changes;
	if (changes == p->outbox_saved)
		return 0;
	outbox_write(p->outbox, &bytes);
	int r = save_file(p, OUTBOX_FILE, &bytes);
	if (r == 0)
		p->outbox_saved = changes;
	buf_fini(&bytes);
	return r;
}

/* All up to its place is on disk, or it would not be there. */
static int
save_journal(struct fleet_purger *p)
{
	struct buf bytes = {0};
	uint64_t changes = journal_state_changes(p->journal);
	if (changes == p->journal_saved)
		return 0;
	journal_state_write(p->journal, &bytes);
	int r = save_file(p, JOURNAL_FILE, &bytes);
	if (r == 0)
		p->journal_saved = changes;
	buf_fini(&bytes);
	return r;
}

int
fleet_purger_save(struct fleet_purger *p)
{
	pthread_mutex_lock(&p->files);
	int r = save_outbox(p) | save_names(p) | save_journal(p);
	pthread_mutex_unlock(&p->files);
	return r ? -1 : 0;
}

static void
read_file(struct fleet_purger *p, const char *name, int (*take)(void *to, struct str bytes),
	  void *to, const char *then)
{
	struct buf bytes = {0};
	const char *why;
	bool is = cache_read_file(p->sh->cache, name, PURGE_NAMES_FILE_MOST + OUTBOX_KEPT_MOST,
				  &bytes, &why);
	if (is && (why || take(to, buf_str(&bytes))))
		log_warning("fleet: %s in %s is damaged; %s", name, cache_directory(p->sh->cache),
			    then);
	buf_fini(&bytes);
}

static int
take_names(void *to, struct str bytes)
{
	return purge_names_read(to, bytes);
}

static int
take_outbox(void *to, struct str bytes)
{
	return outbox_read(to, bytes);
}

static int
take_journal(void *to, struct str bytes)
{
	return journal_state_read(to, bytes, false);
}

static int
take_journal_live(void *to, struct str bytes)
{
	return journal_state_read(to, bytes, true);
}

void
fleet_purger_read(struct fleet_purger *p, bool goes_on)
{
	read_file(p, PURGE_NAMES_FILE, take_names, p->names,
		  "purges of other nodes may be applied twice");
	read_file(p, OUTBOX_FILE, take_outbox, p->outbox,
		  "purges of before that others lack are not sent again");
	read_file(p, JOURNAL_FILE, goes_on ? take_journal_live : take_journal, p->journal,
		  "the cache starts empty");
	p->outbox_saved = outbox_facts(p->outbox).changes;
	atomic_store(&p->names_changed, true);
}

/* ---- life ---------------------------------------------------------------------------------- */

struct purge_names *
fleet_purger_names(const struct fleet_purger *p)
{
	return p->names;
}

struct outbox *
fleet_purger_outbox(const struct fleet_purger *p)
{
	return p->outbox;
}

struct journal_state *
fleet_purger_journal(const struct fleet_purger *p)
{
	return p->journal;
}

const struct relay *
fleet_purger_relay(const struct fleet_purger *p)
{
	return &p->relay;
}

uint64_t
fleet_purger_last(const struct fleet_purger *p)
{
	return atomic_load(&p->last);
}

struct fleet_purger_facts
fleet_purger_facts(const struct fleet_purger *p)
{
	return (struct fleet_purger_facts){
		.heard = atomic_load(&p->count.heard),
		.skipped = atomic_load(&p->count.skipped),
		.unknown = atomic_load(&p->count.unknown),
		.invalidated = atomic_load(&p->count.invalidated),
		.refused = atomic_load(&p->count.refused),
	};
}

struct fleet_purger *
fleet_purger_create(const struct shelves *sh)
{
	struct fleet_purger *p = NEW(struct fleet_purger);
	p->sh = sh;
	p->names = purge_names_create((uint64_t)now_s() * 1000000);
	p->outbox = outbox_create(p->names);
	p->journal = journal_state_create();
	p->relay = (struct relay){tell, applied, p};
	p->end = &p->first;
	pthread_mutex_init(&p->lock, NULL);
	pthread_mutex_init(&p->files, NULL);
	pthread_cond_init(&p->wake, NULL);
	return p;
}

bool
fleet_purger_start(struct fleet_purger *p)
{
	if (!p->runs)
		p->runs = pthread_create(&p->thread, NULL, run, p) == 0;
	return p->runs;
}

void
fleet_purger_destroy(struct fleet_purger **pp)
{
	struct fleet_purger *p = *pp;
	*pp = NULL;
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stopping = true;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
	if (p->runs)
		pthread_join(p->thread, NULL);
	while (p->first) {
		struct fleet_news *n = p->first;
		p->first = n->next;
		fleet_news_done(n, false);
	}
	outbox_destroy(&p->outbox);
	journal_state_destroy(&p->journal);
	purge_names_destroy(&p->names);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->files);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
