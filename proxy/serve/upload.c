/* upload.c - the request's body, from the client's connection to the fetch that sends it on:
 * decoded, counted, never faster than the origin takes it. */
#include "proxy/serve/fill_inside.h"

#include "proxy/http/chunked.h"

void
fill_body_ready(struct fill *f)
{
	if (f->fetch && f->feeder && f->feeder->body_wanted) {
		f->feeder->body_wanted = false;
		fetch_send_more(f->fetch);
	}
}

void
fill_body_gone(struct fill *f)
{
	struct txn *t = f->feeder;
	fill_drop_feeder(f);
	if (t && !t->body_over && !f->whole)
		fill_abandon(f, 502, "request-body-failed");
}

static void
say_continue(struct txn *t)
{
	bool first = t->rq.expect_continue && !t->continue_sent && t->rq.minor >= 1;
	t->continue_sent = true;
	if (!first || t->state != TXN_WAIT_FLIGHT) /* never into an answer */
		return;
	/* What was answered before may still fill the socket. */
	buf_add_lit(&t->out, "HTTP/1.1 100 Continue\r\n\r\n");
	answer_pump(t);
}

static ptrdiff_t
take_chunked(struct txn *t, struct str in, char *p, size_t max)
{
	struct str rest = {in.p, in.n < max ? in.n : max}, data;
	const struct fault *fault = NULL;
	size_t got = 0;
	for (;;) {
		switch (chunked_decode(&t->chunked, &rest, &data, &fault)) {
		case CHUNKED_DATA:
			memcpy(p + got, data.p, data.n);
			got += data.n;
			continue;
		case CHUNKED_DONE:
			t->body_over = true;
			break;
		case CHUNKED_FAULT:
			t->fault = fault;
			t->body_failed = true;
			break;
		case CHUNKED_MORE:
			break;
		}
		break;
	}
	conn_consume(t->conn, (size_t)(rest.p - in.p));
	return t->body_failed ? FETCH_SEND_ABORT : (ptrdiff_t)got;
}

static ptrdiff_t
take_counted(struct txn *t, struct str in, char *p, size_t max)
{
	size_t n = in.n < max ? in.n : max;
	if (n > t->body_left)
		n = (size_t)t->body_left;
	memcpy(p, in.p, n);
	t->body_left -= n;
	t->body_over = t->body_left == 0;
	conn_consume(t->conn, n);
	return (ptrdiff_t)n;
}

/* The client owes nothing now. That it takes our bytes is another wait, with a limit of its own. */
static void
body_came(struct txn *t)
{
	if (t->conn->waiting == WAIT_BODY)
		conn_wait(t->conn, WAIT_NOTHING);
}

ptrdiff_t
upload_take(void *ctx, char *p, size_t max)
{
	struct fill *f = ctx;
	struct txn *t = f->feeder;
	if (!t)
		return FETCH_SEND_ABORT;
	uint64_t most = f->settings->config->limits.body_bytes;
	while (!t->body_over) {
		struct str in = conn_input(t->conn);
		if (in.n == 0) {
			if (t->conn->eof) {
				t->body_failed = true;
				return FETCH_SEND_ABORT;
			}
			say_continue(t);
			t->body_wanted = true;
			conn_wait(t->conn, WAIT_BODY);
			return FETCH_SEND_LATER;
		}
		t->continue_sent = true;
		ptrdiff_t n = t->rq.framing == FRAMING_CHUNKED ? take_chunked(t, in, p, max)
							       : take_counted(t, in, p, max);
		conn_keep_view(t->conn);
		if (n > 0 && most && (t->body_taken += (uint64_t)n) > most) {
			t->fault = &fault_BODY_TOO_LARGE;
			t->body_failed = true;
			return FETCH_SEND_ABORT;
		}
		if (n != 0) {
			body_came(t);
			return n;
		}
	}
	body_came(t);
	return 0;
}
