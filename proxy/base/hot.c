/* hot.c - space-saving: a new name takes the place, and the weight, of the lightest. */
#include "proxy/base/hot.h"

#include "proxy/base/mem.h"

#include <stdlib.h>

enum { DRAWN_A_SECOND = 500, PERIOD_MOST = 4096 };

void
hot_init(struct hot *h)
{
	memset(h, 0, sizeof *h);
	h->left = h->period = 1;
	h->random = 2463534242u;
	pthread_mutex_init(&h->lock, NULL);
}

void
hot_fini(struct hot *h)
{
	pthread_mutex_destroy(&h->lock);
}

/* ---- drawing --------------------------------------------------------------------------------- */

static uint32_t
next_random(struct hot *h)
{
	h->random ^= h->random << 13;
	h->random ^= h->random >> 17;
	h->random ^= h->random << 5;
	return h->random;
}

static void
halve(struct hot_list *l)
{
	l->total /= 2;
	for (int i = 0; i < HOT_NAMES; i++) {
		l->names[i].weight /= 2;
		l->names[i].error /= 2;
	}
}

/* Under lock. */
static void
fade(struct hot *h, int64_t now_s)
{
	int64_t minute = now_s / HOT_MINUTE_S;
	if (h->minute == 0 || minute < h->minute) /* the clock was set back */
		h->minute = minute;
	if (minute - h->minute > 64)
		h->minute = minute - 64;
	for (; h->minute < minute; h->minute++)
		for (int t = 0; t < HOT_TABLES; t++)
			halve(&h->lists[t]);
}

/* As many are drawn in the next second as are wanted, if it is like the last one. */
static void
set_period(struct hot *h, int64_t now_s)
{
	uint64_t came = (uint64_t)h->drawn * h->period;
	if (h->second == now_s)
		return;
	if (now_s != h->second + 1)
		came = 0;
	uint64_t period = came / DRAWN_A_SECOND;
	h->period = period < 1 ? 1 : period > PERIOD_MOST ? PERIOD_MOST : (unsigned)period;
	h->second = now_s;
	h->drawn = 0;
}

bool
hot_draw(struct hot *h, int64_t now_s)
{
	set_period(h, now_s);
	h->drawn++;
	/* Anything from 1 to twice the period less 1: what comes in turns is not drawn in turns. */
	h->left = 1 + next_random(h) % (2 * h->period - 1);
	/* In a second that began quiet and is not: fewer from here on. */
	if (h->drawn > 2 * DRAWN_A_SECOND && h->period < PERIOD_MOST) {
		h->period *= 2;
		h->drawn /= 2;
	}
	pthread_mutex_lock(&h->lock);
	fade(h, now_s);
	pthread_mutex_unlock(&h->lock);
	return true;
}

/* ---- counting -------------------------------------------------------------------------------- */

/* FNV-1a, of names that are compared besides. */
static uint64_t
hash_of(struct str name)
{
	uint64_t h = 14695981039346656037u;
	for (size_t i = 0; i < name.n; i++)
		h = (h ^ (unsigned char)name.p[i]) * 1099511628211u;
	return h;
}

static bool
is_named(const struct hot_name *n, uint64_t hash, struct str name)
{
	return n->hash == hash && n->bytes == name.n && memcmp(n->text, name.p, name.n) == 0;
}

static struct hot_name *
place_of(struct hot_list *l, uint64_t hash, struct str name)
{
	struct hot_name *least = &l->names[0];
	for (int i = 0; i < HOT_NAMES; i++) {
		struct hot_name *n = &l->names[i];
		if (is_named(n, hash, name))
			return n;
		if (n->weight < least->weight)
			least = n;
	}
	return least;
}

static void
add(struct hot_list *l, struct str name, double weight)
{
	if (name.n > HOT_NAME_BYTES)
		name.n = HOT_NAME_BYTES;
	uint64_t hash = hash_of(name);
	struct hot_name *n = place_of(l, hash, name);
	if (!is_named(n, hash, name)) {
		n->error = n->weight;
		n->hash = hash;
		n->bytes = (uint16_t)name.n;
		memcpy(n->text, name.p, name.n);
	}
	n->weight += weight;
}

void
hot_add(struct hot *h, enum hot_table table, struct str name, double weight)
{
	if (!name.n || weight <= 0)
		return;
	pthread_mutex_lock(&h->lock);
	h->lists[table].total += weight * h->period;
	add(&h->lists[table], name, weight * h->period);
	pthread_mutex_unlock(&h->lock);
}

/* ---- reading --------------------------------------------------------------------------------- */

void
hot_read(struct hot *h, enum hot_table table, int64_t now_s, struct hot_sum *out)
{
	out->names = mem_realloc(out->names, (out->n + HOT_NAMES) * sizeof *out->names);
	pthread_mutex_lock(&h->lock);
	fade(h, now_s);
	const struct hot_list *l = &h->lists[table];
	out->total += l->total;
	for (int i = 0; i < HOT_NAMES; i++)
		if (l->names[i].bytes)
			out->names[out->n++] = l->names[i];
	pthread_mutex_unlock(&h->lock);
}

static int
by_name(const void *a, const void *b)
{
	const struct hot_name *x = a, *y = b;
	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return memcmp(x->text, y->text, x->bytes);
}

static int
heavier(const void *a, const void *b)
{
	const struct hot_name *x = a, *y = b;
	return (x->weight < y->weight) - (x->weight > y->weight);
}

void
hot_sort(struct hot_sum *s)
{
	unsigned n = 0;
	if (!s->n)
		return;
	qsort(s->names, s->n, sizeof *s->names, by_name);
	for (unsigned i = 1; i < s->n; i++)
		if (by_name(&s->names[n], &s->names[i]) == 0) {
			s->names[n].weight += s->names[i].weight;
			s->names[n].error += s->names[i].error;
		} else {
			s->names[++n] = s->names[i];
		}
	s->n = n + 1;
	qsort(s->names, s->n, sizeof *s->names, heavier);
}

void
hot_sum_fini(struct hot_sum *s)
{
	free(s->names);
	memset(s, 0, sizeof *s);
}
