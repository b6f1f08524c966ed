/* h1_answer.c - heads of answers, and what serve tells wire. */
#include "proxy/wire/h1_stream.h"

enum { INTERIM_MOST = 16 << 10 }; /* bytes of 1xx answers that one request may cause */

/* ---- answer heads ---------------------------------------------------------------------------- */

static struct str
usual_reason(int status)
{
	static const struct {
		int status;
		struct str words;
	} reasons[] = {
		{200, STR_INIT("OK")},
		{206, STR_INIT("Partial Content")},
		{304, STR_INIT("Not Modified")},
		{400, STR_INIT("Bad Request")},
		{405, STR_INIT("Method Not Allowed")},
		{408, STR_INIT("Request Timeout")},
		{411, STR_INIT("Length Required")},
		{412, STR_INIT("Precondition Failed")},
		{413, STR_INIT("Content Too Large")},
		{414, STR_INIT("URI Too Long")},
		{416, STR_INIT("Range Not Satisfiable")},
		{417, STR_INIT("Expectation Failed")},
		{421, STR_INIT("Misdirected Request")},
		{431, STR_INIT("Request Header Fields Too Large")},
		{501, STR_INIT("Not Implemented")},
		{502, STR_INIT("Bad Gateway")},
		{503, STR_INIT("Service Unavailable")},
		{504, STR_INIT("Gateway Timeout")},
		{505, STR_INIT("HTTP Version Not Supported")},
		{508, STR_INIT("Loop Detected")},
		{103, STR_INIT("Early Hints")},
		{101, STR_INIT("Switching Protocols")},
	};
	for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
		if (reasons[i].status == status)
			return reasons[i].words;
	return STR("");
}

static char *
put(char *to, struct str s)
{
	if (s.n)
		memcpy(to, s.p, s.n);
	return to + s.n;
}

static char *
put_status_line(char *to, int status, struct str reason)
{
	to = put(to, STR("HTTP/1.1 "));
	to += buf_put_u64(to, (uint64_t)status);
	*to++ = ' ';
	to = put(to, reason.n ? reason : usual_reason(status));
	return put(to, STR("\r\n"));
}

/* The connection's fate is decided here (RFC 9112 9.3): an answer that overtakes its request's body
 * ends it. */
static struct str
connection_line(const struct h1_stream *s)
{
	if (!s->keep_alive)
		return STR("Connection: close\r\n\r\n");
	return s->r->rq.minor == 0 ? STR("Connection: keep-alive\r\n\r\n") : STR("\r\n");
}

enum { LINES_MOST = 200 }; /* what put_head writes besides reason, stored and added lines */

static size_t
head_most(const struct stream_head *h)
{
	size_t n = LINES_MOST + h->reason.n + h->upgrade.n + (h->stored ? h->stored->lines.n : 0);
	for (unsigned i = 0; i < h->add_n; i++)
		n += h->add[i].name.n + h->add[i].value.n + 4;
	return n;
}

static char *
put_head(char *to, const struct h1_stream *s, const struct stream_head *h)
{
	to = put_status_line(to, h->status, h->reason);
	if (h->stored)
		to = put(to, h->stored->lines);
	for (unsigned i = 0; i < h->add_n; i++) {
		to = put(to, h->add[i].name);
		to = put(to, STR(": "));
		to = put(to, h->add[i].value);
		to = put(to, STR("\r\n"));
	}
	if (h->bytes != LENGTH_UNKNOWN) {
		to = put(to, STR("Content-Length: "));
		to += buf_put_u64(to, h->bytes);
		to = put(to, STR("\r\n"));
	} else if (s->framing_out == OUT_CHUNKS) {
		to = put(to, STR("Transfer-Encoding: chunked\r\n"));
	}
	if (h->upgrade.n) {
		to = put(to, STR("Connection: upgrade\r\nUpgrade: "));
		to = put(to, h->upgrade);
		return put(to, STR("\r\n\r\n"));
	}
	return put(to, connection_line(s));
}

void
h1_answer_add(struct h1_stream *s, struct str a, struct str b, struct str c)
{
	char *text = arena_alloc(s->arena, s->out.n + a.n + b.n + c.n), *end = text;
	struct str parts[] = {s->out, a, b, c};
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		if (parts[i].n)
			end = (char *)memcpy(end, parts[i].p, parts[i].n) + parts[i].n;
	s->out = (struct str){text, (size_t)(end - text)};
}

/* All that follows the head is not HTTP any more, either way. */
static void
begin_tunnel(struct h1_stream *s)
{
	assert(s->body == BODY_OVER && s->answering == ANSWER_FLOWS);
	s->tunnel = true;
	s->body = BODY_OPEN;
	s->keep_alive = false;
	s->framing_out = OUT_CLOSE;
	s->left = LENGTH_UNKNOWN;
	if (s->conn->wire->draining)
		s->answering = ANSWER_RESET;
}

void
h1_answer_head(struct stream *base, const struct stream_head *h, const struct stream_source *src)
{
	struct h1_stream *s = h1_stream_of(base);
	struct conn *c = s->conn;
	/* Interim answers were taken too slowly: serve hears of the end in a moment. */
	if (s->answering == ANSWER_SLOW)
		return;
	assert(s->answering == ANSWER_AWAITED && h->status <= 999);
	assert(h->upgrade.n ? h->status == 101 : h->status >= 200);
	bool no_body = s->r->rq.method == METHOD_HEAD || h->status == 204 || h->status == 304 ||
		       h->bytes == 0 || !src;
	if (h->close || s->r->fault || s->body != BODY_OVER || c->wire->draining ||
	    c->wire->leaving || c->wire->lame_duck)
		s->keep_alive = false;
	s->pauses = h->pauses;
	s->left = h->bytes;
	s->answering = no_body ? ANSWER_WHOLE : ANSWER_FLOWS;
	if (!no_body && h->bytes == LENGTH_UNKNOWN) {
		s->framing_out = s->r->rq.minor >= 1 ? OUT_CHUNKS : OUT_CLOSE;
		s->keep_alive = s->keep_alive && s->framing_out == OUT_CHUNKS;
	}
	if (!no_body)
		s->source = *src;
	if (h->upgrade.n)
		begin_tunnel(s);
	char *text = arena_alloc(s->arena, s->out.n + head_most(h));
	char *end = put_head(put(text, s->out), s, h);
	s->out = (struct str){text, (size_t)(end - text)};
	conn_wake(c);
}

void
h1_answer_interim(struct stream *base, const struct field_block *head)
{
	struct h1_stream *s = h1_stream_of(base);
	char line[LINES_MOST];
	if (s->answering != ANSWER_AWAITED || s->r->rq.minor == 0 ||
	    s->interim_bytes + head->lines.n > INTERIM_MOST)
		return;
	s->interim_bytes += head->lines.n + sizeof line;
	size_t n = (size_t)(put_status_line(line, head->status, STR("")) - line);
	h1_answer_add(s, (struct str){line, n}, head->lines, STR("\r\n"));
	conn_wake(s->conn);
}

void
h1_answer_ready(struct stream *base)
{
	struct h1_stream *s = h1_stream_of(base);
	if (s->answering == ANSWER_LATER)
		s->answering = ANSWER_FLOWS;
	conn_wake(s->conn);
}

void
h1_answer_reset(struct stream *base)
{
	struct h1_stream *s = h1_stream_of(base);
	s->answering = ANSWER_RESET;
	conn_wake(s->conn);
}
