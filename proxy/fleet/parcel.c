/* parcel.c - a counted buffer of items. */
#include "proxy/fleet/parcel.h"

#include "proxy/base/mem.h"

#include <assert.h>
#include <stdlib.h>

struct parcel *
parcel_create(int64_t now)
{
	struct parcel *p = NEW(struct parcel);
	p->users = 1;
	p->made_s = now;
	purge_items_begin(&p->items, 0);
	return p;
}

bool
parcel_add(struct parcel *p, const struct purge_item *i)
{
	struct str items = buf_str(&p->items);
	if (purge_items_count(items) == PURGE_ITEMS_MOST ||
	    items.n + purge_items_bytes(i) > PARCEL_BYTES_MOST)
		return false;
	purge_items_add(&p->items, i);
	p->lasts = p->lasts || !(i->flags & PURGE_ITEM_PASSING);
	if (i->number && (!p->low || i->number < p->low))
		p->low = i->number;
	if (i->number > p->high)
		p->high = i->number;
	return true;
}

struct parcel *
parcel_ref(struct parcel *p)
{
	p->users++;
	return p;
}

void
parcel_unref(struct parcel **pp)
{
	struct parcel *p = *pp;
	*pp = NULL;
	if (!p)
		return;
	assert(p->users);
	if (--p->users)
		return;
	buf_fini(&p->items);
	free(p);
}
