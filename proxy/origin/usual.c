/* usual.c - an estimate for each place, and the middle of them. */
#include "proxy/origin/usual.h"

/* An estimate rises by a 16th for a slower answer and falls by a 64th for a faster one, so it rests
 * where one answer in five is slower; how slow does not matter, so one hanging URL is one step. */
enum { RISE = 16, FALL = 64, LEAST_US = 500, MOST_US = 60 * 1000 * 1000 };

static int64_t
within(int64_t us)
{
	return us < LEAST_US ? LEAST_US : us > MOST_US ? MOST_US : us;
}

static void
learn(_Atomic uint32_t *at, int64_t us)
{
	int64_t was = atomic_load_explicit(at, memory_order_relaxed);
	int64_t is = within(!was ? us : us > was ? was + was / RISE : was - was / FALL);
	if (is != was)
		atomic_store_explicit(at, (uint32_t)is, memory_order_relaxed);
}

void
usual_learn(struct usual *u, struct source s, int64_t us)
{
	learn(&u->clients[s.client % USUAL_PLACES], us);
	learn(&u->urls[s.url % USUAL_PLACES], us);
}

/* Of those that are known; of an even number of them the lower one. */
static int64_t
middle(const _Atomic uint32_t *places, unsigned *known)
{
	uint32_t sorted[USUAL_PLACES] = {0};
	unsigned n = 0;
	for (unsigned i = 0; i < USUAL_PLACES; i++) {
		uint32_t us = atomic_load_explicit(&places[i], memory_order_relaxed);
		unsigned at = n;
		if (!us)
			continue;
		for (; at > 0 && sorted[at - 1] > us; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = us;
		n++;
	}
	*known = n;
	return n ? sorted[(n - 1) / 2] : 0;
}

int64_t
usual_us(const struct usual *u, bool *several)
{
	unsigned clients, urls;
	int64_t by_client = middle(u->clients, &clients), by_url = middle(u->urls, &urls);
	*several = clients >= USUAL_SEVERAL && urls >= USUAL_SEVERAL;
	return by_client < by_url ? by_client : by_url;
}

#define COPY(to, from)                                                              \
	atomic_store_explicit(to, atomic_load_explicit(from, memory_order_relaxed), \
			      memory_order_relaxed)

void
usual_copy(struct usual *to, const struct usual *from)
{
	for (unsigned i = 0; i < USUAL_PLACES; i++) {
		COPY(&to->clients[i], &from->clients[i]);
		COPY(&to->urls[i], &from->urls[i]);
	}
}
