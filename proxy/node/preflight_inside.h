/* preflight_inside.h - what the files of the preflight share. */
#ifndef NODE_PREFLIGHT_INSIDE_H
#define NODE_PREFLIGHT_INSIDE_H

#include "proxy/node/preflight.h"

struct findings { /* who is told */
	void (*each)(void *ctx, const struct finding *f);
	void *ctx;
	unsigned found;
	const struct config *config;
	const struct preflight_place *in;
};

void preflight_find(struct findings *p, bool stops, const char *setting, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* A file that cannot be read, and without which others can be served. */
void preflight_find_missing(struct findings *p, const char *setting, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

void preflight_listen(const struct config *c, struct findings *p);
void preflight_fleet(const struct config *c, struct findings *p);
void preflight_admin(const struct config *c, struct findings *p);

#endif
