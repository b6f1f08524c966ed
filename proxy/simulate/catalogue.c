/* catalogue.c - a table of URLs, and the histograms that its rows fill. */
#include "proxy/simulate/catalogue.h"
#include "proxy/simulate/packed.h"
#include "proxy/simulate/steps.h"

#include "proxy/base/mem.h"

#include <stdlib.h>
#include <string.h>

enum {
	FIRST_ROWS = 1 << 12,
	MOST_HALVINGS = 30,
	LOAD_NUM = 3,
	LOAD_DEN = 4,
	TOLD_OFTEN = 3,
	SAMPLE_AT = 1 << 15, /* URLs: enough to tell which ones are large */
	LARGE_LEAST = 1 << 13,
	LARGE_SHARE = 4, /* of the URLs, to begin with */
};

struct row {
	uint64_t key;	       /* 0: free; a key of 0 is taken as 1 */
	uint64_t bytes, other; /* its size; another one that was seen, and not believed yet */
	uint64_t first,
		largest; /* size of its first version; the largest told: for the second pass */
	uint32_t count, left;
	uint64_t at;	     /* where its next part begins */
	uint64_t last_visit; /* of this pass, from 1; 0: none */
	uint32_t last_s, last_urls;
	uint32_t version, versions; /* versions: of the first pass */
	uint32_t life;		    /* seconds and one; 0: not known */
	struct heard heard;	    /* of purges, in this pass */
	uint16_t packed;	    /* as of visit.h: the last that was told */
	uint8_t told;		    /* how often in a row: other */
	bool is_sure, was_checked, has_bytes;
	bool large; /* it stands for itself alone */
};

struct catalogue {
	struct row *rows; /* owned */
	uint64_t size, used, most;
	uint64_t threshold;
	uint64_t large_bytes; /* UINT64_MAX: nothing is large */
	uint64_t large_used, large_once;
	unsigned halvings, wanted; /* wanted: once it is known what is large */
	bool again;		   /* the second pass */
	uint64_t visits;	   /* of this pass */
	uint64_t once;		   /* large ones included */
	double versions;
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
	c->wanted = halvings < MOST_HALVINGS ? halvings : MOST_HALVINGS;
	c->threshold = c->large_bytes = UINT64_MAX;
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
	if (key <= c->threshold || c->large_bytes != UINT64_MAX)
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
	c->used = c->once = c->large_used = c->large_once = 0;
	for (uint64_t i = 0; i < n; i++) {
		struct row *r = &old[i];
		r->large = r->large && r->bytes >= c->large_bytes;
		if (!r->key || (r->key > c->threshold && !r->large))
			continue;
		c->rows[slot_of(c, r->key)] = *r;
		c->used++;
		c->once += r->count == 1;
		c->large_used += r->large;
		c->large_once += r->large && r->count == 1;
	}
	free(old);
}

/* ---- the sample ---------------------------------------------------------------------------- */

static int
by_size(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;
	return (*a < *b) - (*a > *b);
}

/* A size that so many of the rows (all, or the large ones) have or exceed, or fewer when many have the same. share:
 * of all their bytes, that these have. */
static uint64_t
size_of_nth(const struct catalogue *c, bool of_large, uint64_t nth, double *share)
{
	uint64_t *sizes = mem_alloc((c->used + 1) * sizeof *sizes), n = 0;
	double all = 0, top = 0;
	for (uint64_t i = 0; i < c->size; i++)
		if (c->rows[i].key && (c->rows[i].large || !of_large)) {
			sizes[n++] = c->rows[i].bytes;
			all += (double)c->rows[i].bytes;
		}
	qsort(sizes, n, sizeof *sizes, by_size);
	for (uint64_t i = 0; i < nth && i < n; i++)
		top += (double)sizes[i];
	*share = all > 0 ? top / all : 0;
	uint64_t size = nth < n ? sizes[nth] + 1 : 0;
	free(sizes);
	return size;
}

/* Before the first URL is left out: those that have most of the bytes stay, whatever their key. */
static void
choose_large(struct catalogue *c)
{
	double share;
	uint64_t from = size_of_nth(c, false, c->used / LARGE_SHARE, &share);
	if (!(share > 0.5))
		return;
	c->large_bytes = from;
	for (uint64_t i = 0; i < c->size; i++)
		c->rows[i].large = c->rows[i].key && c->rows[i].bytes >= from;
}

static void
halve(struct catalogue *c)
{
	double share;
	if (c->halvings == 0)
		choose_large(c);
	c->halvings++;
	c->threshold = UINT64_MAX >> c->halvings;
	rehash(c, c->size);
	/* No more large ones than others, or the sample would be of them alone. */
	uint64_t most = c->used - c->large_used;
	uint64_t least = c->size / 4 < LARGE_LEAST ? c->size / 4 : LARGE_LEAST;
	most = most > least ? most : least;
	if (c->large_used <= most)
		return;
	c->large_bytes = size_of_nth(c, true, most / 2, &share);
	rehash(c, c->size);
}

