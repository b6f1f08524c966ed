/* cache_inside.h - what the files behind the door share: cache.c (lookup, refresh, remove),
 * read.c (from disk), write.c (objects coming in), files.c (the directory).
 */
#ifndef CACHE_CACHE_INSIDE_H
#define CACHE_CACHE_INSIDE_H

#include "proxy/cache/cache.h"
#include "proxy/cache/object.h"
#include "proxy/cache/ram.h"
#include "proxy/cache/store.h"

#include <pthread.h>

struct cache {
	struct cache_options o;
	char *dir; /* owned; NULL: RAM only */
	int dir_fd, lock_fd;
	struct filter_seed seed;
	bool fresh;	     /* the seed is new: what lies in dir cannot be found again */
	struct store *store; /* NULL: RAM only */
	struct ram *ram;
	uint32_t block_bytes; /* bodies in memory lie in blocks of this; a fragment's size */
	uint64_t max_body_bytes;
	_Atomic uint64_t building_bytes; /* bodies of writes under way */
	_Atomic uint64_t damaged, refused;

	pthread_mutex_t files_lock;
	uint64_t files_bytes, reserve_bytes; /* saved files; how much may be */
	_Atomic uint64_t files_written;
};

/* files.c */
int files_open(struct cache *c, char *err, size_t err_bytes);
void files_close(struct cache *c);

/* write.c: puts the body's bytes and the record on disk; false when refused. */
bool cache_place(struct cache *c, struct stored *o, const struct fragment *fragments,
		 uint32_t fragments_n);
/* A record for o whose body is where another's placement says it is. */
bool cache_refer(struct cache *c, struct stored *o, const struct placement *body);

/* read.c */
enum found read_object(struct cache *c, struct cache_lookup *l, struct key_hash hash,
		       struct str key, struct object **out);

#endif
