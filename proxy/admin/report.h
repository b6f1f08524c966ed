/* report.h - the numbers of a running proxy as one struct of facts, and how they are shown:
 * report.c as JSON, report_prometheus.c as Prometheus wants them.
 *
 * Answers   /stats (JSON), /metrics (Prometheus text), the savings report.
 * Memory    190 KB; json_pack and buf take more while it is shown.
 * Threads   pure.
 */
#ifndef ADMIN_REPORT_H
#define ADMIN_REPORT_H

#include "filter/pair.h"
#include "proxy/coding/packer.h"
#include "proxy/admin/judgement.h"
#include "proxy/base/buf.h"
#include "proxy/base/measures.h"
#include "proxy/base/metrics.h"
#include "proxy/base/process.h"
#include "proxy/cache/admission/askers.h"
#include "proxy/cache/admission/choice.h"
#include "proxy/cache/ghost/baseline.h"
#include "proxy/cache/cache_stats.h"

enum {
	REPORT_ORIGINS_MOST = 256,
	REPORT_ADDRESSES_MOST = 16,
	REPORT_LISTEN_MOST = 16,
	REPORT_CERTIFICATES_MOST = 32,
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
	/* Where its name was found (base/network.h), the first of them; count -1: it is an address, or a path. */
	unsigned char addresses[REPORT_ADDRESSES_MOST][16];
	int address_count;
};

struct report_route {	  /* all routes of one name */
	const char *name; /* borrowed as well */
	uint64_t requests, hits, bytes, answers[MEASURES_CLASSES];
	struct histogram_sum first_byte_us;
};

/* The configuration was read then, and is good for so long. */
struct report_configuration {
	int64_t read_s; /* unix time of the last reload that was applied, or of the start */
	bool refused;	/* the last reload was */
	char upgrade_failed[160]; /* why the last upgrade did; "": it did not */
	/* Those that clients are shown, the one that ends first in front; the others are not told. */
	unsigned certificate_count;
	struct report_certificate {
		char name[256], file[256]; /* the first of its names */
		int64_t until_s;
	} certificates[REPORT_CERTIFICATES_MOST];
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

/* The growth of the counters within the last minute, or since the start. */
struct report_minute {
	double seconds; /* 0: nothing is known yet */
	double came[REPORT_RATES];
	double failed; /* answers of 5xx that nobody has asked for */
};

/* Purges that go from this node to the others, and from them to this one. */
struct report_purges {
	uint64_t owed;	       /* of this node, that siblings do not have yet, each counted */
	bool behind;	       /* a sibling has heard of one that is not applied here */
	uint64_t sent, failed; /* questions to siblings */
	uint64_t heard, skipped, unknown, refused;
	uint64_t invalidated, dropped;
	uint64_t collapsed;
	struct {
		bool holds; /* nothing is answered from the disk until it is read */
		uint64_t waiting, appended, entries, refused, renewed, emptied;
	} journal;
};

/* The node among the others of its fleet; all zero where it is in none. */
struct report_fleet {
	bool is_node, hands_over;
	bool engine_away; /* it has one, which does not answer, or refuses */
	unsigned members, well;
	double share; /* of the hashes, that this node owns */
	uint64_t beats, failed_beats, changes, refused;
	struct report_purges purges;
	struct {
		unsigned zones, held;
		uint64_t bytes, heard, failed, wrong;
	} digests;		    /* of nodes of other zones */
	char engine[256], why[256]; /* where the engine is; why it is away */
};

/* Whether it is well, and what that is judged by beside all else here. */
struct report_health {
	bool draining;
	uint64_t stalled_workers;
	unsigned lost_directories, directories; /* of the cache: that cannot be used; in all */
	struct report_fleet fleet;
	struct report_minute minute; /* judge.h sets these two */
	struct judgement judgement;
};

/* The address that had most written within the hour, where bytes are not 0. */
struct report_writer {
	struct asker who;
	uint64_t bytes;
};

struct report_sightings {
	double turn_alarm_s; /* 0: none */
	double interval_s;   /* how long the last generation lasted; 0: not known */
	uint64_t unlogged;
	unsigned asked, asked_large; /* for now, of all bodies and of large ones */
	bool chosen;		     /* sightings: auto, and this is why: */
	struct choice choice;
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
	struct packer_counts packing;
	struct twice_pair_stats generation;
	struct report_sightings sightings;
	struct report_writer most_written;
	double endurance_bytes; /* of the drives; 0: not known */
	uint64_t open_connections, active_fetches, flights, flight_bytes;
	uint64_t log_dropped;
	struct histogram_sum measures[MEASURE_COUNT];
	unsigned origin_count;
	struct report_origin origins[REPORT_ORIGINS_MOST];
	unsigned route_count;
	struct report_route routes[REPORT_ROUTES_MOST];
	struct report_configuration configuration;
	struct process_facts process;
	struct report_health health;
	double lifetime[REPORT_RATES]; /* since lifetime_since_s, over restarts */
	int64_t lifetime_since_s;
};

/* Admitting at first sight would have written so much. */
uint64_t report_baseline_bytes(const struct report *r);

void report_json(const struct report *r, struct buf *out);
void report_prometheus(const struct report *r, struct buf *out);

#endif
