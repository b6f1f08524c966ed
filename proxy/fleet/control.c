/* control.c - a question is looked at on the fleet's thread, and answered there or later. */
#include "proxy/fleet/control.h"

#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/fleet/hop.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/queue.h>

struct control_question {
	struct letter letter; /* first */
	struct control *of;
	struct buf text; /* of the request: method, target, field, body */
	size_t method, target, field;
	char mac[SECRET_MAC_TEXT];
	uint64_t from;
	control_done_fn *done;
	void *ctx;
	LIST_ENTRY(control_question) all;
};

struct control {
	struct control_options o;
	LIST_HEAD(, control_question) waiting;
};

/* ---- the request as it was kept ------------------------------------------------------------- */

static struct str
cut(const struct control_question *q, size_t from, size_t n)
{
	return (struct str){q->text.n ? q->text.p + from : "", n};
}

static struct control_request
request_of(const struct control_question *q)
{
	size_t body = q->method + q->target + q->field;
	return (struct control_request){
		.method = cut(q, 0, q->method),
		.target = cut(q, q->method, q->target),
		.field = cut(q, q->method + q->target, q->field),
		.body = cut(q, body, q->text.n - body),
	};
}

/* ---- answers ------------------------------------------------------------------------------- */

static void
end(struct control_question *q, const struct control_answer *a)
{
	LIST_REMOVE(q, all);
	q->done(q->ctx, a);
	buf_fini(&q->text);
	free(q);
}

static void
refuse(struct control_question *q, int status)
{
	end(q, &(struct control_answer){.status = status, .field = STR(""), .content = STR("")});
}

void
control_answer(struct control_question *q, int status, struct str content)
{
	const struct control_options *o = &q->of->o;
	struct control_request rq = request_of(q);
	struct buf field = {0};
	struct hop h = {.from = o->self(o->ctx), .at_s = now_s()};
	struct hop_subject about = {.to = q->from,
				    .method = rq.method,
				    .target = rq.target,
				    .asked = {q->mac, sizeof q->mac},
				    .content = content};
	hop_format(&h, o->secret, &about, &field);
	end(q, &(struct control_answer){status, buf_str(&field), content});
	buf_fini(&field);
}

static void
answer_with(struct control_question *q, void (*say)(void *ctx, struct buf *out))
{
	struct buf said = {0};
	say(q->of->o.ctx, &said);
	assert(said.n <= CONTROL_STATE_MOST);
	control_answer(q, 200, buf_str(&said));
	buf_fini(&said);
}

/* ---- questions ----------------------------------------------------------------------------- */

static bool
is_of_sibling(struct control_question *q, const struct control_request *rq)
{
	const struct control_options *o = &q->of->o;
	struct hop h;
	struct hop_subject about = {.to = o->self(o->ctx),
				    .method = rq->method,
				    .target = rq->target,
				    .content = rq->body};
	if (hop_parse(rq->field, &h) || !hop_is_signed(&h, o->secret, &about, now_s()))
		return false;
	assert(h.mac.n == sizeof q->mac);
	memcpy(q->mac, h.mac.p, sizeof q->mac);
	q->from = h.from;
	return true;
}

static void
on_question(struct letter *l)
{
	struct control_question *q = (struct control_question *)l;
	const struct control_options *o = &q->of->o;
	struct control_request rq = request_of(q);
	LIST_INSERT_HEAD(&q->of->waiting, q, all);
	bool gets = str_eq(rq.method, STR("GET")), posts = str_eq(rq.method, STR("POST"));
	if (!is_of_sibling(q, &rq))
		refuse(q, 403);
	else if (gets && str_eq(rq.target, STR(CONTROL_STATE)))
		answer_with(q, o->state);
	else if (gets && str_eq(rq.target, STR(CONTROL_NUMBERS)))
		answer_with(q, o->numbers);
	else if (gets && str_starts(rq.target, STR(CONTROL_DIGEST)))
		o->digest(o->ctx, q, rq.target);
	else if (posts && str_eq(rq.target, STR(CONTROL_PURGES)))
		o->purges(o->ctx, q, q->from, rq.body);
	else if (posts && str_eq(rq.target, STR(CONTROL_RECALL)))
		o->recall(o->ctx, q, q->from, rq.body);
	else
		refuse(q, 404);
}

void
control_ask(struct control *c, const struct control_request *rq, control_done_fn *done, void *ctx)
{
	struct control_question *q = NEW(struct control_question);
	assert(rq->body.n <= CONTROL_BODY_MOST);
	*q = (struct control_question){.letter.open = on_question,
				       .of = c,
				       .method = rq->method.n,
				       .target = rq->target.n,
				       .field = rq->field.n,
				       .done = done,
				       .ctx = ctx};
	buf_add_str(&q->text, rq->method);
	buf_add_str(&q->text, rq->target);
	buf_add_str(&q->text, rq->field);
	buf_add_str(&q->text, rq->body);
	mailbox_post(c->o.mailbox, &q->letter);
}

struct control *
control_create(const struct control_options *o)
{
	struct control *c = NEW(struct control);
	c->o = *o;
	LIST_INIT(&c->waiting);
	return c;
}

void
control_destroy(struct control **pc)
{
	struct control *c = *pc;
	*pc = NULL;
	if (!c)
		return;
	while (!LIST_EMPTY(&c->waiting))
		refuse(LIST_FIRST(&c->waiting), 503);
	free(c);
}
