/* generations.h - two generations of any filter that counts: like the pair, for the other
 * kinds.
 *
 * The current one takes keys until it is full or its time is over; then it
 * becomes the previous one, and a new one takes its place. A key is known when
 * either knows it, each asked alone. Recording carries the count over, so a
 * key that is asked for again and again is never forgotten.
 *
 * Memory    two generations, the first of them from the first rotation on.
 * Clock     a step back leaves every age as it is; a step forward is time that passed.
 * Threads   one at a time; filter.h holds the lock.
 * Errors    create: NULL. When there is no memory for a new generation the
 *           current one is kept, fuller than planned; it is tried again.
 */
#ifndef TWICE_GENERATIONS_H
#define TWICE_GENERATIONS_H

#include "filter/family/filter.h"

/* A filter must have these calls to be turned. times: 0 for a key it does not know. */
struct twice_generations_ops {
	void *(*create)(const struct twice_filter_options *o);
	void (*destroy)(void *filter);
	unsigned (*times)(const void *filter, struct twice_key_hash h);
	void (*raise)(void *filter, struct twice_key_hash h, unsigned times);
	bool (*is_full)(const void *filter, const struct twice_filter_options *o);
	void (*stats)(const void *filter, struct twice_filter_stats *s); /* adds its own */
	int (*save)(const void *filter, const struct twice_snapshot_sink *to);
	void *(*load)(struct twice_snapshot_source *from);
};

extern const struct twice_generations_ops twice_generations_counting, twice_generations_scalable;

struct twice_generations;

struct twice_generations *
twice_generations_create(const struct twice_generations_ops *ops,
			 const struct twice_filter_options *o, int64_t now_s);
void twice_generations_destroy(struct twice_generations **t);

struct twice_filter_sight
twice_generations_test(const struct twice_generations *t, struct twice_key_hash h);
struct twice_filter_sight
twice_generations_record(struct twice_generations *t, struct twice_key_hash h);
void twice_generations_tick(struct twice_generations *t, int64_t now_s);
uint64_t twice_generations_number(const struct twice_generations *t);
void twice_generations_rotate(struct twice_generations *t, int64_t now_s);
/* Ends generation `number`, if it is the current one. */
bool twice_generations_try_rotate(struct twice_generations *t, uint64_t number);
void twice_generations_stats(const struct twice_generations *t, struct twice_filter_stats *s);

int twice_generations_save(const struct twice_generations *t, const struct twice_snapshot_sink *to,
			   int64_t now_s);
struct twice_generations *twice_generations_load(const struct twice_generations_ops *ops,
						 const struct twice_filter_options *o,
						 struct twice_snapshot_source *from, int64_t now_s);

#endif
