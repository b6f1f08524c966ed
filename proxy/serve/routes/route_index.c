/* route_index.c - tables of hosts, of tails of hosts, and of paths. Keys are the configuration's, so
 * no client can make them collide.
 */
#include "proxy/serve/routes/route_index.h"

#include "proxy/base/mem.h"
#include "proxy/http/syntax.h"
#include "proxy/serve/routes/route_special.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 8 }; /* rows that are quicker looked at than hashed */
static const uint64_t HASH_BEGIN = 14695981039346656037u, HASH_PRIME = 1099511628211u;
static const unsigned NONE = UINT_MAX;

struct slot {
	uint64_t hash;
	struct str text;
	unsigned number; /* NONE: free */
};

/* Texts to numbers: the first that was added with a text stays. */
struct table {
	struct slot *slots;
	unsigned size, used; /* a power of two, or 0 */
	bool any_case;
	unsigned *lengths; /* of texts, ascending */
	unsigned length_count;
};

struct list {
	unsigned *rows; /* ascending */
	unsigned n;
	struct table paths[2];	       /* of more than FEW: as written, and in any case */
	struct route_special *special; /* rows that are not among those; NULL: none */
};

struct route_index {
	struct route_index_row *rows;
	unsigned n;
	struct table hosts, tails; /* to lists */
	struct list *lists;
	unsigned list_count;
	struct list any;
};

/* ---- tables ---------------------------------------------------------------------------------- */

static uint64_t
hash_on(uint64_t hash, const char *p, size_t n, bool any_case)
{
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)(any_case ? byte_lower(p[i]) : p[i])) * HASH_PRIME;
	return hash;
}

static bool
is_text(const struct table *t, struct str a, struct str b)
{
	return t->any_case ? str_ieq(a, b) : str_eq(a, b);
}

/* The slot of the text, or the free one where it would be. */
static struct slot *
slot_of(const struct table *t, uint64_t hash, struct str text)
{
	unsigned i = (unsigned)(hash ^ hash >> 32) & (t->size - 1);
	while (t->slots[i].number != NONE &&
	       !(t->slots[i].hash == hash && is_text(t, t->slots[i].text, text)))
		i = (i + 1) & (t->size - 1);
	return &t->slots[i];
}

static unsigned
table_get(const struct table *t, uint64_t hash, struct str text)
{
	return t->size ? slot_of(t, hash, text)->number : NONE;
}

static void
table_grow(struct table *t)
{
	enum { FIRST_SIZE = 16 };
	struct slot *old = t->slots;
	unsigned n = t->size;
	t->size = n ? 2 * n : FIRST_SIZE;
	t->slots = mem_alloc(t->size * sizeof *t->slots);
	for (unsigned i = 0; i < t->size; i++)
		t->slots[i].number = NONE;
	for (unsigned i = 0; i < n; i++)
		if (old[i].number != NONE)
			*slot_of(t, old[i].hash, old[i].text) = old[i];
	free(old);
}

static void
table_note_length(struct table *t, unsigned length)
{
	unsigned at = 0;
	while (at < t->length_count && t->lengths[at] < length)
		at++;
	if (at < t->length_count && t->lengths[at] == length)
		return;
	t->lengths = mem_realloc(t->lengths, (t->length_count + 1) * sizeof *t->lengths);
	memmove(t->lengths + at + 1, t->lengths + at, (t->length_count - at) * sizeof *t->lengths);
	t->lengths[at] = length;
	t->length_count++;
}

/* The number of the text: an older one, or this. */
static unsigned
table_add(struct table *t, struct str text, unsigned number)
{
	uint64_t hash = hash_on(HASH_BEGIN, text.p, text.n, t->any_case);
	if (2 * (t->used + 1) > t->size)
		table_grow(t);
	struct slot *s = slot_of(t, hash, text);
	if (s->number != NONE)
		return s->number;
	*s = (struct slot){hash, text, number};
	t->used++;
	assert(2 * t->used <= t->size); /* so that a look for what is not there ends */
	table_note_length(t, (unsigned)text.n);
	return number;
}

static void
table_fini(struct table *t)
{
	free(t->slots);
	free(t->lengths);
}

