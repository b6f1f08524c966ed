/* plain.h - a stored answer on its way to a client that does not take its coding: expanded as it is sent, in
 * pieces, so that a body of any size needs the memory of a piece and of the coding's window.
 *
 * One that lies in RAM and that nobody has expanded yet is expanded once before its head is sent, a piece in each
 * round of the loop: what is no such coding, is cut or becomes far too large is found out, and noted with
 * the object. Of one that is read from the disk that is done with the first PLAIN_HELD_BYTES; what is found
 * behind them cuts the answer off.
 *
 * Memory    pieces hold until the next plain_read.
 * Threads   its transaction's worker. News comes as t->wake. One that is left while the disk owes it bytes
 *           frees itself when they come.
 */
#ifndef SERVE_PLAIN_H
#define SERVE_PLAIN_H

#include "proxy/serve/txn.h"

/* Of all bodies that are expanded at a time, with their windows (share.h): a client that asks for more is sent what the
 * origin sends it. Slow ones could hold any number. */
enum { PLAIN_BYTES_MOST = 128 << 20 };
/* Bytes that this one may take of them. */
uint64_t plain_memory(const struct object *o);
enum { PLAIN_HELD_BYTES = 96 << 10 }; /* more than EXPAND_FREE_BYTES: a bomb is found out */

struct plain;

/* Begins t->body.plain, over t->object. */
void plain_begin(struct txn *t);
void plain_end(struct plain **p); /* NULL is fine */

enum plain_step {
	PLAIN_READY,
	PLAIN_LATER, /* t->wake will be called */
	PLAIN_FAILED /* the bytes cannot be had, or are none of that coding */
};
/* Whether the answer may begin. */
enum plain_step plain_find(struct plain *p);
/* Up to `most` of its bytes from `at` on, which only grows; an empty piece: it is over. */
enum plain_step plain_read(struct plain *p, uint64_t at, size_t most, struct str *piece);

#endif
