/* controlling.c - a question that goes to the fleet's thread, and comes home as a letter. */
#include "proxy/serve/controlling.h"

#include "proxy/base/mem.h"
#include "proxy/fleet/control.h"
#include "proxy/fleet/hop.h"
#include "proxy/serve/errand.h"
#include "proxy/serve/sibling_word.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

struct controlling {
	struct errand errand; /* first */
	struct letter letter;
	struct mailbox *home;
	int status;
	size_t field_n, content_n;
	char field[HOP_FIELD_MOST], content[CONTROL_ANSWER_MOST];
};

static void
on_letter(struct letter *l)
{
	errand_done((struct errand *)((char *)l - offsetof(struct controlling, letter)));
}

/* On the fleet's thread. */
static void
on_answer(void *ctx, const struct control_answer *a)
{
	struct controlling *c = ctx;
	assert(a->field.n <= sizeof c->field && a->content.n <= sizeof c->content);
	c->status = a->status;
	c->field_n = a->field.n;
	c->content_n = a->content.n;
	memcpy(c->field, a->field.p, a->field.n);
	memcpy(c->content, a->content.p, a->content.n);
	mailbox_post(c->home, &c->letter);
}

void
controlling_answer_not_now(struct txn *t)
{
	answer_said(t, 503, STR("this node is just joining or leaving its fleet\n"));
}

void
controlling_ask(struct txn *t)
{
	if (t->upload.gathered.n > CONTROL_BODY_MOST ||
	    (t->rq.framing == FRAMING_LENGTH && t->upload.gathered.n < t->rq.content_length) ||
	    t->rq.framing == FRAMING_CHUNKED) {
		answer_said(t, 413, STR("that is more than nodes tell each other\n"));
		return;
	}
	struct control_request rq = {.method = t->rq.method_name,
				     .target = t->rq.target,
				     .field = sibling_field(&t->rq.fields),
				     .body = buf_str(&t->upload.gathered)};
	struct controlling *c = NEW(struct controlling);
	c->errand.t = t;
	c->letter.open = on_letter;
	c->home = t->serve->mailbox;
	if (!charts_ask(t->serve->shelves->fleet, &rq, on_answer, c)) {
		free(c);
		controlling_answer_not_now(t);
		return;
	}
	t->errand = &c->errand;
	txn_move(t, TXN_CONTROL);
}

bool
controlling_begin(struct txn *t)
{
	if (!str_starts(t->rq.target, STR(CONTROL_PREFIX)))
		return false;
	t->way = WAY_PASSING; /* nothing of it is stored */
	if (t->upload.state == UPLOAD_NONE)
		controlling_ask(t);
	else
		txn_move(t, TXN_GATHER);
	return true;
}

bool
controlling_run(struct txn *t)
{
	const struct controlling *c = (const struct controlling *)t->errand;
	if (!c->errand.done)
		return false;
	t->from.said = arena_copy(t->arena, (struct str){c->field, c->field_n});
	answer_said(t, c->status, (struct str){c->content, c->content_n});
	return true;
}
