/* ghost_log.c - the ghost's log: the ledger and the packing of the store, with sizes for bytes, and
 * who lies in which segment.
 *
 * A shade of weight w takes its place w times, as the w objects that it stands for would: so
 * batches, segments and what they waste keep their real sizes.
 */
#include "proxy/cache/ghost/ghost_inside.h"

#include "proxy/cache/store/index.h"
#include "proxy/cache/store/segment.h"

enum {
	NONE = GHOST_NONE,
	TABLES_BYTES = 2 * SEGMENT_ENTRY_BYTES, /* that cache_record_bytes counts for an object */
	BATCH_AGE_S = 1,
	HEADS_AT_ONCE = 1 << 16,
};

/* ---- batches and segments ------------------------------------------------------------------ */

/* Written bytes are told as they are, and never as fewer again: an excess that was charged is
 * left off later ones. */
static void
add_overhead(struct ghost *g, int64_t bytes)
{
	int64_t sum = bytes + g->batch.owed;
	g->batch.overhead += sum > 0 ? sum : 0;
	g->batch.owed = sum < 0 ? sum : 0;
}

/* The bytes of a batch beyond its records are known when it is closed. */
static void
close_batch(struct ghost *g)
{
	uint64_t all = packing_closed_bytes(&g->packing);
	if (!g->packing.used)
		return;
	ledger_use(&g->ledger, all);
	add_overhead(g, (int64_t)(all - g->batch.charged));
	g->batch.charged = 0;
	g->packing.sealed += g->packing.entries;
	g->packing.used = g->packing.entries = 0;
}

static void
seal(struct ghost *g)
{
	add_overhead(g, (int64_t)footer_bytes(g->packing.sealed));
	g->packing.sealed = 0;
	ledger_seal(&g->ledger);
}

/* One free segment more. */
static bool
free_one(struct ghost *g)
{
	int64_t absent = ledger_absent(&g->ledger);
	int64_t victim = absent < 0 ? ledger_victim(&g->ledger) : -1;
	if (absent >= 0)
		ledger_add(&g->ledger, (uint32_t)absent);
	else if (victim >= 0)
		ghost_empty_segment(g, (uint32_t)victim);
	return absent >= 0 || victim >= 0;
}

void
ghost_free_segments(struct ghost *g)
{
	while (ledger_wants_free(&g->ledger) && free_one(g))
		continue;
}

void
ghost_open_segment(struct ghost *g)
{
	close_batch(g);
	if (g->ledger.open >= 0)
		seal(g);
	if (g->ledger.free || free_one(g))
		ledger_open_next(&g->ledger);
}

static bool
fits(const struct ghost *g, uint64_t bytes)
{
	return packing_fits(&g->packing, ledger_room(&g->ledger), bytes);
}

/* As the store does: closes, seals and opens as needed. While a segment is emptied, whoever empties
 * it makes room. */
static bool
make_fit(struct ghost *g, uint64_t bytes)
{
	if (g->packing.used && fits(g, bytes))
		return true;
	close_batch(g);
	if (g->ledger.open >= 0 && !fits(g, bytes))
		seal(g);
	if (g->ledger.open < 0) {
		if (!ledger_open_next(&g->ledger))
			return false;
		ghost_note_segment(g, g->ledger.generation, true);
		if (!g->is_emptying)
			ghost_free_segments(g);
	}
	return fits(g, bytes);
}

void
ghost_age(struct ghost *g, uint32_t now_s)
{
	g->now_s = now_s;
	if (g->packing.used && now_s > g->batch.born_s + BATCH_AGE_S)
		close_batch(g);
	if (!g->packing.used)
		g->batch.born_s = now_s;
}

uint64_t
ghost_turn_bytes(const struct ghost *g)
{
	return ledger_absent(&g->ledger) < 0 ? g->ledger.exist * g->ledger.segment_bytes : 0;
}

/* ---- taking room --------------------------------------------------------------------------- */

/* A segment at hand for so many bytes more, while another one is emptied: else the next victim is
 * emptied too, but for large bodies. */
static bool
give_room(struct ghost *g, uint64_t bytes)
{
	while (g->ledger.free == 0 && !fits(g, bytes))
		if (!g->is_large || !free_one(g))
			return false;
	return true;
}

