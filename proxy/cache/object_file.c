/* object_file.c - a body's bytes as a piece of their file, where nothing has to be looked at. */
#include "proxy/cache/cache_inside.h"

#include "proxy/cache/object_read.h"

static bool
is_behind(const struct locator *at, const struct locator *next)
{
	return next->segment == at->segment && at->bytes % SEGMENT_ALIGN == 0 &&
	       next->offset == at->offset + at->bytes / SEGMENT_ALIGN;
}

/* The fragments behind the i-th that lie behind it in its file go with it: one call for many bytes wakes the client
 * once, not at each fragment. */
static void
go_on(const struct stored *o, uint32_t i, uint64_t most, struct file_piece *out)
{
	const struct placement *p = &o->placement;
	struct file_piece next;
	for (; i + 1 < p->fragments_n && out->n < most; i++) {
		const struct locator *at = &placement_fragment(p, i + 1)->at;
		if (!is_behind(&placement_fragment(p, i)->at, at) ||
		    !store_direct(o->store, at, &next) || next.fd != out->fd)
			return;
		out->n += next.n;
	}
}

bool
object_file(struct object *object, const struct body_read *r, uint64_t at, uint64_t max,
	    struct file_piece *out)
{
	struct stored *o = stored_of(object);
	const struct placement *p = &o->placement;
	if (r->bad || !o->leased || stored_has_body(o))
		return false;
	uint64_t each = placement_fragment(p, 0)->at.bytes, i = at / each, from = at - i * each;
	bool is_here = (r->block && r->at == i * each) ||
		       (o->ahead_i == i && atomic_load_explicit(&o->ahead, memory_order_relaxed));
	if (is_here || !store_direct(o->store, &placement_fragment(p, (uint32_t)i)->at, out))
		return false;
	go_on(o, (uint32_t)i, from + max, out);
	out->at += from;
	out->n = out->n - from < max ? out->n - from : max;
	return true;
}
