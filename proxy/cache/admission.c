/* admission.c - the rule, in the order in which its reasons count. */
#include "proxy/cache/admission.h"

static const struct {
	bool writes;
	const char *word;
} rows[ADMISSION_COUNT] = {
#define ADMISSION(id, written, word, why) [ADMISSION_##id] = {written, word},
#include "proxy/cache/admissions.h"
#undef ADMISSION
};

static bool
is_seen(const struct admission_facts *f)
{
	return f->sightings <= 1 || f->seen + 1 >= f->sightings;
}

/* With one sighting asked for, a new key is in the current generation by its own sighting. */
static enum admission
seen_where(const struct admission_facts *f)
{
	return f->sight == SIGHT_PREVIOUS ? ADMISSION_SEEN_PREVIOUS : ADMISSION_SEEN_CURRENT;
}

bool
admission_counts(int status)
{
	return status == 200 || status == 203 || status == 206;
}

enum admission
admission_decide(const struct admission_facts *f)
{
	if (!f->storable)
		return ADMISSION_NOT_STORABLE;
	if (f->rule == RULE_NEVER)
		return ADMISSION_NEVER;
	if (f->max_object_bytes && f->body_bytes != UINT64_MAX &&
	    f->body_bytes > f->max_object_bytes)
		return ADMISSION_TOO_LARGE;
	bool always = f->rule == RULE_ALWAYS;
	bool filling = f->disk_used_share < f->fill_until;
	if (!always && !filling && !is_seen(f))
		return ADMISSION_FIRST_SIGHT;
	if (f->over_budget)
		return ADMISSION_OVER_BUDGET;
	if (always)
		return ADMISSION_ALWAYS;
	return is_seen(f) ? seen_where(f) : ADMISSION_FILLING;
}

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
