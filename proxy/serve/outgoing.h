/* outgoing.h - the one head that goes to the origin for a client's request, and the key that is
 * made from it: what is keyed is what is sent, byte for byte.
 *
 * Two requests with one key (primary and variant) are sent to the origin alike, but for this list.
 * It is what a stored answer must not depend on; tests/unit/test_outgoing.c holds the code to it.
 *
 *	fields that the answer does not name in Vary    RFC 9110 12.5.5: an answer that depends on a
 *	                                        field says so. Then the field is in the variant's
 *key, also those that are set here: Via, Forwarded, X-Forwarded-For. who asks, by a trusted
 *forwarder's word         X-Real-IP and its like differ from client to client. Other fields of a
 *trusted forwarder that override something are in the key. If-None-Match, If-Modified-Since, Range,
 *The cache's own questions about what it holds. If-Range                                        The
 *answers to them are read as such. GET and HEAD                                    share a key;
 *what HEAD brings is checked against what is stored.
 *
 * A request with a body, a doubtful cookie, or any other reason to pass shares nothing.
 *
 * What the cache asks for (shared) goes out in normal form: lines of one field joined, the Accept
 * family as in negotiate.h, the target as the key has it. What passes goes as it came. Of both,
 * fields that belong to the client's connection are left out, and (settings) names with an
 * underscore; of GET and HEAD, fields that override the URL, the host or the method.
 *
 * Memory    an outgoing borrows the request, settings and rules. Only what is appended is kept.
 * Cost      linear in the head: each list is read once, and a Connection of more than
 *           FIELDS_OPTIONS_MOST options is a fault.
 * Threads   pure.
 */
#ifndef SERVE_OUTGOING_H
#define SERVE_OUTGOING_H

#include "proxy/http/cachekey.h"
#include "proxy/http/fault.h"

struct outgoing_settings { /* outgoing_settings_init fills the last member */
	struct str via; /* our name in Via; no other node has it: who meets his own is in a loop */
	bool keep_underscores;
	const struct str *drop; /* lower-case names; "x-forwarded-*" ends in a wildcard */
	unsigned drop_count;
	uint64_t name_seed; /* secret: clients choose the names that are hashed with it */
	uint32_t initials;  /* a bit for each letter that such a name begins with */
};
void outgoing_settings_init(struct outgoing_settings *s);

/* Fields by which frameworks let a request speak of another URL, host, scheme, method or client:
 * what is dropped by default. */
extern const struct str outgoing_overrides[];
extern const unsigned outgoing_overrides_count;

struct outgoing {
	const struct request *rq;
	const struct outgoing_settings *set;
	const struct key_rules *rules;
	struct str client_ip; /* "192.0.2.1"; needed for the head, and where a variant names it */
	struct str scheme;    /* the listener's, or what a trusted forwarder says */
	bool trusted;	      /* the peer is a forwarder whose word counts */
	bool shared;	      /* the answer may be for others too */
	struct fields_listed listed; /* fields of rq that end at this hop */
};

/* NULL, or why the request is refused: it runs in a loop, or Connection is too long. shared: the
 * method and the route allow it; outgoing_key may still say no. */
const struct fault *
outgoing_init(struct outgoing *o, const struct request *rq, const struct outgoing_settings *set,
	      const struct key_rules *rules, bool trusted, bool shared);

/* Appends the primary key. False: the request must pass (a cookie that says so, or one in the key
 * that not everybody reads alike); the key is there all the same, and names what an unsafe method
 * changes. */
bool outgoing_key(const struct outgoing *o, struct buf *key);

/* Host and target as they go out. Views into the primary key, or the request. */
struct str outgoing_authority(struct str primary);
struct str outgoing_target(const struct outgoing *o, struct str primary);

/* Whether variants of these names depend on client_ip. */
bool outgoing_names_client(struct str names);
/* Appends what distinguishes this request among the variants of names (as vary_names made them):
 * per name "\n" name, and ":" value if it is sent. */
void
outgoing_variant(const struct outgoing *o, struct str primary, struct str names, struct buf *out);

struct outgoing_asks {	 /* the cache's questions, added when not empty */
	bool as_it_came; /* with the client's conditions and range; else without */
	struct str if_none_match, if_modified_since, range, if_range;
};
/* Appends the field lines ("Name: value\r\n" each; not Host, Content-Length, Expect or framing,
 * which the fetch writes). */
void outgoing_fields(const struct outgoing *o, struct str primary, const struct outgoing_asks *asks,
		     struct buf *out);

#endif
