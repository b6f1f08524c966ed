/* measures.c - the table of rows; memory for origins. */
#include "proxy/base/measures.h"

#include "proxy/base/mem.h"

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
	size_t align = _Alignof(struct origin_measures);
	/* From the system, which gives what is touched: most numbers are never used. */
	m->memory = mem_zalloc((origins + 1) * sizeof *m->origins + align);
	m->origins = (void *)(((uintptr_t)m->memory + align - 1) / align * align);
}

void
measures_forget_origin(struct measures *m, unsigned number)
{
	struct origin_measures *o = &m->origins[number];
	atomic_store_explicit(&o->requests, 0, memory_order_relaxed);
	atomic_store_explicit(&o->errors, 0, memory_order_relaxed);
	for (int class = 0; class < MEASURES_CLASSES; class ++)
		atomic_store_explicit(&o->answers[class], 0, memory_order_relaxed);
	atomic_store_explicit(&o->wait_us.sum, 0, memory_order_relaxed);
	for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
		atomic_store_explicit(&o->wait_us.n[i], 0, memory_order_relaxed);
}

void
measures_fini(struct measures *m)
{
	free(m->memory);
	m->origins = NULL;
}
