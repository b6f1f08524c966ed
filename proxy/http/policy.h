/* policy.h - RFC 9111 for a shared cache: may this answer be stored, on which terms may it be
 * used again, and what must happen for this request now?
 *
 * Facts in, verdict out; the clock and the settings are arguments. RFC 5861 (stale-*), RFC 9213
 * (targeted fields), RFC 8246 (immutable) are folded in.
 *
 * Units     whole seconds, unix times and durations alike.
 */
#ifndef HTTP_POLICY_H
#define HTTP_POLICY_H

#include "proxy/http/cache_control.h"
#include "proxy/http/coding.h"
#include "proxy/http/message.h"

/* Reload directives of a request (no-cache, max-age, min-fresh, Pragma) do this to what others get:
 * RFC 9111 5.2.1 calls them advice. */
enum client_directives {
	CLIENT_IGNORE,	 /* nothing */
	CLIENT_VALIDATE, /* they make a fresh response be validated, together with who asks the
			  * same, and at most once a second (the caller's to see to) */
	CLIENT_OBEY	 /* all that they say */
};
/* Answers with Set-Cookie. */
enum set_cookie {
	SET_COOKIE_NEVER, /* are not stored */
	SET_COOKIE_STRIP, /* are stored without it; who asked is sent it */
	SET_COOKIE_SHARE  /* are stored with it, where the origin says how long */
};

/* Of the origin's fields and directives those that do not count. */
enum {
	IGNORE_CACHE_CONTROL = 1,
	IGNORE_EXPIRES = 2,
	IGNORE_SET_COOKIE = 4,
	IGNORE_VARY = 8,
	IGNORE_PRIVATE = 16,
	IGNORE_NO_STORE = 32
};
struct policy_ttl {
	int status;
	int64_t s;
};

struct policy_type_ttl {
	struct str type; /* "text/css"; with "*" behind the slash: all such */
	int64_t s;
};

struct policy_settings {
	struct str target; /* own targeted field name before CDN-Cache-Control; empty: none */
	/* Serving stale on a dead origin where nothing forbids it. */
	int64_t default_stale_if_error_s;
	int64_t default_stale_while_revalidate_s; /* 0: only where the origin says so */
	/* For answers that may be guessed fresh and state no lifetime, instead of a guess, or with guess_first
	 * where there is no Last-Modified; 0: none. */
	int64_t default_ttl_s;
	bool guess_first;
	double heuristic_fraction; /* of the time since Last-Modified: 0.1 */
	int64_t heuristic_max_s;   /* bound of a guess */
	enum client_directives client;
	enum set_cookie set_cookie;
	bool client_errors; /* errors that a client's own fields can cause may be stored */
	/* Lifetimes instead of those that answers state: of all below 400 that may be guessed fresh, of those by
	 * what they are, and by status. Requests with Authorization or a cookie that the key does not hold must not meet them:
	 * the caller lets those pass (key_rules.owners_pass). */
	struct secs ttl;
	const struct policy_ttl *ttl_status;
	unsigned ttl_status_count;
	const struct policy_type_ttl *ttl_type;
	unsigned ttl_type_count;
	unsigned ignore; /* IGNORE_* */
};
/* A lifetime is guessed from Last-Modified. */
static inline bool
policy_guesses(const struct policy_settings *s)
{
	return s->guess_first || s->default_ttl_s <= 0;
}

/* The lifetime that these settings give the answer, unless it is a stream of events: by its status, by its type as a
 * whole, by the first half of it, by none of these. */
struct secs policy_ttl(const struct policy_settings *s, const struct response *answer);

/* On which terms a stored response may be used; kept with the object, also on disk (fixed size,
 * no pointers; see segment.h for the byte order). */
