/* report_whatif.h - what other settings would do (cache/ghost/whatif.h), for report.c and
 * report_prometheus.c.
 */
#ifndef ADMIN_REPORT_WHATIF_H
#define ADMIN_REPORT_WHATIF_H

#include "proxy/admin/report.h"

#include <jansson.h>

json_t *report_whatif_json(const struct report *r);
void report_whatif_prometheus(const struct report *r, struct buf *out);

#endif
