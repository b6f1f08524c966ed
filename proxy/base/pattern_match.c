/* pattern_match.c - all ways through a pattern at once, those that count first before the others.
 *
 * A way is a step that waits for a byte, and the places that were noted on the way to it. No step is in the list of a
 * place twice: who comes later counts less, and would go on alike.
 */
#include "proxy/base/pattern_inside.h"

enum { NOWHERE = UINT16_MAX };
_Static_assert(PATTERN_TEXT_MOST < NOWHERE - 1,
	       "places in a text, and lists, are numbered by 16 bits");

typedef uint16_t places[2 * PATTERN_CAPTURES]; /* from and to of each capture */

struct ways {
	unsigned n;
	uint16_t step[PATTERN_STEPS];
	places noted[PATTERN_STEPS];
};

struct match {
	const struct pattern *p;
	struct str text;
	unsigned noted;			 /* bytes of places that are in use */
	uint16_t list_of[PATTERN_STEPS]; /* the last list that has the step, from 1 */
};

/* Follows what waits for nothing. In as many calls as a pattern has steps, at most. */
static void
add_way(struct match *m, struct ways *w, unsigned at, unsigned place, places noted)
{
	const struct pattern_step *s = &m->p->steps[at];
	if (m->list_of[at] == place + 1)
		return;
	m->list_of[at] = (uint16_t)(place + 1);
	switch ((enum pattern_op)s->op) {
	case PATTERN_JUMP:
		add_way(m, w, at + (unsigned)s->to, place, noted);
		return;
	case PATTERN_SPLIT:
		add_way(m, w, at + (unsigned)s->to, place, noted);
		add_way(m, w, at + (unsigned)s->other, place, noted);
		return;
	case PATTERN_SAVE: {
		uint16_t before = noted[s->arg];
		noted[s->arg] = (uint16_t)place;
		add_way(m, w, at + 1, place, noted);
		noted[s->arg] = before;
		return;
	}
	case PATTERN_BEGIN:
		if (place == 0)
			add_way(m, w, at + 1, place, noted);
		return;
	case PATTERN_END:
		if (place == m->text.n)
			add_way(m, w, at + 1, place, noted);
		return;
	default:
		w->step[w->n] = (uint16_t)at;
		memcpy(w->noted[w->n++], noted, m->noted);
	}
}

static bool
takes(const struct pattern *p, const struct pattern_step *s, unsigned char c)
{
	return s->op == PATTERN_ANY || (s->op == PATTERN_BYTE && s->arg == c) ||
	       (s->op == PATTERN_CLASS && p->class[s->arg][c / 8] >> c % 8 & 1);
}

/* Each way takes the byte at place, or ends. True: one is a match, and those behind it count less. */
static bool
go_on(struct match *m, struct ways *now, struct ways *next, unsigned place, places best)
{
	next->n = 0;
	for (unsigned i = 0; i < now->n; i++) {
		const struct pattern_step *s = &m->p->steps[now->step[i]];
		if (s->op == PATTERN_DONE) {
			memcpy(best, now->noted[i], m->noted);
			best[1] = (uint16_t)place;
			return true;
		}
		if (place < m->text.n && takes(m->p, s, (unsigned char)m->text.p[place]))
			add_way(m, next, now->step[i] + 1u, place + 1, now->noted[i]);
	}
	return false;
}

bool
pattern_match(const struct pattern *p, struct str text, struct str captures[PATTERN_CAPTURES])
{
	struct match m = {.p = p, .text = text, .noted = 2 * (p->captures + 1) * sizeof(uint16_t)};
	struct ways lists[2];
	places none, best;
	bool found = false, is_anchored = p->steps[0].op == PATTERN_BEGIN;
	if (text.n > PATTERN_TEXT_MOST)
		return false;
	memset(none, 0xff, sizeof none);
	memset(best, 0xff, sizeof best);
	lists[0].n = 0;
	for (unsigned place = 0; place <= text.n; place++) {
		struct ways *now = &lists[place % 2];
		if (!found && (place == 0 || !is_anchored)) {
			none[0] = (uint16_t)place;
			add_way(&m, now, 0, place, none);
		}
		if (now->n == 0 && (found || is_anchored))
			break;
		found |= go_on(&m, now, &lists[1 - place % 2], place, best);
	}
	for (unsigned i = 0; found && i < PATTERN_CAPTURES; i++) {
		bool took_part = best[2 * i] != NOWHERE && best[2 * i + 1] != NOWHERE;
		captures[i] = took_part ? (struct str){text.p + best[2 * i],
						       (size_t)(best[2 * i + 1] - best[2 * i])}
					: (struct str){0};
	}
	return found;
}
