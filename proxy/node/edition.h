/* edition.h - a configuration as the node applies it: the settings, and the groups of servers made of
 * them. One is in use, and those before it live as long as somebody holds them: the workers'
 * requests by their settings, other threads by a count of their own.
 *
 * Threads   constant after edition_open, but for the count.
 */
#ifndef NODE_EDITION_H
#define NODE_EDITION_H

#include "config/config.h"
#include "config/name.h"
#include "proxy/node/origins.h"
#include "proxy/node/pages.h"
#include "proxy/node/route_names.h"

#include <stdatomic.h>

struct settings;

struct edition {
	const struct config *config;
	struct config own; /* where it is, if it is ours */
	struct origins origins;
	struct pages pages;
	unsigned char *counted;	   /* route_names.h */
	struct route_forms *forms; /* settings.h; NULL: this one passes */
	struct settings *settings; /* for threads that are no workers: constant, never counted */
	unsigned *ports;	   /* at which each entry of listen is; 0: a path */
	char *token;		   /* that the admin server asks for; NULL: none */
	uint32_t node;		   /* settings.h */
	bool lenient;		   /* of a start: it goes on without files that cannot be read */
	/* It lends config and pages, and then nothing is looked up, and nothing stored; NULL: this one
	 * is none that passes. */
	struct edition *base;
	char wrong[CONFIG_NAME_BYTES]; /* the setting for which edition_open failed */
	_Atomic unsigned users;
};

/* Counts by name go on over editions. */
struct edition_names {
	struct origin_names origins;
	struct route_names routes;
};

/* With one user, without servers. The config is borrowed until it is gone. */
struct edition *edition_create(const struct config *c, uint32_t node);
/* The same, and *own is taken: it is zeroed. */
struct edition *edition_create_own(struct config *own, uint32_t node);
/* The same as base, which is open, but that nothing is cached; open too. No file is read for it. */
struct edition *edition_create_passing(struct edition *base);
/* The servers, those of before where nothing changed (origins.h); then its settings. -1 and a
 * sentence; wrong then says of which setting. */
int edition_open(struct edition *e, unsigned workers, const struct edition *before,
		 struct edition_names *names, char *err, size_t err_bytes);
struct edition *edition_ref(struct edition *e);
void edition_unref(struct edition **e); /* any thread; the last one destroys */

/* The number that tells this node from others in Via. */
struct twice_seed;
uint32_t edition_number(const struct twice_seed *seed, const struct config *c);

/* For one worker; it counts as a user until the last request under it has ended. */
struct settings *edition_settings(struct edition *e);

#endif
