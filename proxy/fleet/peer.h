/* peer.h - a sibling as it is asked: signed questions by HTTP, by TLS where the fleet has certificates, and the answers
 * that it signed for them.
 *
 * Threads   one: that of the event loop.
 * Order     no answer comes from within a call.
 */
#ifndef FLEET_PEER_H
#define FLEET_PEER_H

#include "proxy/base/buf.h"
#include "proxy/fleet/chart.h"

struct event_base;
struct fetch;
struct peer;
struct peers;

struct peers_options {
	struct event_base *base;
	const struct secret *secret; /* borrowed, as the rest */
	const uint64_t *self;	     /* the id of now */
	bool tls;
	const char *ca_file, *cert_file, *key_file;
};
struct peers *peers_create(const struct peers_options *o);
/* After all peers. */
void peers_destroy(struct peers **p);
/* Now and then: connections to peers that were closed end. */
void peers_sweep(struct peers *p);

/* Takes a reference of the sibling. limit_ms: of connecting, and of each silence. */
struct peer *peer_open(struct peers *of, struct sibling *s, int64_t limit_ms, unsigned connections);
/* No question of it may be under way. */
void peer_close(struct peer **p);
struct sibling *peer_sibling(const struct peer *p);
/* Its last question failed because nobody listens there: it is no node now. */
bool peer_refuses(const struct peer *p);

/* One question at a time; zeroed before the first. */
struct peer_question {
	struct peer *of;
	struct fetch *fetch; /* NULL: none is under way */
	const char *target;  /* constant */
	int64_t until_ms;
	char mac[64]; /* of what was asked */
	struct buf body, hop, content;
	size_t sent;
	int status;
	/* content: what it answers, which holds during the call; or NULL and why it does not. */
	void (*on_answer)(void *ctx, const struct str *content, const char *why);
	void *ctx;
};
enum { PEER_CONTENT_MOST = 64 << 10 };
/* body: empty for GET, else it is a POST; copied. Of a peer that is usable: others' addresses make no sense, or their
 * files of TLS do not. */
bool peer_is_usable(const struct peer *p);
void peer_ask(struct peer *p, struct peer_question *q, const char *target, struct str body,
	      int64_t limit_ms);
/* One that took too long is answered. */
void peer_turn(struct peer_question *q, int64_t now_ms);
/* Without an answer, if one is due; frees what it has. */
void peer_question_fini(struct peer_question *q);

#endif
