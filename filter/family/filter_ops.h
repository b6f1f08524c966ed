/* filter_ops.h - the functions that a kind of filter needs to serve filter.c: a row for each kind.
 *
 * For filter.c alone, which holds the locks: a state is one stripe of a
 * filter, and no two calls are in it at once unless its kind is lock-free.
 */
#ifndef TWICE_FILTER_OPS_H
#define TWICE_FILTER_OPS_H

#include "filter/family/filter.h"

struct twice_filter_ops {
	bool is_lock_free;
	void *(*create)(const struct twice_filter_options *o, int64_t now_s);
	void (*destroy)(void *state);
	struct twice_filter_sight (*test)(const void *state, struct twice_key_hash h);
	struct twice_filter_sight (*record)(void *state, struct twice_key_hash h);
	void (*tick)(void *state, int64_t now_s);
	/* NULL, all three: there are no generations. */
	uint64_t (*number)(const void *state);
	void (*rotate)(void *state, int64_t now_s);
	bool (*try_rotate)(void *state, uint64_t number);
	void (*stats)(const void *state, struct twice_filter_stats *s);
	int (*save)(const void *state, const struct twice_filter_place *here,
		    const struct twice_snapshot_sink *to);
	void *(*load)(const struct twice_filter_options *o, const struct twice_filter_place *here,
		      struct twice_snapshot_source *from);
};

/* By enum twice_filter_kind. */
extern const struct twice_filter_ops twice_filter_ops[TWICE_FILTER_KIND_COUNT];

#endif
