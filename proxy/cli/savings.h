/* savings.h - the report in words that a stranger understands; the same for `stats` and `demo`.
 *
 * Answers   the savings report from /stats JSON: of a running proxy, or of report_json.
 */
#ifndef CLI_SAVINGS_H
#define CLI_SAVINGS_H

#include "proxy/admin/report.h"

#include <jansson.h>
#include <stdio.h>

/* -1 and a sentence when json is not what /stats of this program says. */
int savings_print(FILE *to, struct str json, char *err, size_t err_bytes);
/* The same of the sum over the nodes of a fleet. */
int savings_print_sum(FILE *to, const json_t *sum, char *err, size_t err_bytes);
void savings_print_report(FILE *to, const struct report *r);

#endif
