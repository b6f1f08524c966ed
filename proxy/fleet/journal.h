/* journal.h - the journal of purges on the engine: a stream that each node appends its purges to, and follows.
 *
 *	{twice:fleet}:journal   its identity, random; another one says that entries may have been lost
 *	{twice:fleet}:purges    the stream, of JOURNAL_MOST entries or a few more; of each entry
 *	                        p the id of the entry before, n the node, i the items (purge_items.h), m their signature
 *
 * A node's position is the id of the last entry that is on disk here. What it finds behind it says how they stand:
 *
 *	FOLLOWS  the entry before the first one is that of the position, or there are none
 *	OTHER    the identity is not the one that is known
 *	TRIMMED  the entry before the first one is newer than the position: those between are gone
 *	OLDER    it is older, or so is the last one of all: the engine came back with less than it had
 *
 * Pure but for the sum of the script, which is made once.
 */
#ifndef FLEET_JOURNAL_H
#define FLEET_JOURNAL_H

#include "proxy/base/buf.h"
#include "proxy/fleet/secret.h"

#include <stdint.h>

struct redisReply;

enum {
	JOURNAL_MOST = 1000000,
	JOURNAL_AT_ONCE = 64, /* entries of a reply, of PARCEL_BYTES_MOST each */
	JOURNAL_ID = 32,      /* hexadecimal digits of an identity */
	JOURNAL_WORDS = 16
};

struct journal_place { /* an id of a stream; zeroed: before all */
	uint64_t ms, n;
};

/* ---- commands ---- */

enum journal_order { JOURNAL_APPEND, JOURNAL_READ, JOURNAL_RENEW };
struct journal_command {
	struct str words[JOURNAL_WORDS];
	unsigned words_n;
	char at[48], node[20], mac[SECRET_MAC_TEXT], fresh[JOURNAL_ID + 1];
};
struct journal_ask {
	enum journal_order order;
	const char *known;	   /* the identity; "": none yet */
	struct journal_place from; /* of JOURNAL_READ */
	uint64_t
		node; /* of JOURNAL_APPEND, with the items, which must live as long as the command */
	struct str items;
	bool whole; /* with the text of the script */
};
void journal_make(struct journal_command *c, const struct journal_ask *a, const struct secret *s);

/* ---- answers ---- */

struct journal_entry { /* views of the reply */
	struct journal_place at, before;
	bool has_before; /* a node's always has */
	uint64_t node;	 /* 0: nobody who has the secret wrote it */
	struct str
		items; /* of a node; empty: a newer version wrote them, and everything is meant */
};
struct journal_answer {
	enum {
		JOURNAL_IS,
		JOURNAL_OTHER_SECRET,
		JOURNAL_NO_SCRIPT, /* ask again, whole */
		JOURNAL_BROKEN	   /* text: the error; empty: it is no answer of this script */
	} word;
	struct str text;
	char id[JOURNAL_ID + 1];
	struct str members;	   /* the engine's word for who is a member now (roster.known) */
	struct journal_place last; /* of all; of an append: the new one */
	unsigned n;
	struct journal_entry of[JOURNAL_AT_ONCE];
};
void journal_read(const struct redisReply *r, const struct secret *s, struct journal_answer *out);

enum journal_word { JOURNAL_FOLLOWS, JOURNAL_OTHER, JOURNAL_TRIMMED, JOURNAL_OLDER };
enum journal_word
journal_judge(const char *known, struct journal_place position, const struct journal_answer *a);

/* Whether an entry that this node has appended, and not read yet, is gone: what is behind the position does not have it, and
 * so the engine came back with less than it had. own: its id; zeroed: there is none. */
bool journal_lacks(struct journal_place own, const struct journal_answer *a);

/* Whether the text that the engine answers to INFO says that it writes nothing down (appendonly no). */
bool journal_is_forgetful(struct str info);

bool journal_is_before(struct journal_place a, struct journal_place b);
bool journal_place_parse(struct str text, struct journal_place *out);
char *journal_place_print(struct journal_place p, char out[48]);

#endif
