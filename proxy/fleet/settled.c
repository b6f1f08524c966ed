/* settled.c - the beginning and the end of a series of changes. */
#include "proxy/fleet/settled.h"

enum settled_step
settled_turn(struct settled *s, bool changed, int64_t now_ms)
{
	bool ends = s->open && (now_ms - s->begun_ms >= SETTLED_LONGEST_MS ||
				(!changed && now_ms - s->changed_ms >= SETTLED_HAND_OVER_MS));
	if (ends) {
		*s = (struct settled){0};
		return SETTLED_ENDS;
	}
	if (!changed)
		return SETTLED_STAYS;
	s->changed_ms = now_ms;
	if (s->open)
		return SETTLED_STAYS;
	s->open = true;
	s->begun_ms = now_ms;
	return SETTLED_BEGINS;
}
