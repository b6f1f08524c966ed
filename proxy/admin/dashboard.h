/* dashboard.h - the bytes of dashboard.html. */
#ifndef ADMIN_DASHBOARD_H
#define ADMIN_DASHBOARD_H

#include <stdint.h>

extern const char dashboard_html[];
extern const uint64_t dashboard_bytes;

#endif