struct terms {
	int64_t response_time;		/* when its head arrived (or was last revalidated) */
	int64_t initial_age;		/* corrected_initial_age, RFC 9111 4.2.3 */
	int64_t lifetime;		/* freshness_lifetime, 4.2.1 */
	int64_t date;			/* Date, else response_time */
	int64_t last_modified;		/* unix time, or -1 */
	int32_t stale_while_revalidate; /* seconds, or 0 */
	int32_t stale_if_error;		/* seconds, or 0; default already applied */
	uint32_t flags;			/* TERMS_* */
	uint16_t status;
	uint16_t
		server; /* of a group, a number that stands for the one that sent it; 0: not known */
	/* The ETag value is here in the stored head; 0 bytes: none. */
	uint32_t etag_at, etag_bytes;
};
enum {
	TERMS_NO_CACHE = 1 << 0,	/* never reuse without successful validation */
	TERMS_MUST_REVALIDATE = 1 << 1, /* never serve stale (must-/proxy-revalidate, s-maxage) */
	TERMS_HEURISTIC = 1 << 2,	/* the lifetime is a guess */
	TERMS_IMMUTABLE = 1 << 3,
	TERMS_VARY = 1 << 4, /* a Vary field applies: selected through a variant marker */
	/* 1 << 5 is not free: records on disk that were written before 0.3.0 may have it, of a 206. */
	TERMS_STRIPPED = 1 << 6,  /* kept without its Set-Cookie */
	TERMS_CONFIRMED = 1 << 7, /* a 304 has said once that the copy of this key was still good */
	/* The origin has answered otherwise since: it may be validated, and stands in for nothing. */
	TERMS_CONTRADICTED = 1 << 8,
	/* It is for clients of any Accept-Encoding: who does not take the coding of its bytes is sent them
	 * expanded (form.h). Only then the next ones say something, but for SAYS_VARY. */
	TERMS_ONE_FORM = 1 << 9,
	TERMS_PACKED = 1 << 10, /* that coding was made here, of plain bytes */
	/* Plain bytes of a kind that origins code, asked for by a client who takes no coding. */
	TERMS_LEFT_PLAIN = 1 << 11,
	TERMS_MAY_PACK =
		1 << 18, /* plain bytes that may be packed when they are admitted to the disk */
	TERMS_SAYS_VARY = 1 << 19, /* Vary: Accept-Encoding is added: its head does not say it */
	TERMS_ASKED_FREELY =
		1 << 20, /* the origin was asked for what its client wanted, which is no class */
	/* Where enum coding of the bytes, and the class that the origin was asked for, lie: three bits each. */
	TERMS_CODING_AT = 12,
	TERMS_ASKED_AT = 15,
	TERMS_FORM = TERMS_ASKED_FREELY | TERMS_ONE_FORM | TERMS_PACKED | TERMS_LEFT_PLAIN |
		     TERMS_MAY_PACK | TERMS_SAYS_VARY | 7 << TERMS_CODING_AT |
		     7 << TERMS_ASKED_AT, /* all of these */
};
static inline enum coding
terms_coding(const struct terms *t)
{
	return (enum coding)(t->flags >> TERMS_CODING_AT & 7);
}
static inline unsigned
terms_asked(const struct terms *t) /* as coding_class says it */
{
	return t->flags & TERMS_ASKED_FREELY ? CODING_UNCLASSED
					     : (t->flags >> TERMS_ASKED_AT & 7) << 1;
}

/* Why an answer may or may not be kept; one row each in storables.h. */
enum storable {
#define STORABLE(id, yes, word, section) STORABLE_##id,
#include "proxy/http/storables.h"
#undef STORABLE
	STORABLE_COUNT
};
bool storable_is_yes(enum storable s);

struct storing_facts {
	const struct request *request;
	const struct response *response;
	int64_t request_time;  /* when the origin request left */
	int64_t response_time; /* when the head arrived */
	const struct policy_settings *settings;
	/* The response is a stored one as a 304 or HEAD updated it: whatever the cookies of this
	 * request, it is not made for them. */
	bool updated;
	/* The origin was sent a field whose name speaks of a credential (credential.h), and no key tells apart
	 * those who send it: no lifetime is guessed. */
	bool credential;
};

/* RFC 9111 3. On yes *terms is filled (etag_at: see head_store). */
enum storable policy_storable(const struct storing_facts *f, struct terms *terms);

/* The request alone decides what it may do with the cache at all. */
enum lookup {
	LOOKUP_NO, /* pass: the method is not GET or HEAD, or a field that we do not serve */
	LOOKUP_YES
};
enum lookup policy_lookup(const struct request *r);
/* It asks for a range in a unit that is not ours. What the answer is a part of the origin knows, and it
 * may be a 200: of a request whose answer may be shared the field is left out (RFC 9110 14.2). */
