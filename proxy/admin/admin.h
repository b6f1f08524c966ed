/* admin.h - the admin server: its own thread, its own listener, loopback by default.
 *
 * GET /stats, /metrics, /healthz, / (the page) and
 *
 *	GET /history?step=1|10|300[&since=UNIX_SECONDS]   what happened, in steps of so many seconds
 *	GET /explain?url=URL[&header=Name:%20value...]    what a request would do now, and why
 *	GET /top                                          the most frequent names
 *	GET /fleet[?url=URL]                              the nodes of the fleet; those that own a URL
 *	GET /fleet?stats=1                                what all of them have counted; a second at most
 *
 * POST /reload applies the configuration as its file says it now; the answer is JSON: what was applied
 * ("applied"), what needs a restart ("restart"), or, with status 422, why nothing was ("errors").
 *
 * POST /upgrade lets a new process of the program take this one's place, and GET /upgrade says what
 * became of it: {"id": N, "state": "none" | "running" | "done" | "failed", "reason": "...", "pid": N,
 * "version": "..."}; the new process answers it in the end.
 *
 * POST /fleet?drain=NODE and ?undrain=NODE let a node own nothing, and its share again.
 *
 * And POST /purge?url=URL, ?prefix=, ?host=, ?tag= or ?all=1, several
 * of them, with &soft=1 if wanted (or the same as a form, or URLs line by line as the body). The
 * answer is JSON: what was purged, whether it was found, and whether it is on disk by now
 * ("durable"; if not, the status is 503). In a fleet "fleet" says which nodes have it; &wait=MS waits for them, at most
 * 10000 ms, and if one of them has not got it by then the status is 202. A proxy whose workers are busy still answers here.
 *
 * At most 64 connections; one more takes the place of the one that has asked for nothing the
 *longest time, and a minute without a whole request ends any (guests.h).
 */
#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

#include "proxy/admin/access.h"
#include "proxy/admin/report.h"
#include "proxy/cache/forget/forget_kind.h"

struct admin;

struct purge_order {
	enum forget_kind kind; /* one that is by hand */
	bool soft;	       /* what it covers is stale, not gone */
	struct str name;       /* the URL, the beginning of one, host[:port], the tag */
};
struct purge_result {
	const char *refused; /* a sentence: the order is malformed, nothing was purged; or NULL */
	const char *note;    /* a sentence for the person who asked, or NULL */
	bool found;	     /* something was stored that the order covers */
	bool durable;	     /* false: applied, but lost if the process ended now */
	uint64_t sequence;   /* what was stored before this is gone */
};

/* The other nodes of a fleet: they are told of a purge, and may be waited for. */
struct purge_others {
	int64_t wait_ms; /* that they are waited for; 0: they are not */
	bool lack;	 /* out: after such a wait not all of them have it, nor has the journal */
	char *json;	 /* out: who has it; freed by who asked. NULL: there is no fleet */
};

struct explain_order {
	struct str url;
	struct str fields; /* lines of the request, each with its end */
	struct str from;   /* the client's address; empty: not said */
};

struct admin_source { /* called on the admin thread */
	void (*report)(void *ctx, struct report *out);
	bool (*history)(void *ctx, int64_t step_s, int64_t since_s, struct buf *out);
	/* Appends JSON; NULL, or a sentence that says what is wrong with the order. */
	const char *(*explain)(void *ctx, const struct explain_order *o, struct buf *out);
	void (*top)(void *ctx, struct buf *out); /* appends JSON */
	/* GET /fleet and, with orders, POST: JSON into out and 200, or a sentence and the status. query: NULL, or what
	 * stands behind "?". */
	int (*fleet)(void *ctx, bool orders, const char *query, struct buf *out);
	/* Appends the line of /healthz. False: it says 503. */
	bool (*healthy)(void *ctx, struct buf *line);
	/* All n of them, a result for each; none, if one is refused. */
	void (*purge)(void *ctx, const struct purge_order *o, unsigned n, struct purge_result *out,
		      struct purge_others *others);
	/* JSON into out. 0: applied; -1: refused, and out says why; empty: nobody can do it. */
	int (*reload)(void *ctx, struct buf *out);
	/* JSON: the upgrade of the program (GET /upgrade); begin: one is begun, if none is under way.
	 * Empty: nobody can do it. */
	void (*upgrade)(void *ctx, bool begin, struct buf *out);
	/* As they are now, until the next call of any of these; loopback and guarded are
	 * found out here. */
	struct access_rules (*access)(void *ctx);
	void *ctx;
	const int *listening; /* a socket at addr, taken if it starts; NULL: one is made */
	const int *socket;    /* listens at a path; the server takes a copy of it; NULL: none */
};

/* addr "127.0.0.1:9180", port 0 for any; NULL: only s->socket. 0, or -1 and a sentence. */
int admin_start(struct admin **out, const char *addr, const struct admin_source *s, char *err,
		size_t err_bytes);
unsigned admin_port(const struct admin *a); /* 0: none */
/* The socket at addr, borrowed; -1: there is none. */
int admin_listening(const struct admin *a);
/* Nobody new is heard any more, and everybody else is told to go on by another connection; the
 * sockets stay open. yes false: not any more. Returns when it is so; or a second after it was asked to
 * leave: the thread may be waiting for what only a successor makes durable, and leaves then. */
void admin_leave(struct admin *a, bool yes);
/* Nobody new is heard; returns when all who have asked have their answers, or five seconds later. */
void admin_stop(struct admin **a);

#endif
