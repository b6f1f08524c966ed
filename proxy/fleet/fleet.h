/* fleet.h - this node among the others: one thread, outside the workers, that knows the members.
 *
 * With an engine it beats there once a second and hears who is a member; without one the members are those of a
 * list. Each member is asked for its state each second. The rings are made here and put where anybody reads them
 * without a lock.
 *
 * What is not reached changes nothing: while the engine is away the members stay as they are, over a restart too,
 * and whoever has no sibling left owns everything himself.
 *
 * Threads   as each function says.
 */
#ifndef FLEET_FLEET_H
#define FLEET_FLEET_H

#include "proxy/base/buf.h"
#include "proxy/base/network.h"
#include "proxy/fleet/chart.h"
#include "proxy/fleet/secret.h"
#include "proxy/fleet/spread.h"

struct fleet;
struct purge_names;
struct journal_state;
struct outbox;
struct resolver;
struct twice_digest;

enum { FLEET_LIST_MOST = 64, FLEET_WHY = 256 };

/* Purges of another node (purge_items.h), to be applied. */
struct fleet_news {
	uint64_t from;
	struct buf items;
	struct fleet_news *next; /* the hearer's */
};
/* Once: they are applied, and on disk or not. Any thread; the fleet may have ended. */
void fleet_news_done(struct fleet_news *n, bool durable);

struct fleet_words {
	const char *name, *zone, *version; /* zone: "": none */
};

struct fleet_options {	     /* all texts are copied */
	char *const *engine; /* places; n = 0: none */
	unsigned engine_n;
	char *const *members; /* without an engine: host:port */
	unsigned members_n;
	const char *listen; /* IP:PORT, where siblings ask; port 0: any, for tests */
	const char *ca_file, *cert_file, *key_file; /* NULL: none */
	/* Siblings that come by TLS, if there is a certificate, or from the networks: on the fleet's thread. */
	void (*arrive)(void *ctx, int fd, const struct sockaddr *peer, size_t peer_bytes, bool tls);
	void *arrive_ctx;
	char *const *networks;
	unsigned networks_n;
	const char *secret_file;
	struct fleet_words words;
	uint64_t weight;
	uint64_t id;	   /* kept over restarts; 0: there is none yet */
	uint64_t instance; /* of the process, which may have had another fleet before; not 0 */
	struct resolver *resolver; /* outlives the fleet */
	struct charts *charts;	   /* here the rings are put, once it is started; outlives it too */
	struct str kept;	   /* the members of before, as keep was given them; empty: none */
	struct purge_names *names; /* outlive the fleet, as the next two */
	struct outbox *outbox;
	struct journal_state *journal;
	/* Purges that other nodes tell. On the fleet's thread, which must not wait. NULL: they are not taken. */
	void (*hear)(void *ctx, struct fleet_news *news);
	/* Nothing may be answered from the disk (or it may again), for purges may have been missed. The same. */
	void (*hold)(void *ctx, bool holds);
	/* Appends what this node has counted, for siblings who ask: at most CONTROL_STATE_MOST bytes. The same. */
	void (*count)(void *ctx, struct buf *out);
	/* To be kept over restarts: the id, or the members. On the fleet's thread, which must not wait. */
	void (*keep_id)(void *ctx, uint64_t id);
	void (*keep_members)(void *ctx, struct str members);
	void *ctx;
};

/* Opens all that can be wrong: the secret, the listener. NULL, a sentence in err, and the
 * setting that it is about. No thread is begun. */
struct fleet *
fleet_create(const struct fleet_options *o, const char **setting, char *err, size_t err_bytes);
/* 0, or -1: there is no thread. */
int fleet_start(struct fleet *f);
/* Ends the thread. leaves: the others are told, so that they need not wait for the lease; at most a second. NULL: nothing
 * happens. Nobody may read the chart any more. */
void fleet_destroy(struct fleet **f, bool leaves);

/* With an engine it follows a journal of purges there. Constant. */
bool fleet_has_journal(const struct fleet *f);

/* A member as it is seen from here. */
struct fleet_row {
	struct member m;
	unsigned slots; /* of RING_SLOTS, that it owns in its zone */
	bool is_self, is_well;
	unsigned owes; /* purges of this node that it does not have yet */
};
struct fleet_journal_facts {
	uint64_t waiting;	    /* purges of this node that it does not have yet, in parcels */
	uint64_t appended, entries; /* to it, and read from it */
	uint64_t refused;	    /* entries that nobody signed who has the secret */
	uint64_t renewed, emptied;  /* it had lost some; this node may have missed some */
};
struct fleet_digest_facts {
	unsigned held;		       /* of nodes of other zones, */
	uint64_t bytes;		       /* so large together */
	uint64_t heard, failed, wrong; /* read whole; not; of these, because it was no digest */
	uint64_t told;		       /* bytes of this node's */
};
struct fleet_state {
	bool has_engine, engine_answers; /* within the lease */
	bool hands_over;
	unsigned members, well, slots; /* slots: of this node */
	unsigned zones;
	struct fleet_digest_facts digests;
	uint64_t beats, failed_beats, changes, refused;
	bool behind; /* a sibling has heard of a purge that is not applied here */
	struct spread_facts purges;
	uint64_t dropped, collapsed; /* outbox.h */
	bool holds; /* nothing is answered from the disk until the journal is read */
	struct fleet_journal_facts journal;
	char engine[FLEET_WHY],
		why[FLEET_WHY]; /* why: it does not answer, or what it refuses; or "" */
};
/* Any thread but the fleet's; a lock for a moment. rows: NULL, or room for most; how many there are. */
unsigned
fleet_tell(struct fleet *f, struct fleet_state *out, struct fleet_row *rows, unsigned most);

/* Whether nodes of other zones want to know what is on the disk of this one. */
bool fleet_has_zones(struct fleet *f);
/* They are told d, which is borrowed for the call, with another number than any before of this process; NULL: nothing. Any
 * thread but the fleet's and workers'. */
void fleet_put_digest(struct fleet *f, const struct twice_digest *d, uint64_t number);

/* An order about the member of that name or id, kept in the engine until it is taken back. 0; or -1 and a
 * sentence. Waits for the engine, FLEET_ORDER_MS at most. Any thread but the fleet's and workers'. */
enum { FLEET_ORDER_MS = 3000 };
int fleet_drain(struct fleet *f, struct str node, bool drains, char *err, size_t err_bytes);

/* The nodes that have the purges of this node up to a number, and those that have not. */
struct fleet_purged {
	bool has_journal, journaled;
	unsigned n; /* siblings */
	struct spread_row of[RING_NODES];
};
/* Waits until each sibling has them or cannot be reached because nobody listens there, and the journal has them, but
 * limit_ms at most: true, it is so. Any thread but the fleet's and workers'. */
bool fleet_purge_wait(struct fleet *f, uint64_t number, int64_t limit_ms, struct fleet_purged *out);

/* Asks each sibling what it has counted, or shares what others have just asked (survey.h). NULL: this node leaves its fleet, or is
 * too busy. A reference. Waits for a second at most. Any thread but the fleet's and workers'. */
struct survey_result;
struct survey_result *fleet_survey(struct fleet *f);

/* For a request to another node: appends the purges that this one has heard of (purge_seen.h); and whether it lacks some of
 * such a list. Any thread, without a lock. */
void fleet_seen(const struct fleet *f, struct buf *out);
bool fleet_is_behind(const struct fleet *f, struct str seen);

unsigned fleet_port(const struct fleet *f); /* where siblings ask */
const struct secret *fleet_secret(const struct fleet *f);

#endif
