/* store_scrub.c - everything that is stored is read and checked once in a while, at a bounded rate, so
 * that damage is found before somebody asks for it: what is damaged is forgotten, and fetched anew.
 *
 * A job on a reading thread goes from segment to segment, and from record to record as the segment's
 * table lists them; a body in pieces is checked with its record. It goes on as long as it has credit,
 * which grows with time; a piece may overdraw it. So it may stop between any two pieces, and
 * what it stands at may be gone when it goes on: then it is left out.
 *
 * What only the disk has does not stay in the page cache for having been checked. What is in the page
 * cache is checked there: it is from there that it is served, and checked each time.
 */
#include "proxy/cache/store/store_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"

enum { CREDIT_MOST = 1 << 20 };

void
store_scrub_fini(struct store *st)
{
	block_unref(&st->scrub.record);
	buf_fini(&st->scrub.table);
}

void
store_ask_for_scrub(struct store *st)
{
	struct store_scrub *s = &st->scrub;
	int64_t now = now_ms(), passed = now - s->filled_ms;
	if (!st->o.scrub_every_s || s->runs || st->closing)
		return;
	s->filled_ms = now;
	if (atomic_load(&st->health.failing) || passed <= 0)
		return;
	s->credit += (double)st->ledger.used / (double)st->o.scrub_every_s * (double)passed / 1000;
	s->credit = s->credit < CREDIT_MOST ? s->credit : CREDIT_MOST;
	if (s->credit < 1)
		return;
	s->runs = true;
	diskio_post(st->io, DISKIO_READS, &s->job);
}

/* ---- on a reading thread, without the lock ------------------------------------------------- */

static void
charge(struct store *st, uint64_t bytes)
{
	st->scrub.credit -= (double)bytes;
	atomic_fetch_add_explicit(&st->counts.scrubbed_bytes, bytes, memory_order_relaxed);
}

static enum store_read
read_and_let_go(struct store *st, const struct locator *at, struct block **out)
{
	uint64_t offset = (uint64_t)at->offset * SEGMENT_ALIGN;
	enum store_read got = store_read_now(st, at, out);
	if (got == STORE_LATER) {
		/* Its pages may be there all the same: they were locked for a moment, or memory was short. */
		bool was_here = store_is_cached(st, at->segment, offset, at->bytes);
		store_unchecked(st, at);
		got = store_read(st, at, out);
		if (!was_here)
			st->o.ops->let_go(atomic_load(&st->slots.fds[at->segment]), (off_t)offset,
					  at->bytes);
	}
	charge(st, at->bytes);
	return got;
}

static void
done_with_record(struct store_scrub *s)
{
	block_unref(&s->record);
	s->fragment = 0;
	s->entry++;
}

/* Nobody is to find out by asking for it. */
static void
is_damaged(struct store *st, const struct locator *at, uint64_t hash_hi)
{
	if (!store_is_current(st, at))
		return; /* it was overwritten while we read */
	store_forget(st, (struct twice_key_hash){.hi = hash_hi}, at);
	if (atomic_fetch_add(&st->counts.scrub_damaged, 1) == 0)
		log_warning("cache %s: the check in the background found a damaged object in "
			    "segment.%05u at byte %llu. It is fetched anew when it is asked for; "
			    "disk.scrub_damaged counts further ones: if it grows, check the disk "
			    "(dmesg, smartctl)",
			    st->o.dir, at->segment, (unsigned long long)at->offset * SEGMENT_ALIGN);
}

/* Of the record at hand, the next piece of its body. */
static void
check_fragment(struct store *st, const struct entry *e)
{
	struct store_scrub *s = &st->scrub;
	struct record r;
	struct block *b = NULL;
	if (record_parse(s->record->p, s->record->n, &r) || s->fragment >= r.fragments_n) {
		done_with_record(s);
		return;
	}
	struct fragment f = fragment_get(r.fragments, s->fragment++);
	enum store_read got = read_and_let_go(st, &f.at, &b);
	bool right = got == STORE_READ && b->n == f.at.bytes &&
		     segment_checksum(b->p, b->n) == f.checksum;
	block_unref(&b);
	if (right)
		return;
	if (got != STORE_GONE && store_is_current(st, &f.at))
		is_damaged(st, &r.at, e->hash_hi);
	done_with_record(s);
}

/* The record of the entry, if the index still means it. */
static void
check_record(struct store *st, const struct entry *e)
{
	struct store_scrub *s = &st->scrub;
	struct locator at;
	struct record r;
	struct twice_key_hash hash = {.hi = e->hash_hi};
	if (!entry_is_record(e) || !store_look(st, hash, &at) || at.segment != s->slot ||
	    at.generation != s->generation || at.offset != e->offset) {
		s->entry++;
		return;
	}
	enum store_read got = read_and_let_go(st, &at, &s->record);
	bool right = got == STORE_READ && !record_parse(s->record->p, s->record->n, &r) &&
		     locator_equal(&r.at, &at) && record_body_is_right(&r);
	if (!right && got != STORE_GONE)
		is_damaged(st, &at, e->hash_hi);
	if (!right)
		done_with_record(s);
}

/* The next segment that is sealed, and its table. False: there is none. */
static bool
next_segment(struct store *st)
{
	struct store_scrub *s = &st->scrub;
	for (uint32_t i = 0; i < st->ledger.slots_n; i++) {
		s->slot = (s->slot + 1) % st->ledger.slots_n;
		pthread_mutex_lock(&st->lock);
		const struct ledger_slot *slot = &st->ledger.slots[s->slot];
		bool sealed = slot->state == SEGMENT_SEALED;
		s->generation = slot->generation;
		pthread_mutex_unlock(&st->lock);
		s->entry = s->table.n = 0;
		if (sealed && store_read_table(st, s->slot, s->generation, &s->table)) {
			charge(st, s->table.n);
			return true;
		}
	}
	return false;
}

static bool
goes_on(struct store *st)
{
	pthread_mutex_lock(&st->lock);
	bool yes = !st->closing && st->duty == STORE_WORKS && st->scrub.credit > 0;
	pthread_mutex_unlock(&st->lock);
	return yes;
}

static void
scrub(struct diskio_job *j)
{
	struct store *st = (struct store *)((char *)j - offsetof(struct store, scrub.job));
	struct store_scrub *s = &st->scrub;
	while (goes_on(st)) {
		if (s->entry * SEGMENT_ENTRY_BYTES >= s->table.n) {
			if (!next_segment(st))
				break;
			continue;
		}
		struct entry e = entry_get(s->table.p, (uint32_t)s->entry);
		if (s->record)
			check_fragment(st, &e);
		else
			check_record(st, &e);
	}
	pthread_mutex_lock(&st->lock);
	s->runs = false;
	pthread_mutex_unlock(&st->lock);
}

void
store_scrub_init(struct store *st)
{
	struct store_scrub *s = &st->scrub;
	s->job.run = scrub;
	s->slot = (uint32_t)(st->opening % st->ledger.slots_n); /* restarts leave nothing out */
	s->filled_ms = now_ms();
}
