/* groups.h - which groups of servers `origins` makes, and what must be true of them.
 *
 * An element with a name is a group, of one server (url) or several (servers). All elements
 * without a name are servers of one group, "default", whose rules are those of the first.
 */
#ifndef CONFIG_GROUPS_H
#define CONFIG_GROUPS_H

#include "config/config.h"

/* The setting that is wrong and a sentence in err; NULL: none. */
const char *groups_check(const struct config *c, char *err, size_t err_bytes);

#endif
