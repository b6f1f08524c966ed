/* beat.h - the script that each node runs on the engine once a second, and what it answers.
 *
 * It does in one step, by the engine's clock alone, what all nodes must agree on: who is a member, and which ring was
 * settled before the present changes (settled.h has the rule). The keys, all of one hash tag:
 *
 *	{twice:fleet}:secret   the fingerprint of the fleet's secret
 *	{twice:fleet}:seen     sorted set: id, when it was seen last (ms)
 *	{twice:fleet}:nodes    hash: id, its record (member.h)
 *	{twice:fleet}:brief    hash: id, "INSTANCE ADDRESS WEIGHT", for the script alone
 *	{twice:fleet}:drains   hash: id, the signature of the order that it drains
 *	{twice:fleet}:state    hash: epoch, era, beat, ring, settled, begun, changed
 *
 * A member is removed when it was not seen for BEAT_LEASE_MS, but not where more than BEAT_STILL_MS lie between two
 * beats of anybody: then the engine stood still, and all have a new lease. An id that another instance uses at another
 * address within its lease is taken.
 *
 * Pure but for the sum of the script, which is made once.
 */
#ifndef FLEET_BEAT_H
#define FLEET_BEAT_H

#include "proxy/fleet/member.h"

struct redisReply;

enum {
	BEAT_EVERY_MS = 1000,
	BEAT_LEASE_MS = 5000,
	BEAT_STILL_MS = 2000,
	BEAT_WORDS = 24,
	BEAT_KNOWN = 64
};

#define BEAT_TAG "{twice:fleet}:"

enum beat_order { BEAT, BEAT_LEAVE, BEAT_DRAIN, BEAT_UNDRAIN };

/* Words of a command, and the texts that they point to. */
struct beat {
	struct str words[BEAT_WORDS];
	unsigned words_n;
	struct buf record; /* owned */
	char id[17], instance[17], weight[24], mac[SECRET_MAC_TEXT];
};

/* The command for me, which knows what the engine said as `known` ("": nothing yet). BEAT_DRAIN and BEAT_UNDRAIN
 * are about the node of that id in me. whole: with the text of the script, for an engine that has not got it. */
void beat_make(struct beat *b, enum beat_order order, const struct member *me, const char *known,
	       const struct secret *s, bool whole);
void beat_fini(struct beat *b);

enum beat_answer {
	BEAT_SAME,	   /* nothing has changed */
	BEAT_MEMBERS,	   /* roster_take reads them */
	BEAT_TAKEN,	   /* another instance uses the id; text: its address */
	BEAT_OTHER_SECRET, /* text: the fingerprint of the secret that is used there */
	BEAT_NO_SCRIPT,	   /* ask again, whole */
	BEAT_BROKEN	   /* text: the error; empty: it is no answer of this script */
};
/* text: a view of the reply. */
enum beat_answer beat_read(const struct redisReply *r, struct str *text);

#endif