/* The wanted sample is taken, however short the log was. */
static void
sample_as_wanted(struct catalogue *c)
{
	while (c->halvings < c->wanted)
		halve(c);
}

static void
make_room(struct catalogue *c)
{
	if (c->used >= SAMPLE_AT)
		sample_as_wanted(c);
	if (c->used < c->size / LOAD_DEN * LOAD_NUM)
		return;
	if (2 * c->size <= c->most) {
		rehash(c, 2 * c->size);
		return;
	}
	sample_as_wanted(c);
	while (c->used >= c->size / LOAD_DEN * LOAD_NUM && c->halvings < MOST_HALVINGS)
		halve(c);
}

static unsigned
log2_of(uint64_t n)
{
	unsigned b = n ? 64 - (unsigned)__builtin_clzll(n) : 0;
	return b < CATALOGUE_LOG2 ? b : CATALOGUE_LOG2 - 1;
}

static double
weight(const struct catalogue *c, const struct row *r)
{
	return r->large ? 1 : (double)(UINT64_C(1) << c->halvings);
}

/* All of n rows, of which so many are large. */
static double
scaled(const struct catalogue *c, uint64_t n, uint64_t large)
{
	return (double)((n - large) << c->halvings) + (double)large;
}

static double
urls_so_far(const struct catalogue *c)
{
	return scaled(c, c->used, c->large_used);
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
		c->n.returns += r->told && !c->again ? weight(c, r) : 0;
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

/* A log that tells the object's size: each change of it is a version. */
static bool
take_whole(struct catalogue *c, struct row *r, uint64_t bytes)
{
	c->n.returns += bytes == r->other && !c->again ? weight(c, r) : 0;
	r->other = r->bytes;
	return begin_version(r, bytes);
}

static bool
take_size(struct catalogue *c, struct row *r, const struct visit *v, const struct catalogue_news *n)
{
	bool is_other = n->bytes != r->bytes && n->bytes != r->other;
	if (!n->has_bytes || v->kind == VISIT_CHECKED || (n->is_copy && r->has_bytes && is_other))
		return false;
	if (!r->has_bytes) {
		r->has_bytes = true;
		r->bytes = c->again ? r->bytes : n->bytes;
		r->largest = n->bytes > r->largest ? n->bytes : r->largest;
		return false;
	}
	if (n->whole_size)
		return n->bytes != r->bytes && take_whole(c, r, n->bytes);
	if (v->kind == VISIT_WHOLE)
		return take_sent(c, r, n->bytes);
	if (!r->is_sure && n->bytes > r->bytes)
		r->bytes = r->largest = n->bytes;
	return false;
}

/* ---- measuring ----------------------------------------------------------------------------- */

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
	if (n->visits >= c->next_step)
		c->next_step =
			steps_note(n, v->now_s, urls_so_far(c), scaled(c, c->once, c->large_once));
}

static void
note_row(struct catalogue *c, struct row *r, const struct visit *v)
{
	double known = urls_so_far(c);
	uint32_t urls = known < UINT32_MAX ? (uint32_t)known : UINT32_MAX;
	c->once += r->count == 0;
	c->once -= r->count == 1;
	c->large_once += r->large && r->count == 0;
	c->large_once -= r->large && r->count == 1;
	if (r->count) {
		uint32_t s = v->now_s > r->last_s ? v->now_s - r->last_s : 0;
		c->n.gap_s[log2_of(s)] += weight(c, r);
		c->n.gap_urls[log2_of(urls > r->last_urls ? urls - r->last_urls : 0)] +=
			weight(c, r);
	}
	r->last_urls = urls;
	r->count++;
}

/* ---- the door ------------------------------------------------------------------------------ */

/* NULL: it is not in the sample. */
static struct row *
row_of(struct catalogue *c, uint64_t key, uint64_t bytes, bool only_known)
{
	if (key > c->threshold && c->large_bytes == UINT64_MAX)
		return NULL;
	struct row *r = &c->rows[slot_of(c, key)];
	if (r->key)
		return r;
	if (c->again || only_known || (key > c->threshold && bytes < c->large_bytes))
		return NULL; /* again: the log has grown since the first pass */
	make_room(c);
	bool large = bytes >= c->large_bytes;
	if ((key > c->threshold && !large) || c->used + 1 >= c->size)
		return NULL;
	r = &c->rows[slot_of(c, key)];
	r->key = key;
	r->large = large;
	c->large_used += large;
	c->used++;
	return r;
}

/* How long its bytes had to lie there: since its last request, if they were the same and fresh. */
static void
note_last(struct catalogue *c, struct row *r, struct visit *v)
{
	bool fresh = v->fresh_s == UINT32_MAX || v->now_s < r->last_s + (uint64_t)v->fresh_s;
	v->since = r->last_visit && !v->changed && fresh ? c->visits - r->last_visit : 0;
	r->last_visit = c->visits;
	r->last_s = v->now_s;
}

