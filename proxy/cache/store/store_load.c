/* store_load.c - the records that segments list enter the index, when the store is opened.
 *
 * Few enough are read at once; more, while the store is in use: a few reading threads take the sealed
 * segments one by one, the newest first. Until the last one is read nothing is appended, and what lies
 * in a segment is believed when all newer ones are read: what replaced it would be there.
 *
 * Nothing here trusts a number that no checksum covers, and a record is only believed when it is
 * read (segment.h): a wrong entry costs a miss.
 */
#include "proxy/cache/store/store_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum { AT_ONCE = 1 << 20 }; /* entries, which take less than half a second */

/* ---- reading ------------------------------------------------------------------------------- */

bool
store_read_header(const struct store *st, int fd, uint64_t at, struct batch_header *out)
{
	char bytes[SEGMENT_HEADER_BYTES];
	return diskio_read_all(st->o.ops, fd, bytes, sizeof bytes, at) == 0 &&
	       batch_header_parse(bytes, sizeof bytes, out);
}

bool
store_is_batch_at(const struct store *st, const struct batch_header *h, uint32_t slot, uint64_t at)
{
	return !h->is_footer && h->segment == slot && h->generation != 0 &&
	       (uint64_t)h->page * SEGMENT_PAGE == at && h->bytes <= st->o.segment_bytes - at;
}

/* Appends the table that h, whose bytes begin at from, speaks of. False: it is damaged. */
static bool
add_table(const struct store *st, int fd, const struct batch_header *h, uint64_t from,
	  struct buf *table)
{
	size_t n = (size_t)h->entries * SEGMENT_ENTRY_BYTES;
	char *to = buf_room(table, n + 1);
	if (diskio_read_all(st->o.ops, fd, to, n, from + h->table_at) != 0 ||
	    segment_checksum(to, n) != h->table_checksum)
		return false;
	buf_added(table, n);
	return true;
}

bool
store_read_table(const struct store *st, uint32_t segment, uint32_t generation, struct buf *table)
{
	struct batch_header h;
	int fd = atomic_load(&st->slots.fds[segment]);
	uint64_t end = st->o.segment_bytes;
	return store_read_header(st, fd, end - SEGMENT_HEADER_BYTES, &h) && h.is_footer &&
	       h.segment == segment && h.generation == generation && h.bytes <= end &&
	       add_table(st, fd, &h, end - h.bytes, table);
}

static bool
list_entry(void *ctx, const struct index_entry *e)
{
	struct buf *table = ctx;
	struct entry as = {e->hash_hi, e->at.offset, e->at.bytes, ENTRY_RECORD};
	entry_put(buf_room(table, SEGMENT_ENTRY_BYTES), 0, &as);
	buf_added(table, SEGMENT_ENTRY_BYTES);
	return true;
}

bool
store_list_records(const struct store *st, uint32_t segment, uint32_t generation, uint32_t code,
		   struct buf *table)
{
	if (store_read_table(st, segment, generation, table))
		return true;
	index_sweep(st->index, segment, code, list_entry, table);
	return false;
}

/* Its records are lost for now, and may be back at the next start: those that were forgotten meanwhile are known
 * by time, and each new one is forgotten before it goes, as it might have replaced one of them. */
void
store_cannot_restore(struct store *st, uint32_t slot, int error)
{
	store_may_return(st);
	log_warning("cache %s: cannot read segment.%05u: %s. Its objects are fetched anew; if this "
		    "is said again, check the disk (dmesg, smartctl) or name another cache.dir",
		    st->o.dir, slot, strerror(error));
}

/* ---- entering ------------------------------------------------------------------------------ */

struct entering {
	const struct store *st;
	uint32_t generation;
};

/* A record of an older segment does, and one that stands before it in the same. */
static bool
gives_way(void *ctx, const struct locator *there)
{
	const struct entering *e = ctx;
	return store_generation(e->st, there->segment) <= e->generation;
}

/* Returns how many records replaced older ones. */
static uint32_t
enter(struct store *st, uint32_t slot, uint32_t generation, const char *table, size_t entries)
{
	struct entering from = {st, generation};
	uint32_t replaced = 0;
	for (size_t i = 0; i < entries; i++) {
		struct entry e = entry_get(table, (uint32_t)i);
		struct locator at = {slot, 0, e.offset, e.bytes}; /* all codes begin at 0 */
		uint64_t end = (uint64_t)e.offset * SEGMENT_ALIGN + e.bytes;
		if (entry_is_record(&e) && e.bytes >= RECORD_HEADER_BYTES &&
		    e.bytes <= RECORD_MAX_BYTES && end <= st->o.segment_bytes) {
			index_load(st->index, e.hash_hi, &at, gives_way, &from);
			replaced += (e.what & ENTRY_REPLACES) != 0;
		}
	}
	return replaced;
}

void
store_walk(struct store *st, struct store_walk *w, struct buf *all)
{
	struct batch_header h;
	struct buf table = {0};
	int fd = atomic_load(&st->slots.fds[w->slot]);
	w->clean_as_of = UINT64_MAX;
	errno = 0;
	while (w->end < st->o.segment_bytes && store_read_header(st, fd, w->end, &h) &&
	       store_is_batch_at(st, &h, w->slot, w->end) && h.generation == w->generation &&
	       h.link == w->link) {
		table.n = 0;
		if (!add_table(st, fd, &h, w->end, &table))
			break;
		w->replaced += enter(st, w->slot, w->generation, table.p, h.entries);
		if (all)
			buf_add(all, table.p, table.n);
		w->clean_as_of = h.clean_as_of < w->clean_as_of ? h.clean_as_of : w->clean_as_of;
		w->end += h.bytes;
		w->link = h.seal;
		errno = 0;
	}
	w->error = errno;
	buf_fini(&table);
}

