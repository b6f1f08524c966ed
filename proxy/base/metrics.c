/* metrics.c - the table of rows and the sum over workers. */
#include "proxy/base/metrics.h"

#include <string.h>

const struct metric_row metric_rows[METRIC_COUNT] = {
#define COUNTER(id, group, key, help) {group, key, help},
#include "proxy/base/metrics_list.h"
#undef COUNTER
};

void
metrics_sum(const struct metrics *const *blocks, unsigned n, uint64_t *out)
{
	memset(out, 0, METRIC_COUNT * sizeof *out);
	for (unsigned b = 0; b < n; b++)
		for (int i = 0; i < METRIC_COUNT; i++)
			out[i] += atomic_load_explicit(&blocks[b]->n[i], memory_order_relaxed);
}
