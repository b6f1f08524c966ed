/* h2_memory.h - where the memory of libnghttp2's sessions lies, so that an idle one gives most of it back.
 *
 * A session takes 16 KiB for the frame that it is about to send, and 4 KiB for a table of its streams, before it has any.
 * Both lie in pages of their own, which the kernel has back while the session rests; all else is malloc's.
 *
 * Threads   a worker's own.
 * Errors    where the kernel gives no pages, that memory is malloc's too.
 */
#ifndef WIRE_H2_MEMORY_H
#define WIRE_H2_MEMORY_H

#include <stdbool.h>

#include <nghttp2/nghttp2.h>

struct h2_pages; /* of all sessions of a worker */

struct h2_memory { /* of a session; it outlives that */
	struct h2_pages *pages;
	char *slot;   /* NULL: the session has none */
	bool begins;  /* what is asked for now is the session's for as long as it lives */
	bool framing; /* the frame lies in the slot, */
	bool tabling; /* and the table */
};

struct h2_pages *h2_pages_create(void);
void h2_pages_destroy(struct h2_pages **p); /* no session is left */

/* Before its session is made; h2_memory_made follows. */
nghttp2_mem h2_memory_begin(struct h2_memory *m, struct h2_pages *pages);
void h2_memory_made(struct h2_memory *m);
/* Behind the end of its session. */
void h2_memory_end(struct h2_memory *m);

/* The session has no stream and nothing to send: its frame is worth nothing, and a table without entries is all zeros,
 * as pages are that the kernel gives anew. */
void h2_memory_rest(struct h2_memory *m);

#endif
