/* herd.h - many requests for one key that wait for one fetch: whose failure is whose, and how long
 * one waits for another's fetch.
 *
 * An answer that may be shared is everybody's. One that may not, by its own fields (private,
 * no-store), is its leader's, and the others fetch side by side. A failure may be the leader's own
 * doing (a field that makes the origin fail, hang or drop the connection), so the others do not
 * inherit it: each gets a try of its own, one at a time, the first of them for all. What no request
 * can cause (an origin that cannot be reached) is everybody's, and so is the failure of a request
 * that is the same in every field and comes from the same address; who was refused (4xx) by such a
 * request's doing is refused anyway, and asks for itself at once.
 *
 * Pure: facts in, a name out.
 * Units     milliseconds.
 */
#ifndef SERVE_HERD_H
#define SERVE_HERD_H

#include "filter/hash.h"
#include "proxy/http/message.h"
#include "proxy/serve/rules/passes.h"

enum herd_step {
	HERD_SHARE,   /* what the leader brought is for us too */
	HERD_INHERIT, /* it failed, and so would we */
	HERD_QUEUE,   /* a try of our own, together with those who wait as well */
	HERD_ALONE    /* a fetch of our own, now */
};

/* A follower knows this when its leader's fetch has come to something. */
struct herd_facts {
	bool failed;	   /* no head came */
	bool shareable;	   /* the answer is for us too */
	int status;	   /* of the answer, or that of the failure; 0: the leader left */
	bool blameless;	   /* a failure that no request can cause */
	bool same;	   /* the leader's request was ours in every field */
	unsigned met;	   /* failures of leaders that we have met before this one */
	int64_t waited_ms; /* since we began to follow, all leaders together */
	int64_t most_ms;   /* timeouts.coalesce */
};
enum herd_step herd_decide(const struct herd_facts *f);

/* How long a follower waits for a leader before one more fetch is tried beside it: four times what
 * an answer usually takes (0: not known), at least a second, at most most_ms. A fifth of that at most
 * unless several clients, at several URLs, found that answers take long: else one of them could
 * make all others wait. */
int64_t herd_patience_ms(int64_t usual_ms, bool several, int64_t most_ms);

/* Tells a request and the address it came from from all others; never 0. */
uint64_t herd_blame(const struct twice_seed *seed, const struct request *r, struct str client);

/* As which kind it is remembered that answers are not shared: requests with credentials are
 * remembered apart, so that the answers to them say nothing about requests without. */
enum passes_kind herd_pass_kind(const struct request *r);

#endif
