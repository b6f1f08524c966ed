/* admission.h - the verdicts: why an answer was or was not written to disk. The rule
 * that finds them is in sighting.h.
 */
#ifndef CACHE_ADMISSION_H
#define CACHE_ADMISSION_H

#include <stdbool.h>

enum admission {
#define ADMISSION(id, written, word, why) ADMISSION_##id,
#include "proxy/cache/admission/admissions.h"
#undef ADMISSION
	ADMISSION_COUNT
};

enum admission_rule { RULE_SIGHTINGS, RULE_ALWAYS, RULE_NEVER };

bool admission_writes(enum admission a);
const char *admission_word(enum admission a);

#endif
