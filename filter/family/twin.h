/* twin.h - two generations of any filter that counts: what the pair does, for the other kinds.
 *
 * The current one takes keys until it is full or its time is over; then it
 * becomes the previous one, and a new one takes its place. A key is known when
 * either knows it, each asked alone. Recording carries the count over, so a
 * key that is asked for again and again is never forgotten.
 *
 * Memory    two generations, the first of them from the first rotation on.
 * Threads   one at a time; memory.h holds the lock.
 * Errors    create: NULL. When there is no memory for a new generation the
 *           current one is kept, fuller than planned; it is tried again.
 */
#ifndef FILTER_TWIN_H
#define FILTER_TWIN_H

#include "filter/family/memory.h"

/* What a filter must answer to be turned. times: 0 for a key it does not know. */
struct twin_ops {
	void *(*create)(const struct memory_options *o);
	void (*destroy)(void *filter);
	unsigned (*times)(const void *filter, struct key_hash h);
	void (*raise)(void *filter, struct key_hash h, unsigned times);
	bool (*is_full)(const void *filter, const struct memory_options *o);
	void (*stats)(const void *filter, struct memory_stats *s); /* adds its own */
	int (*save)(const void *filter, const struct seal_sink *to);
	void *(*load)(struct seal_source *from);
};

extern const struct twin_ops twin_counting, twin_scalable;

struct twin;

struct twin *twin_create(const struct twin_ops *ops, const struct memory_options *o, int64_t now_s);
void twin_destroy(struct twin **t);

struct memory_sight twin_test(const struct twin *t, struct key_hash h);
struct memory_sight twin_record(struct twin *t, struct key_hash h);
void twin_tick(struct twin *t, int64_t now_s);
void twin_stats(const struct twin *t, struct memory_stats *s);

int twin_save(const struct twin *t, const struct seal_sink *to, int64_t now_s);
struct twin *twin_load(const struct twin_ops *ops, const struct memory_options *o,
		       struct seal_source *from, int64_t now_s);

#endif
