/* memory_ops.h - what a kind of memory must be able to do: a row of functions for each.
 *
 * For memory.c alone, which holds the locks: a state is one stripe of a
 * memory, and no two calls are in it at once unless its kind is lock-free.
 */
#ifndef FILTER_MEMORY_OPS_H
#define FILTER_MEMORY_OPS_H

#include "filter/family/memory.h"

struct memory_ops {
	bool is_lock_free;
	void *(*create)(const struct memory_options *o, int64_t now_s);
	void (*destroy)(void *state);
	struct memory_sight (*test)(const void *state, struct key_hash h);
	struct memory_sight (*record)(void *state, struct key_hash h);
	void (*tick)(void *state, int64_t now_s);
	void (*stats)(const void *state, struct memory_stats *s);
	int (*save)(const void *state, const struct memory_place *here, const struct seal_sink *to);
	void *(*load)(const struct memory_options *o, const struct memory_place *here,
		      struct seal_source *from);
};

/* By enum memory_kind. */
extern const struct memory_ops memory_ops[MEMORY_KIND_COUNT];

#endif
