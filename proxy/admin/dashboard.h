/* dashboard.h - the page and what belongs to it: its text holds neither script nor style, so that its policy
 * can forbid both there.
 */
#ifndef ADMIN_DASHBOARD_H
#define ADMIN_DASHBOARD_H

#include <stdint.h>

struct dashboard_file {
	const char *path, *type, *bytes;
	const uint64_t *n;
};

/* "/" (or ""), "/dashboard.css" or "/dashboard.js". */
const struct dashboard_file *dashboard_find(const char *path);
/* Content-Security-Policy. */
extern const char dashboard_policy[];

#endif
