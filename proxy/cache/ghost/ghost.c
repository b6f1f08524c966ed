/* ghost.c - what would be answered, validated, fetched: the sample (ghost_sample.c) and its events.
 *
 * A sampled key stands for weight keys: its record takes weight times its bytes of the ghost's log,
 * so the log itself keeps its real size.
 */
#include "proxy/cache/ghost/ghost_inside.h"

#include "proxy/base/mem.h"
#include "proxy/cache/store/index.h"
#include "proxy/cache/store/object.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	FIRST_ENTRIES = 1024,
	MAX_ENTRIES = 32 << 10,
	NONE = GHOST_NONE,
};

/* ---- the sample ---------------------------------------------------------------------------- */

static uint32_t
weight_of(const struct ghost *g, uint64_t sampled_as)
{
	return ghost_is_large(g, sampled_as) ? 1 : g->weight;
}

bool
ghost_make_room(struct ghost *g)
{
	if (g->used == g->shades_n && 2 * g->shades_n <= g->o.max_entries)
		ghost_grow(g, 2 * g->shades_n);
	while (g->used == g->shades_n && g->weight < 1u << GHOST_MOST_HALVINGS)
		ghost_thin_out(g);
	return g->used < g->shades_n;
}

static uint32_t
add(struct ghost *g, const struct shade *s)
{
	assert(g->free != NONE);
	uint32_t i = g->free;
	g->free = g->shades[i].next;
	g->used++;
	g->shades[i] = *s;
	g->shades[i].used = true;
	g->large_n += s->large;
	g->table[ghost_slot(g, s->key)] = i;
	ghost_join_url(g, i);
	return i;
}

void
ghost_add(struct ghost *g, const struct shade *s, uint32_t segment)
{
	uint32_t i = add(g, s);
	g->shades[i].on_disk = true;
	ghost_join_segment(g, i, segment);
	ghost_note(g, &g->shades[i], GHOST_PUT);
}

static void
add_to_ram(struct ghost *g, const struct shade *s, uint64_t bytes)
{
	struct shade *is = &g->shades[add(g, s)];
	is->in_ram = true;
	is->node = (struct ram_node){.bytes = bytes, .twins = ghost_weight(g, is) - 1};
	ram_policy_add(&g->ram, &is->node);
}

/* ---- events -------------------------------------------------------------------------------- */

static bool
is_refused(const struct ghost *g, const struct ghost_event *e)
{
	return e->refused || e->body_bytes > g->o.max_object_bytes;
}

static uint32_t
fresh_until(const struct ghost_event *e)
{
	uint32_t left = UINT32_MAX - e->now_s;
	return e->now_s + (e->fresh_s < left ? e->fresh_s : left);
}

static uint64_t
sampled_as(const struct ghost_event *e)
{
	return e->sampled_as ? e->sampled_as : e->record_bytes;
}

uint64_t
ghost_disk_bytes(const struct ghost *g, const struct ghost_event *e)
{
	return g->o.packs && e->packed_bytes ? e->packed_bytes : e->record_bytes;
}

static bool
is_in_pieces(const struct ghost *g, const struct ghost_event *e, uint64_t bytes)
{
	return (bytes == e->record_bytes ? e->body_bytes : bytes) > g->fragment_bytes;
}

static struct shade
shade_of(const struct ghost *g, const struct ghost_event *e, uint64_t bytes)
{
	return (struct shade){.key = e->key,
			      .url = (uint32_t)e->url,
			      .host = e->host,
			      .bytes = bytes,
			      .sampled_as = sampled_as(e),
			      .large = ghost_is_large(g, sampled_as(e)),
			      .in_pieces = is_in_pieces(g, e, bytes),
			      .bodiless = e->body_bytes == 0,
			      .validator = e->validator,
			      .clean = e->purge_now,
			      .fresh_until = fresh_until(e)};
}

/* Objects that the disk does not take may wait in RAM for their next request. */
static void
keep_in_ram(struct ghost *g, const struct ghost_event *e)
{
	struct shade s = shade_of(g, e, e->record_bytes);
	uint64_t bytes = stored_copy_memory(s.bytes), all = bytes * ghost_weight(g, &s);
	if (bytes > g->ram_most || all > g->ram.limit ||
	    !ram_policy_takes(&g->ram, bytes, false, 0))
		return;
	ghost_shrink_ram(g, all);
	add_to_ram(g, &s, bytes);
}