/* The least number of those texts that the given one begins with. */
static unsigned
table_least_of_fronts(const struct table *t, struct str text)
{
	uint64_t hash = HASH_BEGIN;
	unsigned least = NONE;
	size_t at = 0;
	for (unsigned i = 0; i < t->length_count && t->lengths[i] <= text.n; i++) {
		hash = hash_on(hash, text.p + at, t->lengths[i] - at, t->any_case);
		at = t->lengths[i];
		unsigned number = table_get(t, hash, (struct str){text.p, at});
		least = number < least ? number : least;
	}
	return least;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void
list_add(struct list *l, unsigned row)
{
	if ((l->n & (l->n - 1)) == 0)
		l->rows = mem_realloc(l->rows, (l->n ? 2 * l->n : 1) * sizeof *l->rows);
	l->rows[l->n++] = row;
}

static void
list_index(struct list *l, const struct route_index_row *rows)
{
	l->paths[true].any_case = true;
	for (unsigned i = 0; l->n > FEW && i < l->n; i++) {
		const struct route_index_row *r = &rows[l->rows[i]];
		table_add(&l->paths[r->any_case], r->path, l->rows[i]);
	}
}

static void
list_fini(struct list *l)
{
	table_fini(&l->paths[false]);
	table_fini(&l->paths[true]);
	route_special_destroy(&l->special);
	free(l->rows);
}

static bool
path_matches(const struct route_index_row *r, struct str path)
{
	if (!r->any_case)
		return str_starts(path, r->path);
	return path.n >= r->path.n && str_ieq((struct str){path.p, r->path.n}, r->path);
}

static unsigned
find_plain(const struct list *l, const struct route_index_row *rows, struct str path)
{
	if (l->n > FEW) {
		unsigned a = table_least_of_fronts(&l->paths[false], path),
			 b = table_least_of_fronts(&l->paths[true], path);
		return a < b ? a : b;
	}
	for (unsigned i = 0; i < l->n; i++)
		if (path_matches(&rows[l->rows[i]], path))
			return l->rows[i];
	return NONE;
}

/* The first row of the list for this path. */
static unsigned
list_find(const struct list *l, const struct route_index_row *rows, struct str path,
	  const struct request *rq)
{
	unsigned found = find_plain(l, rows, path);
	return l->special ? route_special_find(l->special, rows, path, rq, found) : found;
}

/* ---- the index ------------------------------------------------------------------------------- */

static struct list *
list_of(struct route_index *x, struct str host)
{
	if (host.n == 0)
		return &x->any;
	bool is_tail = host.p[0] == '*';
	unsigned number =
		table_add(is_tail ? &x->tails : &x->hosts, str_from(host, is_tail), x->list_count);
	if (number == x->list_count) {
		x->lists = mem_realloc(x->lists, (x->list_count + 1) * sizeof *x->lists);
		x->lists[x->list_count++] = (struct list){0};
	}
	assert(number < x->list_count);
	return &x->lists[number];
}

struct route_index *
route_index_create(const struct route_index_row *rows, unsigned n)
{
	struct route_index *x = NEW(struct route_index);
	x->n = n;
	x->hosts.any_case = x->tails.any_case = true;
	x->rows = mem_alloc((n + 1) * sizeof *rows);
	for (unsigned i = 0; i < n; i++) {
		x->rows[i] = rows[i];
		struct list *l = list_of(x, rows[i].host);
		if (route_special_is(&rows[i]))
			route_special_add(&l->special, x->rows, i);
		else
			list_add(l, i);
	}
	list_index(&x->any, x->rows);
	for (unsigned i = 0; i < x->list_count; i++)
		list_index(&x->lists[i], x->rows);
	return x;
}

void
route_index_destroy(struct route_index **px)
{
	struct route_index *x = *px;
	*px = NULL;
	if (!x)
		return;
	for (unsigned i = 0; i < x->list_count; i++)
		list_fini(&x->lists[i]);
	list_fini(&x->any);
	table_fini(&x->hosts);
	table_fini(&x->tails);
	free(x->lists);
	free(x->rows);
	free(x);
}

static unsigned
least_in(const struct route_index *x, unsigned list, struct str path, const struct request *rq,
	 unsigned least)
{
	if (list == NONE)
		return least;
	unsigned found = list_find(&x->lists[list], x->rows, path, rq);
	return found < least ? found : least;
}

unsigned
route_index_find(const struct route_index *x, struct str host, struct str path,
		 const struct request *rq)
{
	unsigned least = list_find(&x->any, x->rows, path, rq);
	if (x->hosts.used) {
		uint64_t hash = hash_on(HASH_BEGIN, host.p, host.n, true);
		least = least_in(x, table_get(&x->hosts, hash, host), path, rq, least);
	}
	for (unsigned i = 0; i < x->tails.length_count && x->tails.lengths[i] < host.n; i++) {
		struct str tail = str_from(host, host.n - x->tails.lengths[i]);
		uint64_t hash = hash_on(HASH_BEGIN, tail.p, tail.n, true);
		least = least_in(x, table_get(&x->tails, hash, tail), path, rq, least);
	}
	return least == NONE ? x->n : least;
}
