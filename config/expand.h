/* expand.h - variables of the environment in a text: ${NAME}, ${NAME:-default}; "$${" is "${" itself.
 *
 * A default may hold anything but "}". A variable that is empty counts as not set where there is a
 * default.
 */
#ifndef CONFIG_EXPAND_H
#define CONFIG_EXPAND_H

#include "proxy/base/buf.h"

enum expand {
	EXPAND_DONE,
	EXPAND_UNSET, /* and there is no default */
	EXPAND_WRONG, /* not of that form */
};

/* Appends the text to out. Otherwise *name is the variable, or what begins with "${" (a view). */
enum expand expand(const char *text, struct buf *out, struct str *name);

#endif
