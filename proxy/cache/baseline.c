/* baseline.c - the ghost: the ledger with sizes for bytes, and who would lie in which segment.
 *
 * A sampled key stands for weight keys: its record takes weight times its bytes of the ghost's log,
 * so the log itself keeps its real size. When there are too many entries the sample is halved and
 * the weight doubles; what the dropped half took in the log stays taken until its segment goes.
 */
#include "proxy/cache/baseline.h"

#include "proxy/base/mem.h"
#include "proxy/cache/ledger.h"
#include "proxy/cache/segment.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	FIRST_ENTRIES = 1024,
	MAX_ENTRIES = 1 << 20,
	NONE = UINT32_MAX,
	/* A 304 makes the store write a head that points to the old body. */
	REFRESH_RECORD_BYTES = 640,
	CARRIED_BODY_BYTES = 256 << 10, /* larger ones are in fragments, which stay behind */
};

struct ghost {
	uint64_t hash;
	uint64_t bytes;
	int64_t fresh_until;
	uint32_t prev, next; /* of the same segment; free ones by next */
	uint32_t segment;
	bool used, hit;
};

struct baseline {
	struct baseline_options o;
	_Atomic uint64_t threshold; /* keys with a hash below it are in the sample */
	_Atomic uint32_t weight;

	pthread_mutex_t lock; /* everything below */
	struct ledger ledger;
	struct ghost *ghosts;
	uint32_t ghosts_n, used, free;
	uint32_t *table;    /* ghost or NONE; open addressing, 2 * ghosts_n slots */
	uint32_t *segments; /* first ghost of each, or NONE */
	uint64_t written, hits, misses;
};

/* ---- table --------------------------------------------------------------------------------- */

static uint32_t
table_mask(const struct baseline *b)
{
	return 2 * b->ghosts_n - 1;
}

/* The slot with this hash, or the empty one where it would go. The high bits choose the sample, so
 * the low ones choose the slot. */
static uint32_t
slot_of(const struct baseline *b, uint64_t hash)
{
	uint32_t i = (uint32_t)hash & table_mask(b);
	while (b->table[i] != NONE && b->ghosts[b->table[i]].hash != hash)
		i = (i + 1) & table_mask(b);
	return i;
}

static void
erase_slot(struct baseline *b, uint32_t hole)
{
	uint32_t mask = table_mask(b), i = hole;
	for (;;) {
		i = (i + 1) & mask;
		if (b->table[i] == NONE)
			break;
		uint32_t home = (uint32_t)b->ghosts[b->table[i]].hash & mask;
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			b->table[hole] = b->table[i];
			hole = i;
		}
	}
	b->table[hole] = NONE;
}

static void
make_table(struct baseline *b, uint32_t ghosts_n)
{
	uint32_t old_n = b->ghosts_n;
	b->ghosts = mem_realloc(b->ghosts, ghosts_n * sizeof *b->ghosts);
	b->ghosts_n = ghosts_n;
	for (uint32_t i = old_n; i < ghosts_n; i++) {
		b->ghosts[i] = (struct ghost){.next = b->free};
		b->free = i;
	}
	free(b->table);
	b->table = mem_alloc(2 * ghosts_n * sizeof *b->table);
	memset(b->table, 0xff, 2 * ghosts_n * sizeof *b->table);
	for (uint32_t i = 0; i < old_n; i++)
		if (b->ghosts[i].used)
			b->table[slot_of(b, b->ghosts[i].hash)] = i;
}

/* ---- ghosts and their segments ------------------------------------------------------------- */

static void
leave_segment(struct baseline *b, uint32_t i)
{
	struct ghost *g = &b->ghosts[i];
	if (g->prev == NONE)
		b->segments[g->segment] = g->next;
	else
		b->ghosts[g->prev].next = g->next;
	if (g->next != NONE)
		b->ghosts[g->next].prev = g->prev;
}

static void
join_segment(struct baseline *b, uint32_t i, uint32_t segment)
{
	struct ghost *g = &b->ghosts[i];
	g->segment = segment;
	g->prev = NONE;
	g->next = b->segments[segment];
	if (g->next != NONE)
		b->ghosts[g->next].prev = i;
	b->segments[segment] = i;
}

