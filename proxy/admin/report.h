/* report.h - the numbers of a running proxy as one struct of facts, and how they are shown:
 * report.c as JSON, report_prometheus.c as Prometheus wants them.
 *
 * Answers   /stats (JSON), /metrics (Prometheus text), the savings report.
 * Memory    170 KB; json_pack and buf take more while it is shown.
 * Threads   pure.
 */
#ifndef ADMIN_REPORT_H
#define ADMIN_REPORT_H

#include "filter/pair.h"
#include "proxy/base/buf.h"
#include "proxy/base/measures.h"
#include "proxy/base/metrics.h"
#include "proxy/base/process.h"
#include "proxy/cache/baseline.h"
#include "proxy/cache/cache_stats.h"

enum {
	REPORT_ORIGINS_MOST = 256,
	REPORT_ADDRESSES_MOST = 16,
	REPORT_LISTEN_MOST = 16,
	REPORT_ROUTES_MOST = 64
};

/* Failing: and asked all the same, for half of its group is out already; out: left alone. */
enum report_condition { REPORT_ORIGIN_WELL, REPORT_ORIGIN_FAILING, REPORT_ORIGIN_OUT };

struct report_origin {
	const char *url, *group; /* borrowed from the proxy */
	enum report_condition condition;
	const char *why;    /* it is not well: "connect-failed", "503"; else NULL */
	int64_t returns_ms; /* until it is asked again, when it is out */
	unsigned under_way; /* requests */
	uint64_t requests, errors, answers[MEASURES_CLASSES];
	struct histogram_sum wait_us;
	/* Where its name was found (base/network.h); count -1: it is an address, or a path. */
	unsigned char addresses[REPORT_ADDRESSES_MOST][16];
	int address_count;
};

struct report_route {	  /* all routes of one name */
	const char *name; /* borrowed as well */
	uint64_t requests, hits, bytes, answers[MEASURES_CLASSES];
	struct histogram_sum first_byte_us;
};

/* The rows of history_columns.h whose totals outlive the process. */
enum report_rate {
#define RATE(name, value) REPORT_##name,
#define LEVEL(name, value)
#define QUANTILE(name, which, share)
#include "proxy/admin/history_columns.h"
#undef RATE
#undef LEVEL
#undef QUANTILE
	REPORT_RATES
};

struct report {
	const char *version;
	char node[65]; /* the machine's name */
	char listen[REPORT_LISTEN_MOST][64];
	unsigned listen_count, workers;
	double uptime_s;
	int64_t now_s;
	uint64_t n[METRIC_COUNT];
	struct cache_stats cache;
	struct baseline_stats baseline;
	struct twice_pair_stats generation;
	double generation_interval_s,
		turn_alarm_s;	/* how long the last one lasted; 0: not known, none */
	double endurance_bytes; /* of the drives; 0: not known */
	uint64_t open_connections, active_fetches, flights, flight_bytes;
	uint64_t log_dropped;
	struct histogram_sum measures[MEASURE_COUNT];
	unsigned origin_count;
	struct report_origin origins[REPORT_ORIGINS_MOST];
	unsigned route_count;
	struct report_route routes[REPORT_ROUTES_MOST];
	struct process_facts process;
	double lifetime[REPORT_RATES]; /* since lifetime_since_s, over restarts */
	int64_t lifetime_since_s;
};

/* What admitting at first sight would have written. */
uint64_t report_baseline_bytes(const struct report *r);

void report_json(const struct report *r, struct buf *out);
void report_prometheus(const struct report *r, struct buf *out);

#endif
