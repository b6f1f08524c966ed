/* ghost_snapshot.c - a ghost as bytes, and back.
 *
 *	head    8 "TWghost3", 8 tag, 4 weight, 4 rows, 8 threshold,
 *		8 bytes from which on a record is large
 *	rows    32 each, all numbers in the machine's order:
 *	          an object   8 key, 8 bytes and (top bits) hit, in pieces, large,
 *	                      4 fresh_until,
 *	                      4 validator, 4 url, 4 one
 *	          a segment   8 bytes in use that belong to no object, 20 zero, 4 zero
 *	sum     8 XXH3 of all before
 *
 * Segments come oldest first, each before its objects. Loading puts them into the log again in that
 * order, so it does not matter whether the log is of the same size: what has no room is evicted as
 * it would have been.
 */
#include "proxy/cache/ghost_inside.h"

#include "proxy/base/mem.h"
#include "proxy/cache/segment.h"

#include <stdlib.h>
#include <string.h>

static const char MAGIC[8] = "TWghost3";
static const uint64_t HIT = UINT64_C(1) << 63, IN_PIECES = UINT64_C(1) << 62,
		      LARGE = UINT64_C(1) << 61;
enum { MOST_WEIGHT = 1 << 30 };

struct head {
	char magic[8];
	uint64_t tag;
	uint32_t weight, rows;
	uint64_t threshold, large_bytes;
};

struct row {
	uint64_t key, bytes;
	uint32_t fresh_until, validator, url, host; /* host: odd, so that no object's is 0 */
};

/* ---- out ----------------------------------------------------------------------------------- */

static int
by_generation(const void *a, const void *b)
{
	const struct ledger_slot *const *x = a, *const *y = b;
	return ((*x)->generation > (*y)->generation) - ((*x)->generation < (*y)->generation);
}

static void
save_segment(const struct ghost *g, uint32_t n, uint64_t used, struct buf *out)
{
	uint64_t live = 0;
	for (uint32_t i = g->segments[n]; i != GHOST_NONE; i = g->shades[i].next)
		live += g->shades[i].bytes * ghost_weight(g, &g->shades[i]);
	struct row dead = {.key = used > live ? used - live : 0};
	buf_add(out, (char *)&dead, sizeof dead);
	for (uint32_t i = g->segments[n]; i != GHOST_NONE; i = g->shades[i].next) {
		const struct shade *s = &g->shades[i];
		struct row row = {s->key,
				  s->bytes | (s->hits ? HIT : 0) | (s->in_pieces ? IN_PIECES : 0) |
					  (s->large ? LARGE : 0),
				  s->fresh_until,
				  s->validator,
				  s->url,
				  s->host | 1};
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
	while (sizeof(struct head) + 8 + (n + (uint64_t)g->used) * sizeof(struct row) > most &&
	       g->used && g->weight < MOST_WEIGHT)
		ghost_thin_out(g);
	struct head h = {.tag = tag,
			 .weight = g->weight,
			 .threshold = atomic_load(&g->threshold),
			 .large_bytes = atomic_load(&g->large_bytes)};
	memcpy(h.magic, MAGIC, sizeof MAGIC);
	size_t from = out->n;
	buf_add(out, (char *)&h, sizeof h);
	for (uint32_t i = 0; i < n; i++)
		save_segment(g, (uint32_t)(slots[i] - l->slots), slots[i]->used, out);
	h.rows = (uint32_t)((out->n - from - sizeof h) / sizeof(struct row));
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
	if (bytes.n != sizeof *h + sizeof sum + (uint64_t)h->rows * sizeof(struct row))
		return "it is damaged";
	bool power = h->weight && (h->weight & (h->weight - 1)) == 0;
	if (!power || h->weight > MOST_WEIGHT || h->threshold != UINT64_MAX / h->weight)
		return "it is damaged";
	return h->tag == tag ? NULL : "it belongs to another cache directory";
}

static void
load_row(struct ghost *g, const struct row *row)
{
	uint64_t bytes = row->bytes & ~(HIT | IN_PIECES | LARGE);
	bool in_pieces = row->bytes & IN_PIECES, large = row->bytes & LARGE;
	uint32_t weight = large ? 1 : g->weight;
	/* A head is large with its slices. */
	uint64_t least = large ? atomic_load(&g->large_bytes) : 0;
	uint64_t size = bytes > least ? bytes : least;
	uint64_t log_bytes = g->ledger.segment_bytes * g->ledger.limit;
	if (!row->host) {
		uint64_t most = g->ledger.segment_bytes;
		ghost_take_dead(g, row->key < most ? row->key : most);
		return;
	}
	if (bytes < RECORD_HEADER_BYTES || bytes > log_bytes / weight ||
	    (large && least == UINT64_MAX) || !ghost_samples(g, row->key, large ? size : 0) ||
	    ghost_holds(g, row->key))
		return;
	uint32_t segment = ghost_take(g, bytes, in_pieces, weight);
	if (segment == GHOST_NONE || g->ledger.slots[segment].state < SEGMENT_OPEN)
		return;
	ghost_add(g,
		  &(struct shade){.key = row->key,
				  .bytes = bytes,
				  .sampled_as = size,
				  .in_pieces = in_pieces,
				  .large = large,
				  .fresh_until = row->fresh_until,
				  .validator = row->validator,
				  .url = row->url,
				  .host = row->host,
				  .hits = (row->bytes & HIT) != 0},
		  segment);
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
	for (uint32_t i = 0; i < h.rows; i++) {
		struct row row;
		memcpy(&row, bytes.p + sizeof h + i * sizeof row, sizeof row);
		ghost_make_room(g);
		load_row(g, &row);
	}
	ghost_age(g, UINT32_MAX); /* what is loaded is on the disk already */
	g->overhead = 0;
	g->n = (struct ghost_stats){0}; /* what was carried while loading is not written again */
	return NULL;
}
