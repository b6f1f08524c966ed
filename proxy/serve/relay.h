/* relay.h - what is purged here is purged by the other nodes of a fleet too.
 *
 * The others are told before it is applied here, so that whoever heard of it knows that it is on its way (fleet/purge_names.h).
 *
 * Threads   any.
 */
#ifndef SERVE_RELAY_H
#define SERVE_RELAY_H

#include "proxy/cache/cache_forget.h"
#include "proxy/serve/shelves.h"

struct relay { /* shelves.relay; constant after start */
	/* Its number; 0: it has none, for it need not last (passing), or there is nobody. */
	uint64_t (*tell)(void *ctx, enum forget_kind kind, bool soft, bool passing,
			 struct str name);
	/* It is applied here, and lasts when what was forgotten at a time does. */
	void (*applied)(void *ctx, uint64_t number, uint64_t at);
	void *ctx;
};

/* cache_purge and cache_forget, here and there. The hash is of the key, which is the name. */
struct purged relay_purge(const struct shelves *sh, enum forget_kind kind, bool soft,
			  struct twice_key_hash hash, struct str name);
struct forgotten relay_forget(const struct shelves *sh, struct twice_key_hash hash, struct str key,
			      struct str tags, uint64_t since);
/* It was changed by an unsafe request, here or elsewhere: for a moment no copy is kept of what its owner answers. */
void relay_note_change(const struct shelves *sh, struct twice_key_hash hash);

#endif
