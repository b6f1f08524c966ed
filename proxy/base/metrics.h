/* metrics.h - counters per worker, summed when somebody asks.
 *
 * Threads   metrics_add only from the thread that owns the block; reading from any. A reader
 *           sees each counter whole, not all at one instant.
 */
#ifndef BASE_METRICS_H
#define BASE_METRICS_H

#include <stdatomic.h>
#include <stdint.h>

enum metric {
#define COUNTER(id, group, key, help) METRIC_##id,
#include "proxy/base/metrics_list.h"
#undef COUNTER
	METRIC_COUNT
};

struct metrics {
	_Alignas(64) _Atomic uint64_t n[METRIC_COUNT];
};

/* A relaxed load and store, not a locked add: one writer per block. */
static inline void
metrics_add(struct metrics *m, enum metric id, uint64_t by)
{
	uint64_t v = atomic_load_explicit(&m->n[id], memory_order_relaxed);
	atomic_store_explicit(&m->n[id], v + by, memory_order_relaxed);
}

struct metric_row {
	const char *group, *key, *help;
};

/* The rows of metrics_list.h, in order of enum metric. */
extern const struct metric_row metric_rows[METRIC_COUNT];

#endif
