/* ghost.c - the ledger with sizes for bytes, and who would lie in which segment.
 *
 * A sampled key stands for weight keys: its record takes weight times its bytes of the ghost's log,
 * so the log itself keeps its real size. When there are too many entries the sample is halved and
 * the weight doubles; what the dropped half took in the log stays taken until its segment goes.
 */
#include "proxy/cache/ghost_inside.h"

#include "proxy/base/mem.h"
#include "proxy/cache/index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	FIRST_ENTRIES = 1024,
	MAX_ENTRIES = 32 << 10,
	NONE = GHOST_NONE,
	MOST_HALVINGS = 30,
	/* A 304 makes the store write a head that points to the old body. */
	REFRESH_RECORD_BYTES = 640,
	FRAGMENT_BYTES = 256 << 10, /* larger bodies lie in fragments, which stay behind */
	OBJECT_OVERHEAD = 400,	    /* what an object in RAM takes beside its record */
};

/* ---- the table: keys to shades ------------------------------------------------------------- */

/* The slot with this key, or the empty one where it would go. The high bits choose the sample, so
 * the low ones choose the slot. */
static uint32_t
slot_of(const struct ghost *g, uint64_t key)
{
	uint32_t mask = 2 * g->shades_n - 1, i = (uint32_t)key & mask;
	while (g->table[i] != NONE && g->shades[g->table[i]].key != key)
		i = (i + 1) & mask;
	return i;
}

static struct shade *
find(const struct ghost *g, uint64_t key)
{
	uint32_t i = g->table[slot_of(g, key)];
	return i == NONE ? NULL : &g->shades[i];
}

