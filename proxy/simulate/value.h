/* value.h - numbers and times as logs write them. Pure; what is read may be anything. */
#ifndef SIMULATE_VALUE_H
#define SIMULATE_VALUE_H

#include "proxy/base/str.h"

/* Digits, perhaps with a fraction, which is dropped; false for anything else, and for what does not
 * fit. */
bool value_number(struct str s, uint64_t *out);
/* The first byte of a range, and of how many, where that is told (0: it is not): "bytes=5-", "5-9",
 * "bytes 5-9/20"; of several ranges the first. False for anything else, and for the last bytes of
 * what is not known ("bytes=-5"). */
bool value_range(struct str s, uint64_t *from, uint64_t *total);
/* The same of a three-digit status. */
bool value_status(struct str s, int *out);

/* Microseconds since 1970, of: seconds with or without a fraction; milli-, micro-, nanoseconds or
 * Windows' file times, told by their magnitude; 2026-11-22T05:20:44.123+01:00, also with a space for
 * the T, slashes for the dashes, or without a zone (UTC); 22/Nov/2026:05:20:44 +0100, also with a
 * fraction or without a zone; 20261122052044. */
bool value_time(struct str s, int64_t *us);

/* value_time remembers the day of the line before: most lines of a log share it. */
struct value_clock {
	char minute[17]; /* "22/Nov/2026:05:20" */
	int64_t at_s;
};
/* Only "22/Nov/2026:05:20:44 +0100". */
bool value_clf_time(struct str s, struct value_clock *memo, int64_t *us);

#endif