/* Where a log does not say which part it was, parts of one URL are taken as following each other, and
 * as beginning anew behind its end. */
static void
place_part(struct row *r, struct visit *v, bool has_at)
{
	if (v->kind != VISIT_PART)
		return;
	if (has_at) {
		v->at = v->at < r->bytes ? v->at : 0; /* it was larger, once */
		return;
	}
	v->at = r->at < r->bytes ? r->at : 0;
	r->at = v->at + v->sent;
}

static void
take_terms(struct row *r, struct visit *v, const struct catalogue_news *n)
{
	if (n->has_life)
		r->life = v->fresh_s < UINT32_MAX ? v->fresh_s + 1 : 0;
	else if (r->life)
		v->fresh_s = r->life - 1;
	if (n->has_packed && v->kind <= VISIT_PART) /* a 304 may say no type, or another one */
		r->packed = n->packed;
	v->packed = r->packed;
}

void
catalogue_see(struct catalogue *c, struct visit *v, const struct catalogue_news *n)
{
	uint64_t key = v->key.hi | !v->key.hi;
	struct row *r = v->kind == VISIT_PASSED ? NULL
						: row_of(c, key, n->has_bytes ? n->bytes : 0,
							 v->kind == VISIT_HEAD);
	v->bytes = n->bytes;
	c->visits++;
	if (!c->again)
		note_visit(c, v);
	v->tracked = r != NULL;
	if (!r && v->kind == VISIT_HEAD && key <= c->threshold)
		v->kind = VISIT_PASSED; /* nobody has asked for it otherwise, so far */
	if (!r)
		return;
	take_terms(r, v, n);
	v->bytes = r->bytes;
	v->large = r->large;
	if (v->kind == VISIT_HEAD)
		return; /* it changes nothing */
	v->changed = take_size(c, r, v, n);
	if (r->version == 0 && !c->again)
		r->first = r->bytes;
	c->versions += v->changed && !c->again ? weight(c, r) : 0;
	v->changed |= purges_tell(&r->heard, n->purged, &v->softened);
	r->was_checked = r->was_checked || v->kind == VISIT_CHECKED || n->validated;
	if (c->again) {
		v->first = r->left == r->count;
		r->left -= r->left > 0; /* a log that grows while it is read */
		v->again = r->left > 0;
	} else {
		v->first = r->count == 0;
		note_row(c, r, v);
	}
	note_last(c, r, v);
	v->bytes = r->bytes;
	v->version = r->version + r->heard.times;
	place_part(r, v, n->has_at);
	v->validator = r->was_checked ? v->version + 1 : 0;
}

void
catalogue_rewind(struct catalogue *c)
{
	sample_as_wanted(c);
	c->again = true;
	c->visits = 0;
	for (uint64_t i = 0; i < c->size; i++) {
		struct row *r = &c->rows[i];
		r->left = r->count;
		r->versions = r->version;
		r->version = 0;
		r->has_bytes = r->is_sure = false;
		r->bytes = r->versions ? r->first : r->largest;
		r->other = r->told = 0;
		r->at = r->last_visit = r->life = 0;
		r->heard = (struct heard){0};
	}
}

struct catalogue_sample
catalogue_sample(const struct catalogue *c)
{
	return (struct catalogue_sample){c->halvings, c->large_bytes};
}

/* A table is at most half full of what it will be after it grew, and both are there meanwhile. */
uint64_t
catalogue_row_bytes(void)
{
	return sizeof(struct row) * 3 / 2;
}

void
catalogue_facts(const struct catalogue *c, struct catalogue_facts *out)
{
	*out = c->n;
	out->sample_share = 1 / (double)(UINT64_C(1) << c->halvings);
	out->rows = c->used;
	out->large_urls = (double)c->large_used;
	out->large_bytes = c->large_bytes;
	out->memory_bytes = c->size * sizeof *c->rows;
	out->urls = urls_so_far(c);
	out->once_urls = scaled(c, c->once, c->large_once);
	out->versions = c->versions;
	out->smallest_bytes = UINT64_MAX;
	for (uint64_t i = 0; i < c->size; i++) {
		const struct row *r = &c->rows[i];
		if (!r->key)
			continue;
		double w = weight(c, r), bytes = (double)r->bytes * w;
		unsigned k = log2_of(r->count - 1);
		out->bytes += bytes;
		uint64_t packed = packed_bytes(r->bytes, r->packed);
		out->packable_bytes += packed < r->bytes ? bytes : 0;
		out->packed_bytes += packed < r->bytes ? (double)packed * w : 0;
		out->largest_bytes = r->bytes > out->largest_bytes ? r->bytes : out->largest_bytes;
		out->smallest_bytes =
			r->bytes < out->smallest_bytes ? r->bytes : out->smallest_bytes;
		out->once_bytes += r->count == 1 ? bytes : 0;
		out->by_count[k] += w;
		out->by_count_bytes[k] += bytes;
		out->by_count_visits[k] += r->count * w;
	}
}
