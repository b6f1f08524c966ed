/* preflight.h - what keeps a configuration from working on this machine: found before the start,
 * by `twice check`, and said at the start, by `twice run`.
 *
 * config/ knows what settings say about each other; this asks the file system, the network
 * interfaces and the memory. Nothing is created, opened for writing, or left behind.
 */
#ifndef NODE_PREFLIGHT_H
#define NODE_PREFLIGHT_H

#include <stdbool.h>
#include <stdint.h>

struct config;

enum { PREFLIGHT_TEXT = 512 };

struct finding {
	bool stops;   /* run refuses; else it starts, and the setting does less than it says */
	bool missing; /* of those: a reload and an upgrade refuse, for what is in use is better */
	char setting[64];	   /* "origins.0.ca_file", as config_place takes it */
	char text[PREFLIGHT_TEXT]; /* what is wrong, and the way out */
};

struct identity;

/* In what the configuration is to work. */
struct preflight_place {
	const struct identity
		*who; /* the user, and what root does for it at a start: identity_take */
	/* Whether a socket listens there already, and will be used: then nothing is bound, and it need not be
	 * possible (an address that is elsewhere now, a port that needs a right). NULL: none does. */
	bool (*listens)(const void *ctx, const char *listen);
	const void *ctx;
	bool starts_later; /* nothing is bound after this, so that a port in use is a finding, too */
};

typedef void preflight_each_fn(void *ctx, const struct finding *f);

/* Calls each with every finding, in the order of the settings; returns their number. */
unsigned preflight(const struct config *c, const struct preflight_place *in,
		   preflight_each_fn *each, void *ctx);

/* For how long a call to a disk may stand still before the disk counts as one that hangs, where something waits for
 * it: a start, and an upgrade before it begins. */
int64_t preflight_disk_ms(const struct config *c);

/* How many files this configuration needs beside those of clients and origins, with a reserve. */
uint64_t preflight_files(const struct config *c);

/* Looks up the names of origins, and calls each with those that cannot be found now; this may take
 * seconds. A running proxy goes on looking. */
void preflight_names(const struct config *c, preflight_each_fn *each, void *ctx);

#endif
