/* send_local.c - answers that are made here: faults, errors, and what ends at this proxy. */
#include "proxy/serve/send_inside.h"

#include <stdio.h>

static enum stream_pull
pull_text(void *ctx, size_t most, struct str *pieces, unsigned *n)
{
	struct txn *t = ctx;
	(void)most; /* the length was announced: it is the text's */
	pieces[(*n)++] = t->body;
	return STREAM_PULL_END;
}

/* A complete answer; allow empty: nothing to say of methods. */
static void
answer_text(struct txn *t, int status, struct str allow, struct str body)
{
	struct maker m;
	send_begin(&m, t, status, body.n);
	send_date(t, &m);
	if (allow.n)
		buf_add_str(send_line(t, &m, STR("Allow")), allow);
	if (t->answer == ANSWER_ERROR && status == 503) /* a queue is full: soon it is not */
		buf_add_lit(send_line(t, &m, STR("Retry-After")), "1");
	if (body.n)
		buf_add_lit(send_line(t, &m, STR("Content-Type")), "text/plain");
	t->body = arena_copy(t->arena, body);
	send_end(t, &m, pull_text);
}

void
answer_local(struct txn *t, int status, struct str allow)
{
	t->cs.fwd = NULL;
	t->answer = ANSWER_LOCAL;
	answer_text(t, status, allow, STR(""));
}

void
answer_moved(struct txn *t, int status, struct str host, unsigned port)
{
	struct maker m;
	t->cs.fwd = NULL;
	t->answer = ANSWER_LOCAL;
	send_begin(&m, t, status, 0);
	send_date(t, &m);
	struct buf *to = send_line(t, &m, STR("Location"));
	buf_add_lit(to, "https://");
	buf_add_str(to, host);
	if (port != 443) {
		buf_add_lit(to, ":");
		buf_add_u64(to, port);
	}
	buf_add_str(to, t->rq.path_query);
	send_end(t, &m, pull_text);
}

void
answer_denied(struct txn *t)
{
	t->cs.fwd = NULL;
	t->answer = ANSWER_DENIED;
	t->detail = "denied";
	answer_text(t, 403, STR(""), STR("403: denied\n"));
}

void
answer_sent_on(struct txn *t, int status, struct str to)
{
	struct maker m;
	t->cs.fwd = NULL;
	t->answer = ANSWER_ROUTED;
	t->detail = "redirect";
	send_begin(&m, t, status, 0);
	send_date(t, &m);
	buf_add_str(send_line(t, &m, STR("Location")), to);
	send_end(t, &m, pull_text);
}

void
answer_routed(struct txn *t, const struct local_rules *r)
{
	struct maker m;
	t->cs.fwd = NULL;
	t->answer = ANSWER_ROUTED;
	t->detail = "answer";
	send_begin(&m, t, r->status, r->status == 204 ? LENGTH_UNKNOWN : r->body.n);
	send_date(t, &m);
	if (r->retry_after_s)
		buf_add_u64(send_line(t, &m, STR("Retry-After")), r->retry_after_s);
	if (r->body.n)
		buf_add_str(send_line(t, &m, STR("Content-Type")), r->type);
	t->body = r->body;
	send_end(t, &m, pull_text);
}

void
answer_said(struct txn *t, int status, struct str body)
{
	t->cs.fwd = NULL;
	t->answer = ANSWER_LOCAL;
	answer_text(t, status, STR(""), body);
}

void
answer_fault(struct txn *t, const struct fault *f)
{
	char body[256];
	t->fault = f;
	t->answer = ANSWER_REJECTED;
	t->detail = f->word;
	int n = snprintf(body, sizeof body, "%d %s: %s\n", f->status, f->word, f->rule);
	answer_text(t, f->status, f == &fault_CONNECT ? method_allow : STR(""),
		    (struct str){body, (size_t)n});
}

void
answer_error(struct txn *t, int status, const char *word)
{
	char body[128];
	t->answer = ANSWER_ERROR;
	t->detail = word;
	int n = snprintf(body, sizeof body, "%d: %s\n", status, word);
	answer_text(t, status, STR(""), (struct str){body, (size_t)n});
}
