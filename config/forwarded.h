/* forwarded.h - settings of `forwarded`: what is believed of what forwarders say, and what is
 * said to origins.
 *
 * Memory    strings and lists are owned by the config.
 */
#ifndef CONFIG_FORWARDED_H
#define CONFIG_FORWARDED_H

#include "config/encoding.h"

#include <stdbool.h>

struct config_forwarded {
	struct config_encoding accept_encoding; /* a setting of the top */
	char **trust; /* networks whose X-Forwarded-*, Forwarded are kept and appended to */
	unsigned trust_count;
	char *via;   /* pseudonym: "twice" */
	char **drop; /* request fields that GET and HEAD do not take along; "default": the known */
	unsigned drop_count;
	bool keep_underscores;
};

#endif
