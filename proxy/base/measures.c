/* measures.c - the table of rows; memory for origins. */
#include "proxy/base/measures.h"

#include <stdlib.h>
#include <string.h>

const struct measures_row measures_rows[MEASURE_COUNT] = {
#define MEASURE(id, group, key, family, label, per_one, help) \
	{group, key, family, label, help, per_one},
#include "proxy/base/measures_list.h"
#undef MEASURE
};

void
measures_init(struct measures *m, unsigned origins)
{
	void *p;
	size_t bytes = (origins + 1) * sizeof *m->origins;
	if (posix_memalign(&p, _Alignof(struct origin_measures), bytes))
		abort();
	memset(p, 0, bytes);
	m->origins = p;
}

void
measures_fini(struct measures *m)
{
	free(m->origins);
	m->origins = NULL;
}
