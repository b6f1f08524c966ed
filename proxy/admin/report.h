/* report.h - the numbers of a running proxy as one struct of facts, and how they are shown.
 *
 * Answers   /stats (JSON), /metrics (Prometheus text), the savings report.
 * Threads   pure, but for what the source callback does.
 */
#ifndef ADMIN_REPORT_H
#define ADMIN_REPORT_H

#include "filter/pair.h"
#include "filter/short.h"
#include "proxy/base/buf.h"
#include "proxy/base/metrics.h"
#include "proxy/cache/baseline.h"
#include "proxy/cache/cache.h"

struct report {
	const char *version;
	double uptime_s;
	int64_t now_s;
	uint64_t n[METRIC_COUNT];
	struct cache_stats cache;
	struct baseline_stats baseline;
	struct pair_stats generation;
	uint64_t open_connections, active_fetches, flights, flight_bytes;
	uint64_t log_dropped;
};

void report_json(const struct report *r, struct buf *out);
void report_prometheus(const struct report *r, struct buf *out);

#endif
