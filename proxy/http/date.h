/* date.h - HTTP dates (RFC 9110 5.6.7): read in three formats, written in one. Unix seconds. */
#ifndef HTTP_DATE_H
#define HTTP_DATE_H

#include "proxy/base/str.h"

/* False when it is no valid date. now resolves two-digit years (50 years ahead is the past). */
bool date_parse(struct str s, int64_t now, int64_t *out);

#define DATE_BYTES 29 /* "Sun, 06 Nov 1994 08:49:37 GMT" */
void date_format(int64_t t, char out[DATE_BYTES]);

#endif
