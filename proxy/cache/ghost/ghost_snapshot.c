/* ghost_snapshot.c - a ghost as bytes, and back; and what became of its disk since then.
 *
 *	head    8 "TWghost4", 8 tag, 4 weight, 4 rows, 8 threshold,
 *		8 bytes from which on a record is large, 8 bytes of a segment,
 *		4 segments of the log, 4 entries of the open segment
 *	rows    32 each, all numbers in the machine's order:
 *	          an object   8 key, 8 bytes (48 bits), in how many segments more it lies (13 bits),
 *	                      in pieces, large, bodiless; 4 fresh_until, 4 validator, 4 url, 4 one
 *	          a segment   8 bytes in use, 8 earned, 4 generation, 4 is it open,
 *	                      4 bytes up to which records are small or zero, 4 zero
 *	sum     8 XXH3 of all before
 *
 * Segments come oldest first, each before its objects. A log of the same size goes on as the store
 * does after a restart: the same segments with the same objects and earnings, and nobody was hit.
 * Into a log of another size objects are put again in that order: what has no room is evicted as it
 * would have been.
 *
 * The journal has rows of both kinds. An object's size has 38 bits there; 2 behind it say what happened (enum
 * ghost_change), and 8 by how many segments it ends before the open one. A segment's is it open says whether it
 * was opened or emptied. So a replay comes to the same segments with the same objects.
 */
#include "proxy/cache/ghost/ghost_inside.h"

#include "proxy/base/mem.h"
#include "proxy/cache/store/segment.h"

#include <stdlib.h>
#include <string.h>

static const char MAGIC[8] = "TWghost4";
enum { MOST_WEIGHT = 1 << 30 };
enum { MOST_GENERATION = INT32_MAX };
static const uint64_t MOST_EARNED = UINT64_C(1) << 56;

struct head {
	char magic[8];
	uint64_t tag;
	uint32_t weight, rows;
	uint64_t threshold, large_bytes, segment_bytes;
	uint32_t limit, sealed;
};

static bool
is_segment(const struct ghost_row *row)
{
	return !row->host;
}

static uint64_t
bytes_of(const struct ghost_row *row)
{
	return row->bytes & ((UINT64_C(1) << ROW_BYTES_BITS) - 1);
}

static uint32_t
span_of(const struct ghost_row *row)
{
	return row->bytes >> ROW_BYTES_BITS & ROW_MOST_SPAN;
}

/* ---- out ----------------------------------------------------------------------------------- */

static int
by_generation(const void *a, const void *b)
{
	const struct ledger_slot *const *x = a, *const *y = b;
	return ((*x)->generation > (*y)->generation) - ((*x)->generation < (*y)->generation);
}

/* The open batch is closed when the store stops. */
static void
save_segment(const struct ghost *g, uint32_t n, struct buf *out)
{
	const struct ledger_slot *slot = &g->ledger.slots[n];
	bool is_open = slot->state == SEGMENT_OPEN;
	uint64_t batch = is_open && g->packing.used ? packing_closed_bytes(&g->packing) : 0;
	struct ghost_row segment = {slot->used + batch,
				    atomic_load(&g->ledger.earned[n]),
				    slot->generation,
				    is_open,
				    (uint32_t)g->ledger.small_bytes,
				    0};
	buf_add(out, (char *)&segment, sizeof segment);
	for (uint32_t i = g->segments[n]; i != GHOST_NONE; i = g->shades[i].next) {
		const struct shade *s = &g->shades[i];
		uint32_t span =
			s->last - s->first < ROW_MOST_SPAN ? s->last - s->first : ROW_MOST_SPAN;
		struct ghost_row row = ghost_row(s, span);
		buf_add(out, (char *)&row, sizeof row);
	}
}

