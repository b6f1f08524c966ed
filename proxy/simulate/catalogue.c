/* catalogue.c - a table of URLs, and the histograms that its rows fill. */
#include "proxy/simulate/catalogue.h"

#include "proxy/base/mem.h"

#include <stdlib.h>
#include <string.h>

enum {
	FIRST_ROWS = 1 << 12,
	MOST_HALVINGS = 30,
	LOAD_NUM = 3,
	LOAD_DEN = 4,
	TOLD_OFTEN = 3,
};

struct row {
	uint64_t key;	       /* 0: free; a key of 0 is taken as 1 */
	uint64_t bytes, other; /* its size; another one that was seen, and not believed yet */
	uint64_t first,
		largest; /* size of its first version; the largest told: for the second pass */
	uint32_t count, left;
	uint32_t last_s, last_urls;
	uint32_t version, versions; /* versions: of the first pass */
	uint8_t told;		    /* how often in a row: other */
	bool is_sure, was_checked, has_bytes;
};

struct catalogue {
	struct row *rows; /* owned */
	uint64_t size, used, most;
	uint64_t threshold;
	unsigned halvings;
	bool again; /* the second pass */
	uint64_t once, versions;
	uint64_t next_step; /* visits */
	struct catalogue_facts n;
};

struct catalogue *
catalogue_create(uint64_t most_rows, unsigned halvings)
{
	struct catalogue *c = NEW(struct catalogue);
	c->size = FIRST_ROWS;
	c->most = most_rows < FIRST_ROWS ? FIRST_ROWS : most_rows;
	c->rows = mem_zalloc(c->size * sizeof *c->rows);
	c->halvings = halvings < MOST_HALVINGS ? halvings : MOST_HALVINGS;
	c->threshold = UINT64_MAX >> c->halvings;
	c->next_step = 1;
	return c;
}

void
catalogue_destroy(struct catalogue **pc)
{
	struct catalogue *c = *pc;
	*pc = NULL;
	if (c)
		free(c->rows);
	free(c);
}

static uint64_t
slot_of(const struct catalogue *c, uint64_t key)
{
	uint64_t i = key & (c->size - 1);
	while (c->rows[i].key && c->rows[i].key != key)
		i = (i + 1) & (c->size - 1);
	return i;
}

void
catalogue_prefetch(const struct catalogue *c, uint64_t key)
{
	if (key <= c->threshold)
		__builtin_prefetch(&c->rows[key & (c->size - 1)]);
}

/* The rows into a table of this size, but for those that are not in the sample any more. */
static void
rehash(struct catalogue *c, uint64_t size)
{
	struct row *old = c->rows;
	uint64_t n = c->size;
	c->rows = mem_zalloc(size * sizeof *c->rows);
	c->size = size;
	c->used = c->once = 0;
	for (uint64_t i = 0; i < n; i++) {
		if (!old[i].key || old[i].key > c->threshold)
			continue;
		c->rows[slot_of(c, old[i].key)] = old[i];
		c->used++;
		c->once += old[i].count == 1;
	}
	free(old);
}

static void
make_room(struct catalogue *c)
{
	if (c->used < c->size / LOAD_DEN * LOAD_NUM)
		return;
	if (2 * c->size <= c->most) {
		rehash(c, 2 * c->size);
		return;
	}
	while (c->used >= c->size / LOAD_DEN * LOAD_NUM && c->halvings < MOST_HALVINGS) {
		c->halvings++;
		c->threshold /= 2;
		rehash(c, c->size);
	}
}

static unsigned
log2_of(uint64_t n)
{
	unsigned b = n ? 64 - (unsigned)__builtin_clzll(n) : 0;
	return b < CATALOGUE_LOG2 ? b : CATALOGUE_LOG2 - 1;
}

static double
weight(const struct catalogue *c)
{
	return (double)(UINT64_C(1) << c->halvings);
}

/* ---- sizes and versions -------------------------------------------------------------------- */

static bool
begin_version(struct row *r, uint64_t bytes)
{
	r->bytes = bytes;
	r->is_sure = false;
	r->told = 0;
	r->version++;
	return true;
}

/* A log that tells what was sent: less than the object is a request that was cut, more means that
 * the one before was, and both may be another coding of the same. Only what several answers in a
 * row tell is a new version. */
static bool
take_sent(struct catalogue *c, struct row *r, uint64_t bytes)
{
	if (c->again && !r->versions)
		return false; /* the largest is its size */
	if (bytes == r->bytes) {
		r->is_sure = true;
		r->told = 0;
		return false;
	}
	if (bytes > r->largest)
		r->largest = bytes;
	if (!r->is_sure && bytes > r->bytes) {
		r->bytes = bytes;
		return false;
	}
	r->told = bytes == r->other ? r->told + 1 : 1;
	r->other = bytes;
	return r->is_sure && r->told == TOLD_OFTEN && begin_version(r, bytes);
}

static bool
take_size(struct catalogue *c, struct row *r, const struct visit *v, const struct catalogue_news *n)
{
	if (!n->has_bytes || v->kind == VISIT_CHECKED)
		return false;
	if (!r->has_bytes) {
		r->has_bytes = true;
		r->bytes = c->again ? r->bytes : n->bytes;
		r->largest = n->bytes > r->largest ? n->bytes : r->largest;
		return false;
	}
	if (n->whole_size)
		return n->bytes != r->bytes && begin_version(r, n->bytes);
	if (v->kind == VISIT_WHOLE)
		return take_sent(c, r, n->bytes);
	if (!r->is_sure && n->bytes > r->bytes)
		r->bytes = r->largest = n->bytes;
	return false;
}

