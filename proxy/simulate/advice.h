/* advice.h - which of the settings that were simulated should one take, and why?
 *
 * Taken is what writes least among the settings that hit at most a point less than the best of the
 * smallest disk that comes within a point of the largest. Then: as long as another setting saves a
 * twentieth more at the same hit ratio (0.2 points), that one. So nothing that was simulated is
 * better at the same price.
 */
#ifndef SIMULATE_ADVICE_H
#define SIMULATE_ADVICE_H

#include "proxy/simulate/study.h"

enum { ADVICE_REASONS = 8, ADVICE_BYTES = 400 };

struct advice {
	const struct study_row *row; /* NULL: there is nothing to choose from */
	const struct study_row *all; /* the same disk, everything admitted; NULL: was not run */
	char reasons[ADVICE_REASONS][ADVICE_BYTES]; /* sentences; what a step more would change */
	unsigned reasons_n;
	char yaml[512];
	double years, years_all; /* of the drive; 0: not known */
};

/* tbw: bytes that the drive may be written in its life; 0: 600 times its size, as is typical. */
void advice_find(struct advice *out, const struct study *s, uint64_t tbw);

#endif
