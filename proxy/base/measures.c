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

/* From the system, which gives what is touched: most numbers are never used. */
static void *
take(size_t n, size_t bytes, size_t align, void **memory)
{
	*memory = mem_zalloc((n + 1) * bytes + align);
	return (void *)(((uintptr_t)*memory + align - 1) / align * align);
}

void
measures_init(struct measures *m, unsigned origins)
{
	m->origins =
		take(origins + 1, sizeof *m->origins, _Alignof(struct origin_measures), &m->memory);
	m->siblings = &m->origins[origins];
	m->routes = take(MEASURES_ROUTES, sizeof *m->routes, _Alignof(struct route_measures),
			 &m->route_memory);
}

static void
forget_histogram(struct histogram *h)
{
	atomic_store_explicit(&h->sum, 0, memory_order_relaxed);
	for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
		atomic_store_explicit(&h->n[i], 0, memory_order_relaxed);
}

void
measures_forget_origin(struct measures *m, unsigned number)
{
	struct origin_measures *o = &m->origins[number];
	atomic_store_explicit(&o->requests, 0, memory_order_relaxed);
	atomic_store_explicit(&o->errors, 0, memory_order_relaxed);
	for (int class = 0; class < MEASURES_CLASSES; class ++)
		atomic_store_explicit(&o->answers[class], 0, memory_order_relaxed);
	forget_histogram(&o->wait_us);
}

void
measures_forget_route(struct measures *m, unsigned number)
{
	struct route_measures *r = &m->routes[number];
	atomic_store_explicit(&r->requests, 0, memory_order_relaxed);
	atomic_store_explicit(&r->hits, 0, memory_order_relaxed);
	atomic_store_explicit(&r->bytes, 0, memory_order_relaxed);
	for (int class = 0; class < MEASURES_CLASSES; class ++)
		atomic_store_explicit(&r->answers[class], 0, memory_order_relaxed);
	forget_histogram(&r->first_byte_us);
}

void
measures_fini(struct measures *m)
{
	free(m->memory);
	free(m->route_memory);
	m->origins = NULL;
	m->routes = NULL;
}
