/* challenging.c - what is not there is nowhere else either. */
#include "proxy/serve/challenging.h"

#include "config/config.h"
#include "proxy/base/mem.h"
#include "proxy/serve/challenge.h"
#include "proxy/serve/errand.h"
#include "proxy/serve/shelves.h"

#include <assert.h>
#include <stdlib.h>

enum { LIMIT_MS = 5000 };

struct challenging {
	struct errand errand; /* first */
	struct challenge challenge;
	int64_t until_ms;
};

static struct challenging *
of(struct challenge *c)
{
	return (struct challenging *)((char *)c - offsetof(struct challenging, challenge));
}

static void
on_letter(struct challenge *c)
{
	errand_done(&of(c)->errand);
}

static void
on_forsaken(struct challenge *c)
{
	free(of(c)); /* its request has ended, with the worker */
}

static void
answer(struct txn *t, const struct challenge *c)
{
	if (c->bytes > 0)
		answer_said(t, 200, (struct str){c->text, (size_t)c->bytes});
	else
		answer_said(t, 404, STR("there is no such challenge\n"));
}

void
challenging_begin(struct txn *t, struct str token)
{
	struct challenging *g = NEW(struct challenging);
	struct challenge *c = &g->challenge;
	assert(t->state == TXN_BEGUN && !t->errand);
	g->errand.t = t;
	c->home = t->serve->mailbox;
	c->done = on_letter;
	c->forsaken = on_forsaken;
	struct challenge_reader *reader = t->serve->shelves->challenges;
	if (reader->ask(reader, c, t->settings->config->tls.acme_challenges, token)) {
		t->errand = &g->errand;
		g->until_ms = now_ms() + LIMIT_MS;
		alarm_set(&t->serve->alarms, &t->alarm, g->until_ms, txn_on_alarm);
		txn_move(t, TXN_CHALLENGE);
		return;
	}
	if (c->bytes < 0)
		answer_error(t, 503, "acme-challenges");
	else
		answer(t, c);
	free(g);
}

bool
challenging_run(struct txn *t)
{
	const struct challenging *g = (const struct challenging *)t->errand;
	bool late = now_ms() >= g->until_ms;
	if (!g->errand.done && !late)
		return false;
	alarm_cancel(&t->serve->alarms, &t->alarm);
	if (g->errand.done)
		answer(t, &g->challenge);
	else
		answer_error(t, 503, "acme-challenges");
	return true;
}
