/* report_health.h - the judgement and the last minute as JSON, for report.c. */
#ifndef ADMIN_REPORT_HEALTH_H
#define ADMIN_REPORT_HEALTH_H

#include "proxy/admin/report.h"

#include <jansson.h>

/* Adds "state", "for_s" and "why", a list of {"level", "says"}, the worst first. */
void report_health_json(const struct report *r, json_t *to);
/* By second, over so many seconds; null where nothing is known yet. */
json_t *report_minute_json(const struct report *r);

#endif
