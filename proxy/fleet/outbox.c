/* outbox.c - one open parcel of each sort, closed ones behind each other. */
#include "proxy/fleet/outbox.h"

#include "proxy/base/clock.h"
#include "proxy/base/le.h"
#include "proxy/base/mem.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static const uint32_t MAGIC = 0x314f5754; /* "TWO1" */

struct parcel_list {
	struct parcel *first, **end;
};

struct outbox {
	struct purge_names *names;
	pthread_mutex_t lock; /* of all that follows, parcels' references included */
	void (*wake)(void *ctx);
	void *wake_ctx;
	uint64_t self;
	bool woken;
	struct parcel_list waiting; /* lasting; the last one is open */
	struct parcel *passing;	    /* NULL: none */
	int64_t passing_ms;	    /* when it may go */
	struct parcel_list kept;
	struct outbox_facts facts;
};

/* ---- lists --------------------------------------------------------------------------------- */

static void
list_init(struct parcel_list *l)
{
	l->first = NULL;
	l->end = &l->first;
}

static void
list_add(struct parcel_list *l, struct parcel *p)
{
	p->next = NULL;
	*l->end = p;
	l->end = &p->next;
}

static void
list_remove(struct parcel_list *l, struct parcel *p)
{
	struct parcel **at = &l->first;
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	if (!*at)
		l->end = at;
	p->next = NULL;
}

static void
list_empty(struct parcel_list *l)
{
	while (l->first) {
		struct parcel *p = l->first;
		list_remove(l, p);
		parcel_unref(&p);
	}
}

/* ---- putting ------------------------------------------------------------------------------- */

static void
wake(struct outbox *o)
{
	if (!o->woken && o->wake)
		o->wake(o->wake_ctx);
	o->woken = true;
}

static void
put_passing(struct outbox *o, const struct purge_item *i, int64_t now)
{
	if (!o->passing) {
		o->passing = parcel_create(now_s());
		o->passing_ms = now + OUTBOX_GATHER_MS;
		wake(o);
	}
	o->facts.dropped += !parcel_add(o->passing, i);
}

static void
put_lasting(struct outbox *o, const struct purge_item *i)
{
	struct parcel *last = o->waiting.first;
	while (last && last->next)
		last = last->next;
	if (last && parcel_add(last, i))
		return;
	last = parcel_create(now_s());
	bool fits = parcel_add(last, i);
	assert(fits);
	list_add(&o->waiting, last);
}

uint64_t
outbox_put(struct outbox *o, const struct purge_item *what, int64_t now)
{
	struct purge_item i = *what;
	pthread_mutex_lock(&o->lock);
	i.number = 0;
	if (!o->self) {
		pthread_mutex_unlock(&o->lock);
		return 0;
	}
	if (i.name.n > PURGE_ITEM_NAME_MOST) {
		i.kind = PURGE_ITEM_EVERYTHING;
		i.name = STR("");
	}
	if (i.flags & PURGE_ITEM_PASSING) {
		put_passing(o, &i, now);
	} else {
		i.number = purge_names_take(o->names, o->self, now);
		put_lasting(o, &i);
		wake(o);
	}
	pthread_mutex_unlock(&o->lock);
	return i.number;
}

void
outbox_join(struct outbox *o, void (*to)(void *ctx), void *ctx, uint64_t self)
{
	pthread_mutex_lock(&o->lock);
	o->wake = to;
	o->wake_ctx = ctx;
	o->self = self;
	o->woken = false;
	if (to && (o->waiting.first || o->passing))
		wake(o);
	pthread_mutex_unlock(&o->lock);
}

void
outbox_expect(struct outbox *o, uint64_t self)
{
	pthread_mutex_lock(&o->lock);
	if (!o->self)
		o->self = self;
	pthread_mutex_unlock(&o->lock);
}

void
outbox_leave(struct outbox *o, const void *ctx)
{
	pthread_mutex_lock(&o->lock);
	if (o->wake_ctx == ctx)
		o->wake = NULL;
	pthread_mutex_unlock(&o->lock);
}

void
outbox_shut(struct outbox *o)
{
	pthread_mutex_lock(&o->lock);
	o->self = 0;
	list_empty(&o->waiting);
	parcel_unref(&o->passing);
	pthread_mutex_unlock(&o->lock);
}

/* ---- taking -------------------------------------------------------------------------------- */

/* Under the lock: what is too much becomes one purge of everything. */
static void
bound(struct outbox *o)
{
	if (o->facts.bytes <= OUTBOX_KEPT_MOST)
		return;
	uint64_t low = o->kept.first->low, high = 0;
	for (const struct parcel *p = o->kept.first; p; p = p->next)
		high = p->high > high ? p->high : high;
	list_empty(&o->kept);
	struct parcel *all = parcel_create(now_s());
	parcel_add(all, &(struct purge_item){
				.number = high, .kind = PURGE_ITEM_EVERYTHING, .name = STR("")});
	all->low = low;
	list_add(&o->kept, all);
	o->facts.parcels = 1;
	o->facts.bytes = all->items.n;
	o->facts.collapsed++;
}

