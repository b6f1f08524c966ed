/* entry.h - one request as a log tells it: the facts that all formats have in common.
 *
 * Memory    views into the line, or into the reader's scratch memory: until the next entry.
 * Units     microseconds since 1970; bytes.
 */
#ifndef SIMULATE_ENTRY_H
#define SIMULATE_ENTRY_H

#include "proxy/base/str.h"

enum { ENTRY_NO_STATUS = -1 }; /* the log does not say it: taken as 200. 0: there was no answer */

/* A log can say this of a request; names are those of roles.h. */
struct entry {
	int64_t time_us; /* as it was logged; has_time */
	struct str scheme, host;
	struct str target; /* path and query, or a whole URL */
	struct str query;  /* where a log keeps it apart */
	struct str method, client;
	struct str cache;	 /* what the logging cache says it did */
	struct str range;	 /* as it was asked for, or told: "bytes=0-99", "bytes 0-99/200" */
	struct str variant;	 /* which of the URL's answers it was */
	struct str type, coding; /* of the answer: Content-Type, Content-Encoding */
	struct str purge;	 /* "url", "soft-prefix": it is no request */
	uint64_t id;		 /* of a trace without URLs; has_id */
	uint64_t bytes;		 /* has_bytes */
	uint64_t lifetime_s;	 /* has_lifetime */
	int status;
	bool has_time, has_id, has_bytes, has_lifetime;
	bool whole_size; /* bytes are the object's, not those that were sent */
};

#endif