void
ghost_snapshot_save(struct ghost *g, uint64_t tag, uint64_t most, struct buf *out)
{
	const struct ledger *l = &g->ledger;
	const struct ledger_slot **slots = mem_alloc((l->slots_n + 1) * sizeof *slots);
	uint32_t n = 0;
	for (uint32_t i = 0; i < l->slots_n; i++)
		if (l->slots[i].state >= SEGMENT_OPEN)
			slots[n++] = &l->slots[i];
	qsort(slots, n, sizeof *slots, by_generation);
	while (sizeof(struct head) + 8 + (n + (uint64_t)g->used) * sizeof(struct ghost_row) >
		       most &&
	       g->used && g->weight < MOST_WEIGHT)
		ghost_thin_out(g);
	struct head h = {.tag = tag,
			 .weight = g->weight,
			 .threshold = atomic_load(&g->threshold),
			 .large_bytes = atomic_load(&g->large_bytes),
			 .segment_bytes = l->segment_bytes,
			 .limit = l->limit,
			 .sealed = g->packing.sealed + g->packing.entries};
	memcpy(h.magic, MAGIC, sizeof MAGIC);
	size_t from = out->n;
	buf_add(out, (char *)&h, sizeof h);
	for (uint32_t i = 0; i < n; i++)
		save_segment(g, (uint32_t)(slots[i] - l->slots), out);
	h.rows = (uint32_t)((out->n - from - sizeof h) / sizeof(struct ghost_row));
	memcpy(out->p + from, &h, sizeof h);
	uint64_t sum = segment_checksum(out->p + from, out->n - from);
	buf_add(out, (char *)&sum, sizeof sum);
	free(slots);
}

/* ---- in ------------------------------------------------------------------------------------ */

static const char *
read_head(struct str bytes, uint64_t tag, struct head *h)
{
	uint64_t sum;
	if (bytes.n < sizeof *h + sizeof sum)
		return "it is cut short";
	memcpy(h, bytes.p, sizeof *h);
	memcpy(&sum, bytes.p + bytes.n - sizeof sum, sizeof sum);
	if (memcmp(h->magic, MAGIC, sizeof MAGIC) != 0)
		return "it is of another kind";
	if (sum != segment_checksum(bytes.p, bytes.n - sizeof sum))
		return "it is damaged";
	if (bytes.n != sizeof *h + sizeof sum + (uint64_t)h->rows * sizeof(struct ghost_row))
		return "it is damaged";
	bool power = h->weight && (h->weight & (h->weight - 1)) == 0;
	if (!power || h->weight > MOST_WEIGHT || h->threshold != UINT64_MAX / h->weight)
		return "it is damaged";
	return h->tag == tag ? NULL : "it belongs to another cache directory";
}

static struct ghost_row
row_at(struct str bytes, uint32_t i)
{
	struct ghost_row row;
	memcpy(&row, bytes.p + sizeof(struct head) + i * sizeof row, sizeof row);
	return row;
}

/* A log of the same size, of which nothing is used yet, and rows that can be taken as they are. */
static bool
is_same_log(const struct ghost *g, const struct head *h, struct str bytes)
{
	const struct ledger *l = &g->ledger;
	uint32_t segments = 0, generation = 0;
	bool any_open = false;
	if (h->segment_bytes != l->segment_bytes || h->limit != l->limit || l->generation ||
	    h->sealed > l->segment_bytes / SEGMENT_ENTRY_BYTES)
		return false;
	for (uint32_t i = 0; i < h->rows; i++) {
		struct ghost_row row = row_at(bytes, i);
		if (is_segment(&row) &&
		    (any_open || row.fresh_until <= generation ||
		     row.fresh_until > MOST_GENERATION || row.key > l->segment_bytes))
			return false;
		if (is_segment(&row)) {
			any_open = row.validator;
			generation = row.fresh_until;
			segments++;
		}
	}
	return segments <= l->limit;
}

/* The segment as it was; returns its slot. */
static uint32_t
load_segment(struct ghost *g, const struct ghost_row *row)
{
	struct ledger *l = &g->ledger;
	uint32_t slot = (uint32_t)ledger_absent(l);
	ledger_restore(l, slot, row->validator ? SEGMENT_OPEN : SEGMENT_SEALED, row->fresh_until,
		       row->key, 0);
	atomic_store(&l->earned[slot], row->bytes < MOST_EARNED ? row->bytes : MOST_EARNED);
	if (row->url)
		ledger_set_small(l, row->url);
	return slot;
}

