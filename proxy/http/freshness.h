/* freshness.h - RFC 9111 4.2: how long is a response good for, and how old was it on arrival?
 *
 * Pure arithmetic on facts somebody else parsed; the clock is an argument.
 *
 * Units     whole seconds, durations and unix times alike.
 */
#ifndef HTTP_FRESHNESS_H
#define HTTP_FRESHNESS_H

#include "proxy/http/cache_control.h"

struct freshness_facts { /* times that are not known are absent */
	struct secs s_maxage, max_age;
	struct secs expires; /* unix time; nonsense is 0, long past (5.3) */
	struct secs date;
	struct secs last_modified;
	struct secs age;		     /* the Age field */
	int64_t request_time, response_time; /* when the request left, when the head arrived */
	bool may_guess;	 /* 4.2.2: the status (or "public") allows a heuristic */
	double fraction; /* of the time since Last-Modified that is guessed */
	int64_t guess_max;
	int64_t otherwise; /* lifetime when nothing is said and nothing may be guessed */
};

enum lifetime_rule { BY_SETTING, BY_S_MAXAGE, BY_MAX_AGE, BY_EXPIRES, BY_GUESS, BY_DEFAULT };

struct lifetime {
	int64_t s;
	enum lifetime_rule rule; /* the first of 4.2.1 that applies */
};

struct lifetime freshness_lifetime(const struct freshness_facts *f);

/* corrected_initial_age, 4.2.3. Never negative. */
int64_t freshness_initial_age(const struct freshness_facts *f);

#endif
