/* hot.h - which names come most often now: a sketch of a fixed size (Metwally's space-saving) that a
 * worker feeds with a sample of its requests.
 *
 * A name among the most frequent is never missed, and is counted too high by at most `error`. Of a
 * few hundred requests a second all are seen; of more, about 500 a second, each standing for as many
 * as it was drawn from. Weights are halved every minute, so that what is told is now.
 *
 * Cost      of a request that is not drawn: a load, a subtraction, a store. Of one that is: under a
 *           microsecond, and a lock that only a reader takes besides.
 * Memory    about 90 KiB for each; names are cut to HOT_NAME_BYTES.
 * Threads   is_drawn and add: the worker's; read: any.
 */
#ifndef BASE_HOT_H
#define BASE_HOT_H

#include "proxy/base/str.h"

#include <pthread.h>

enum { HOT_NAMES = 96, HOT_NAME_BYTES = 192, HOT_MINUTE_S = 60 };

enum hot_table {
	HOT_URLS,	 /* by requests */
	HOT_HOSTS,	 /* by requests */
	HOT_FIRST_SIGHT, /* host and first part of the path, by bytes kept off the disk */
	HOT_ADMITTED,	 /* the same, by bytes written */
	HOT_TABLES
};

struct hot_name {
	uint64_t hash;
	double weight, error;
	uint16_t bytes; /* 0: the place is free */
	char text[HOT_NAME_BYTES];
};

struct hot_list {
	double total; /* of all names, also of those that have no place */
	struct hot_name names[HOT_NAMES];
};

struct hot {		 /* hot_init */
	unsigned left;	 /* requests until the next one that is drawn */
	unsigned period; /* one of so many is, on average */
	unsigned drawn;	 /* in this second */
	int64_t second, minute;
	uint32_t random;
	pthread_mutex_t lock;
	struct hot_list lists[HOT_TABLES];
};

void hot_init(struct hot *h);
void hot_fini(struct hot *h);

/* Once for each request; draws anew when true. */
bool hot_draw(struct hot *h, int64_t now_s);
static inline bool
hot_is_drawn(struct hot *h, int64_t now_s)
{
	return --h->left == 0 && hot_draw(h, now_s);
}
/* Of the request that was drawn: weight is its own, not that of those it stands for. */
void hot_add(struct hot *h, enum hot_table table, struct str name, double weight);

/* It sums up several sketches: a name that is often in all of them may be the lightest of each, so
 * none is left out before all were read. */
struct hot_sum { /* zeroed at first; hot_sum_fini */
	double total;
	unsigned n;
	struct hot_name *names; /* owned */
};
/* Adds what h knows to out. */
void hot_read(struct hot *h, enum hot_table table, int64_t now_s, struct hot_sum *out);
/* Behind the last hot_read: each name once, the heaviest first. */
void hot_sort(struct hot_sum *s);
void hot_sum_fini(struct hot_sum *s);

#endif
