/* send_local.c - answers that are made here: faults, errors, and what ends at this proxy. */
#include "proxy/serve/rules/error_page.h"
#include "proxy/serve/send_inside.h"

/* A complete answer: body lies in the arena. allow, type: empty: not said. */
static void
answer_text(struct txn *t, int status, struct str allow, struct str type, struct str body)
{
	struct maker m;
	send_begin(&m, t, status, body.n);
	send_date(t, &m);
	if (allow.n)
		buf_add_str(send_line(t, &m, STR("Allow")), allow);
	if (t->answer == ANSWER_ERROR && status == 503) /* a queue is full: soon it is not */
		buf_add_lit(send_line(t, &m, STR("Retry-After")), "1");
	if (t->answer == ANSWER_LIMITED)
		buf_add_u64(send_line(t, &m, STR("Retry-After")), t->retry_after_s);
	if (type.n)
		buf_add_str(send_line(t, &m, STR("Content-Type")), type);
	if (t->answer != ANSWER_LOCAL) /* it is this request's alone, and in the form it likes */
		buf_add_lit(send_line(t, &m, STR("Cache-Control")), "no-store");
	body_of_text(&t->body, body);
	send_end(t, &m);
}

static void
answer_page(struct txn *t, int status, struct str allow, const char *word, const char *rule)
{
	struct buf body = {0};
	struct error_page page = {
		.status = status, .word = word, .rule = rule, .id = txn_request_id(t)};
	struct str accept = fields_get(&t->rq.fields, FIELD_ACCEPT);
	struct str type = error_page_add(&page, accept, &body);
	answer_text(t, status, allow, type, arena_copy(t->arena, buf_str(&body)));
	buf_fini(&body);
}

void
answer_local(struct txn *t, int status, struct str allow)
{
	t->cs.fwd = NULL;
	t->answer = ANSWER_LOCAL;
	answer_text(t, status, allow, STR(""), STR(""));
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
	body_of_text(&t->body, STR(""));
	send_end(t, &m);
}

void
answer_denied(struct txn *t)
{
	t->cs.fwd = NULL;
	t->answer = ANSWER_DENIED;
	t->detail = "denied";
	answer_page(t, 403, STR(""), t->detail, NULL);
}

void
answer_limited(struct txn *t, uint64_t retry_after_s)
{
	t->cs.fwd = NULL;
	t->cs.hit = t->cs.has_ttl = false;
	t->sighting.verdict = ADMISSION_NOT_STORABLE;
	t->answer = ANSWER_LIMITED;
	t->detail = "rate";
	t->retry_after_s = retry_after_s;
	answer_page(t, 429, STR(""), t->detail, NULL);
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
	body_of_text(&t->body, STR(""));
	send_end(t, &m);
}

void
answer_routed(struct txn *t, const struct local_rules *r)
{
	struct maker m;
	struct str body = r->page ? t->settings->pages[r->page - 1] : r->body;
	if (r->page && !body.p && r->status < 400) { /* nobody is told that this was the answer */
		answer_error(t, 503, "answer-file");
		return;
	}
	t->cs.fwd = NULL;
	t->answer = ANSWER_ROUTED;
	t->detail = "answer";
	send_begin(&m, t, r->status, r->status == 204 ? LENGTH_UNKNOWN : body.n);
	send_date(t, &m);
	if (r->retry_after_s)
		buf_add_u64(send_line(t, &m, STR("Retry-After")), r->retry_after_s);
	if (body.n)
		buf_add_str(send_line(t, &m, STR("Content-Type")), r->type);
	body_of_text(&t->body, body);
	send_end(t, &m);
}

void
answer_said(struct txn *t, int status, struct str body)
{
	t->cs.fwd = NULL;
	t->answer = ANSWER_LOCAL;
	answer_text(t, status, STR(""), STR("text/plain"), arena_copy(t->arena, body));
}

void
answer_fault(struct txn *t, const struct fault *f)
{
	t->fault = f;
	t->answer = ANSWER_REJECTED;
	t->detail = f->word;
	answer_page(t, f->status, f == &fault_CONNECT ? method_allow : STR(""), f->word, f->rule);
}

/* In place of the answer that was about to be given. */
void
answer_error(struct txn *t, int status, const char *word)
{
	t->cs.hit = t->cs.has_ttl = false;
	t->sighting.verdict = ADMISSION_NOT_STORABLE;
	t->answer = ANSWER_ERROR;
	t->detail = word;
	answer_page(t, status, STR(""), word, NULL);
}

void
answer_interim(struct txn *t)
{
	struct field_block head;
	t->text.n = 0;
	flight_read_interim(t->reader, &t->text);
	for (struct str rest = buf_str(&t->text); field_block_take(&rest, &head);)
		stream_interim(t->stream, &head);
}
