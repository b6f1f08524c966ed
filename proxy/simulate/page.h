/* page.h - a study as one HTML page that needs nothing else: figures, tables, the suggestion. */
#ifndef SIMULATE_PAGE_H
#define SIMULATE_PAGE_H

#include "proxy/simulate/study.h"

#include <stdio.h>

/* Failures to write show in ferror. */
void page_write(FILE *to, const struct study *s, const struct study_options *o);

#endif
