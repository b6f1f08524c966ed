/* judge.h - the judgement as it lasts: since when a node is as it is, and what came within the last minute.
 *
 * Memory    16 KiB.
 * Threads   any; a lock of its own.
 */
#ifndef ADMIN_JUDGE_H
#define ADMIN_JUDGE_H

#include "proxy/admin/report.h"

struct judge;

struct judge *judge_create(int64_t now_s);
void judge_destroy(struct judge **j);
/* About once a second: the counters in r are remembered for a minute, and r is judged. */
void judge_second(struct judge *j, struct report *r, int64_t now_us);
/* Sets r->health.minute and r->health.judgement from all else in r. now_us: of a clock that only goes forward. */
void judge_report(struct judge *j, struct report *r, int64_t now_us);

#endif
