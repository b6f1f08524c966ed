/* joins.c - the last fetches, by key. */
#include "proxy/simulate/joins.h"

#include "proxy/base/mem.h"

#include <stdlib.h>

enum { ROWS = 1024, LATELY_S = 2 };

struct lately {
	uint64_t key;
	uint32_t until_s;
	bool owed; /* the line of the one that fetched is still to come */
};

void
joins_fini(struct joins *j)
{
	free(j->rows);
	j->rows = NULL;
}

static struct lately *
row_of(struct joins *j, const struct visit *v)
{
	if (!j->rows && !v->joined && !v->fetched)
		return NULL; /* most logs know nothing of it */
	if (!j->rows)
		j->rows = mem_zalloc(ROWS * sizeof *j->rows);
	return &j->rows[v->key.lo % ROWS];
}

bool
joins_has(struct joins *j, const struct visit *v)
{
	struct lately *l = row_of(j, v);
	if (!l || l->key != v->key.hi || v->now_s > l->until_s)
		return false;
	bool owed = l->owed && v->fetched;
	l->owed = l->owed && !owed;
	return v->joined || owed;
}

void
joins_note(struct joins *j, const struct visit *v)
{
	struct lately *l = row_of(j, v);
	if (l)
		*l = (struct lately){v->key.hi, v->now_s + LATELY_S, v->joined};
}
