/* backend_siblings.c - nodes of the fleet, asked before a group of servers. */
#include "proxy/serve/backend.h"

#include "proxy/fleet/hop.h"
#include "proxy/serve/sibling_word.h"

#include <assert.h>

/* Stands for the nodes of the fleet: none of them is an origin. */
enum { MARK = UINT16_MAX };

static struct sibling *
now_asked(const struct backend *b)
{
	assert(b->siblings.at < b->siblings.n);
	return b->siblings.of[b->siblings.at];
}

static bool
begin(struct backend *b, int64_t now_ms)
{
	(void)b;
	(void)now_ms;
	return true;
}

/* Behind the last one the group is asked, of which nobody was asked so far. It takes a place there, or waits for one. */
static bool
another(struct backend *b, int64_t now_ms)
{
	struct backend_siblings *s = &b->siblings;
	while (++s->at < s->n)
		if (standing_is_well(&s->of[s->at]->standing, now_ms))
			return true;
	b->kind->end(b);
	backend_of_group(b, b->group, b->try.key, b->try.from);
	backend_begin(b, now_ms);
	backend_was_heard(b);
	return true;
}

static void
end(struct backend *b)
{
	chart_unref(&b->siblings.chart);
	b->siblings.n = 0;
}

static const struct origin *
origin(const struct backend *b)
{
	return now_asked(b)->origin;
}

static uint16_t
mark(const struct backend *b)
{
	(void)b;
	return MARK;
}

static struct origin_measures *
measures(const struct backend *b, struct measures *m)
{
	(void)b;
	return m->siblings;
}

static void
answered(struct backend *b, int status, int64_t wait_us, int64_t now_ms)
{
	(void)status;
	(void)wait_us;
	standing_tell(&now_asked(b)->standing, true, now_ms);
}

static void
failed(struct backend *b, const struct fetch_result *r, int64_t now_ms)
{
	if (r->end != FETCH_ABORTED && r->end != FETCH_YIELDED && r->end != FETCH_STALLED)
		standing_tell(&now_asked(b)->standing, false, now_ms);
}

static void
apart(struct backend *b)
{
	(void)b;
	assert(!"a sibling is asked for no tunnel");
}

static int64_t
usual_ms(const struct backend *b, bool *several)
{
	(void)b;
	*several = false;
	return 0;
}

static void
queue(const struct backend *b, struct fetch_request *r)
{
	r->group = b->siblings.chart;
}

/* Its own word, and not one that it answers nothing now. */
static bool
answers(struct backend *b, const struct response *rs, int64_t now_ms)
{
	struct hop h;
	struct str line = sibling_field(&rs->fields);
	bool known = line.n && hop_parse(line, &h) == 0 && h.from == now_asked(b)->m.id;
	if (!known)
		standing_tell(&now_asked(b)->standing, false, now_ms);
	return known && !h.state.n;
}

static bool
is_well(const struct backend *b, int64_t now_ms)
{
	return standing_is_well(&now_asked(b)->standing, now_ms);
}

#define OF_SIBLINGS                                                                     \
	.begin = begin, .another = another, .end = end, .origin = origin, .mark = mark, \
	.measures = measures, .answered = answered, .failed = failed, .apart = apart,   \
	.usual_ms = usual_ms, .queue = queue, .answers = answers, .is_well = is_well,   \
	.sibling = true

static const struct backend_kind of_owners = {OF_SIBLINGS, .elsewhere = true};
static const struct backend_kind of_former = {OF_SIBLINGS};

static void
ask(struct backend *b, const struct backend_kind *kind, struct chart *c)
{
	b->kind = kind;
	b->siblings.chart = chart_ref(c);
	b->siblings.at = 0;
}

bool
backend_of_owners(struct backend *b, struct chart *c, uint64_t hash, int64_t now_ms)
{
	struct backend_siblings *s = &b->siblings;
	s->n = chart_to_ask(c, hash, now_ms, s->of);
	s->asks = false;
	if (s->n)
		ask(b, &of_owners, c);
	return s->n > 0;
}

bool
backend_of_former(struct backend *b, struct chart *c, const struct backend_lack *l, int64_t now_ms)
{
	struct backend_siblings *s = &b->siblings;
	struct sibling *before = chart_settled_owner(c, l->hash);
	s->n = 0;
	s->asks = true;
	if (before && before->origin && before->m.id != l->but &&
	    standing_is_well(&before->standing, now_ms))
		s->of[s->n++] = before;
	struct sibling *across = chart_across(c, l->hash, l->stored, now_ms);
	if (across)
		s->of[s->n++] = across;
	if (s->n)
		ask(b, &of_former, c);
	return s->n > 0;
}

bool
backend_is_across(const struct backend *b)
{
	return backend_is_sibling(b) && chart_is_across(b->siblings.chart, now_asked(b));
}
