/* report_inside.h - one fact after the other, for report.c, report_prometheus.c and summary.c.
 */
#ifndef ADMIN_REPORT_INSIDE_H
#define ADMIN_REPORT_INSIDE_H

#include "proxy/admin/report.h"

enum kind { KIND_COUNT, KIND_LEVEL, KIND_SHARE, KIND_SECONDS };

struct report_fact {
	enum kind kind;
	const char *group, *key, *help;
	int64_t whole; /* of COUNT and LEVEL */
	double real;   /* of SHARE and SECONDS */
};

typedef void report_fact_fn(void *ctx, const struct report_fact *f);

/* The counters of metrics_list.h, then the rows of facts.h. */
void report_each(const struct report *r, report_fact_fn *fn, void *ctx);
/* Into the JSON object ctx, by its group and key; a report_fact_fn. */
report_fact_fn report_add_json;
bool report_is_real(const struct report_fact *f);

#endif
