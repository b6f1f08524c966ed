/* identity.h - which user the program runs as: `user` and `group`.
 *
 * Root gives the user what it needs (directories, the log), then the whole process becomes that user
 * and keeps one capability, CAP_NET_BIND_SERVICE: ports below 1024 can be bound now and at any later
 * reload. All else is opened as the user, so that what can be read at the start can be read at a
 * reload too.
 *
 * Threads   capabilities belong to threads: call it before there is a second one.
 */
#ifndef NODE_IDENTITY_H
#define NODE_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;

struct identity {
	bool changed;	/* root started the program, and it has become the user */
	uint32_t gives; /* directories that root will make or give away at a start: bit 0 is
			 * cache.dir, bit i + 1 is more_disks.i */
};

enum identity_way {
	IDENTITY_TRIES, /* `twice check`: nothing is made, gives says what would be */
	IDENTITY_MAKES
};

/* Becomes the user that c names; without one, or without need, nothing happens. 0, or -1 with a
 * sentence in err and the setting that it is about in *setting. */
int identity_take(struct identity *out, const struct config *c, enum identity_way way,
		  const char **setting, char *err, size_t err_bytes);
/* Lets programs that this process starts have what it has kept of root's. */
void identity_pass_on(void);
/* Whether root serves without having been told to. */
bool identity_is_root_unsaid(const struct config *c);

#endif