/* ---- measuring ----------------------------------------------------------------------------- */

/* Steps twice as wide when there are too many. */
static void
note_step(struct catalogue *c, const struct visit *v)
{
	struct catalogue_facts *n = &c->n;
	if (n->visits < c->next_step)
		return;
	if (n->steps == CATALOGUE_STEPS) {
		for (unsigned i = 0; i < CATALOGUE_STEPS / 2; i++)
			n->step[i] = n->step[2 * i + 1];
		n->steps = CATALOGUE_STEPS / 2;
	}
	n->step[n->steps].visits = n->visits;
	n->step[n->steps].now_s = v->now_s;
	n->step[n->steps].urls = (double)c->used * weight(c);
	n->step[n->steps++].once = (double)c->once * weight(c);
	uint64_t width = n->steps > 1 ? n->step[1].visits - n->step[0].visits : 1;
	c->next_step = n->visits + (n->steps == CATALOGUE_STEPS ? 2 * width : width);
}

static void
note_visit(struct catalogue *c, const struct visit *v)
{
	struct catalogue_facts *n = &c->n;
	unsigned hour = v->now_s / 3600 % CATALOGUE_HOURS;
	if (n->visits++ == 0)
		n->begin_s = v->now_s;
	n->end_s = v->now_s > n->end_s ? v->now_s : n->end_s;
	n->hour_visits[hour]++;
	n->hour_bytes[hour] += v->sent;
	note_step(c, v);
}

static void
note_row(struct catalogue *c, struct row *r, const struct visit *v)
{
	uint32_t urls = (uint32_t)c->used;
	c->once += r->count == 0;
	c->once -= r->count == 1;
	if (r->count) {
		uint32_t s = v->now_s > r->last_s ? v->now_s - r->last_s : 0;
		uint64_t other = (uint64_t)(urls - r->last_urls) << c->halvings;
		c->n.gap_s[log2_of(s)] += weight(c);
		c->n.gap_urls[log2_of(urls > r->last_urls ? other : 0)] += weight(c);
	}
	r->last_s = v->now_s;
	r->last_urls = urls;
	r->count++;
}

/* ---- the door ------------------------------------------------------------------------------ */

static struct row *
row_of(struct catalogue *c, uint64_t key)
{
	struct row *r = &c->rows[slot_of(c, key)];
	if (r->key)
		return r;
	if (c->again)
		return NULL; /* it was not there in the first pass: the log has grown */
	make_room(c);
	if (key > c->threshold)
		return NULL;
	r = &c->rows[slot_of(c, key)];
	r->key = key;
	c->used++;
	return r;
}

void
catalogue_see(struct catalogue *c, struct visit *v, const struct catalogue_news *n)
{
	uint64_t key = v->key.hi | !v->key.hi;
	struct row *r = key <= c->threshold ? row_of(c, key) : NULL;
	v->bytes = n->bytes;
	if (!c->again)
		note_visit(c, v);
	v->tracked = r != NULL;
	if (!r)
		return;
	v->changed = take_size(c, r, v, n);
	if (r->version == 0 && !c->again)
		r->first = r->bytes;
	c->versions += v->changed && !c->again;
	r->was_checked = r->was_checked || v->kind == VISIT_CHECKED;
	if (c->again) {
		v->first = r->left == r->count;
		r->left -= r->left > 0; /* a log that grows while it is read */
		v->again = r->left > 0;
	} else {
		v->first = r->count == 0;
		note_row(c, r, v);
	}
	v->bytes = r->bytes;
	v->validator = r->was_checked ? r->version + 1 : 0;
}

void
catalogue_rewind(struct catalogue *c)
{
	c->again = true;
	for (uint64_t i = 0; i < c->size; i++) {
		struct row *r = &c->rows[i];
		r->left = r->count;
		r->versions = r->version;
		r->version = 0;
		r->has_bytes = r->is_sure = false;
		r->bytes = r->versions ? r->first : r->largest;
		r->other = r->told = 0;
	}
}

unsigned
catalogue_halvings(const struct catalogue *c)
{
	return c->halvings;
}

void
catalogue_facts(const struct catalogue *c, struct catalogue_facts *out)
{
	double w = weight(c);
	*out = c->n;
	out->sample_share = 1 / w;
	out->rows = c->used;
	out->memory_bytes = c->size * sizeof *c->rows;
	out->urls = (double)c->used * w;
	out->once_urls = (double)c->once * w;
	out->versions = (double)c->versions * w;
	for (uint64_t i = 0; i < c->size; i++) {
		const struct row *r = &c->rows[i];
		if (!r->key)
			continue;
		double bytes = (double)r->bytes * w;
		unsigned k = log2_of(r->count - 1);
		out->bytes += bytes;
		out->once_bytes += r->count == 1 ? bytes : 0;
		out->by_count[k] += w;
		out->by_count_bytes[k] += bytes;
		out->by_count_visits[k] += r->count * w;
	}
}
