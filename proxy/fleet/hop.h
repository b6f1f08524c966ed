/* hop.h - the field Twice-Hop, in which siblings tell each other what no other field says.
 *
 * An item of RFC 8941, the number of the form, with parameters. Those that are not known are ignored, so that a
 * newer version may say more:
 *
 *	Twice-Hop: 1;from="9f...";at=1790000000;for="192.0.2.1";scheme=https;http=2;mac="..."	a request
 *	Twice-Hop: 1;from="2c...";at=1790000000;d=disk;v=seen-current;mac="..."  its answer
 *
 * from is the sender's id, at its clock (unix time). for says which client asks, scheme and http (0: 1.0, 1: 1.1, 2) how; a
 * request with ask=?1 wants what is in the cache, and nothing else. d says where the owner had the answer, for which no origin was
 * asked (ram, disk, or sibling: the one that owned it before had it), v its verdict, t the
 * tags (a byte sequence of four bytes each), keep=?0 that no copy may be kept, seen the purges that the sender has heard of
 * (purge_seen.h), s that it answers nothing now (leaving, busy, behind). The mac is the last
 * parameter, there where no mutual TLS says who the sender is: over what stands before it and what the field is about.
 *
 * Pure; the clock is an argument.
 * Memory    struct hop has views of the field that was parsed.
 */
#ifndef FLEET_HOP_H
#define FLEET_HOP_H

#include "proxy/base/buf.h"
#include "proxy/fleet/secret.h"

enum { HOP_FIELD_MOST = 8192, HOP_CLOCKS_APART_S = 60 };

#define HOP_FIELD "Twice-Hop"

struct hop {
	uint64_t from;
	int64_t at_s;
	struct str client, scheme; /* of a request for a client; else empty */
	int http;		   /* the client's: HTTP/1.0, HTTP/1.1, HTTP/2 */
	bool ask;
	bool no_copy; /* of an answer: whoever asks must not keep it, for its tags are too many to be told */
	struct str copy, verdict, state; /* tokens; empty: not said */
	struct str tags, seen;		 /* base64, without colons; purge_seen.h has the latter */
	struct str covered, mac;	 /* empty: it is not signed */
};

/* The subject of a signed field. An answer's is bound to its request by the mac of that. */
struct hop_subject {
	uint64_t to; /* the node that is to read it; 0: not known yet */
	struct str method, target;
	struct str asked;   /* of an answer: the mac of the request; else empty */
	struct str content; /* of an answer that is signed as a whole; else empty */
};

/* Tags of four bytes each, appended as base64 and from it; of more than HOP_TAGS_MOST bytes nothing is said. */
enum { HOP_TAGS_MOST = 5760 };
void hop_add_tags(struct str tags, struct buf *out);
void hop_read_tags(struct str base64, struct buf *out);

/* -1: it is no such field, or of a form that is not known here. */
int hop_parse(struct str field, struct hop *out);
/* Appends the value of the field; s: NULL does not sign it. Texts must be tokens, tags base64. */
void hop_format(const struct hop *h, const struct secret *s, const struct hop_subject *about,
		struct buf *out);
/* Whether someone with the secret said it, of that subject, within HOP_CLOCKS_APART_S of now. */
bool hop_is_signed(const struct hop *h, const struct secret *s, const struct hop_subject *about,
		   int64_t now_s);

#endif
