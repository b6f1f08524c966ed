/* parts.h - sums by parts of a sample. Pure. */
#ifndef SIMULATE_PARTS_H
#define SIMULATE_PARTS_H

enum { PARTS = 32 };

/* The standard error of a sum of which the sampled parts are known. */
double parts_error(const double parts[PARTS]);

#endif
