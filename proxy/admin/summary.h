/* summary.h - what a node has counted since its start, as the nodes of a fleet tell each other and sum it up.
 *
 * On the way it is one JSON object: {"uptime_s": 17.5, "requests.total": 5, ...}. What is 0 is not said; names that are not
 * known are ignored, so that a newer version may say more.
 *
 * Pure. Threads: any.
 */
#ifndef ADMIN_SUMMARY_H
#define ADMIN_SUMMARY_H

#include "proxy/admin/report.h"

#include <jansson.h>

enum {
	SUMMARY_COUNTERS = METRIC_HOPS_ASKED + 1,
	SUMMARY_NUMBERS = SUMMARY_COUNTERS
#define TOLD(group, key, place) +1
#define COMPUTED(group, key)
#include "proxy/admin/summary_rows.h"
#undef TOLD
#undef COMPUTED
};

struct summary {
	double uptime_s;
	int64_t n[SUMMARY_NUMBERS]; /* the counters, then the rows that are told */
};

/* Of the report only what the rows name, the counters and the uptime are read. */
void summary_of(const struct report *r, struct summary *out);
/* Appends at most SUMMARY_TEXT_MOST bytes. */
enum { SUMMARY_TEXT_MOST = 4096 };
void summary_format(const struct summary *s, struct buf *out);
/* The bytes may be anything at all. -1: they are no such thing, or a number is none that a node may have counted. */
int summary_parse(struct str text, struct summary *out);
/* uptime_s becomes that of the one that runs for longest. */
void summary_add(struct summary *to, const struct summary *s);
/* As /stats has it: {"uptime_s": 17.5, "requests": {"total": 5, ...}, ...}. The caller's. */
json_t *summary_json(const struct summary *s);

#endif
