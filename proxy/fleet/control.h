/* control.h - what siblings ask this node, whatever brings it here: a listener of its own today, workers' listeners
 * later.
 *
 *	GET  /.twice/state    JSON: who this node is, and whom it knows
 *	GET  /.twice/numbers  what this node has counted since its start; whoever counts says in which form
 *	GET  /.twice/digest   what is on its disk (digest_parts.h)
 *	POST /.twice/purges   purges (purge_items.h); answered when they are on disk
 *	POST /.twice/recall   the purges that this node has heard of, for a node that cannot read the journal (recall.h)
 *
 * A request counts when its field Twice-Hop is signed with the secret, for this node, by its method, its target and all
 * of its body; each answer to such a one is signed in turn. Whoever brings it says no more than that.
 *
 * Threads   control_ask: any; answers come on the fleet's thread, and so are the callbacks of the options.
 * Bounds    a body has CONTROL_BODY_MOST bytes, an answer CONTROL_ANSWER_MOST; who brings requests bounds how many are under way.
 */
#ifndef FLEET_CONTROL_H
#define FLEET_CONTROL_H

#include "proxy/base/buf.h"
#include "proxy/base/mailbox.h"
#include "proxy/fleet/secret.h"

#include <stdint.h>

struct control;
struct control_question;

enum { CONTROL_BODY_MOST = 64 << 10, CONTROL_STATE_MOST = 4096, CONTROL_ANSWER_MOST = 64 << 10 };

#define CONTROL_PREFIX	"/.twice/"
#define CONTROL_STATE	"/.twice/state"
#define CONTROL_NUMBERS "/.twice/numbers"
#define CONTROL_PURGES	"/.twice/purges"
#define CONTROL_RECALL	"/.twice/recall"
#define CONTROL_DIGEST	"/.twice/digest"

struct control_options {
	struct mailbox *mailbox;     /* the fleet's thread's; borrowed */
	const struct secret *secret; /* borrowed */
	uint64_t (*self)(void *ctx); /* the id of now, by which this node is asked */
	/* Appends the state, JSON; at most CONTROL_STATE_MOST bytes. */
	void (*state)(void *ctx, struct buf *out);
	/* The same of what this node has counted. */
	void (*numbers)(void *ctx, struct buf *out);
	/* A digest, or a part of it: control_answer is due within the call. */
	void (*digest)(void *ctx, struct control_question *q, struct str target);
	/* Purges of the node `from`, which holds during the call; control_answer is due once. */
	void (*purges)(void *ctx, struct control_question *q, uint64_t from, struct str body);
	/* The same of a question of recall.h; control_answer is due within the call. */
	void (*recall)(void *ctx, struct control_question *q, uint64_t from, struct str body);
	void *ctx;
};

struct control *control_create(const struct control_options *o);
/* Questions that wait are answered with 503. Its mailbox has been run for the last time. */
void control_destroy(struct control **c);

struct control_request { /* copied */
	struct str method, target;
	struct str field; /* the value of Twice-Hop; empty: none, or several */
	struct str body;
};
struct control_answer {	  /* holds during the call */
	int status;	  /* 200, 403, 404, or 503: not now */
	struct str field; /* the value of Twice-Hop; empty: there is none */
	struct str content;
};
typedef void control_done_fn(void *ctx, const struct control_answer *a);
/* done is called exactly once, later. */
void
control_ask(struct control *c, const struct control_request *rq, control_done_fn *done, void *ctx);

/* On the fleet's thread. 200 or 503. */
void control_answer(struct control_question *q, int status, struct str content);

#endif
