/* object_file.c - a body's bytes as a piece of their file, where nothing has to be looked at. */
#include "proxy/cache/cache_inside.h"

#include "proxy/cache/object_read.h"

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
	out->at += from;
	out->n = out->n - from < max ? out->n - from : max;
	return true;
}