static void
release(struct baseline *b, uint32_t i)
{
	struct ghost *g = &b->ghosts[i];
	erase_slot(b, slot_of(b, g->hash));
	*g = (struct ghost){.next = b->free};
	b->free = i;
	b->used--;
}

static void
forget(struct baseline *b, uint32_t i)
{
	leave_segment(b, i);
	release(b, i);
}

/* ---- the log ------------------------------------------------------------------------------- */

static uint64_t
weighed(const struct baseline *b, uint64_t bytes)
{
	return bytes * atomic_load(&b->weight);
}

static void free_segments(struct baseline *b);

static bool
open_segment(struct baseline *b)
{
	if (b->ledger.open >= 0)
		ledger_seal(&b->ledger);
	bool yes = ledger_open_next(&b->ledger);
	free_segments(b);
	return yes;
}

/* Takes room in the log, over several segments if it must; the segment where it starts is where the
 * object lies, for it goes with its oldest part. */
static uint32_t
place(struct baseline *b, uint64_t bytes)
{
	uint32_t first = NONE;
	uint64_t left = weighed(b, bytes), most = b->ledger.segment_bytes * b->ledger.limit / 4;
	b->written += left;
	left = left < most ? left : most; /* a few large ones of great weight do not flush it */
	bool in_parts = left > CARRIED_BODY_BYTES;
	while (left) {
		uint64_t room = ledger_room(&b->ledger);
		if (room < (in_parts ? 1 : left) && !open_segment(b))
			return NONE;
		room = ledger_room(&b->ledger);
		uint64_t part = left < room ? left : room;
		if (first == NONE)
			first = (uint32_t)b->ledger.open;
		ledger_use(&b->ledger, part);
		left -= part;
	}
	return first;
}

static void
empty_segment(struct baseline *b, uint32_t segment)
{
	uint32_t i = b->segments[segment];
	b->segments[segment] = NONE;
	uint64_t carried = 0;
	while (i != NONE) {
		struct ghost *g = &b->ghosts[i];
		uint32_t next = g->next, to = NONE;
		uint64_t bytes = weighed(b, g->bytes);
		if (g->bytes <= CARRIED_BODY_BYTES && bytes <= ledger_room(&b->ledger) &&
		    ledger_carries(&b->ledger, g->hit, bytes, carried)) {
			carried += bytes;
			to = place(b, g->bytes);
		}
		if (to == NONE) {
			release(b, i);
		} else {
			g->hit = false;
			join_segment(b, i, to);
		}
		i = next;
	}
	ledger_free(&b->ledger, segment);
}

static void
free_segments(struct baseline *b)
{
	while (ledger_wants_free(&b->ledger)) {
		int64_t absent = ledger_absent(&b->ledger);
		int64_t victim = absent < 0 ? ledger_victim(&b->ledger) : -1;
		if (absent >= 0)
			ledger_add(&b->ledger, (uint32_t)absent);
		else if (victim >= 0)
			empty_segment(b, (uint32_t)victim);
		else
			return;
	}
}

/* ---- the sample ---------------------------------------------------------------------------- */

static bool
is_sampled(const struct baseline *b, uint64_t hash)
{
	return hash <= atomic_load_explicit(&b->threshold, memory_order_relaxed);
}

static void
halve_sample(struct baseline *b)
{
	atomic_store(&b->threshold, atomic_load(&b->threshold) / 2);
	atomic_store(&b->weight, atomic_load(&b->weight) * 2);
	for (uint32_t i = 0; i < b->ghosts_n; i++)
		if (b->ghosts[i].used && !is_sampled(b, b->ghosts[i].hash))
			forget(b, i);
}

static void
make_room(struct baseline *b)
{
	if (b->used < b->ghosts_n)
		return;
	if (2 * b->ghosts_n <= b->o.max_entries)
		make_table(b, 2 * b->ghosts_n);
	while (b->used == b->ghosts_n)
		halve_sample(b);
}

/* ---- the door ------------------------------------------------------------------------------ */

