/* outgoing.h - the one head that goes to the origin for a client's request, and the key that is
 * made from it: what is keyed is what is sent, byte for byte.
 *
 * Two requests with one key (primary and variant) are sent to the origin alike, but for this list.
 * It is what a stored answer must not depend on; tests/unit/test_keyed.c holds the code to it.
 *
 *   Fields that the answer does not name in Vary.
 *           RFC 9110 12.5.5: an answer that depends on a field says so. Then the field is in the
 *           variant's key, also those that are set here: Via, Forwarded, X-Forwarded-For. Those by
 *           which one request stands for another (outgoing_overrides) are not sent at all.
 *           A rule of request_headers with $client_address sets such a field too.
 *   Who asks, by a trusted forwarder's word.
 *           X-Real-IP and its like differ from client to client. Other fields of a trusted
 *           forwarder that override something are in the key.
 *   Accept-Encoding, as far as a class tells no difference (outgoing_has_classes).
 *           The class goes out, and in one form an answer serves all of them (http/form.h).
 *   The order of fields of different names, and the case of names (RFC 9110 5.1, 5.3).
 *   Whether it is GET or HEAD.
 *           They share a key; what HEAD brings is checked against what is stored.
 *   What the request is called.
 *           X-Request-ID is written for each fetch, in no key, and taken out of what is answered. An
 *           answer that names it in Vary is not shared (outgoing_varies_on).
 *   The cache's own questions, and the client's conditions where they are passed on.
 *           The answers to them are read as such. An answer that names one of them in Vary is not
 *           shared (outgoing_varies_on).
 *
 * What is added, changed or left out, by the kind of fetch:
 *
 *                   If-*, Range         Cache-Control, Pragma    lines, Accept-*    overrides
 *   for the cache   left out            left out (1)             joined, normal     left out (2)
 *   validation      the stored one's    left out (1)             joined, normal     left out (2)
 *   rest of a body  Range, If-Range     left out (1)             joined, normal     left out (2)
 *   as it came (3)  the client's        left out (1)             joined, normal     left out (2)
 *   no-store (4)    the client's        the client's             joined, normal     left out (2)
 *   passed          the client's        the client's             as they came       left out (2)
 *   signed          as passed, unless that and the form for the cache are the same bytes
 *
 *   (1) the client's with cache.client_directives: obey, or as a key header
 *   (2) of GET and HEAD, but for key headers, and those of trusted forwarders
 *   (3) less than the whole was asked for, for the first time; HEAD
 *   (4) in a GET: nothing is kept, and nobody joins
 *
 * Always: Host, X-Forwarded-*, Forwarded, X-Request-ID and Via are written anew; what belongs to the connection,
 * and (by a setting) names of other than letters, digits and dashes, are left out.
 *
 * Rules of request_headers come last: what they hide does not go out, what they set does, and keys
 * and variants hold it as it goes out. All requests of one key have the same rules (route.h), and
 * variables but $client_address are what the key says.
 *
 * A route may ask for another path (rewrite.h): what the key says is what it is made from, and as a route's are
 * the rules for all requests of one key.
 *
 * A request with a body, a doubtful cookie, or any other reason to pass shares nothing.
 *
 * Normal forms are for what is shared: what passes has the client's own Host, target (spelling and order
 * of the query) and lines. One rule says which of both a request is that could be either, as it has
 * Authorization or a signature (credential_signs), which may cover any byte: outgoing_goes_as_it_came. It is
 * answered from the cache like others. On its way to the origin it goes for all who ask if the normal form
 * would send the same bytes, and passes otherwise: it is not stored, and nobody waits for it. Cache-Control and
 * Pragma do not count; they are for caches, and no signature covers what any hop may change.
 *
 * Memory    an outgoing borrows the request, settings and rules. Only what is appended is kept.
 * Cost      linear in the head: each list is read once, and a Connection of more than
 *           FIELDS_OPTIONS_MOST options is a fault.
 * Threads   pure.
 */
#ifndef SERVE_OUTGOING_H
#define SERVE_OUTGOING_H

#include "proxy/http/cachekey.h"
#include "proxy/http/coding.h"
#include "proxy/base/network.h"
#include "proxy/http/fault.h"
#include "proxy/serve/outgoing/header_rules.h"
#include "proxy/serve/outgoing/rewrite.h"

enum { OUTGOING_INITIALS = 27 }; /* the letters, and all else */

struct outgoing_settings { /* outgoing_settings_init fills the last member */
	struct str via; /* our name in Via; no other node has it: who meets his own is in a loop */
	bool keep_underscores;
	bool keep_wishes; /* Cache-Control and Pragma of clients go out, also for what is shared */
	const struct str *drop; /* lower-case names; "x-forwarded-*" ends in a wildcard. Where they
				 * are sorted, they are found sooner. */
	unsigned drop_count;
	const struct str
		*harmless; /* such names: those that tell no client from another; none: all but
				     * those that speak of a credential */
	unsigned harmless_count;
	const struct str *ignored; /* names of cookies that are no reason for anything; "_ga_*" */
	unsigned ignored_count;
	uint64_t name_seed; /* secret: clients choose the names that are hashed with it */
	/* Between which places of drop those of an initial are. */
	struct {
		unsigned from, to;
	} drop_of[OUTGOING_INITIALS];
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
	const struct header_rules *headers; /* what the route changes; NULL: nothing */
	const struct coding_list *codings;  /* the route's, for classes of Accept-Encoding; NULL: none */
	struct str client_ip;  /* "192.0.2.1"; needed for the head, and where a variant names it */
	struct str asker;      /* the client that forwarders name; else the same */
	struct str request_id; /* what the origin is told that the request is called; or empty */
	struct str scheme;     /* the listener's, or what a trusted forwarder says */
	struct str
		path; /* that the route makes of the client's, perhaps with a query; empty: that one */
	bool trusted;		     /* the peer is a forwarder whose word counts */
	bool shared;		     /* the answer may be for others too */
	struct fields_listed listed; /* fields of rq that end at this hop */
};

