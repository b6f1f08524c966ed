/* histogram.c - sums, quantiles. */
#include "proxy/base/histogram.h"

static double
upper_bound(unsigned bucket)
{
	if (bucket < 4)
		return bucket + 1;
	return (double)((uint64_t)(4 + bucket % 4 + 1) << (bucket / 4 - 1));
}

static double
lower_bound(unsigned bucket)
{
	return bucket ? upper_bound(bucket - 1) : 0;
}

void
histogram_sum_add(struct histogram_sum *to, const struct histogram *from)
{
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t n = atomic_load_explicit(&from->n[i], memory_order_relaxed);
		to->n[i] += n;
		to->count += n;
	}
	to->sum += atomic_load_explicit(&from->sum, memory_order_relaxed);
}

void
histogram_sum_since(const struct histogram_sum *now, const struct histogram_sum *before,
		    struct histogram_sum *out)
{
	out->sum = now->sum > before->sum ? now->sum - before->sum : 0;
	out->count = 0;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		out->n[i] = now->n[i] > before->n[i] ? now->n[i] - before->n[i] : 0;
		out->count += out->n[i];
	}
}

double
histogram_quantile(const struct histogram_sum *h, double share)
{
	double rank = share * (double)h->count, below = 0;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		double n = (double)h->n[i];
		if (n > 0 && below + n >= rank) {
			double part = rank > below ? (rank - below) / n : 0;
			return lower_bound(i) + part * (upper_bound(i) - lower_bound(i));
		}
		below += n;
	}
	return 0;
}

uint64_t
histogram_up_to(const struct histogram_sum *h, unsigned doubling)
{
	uint64_t n = 0;
	for (unsigned i = 0; i <= histogram_bucket((uint64_t)1 << doubling); i++)
		n += h->n[i];
	return n;
}