/* A footer whose table is damaged may be behind batches that are not. */
static uint32_t
load_segment(struct store *st, const struct store_unread *u, struct buf *table)
{
	table->n = 0;
	errno = 0;
	if (store_read_table(st, u->slot, u->generation, table))
		return enter(st, u->slot, u->generation, table->p, table->n / SEGMENT_ENTRY_BYTES);
	int error = errno;
	struct store_walk w = {.slot = u->slot, .generation = u->generation};
	store_walk(st, &w, NULL);
	if (error || w.error)
		store_cannot_restore(st, u->slot, error ? error : w.error);
	return w.replaced;
}

/* ---- in order ------------------------------------------------------------------------------ */

/* Those that are read and newer than all that are not may be believed. */
static void
believe(struct store *st)
{
	struct store_unread_list *l = &st->unread;
	while (l->known > 0 && l->list[l->known - 1].is_read)
		l->known--;
	atomic_store_explicit(&st->known_from, l->known ? l->list[l->known - 1].generation + 1 : 0,
			      memory_order_release);
}

/* Takes the newest segment that nobody has taken. False: there is none, or the store closes. */
static bool
load_one(struct store *st, struct buf *table)
{
	struct store_unread_list *l = &st->unread;
	pthread_mutex_lock(&st->lock);
	bool yes = !st->closing && l->next > 0;
	uint32_t i = yes ? --l->next : 0;
	pthread_mutex_unlock(&st->lock);
	if (!yes)
		return false;
	uint32_t replaced = load_segment(st, &l->list[i], table);
	pthread_mutex_lock(&st->lock);
	assert(!l->list[i].is_read && i < l->known);
	l->list[i].is_read = true;
	st->ledger.slots[l->list[i].slot].replaced = replaced;
	believe(st);
	pthread_mutex_unlock(&st->lock);
	return true;
}

/* Nobody buries any more: known_from is 0. */
static void
end_loading(struct store *st)
{
	index_unbury(st->index);
	log_info("cache %s: all of its %llu objects are known after %.1f s", st->o.dir,
		 (unsigned long long)index_count(st->index),
		 (double)(now_ms() - st->unread.began_ms) / 1000);
	atomic_fetch_sub(st->o.unread, 1);
}

struct store_loader {
	struct diskio_job job; /* first */
	struct store *store;
	struct buf table;
};

static void
load_on_thread(struct diskio_job *j)
{
	struct store_loader *loader = (struct store_loader *)j;
	struct store *st = loader->store;
	bool more = load_one(st, &loader->table);
	pthread_mutex_lock(&st->lock);
	more = more && !st->closing;
	if (more) /* not behind diskio_stop */
		diskio_post(st->io, DISKIO_READS, j);
	bool is_last = !more && --st->unread.loaders == 0 && st->unread.known == 0;
	pthread_mutex_unlock(&st->lock);
	if (more)
		return;
	buf_fini(&loader->table);
	free(loader);
	if (is_last)
		end_loading(st);
}

void
store_load_later(struct store *st, uint32_t slot, uint32_t generation, uint32_t entries)
{
	struct store_unread_list *l = &st->unread;
	assert(!l->n || l->list[l->n - 1].generation <= generation);
	l->list = mem_realloc(l->list, (l->n + 1) * sizeof *l->list);
	l->list[l->n++] = (struct store_unread){slot, generation, false};
	l->entries += entries;
}

void
store_load_begin(struct store *st)
{
	struct store_unread_list *l = &st->unread;
	struct buf table = {0};
	l->known = l->next = l->n;
	l->began_ms = now_ms();
	believe(st);
	if (l->entries <= (st->o.load_at_once ? st->o.load_at_once : AT_ONCE))
		while (load_one(st, &table))
			continue;
	buf_fini(&table);
	if (l->known)
		atomic_fetch_add(st->o.unread, 1);
}

void
store_load_go_on(struct store *st, unsigned threads)
{
	struct store_unread_list *l = &st->unread;
	unsigned n = l->known < threads ? l->known : threads;
	pthread_mutex_lock(&st->lock);
	l->loaders = n;
	if (n)
		log_info("cache %s: %llu records are being read; until all are known nothing is "
			 "stored",
			 st->o.dir, (unsigned long long)l->entries);
	for (unsigned i = 0; i < n; i++) {
		struct store_loader *loader = NEW(struct store_loader);
		*loader = (struct store_loader){.job = {NULL, load_on_thread}, .store = st};
		diskio_post(st->io, DISKIO_READS, &loader->job);
	}
	pthread_mutex_unlock(&st->lock);
}

bool
store_unindex(struct store *st, uint64_t hash_hi, const struct locator *at)
{
	if (store_known_from(st) == 0)
		return at ? index_remove_at(st->index, hash_hi, at)
			  : index_remove(st->index, hash_hi);
	pthread_mutex_lock(&st->lock);
	bool buries = atomic_load(&st->known_from) != 0, was_there;
	if (buries)
		was_there = index_bury(st->index, hash_hi, at) || !at;
	else
		was_there = at ? index_remove_at(st->index, hash_hi, at)
			       : index_remove(st->index, hash_hi);
	pthread_mutex_unlock(&st->lock);
	return was_there;
}
