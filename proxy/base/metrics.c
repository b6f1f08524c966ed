/* metrics.c - the table of rows and the sum over workers. */
#include "proxy/base/metrics.h"

#include <string.h>

const struct metric_row metric_rows[METRIC_COUNT] = {
#define COUNTER(id, group, key, help) {group, key, help},
#include "proxy/base/metrics_list.h"
#undef COUNTER
};
