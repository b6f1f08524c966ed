/* history_inside.h - the memory of the history, for history.c and history_snapshot.c.
 */
#ifndef ADMIN_HISTORY_INSIDE_H
#define ADMIN_HISTORY_INSIDE_H

#include "proxy/admin/history.h"

#include <pthread.h>

enum history_column {
#define RATE(name, value)	     HISTORY_##name,
#define LEVEL(name, value)	     HISTORY_##name,
#define QUANTILE(name, which, share) HISTORY_##name,
#include "proxy/admin/history_columns.h"
#undef RATE
#undef LEVEL
#undef QUANTILE
	HISTORY_COLUMNS
};

enum { HISTORY_TIERS = 3 };
enum history_sums { HISTORY_HIT, HISTORY_FETCHED, HISTORY_ORIGIN, HISTORY_SUMS };

/* A ring of steps; step number n (unix time / step_s) lies at n % count when stamp[] says so. */
struct history_tier {
	uint32_t step_s, count;
	uint32_t *stamp; /* owned: count of them, then columns */
	float *values;	 /* HISTORY_COLUMNS rows of count; NaN: not known */
	bool begun;
	int64_t step; /* under way since began_us, when the two below were as they are */
	int64_t began_us;
	double rates[REPORT_RATES];
	struct histogram_sum sums[HISTORY_SUMS];
};

struct history {
	pthread_mutex_t lock;
	struct history_tier tiers[HISTORY_TIERS];
	double before[REPORT_RATES]; /* of earlier runs */
	double now[REPORT_RATES];    /* of this run, when it was last added */
	double saved_requests;	     /* of this run, in the last snapshot; -1: there is none */
	int64_t since_s;
};

extern const char *const history_names[HISTORY_COLUMNS]; /* rates first */

#endif
