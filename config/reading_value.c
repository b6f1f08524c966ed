/* reading_value.c - one value as people write it, checked and in its canonical form: numbers
 * without units, words as numbers.
 */
#include "config/reading_inside.h"
#include "config/suggest.h"
#include "config/units.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
read_switch(struct reading *r, const struct given *g, const char *path)
{
	static const char on[] = "on|true|yes", off[] = "off|false|no";
	bool is_on = reading_find_word(on, g->text) >= 0;
	if (!is_on && reading_find_word(off, g->text) < 0)
		return reading_fail(r, g, "%s: \"%.60s\" is not a switch; write on or off", path,
				    g->text);
	return reading_add_scalar(r, is_on ? "true" : "false", false);
}

static int
read_share(struct reading *r, const struct setting *s, const struct given *g, const char *path)
{
	double v;
	char text[UNITS_BYTES], least[UNITS_BYTES], most[UNITS_BYTES];
	if (units_parse_share(g->text, &v) < 0)
		return reading_fail(r, g,
				    "%s: \"%.60s\" is not a share; write one such as 1%% or 0.01",
				    path, g->text);
	if (v < s->least || v > s->most)
		return reading_fail(r, g, "%s: %.60s is out of range; write a share from %s to %s",
				    path, g->text, units_print_share(s->least, least),
				    units_print_share(s->most, most));
	snprintf(text, sizeof(text), "%.17g", v);
	return reading_add_scalar(r, text, false);
}

/* How the kinds of whole numbers are read and printed. */
static const struct quantity {
	int (*parse)(const char *z, uint64_t *v);
	char *(*print)(uint64_t v, char out[UNITS_BYTES]);
	uint64_t per_unit; /* of what parse gives */
	const char *what;
} quantities[] = {
	[KIND_COUNT] = {units_parse_count, units_print_count, 1,
			"number; write one such as 1000, 50k or 10M"},
	[KIND_BYTES] = {units_parse_bytes, units_print_bytes, 1,
			"size; write one such as 64MiB or 100GiB"},
	[KIND_ROOM] = {units_parse_room, units_print_room, 1,
		       "size or share; write one such as 20GiB or 5%"},
	[KIND_RATE] = {units_parse_rate, units_print_rate, 1,
		       "rate; write one such as 10MiB/s, 50GB/day, 0.5DWPD or 0.5DWPD of 1TB"},
	[KIND_SECONDS] = {units_parse_ms, units_print_ms, 1000,
			  "duration in whole seconds; write one such as 30s, 5m or 24h"},
	[KIND_MILLIS] = {units_parse_ms, units_print_ms, 1,
			 "duration; write one such as 500ms, 30s or 5m"},
};

/* Nobody means five bytes of disk by 5. */
static bool
lacks_unit(const struct setting *s, const char *text, uint64_t v)
{
	enum { FEW = 1000, A_FEW_CAN_BE_MEANT = 64 };
	static const char digits[] = "0123456789";
	bool sized = s->kind == KIND_BYTES || s->kind == KIND_ROOM || s->kind == KIND_RATE;
	bool usual =
		s->fallback && *s->fallback && s->fallback[strspn(s->fallback, digits)] == '\0';
	return sized && v < FEW && v > 0 && s->least < A_FEW_CAN_BE_MEANT &&
	       text[strspn(text, digits)] == '\0' && !usual;
}

static int
read_number(struct reading *r, const struct setting *s, const struct given *g, const char *path)
{
	const struct quantity *q = &quantities[s->kind];
	uint64_t v;
	char text[UNITS_BYTES], least[UNITS_BYTES], most[UNITS_BYTES];
	if ((s->words && strcmp(g->text, s->words) == 0) || reading_is_off(s, g->text))
		return reading_add_scalar(r, "0", false);
	if (q->parse(g->text, &v) < 0 || v % q->per_unit)
		return reading_fail(r, g, "%s: \"%.60s\" is not a %s%s%s", path, g->text, q->what,
				    s->words ? ", or " : "", s->words ? s->words : "");
	v /= q->per_unit;
	if ((double)v < s->least || (double)v > s->most)
		return reading_fail(r, g, "%s: %.60s is out of range; write %s to %s%s%s", path,
				    g->text, q->print((uint64_t)s->least * q->per_unit, least),
				    q->print((uint64_t)s->most * q->per_unit, most),
				    s->words ? ", or " : "", s->words ? s->words : "");
	if (lacks_unit(s, g->text, v))
		return reading_fail(r, g,
				    "%s: %.60s would be bytes; write a unit, such as %.60sMiB or "
				    "%.60sGiB, or %.60sB if so few are meant",
				    path, g->text, g->text, g->text, g->text);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)v + s->plus_one);
	return reading_add_scalar(r, text, false);
}

static int
read_word(struct reading *r, const struct setting *s, const struct given *g, const char *path)
{
	char text[UNITS_BYTES];
	int i = reading_find_word(s->words, g->text);
	if (i < 0)
		return reading_fail_words(r, g, path, s);
	snprintf(text, sizeof(text), "%d", i);
	return reading_add_scalar(r, text, false);
}

int
reading_value(struct reading *r, const struct setting *s, const struct given *g, const char *path)
{
	switch (s->kind) {
	case KIND_SWITCH:
		return read_switch(r, g, path);
	case KIND_SHARE:
		return read_share(r, s, g, path);
	case KIND_WORD:
		return read_word(r, s, g, path);
	case KIND_COUNT:
	case KIND_BYTES:
	case KIND_ROOM:
	case KIND_RATE:
	case KIND_SECONDS:
	case KIND_MILLIS:
		return read_number(r, s, g, path);
	default:
		return reading_text(r, s, s->kind == KIND_LIST ? s->each : s->kind, g, path);
	}
}