/* Fetches it and writes it, over what it held. Did it reach the disk? */
static bool
write_anew(struct ghost *g, const struct ghost_event *e)
{
	struct shade *old = ghost_find(g, e->key);
	if (old)
		ghost_lose(g, (uint32_t)(old - g->shades));
	if (!ghost_make_room(g) || !ghost_samples(g, e->key, sampled_as(e)))
		return false;
	if (is_refused(g, e)) {
		keep_in_ram(g, e);
		return false;
	}
	struct shade s = shade_of(g, e, ghost_disk_bytes(g, e));
	uint32_t segment = ghost_write(g, s.bytes, s.in_pieces, ghost_weight(g, &s));
	/* Of something larger than the log the beginning is gone by now. */
	if (segment == NONE || g->ledger.slots[segment].state < SEGMENT_OPEN || !ghost_make_room(g))
		return true;
	ghost_add(g, &s, segment);
	return true;
}

/* An object that is written packed lies so in RAM as well. */
static void
pack(struct ghost *g, struct shade *s, const struct ghost_event *e)
{
	uint64_t bytes = ghost_disk_bytes(g, e);
	if (bytes == e->record_bytes || bytes >= s->bytes)
		return;
	ram_policy_remove(&g->ram, &s->node);
	s->bytes = bytes;
	s->in_pieces = is_in_pieces(g, e, bytes);
	s->node.bytes = stored_copy_memory(bytes);
	ram_policy_add(&g->ram, &s->node);
}

/* An object in RAM alone is written from there. */
static bool
write_from_ram(struct ghost *g, struct shade *s, const struct ghost_event *e)
{
	uint32_t i = (uint32_t)(s - g->shades);
	pack(g, s, e);
	ram_policy_moved(&g->ram, &s->node, false);
	uint32_t segment = ghost_write(g, s->bytes, s->in_pieces, ghost_weight(g, s));
	if (segment == NONE || g->ledger.slots[segment].state < SEGMENT_OPEN)
		return true;
	s->on_disk = true;
	ghost_join_segment(g, i, segment);
	ram_policy_moved(&g->ram, &s->node, true);
	ghost_note(g, s, GHOST_PUT);
	return true;
}

/* Asked for again: where it lies it is worth more now. Is it written? */
static bool
touch(struct ghost *g, struct shade *s, const struct ghost_event *e)
{
	if (s->in_ram)
		ram_policy_touch(&s->node);
	if (!s->on_disk)
		return !is_refused(g, e) && write_from_ram(g, s, e);
	ghost_fade(g, s);
	if (!s->in_ram)
		ghost_promote(g, s);
	ghost_pay(g, s, e->body_bytes);
	return false;
}

static enum ghost_would
would(const struct ghost_event *e, const struct shade *s)
{
	if (s && e->now_s < s->fresh_until)
		return WOULD_ANSWER;
	if (!e->whole || e->deed == GHOST_ASKED)
		return WOULD_PASS; /* as we did */
	return s && s->validator && s->validator == e->validator ? WOULD_VALIDATE : WOULD_FETCH;
}

/* This must hold between any two events; ghost_check looks at everything. */
static void
check(const struct ghost *g)
{
	assert(g->used <= g->shades_n && g->shades_n <= g->o.max_entries);
	assert((g->used == g->shades_n) == (g->free == NONE));
	assert(!g->is_emptying && !g->is_carrying && !g->heads);
	assert(g->ledger.free <= ledger_at_hand(&g->ledger) + 1); /* one was just emptied */
	assert(g->large_n <= g->used);
	assert(g->ram.used <= g->ram.limit && g->weight && !(g->weight & (g->weight - 1)));
}

static bool
validate(struct ghost *g, const struct ghost_event *e, struct shade *s)
{
	s->fresh_until = fresh_until(e);
	s->clean = e->purge_now;
	g->n.validated += e->slice ? 0 : ghost_weight(g, s);
	bool wrote = touch(g, s, e);
	if (s->in_ram) { /* the head is written when it leaves */
		s->unwritten = true;
		return wrote;
	}
	ghost_write(g, GHOST_HEAD_BYTES, false, ghost_weight(g, s));
	ghost_note(g, s, GHOST_NEW_HEAD);
	return wrote;
}

/* Written bytes include the share of tables and footers that is known so far. */
static uint64_t
written(const struct ghost *g)
{
	int64_t all = (int64_t)g->n.written_bytes + g->batch.overhead;
	return all > 0 ? (uint64_t)all : 0;
}

static enum ghost_answer
answer(struct ghost *g, const struct ghost_event *e, struct shade *s, uint32_t weight, bool *wrote)
{
	uint32_t counted = e->slice ? 0 : weight;
	switch (would(e, s)) {
	case WOULD_ANSWER: {
		bool from_ram = s->in_ram;
		g->n.hits += counted;
		*wrote = touch(g, s, e);
		return from_ram ? GHOST_FROM_RAM : GHOST_FROM_DISK;
	}
	case WOULD_VALIDATE:
		*wrote = validate(g, e, s);
		return GHOST_VALIDATED;
	case WOULD_FETCH:
		g->n.misses += counted;
		*wrote = write_anew(g, e);
		return GHOST_MISSED;
	case WOULD_PASS:
		break;
	}
	return GHOST_PASSED;
}

