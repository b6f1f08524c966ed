/* visit.h - one request as numbers: what the policies are asked with. */
#ifndef SIMULATE_VISIT_H
#define SIMULATE_VISIT_H

#include "filter/hash.h"

#include <stdbool.h>
#include <stdint.h>

enum visit_kind {
	VISIT_WHOLE,
	VISIT_PART,   /* a 206 */
	VISIT_CHECKED /* a 304: the client's copy was good */
};

struct visit {
	struct twice_key_hash key;
	uint64_t bytes; /* of the whole object, as far as known */
	uint64_t sent;	/* to the client */
	uint32_t now_s, fresh_s;
	uint64_t at;	    /* of a part: where it begins, as far as can be guessed */
	uint32_t validator; /* of its version; 0: the log shows none */
	uint32_t version;
	uint32_t client;
	uint16_t key_bytes;
	uint8_t kind;
	uint64_t
		since; /* visits from the one before for its URL to this one; 0: that could not be of use */
	bool tracked; /* its URL is in the catalogue: all below is known */
	bool large;   /* ... because it is large, whatever its key */
	bool first;   /* the log never asked for it before */
	bool changed; /* another version than at its last request */
	bool again;   /* the log asks for it once more; with a pass before this one */
};

#endif
