/* backend.h - who is asked on a trip: a server of an origin group, or whoever else may have what is
 * wanted. A kind of backend is a table of calls; one may pass a trip on to another kind.
 *
 * Two places choose: fill_set_out, the first, and backend_another, whoever comes next.
 *
 * Units     milliseconds of one monotonic clock, which is an argument.
 * Memory    zeroed: nobody is asked. backend_end gives back what a choice holds; twice is harmless.
 * Threads   its trip's worker.
 */
#ifndef SERVE_BACKEND_H
#define SERVE_BACKEND_H

#include "proxy/base/measures.h"
#include "proxy/origin/upstream.h"

struct backend;

struct backend_kind { /* constant; one for each */
	/* The first to be asked is chosen. False: too many are asked already, and it may not wait. */
	bool (*begin)(struct backend *b, int64_t now_ms);
	/* Another one is, where there is one: of this kind, or of the kind that b has then. */
	bool (*another)(struct backend *b, int64_t now_ms);
	void (*end)(struct backend *b);
	/* The one that is asked now: where it is, */
	const struct origin *(*origin)(const struct backend *b);
	/* a number other than 0 that stands for it, also after a restart, */
	uint16_t (*mark)(const struct backend *b);
	/* what is counted of it. */
	struct origin_measures *(*measures)(const struct backend *b, struct measures *m);
	/* It sent the head of an answer after wait_us; its fetch ended otherwise. */
	void (*answered)(struct backend *b, int status, int64_t wait_us, int64_t now_ms);
	void (*failed)(struct backend *b, const struct fetch_result *r, int64_t now_ms);
	/* It decides about what is asked of it, and has that in its own bill: here it is no sighting. */
	bool elsewhere;
};

struct backend {
	const struct backend_kind *kind; /* NULL: nobody is asked yet */
	struct upstream *group;		 /* of the route; borrowed from the settings */
	struct upstream_try try;	 /* of its servers; home and stays may be set before */
};

/* A server of the group. Asked for key by from; home: see upstream_try. */
void backend_of_group(struct backend *b, struct upstream *group, uint64_t key, struct source from);

static inline bool
backend_begin(struct backend *b, int64_t now_ms)
{
	return b->kind->begin(b, now_ms);
}
static inline bool
backend_another(struct backend *b, int64_t now_ms)
{
	return b->kind->another(b, now_ms);
}
static inline void
backend_end(struct backend *b)
{
	if (b->kind)
		b->kind->end(b);
}
static inline const struct origin *
backend_origin(const struct backend *b)
{
	return b->kind->origin(b);
}
static inline uint16_t
backend_mark(const struct backend *b)
{
	return b->kind->mark(b);
}
static inline bool
backend_is_elsewhere(const struct backend *b)
{
	return b->kind && b->kind->elsewhere;
}
static inline struct origin_measures *
backend_measures(const struct backend *b, struct measures *m)
{
	return b->kind->measures(b, m);
}
static inline void
backend_answered(struct backend *b, int status, int64_t wait_us, int64_t now_ms)
{
	b->kind->answered(b, status, wait_us, now_ms);
}
static inline void
backend_failed(struct backend *b, const struct fetch_result *r, int64_t now_ms)
{
	b->kind->failed(b, r, now_ms);
}

#endif
