/* preflight.h - what keeps a configuration from working on this machine: found before the start,
 * by `twice check`, and said at the start, by `twice run`.
 *
 * What settings say about each other, config/ knows; this asks the file system, the network
 * interfaces and the memory. Nothing is created, opened for writing, or left behind.
 */
#ifndef NODE_PREFLIGHT_H
#define NODE_PREFLIGHT_H

#include "config/config.h"

enum { PREFLIGHT_TEXT = 512 };

struct finding {
	bool stops;	  /* run refuses; else it starts, and the setting does less than it says */
	char setting[64]; /* "origins.0.ca_file", as config_place takes it */
	char text[PREFLIGHT_TEXT]; /* what is wrong, and the way out */
};

/* Calls each with every finding, in the order of the settings; returns their number. */
unsigned
preflight(const struct config *c, void each(void *ctx, const struct finding *f), void *ctx);

#endif
