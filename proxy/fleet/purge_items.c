/* purge_items.c - there and back. */
#include "proxy/fleet/purge_items.h"

#include "proxy/base/le.h"

#include <assert.h>

static const uint32_t MAGIC = 0x31465754; /* "TWF1" */

void
purge_items_begin(struct buf *out, uint64_t base)
{
	char head[PURGE_ITEMS_HEAD] = {0};
	assert(out->n == 0);
	le_put32(head, MAGIC);
	le_put64(head + 8, base);
	buf_add(out, head, sizeof head);
}

size_t
purge_items_bytes(const struct purge_item *i)
{
	return PURGE_ITEM_HEAD + i->name.n;
}

unsigned
purge_items_count(struct str items)
{
	return items.n < PURGE_ITEMS_HEAD ? 0 : le_get16(items.p + 4);
}

void
purge_items_add(struct buf *out, const struct purge_item *i)
{
	char head[PURGE_ITEM_HEAD];
	unsigned n = purge_items_count(buf_str(out));
	assert(out->n >= PURGE_ITEMS_HEAD && n < PURGE_ITEMS_MOST &&
	       i->name.n <= PURGE_ITEM_NAME_MOST);
	le_put64(head, i->number);
	head[8] = (char)i->kind;
	head[9] = (char)i->flags;
	le_put16(head + 10, (uint16_t)i->name.n);
	buf_add(out, head, sizeof head);
	buf_add_str(out, i->name);
	le_put16(out->p + 4, (uint16_t)(n + 1));
}

void
purge_items_everything(struct buf *out)
{
	purge_items_begin(out, 0);
	purge_items_add(out, &(struct purge_item){.kind = PURGE_ITEM_EVERYTHING, .name = STR("")});
}

void
purge_items_append(struct buf *out, struct str items)
{
	unsigned n = purge_items_count(buf_str(out)) + purge_items_count(items);
	assert(out->n >= PURGE_ITEMS_HEAD && n <= PURGE_ITEMS_MOST);
	buf_add_str(out, str_from(items, PURGE_ITEMS_HEAD));
	le_put16(out->p + 4, (uint16_t)n);
}

bool
purge_items_next(struct purge_items_reader *r, struct purge_item *out)
{
	if (!r->left || r->rest.n < PURGE_ITEM_HEAD)
		return false;
	size_t n = le_get16(r->rest.p + 10);
	if (n > PURGE_ITEM_NAME_MOST || r->rest.n - PURGE_ITEM_HEAD < n)
		return false;
	*out = (struct purge_item){.number = le_get64(r->rest.p),
				   .kind = (uint8_t)r->rest.p[8],
				   .flags = (uint8_t)r->rest.p[9],
				   .name = {r->rest.p + PURGE_ITEM_HEAD, n}};
	r->rest = str_from(r->rest, PURGE_ITEM_HEAD + n);
	r->left--;
	return true;
}

bool
purge_items_open(struct purge_items_reader *r, struct str items)
{
	struct purge_item i;
	if (items.n < PURGE_ITEMS_HEAD || le_get32(items.p) != MAGIC)
		return false;
	*r = (struct purge_items_reader){.rest = str_from(items, PURGE_ITEMS_HEAD),
					 .left = purge_items_count(items),
					 .base = le_get64(items.p + 8)};
	struct purge_items_reader all = *r;
	while (purge_items_next(&all, &i))
		continue;
	return r->left <= PURGE_ITEMS_MOST && all.left == 0 && all.rest.n == 0;
}