/* NULL, or why the request is refused: it runs in a loop, or Connection is too long. shared: the
 * method and the route allow it; outgoing_key may still say no. */
const struct fault *
outgoing_init(struct outgoing *o, const struct request *rq, const struct outgoing_settings *set,
	      const struct key_rules *rules, bool trusted, bool shared);
/* Sets who asks: the peer's address must stay where it is; trusted: n networks of forwarders. */
void
outgoing_is_from(struct outgoing *o, struct str peer, const struct network *trusted, unsigned n);

/* Appends the primary key. False: the request must pass (a cookie that says so, or one in the key
 * that not everybody reads alike); the key is there all the same, and names what an unsafe method
 * changes. */
bool outgoing_key(const struct outgoing *o, struct buf *key);

/* The host of a key, a view into it. */
struct str outgoing_authority(struct str primary);
/* Host and target as they go out. Views into the primary key, or the request; of a path that the route makes, a
 * view of what was appended to out. */
struct str outgoing_host(const struct outgoing *o, struct str primary);
struct str outgoing_target(const struct outgoing *o, struct str primary, struct buf *out);
/* By the route's rules, if it has any; what is made is appended to out, and must stay where it is. Not NULL: the request
 * is refused. */
const struct fault *
outgoing_rewrite(struct outgoing *o, const struct rewrite *rules, struct buf *out);

/* Whether the origin must get it as it came: the request is signed, and its normal form is another one. For
 * one that is shared. */
bool outgoing_goes_as_it_came(const struct outgoing *o, struct str primary);
/* Leaves cookies that the settings ignore out of a request that is shared, before anything is decided by it:
 * the origin does not see them either. memory: as many bytes as the Cookie line has, which outlive it. */
void outgoing_ignore_cookies(const struct outgoing_settings *set, struct request *rq, char *memory);
/* A Range of a unit that nobody knows is passed over (RFC 9110 14.2). False: it was left, since the request
 * may be signed, and passes with it. */
bool outgoing_drop_foreign_range(struct request *rq);

/* Whether variants of these names depend on who asks (outgoing_is_from). */
bool outgoing_names_client(const struct outgoing *o, struct str names);
/* Appends what distinguishes this request among the variants of names (as vary_names made them):
 * per name that is sent "\n" name ":" value. What is not sent leaves no mark, so that one more name
 * hides no variant of requests without that field. */
void
outgoing_variant(const struct outgoing *o, struct str primary, struct str names, struct buf *out);

/* Accept-Encoding of what is shared goes out as one class (coding_class), if the route has codings and no rule
 * of its own for that field. Signed requests say what they said, in normal form: the field may be signed. */
bool outgoing_has_classes(const struct outgoing *o);
/* The class that the origin is asked for: none by no such field, as from clients that have none. CODING_UNCLASSED: what
 * the client wants goes out. */
unsigned outgoing_class(const struct outgoing *o);
/* The codings that the client takes (coding_accepted). */
unsigned outgoing_accepted(const struct outgoing *o);

struct outgoing_asks {	 /* the cache's questions, added when not empty */
	bool as_it_came; /* with the client's conditions and range; else without */
	bool wishes;	 /* with its Cache-Control and Pragma: nobody else gets the answer */
	bool no_wishes;	 /* without them, whoever gets it */
	struct str if_none_match, if_modified_since, range, if_range;
	const unsigned *class; /* what is stored was asked for so: instead of the client's own; or NULL */
};
/* Appends the field lines ("Name: value\r\n" each; not Host, Content-Length, Expect or framing,
 * which the fetch writes). */
void outgoing_fields(const struct outgoing *o, struct str primary, const struct outgoing_asks *asks,
		     struct buf *out);

/* Appends the client's lines as they came, for a node of the fleet to which this request is its client's: but for those
 * that end at this hop, and conditions and ranges that are not asked (asks); and what the request is called. */
void
outgoing_raw(const struct outgoing *o, const struct outgoing_asks *asks, struct buf *out);

/* Whether a field goes out that may tell the client from others (outgoing_settings.harmless) and that neither
 * the key nor a variant by the answer's Vary holds. */
bool outgoing_shows_credential(const struct outgoing *o, const struct fields *answer);

/* Whether a field of the client's own goes out, which neither the key nor a variant by these names holds:
 * it may be why the answer is what it is. Not what a trusted forwarder says of who asks. */
bool outgoing_shows_own(const struct outgoing *o, struct str names);

/* A bit (of its field_id) for each field that goes out and is not what the key and a variant say of
 * it: conditions, ranges and wishes. */
uint64_t outgoing_asked(const struct outgoing *o, const struct outgoing_asks *asks);
/* Whether the names (as vary_names made them) hold one of those: the answer depends on what no key
 * tells apart, and must not be shared. */
bool outgoing_varies_on(struct str names, uint64_t asked);
/* Whether they hold one that the cache would ask with. */
bool outgoing_varies_on_conditions(struct str names);

#endif
