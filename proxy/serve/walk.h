/* walk.h - one answer on its way over the slices of a body: each is looked for in the cache, else
 * its flight is joined, else it is fetched, together with those behind it that are missing too.
 *
 * Memory    a piece is held until the next walk_read, by the walk or by *block.
 * Threads   its transaction's worker. News comes as t->wake. A walk that is left while the disk
 *           owes it an answer frees itself when that comes.
 */
#ifndef SERVE_WALK_H
#define SERVE_WALK_H

#include "proxy/serve/txn.h"

/* Begins t->body.walk, over what t->object is the head of. */
void walk_begin(struct txn *t);
void walk_end(struct walk **w);	 /* NULL is fine */
void walk_doubt(struct walk *w); /* its client may be gone */
/* As far as can be said at once: are all these bytes kept here? */
bool walk_has(struct walk *w, const struct range *ranges, unsigned n);

enum walk_step {
	WALK_READY,
	WALK_LATER,   /* t->wake will be called */
	WALK_CHANGED, /* the origin has another version by now, or no ranges */
	WALK_FAILED,  /* walk_failure says why */
	WALK_REFUSED  /* it is not kept, and the client wants no origin asked */
};
/* Whether the byte at `at` can be read, or will come for certain: an answer may begin with it.
 * until: where what is wanted next ends. */
enum walk_step walk_find(struct walk *w, uint64_t at, uint64_t until);
/* Up to `most` bytes from there; *block, if it is set, is a reference that holds them. */
enum walk_step walk_read(struct walk *w, uint64_t at, uint64_t until, size_t most,
			 struct str *piece, struct block **block);
/* The same from there as a piece of a file; false: walk_read. */
bool walk_file(struct walk *w, uint64_t at, size_t most, struct file_piece *piece);
/* The client was sent nothing of what was read last from `at` on. False: it stays. */
bool walk_give_back(struct walk *w, uint64_t at);
void walk_failure(const struct walk *w, int *status, const char **word);

/* Whether a slice came from the origin for this answer: by its own question, or by another's. */
enum walk_help { WALK_ALL_KEPT, WALK_JOINED, WALK_ASKED };
enum walk_help walk_help(const struct walk *w);
/* And none of these from an origin: another node of the fleet had them in its cache. */
bool walk_was_had(const struct walk *w);

#endif