/* May the object be there? *size: as which it is in the sample. */
static bool
is_sound(const struct ghost *g, const struct ghost_row *row, uint64_t *size)
{
	uint64_t bytes = bytes_of(row), log_bytes = g->ledger.segment_bytes * g->ledger.limit;
	bool large = row->bytes & ROW_LARGE;
	/* A head is large with its slices. */
	uint64_t least = large ? atomic_load(&g->large_bytes) : 0;
	*size = bytes > least ? bytes : least;
	return bytes >= RECORD_HEADER_BYTES && bytes <= log_bytes / (large ? 1 : g->weight) &&
	       !(large && least == UINT64_MAX) && ghost_samples(g, row->key, large ? *size : 0) &&
	       !ghost_holds(g, row->key);
}

/* segment: where it lay; GHOST_NONE: wherever there is room. */
static void
load_object(struct ghost *g, const struct ghost_row *row, uint32_t segment)
{
	uint64_t bytes = bytes_of(row), size;
	bool in_pieces = row->bytes & ROW_IN_PIECES, large = row->bytes & ROW_LARGE;
	if (!is_sound(g, row, &size))
		return;
	if (segment == GHOST_NONE) {
		segment = ghost_take(g, bytes, in_pieces, large ? 1 : g->weight);
	} else {
		g->took.first = g->ledger.slots[segment].generation;
		g->took.last = g->took.first + span_of(row);
	}
	if (segment == GHOST_NONE || g->ledger.slots[segment].state < SEGMENT_OPEN)
		return;
	ghost_add(g,
		  &(struct shade){.key = row->key,
				  .bytes = bytes,
				  .sampled_as = size,
				  .in_pieces = in_pieces,
				  .bodiless = row->bytes & ROW_BODILESS,
				  .large = large,
				  .fresh_until = row->fresh_until,
				  .validator = row->validator,
				  .url = row->url,
				  .host = row->host},
		  segment);
}

static void
load_same(struct ghost *g, const struct head *h, struct str bytes)
{
	uint32_t segment = GHOST_NONE;
	for (uint32_t i = 0; i < g->ledger.slots_n; i++)
		if (g->ledger.slots[i].state == SEGMENT_FREE)
			ledger_drop(&g->ledger, i); /* they may be in use in the snapshot */
	for (uint32_t i = 0; i < h->rows; i++) {
		struct ghost_row row = row_at(bytes, i);
		ghost_make_room(g);
		if (is_segment(&row))
			segment = load_segment(g, &row);
		else if (segment != GHOST_NONE)
			load_object(g, &row, segment);
	}
	g->packing.sealed = g->ledger.open >= 0 ? h->sealed : 0;
	ghost_free_segments(g);
}

/* So much of a segment belongs to no object. */
static uint64_t
dead_bytes(const struct head *h, struct str bytes, uint32_t i)
{
	uint64_t used = row_at(bytes, i).key;
	while (++i < h->rows) {
		struct ghost_row row = row_at(bytes, i);
		if (is_segment(&row))
			break;
		uint64_t part = bytes_of(&row) * (row.bytes & ROW_LARGE ? 1 : h->weight);
		used -= part < used ? part : used;
	}
	return used;
}

static void
load_anew(struct ghost *g, const struct head *h, struct str bytes)
{
	for (uint32_t i = 0; i < h->rows; i++) {
		struct ghost_row row = row_at(bytes, i);
		uint64_t dead = is_segment(&row) ? dead_bytes(h, bytes, i) : 0;
		ghost_make_room(g);
		if (is_segment(&row))
			ghost_take_dead(
				g, dead < g->ledger.segment_bytes ? dead : g->ledger.segment_bytes);
		else
			load_object(g, &row, GHOST_NONE);
	}
}

