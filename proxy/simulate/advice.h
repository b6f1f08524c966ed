/* advice.h - which of the settings that were simulated should one take, and why?
 *
 * Taken is what writes least among the settings that hit at most a point less than the best of the
 * smallest disk that comes within a point of the largest. Then: as long as another setting saves a
 * twentieth more at the same hit ratio (0.2 points), or hits no less and writes no more with no
 * more disk and memory, that one. So nothing that was simulated is better at the same price.
 */
#ifndef SIMULATE_ADVICE_H
#define SIMULATE_ADVICE_H

#include "proxy/simulate/study.h"

/* Of fewer requests, what comes out is chance. */
enum { ADVICE_LEAST_VISITS = 10000 };

enum { ADVICE_REASONS = 8, ADVICE_BYTES = 400 };

struct advice {
	const struct study_row *row; /* NULL: there is nothing to choose from, or no need */
	char none[ADVICE_BYTES];     /* then the sentence that says why */
	const struct study_row *all; /* the same disk, everything admitted; NULL: was not run */
	char reasons[ADVICE_REASONS][ADVICE_BYTES]; /* sentences; what a step more would change */
	unsigned reasons_n;
	uint64_t capacity; /* of a generation of the filter; 0: none is needed */
	char yaml[512];
	double years, years_all; /* of the drive; 0: not known */
};

/* Of the options: tbw, bytes that the drive may be written in its life (0: 600 times its size, as is
 * typical), and memory: what fits into it, or into 1 GiB where it is a share of the disk, needs none. */
void advice_find(struct advice *out, const struct study *s, const struct study_options *o);

#endif
