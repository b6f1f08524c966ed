/* screen.h - which requests of a log concern a cache, and under which key? The proxy's own rules of
 * keys and routes; what is left out is counted by its reason.
 *
 * Threads   one at a time.
 */
#ifndef SIMULATE_SCREEN_H
#define SIMULATE_SCREEN_H

#include "proxy/simulate/catalogue.h"
#include "proxy/simulate/entry.h"
#include "proxy/simulate/packed.h"

struct config;

/*     id        word        why it is left out */
/* clang-format off */
#define SCREENINGS(X)                                                                    \
	X(TAKEN,   "taken",    "")                                                       \
	X(METHOD,  "method",   "not a GET")                                              \
	X(STATUS,  "status",   "a status other than 200, 203, 206 or 304")               \
	X(PATTERN, "pattern",  "matches --skip, or none of --only")                      \
	X(ROUTE,   "route",    "its route passes or is never stored (configuration)")    \
	X(URL,     "url",      "no URL of http or https")                                \
	X(PURGE,   "purge",    "a purge, of which the requests behind it learn")
/* clang-format on */

enum screening {
#define X(id, word, why) SCREENING_##id,
	SCREENINGS(X)
#undef X
		SCREENING_COUNT
};
const char *screen_word(enum screening s);
const char *screen_why(enum screening s);

/* How long an object is fresh, by how its path ends: "" is any other. */
struct screen_lifetime {
	const char *ending;
	uint32_t fresh_s; /* UINT32_MAX: for ever */
};

enum { SCREEN_PATTERNS_MOST = 32, SCREEN_LIFETIMES_MOST = 32 };

struct screen_options {
	const struct config *config; /* borrowed */
	struct twice_seed seed;
	const char *skip[SCREEN_PATTERNS_MOST], *only[SCREEN_PATTERNS_MOST]; /* "*" is anything */
	unsigned skip_n, only_n;
	struct screen_lifetime lifetimes[SCREEN_LIFETIMES_MOST]; /* the first that fits */
	unsigned lifetimes_n;					 /* 0: for ever */
	struct packed_options packed;
};

struct screen;
struct screen *screen_create(const struct screen_options *o);
void screen_destroy(struct screen **s);

/* TAKEN: *v and *n are what the catalogue needs. */
enum screening
screen_entry(struct screen *s, const struct entry *e, struct visit *v, struct catalogue_news *n);

struct screen_facts {
	uint64_t counts[SCREENING_COUNT];
	uint64_t sent_sizes; /* of those taken: whose size is of what was sent */
	uint64_t no_sizes;   /* ... that have none */
	uint64_t with_query; /* whose URL has a query */
	uint64_t with_host;
	uint64_t parts, checked; /* 206, 304 */
	uint64_t placed;	 /* of the parts: the log says where they begin */
	uint64_t fractions;	 /* whose time is finer than a second */
	uint64_t with_lifetime;
	uint64_t no_status;
	uint64_t told;	       /* of whose answer the log says what the cache did with it */
	uint64_t typed, ended; /* whose type the log says; is told by the end of the path */
	uint64_t says_coding;  /* ... whether it came in a coding */
	uint64_t tag_purges;   /* by tags, which no line has */
};
void screen_facts(const struct screen *s, struct screen_facts *out);

#endif
