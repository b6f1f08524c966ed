/* groups.h - which groups of servers `origins` makes, and what must be true of them.
 *
 * An element with a name is a group, of one server (url) or several (servers). All elements
 * without a name are servers of one group, "default", whose rules are those of the first.
 */
#ifndef CONFIG_GROUPS_H
#define CONFIG_GROUPS_H

#include "config/name.h"

#include <stdbool.h>
#include <stddef.h>

struct config;
struct config_origin;

/* The groups that `origins` makes, from 0 in the order of their names; and the servers of all of
 * them, group by group. */
unsigned config_group_count(const struct config *c);
const char *config_group_name(const struct config *c, unsigned group);
const struct config_origin *config_group(const struct config *c, unsigned group); /* its rules */
/* The statuses that health.expect names, "200" or "200-399". False: it names none. */
bool config_expected(const char *text, unsigned *least, unsigned *most);
/* The number of the group of that name; NULL: the first. -1: there is none. */
int config_group_find(const struct config *c, const char *name);
struct config_member {
	const struct config_origin *origin; /* where it is given: how it is asked */
	const char *url;
	unsigned weight, group;
	bool backup;
	char setting[CONFIG_NAME_BYTES]; /* "origins.1.servers.0.url" */
};
unsigned config_member_count(const struct config *c);
void config_member(const struct config *c, unsigned i, struct config_member *out);

/* The setting that is wrong and a sentence in err; NULL: none. Of element i; of all together. */
const char *groups_check_one(const struct config *c, unsigned i, char *err, size_t err_bytes);
const char *groups_check(const struct config *c, char *err, size_t err_bytes);

#endif
