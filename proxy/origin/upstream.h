/* upstream.h - a group of servers that answer for the same URLs: which is asked next, how often, and
 * which are well.
 *
 * A server that fails five times in a row (no connection, silence, 502 to 504) is left alone for
 * 1 s, then for 2, 4, ... 30 s; each time one request finds out whether it is back. Any other
 * answer shows that it is well. Failures of few clients, or at few URLs, are weighed against what it
 * answers to others meanwhile, and answers to few against the failures of most (outlier.h). One that
 * took no connection for all of connect_timeout and answered nobody meanwhile is left alone at once:
 * each such failure is a client's whole wait. Never more than half of a group is left alone (of one
 * server: none); what fails beyond that is said, and asked all the same.
 *
 * A group may have its servers checked beside that (struct upstream_checks). One that fails `fall`
 * checks in a row is left alone until `rise` succeed in a row, whatever it answers meanwhile and
 * however long it takes; the half of a group that may be left alone is the same.
 *
 * A request is put to another server when the first did not hear it, or when it is safe and nothing
 * of an answer came: as often as the group's retries say, and as long as retries are at most a
 * fifth of all that is under way, or three; up to twice as many for clients that have none.
 *
 * It also knows how long an answer usually takes: see upstream_usual_ms.
 *
 * Of a lone server the log has the first failure without an answer, once a minute; of others, and of
 * answers, what was judged so.
 *
 * Units     milliseconds of one monotonic clock, which is an argument.
 * Threads   any, lock-free.
 * Errors    none; each change is a line in the log.
 */
#ifndef ORIGIN_UPSTREAM_H
#define ORIGIN_UPSTREAM_H

#include "proxy/origin/balance.h"
#include "proxy/origin/fetch.h"
#include "proxy/origin/outlier.h"

enum {
	UPSTREAM_MOST = BALANCE_MOST, /* servers of a group */
	UPSTREAM_FAILURES = OUTLIER_FAILURES,
	UPSTREAM_HOLD_FIRST_MS = 1000,
	UPSTREAM_ANSWERED_STEP_MS = 250, /* how exactly it is known when one answered last */
	UPSTREAM_HOLD_MOST_MS = 30000,
	UPSTREAM_OTHERS_FIRST_MS =
		1000, /* a client whose probe brought nothing lets others find out */
	UPSTREAM_SAY_AGAIN_MS = 60000,
	UPSTREAM_SLOW_RETURN_MS = 30000,
	UPSTREAM_RETRIES_LEAST = 3,
	UPSTREAM_RETRIES_SHARE = 5 /* of so many requests one may be a retry */
};

struct upstream;

struct upstream_server {
	struct origin *origin;
	unsigned number; /* of this server among those of all groups */
	unsigned weight; /* 0: 1 */
	bool backup;	 /* asked when none of the others may be asked */
};
struct upstream_checks {
	const char *path; /* NULL: there are none */
	const char *host; /* Host to send; NULL: the origin's */
	int64_t every_ms, timeout_ms;
	unsigned least, most; /* statuses of a server that is well */
	unsigned fall, rise;  /* in a row */
};
struct upstream_options {
	const char *name; /* copied */
	enum balance balance;
	unsigned retries;
	unsigned most;	/* requests under way and waiting, of all workers; 0: no limit */
	unsigned share; /* so many may wait for a server at a worker whatever the others have */
	struct upstream_checks checks; /* copied */
};
/* Takes the servers' origins over; count is 1 to UPSTREAM_MOST. */
struct upstream *upstream_create(const struct upstream_options *o,
				 const struct upstream_server *servers, unsigned count);
/* Whether a group made of these would be the same one. */
bool upstream_is(const struct upstream *u, const struct upstream_options *o,
		 const struct upstream_server *servers, unsigned count);
/* This new group, which nobody uses yet, learns what before knows of servers that both have: their
 * health, how long they take. Requests that before has under way are not counted here. */
void upstream_learn_from(struct upstream *u, const struct upstream *before);
struct upstream *upstream_ref(struct upstream *u); /* one user more, beside who created it */
void
upstream_destroy(struct upstream **u); /* one user less; the last destroys it and the origins */

