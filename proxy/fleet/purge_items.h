/* purge_items.h - purges as nodes tell them to each other and to the journal: bytes that whoever sends them signs.
 *
 *	u32 magic "TWF1"   u16 items   u16 0   u64 base   then each item:
 *	u64 number   u8 kind   u8 flags   u16 bytes of the name   the name
 *
 * All little-endian. An item is one purge of the node that says so: with its name (node, number), or without one
 * (number 0) where it need not last. Kind and name are the cache's to understand; a kind that is unknown is a purge of all.
 * base: the reader has all purges of that node below it, or need not have them; 0: nothing is said of that.
 *
 * Pure. Answers: bytes are right to the last one, or they are none.
 */
#ifndef FLEET_PURGE_ITEMS_H
#define FLEET_PURGE_ITEMS_H

#include "proxy/base/buf.h"

#include <stdint.h>

enum {
	PURGE_ITEMS_HEAD = 16,
	PURGE_ITEM_HEAD = 12,
	PURGE_ITEM_NAME_MOST = 16 << 10,
	PURGE_ITEMS_MOST = 4096,
	PURGE_ITEM_EVERYTHING = 0xff /* a kind that nobody knows, so that all is purged */
};

/* Soft: what it covers is stale. Passing: a client's unsafe request; it has no number. Unknown flags are ignored. */
enum { PURGE_ITEM_SOFT = 1, PURGE_ITEM_PASSING = 2 };

struct purge_item {
	uint64_t number;
	uint8_t kind, flags;
	struct str name;
};

/* Begins items in an empty buf; each one is added behind it. */
void purge_items_begin(struct buf *out, uint64_t base);
void purge_items_add(struct buf *out, const struct purge_item *i);
/* The items of others, which are right, behind those of out; there must be room. */
void purge_items_append(struct buf *out, struct str items);
/* One purge of everything, without a name, in an empty buf. */
void purge_items_everything(struct buf *out);
unsigned purge_items_count(struct str items);
/* Bytes that the item takes. */
size_t purge_items_bytes(const struct purge_item *i);

struct purge_items_reader {
	struct str rest;
	unsigned left;
	uint64_t base;
};
/* False: it is no such thing, as a whole. */
bool purge_items_open(struct purge_items_reader *r, struct str items);
bool purge_items_next(struct purge_items_reader *r, struct purge_item *out);

#endif
