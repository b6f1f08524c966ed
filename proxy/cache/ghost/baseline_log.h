/* baseline_log.h - what came to lie in the baseline since its snapshot, on disk within some seconds: so that after a
 * crash it is as old as the cache that it is compared with, and not as old as the snapshot.
 *
 * The file "baseline.log" (baseline_file.h) begins anew with each snapshot.
 *
 * Threads   one at a time; it does not wait for the disk but where it says so.
 */
#ifndef CACHE_BASELINE_LOG_H
#define CACHE_BASELINE_LOG_H

#include "proxy/base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct baseline_log;
struct cache;

/* most_bytes: of the file. cache: borrowed; it has a directory, or may get one. */
struct baseline_log *baseline_log_create(struct cache *cache, uint64_t tag, uint64_t most_bytes);
/* Waits for what is being written. */
void baseline_log_destroy(struct baseline_log **l);

/* Appends the rows of a file that goes on from this snapshot (its bytes; none: from an empty baseline); what comes goes behind them. A warning where
 * it ends early. Waits for the disk. */
void baseline_log_restore(struct baseline_log *l, struct str snapshot, struct buf *rows);
/* Rows are written when they are enough, or have waited for some seconds. Called about once a second, also with
 * none. */
void baseline_log_add(struct baseline_log *l, struct str rows, int64_t now_ms);
/* It takes no more before the next snapshot: it is full, or stopped. Not again and again, where a snapshot does
 * not help. */
bool baseline_log_wants_snapshot(struct baseline_log *l, int64_t now_ms);
/* A new snapshot knows all that was added. Waits for the disk. */
void baseline_log_begin(struct baseline_log *l, struct str snapshot);
/* There is a gap: nothing is written before the next snapshot. */
void baseline_log_stop(struct baseline_log *l);

#endif
