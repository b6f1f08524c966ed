/* account.h - a study for people and for programs.
 *
 * Errors    what cannot be written shows in ferror.
 */
#ifndef SIMULATE_ACCOUNT_H
#define SIMULATE_ACCOUNT_H

#include "proxy/simulate/study.h"

#include <stdio.h>

void account_text(FILE *to, const struct study *s, const struct study_options *o);

/* The table alone. */
void account_table(FILE *to, const struct study *s);

/* The same and more as JSON, for programs. */
void account_json(FILE *to, const struct study *s, const struct study_options *o);

/* Calls each for every sentence on what was taken for granted. */
void account_assumptions(const struct study *s, const struct study_options *o,
			 void (*each)(void *ctx, const char *sentence), void *ctx);

#endif
