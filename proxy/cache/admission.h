/* admission.h - the rule of admission (DESIGN 2) as a pure table: facts in, named verdict out.
 * The proxy and the simulator run this same code.
 */
#ifndef CACHE_ADMISSION_H
#define CACHE_ADMISSION_H

#include "filter/pair.h"
#include "filter/short.h"

#include <stdbool.h>
#include <stdint.h>

enum admission {
#define ADMISSION(id, written, word, why) ADMISSION_##id,
#include "proxy/cache/admissions.h"
#undef ADMISSION
	ADMISSION_COUNT
};

enum admission_rule { RULE_SIGHTINGS, RULE_ALWAYS, RULE_NEVER };

struct admission_facts {
	bool storable;
	enum admission_rule rule; /* of the route */
	unsigned sightings;	  /* setting: 1 admits everything, 2 the second, N the N-th */
	unsigned seen;		  /* sightings known before this one (with the pair: 0 or 1) */
	enum twice_sight sight;	  /* where it was known */
	uint64_t body_bytes;	  /* UINT64_MAX: not known yet */
	uint64_t max_object_bytes;
	double disk_used_share, fill_until; /* 0..1 */
	bool over_budget;
};

/* Whether an answer of this status uses up a sighting: the object itself and its parts do,
 * redirects and errors do not (DESIGN 2.3), however long they may be kept. */
bool admission_counts(int status);
enum admission admission_decide(const struct admission_facts *f);
bool admission_writes(enum admission a);
const char *admission_word(enum admission a);

#endif
