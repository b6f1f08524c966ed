/* suggest.c - Damerau-Levenshtein distance (optimal string alignment) of two short words. */
#include "config/suggest.h"

#include <limits.h>
#include <string.h>

enum { LONGEST = 63 };

static unsigned
least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned
suggest_distance(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b);
	if (na > LONGEST || nb > LONGEST)
		return UINT_MAX;
	unsigned d[LONGEST + 1][LONGEST + 1]; /* d[i][j]: first i letters of a to first j of b */
	for (unsigned i = 0; i <= na; i++)
		d[i][0] = i;
	for (unsigned j = 0; j <= nb; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= na; i++) {
		for (size_t j = 1; j <= nb; j++) {
			unsigned change = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			d[i][j] = least(change, least(d[i - 1][j], d[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[na][nb];
}

int
suggest_is_near(const char *a, const char *b)
{
	size_t longer = strlen(a) > strlen(b) ? strlen(a) : strlen(b);
	return suggest_distance(a, b) <= (longer + 2) / 3;
}
