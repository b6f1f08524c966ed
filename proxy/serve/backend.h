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
#include "proxy/fleet/chart.h"
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
	/* It became a tunnel (upstream_apart). */
	void (*apart)(struct backend *b);
	/* How long an answer usually takes (upstream_usual_ms); 0: nothing is known. */
	int64_t (*usual_ms)(const struct backend *b, bool *several);
	/* The queue in which it waits for a connection: fetch_request.share and .group. */
	void (*queue)(const struct backend *b, struct fetch_request *r);
	/* NULL: always. Whether that head is an answer; else another one is to be asked. */
	bool (*answers)(struct backend *b, const struct response *rs, int64_t now_ms);
	/* NULL: it is. Whether who is asked now would still be asked. */
	bool (*is_well)(const struct backend *b, int64_t now_ms);
	bool sibling; /* a node of the fleet, which is asked as sibling.h says, and is no origin */
	/* It decides about what is asked of it, and has that in its own bill: here it is no sighting. */
	bool elsewhere;
};

/* The siblings that are asked before the group, and which of them is asked now. */
struct backend_siblings {
	struct chart *chart; /* a reference; NULL: none */
	struct sibling *of[RING_DEEP];
	unsigned n, at;
	bool asks; /* for what it has in its cache, and nothing else */
};

struct backend {
	const struct backend_kind *kind; /* NULL: nobody is asked yet */
	struct upstream *group;		 /* of the route; borrowed from the settings */
	struct upstream_try try;	 /* of its servers */
	struct backend_siblings siblings;
};

/* Before begin: who has what is asked for, by its mark, or 0; stays: it has begun to answer. */
static inline void
backend_prefer(struct backend *b, uint16_t mark, bool stays)
{
	b->try.home = mark;
	b->try.stays = stays;
}
/* As it was preferred. */
static inline bool
backend_stays(const struct backend *b)
{
	return b->try.stays;
}
/* It may not wait: begin said so, and nothing else has been known since. */
static inline bool
backend_is_refused(const struct backend *b)
{
	return b->try.refused;
}
static inline void
backend_was_heard(struct backend *b)
{
	b->try.refused = false;
}

/* A server of the group. Asked for key by from; home: see upstream_try. */
void backend_of_group(struct backend *b, struct upstream *group, uint64_t key, struct source from);

/* A key that is lacking. */
struct backend_lack {
	uint64_t hash;	 /* by which it is owned: the primary key's; */
	uint64_t stored; /* by which it is stored, as far as is known: that, or the variant's */
	uint64_t but;	 /* the id of a node that has said that it has nothing; 0: none has */
};

/* Behind backend_of_group, before that is asked: backend_siblings.c. The owners of a key with that hash, as far as they are
 * well, and then the group; or (asks) whoever owned it before, and one of another zone that says it has it, which are asked
 * what they have. False: nobody of them may be asked, and nothing has changed. */
bool backend_of_owners(struct backend *b, struct chart *c, uint64_t hash, int64_t now_ms);
bool
backend_of_former(struct backend *b, struct chart *c, const struct backend_lack *l, int64_t now_ms);
/* The one that is asked now is of another zone. */
bool backend_is_across(const struct backend *b);

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
backend_is_sibling(const struct backend *b)
{
	return b->kind && b->kind->sibling;
}
static inline bool
backend_is_well(const struct backend *b, int64_t now_ms)
{
	return !b->kind->is_well || b->kind->is_well(b, now_ms);
}
static inline bool
backend_answers(struct backend *b, const struct response *rs, int64_t now_ms)
{
	return !b->kind->answers || b->kind->answers(b, rs, now_ms);
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

static inline void
backend_apart(struct backend *b)
{
	b->kind->apart(b);
}
static inline int64_t
backend_usual_ms(const struct backend *b, bool *several)
{
	return b->kind->usual_ms(b, several);
}
static inline void
backend_queue(const struct backend *b, struct fetch_request *r)
{
	b->kind->queue(b, r);
}

#endif
