/* errand.c - of the request and the letter the one that comes last frees it. */
#include "proxy/serve/errand.h"

#include "proxy/serve/txn.h"

#include <assert.h>
#include <stdlib.h>

void
errand_done(struct errand *e)
{
	assert(!e->done && (!e->t || e->t->errand == e));
	e->done = true;
	if (e->t)
		e->t->wake(e->t);
	else
		free(e);
}

void
errand_end(struct txn *t)
{
	struct errand *e = t->errand;
	t->errand = NULL;
	if (e && e->done)
		free(e);
	else if (e)
		e->t = NULL;
}
