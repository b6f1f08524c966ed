/* route_special.c - a table from hashes of beginnings and ends to chains of rows. Hashes do not tell cases of
 * letters apart, so that rows that do and rows that do not lie in one table; what decides is the row.
 */
#include "proxy/serve/routes/route_special.h"

#include "proxy/base/glob.h"
#include "proxy/base/mem.h"
#include "proxy/http/syntax.h"
#include "proxy/serve/routes/route_conditions.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>

enum { FIRST_SIZE = 16 };
static const uint64_t HASH_BEGIN = 14695981039346656037u, HASH_PRIME = 1099511628211u;
static const unsigned NONE = UINT_MAX;

struct lengths {
	size_t front, back;
	unsigned first; /* the least row that has them */
};

struct entry {
	uint64_t hash;
	unsigned row, next; /* next: of that hash, in ascending order of rows; or NONE */
};

struct route_special {
	struct lengths *lengths; /* by front */
	unsigned length_count;
	struct entry *entries;
	unsigned count;
	unsigned *slots; /* to the first entry of a hash, or NONE */
	unsigned size;	 /* a power of two, over twice as many as entries */
};

bool
route_special_is(const struct route_index_row *row)
{
	return row->conditions || (row->path.n && memchr(row->path.p, '*', row->path.n));
}

static uint64_t
hash_on(uint64_t hash, struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		hash = (hash ^ (unsigned char)byte_lower(s.p[i])) * HASH_PRIME;
	return hash;
}

/* ---- the table ------------------------------------------------------------------------------- */

static unsigned *
slot_of(const struct route_special *s, uint64_t hash)
{
	unsigned i = (unsigned)(hash ^ hash >> 32) & (s->size - 1);
	while (s->slots[i] != NONE && s->entries[s->slots[i]].hash != hash)
		i = (i + 1) & (s->size - 1);
	return &s->slots[i];
}

static void
grow(struct route_special *s)
{
	s->size = s->size ? 2 * s->size : FIRST_SIZE;
	s->slots = mem_realloc(s->slots, s->size * sizeof *s->slots);
	for (unsigned i = 0; i < s->size; i++)
		s->slots[i] = NONE;
	for (unsigned i = 0; i < s->count; i++) {
		unsigned *slot = slot_of(s, s->entries[i].hash);
		*slot = *slot == NONE ? i : *slot; /* the first of its chain */
	}
}

static void
add_entry(struct route_special *s, uint64_t hash, unsigned row)
{
	if (2 * (s->count + 1) > s->size)
		grow(s);
	if ((s->count & (s->count - 1)) == 0)
		s->entries =
			mem_realloc(s->entries, (s->count ? 2 * s->count : 1) * sizeof *s->entries);
	unsigned *at = slot_of(s, hash);
	while (*at != NONE)
		at = &s->entries[*at].next;
	*at = s->count;
	s->entries[s->count++] = (struct entry){hash, row, NONE};
	assert(2 * s->count <= s->size); /* so that a look for what is not there ends */
}

static void
note_lengths(struct route_special *s, size_t front, size_t back, unsigned row)
{
	unsigned at = 0;
	while (at < s->length_count && s->lengths[at].front <= front) {
		if (s->lengths[at].front == front && s->lengths[at].back == back)
			return;
		at++;
	}
	s->lengths = mem_realloc(s->lengths, (s->length_count + 1) * sizeof *s->lengths);
	memmove(s->lengths + at + 1, s->lengths + at, (s->length_count - at) * sizeof *s->lengths);
	s->lengths[at] = (struct lengths){front, back, row};
	s->length_count++;
}

void
route_special_add(struct route_special **sp, const struct route_index_row *rows, unsigned number)
{
	struct str path = rows[number].path;
	struct route_special *s = *sp = *sp ? *sp : NEW(struct route_special);
	assert(!s->count || s->entries[s->count - 1].row < number);
	const char *last = path.n ? memrchr(path.p, '*', path.n) : NULL;
	struct str front = str_before(path, '*');
	size_t back = last ? path.n - (size_t)(last - path.p) - 1 : 0;
	uint64_t hash = hash_on(HASH_BEGIN, front);
	note_lengths(s, front.n, back, number);
	add_entry(s, hash_on(hash, str_from(path, path.n - back)), number);
}

void
route_special_destroy(struct route_special **sp)
{
	struct route_special *s = *sp;
	*sp = NULL;
	if (!s)
		return;
	free(s->lengths);
	free(s->entries);
	free(s->slots);
	free(s);
}

/* ---- searching ------------------------------------------------------------------------------- */

static bool
is_for_path(const struct route_index_row *r, struct str path)
{
	const struct glob g = {r->path, true, r->any_case};
	if (r->path.n && memchr(r->path.p, '*', r->path.n))
		return glob_matches(&g, path);
	if (path.n > r->path.n)
		path.n = r->path.n;
	return r->any_case ? str_ieq(path, r->path) : str_eq(path, r->path);
}

static bool
matches(const struct route_index_row *r, struct str path, const struct request *rq)
{
	const struct route_conditions *c = r->conditions;
	return is_for_path(r, path) &&
	       (!c || (route_conditions_have_method(c, rq) && route_conditions_have_fields(c, rq)));
}

unsigned
route_special_find(const struct route_special *s, const struct route_index_row *rows,
		   struct str path, const struct request *rq, unsigned least)
{
	uint64_t front = HASH_BEGIN;
	size_t at = 0;
	for (unsigned i = 0; i < s->length_count && s->lengths[i].front <= path.n; i++) {
		const struct lengths *l = &s->lengths[i];
		struct str more = str_from(path, at);
		more.n = l->front - at;
		front = hash_on(front, more);
		at = l->front;
		if (l->first >= least || l->back > path.n - at)
			continue;
		uint64_t hash = hash_on(front, str_from(path, path.n - l->back));
		unsigned found = *slot_of(s, hash);
		while (found != NONE && s->entries[found].row < least &&
		       !matches(&rows[s->entries[found].row], path, rq))
			found = s->entries[found].next;
		if (found != NONE && s->entries[found].row < least)
			least = s->entries[found].row;
	}
	return least;
}