/* It is on the disk already, and was counted when it was written. */
static void
end_loading(struct ghost *g)
{
	ghost_age(g, UINT32_MAX);
	g->batch.overhead = g->batch.owed = 0;
	g->n = (struct ghost_stats){0};
}

const char *
ghost_snapshot_load(struct ghost *g, uint64_t tag, struct str bytes)
{
	struct head h;
	const char *why = read_head(bytes, tag, &h);
	if (why || !g->ledger.limit)
		return why;
	ghost_raise_large(g, h.large_bytes);
	while (g->weight < h.weight)
		ghost_halve(g);
	if (is_same_log(g, &h, bytes))
		load_same(g, &h, bytes);
	else
		load_anew(g, &h, bytes);
	end_loading(g);
	return NULL;
}

/* ---- the journal --------------------------------------------------------------------------- */

/* The segment of this generation, or GHOST_NONE. */
static uint32_t
segment_of(const struct ghost *g, uint32_t generation)
{
	for (uint32_t i = 0; i < g->ledger.slots_n; i++)
		if (g->ledger.slots[i].state >= SEGMENT_OPEN &&
		    g->ledger.slots[i].generation == generation)
			return i;
	return GHOST_NONE;
}

static void
replay_segment(struct ghost *g, const struct ghost_row *row)
{
	uint32_t segment = row->validator ? GHOST_NONE : segment_of(g, row->fresh_until);
	if (row->validator)
		ghost_open_segment(g);
	else if (segment != GHOST_NONE && g->ledger.slots[segment].state == SEGMENT_SEALED &&
		 g->ledger.free <= ledger_at_hand(&g->ledger))
		ghost_empty_segment(g, segment);
}

/* Room of the open segment, as far as it lies there. */
static void
use_room(struct ghost *g, uint64_t bytes, uint32_t back)
{
	uint64_t room = ledger_room(&g->ledger);
	if (!back && room)
		ledger_use(&g->ledger, bytes < room ? bytes : room);
}

static void
replay_put(struct ghost *g, struct ghost_row row)
{
	uint32_t back = row.bytes >> ROW_BACK_BITS & ROW_MOST_BACK, span = span_of(&row);
	row.bytes &=
		~(((UINT64_C(1) << (ROW_BYTES_BITS - ROW_CHANGE_BITS)) - 1) << ROW_CHANGE_BITS);
	uint32_t behind = back + span, now = g->ledger.generation;
	uint32_t segment = now > behind ? segment_of(g, now - behind) : GHOST_NONE;
	ghost_make_room(g);
	if (segment == GHOST_NONE || g->ledger.open < 0)
		return;
	uint32_t used = g->used;
	load_object(g, &row, segment);
	if (g->used == used)
		return;
	uint64_t copies = row.bytes & ROW_LARGE ? 1 : g->weight;
	use_room(g, bytes_of(&row) * copies / (behind + 1), back);
}

static void
replay(struct ghost *g, const struct ghost_row *row)
{
	if (is_segment(row)) {
		replay_segment(g, row);
		return;
	}
	struct shade *s = ghost_find(g, row->key);
	enum ghost_change what = row->bytes >> ROW_CHANGE_BITS & ROW_MOST_CHANGE;
	if (what == GHOST_NEW_HEAD && s) {
		s->fresh_until = row->fresh_until;
		s->validator = row->validator;
		use_room(g, GHOST_HEAD_BYTES * (uint64_t)ghost_weight(g, s), 0);
	} else if (s) {
		ghost_drop(g, (uint32_t)(s - g->shades));
	}
	if (what == GHOST_PUT)
		replay_put(g, *row);
}

void
ghost_journal_replay(struct ghost *g, struct str rows)
{
	struct ghost_row row;
	if (!g->ledger.limit)
		return;
	for (; rows.n >= sizeof row; rows = str_from(rows, sizeof row)) {
		memcpy(&row, rows.p, sizeof row);
		replay(g, &row);
	}
	ghost_free_segments(g);
	end_loading(g);
}
