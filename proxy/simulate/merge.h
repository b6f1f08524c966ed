/* merge.h - several logs as one, by time; each is taken as sorted. Of entries of the same time that
 * of the log named first comes first.
 *
 * Memory    an entry's views hold until the next call.
 */
#ifndef SIMULATE_MERGE_H
#define SIMULATE_MERGE_H

#include "proxy/simulate/source.h"

struct merge;

enum { MERGE_MOST = 256 };

/* names: n of them, 1 to MERGE_MOST, borrowed. NULL and a sentence. */
struct merge *merge_open(const char *const *names, unsigned n, const struct source_options *o,
			 char *err, size_t err_bytes);
void merge_close(struct merge **m);
enum source_step merge_next(struct merge *m, struct entry *out);
const char *merge_trouble(const struct merge *m);
unsigned merge_count(const struct merge *m);
void merge_facts(const struct merge *m, unsigned i, struct source_facts *out);
/* 0..1 of the bytes; below 0: not known. Any thread. */
double merge_progress(const struct merge *m);

#endif