/* An object purged since the ghost had it goes, or is stale. */
static struct shade *
purge(struct ghost *g, const struct ghost_event *e, struct shade *s)
{
	if (!g->purge_start)
		g->purge_start = e->purge_now;
	if (!s)
		return NULL;
	uint64_t since = s->clean ? s->clean : g->purge_start;
	if (e->gone_at > since) {
		ghost_lose(g, (uint32_t)(s - g->shades));
		return NULL;
	}
	if (e->stale_at > since && s->fresh_until > e->now_s) {
		s->fresh_until = e->now_s;
		ghost_note(g, s, GHOST_NEW_HEAD);
	}
	return s;
}

struct ghost_did
ghost_see(struct ghost *g, const struct ghost_event *e)
{
	struct ghost_did did = {.answer = GHOST_IGNORED};
	struct shade *s = purge(g, e, g->ledger.limit ? ghost_find(g, e->key) : NULL);
	if (!s && !ghost_samples(g, e->key, sampled_as(e)))
		return did;
	uint64_t before = written(g);
	uint64_t more = g->n.extra_requests, less = g->n.avoided_requests, came = g->n.extra_bytes,
		 spared = g->n.avoided_bytes;
	did.weight = s ? ghost_weight(g, s) : weight_of(g, sampled_as(e));
	ghost_age(g, e->now_s);
	ghost_charge(g, e, would(e, s), did.weight);
	did.answer = answer(g, e, s, did.weight, &did.wrote);
	ghost_write_heads(g);
	check(g);
	assert(written(g) >= before); /* it is a counter */
	did.written_bytes = written(g) - before;
	did.net_requests =
		(int64_t)(g->n.avoided_requests - less) - (int64_t)(g->n.extra_requests - more);
	did.net_bytes = (int64_t)(g->n.avoided_bytes - spared) - (int64_t)(g->n.extra_bytes - came);
	return did;
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
	uint64_t most = packing_max_body(log_bytes, segment);
	if (!g->o.max_object_bytes || g->o.max_object_bytes > most)
		g->o.max_object_bytes = most;
	g->packing.batch_bytes = packing_batch_bytes(segment);
	g->fragment_bytes = packing_fragment_bytes(segment);
	atomic_init(&g->threshold, UINT64_MAX);
	atomic_init(&g->large_bytes, UINT64_MAX);
	g->weight = 1;
	ledger_init(&g->ledger, n, n, segment);
	g->samples = g->ledger.limit > 0;
	ram_policy_init(&g->ram, o->memory_bytes);
	g->ram_most = o->memory_bytes / ram_policy_shards(o->memory_bytes) / RAM_LARGEST_SHARE;
	g->segments = ghost_slots(NULL, n ? n : 1);
	g->free = g->spanning = NONE;
	ghost_grow(g, g->o.max_entries < FIRST_ENTRIES ? g->o.max_entries : FIRST_ENTRIES);
	ghost_free_segments(g);
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
	buf_fini(&g->journal.rows);
	free(g);
}

void
ghost_stats(const struct ghost *g, struct ghost_stats *out)
{
	*out = g->n;
	out->written_bytes = written(g);
	out->sample_share = 1.0 / g->weight;
	out->large_bytes = atomic_load_explicit(&g->large_bytes, memory_order_relaxed);
	out->entries = g->used;
	out->memory_bytes = sizeof *g + g->shades_n * (sizeof *g->shades + 3 * sizeof *g->table) +
			    g->ledger.slots_n * (sizeof *g->ledger.slots + sizeof *g->segments);
}

void
ghost_check(const struct ghost *g)
{
	uint32_t used = 0, listed = 0, on_disk = 0, large = 0;
	ledger_check(&g->ledger);
	ram_policy_check(&g->ram);
	for (uint32_t i = 0; i < g->shades_n; i++) {
		const struct shade *s = &g->shades[i];
		used += s->used;
		assert(!s->used || g->table[ghost_slot(g, s->key)] == i);
		assert(!s->used || ghost_samples(g, s->key, s->large ? s->sampled_as : 0));
		assert(!s->large || ghost_is_large(g, s->sampled_as));
		assert(!s->in_ram || s->node.twins == ghost_weight(g, s) - 1);
		large += s->large;
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
			assert(ghost_bucket(g, g->shades[i].url) == &g->urls[n]);
	assert(used == g->used && listed == on_disk && large == g->large_n);
	assert(!g->is_emptying && !g->is_carrying &&
	       g->ledger.free <= ledger_at_hand(&g->ledger) + 1);
}