bool
ghost_holds(const struct ghost *g, uint64_t key)
{
	return find(g, key) != NULL;
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

static void
join_segment(struct ghost *g, uint32_t i, uint32_t segment)
{
	struct shade *s = &g->shades[i];
	s->segment = segment;
	s->prev = NONE;
	s->next = g->segments[segment];
	if (s->next != NONE)
		g->shades[s->next].prev = i;
	g->segments[segment] = i;
}

static void
leave_segment(struct ghost *g, uint32_t i)
{
	struct shade *s = &g->shades[i];
	*(s->prev == NONE ? &g->segments[s->segment] : &g->shades[s->prev].next) = s->next;
	if (s->next != NONE)
		g->shades[s->next].prev = s->prev;
}

static uint32_t *
bucket_of(const struct ghost *g, uint32_t url)
{
	return &g->urls[url & (g->shades_n - 1)];
}

static void
join_url(struct ghost *g, uint32_t i)
{
	struct shade *s = &g->shades[i];
	uint32_t *first = bucket_of(g, s->url);
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
	*(s->url_prev == NONE ? bucket_of(g, s->url) : &g->shades[s->url_prev].url_next) =
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
	return s->bytes + OBJECT_OVERHEAD;
}

static void
leave_ram(struct ghost *g, struct shade *s)
{
	if (s->in_ram)
		ram_policy_remove(&g->ram, &s->node);
	s->in_ram = false;
}

/* Out of the table and its URL, when it is nowhere any more. */
static void
release(struct ghost *g, uint32_t i)
{
	struct shade *s = &g->shades[i];
	leave_url(g, i);
	erase_slot(g, slot_of(g, s->key));
	*s = (struct shade){.next = g->free};
	g->free = i;
	g->used--;
}

static void
drop(struct ghost *g, uint32_t i)
{
	struct shade *s = &g->shades[i];
	if (s->on_disk)
		leave_segment(g, i);
	s->on_disk = false;
	leave_ram(g, s);
	release(g, i);
}

static void
shrink_ram(struct ghost *g, uint64_t bytes)
{
	for (struct ram_node *n; (n = ram_policy_make_room(&g->ram, bytes));) {
		struct shade *s = of_node(n);
		s->in_ram = false; /* the policy has let it go already */
		if (!s->on_disk)
			release(g, (uint32_t)(s - g->shades));
	}
}

/* What is asked for again on disk moves into RAM, if it is worth more there than others. */
static void
promote(struct ghost *g, struct shade *s)
{
	uint64_t bytes = ram_bytes(s);
	if (s->in_ram || s->hits == 0 || s->bytes > FRAGMENT_BYTES || bytes > g->ram_most ||
	    !ram_policy_takes(&g->ram, bytes, true, s->hits))
		return;
	shrink_ram(g, bytes);
	s->node = (struct ram_node){.bytes = bytes, .on_disk = true};
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

static uint32_t *
make_slots(uint32_t *old, uint32_t n)
{
	free(old);
	uint32_t *slots = mem_alloc(n * sizeof *slots);
	memset(slots, 0xff, n * sizeof *slots);
	return slots;
}

static void
grow(struct ghost *g, uint32_t n)
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
	g->table = make_slots(g->table, 2 * n);
	g->urls = make_slots(g->urls, n);
	for (uint32_t i = 0; i < old; i++)
		if (g->shades[i].used) {
			g->table[slot_of(g, g->shades[i].key)] = i;
			join_url(g, i);
		}
}

/* ---- the log ------------------------------------------------------------------------------- */

static void free_segments(struct ghost *g);

static bool
open_segment(struct ghost *g)
{
	if (g->ledger.open >= 0)
		ledger_seal(&g->ledger);
	bool yes = ledger_open_next(&g->ledger);
	free_segments(g);
	return yes;
}

/* Over several segments if it must; the one where it starts is where the object lies, for it goes
 * with its oldest part. */
uint32_t
ghost_take(struct ghost *g, uint64_t log_bytes)
{
	uint32_t first = NONE;
	uint64_t left = log_bytes, most = g->ledger.segment_bytes * g->ledger.limit / 4;
	left = left < most ? left : most; /* a few large ones of great weight do not flush it */
	bool in_parts = left > FRAGMENT_BYTES;
	while (left) {
		uint64_t room = ledger_room(&g->ledger);
		if (room < (in_parts ? 1 : left) && !open_segment(g))
			return NONE;
		room = ledger_room(&g->ledger);
		uint64_t part = left < room ? left : room;
		if (first == NONE)
			first = (uint32_t)g->ledger.open;
		ledger_use(&g->ledger, part);
		left -= part;
	}
	return first;
}

static uint32_t
write_bytes(struct ghost *g, uint64_t bytes)
{
	g->n.written_bytes += bytes * g->weight;
	return ghost_take(g, bytes * g->weight);
}

static void
empty_segment(struct ghost *g, uint32_t segment)
{
	uint32_t i = g->segments[segment];
	g->segments[segment] = NONE;
	uint64_t carried = 0;
	while (i != NONE) {
		struct shade *s = &g->shades[i];
		uint32_t next = s->next, to = NONE;
		uint64_t bytes = s->bytes * g->weight;
		if (s->bytes <= FRAGMENT_BYTES && bytes <= ledger_room(&g->ledger) &&
		    ledger_carries(&g->ledger, s->hits, bytes, carried)) {
			carried += bytes;
			to = write_bytes(g, s->bytes);
		}
		s->on_disk = to != NONE;
		s->hits = 0;
		if (s->on_disk)
			join_segment(g, i, to);
		else if (!s->in_ram)
			release(g, i);
		i = next;
	}
	ledger_free(&g->ledger, segment);
}

static void
free_segments(struct ghost *g)
{
	while (ledger_wants_free(&g->ledger)) {
		int64_t absent = ledger_absent(&g->ledger);
		int64_t victim = absent < 0 ? ledger_victim(&g->ledger) : -1;
		if (absent >= 0)
			ledger_add(&g->ledger, (uint32_t)absent);
		else if (victim >= 0)
			empty_segment(g, (uint32_t)victim);
		else
			return;
	}
}

/* ---- the sample ---------------------------------------------------------------------------- */

bool
ghost_samples(const struct ghost *g, uint64_t key)
{
	return g->ledger.limit && key <= atomic_load_explicit(&g->threshold, memory_order_relaxed);
}

void
ghost_halve(struct ghost *g)
{
	atomic_store(&g->threshold, atomic_load(&g->threshold) / 2);
	g->weight *= 2;
	g->ram.limit /= 2;
	for (uint32_t i = 0; i < g->shades_n; i++)
		if (g->shades[i].used && !ghost_samples(g, g->shades[i].key))
			drop(g, i);
	shrink_ram(g, 0);
}

bool
ghost_make_room(struct ghost *g)
{
	if (g->used == g->shades_n && 2 * g->shades_n <= g->o.max_entries)
		grow(g, 2 * g->shades_n);
	while (g->used == g->shades_n && g->weight < 1u << MOST_HALVINGS)
		ghost_halve(g);
	return g->used < g->shades_n;
}

void
ghost_add(struct ghost *g, const struct shade *s, uint32_t segment)
{
	assert(g->free != NONE);
	uint32_t i = g->free;
	g->free = g->shades[i].next;
	g->used++;
	g->shades[i] = *s;
	g->shades[i].used = g->shades[i].on_disk = true;
	g->table[slot_of(g, s->key)] = i;
	join_url(g, i);
	join_segment(g, i, segment);
}

/* ---- events -------------------------------------------------------------------------------- */

/* Fetches it and writes it, over what it held. */
static void
write_anew(struct ghost *g, const struct ghost_event *e)
{
	struct shade *old = find(g, e->key);
	if (old)
		drop(g, (uint32_t)(old - g->shades));
	if (e->body_bytes > g->o.max_object_bytes || !ghost_make_room(g) ||
	    !ghost_samples(g, e->key))
		return;
	uint32_t segment = write_bytes(g, e->record_bytes);
	/* Of something larger than the log the beginning is gone by now. */
	if (segment == NONE || g->ledger.slots[segment].state == SEGMENT_FREE ||
	    !ghost_make_room(g))
		return;
	ghost_add(g,
		  &(struct shade){.key = e->key,
				  .url = (uint32_t)e->url,
				  .host = e->host,
				  .bytes = e->record_bytes,
				  .validator = e->validator,
				  .fresh_until = e->now_s + e->fresh_s},
		  segment);
}

/* Asked for again: where it lies it is worth more now. In RAM alone, it is written from there. */
static void
touch(struct ghost *g, struct shade *s)
{
	/* Of hits in RAM the disk hears only the first. */
	bool heard = !s->in_ram || s->node.hits == 0;
	if (s->in_ram)
		ram_policy_touch(&s->node);
	if (!s->on_disk) {
		uint32_t i = (uint32_t)(s - g->shades);
		ram_policy_moved(&g->ram, &s->node, false);
		uint32_t segment = write_bytes(g, s->bytes);
		if (segment == NONE || g->ledger.slots[segment].state == SEGMENT_FREE)
			return;
		s->on_disk = true;
		s->hits = 0;
		join_segment(g, i, segment);
		ram_policy_moved(&g->ram, &s->node, true);
		return;
	}
	if (!s->in_ram)
		promote(g, s);
	if (heard && s->hits < INDEX_MAX_HITS)
		s->hits++;
}

enum would { WOULD_ANSWER, WOULD_VALIDATE, WOULD_FETCH, WOULD_PASS };

static enum would
would(const struct ghost_event *e, const struct shade *s)
{
	if (s && e->now_s < s->fresh_until)
		return WOULD_ANSWER;
	if (!e->whole || e->deed == GHOST_ASKED)
		return WOULD_PASS; /* as we did */
	return s && s->validator && s->validator == e->validator ? WOULD_VALIDATE : WOULD_FETCH;
}

static void
charge(struct ghost *g, const struct ghost_event *e, enum would w)
{
	bool asked = e->deed != GHOST_HIT, asks = w != WOULD_ANSWER;
	uint64_t ours = e->origin_bytes;
	uint64_t its = w == WOULD_FETCH ? e->body_bytes : w == WOULD_PASS ? ours : 0;
	if (w == WOULD_PASS && !asked)
		return; /* nothing is known of what it would have passed */
	g->n.extra_requests += asked && !asks ? g->weight : 0;
	g->n.avoided_requests += asks && !asked ? g->weight : 0;
	g->n.extra_bytes += ours > its ? (ours - its) * g->weight : 0;
	g->n.avoided_bytes += its > ours ? (its - ours) * g->weight : 0;
}

void
ghost_see(struct ghost *g, const struct ghost_event *e)
{
	if (!ghost_samples(g, e->key))
		return;
	struct shade *s = find(g, e->key);
	enum would w = would(e, s);
	charge(g, e, w);
	switch (w) {
	case WOULD_ANSWER:
		g->n.hits += g->weight;
		touch(g, s);
		break;
	case WOULD_VALIDATE:
		s->fresh_until = e->now_s + e->fresh_s;
		g->n.validated += g->weight;
		touch(g, s);
		write_bytes(g, REFRESH_RECORD_BYTES);
		break;
	case WOULD_FETCH:
		g->n.misses += g->weight;
		write_anew(g, e);
		break;
	case WOULD_PASS:
		break;
	}
}

void
ghost_forget(struct ghost *g, uint64_t url)
{
	if (!g->ledger.limit)
		return;
	for (uint32_t i = *bucket_of(g, (uint32_t)url), next; i != NONE; i = next) {
		next = g->shades[i].url_next;
		if (g->shades[i].url == (uint32_t)url)
			drop(g, i);
	}
}

void
ghost_forget_host(struct ghost *g, uint32_t host)
{
	for (uint32_t i = 0; i < g->shades_n; i++)
		if (g->shades[i].used && (g->shades[i].host | 1) == (host | 1))
			drop(g, i);
}

void
ghost_forget_all(struct ghost *g)
{
	for (uint32_t i = 0; i < g->shades_n; i++)
		if (g->shades[i].used)
			drop(g, i);
}

/* ---- life ---------------------------------------------------------------------------------- */

/* The largest power of two up to n, but at least 64. */
static uint32_t
entries_for(uint32_t n)
{
	uint32_t most = 64;
	while (2 * most <= n)
		most *= 2;
	return most;
}

struct ghost *
ghost_create(const struct ghost_options *o)
{
	struct ghost *g = NEW(struct ghost);
	g->o = *o;
	g->o.max_entries = entries_for(o->max_entries ? o->max_entries : MAX_ENTRIES);
	uint64_t log_bytes = ledger_log_bytes(o->disk_bytes, o->reserve_bytes);
	uint64_t segment = o->segment_bytes ? o->segment_bytes : ledger_segment_bytes(log_bytes);
	uint32_t n = (uint32_t)(log_bytes / segment);
	if (!g->o.max_object_bytes || g->o.max_object_bytes > log_bytes / 8)
		g->o.max_object_bytes = log_bytes / 8;
	atomic_init(&g->threshold, UINT64_MAX);
	g->weight = 1;
	ledger_init(&g->ledger, n, n, segment);
	ram_policy_init(&g->ram, o->memory_bytes);
	g->ram_most = o->memory_bytes / ram_policy_shards(o->memory_bytes) / RAM_LARGEST_SHARE;
	g->segments = make_slots(NULL, n ? n : 1);
	g->free = NONE;
	grow(g, g->o.max_entries < FIRST_ENTRIES ? g->o.max_entries : FIRST_ENTRIES);
	free_segments(g);
	return g;
}

void
ghost_destroy(struct ghost **pg)
{
	struct ghost *g = *pg;
	*pg = NULL;
	if (!g)
		return;
	ledger_fini(&g->ledger);
	free(g->shades);
	free(g->table);
	free(g->urls);
	free(g->segments);
	free(g);
}

void
ghost_stats(const struct ghost *g, struct ghost_stats *out)
{
	*out = g->n;
	out->sample_share = 1.0 / g->weight;
	out->entries = g->used;
	out->memory_bytes = sizeof *g + g->shades_n * (sizeof *g->shades + 3 * sizeof *g->table) +
			    g->ledger.slots_n * (sizeof *g->ledger.slots + sizeof *g->segments);
}

void
ghost_check(const struct ghost *g)
{
	uint32_t used = 0, listed = 0, on_disk = 0;
	ledger_check(&g->ledger);
	ram_policy_check(&g->ram);
	for (uint32_t i = 0; i < g->shades_n; i++) {
		const struct shade *s = &g->shades[i];
		used += s->used;
		assert(!s->used || g->table[slot_of(g, s->key)] == i);
		assert(!s->used || ghost_samples(g, s->key));
		assert(s->used == (s->on_disk || s->in_ram));
		on_disk += s->on_disk;
	}
	for (uint32_t n = 0; n < g->ledger.slots_n; n++)
		for (uint32_t i = g->segments[n]; i != NONE; i = g->shades[i].next) {
			assert(g->shades[i].segment == n);
			assert(g->ledger.slots[n].state >= SEGMENT_OPEN);
			listed++;
		}
	for (uint32_t n = 0; n < g->shades_n; n++)
		for (uint32_t i = g->urls[n]; i != NONE; i = g->shades[i].url_next)
			assert(bucket_of(g, g->shades[i].url) == &g->urls[n]);
	assert(used == g->used && listed == on_disk);
}
