/* ghost_table.c - the shades: found by key, by segment and by URL, and which of them are in RAM. */
#include "proxy/cache/ghost/ghost_inside.h"

#include "proxy/base/mem.h"
#include "proxy/cache/store/object.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = GHOST_NONE };

/* ---- the table: keys to shades ------------------------------------------------------------- */

/* The slot with this key, or the empty one where it would go. The high bits choose the sample, so
 * the low ones choose the slot. */
uint32_t
ghost_slot(const struct ghost *g, uint64_t key)
{
	uint32_t mask = 2 * g->shades_n - 1, i = (uint32_t)key & mask;
	while (g->table[i] != NONE && g->shades[g->table[i]].key != key)
		i = (i + 1) & mask;
	return i;
}

struct shade *
ghost_find(const struct ghost *g, uint64_t key)
{
	uint32_t i = g->table[ghost_slot(g, key)];
	return i == NONE ? NULL : &g->shades[i];
}

void
ghost_prefetch(const struct ghost *g, uint64_t key)
{
	__builtin_prefetch(&g->table[(uint32_t)key & (2 * g->shades_n - 1)]);
}

void
ghost_prefetch_shade(const struct ghost *g, uint64_t key)
{
	uint32_t i = g->table[(uint32_t)key & (2 * g->shades_n - 1)];
	if (i == NONE)
		return;
	__builtin_prefetch(&g->shades[i]);
	__builtin_prefetch((const char *)&g->shades[i] + 64);
}

bool
ghost_holds(const struct ghost *g, uint64_t key)
{
	return ghost_find(g, key) != NULL;
}

bool
ghost_is_on_disk(const struct ghost *g, uint64_t key)
{
	const struct shade *s = ghost_find(g, key);
	return s && s->on_disk;
}

static void
erase_slot(struct ghost *g, uint32_t hole)
{
	uint32_t mask = 2 * g->shades_n - 1, i = hole;
	for (;;) {
		i = (i + 1) & mask;
		if (g->table[i] == NONE)
			break;
		uint32_t home = (uint32_t)g->shades[g->table[i]].key & mask;
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			g->table[hole] = g->table[i];
			hole = i;
		}
	}
	g->table[hole] = NONE;
}

/* ---- lists: of a segment, of a URL --------------------------------------------------------- */

void
ghost_join_segment(struct ghost *g, uint32_t i, uint32_t segment)
{
	struct shade *s = &g->shades[i];
	s->segment = segment;
	s->prev = NONE;
	s->next = g->segments[segment];
	if (s->next != NONE)
		g->shades[s->next].prev = i;
	g->segments[segment] = i;
	assert(g->took.first <= g->took.last);
	s->first = g->took.first;
	s->last = g->took.last;
	s->hits = 0;
	s->fade = ledger_fades(&g->ledger);
	if (s->first == s->last)
		return;
	s->span_prev = NONE;
	s->span_next = g->spanning;
	if (s->span_next != NONE)
		g->shades[s->span_next].span_prev = i;
	g->spanning = i;
}

void
ghost_leave_segment(struct ghost *g, uint32_t i)
{
	struct shade *s = &g->shades[i];
	*(s->prev == NONE ? &g->segments[s->segment] : &g->shades[s->prev].next) = s->next;
	if (s->next != NONE)
		g->shades[s->next].prev = s->prev;
	if (s->first == s->last)
		return;
	*(s->span_prev == NONE ? &g->spanning : &g->shades[s->span_prev].span_next) = s->span_next;
	if (s->span_next != NONE)
		g->shades[s->span_next].span_prev = s->span_prev;
}

uint32_t *
ghost_bucket(const struct ghost *g, uint32_t url)
{
	return &g->urls[url & (g->shades_n - 1)];
}

void
ghost_join_url(struct ghost *g, uint32_t i)
{
	struct shade *s = &g->shades[i];
	if (g->o.plain_urls)
		return;
	uint32_t *first = ghost_bucket(g, s->url);
	s->url_prev = NONE;
	s->url_next = *first;
	if (s->url_next != NONE)
		g->shades[s->url_next].url_prev = i;
	*first = i;
}

static void
leave_url(struct ghost *g, uint32_t i)
{
	struct shade *s = &g->shades[i];
	if (g->o.plain_urls)
		return;
	*(s->url_prev == NONE ? ghost_bucket(g, s->url) : &g->shades[s->url_prev].url_next) =
		s->url_next;
	if (s->url_next != NONE)
		g->shades[s->url_next].url_prev = s->url_prev;
}

/* ---- RAM ----------------------------------------------------------------------------------- */

static struct shade *
of_node(struct ram_node *n)
{
	return (struct shade *)n; /* its first member */
}

static uint64_t
ram_bytes(const struct shade *s)
{
	return stored_copy_memory(s->bytes);
}

static void
leave_ram(struct ghost *g, struct shade *s)
{
	if (s->in_ram)
		ram_policy_remove(&g->ram, &s->node);
	s->in_ram = s->unwritten = false;
}

