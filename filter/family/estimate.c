#include "filter/family/estimate.h"

#include <math.h>

/* l = kn/m from the share of ones; infinite for a full filter. */
static double
load_of(uint64_t bits, uint64_t ones)
{
	return ones < bits ? -log1p(-(double)ones / (double)bits) : INFINITY;
}

/* m/k^2 times this is the variance of n*; of two filters,
 * with their common load, the covariance. */
static double
spread(double load)
{
	return expm1(load) - load;
}

static struct twice_estimate
estimate_of(uint64_t bits, unsigned hashes, double load, double variance)
{
	if (!isfinite(load) || !isfinite(variance) || hashes == 0)
		return (struct twice_estimate){INFINITY, INFINITY};
	double m = (double)bits, k = hashes;
	return (struct twice_estimate){m / k * load, sqrt(m * fmax(variance, 0)) / k};
}

struct twice_estimate
twice_estimate_keys(uint64_t bits, unsigned hashes, uint64_t ones)
{
	double load = load_of(bits, ones);
	return estimate_of(bits, hashes, load, isfinite(load) ? spread(load) : INFINITY);
}

struct twice_estimate
twice_estimate_both(const struct twice_estimate_pair *p)
{
	double a = load_of(p->bits, p->ones_a), b = load_of(p->bits, p->ones_b);
	double either = load_of(p->bits, p->ones_either);
	if (!isfinite(either) || !isfinite(a) || !isfinite(b))
		return (struct twice_estimate){INFINITY, INFINITY};
	double both = fmax(a + b - either, 0);
	/* Var(A+B-U), where Cov(A,B) has the load of both, Cov(A,U) that of A. */
	double variance = spread(either) + 2 * spread(both) - spread(a) - spread(b);
	return estimate_of(p->bits, p->hashes, both, variance);
}

double
twice_estimate_fpr(uint64_t bits, unsigned hashes, uint64_t ones)
{
	return ones < bits ? pow((double)ones / (double)bits, hashes) : 1;
}