/* One record or fragment of so many bytes. */
static bool
take_piece(struct ghost *g, uint64_t bytes, uint32_t *first)
{
	if ((g->is_emptying && !give_room(g, bytes)) || !make_fit(g, bytes))
		return false;
	packing_add(&g->packing, bytes);
	g->batch.charged += bytes;
	if (*first == NONE)
		*first = (uint32_t)g->ledger.open;
	return true;
}

static uint64_t
log_bytes_of(uint64_t record_bytes)
{
	return record_bytes > TABLES_BYTES ? record_bytes - TABLES_BYTES : record_bytes;
}

/* As the store does for bodies that come in: what they lie in stays until they are whole. Those that
 * are carried lie in nothing that could go. */
static void
hold_open(struct ghost *g)
{
	const struct ledger_slot *slot = &g->ledger.slots[g->ledger.open];
	if (!g->is_emptying && !slot->holds)
		ledger_hold(&g->ledger, (uint32_t)g->ledger.open);
}

static void
let_go(struct ghost *g)
{
	for (uint32_t i = 0; !g->is_emptying && g->ledger.held; i++)
		if (g->ledger.slots[i].holds)
			ledger_unhold(&g->ledger, i);
}

/* Of a body in several pieces, where it starts is where it lies, for it goes with its oldest part.
 * A few large ones of great weight do not flush the log. */
static uint32_t
take(struct ghost *g, uint64_t record_bytes, bool in_pieces, uint32_t times)
{
	uint32_t first = NONE;
	uint64_t bytes = log_bytes_of(record_bytes);
	uint64_t piece = in_pieces ? g->fragment_bytes : bytes, taken = 0;
	uint64_t most = g->ledger.segment_bytes * g->ledger.limit / 4;
	uint32_t from = 0, to = 0;
	for (uint32_t i = 0; i < times && (i == 0 || taken < most); i++) {
		for (uint64_t left = bytes; left;) {
			uint64_t part = left < piece ? left : piece;
			if (!take_piece(g, part, &first)) {
				let_go(g);
				return NONE;
			}
			if (in_pieces && i == 0)
				hold_open(g);
			to = i ? to : g->ledger.slots[g->ledger.open].generation;
			from = from ? from : to;
			left -= part;
			taken += part;
		}
		g->batch.charged += record_bytes - bytes; /* its share of tables */
	}
	let_go(g);
	g->took.first = from;
	g->took.last = to;
	return first;
}

uint32_t
ghost_take(struct ghost *g, uint64_t record_bytes, bool in_pieces, uint32_t weight)
{
	return take(g, record_bytes, in_pieces, weight);
}

uint32_t
ghost_write(struct ghost *g, uint64_t record_bytes, bool in_pieces, uint32_t weight)
{
	g->n.written_bytes += record_bytes * weight;
	return ghost_take(g, record_bytes, in_pieces, weight);
}

void
ghost_write_heads(struct ghost *g)
{
	while (g->heads) {
		uint32_t some = g->heads < HEADS_AT_ONCE ? (uint32_t)g->heads : HEADS_AT_ONCE;
		ghost_write(g, GHOST_HEAD_BYTES, false, some);
		g->heads -= some;
	}
}

void
ghost_take_dead(struct ghost *g, uint64_t bytes)
{
	if (bytes)
		take(g, bytes + TABLES_BYTES, true, 1);
}

/* ---- making room --------------------------------------------------------------------------- */

/* As the index does, but when somebody looks. */
void
ghost_fade(const struct ghost *g, struct shade *s)
{
	uint32_t now = ledger_fades(&g->ledger), times = now - s->fade;
	s->hits = times < 8 ? (uint8_t)(s->hits >> times) : 0;
	s->fade = now;
}

struct payment {
	uint64_t bytes;
	uint32_t times;
};

/* Calls f for each segment that the shade lies in; stops at the first no and says how many were
 * done. */
static uint32_t
each_segment(struct ghost *g, const struct shade *s, const struct payment *arg,
	     bool (*f)(struct ledger *l, uint32_t slot, const struct payment *arg), uint32_t most)
{
	uint32_t done = 0;
	if (s->first == s->last)
		return most && f(&g->ledger, s->segment, arg);
	for (uint32_t i = 0; i < g->ledger.slots_n && done < most; i++) {
		const struct ledger_slot *slot = &g->ledger.slots[i];
		bool in = slot->state >= SEGMENT_OPEN && slot->generation >= s->first &&
			  slot->generation <= s->last;
		if (in && !f(&g->ledger, i, arg))
			break;
		done += in;
	}
	return done;
}

