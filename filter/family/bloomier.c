#include "filter/family/bloomier.h"

#include <math.h>
#include <stdlib.h>

#include "filter/mix.h"
#include "filter/family/packed.h"

#define PARTS	   3
#define PART_LEAST 16
#define TRIES	   16 /* nearly every graph peels: 16 that do not mean a key twice */
#define KEYS_MOST  (UINT64_C(1) << 32) /* keys are numbered in 32 bits while building */

struct twice_bloomier {
	struct twice_packed cells; /* PARTS parts of equal size; value bits below check bits */
	uint64_t keys;
	uint64_t salt;
	unsigned value_bits;
};

static uint64_t
part_size(const struct twice_bloomier *b)
{
	return b->cells.n / PARTS;
}

static uint64_t
place(const struct twice_bloomier *b, struct twice_key_hash h, unsigned part)
{
	uint64_t x = mix_bits(h.lo ^ mix_bits(h.hi + b->salt + part * MIX_GOLDEN));
	return part * part_size(b) + mix_range(x, part_size(b));
}

/* The key's mask, so that absent keys of empty cells do not all answer zero. */
static uint64_t
mask(const struct twice_bloomier *b, struct twice_key_hash h)
{
	return mix_bits(h.hi ^ mix_bits(h.lo + b->salt)) & twice_packed_top(&b->cells);
}

static uint64_t
cells_xor(const struct twice_bloomier *b, struct twice_key_hash h)
{
	uint64_t x = mask(b, h);
	for (unsigned part = 0; part < PARTS; part++)
		x ^= twice_packed_get(&b->cells, place(b, h, part));
	return x;
}

/* --- building --- */

/* A cell of the graph while it is peeled: how many keys touch it, and their XOR. */
struct vertex {
	uint32_t degree, keys;
};

struct graph {
	const struct twice_bloomier_pair *pairs; /* borrowed */
	uint64_t n_keys, n_cells;
	struct vertex *vertices; /* n_cells */
	uint64_t *todo;		 /* cells that only one key touches; at most n_cells */
	uint64_t *own;		 /* in peeling order: the cell that only this key touched */
	uint32_t *order;	 /* in peeling order: the key */
};

static int
graph_init(struct graph *g, const struct twice_bloomier_pair *pairs, uint64_t n_keys,
	   uint64_t n_cells)
{
	*g = (struct graph){.pairs = pairs, .n_keys = n_keys, .n_cells = n_cells};
	g->vertices = malloc(n_cells * sizeof(*g->vertices));
	g->todo = malloc(n_cells * sizeof(*g->todo));
	g->own = malloc((n_keys + 1) * sizeof(*g->own));
	g->order = malloc((n_keys + 1) * sizeof(*g->order));
	return g->vertices && g->todo && g->own && g->order ? 0 : -1;
}

static void
graph_fini(struct graph *g)
{
	free(g->vertices);
	free(g->todo);
	free(g->own);
	free(g->order);
	*g = (struct graph){0};
}

/* Adds the key to its three cells (by 1), or takes it out (by -1: the XOR undoes itself). */
static void
touch(const struct twice_bloomier *b, struct graph *g, uint32_t key, int by)
{
	for (unsigned part = 0; part < PARTS; part++) {
		struct vertex *v = &g->vertices[place(b, g->pairs[key].key, part)];
		v->degree += (uint32_t)by;
		v->keys ^= key;
	}
}

static uint64_t
fill(const struct twice_bloomier *b, struct graph *g)
{
	uint64_t n = 0;
	for (uint64_t c = 0; c < g->n_cells; c++)
		g->vertices[c] = (struct vertex){0};
	for (uint64_t i = 0; i < g->n_keys; i++)
		touch(b, g, (uint32_t)i, 1);
	for (uint64_t c = 0; c < g->n_cells; c++)
		if (g->vertices[c].degree == 1)
			g->todo[n++] = c;
	return n;
}

/* Orders the keys so that each has a cell that no later one touches; says whether that worked.
 * Degrees only fall, so a cell reaches 1, and the list, once. */
static bool
peel(const struct twice_bloomier *b, struct graph *g)
{
	uint64_t todo = fill(b, g), peeled = 0;
	while (todo > 0) {
		uint64_t cell = g->todo[--todo];
		if (g->vertices[cell].degree != 1)
			continue;
		uint32_t key = g->vertices[cell].keys;
		g->own[peeled] = cell;
		g->order[peeled++] = key;
		touch(b, g, key, -1);
		for (unsigned part = 0; part < PARTS; part++) {
			uint64_t c = place(b, g->pairs[key].key, part);
			if (g->vertices[c].degree == 1)
				g->todo[todo++] = c;
		}
	}
	return peeled == g->n_keys;
}