/* Out of the table and its URL, when it is nowhere any more. */
void
ghost_release(struct ghost *g, uint32_t i)
{
	struct shade *s = &g->shades[i];
	assert(s->used && !s->on_disk && !s->in_ram && g->used > 0);
	leave_url(g, i);
	erase_slot(g, ghost_slot(g, s->key));
	g->large_n -= s->large;
	*s = (struct shade){.next = g->free};
	g->free = i;
	g->used--;
}

void
ghost_drop(struct ghost *g, uint32_t i)
{
	struct shade *s = &g->shades[i];
	if (s->on_disk)
		ghost_leave_segment(g, i);
	s->on_disk = false;
	leave_ram(g, s);
	ghost_release(g, i);
}

void
ghost_shrink_ram(struct ghost *g, uint64_t bytes)
{
	for (struct ram_node *n; (n = ram_policy_make_room(&g->ram, bytes));) {
		struct shade *s = of_node(n);
		s->in_ram = false; /* the policy has let it go already */
		if (s->unwritten && s->on_disk) {
			g->heads += ghost_weight(g, s);
			ghost_note(g, s, GHOST_NEW_HEAD);
		}
		s->unwritten = false;
		if (!s->on_disk)
			ghost_release(g, (uint32_t)(s - g->shades));
	}
}

/* An object asked for again on disk moves into RAM, if it is worth more there than others. */
void
ghost_promote(struct ghost *g, struct shade *s)
{
	uint64_t bytes = ram_bytes(s);
	uint32_t weight = ghost_weight(g, s);
	if (s->in_ram || s->hits == 0 || s->in_pieces || bytes > g->ram_most ||
	    bytes * weight > g->ram.limit || !ram_policy_takes(&g->ram, bytes, true, s->hits))
		return;
	ghost_shrink_ram(g, bytes * weight);
	s->node = (struct ram_node){.bytes = bytes, .twins = weight - 1, .on_disk = true};
	s->node.hits = s->hits;
	ram_policy_add(&g->ram, &s->node);
	s->in_ram = true;
}

/* The shades have moved: so have the nodes within them. */
static struct ram_node *
moved_node(const struct ghost *g, const struct shade *old, const struct ram_node *n)
{
	if (!n)
		return NULL;
	return &g->shades[(const struct shade *)(const void *)n - old].node;
}

static void
move_nodes(struct ghost *g, const struct shade *old, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct ram_node *node = &g->shades[i].node;
		node->prev = moved_node(g, old, node->prev);
		node->next = moved_node(g, old, node->next);
	}
	for (int on_disk = 0; on_disk < 2; on_disk++)
		for (int c = 0; c < RAM_CLASSES; c++) {
			struct ram_queue *q = &g->ram.queues[on_disk][c];
			q->head = moved_node(g, old, q->head);
			q->tail = moved_node(g, old, q->tail);
		}
}

uint32_t *
ghost_slots(uint32_t *old, uint32_t n)
{
	free(old);
	uint32_t *slots = mem_alloc(n * sizeof *slots);
	memset(slots, 0xff, n * sizeof *slots);
	return slots;
}

void
ghost_grow(struct ghost *g, uint32_t n)
{
	uint32_t old = g->shades_n;
	struct shade *before = g->shades;
	g->shades = mem_alloc(n * sizeof *g->shades);
	g->shades_n = n;
	for (uint32_t i = 0; i < old; i++) {
		g->shades[i] = before[i];
		if (!g->shades[i].in_ram)
			g->shades[i].node = (struct ram_node){0};
	}
	move_nodes(g, before, old);
	free(before);
	for (uint32_t i = n; i-- > old;) {
		g->shades[i] = (struct shade){.next = g->free};
		g->free = i;
	}
	g->table = ghost_slots(g->table, 2 * n);
	g->urls = ghost_slots(g->urls, n);
	for (uint32_t i = 0; i < old; i++)
		if (g->shades[i].used) {
			g->table[ghost_slot(g, g->shades[i].key)] = i;
			ghost_join_url(g, i);
		}
}

/* ---- forgetting ----------------------------------------------------------------------------- */

void
ghost_lose(struct ghost *g, uint32_t i)
{
	if (g->shades[i].on_disk)
		ghost_note(g, &g->shades[i], GHOST_GONE);
	ghost_drop(g, i);
}

void
ghost_forget(struct ghost *g, uint64_t url)
{
	if (!g->ledger.limit)
		return;
	struct shade *plain = g->o.plain_urls ? ghost_find(g, url) : NULL;
	if (plain)
		ghost_lose(g, (uint32_t)(plain - g->shades));
	for (uint32_t i = *ghost_bucket(g, (uint32_t)url), next; i != NONE; i = next) {
		next = g->shades[i].url_next;
		if (g->shades[i].url == (uint32_t)url)
			ghost_lose(g, i);
	}
}

void
ghost_forget_host(struct ghost *g, uint32_t host)
{
	for (uint32_t i = 0; i < g->shades_n; i++)
		if (g->shades[i].used && (g->shades[i].host | 1) == (host | 1))
			ghost_lose(g, i);
}

void
ghost_forget_all(struct ghost *g)
{
	for (uint32_t i = 0; i < g->shades_n; i++)
		if (g->shades[i].used)
			ghost_lose(g, i);
}