int
baseline_create(struct baseline **out, const struct baseline_options *o)
{
	struct baseline *b = NEW(struct baseline);
	b->o = *o;
	if (!b->o.max_entries)
		b->o.max_entries = MAX_ENTRIES;
	uint64_t log_bytes = ledger_log_bytes(o->disk_bytes, o->reserve_bytes);
	uint64_t segment = o->segment_bytes ? o->segment_bytes : ledger_segment_bytes(log_bytes);
	uint32_t n = (uint32_t)(log_bytes / segment);
	if (!b->o.max_object_bytes || b->o.max_object_bytes > log_bytes / 8)
		b->o.max_object_bytes = log_bytes / 8;
	atomic_init(&b->threshold, UINT64_MAX);
	atomic_init(&b->weight, 1);
	pthread_mutex_init(&b->lock, NULL);
	ledger_init(&b->ledger, n, n, segment);
	b->segments = mem_alloc(n * sizeof *b->segments);
	memset(b->segments, 0xff, n * sizeof *b->segments);
	b->free = NONE;
	make_table(b, o->max_entries && o->max_entries < FIRST_ENTRIES ? 64 : FIRST_ENTRIES);
	free_segments(b);
	*out = b;
	return 0;
}

void
baseline_destroy(struct baseline **pb)
{
	struct baseline *b = *pb;
	*pb = NULL;
	if (!b)
		return;
	ledger_fini(&b->ledger);
	pthread_mutex_destroy(&b->lock);
	free(b->ghosts);
	free(b->table);
	free(b->segments);
	free(b);
}

/* Would fetch it and write it, over what it held. */
static void
write_anew(struct baseline *b, uint32_t slot, const struct baseline_request *r)
{
	uint64_t hash = r->hash.hi;
	if (b->table[slot] != NONE)
		forget(b, b->table[slot]);
	if (r->record_bytes > b->o.max_object_bytes)
		return;
	make_room(b);
	if (!is_sampled(b, hash))
		return;
	uint32_t segment = place(b, r->record_bytes);
	if (segment == NONE || b->ledger.slots[segment].state == SEGMENT_FREE)
		return;
	uint32_t i = b->free;
	b->free = b->ghosts[i].next;
	b->used++;
	b->ghosts[i] = (struct ghost){.hash = hash,
				      .bytes = r->record_bytes,
				      .fresh_until = r->fresh_until,
				      .used = true};
	b->table[slot_of(b, hash)] = i;
	join_segment(b, i, segment);
}

static enum baseline_answer
answer(struct baseline *b, const struct baseline_request *r)
{
	uint32_t slot = slot_of(b, r->hash.hi), weight = atomic_load(&b->weight);
	struct ghost *g = b->table[slot] == NONE ? NULL : &b->ghosts[b->table[slot]];
	if (g && (r->validated || r->now < g->fresh_until)) {
		g->hit = true;
		if (r->validated) {
			g->fresh_until = r->fresh_until;
			place(b, REFRESH_RECORD_BYTES);
		}
		b->hits += weight;
		return BASELINE_HIT;
	}
	b->misses += weight;
	write_anew(b, slot, r);
	return BASELINE_MISS;
}

enum baseline_answer
baseline_request(struct baseline *b, const struct baseline_request *r)
{
	if (!b->ledger.limit || !is_sampled(b, r->hash.hi))
		return BASELINE_UNKNOWN;
	pthread_mutex_lock(&b->lock);
	enum baseline_answer a = answer(b, r);
	pthread_mutex_unlock(&b->lock);
	return a;
}

void
baseline_remove(struct baseline *b, struct key_hash hash)
{
	if (!b->ledger.limit || !is_sampled(b, hash.hi))
		return;
	pthread_mutex_lock(&b->lock);
	uint32_t i = b->table[slot_of(b, hash.hi)];
	if (i != NONE)
		forget(b, i);
	pthread_mutex_unlock(&b->lock);
}

void
baseline_stats(struct baseline *b, struct baseline_stats *out)
{
	pthread_mutex_lock(&b->lock);
	*out = (struct baseline_stats){
		.written_bytes = b->written,
		.hits = b->hits,
		.misses = b->misses,
		.sample_share = 1.0 / atomic_load(&b->weight),
		.entries = b->used,
		.memory_bytes = sizeof *b +
				b->ghosts_n * (sizeof *b->ghosts + 2 * sizeof *b->table) +
				b->ledger.slots_n * (sizeof *b->ledger.slots + sizeof *b->segments),
	};
	pthread_mutex_unlock(&b->lock);
}

double
baseline_weight(const struct baseline *b)
{
	return atomic_load_explicit(&b->weight, memory_order_relaxed);
}
