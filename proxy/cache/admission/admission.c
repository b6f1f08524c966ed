/* admission.c - the verdicts as a table. */
#include "proxy/cache/admission/admission.h"

static const struct {
	bool writes;
	const char *word;
} rows[ADMISSION_COUNT] = {
#define ADMISSION(id, written, word, why) [ADMISSION_##id] = {written, word},
#include "proxy/cache/admission/admissions.h"
#undef ADMISSION
};

bool
admission_writes(enum admission a)
{
	return rows[a].writes;
}

const char *
admission_word(enum admission a)
{
	return rows[a].word;
}
