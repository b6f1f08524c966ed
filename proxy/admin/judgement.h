/* judgement.h - is this node well? One judgement for /healthz, /stats and the dashboard.
 *
 * ok: nothing is to be done. degraded: clients are served, but something is missing. failing: clients are told
 * errors, or soon will be. An edge whose origins fail still has what it keeps, so that alone is no reason to send
 * clients elsewhere.
 *
 * Answers   the level, and why, the worst first.
 * Threads   pure.
 */
#ifndef ADMIN_JUDGEMENT_H
#define ADMIN_JUDGEMENT_H

#include "proxy/base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct report;

enum {
	JUDGEMENT_REASONS_MOST = 9,
	JUDGEMENT_CERTIFICATE_S = 14 * 86400, /* before its end: renewing it has failed */
	JUDGEMENT_ANSWERS_LEAST = 3	      /* so many failed ones are no accident */
};

enum judgement_level { JUDGEMENT_OK, JUDGEMENT_DEGRADED, JUDGEMENT_FAILING };

struct judgement_reason {
	enum judgement_level level;
	char says[160]; /* for everybody */
	char names
		[320]; /* of what: for those who may see statistics; "": there is no more to say */
};

struct judgement {
	enum judgement_level level;
	bool elsewhere;	 /* clients are better sent to another node */
	int64_t since_s; /* unix time since when the level is this one (judge.h) */
	unsigned count;
	struct judgement_reason reasons[JUDGEMENT_REASONS_MOST];
};

/* All but since_s. */
void judgement_of(const struct report *r, struct judgement *out);
const char *judgement_word(enum judgement_level level);
/* The line of /healthz: what everybody may know. */
void judgement_print(const struct judgement *j, struct buf *out);

#endif