/* Last peeled first: its own cell is still free to make its three cells say its value. */
static void
assign(struct twice_bloomier *b, const struct graph *g)
{
	for (uint64_t i = g->n_keys; i > 0; i--) {
		const struct twice_bloomier_pair *p = &g->pairs[g->order[i - 1]];
		twice_packed_set(&b->cells, g->own[i - 1], cells_xor(b, p->key) ^ p->value);
	}
}

static int
build(struct twice_bloomier *b, const struct twice_bloomier_pair *pairs)
{
	int r = -1;
	struct graph g;
	if (graph_init(&g, pairs, b->keys, b->cells.n))
		goto out;
	for (b->salt = 0; b->salt < TRIES; b->salt++)
		if (peel(b, &g))
			break;
	if (b->salt == TRIES)
		goto out;
	assign(b, &g);
	r = 0;
out:
	graph_fini(&g);
	return r;
}

static bool
values_fit(const struct twice_bloomier_pair *pairs, size_t n, unsigned value_bits)
{
	for (size_t i = 0; i < n; i++)
		if ((uint64_t)pairs[i].value >> value_bits)
			return false;
	return true;
}

/* 1.23 cells a key is where random three-part graphs come apart; small ones need some more. */
static uint64_t
cells_for(uint64_t keys)
{
	uint64_t part = (keys + keys / 4 - keys / 50) / PARTS + PART_LEAST;
	return part * PARTS;
}

struct twice_bloomier *
twice_bloomier_build(const struct twice_bloomier_pair *pairs, size_t n, unsigned value_bits,
		     unsigned check_bits)
{
	if (n >= KEYS_MOST || value_bits > TWICE_PACKED_WIDTH_MOST ||
	    check_bits > TWICE_PACKED_WIDTH_MOST || !values_fit(pairs, n, value_bits))
		return NULL;
	struct twice_bloomier *b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->keys = n;
	b->value_bits = value_bits;
	if (twice_packed_init(&b->cells, cells_for(n), value_bits + check_bits) || build(b, pairs))
		twice_bloomier_destroy(&b);
	return b;
}

void
twice_bloomier_destroy(struct twice_bloomier **b)
{
	if (*b)
		twice_packed_fini(&(*b)->cells);
	free(*b);
	*b = NULL;
}

/* --- asking --- */

bool
twice_bloomier_get(const struct twice_bloomier *b, struct twice_key_hash h, uint32_t *value)
{
	uint64_t x = cells_xor(b, h);
	if (b->keys == 0 || x >> b->value_bits)
		return false;
	*value = (uint32_t)x;
	return true;
}

bool
twice_bloomier_has(const struct twice_bloomier *b, struct twice_key_hash h)
{
	uint32_t value;
	return twice_bloomier_get(b, h, &value);
}

uint64_t
twice_bloomier_count(const struct twice_bloomier *b)
{
	return b->keys;
}

size_t
twice_bloomier_memory(const struct twice_bloomier *b)
{
	return sizeof(*b) + (size_t)twice_packed_bytes(b->cells.n, b->cells.width);
}

double
twice_bloomier_fpr(const struct twice_bloomier *b)
{
	return b->keys ? ldexp(1, -(int)(b->cells.width - b->value_bits)) : 0;
}

enum { PARAM_KEYS, PARAM_SALT, PARAM_VALUE_BITS };

int
twice_bloomier_save(const struct twice_bloomier *b, const struct twice_snapshot_sink *to)
{
	uint64_t params[TWICE_SNAPSHOT_PARAMS] = {
		[PARAM_KEYS] = b->keys, [PARAM_SALT] = b->salt, [PARAM_VALUE_BITS] = b->value_bits};
	return twice_packed_save(&b->cells, to, TWICE_SNAPSHOT_BLOOMIER, params);
}

static int
load(struct twice_bloomier *b, struct twice_snapshot_source *from)
{
	struct twice_snapshot_head head;
	if (twice_snapshot_open(from, TWICE_SNAPSHOT_BLOOMIER, &head) ||
	    twice_packed_load(&b->cells, from, &head))
		return -1;
	if (b->cells.n < PARTS * PART_LEAST || b->cells.n % PARTS ||
	    head.params[PARAM_VALUE_BITS] > b->cells.width)
		return twice_snapshot_refuse(from, TWICE_SNAPSHOT_ABSURD);
	b->keys = head.params[PARAM_KEYS];
	b->salt = head.params[PARAM_SALT];
	b->value_bits = (unsigned)head.params[PARAM_VALUE_BITS];
	return 0;
}

struct twice_bloomier *
twice_bloomier_load(struct twice_snapshot_source *from)
{
	struct twice_bloomier *b = twice_snapshot_room(from, sizeof(*b));
	if (b && load(b, from))
		twice_bloomier_destroy(&b);
	return b;
}
