/* visit.h - one request as numbers: what the policies are asked with. */
#ifndef SIMULATE_VISIT_H
#define SIMULATE_VISIT_H

#include "filter/hash.h"

#include <stdbool.h>
#include <stdint.h>

enum visit_kind {
	VISIT_WHOLE,
	VISIT_PART,    /* a 206 */
	VISIT_CHECKED, /* a 304: the client's copy was good */
	VISIT_HEAD,    /* answered from the cache where it has the object, and stores nothing */
	VISIT_PASSED   /* no cache could have answered it, or kept the answer: only counted */
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
	uint16_t packed; /* thousandths of the object that packing leaves; 0: it is not packed */
	uint8_t kind;
	uint64_t
		since; /* visits from the one before for its URL to this one; 0: that could not be of use */
	bool joined;   /* it waited for another request's fetch */
	bool fetched;  /* it was the one that fetched */
	bool softened; /* purged softly since its last request: to be validated */
	bool tracked;  /* its URL is in the catalogue: all below is known */
	bool large;    /* ... because it is large, whatever its key */
	bool first;    /* the log never asked for it before */
	bool changed;  /* another version than at its last request */
	bool again;    /* the log asks for it once more; with a pass before this one */
};

/* Of a slice of its version; in the sample exactly when the head is. */
uint64_t visit_slice_key(const struct visit *v, uint64_t number);
/* Finds the bytes asked for. A 304 has none. */
void visit_range(const struct visit *v, uint64_t *from, uint64_t *until);
/* 0 to 1: the same for the same visit, whatever else is simulated beside it. */
double visit_draw(const struct visit *v, uint64_t nth);

#endif
