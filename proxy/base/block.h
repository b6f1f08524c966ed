/* block.h - a counted run of body bytes: filled once by its maker, then shared and constant.
 *
 * Threads   the reference count is atomic; bytes below n never change once another thread can
 *           see the block, so one may still append while others read what they were told of.
 */
#ifndef BASE_BLOCK_H
#define BASE_BLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	BLOCK_UNIT = 64 << 10,
	BLOCK_PASSING_LEAST = 128 << 10, /* smaller ones are malloc's all the same */
	BLOCK_PASSING_MOST = 384 << 10,	 /* and larger ones */
	BLOCK_SPARE_BYTES = 4 << 20
};

struct block {
	_Atomic uint32_t refs;
	uint32_t n;	 /* bytes filled */
	uint32_t cap;	 /* bytes allocated behind the struct */
	uint32_t mapped; /* units of BLOCK_UNIT that it has of the system; 0: of malloc */
	char p[];
};

struct block *block_create(uint32_t cap); /* one reference, the caller's */
/* The same, of bytes that pass: they were read to be sent, and many at once are many once. A large
 * one goes back to the system when it is freed, but for a few that are kept for the next ones; what
 * malloc was given back it keeps (300 readers at once of 200 KB each left 82 KiB each behind). */
struct block *block_try_passing(uint32_t cap); /* NULL: there is no memory */
/* Of a size that a peer chose; NULL: there is no memory, and the caller does without it. */
struct block *block_try(uint32_t cap);
/* A larger one in place of a block that nobody else knows; NULL: b is as it was. */
struct block *block_try_grow(struct block *b, uint32_t cap);
struct block *block_ref(struct block *b); /* returns b */
/* Empties it for other bytes if the caller's reference is the only one; else false. */
bool block_renew(struct block *b);
void block_let_go(struct block **b); /* not NULL */
/* Sets *b to NULL; the last one frees; NULL is fine, and is what most calls of an answer meet. */
static inline void
block_unref(struct block **b)
{
	if (*b)
		block_let_go(b);
}

#endif