struct parcel *
outbox_take(struct outbox *o, bool keeps)
{
	pthread_mutex_lock(&o->lock);
	struct parcel *p = o->waiting.first;
	o->woken = false;
	if (p) {
		list_remove(&o->waiting, p);
		if (keeps) {
			list_add(&o->kept, parcel_ref(p));
			o->facts.parcels++;
			o->facts.bytes += p->items.n;
			o->facts.changes++;
			bound(o);
		}
	}
	pthread_mutex_unlock(&o->lock);
	return p;
}

struct parcel *
outbox_take_passing(struct outbox *o, int64_t now, int64_t *due_ms)
{
	pthread_mutex_lock(&o->lock);
	struct parcel *p = o->passing;
	*due_ms = p ? o->passing_ms : 0;
	if (p && now < o->passing_ms)
		p = NULL;
	if (p)
		o->passing = NULL;
	pthread_mutex_unlock(&o->lock);
	return p;
}

struct parcel *
outbox_first(struct outbox *o)
{
	pthread_mutex_lock(&o->lock);
	struct parcel *p = o->kept.first;
	pthread_mutex_unlock(&o->lock);
	return p;
}

/* It may have become part of a purge of everything meanwhile. */
void
outbox_drop(struct outbox *o, struct parcel *p)
{
	pthread_mutex_lock(&o->lock);
	const struct parcel *k = o->kept.first;
	while (k && k != p)
		k = k->next;
	if (k) {
		list_remove(&o->kept, p);
		o->facts.parcels--;
		o->facts.bytes -= p->items.n;
		o->facts.changes++;
		parcel_unref(&p);
	}
	pthread_mutex_unlock(&o->lock);
}

struct outbox_facts
outbox_facts(struct outbox *o)
{
	pthread_mutex_lock(&o->lock);
	struct outbox_facts f = o->facts;
	pthread_mutex_unlock(&o->lock);
	return f;
}

/* ---- the file ------------------------------------------------------------------------------ */

/* u32 magic, u32 parcels; then of each: u64 made_s, u64 low, u32 bytes, u32 0, the items. */
void
outbox_write(struct outbox *o, struct buf *out)
{
	char head[24] = {0};
	pthread_mutex_lock(&o->lock);
	le_put32(head, MAGIC);
	le_put32(head + 4, (uint32_t)o->facts.parcels);
	buf_add(out, head, 8);
	for (const struct parcel *p = o->kept.first; p; p = p->next) {
		le_put64(head, (uint64_t)p->made_s);
		le_put64(head + 8, p->low);
		le_put32(head + 16, (uint32_t)p->items.n);
		le_put32(head + 20, 0);
		buf_add(out, head, 24);
		buf_add_str(out, buf_str(&p->items));
	}
	pthread_mutex_unlock(&o->lock);
}

/* NULL: it is damaged. */
static struct parcel *
read_parcel(struct str *s)
{
	struct purge_items_reader r;
	struct purge_item i;
	if (s->n < 24)
		return NULL;
	size_t n = le_get32(s->p + 16);
	if (s->n - 24 < n || n > PARCEL_BYTES_MOST ||
	    !purge_items_open(&r, (struct str){s->p + 24, n}))
		return NULL;
	struct parcel *p = parcel_create((int64_t)le_get64(s->p));
	while (purge_items_next(&r, &i))
		parcel_add(p, &i);
	p->low = le_get64(s->p + 8);
	*s = str_from(*s, 24 + n);
	return p;
}

int
outbox_read(struct outbox *o, struct str file)
{
	struct parcel_list found;
	list_init(&found);
	if (file.n < 8 || le_get32(file.p) != MAGIC)
		return -1;
	uint32_t left = le_get32(file.p + 4);
	file = str_from(file, 8);
	struct parcel *p = NULL;
	for (; left && (p = read_parcel(&file)); left--)
		list_add(&found, p);
	if (left || file.n) {
		list_empty(&found);
		return -1;
	}
	pthread_mutex_lock(&o->lock);
	while ((p = found.first)) {
		list_remove(&found, p);
		list_add(&o->kept, p);
		o->facts.parcels++;
		o->facts.bytes += p->items.n;
	}
	pthread_mutex_unlock(&o->lock);
	return 0;
}

/* ---- life ---------------------------------------------------------------------------------- */

struct outbox *
outbox_create(struct purge_names *names)
{
	struct outbox *o = NEW(struct outbox);
	o->names = names;
	pthread_mutex_init(&o->lock, NULL);
	list_init(&o->waiting);
	list_init(&o->kept);
	return o;
}

void
outbox_destroy(struct outbox **po)
{
	struct outbox *o = *po;
	*po = NULL;
	if (!o)
		return;
	list_empty(&o->waiting);
	list_empty(&o->kept);
	parcel_unref(&o->passing);
	pthread_mutex_destroy(&o->lock);
	free(o);
}
