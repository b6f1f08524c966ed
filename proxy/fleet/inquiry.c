/* inquiry.c - one question to each sibling, again and again. */
#include "proxy/fleet/inquiry.h"

#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/fleet/peer.h"

#include <stdlib.h>

struct question {
	struct inquiry *of;
	struct peer *peer;
	struct peer_question asked;
	int64_t due_ms;
	unsigned failures;
};

struct inquiry {
	struct inquiry_options o;
	struct question **of; /* a question knows its own place */
	unsigned n;
};

/* ---- one question -------------------------------------------------------------------------- */

static void
tell(struct question *q, const struct str *state, const char *why)
{
	const struct inquiry *i = q->of;
	struct sibling *s = peer_sibling(q->peer);
	q->failures = state ? 0 : q->failures + 1;
	standing_tell(&s->standing, state != NULL, now_ms());
	i->o.on_state(i->o.ctx, s, state, q->failures, why);
}

static void
on_answer(void *ctx, const struct str *content, const char *why)
{
	bool fits = content && content->n <= INQUIRY_STATE_MOST;
	tell(ctx, fits ? content : NULL, fits ? NULL : why ? why : "its state is too long");
}

static void
turn(struct question *q, int64_t now)
{
	peer_turn(&q->asked, now);
	if (q->asked.fetch || now < q->due_ms)
		return;
	q->due_ms = now + INQUIRY_EVERY_MS; /* nothing is made up for */
	if (peer_is_usable(q->peer))
		peer_ask(q->peer, &q->asked, INQUIRY_TARGET, STR(""), INQUIRY_LIMIT_MS);
	else
		tell(q, NULL, "its address, or a file of TLS, cannot be used");
}

/* ---- all of them --------------------------------------------------------------------------- */

static struct question *
create(struct inquiry *i, struct sibling *s, int64_t due_ms)
{
	struct question *q = NEW(struct question);
	*q = (struct question){.of = i, .due_ms = due_ms};
	q->asked.on_answer = on_answer;
	q->asked.ctx = q;
	q->peer = peer_open(i->o.peers, s, INQUIRY_LIMIT_MS, 1);
	return q;
}

static void
destroy(struct question **pq)
{
	struct question *q = *pq;
	*pq = NULL;
	peer_question_fini(&q->asked);
	peer_close(&q->peer);
	free(q);
}

/* The question to that sibling, taken off the list of before. */
static struct question *
take(struct question **of, unsigned n, const struct sibling *s)
{
	for (unsigned k = 0; k < n; k++)
		if (of[k] && peer_sibling(of[k]->peer) == s) {
			struct question *q = of[k];
			of[k] = NULL;
			return q;
		}
	return NULL;
}

void
inquiry_settle(struct inquiry *i, struct sibling *const *of, unsigned n)
{
	struct question **before = i->of;
	unsigned before_n = i->n;
	int64_t now = now_ms();
	i->of = mem_zalloc((n + 1) * sizeof(struct question *));
	i->n = 0;
	for (unsigned k = 0; k < n; k++) {
		if (of[k]->is_self)
			continue;
		struct question *q = take(before, before_n, of[k]);
		i->of[i->n++] = q ? q : create(i, of[k], now + INQUIRY_EVERY_MS * k / n);
	}
	for (unsigned k = 0; k < before_n; k++)
		if (before[k])
			destroy(&before[k]);
	free(before);
}

void
inquiry_turn(struct inquiry *i, int64_t now)
{
	for (unsigned k = 0; k < i->n; k++)
		turn(i->of[k], now);
}

struct inquiry *
inquiry_create(const struct inquiry_options *o)
{
	struct inquiry *i = NEW(struct inquiry);
	i->o = *o;
	return i;
}

void
inquiry_destroy(struct inquiry **pi)
{
	struct inquiry *i = *pi;
	*pi = NULL;
	if (!i)
		return;
	for (unsigned k = 0; k < i->n; k++)
		destroy(&i->of[k]);
	free(i->of);
	free(i);
}
