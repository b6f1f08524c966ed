/* policy_text.c - a policy from the words of a command line. */
#include "proxy/simulate/policy.h"

#include "config/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_CAPACITY = 1000 };

static const char help[] =
	"all, 2, 3, ..., auto or bound; then +large=3 (bodies over 64KiB), +capacity=10M or a share of the URLs, +fpr=1%, +rotate=auto|24h, "
	"+filter=pair|counting|stable|scalable|exact, +max=1MiB, +exp=64KiB, "
	"+budget=10MiB, +slices=off, +packing=off, +eviction=twice|lru, +ram=1GiB or a share of the disk, +disk=100GiB";

static int
set_filter(struct policy_spec *p, const char *value)
{
	enum twice_filter_kind *kind = &p->sights.memory.kind;
	p->sights.exact = strcmp(value, "exact") == 0;
	if (p->sights.exact)
		return 0;
	return twice_filter_kind_of(value, kind) || *kind == TWICE_FILTER_CASCADE ? -1 : 0;
}

static int
set_rotate(struct policy_spec *p, const char *value)
{
	uint64_t ms = 0; /* auto: by turns of the log */
	if (strcmp(value, "auto") != 0 && (units_parse_ms(value, &ms) != 0 || ms == 0))
		return -1;
	p->sights.memory.rotate_after_s = (ms + 999) / 1000;
	return 0;
}

/* A number, or a share of the log's URLs. */
static int
set_capacity(struct policy_spec *p, const char *value)
{
	double share;
	if (!strchr(value, '%'))
		return units_parse_count(value, &p->sights.memory.capacity);
	if (units_parse_share(value, &share) != 0 || !(p->urls > 0))
		return -1;
	double n = share * p->urls;
	p->sights.memory.capacity = n < LEAST_CAPACITY ? LEAST_CAPACITY : (uint64_t)n;
	return 0;
}

/* Bytes, or a share of the disk. */
static int
set_memory(struct policy_spec *p, const char *value)
{
	uint64_t room;
	if (units_parse_room(value, &room) != 0)
		return -1;
	p->memory_bytes = room & UNITS_ROOM_SHARE ? (uint64_t)((double)(room & ~UNITS_ROOM_SHARE) /
							       1e6 * (double)p->disk_bytes)
						  : room;
	return 0;
}

/* Sightings of large bodies, which the filter has to tell. */
static int
set_large(struct policy_spec *p, const char *value)
{
	uint64_t n;
	unsigned *most = &p->sights.memory.sightings;
	if (p->chooses || p->sightings < 2 || units_parse_count(value, &n) != 0 || n < 1 ||
	    n > TWICE_FILTER_SIGHTINGS_MOST)
		return -1;
	p->large_sightings = (unsigned)n;
	*most = p->large_sightings > *most ? p->large_sightings : *most;
	return 0;
}

static int
set(struct policy_spec *p, const char *name, const char *value)
{
	struct twice_filter_options *m = &p->sights.memory;
	if (strcmp(name, "large") == 0)
		return set_large(p, value);
	if (strcmp(name, "capacity") == 0)
		return set_capacity(p, value);
	if (strcmp(name, "fpr") == 0)
		return units_parse_share(value, &m->false_positives);
	if (strcmp(name, "rotate") == 0)
		return set_rotate(p, value);
	if (strcmp(name, "filter") == 0)
		return set_filter(p, value);
	if (strcmp(name, "max") == 0)
		return units_parse_bytes(value, &p->max_object_bytes);
	if (strcmp(name, "exp") == 0)
		return units_parse_bytes(value, &p->exp_bytes);
	if (strcmp(name, "budget") == 0)
		return units_parse_bytes(value, &p->budget_bytes_s);
	if (strcmp(name, "slices") == 0) {
		p->in_one_piece = strcmp(value, "off") == 0;
		return p->in_one_piece || strcmp(value, "on") == 0 ? 0 : -1;
	}
	if (strcmp(name, "packing") == 0) {
		p->packs_not = strcmp(value, "off") == 0;
		return p->packs_not || strcmp(value, "on") == 0 ? 0 : -1;
	}
	if (strcmp(name, "eviction") == 0) {
		p->lru = strcmp(value, "lru") == 0;
		return p->lru || strcmp(value, "twice") == 0 ? 0 : -1;
	}
	if (strcmp(name, "ram") == 0)
		return set_memory(p, value);
	if (strcmp(name, "disk") == 0)
		return units_parse_bytes(value, &p->disk_bytes);
	return -1;
}

static int
set_rule(struct policy_spec *p, const char *word)
{
	char *end;
	p->bound = strcmp(word, "bound") == 0;
	p->sightings = 1;
	p->packs_not = strcmp(word, "all") == 0;
	if (p->bound || p->packs_not)
		return 0;
	p->chooses = strcmp(word, "auto") == 0;
	if (p->chooses) {
		p->sightings = CHOICE_FEW;
		p->sights.memory.sightings = CHOICE_MANY;
		return 0;
	}
	unsigned long n = strtoul(word, &end, 10);
	if (*end || end == word || n < 1 || n > TWICE_FILTER_SIGHTINGS_MOST)
		return -1;
	p->sightings = (unsigned)n;
	if (n > 1)
		p->sights.memory.sightings = p->sightings;
	return 0;
}

int
policy_parse(struct policy_spec *out, const struct policy_spec *base, const char *text, char *err,
	     size_t err_bytes)
{
	char words[POLICY_TEXT_BYTES], *save = NULL;
	struct policy_spec p = *base;
	if (strlen(text) >= sizeof words || !*text) {
		snprintf(err, err_bytes, "\"%s\" is no policy; write %s", text, help);
		return -1;
	}
	snprintf(words, sizeof words, "%s", text);
	snprintf(p.text, sizeof p.text, "%s", text);
	char *word = strtok_r(words, "+", &save);
	if (!word || set_rule(&p, word) != 0) {
		snprintf(err, err_bytes, "\"%s\" is no policy; write %s", text, help);
		return -1;
	}
	while ((word = strtok_r(NULL, "+", &save))) {
		char *value = strchr(word, '=');
		if (value)
			*value++ = 0;
		if (!value || set(&p, word, value) != 0) {
			snprintf(err, err_bytes, "\"%s\" of \"%s\" is not understood; write %s",
				 word, text, help);
			return -1;
		}
	}
	if (p.chooses && (p.sights.exact || p.sights.memory.kind != TWICE_FILTER_PAIR)) {
		snprintf(err, err_bytes,
			 "\"%s\": auto is only for the filter pair; leave +filter= out", text);
		return -1;
	}
	*out = p;
	return 0;
}
