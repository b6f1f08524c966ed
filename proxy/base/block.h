/* block.h - a counted run of body bytes: filled once by its maker, then shared and constant.
 *
 * Threads   the reference count is atomic; bytes below n never change once another thread can
 *           see the block, so one may still append while others read what they were told of.
 */
#ifndef BASE_BLOCK_H
#define BASE_BLOCK_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct block {
	_Atomic uint32_t refs;
	uint32_t n;   /* bytes filled */
	uint32_t cap; /* bytes allocated behind the struct */
	char p[];
};

struct block *block_create(uint32_t cap); /* one reference, the caller's */
struct block *block_ref(struct block *b); /* returns b */
void block_unref(struct block **b);	  /* sets *b to NULL; the last one frees; NULL is fine */

#endif