/* The tries of one request so far. Zeroed before the first, but for the first four. */
struct upstream_try {
	uint64_t key;	    /* hash of what is asked for */
	struct source from; /* by whom, and at which URL */
	/* upstream_mark of the one that has what is asked for, or 0: it is asked, where it is well, for two
	 * servers may have two names for one version. Of those that are asked in order, and of a backup, only
	 * where it has begun to answer (stays). */
	uint16_t home;
	bool stays;
	uint64_t tried;	  /* a bit for each server asked */
	unsigned current; /* the one to be asked now, once upstream_begin or _retry said so */
	unsigned retries;
	bool under_way;	 /* counted, until upstream_end */
	bool refused;	 /* too many were under way: it does not wait */
	bool apart;	 /* by its server alone, since upstream_apart */
	bool retrying;	 /* counted among the retries too */
	bool probe;	 /* current is asked to find out whether it is back */
	bool held_asked; /* one that is left alone was asked, as the last way out */
};
/* The first try: current is set. False: too many are under way or waiting, and the request may not
 * wait beside them (struct fetch_request, refused). To be ended in any case. */
bool upstream_begin(struct upstream *u, struct upstream_try *t, int64_t now_ms);
/* Another server, when there is one to ask: current is it. */
bool upstream_retry(struct upstream *u, struct upstream_try *t, int64_t now_ms);
/* It became a tunnel: its server counts it on, but in the group it takes no place of a request. */
void upstream_apart(struct upstream *u, struct upstream_try *t);
/* The request is over; twice is harmless. */
void upstream_end(struct upstream *u, struct upstream_try *t);

const struct origin *upstream_origin(const struct upstream *u, const struct upstream_try *t);
/* Number of the one asked now among the servers of all groups. */
unsigned upstream_number(const struct upstream *u, const struct upstream_try *t);
/* A number other than 0 that stands for the same server now and after a restart. Two may have the same. */
uint16_t upstream_mark(const struct upstream *u, const struct upstream_try *t);
unsigned upstream_share(const struct upstream *u);

/* current sent the head of an answer after wait_us. */
void upstream_answered(struct upstream *u, const struct upstream_try *t, int status,
		       int64_t wait_us, int64_t now_ms);
/* The fetch from current ended otherwise. */
void upstream_failed(struct upstream *u, const struct upstream_try *t, const struct fetch_result *r,
		     int64_t now_ms);
/* NULL: its servers are not checked. */
const struct upstream_checks *upstream_checks(const struct upstream *u);
/* A check of server i ended: status is that of a whole answer, 0 when there was none; then end says
 * why. One thread at a time calls this for a group. */
void
upstream_checked(struct upstream *u, unsigned i, int status, enum fetch_end end, int64_t now_ms);
/* Whether a fetch that ended so may be put to another server. safe: its method. Pure. */
bool upstream_may_ask_another(const struct fetch_result *r, bool safe);

/* Within this time four of five answers have begun, by what was seen lately of the server that is
 * asked first; 0: nothing is known. several: by several clients, at several URLs (usual.h). */
int64_t upstream_usual_ms(const struct upstream *u, bool *several);

enum upstream_condition {
	UPSTREAM_WELL,
	UPSTREAM_FAILING, /* and asked all the same */
	UPSTREAM_OUT	  /* left alone, or asked only to find out whether it is back */
};
/* Each server has a state, in the order of the configuration. */
struct upstream_state {
	const char *url, *group;
	enum upstream_condition condition;
	const char *why;    /* when it is not well: a fetch's word, "503", "health check: 503" */
	int64_t returns_ms; /* until it is asked again; 0: with the next request, or when its checks
			       succeed */
	unsigned active;    /* requests under way */
	int64_t usual_ms;
	unsigned number;
};
unsigned upstream_count(const struct upstream *u);
const struct origin *upstream_server_origin(const struct upstream *u, unsigned i);
const char *upstream_name(const struct upstream *u);
/* The Host that all of its servers are sent, where the client's is that; empty: they are sent different ones. */
struct str upstream_host(const struct upstream *u, struct str client);
struct upstream_state upstream_state(const struct upstream *u, unsigned i, int64_t now_ms);

#endif
