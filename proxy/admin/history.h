/* history.h - what the proxy did lately, in memory of a fixed size: steps of 1 s for 10 minutes, of
 * 10 s for 2 hours, of 5 minutes for 7 days; and totals since it was first started here.
 *
 * The columns are the rows of history_columns.h. A step is written when it is over; a step in which
 * nobody looked (the thread that adds was busy) has the average of the time until somebody did.
 *
 * Answers   GET /history?step=1|10|300[&since=UNIX_SECONDS], lifetime in /stats.
 * Memory    about half a megabyte.
 * Threads   any; a lock of its own. load before all else.
 * Files     none: a snapshot is bytes, at most HISTORY_SNAPSHOT_MOST, whose format is in
 *           history_snapshot.c.
 */
#ifndef ADMIN_HISTORY_H
#define ADMIN_HISTORY_H

#include "proxy/admin/report.h"

struct history;

enum { HISTORY_SNAPSHOT_MOST = 1 << 20 };

struct history *
history_create(int64_t now_s); /* now_s: a lifetime that nothing is known of begins */
void history_destroy(struct history **h);

/* About once a second. now_us: of a clock that only goes forward. */
void history_add(struct history *h, const struct report *r, int64_t now_s, int64_t now_us);
/* Sets r->lifetime and r->lifetime_since_s from the numbers in r. */
void history_lifetime(struct history *h, struct report *r);

/* The counters of history_columns.h as they are in r. */
void history_totals(const struct report *r, double out[REPORT_RATES]);

/* The steps of this length that began after since_s, as far as they are kept. false: there are no
 * steps of this length. */
bool history_json(struct history *h, int64_t step_s, int64_t since_s, struct buf *out);

/* Appends the snapshot. tag: of the cache directory it belongs to. False: there is no memory for it (errno), or nothing
 * was asked of the proxy since the last one, so it is not worth its bytes (errno is 0). */
bool history_save(struct history *h, uint64_t tag, struct buf *out);
/* The last snapshot is not on disk: the next time there is something to save. */
void history_unsaved(struct history *h);
/* NULL, or why it is ignored; of another version of the columns only the totals are taken. */
const char *history_load(struct history *h, uint64_t tag, struct str bytes);

#endif