bool policy_range_is_foreign(const struct request *r);

/* The answer may depend on Authorization or Cookie without saying so. */
bool policy_has_credentials(const struct request *r);
/* The answer sets a cookie: what else it says may be for that client alone, too, and of a 200 like that
 * nothing would be kept. */
bool policy_sets_session(const struct fields *answer, const struct policy_settings *s);

/* Server-sent events: the answer may be silent for long, and its end says nothing. Only a lifetime that the
 * origin states makes it one that is kept. */
bool policy_is_event_stream(const struct fields *answer);

/* A part, or whether a copy that the client has is still good: not the whole. */
bool policy_asks_for_less(const struct request *r);

enum reuse {
	REUSE_FRESH,	     /* answer with it */
	REUSE_STALE,	     /* answer with it, stale as the request (max-stale) allows */
	REUSE_STALE_REFRESH, /* answer with it now and revalidate in the background (RFC 5861 3) */
	REUSE_VALIDATE,	     /* ask the origin first; validators or not */
	REUSE_NEVER	     /* as if not stored (request no-store...) */
};

struct reuse_verdict {
	enum reuse reuse;
	int64_t age;	     /* current_age, 4.2.3; never negative */
	int64_t ttl;	     /* lifetime - age; negative when stale */
	const char *fwd;     /* Cache-Status fwd= word when not reused: "stale", "request", ... */
	bool stale_on_error; /* should validation fail (connection, timeout, 500 502 503 504), the
			      * object may still answer (RFC 5861 4, RFC 9111 4.2.4) */
};
/* Leaves of a request's directives what the setting lets count. */
void policy_advise(enum client_directives d, struct request_cc *cc);

/* The client asked for what is new (no-cache, max-age=0), and nobody said how long this is good: it is
 * validated, but for what was within this second. Whatever client_directives says: two files that are made
 * together, as an index and the list of its sums, must not come from different guesses. */
bool policy_is_guess_refused(const struct terms *t, const struct request_cc *cc, int64_t now);

struct reuse_verdict policy_reuse(const struct terms *t, const struct request *r,
				  const struct request_cc *cc, int64_t now);

/* RFC 5861 4: what an origin in trouble says; an object that is stale_on_error may stand in for it,
 * and none is forgotten because of it (RFC 9111 4.3.3). */
bool policy_is_trouble(int status);

/* At least its lifetime, where the clock was set back since by so much that nobody knows. */
int64_t terms_age(const struct terms *t, int64_t now);
/* The same terms for who waited for the response: 4.2.3 counts the whole time of the exchange
 * (delay_s) as age, for what comes later. What the origin says itself of its age remains. */
struct terms terms_for_waiting(const struct terms *t, int64_t delay_s);
/* From then on it is stale. */
void terms_outdate(struct terms *t, int64_t when);
/* The same, and it is no answer any more where the origin fails or takes long, until a validation says
 * that it is still good. */
void terms_contradict(struct terms *t, int64_t when);

/* Whether the answer says of the page that it is another one now, or none: not where it speaks of the
 * request alone, nor where the origin is in trouble. */
bool policy_is_word_on_page(int status);

/* RFC 9111 4.4: a non-error answer to an unsafe method makes what is stored for its target unfit
 * for use; where a setting says so, also for Location and Content-Location of the same origin
 * (cachekey_resolve). */
bool policy_invalidates(enum method m, int status);

/* RFC 9111 4.3.4: whether a 304 speaks of the stored response. If not, it must not update it: ask
 * again without conditions. */
bool policy_304_is_of(const struct fields *stored, const struct fields *not_modified, int64_t now);

/* RFC 9111 4.3.5: what a 200 to HEAD says of a stored response to GET. */
enum head_says {
	HEAD_SAYS_SAME,	  /* update the stored head (head_update), also its freshness */
	HEAD_SAYS_CHANGED /* the stored response is not to be used without validation */
};
enum head_says
policy_head(const struct fields *stored, uint64_t stored_body_bytes, const struct fields *head);

#endif