static bool
pay(struct ledger *l, uint32_t slot, const struct payment *p)
{
	ledger_pay(l, slot, p->bytes, p->times);
	return true;
}

/* As in the store, each segment is paid for what lies in it of the body. */
void
ghost_pay(struct ghost *g, struct shade *s, uint64_t bytes)
{
	uint32_t in = s->last - s->first + 1;
	if (s->hits == INDEX_MAX_HITS)
		return;
	s->hits++;
	each_segment(g, s, &(struct payment){bytes / in, ghost_weight(g, s)}, pay, NONE);
}

/* The store's rules (store_empty.c). */
static bool
is_worth_moving(const struct ghost *g, const struct shade *s)
{
	return s->hits || (g->o.asked_before && !s->bodiless && s->fresh_until > g->now_s);
}

static bool
is_carried(struct ghost *g, struct shade *s, uint64_t *carried)
{
	uint64_t bytes = log_bytes_of(s->bytes);
	uint32_t weight = ghost_weight(g, s);
	ghost_fade(g, s);
	if (s->in_pieces)
		return s->hits && !g->is_carrying &&
		       ledger_carries_large(&g->ledger, bytes, weight);
	if (!is_worth_moving(g, s) || !ledger_carries(&g->ledger, s->hits, bytes, weight, *carried))
		return false;
	*carried += bytes * weight;
	return true;
}

static bool
lease(struct ledger *l, uint32_t slot, const struct payment *arg)
{
	(void)arg;
	return ledger_lease(l, slot);
}

static bool
unlease(struct ledger *l, uint32_t slot, const struct payment *arg)
{
	(void)arg;
	ledger_unlease(l, slot);
	return true;
}

/* Its other segments stay while room is made for it. */
static uint32_t
carry(struct ghost *g, const struct shade *s)
{
	bool carried = g->is_carrying, large = g->is_large;
	struct shade was = *s;
	uint32_t to = NONE, held = each_segment(g, &was, NULL, lease, NONE);
	g->is_carrying = carried || s->in_pieces;
	g->is_large = s->in_pieces;
	if (held == was.last - was.first + 1)
		to = ghost_write(g, s->bytes, s->in_pieces, ghost_weight(g, s));
	g->is_carrying = carried;
	g->is_large = large;
	each_segment(g, &was, NULL, unlease, held);
	return to != NONE && g->ledger.slots[to].state >= SEGMENT_OPEN ? to : NONE;
}

/* It leaves the segment that is being emptied, for another one or for good. */
static void
move(struct ghost *g, uint32_t i, uint64_t *carried)
{
	struct shade *s = &g->shades[i];
	uint32_t to = is_carried(g, s, carried) ? carry(g, s) : NONE;
	ghost_leave_segment(g, i);
	s->on_disk = to != NONE;
	if (s->on_disk) {
		ghost_join_segment(g, i, to);
		ghost_note(g, s, GHOST_PUT);
	} else if (!s->in_ram)
		ghost_release(g, i);
}

/* One that begins in another segment and lies in this generation too, or NONE. */
static uint32_t
find_spanning(const struct ghost *g, uint32_t generation)
{
	uint32_t i = g->spanning;
	while (i != NONE && (g->shades[i].first > generation || g->shades[i].last < generation))
		i = g->shades[i].span_next;
	return i;
}

void
ghost_empty_segment(struct ghost *g, uint32_t segment)
{
	bool was = g->is_emptying;
	uint64_t carried = 0;
	uint32_t generation = g->ledger.slots[segment].generation;
	g->is_emptying = true;
	ghost_note_segment(g, generation, false);
	ledger_retire(&g->ledger, segment);
	for (uint32_t i; (i = g->segments[segment]) != NONE;)
		move(g, i, &carried);
	for (uint32_t i; (i = find_spanning(g, generation)) != NONE;)
		move(g, i, &carried);
	ledger_free(&g->ledger, segment);
	ledger_emptied(&g->ledger, carried);
	g->is_emptying = was;
}
