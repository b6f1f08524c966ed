/* survey.c - one question to each sibling, and the end of the round when all have answered. */
#include "proxy/fleet/survey.h"

#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/fleet/peer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct question {
	struct survey *of;
	struct peer *peer; /* NULL: it is not asked */
	struct peer_question asked;
	struct survey_row *row;
};

struct survey {
	struct peers *peers;
	void (*over)(void *ctx, struct survey_result *found);
	void *ctx;
	struct question *questions; /* of the last round, for each row of its result */
	unsigned next, under_way;
	bool gathers; /* a round is under way */
	int64_t begun_ms, good_until_ms;
	struct survey_result *result; /* of the round, or of the last one; NULL: there was none */
};

struct survey_result *
survey_result_ref(struct survey_result *r)
{
	atomic_fetch_add(&r->refs, 1);
	return r;
}

void
survey_result_unref(struct survey_result **pr)
{
	struct survey_result *r = *pr;
	*pr = NULL;
	if (!r || atomic_fetch_sub(&r->refs, 1) > 1)
		return;
	for (unsigned i = 0; i < r->n; i++)
		buf_fini(&r->of[i].said);
	free(r);
}

/* ---- one question -------------------------------------------------------------------------- */

static void ask_more(struct survey *s, int64_t now);

/* A sentence, or a word of how a question failed (fetch_result). */
static void
say_why(struct survey_row *row, const char *why)
{
	snprintf(row->why, sizeof row->why, strchr(why, ' ') ? "%s" : "it does not answer (%s)",
		 why);
}

static void
on_answer(void *ctx, const struct str *content, const char *why)
{
	struct question *q = ctx;
	struct survey *s = q->of;
	if (content)
		buf_add_str(&q->row->said, *content);
	if (!q->row->said.n)
		say_why(q->row, content ? "it says nothing" : why);
	s->under_way--;
	ask_more(s, now_ms());
}

/* ---- a round ------------------------------------------------------------------------------- */

static void
ask(struct survey *s, struct question *q, int64_t left_ms)
{
	enum { CONNECTIONS = 1, LEAST_MS = 50 };
	if (!q->peer)
		return;
	if (left_ms < LEAST_MS) {
		say_why(q->row, "there was no time to ask it");
	} else if (!peer_is_usable(q->peer)) {
		say_why(q->row, "its address, or a file of TLS, cannot be used");
	} else {
		s->under_way++;
		peer_ask(q->peer, &q->asked, SURVEY_TARGET, STR(""), left_ms);
	}
}

static void
ask_more(struct survey *s, int64_t now)
{
	while (s->next < s->result->n && s->under_way < SURVEY_AT_ONCE)
		ask(s, &s->questions[s->next++], s->begun_ms + SURVEY_LIMIT_MS - now);
	if (s->under_way || !s->gathers)
		return;
	s->gathers = false;
	s->good_until_ms = now + (now - s->begun_ms);
	s->over(s->ctx, s->result);
}

/* No answer is being told of. */
static void
let_go(struct survey *s)
{
	for (unsigned i = 0; s->questions && i < s->result->n; i++) {
		if (!s->questions[i].peer)
			continue;
		peer_question_fini(&s->questions[i].asked);
		peer_close(&s->questions[i].peer);
	}
	free(s->questions);
	s->questions = NULL;
}

static void
add_row(struct survey *s, unsigned i, struct sibling *of)
{
	struct question *q = &s->questions[i];
	*q = (struct question){.of = s, .row = &s->result->of[i]};
	q->row->id = of->m.id;
	q->asked.on_answer = on_answer;
	q->asked.ctx = q;
	if (of->silent)
		say_why(q->row, "it has not answered for some seconds");
	else
		q->peer = peer_open(s->peers, of, SURVEY_LIMIT_MS, 1);
}

static void
begin(struct survey *s, struct sibling *const *of, unsigned n, int64_t now)
{
	let_go(s);
	survey_result_unref(&s->result);
	s->result = mem_zalloc(sizeof *s->result + n * sizeof *s->result->of);
	s->questions = mem_zalloc((n + 1) * sizeof *s->questions);
	atomic_init(&s->result->refs, 1);
	for (unsigned i = 0; i < n; i++)
		if (!of[i]->is_self)
			add_row(s, s->result->n++, of[i]);
	s->next = 0;
	s->begun_ms = now;
	s->good_until_ms = 0;
	s->gathers = true;
}

void
survey_ask(struct survey *s, struct sibling *const *of, unsigned n, int64_t now)
{
	if (s->gathers)
		return;
	if (s->result && now < s->good_until_ms) {
		s->over(s->ctx, s->result);
		return;
	}
	begin(s, of, n, now);
	ask_more(s, now);
}

void
survey_turn(struct survey *s, int64_t now)
{
	for (unsigned i = 0; s->questions && i < s->result->n; i++)
		if (s->questions[i].peer)
			peer_turn(&s->questions[i].asked, now);
	if (!s->gathers)
		let_go(s);
}

/* ---- life ---------------------------------------------------------------------------------- */

struct survey *
survey_create(struct peers *peers, void (*over)(void *ctx, struct survey_result *found), void *ctx)
{
	struct survey *s = NEW(struct survey);
	*s = (struct survey){.peers = peers, .over = over, .ctx = ctx};
	return s;
}

void
survey_destroy(struct survey **ps)
{
	struct survey *s = *ps;
	*ps = NULL;
	if (!s)
		return;
	let_go(s);
	survey_result_unref(&s->result);
	free(s);
}
