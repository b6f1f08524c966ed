/* sighting.c - the rule, in the order in which its reasons count. */
#include "proxy/cache/admission/sighting.h"

static const struct {
	bool records;
	unsigned adds;
	bool brings;
} kinds[SIGHTING_KINDS] = {
#define SIGHTING(id, records, adds, brings, what) [SIGHTING_##id] = {records, adds, brings},
#include "proxy/cache/admission/sighting_kinds.h"
#undef SIGHTING
};

struct twice_key_hash
sighting_key(const struct twice_seed *seed, struct twice_key_hash primary, struct str variant)
{
	if (!variant.n)
		return primary;
	struct twice_key_hash v = twice_key_hash_of(seed, variant.p, variant.n);
	uint64_t both[4] = {primary.lo, primary.hi, v.lo, v.hi};
	return twice_key_hash_of(seed, both, sizeof both);
}

struct twice_key_hash
sighting_slice_key(struct twice_key_hash url, uint64_t slice)
{
	uint64_t bits = (slice + 1) * UINT64_C(0x9e3779b97f4a7c15);
	return (struct twice_key_hash){.lo = url.lo + bits, .hi = url.hi ^ bits};
}

/* The object itself and its parts use up a sighting; redirects and errors do not,
 * however long they may be kept. */
static bool
status_counts(int status)
{
	return status == 200 || status == 203 || status == 206;
}

bool
sighting_counts(const struct sighting_facts *f)
{
	return kinds[f->kind].records && f->storable && status_counts(f->status);
}

static bool
is_over(uint64_t most, uint64_t bytes)
{
	return most && bytes != UINT64_MAX && bytes > most;
}

unsigned
sighting_asked(const struct sighting_settings *s, const struct sighting_facts *f)
{
	if (f->sightings)
		return f->sightings;
	bool large = s->large_sightings && is_over(SIGHTING_LARGE, f->body_bytes);
	return large ? s->large_sightings : s->sightings;
}

static bool
is_seen(const struct sighting_settings *s, const struct sighting_facts *f)
{
	unsigned adds = status_counts(f->status) ? kinds[f->kind].adds : 0;
	unsigned n = sighting_asked(s, f);
	return f->admitted || f->kind == SIGHTING_TAKEN_OVER || n <= 1 || f->known.times + adds >= n;
}

static bool
is_too_large(const struct sighting_settings *s, const struct sighting_facts *f)
{
	return is_over(s->max_object_bytes, f->body_bytes) ||
	       is_over(f->max_object_bytes, f->body_bytes);
}

/* With one sighting asked for, a new key is in the current generation by its own sighting. */
static enum admission
seen_where(const struct sighting_facts *f)
{
	return f->known.sight == TWICE_SIGHT_PREVIOUS ? ADMISSION_SEEN_PREVIOUS
						      : ADMISSION_SEEN_CURRENT;
}

bool
sighting_is_too_short(int64_t fresh_s, int64_t ram_turn_s)
{
	enum { SHARE = 4, MOST_S = 60 };
	int64_t least = ram_turn_s / SHARE;
	return fresh_s < 1 || fresh_s < (least < MOST_S ? least : MOST_S);
}

static enum admission
verdict(const struct sighting_settings *s, const struct sighting_facts *f, bool seen)
{
	if (f->kind == SIGHTING_ELSEWHERE)
		return ADMISSION_ELSEWHERE;
	if (!f->storable)
		return ADMISSION_NOT_STORABLE;
	if (f->on_disk)
		return ADMISSION_ON_DISK;
	if (f->kind == SIGHTING_HEAD)
		return ADMISSION_HEAD;
	if (!kinds[f->kind].brings)
		return ADMISSION_NOT_STORABLE;
	if (f->route == RULE_NEVER)
		return ADMISSION_NEVER;
	if (is_too_large(s, f))
		return ADMISSION_TOO_LARGE;
	if (f->kind == SIGHTING_RELOAD)
		return ADMISSION_RELOAD;
	bool always = f->route == RULE_ALWAYS;
	bool filling = f->disk_used_share < s->fill_until;
	if (!always && !filling && !seen)
		return ADMISSION_FIRST_SIGHT;
	if (!always && f->has_life && !f->confirmed &&
	    sighting_is_too_short(f->fresh_s, f->ram_turn_s))
		return ADMISSION_TOO_SHORT;
	if (f->over_budget || (f->alone && f->over_share))
		return ADMISSION_OVER_BUDGET;
	if (always)
		return ADMISSION_ALWAYS;
	if (f->kind == SIGHTING_TAKEN_OVER)
		return ADMISSION_TAKEN_OVER;
	return seen ? seen_where(f) : ADMISSION_FILLING;
}

bool
sighting_is_range(enum sighting_kind k)
{
	return k == SIGHTING_RANGE_FIRST || k == SIGHTING_RANGE_REPEATED ||
	       k == SIGHTING_RANGE_BEHIND;
}

/* Nobody pulls a whole object because of one request for a part of it, nor because of one client's
 * ranges, nor for what lies behind its first slice. An address that asks for many keys is not one client. */
static bool
is_worth_the_whole(const struct sighting_facts *f, bool seen)
{
	if (f->route == RULE_NEVER)
		return true;
	if (f->alone && !f->crowd && sighting_is_range(f->kind))
		return false;
	return f->route == RULE_ALWAYS || (seen && f->known.times > 0 && !f->slice);
}

struct sighting
sighting_decide(const struct sighting_settings *s, const struct sighting_facts *f)
{
	bool seen = is_seen(s, f);
	enum admission a = verdict(s, f, seen);
	return (struct sighting){
		.verdict = a,
		.kind = f->kind,
		.slice = f->slice,
		.recorded = sighting_counts(f),
		.writes = admission_writes(a),
		.whole = is_worth_the_whole(f, seen),
		.alone = f->alone,
		.from = f->from,
		.known = f->known,
	};
}

struct sighting
sighting_at_end(const struct sighting_settings *s, const struct sighting_facts *f,
		unsigned followers, uint64_t body_bytes)
{
	struct sighting_facts end = *f;
	end.body_bytes = body_bytes;
	end.known.times += followers;
	if (followers && end.known.sight == TWICE_SIGHT_FIRST)
		end.known.sight = TWICE_SIGHT_CURRENT;
	return sighting_decide(s, &end);
}
