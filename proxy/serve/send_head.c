/* send_head.c - the head of an answer: what is put together, and handed to the stream. */
#include "proxy/serve/send_inside.h"

#include "config/config.h"
#include "proxy/http/date.h"
#include "proxy/fleet/hop.h"
#include "proxy/serve/coded.h"
#include "proxy/serve/sibling_word.h"
#include "proxy/serve/walk.h"
#include "proxy/serve/rules/trailers.h"

void
send_date(struct txn *t, struct maker *m)
{
	char date[DATE_BYTES];
	date_format(now_s(), date);
	buf_add(send_line(t, m, STR("Date")), date, DATE_BYTES);
}

void
send_age(struct txn *t, struct maker *m, const struct terms *terms)
{
	int64_t age = terms_age(terms, now_s());
	buf_add_u64(send_line(t, m, STR("Age")), age > 0 ? (uint64_t)age : 0);
}

/* Of t->body; from: its source, or NULL. */
static struct stream_source
source_of(struct txn *t, const struct body_source *from)
{
	struct stream_source source = {.pull = body_pull, .ctx = &t->body};
	if (t->body.coded)
		source.pull = coded_pull;
	if (from && from->file)
		source.file = body_file;
	if (from && from->go_back)
		source.give_back = body_take_back;
	if (from && t->way == WAY_PASSING && trailers_are_wanted(&t->rq.fields))
		source.trailers = from->trailers;
	return source;
}

/* Every answer ends its head with these lines, and off it goes. */
void
send_end(struct txn *t, struct maker *m)
{
	const struct config *c = t->settings->config;
	const struct body_source *from = t->body.source;
	struct stream_source source = source_of(t, from);
	if (t->from.sibling)
		sibling_add_answer(t, send_line(t, m, STR(HOP_FIELD)));
	if (!t->cs.hit &&
	    !t->from.sibling) /* a hit concerns nobody but its log line, and stays as cheap as it was */
		buf_add_str(send_line(t, m, STR("X-Request-ID")), txn_request_id(t));
	if (!t->from.sibling) {
		struct buf *via = send_line(t, m, STR("Via"));
		buf_add_lit(via, "1.1 ");
		buf_add_str(via, t->settings->outgoing.via);
	}
	if (t->from.sibling || t->from.elsewhere)
		t->cs.name = t->serve->fleet.chart ? t->serve->fleet.chart->self.name : t->cs.name;
	t->cs.detail = t->detail;
	if (c->cache.status_key)
		t->cs.key = key_primary(&t->key);
	cache_status_format(&t->cs, send_line(t, m, STR("Cache-Status")));
	struct stream_line few[LINES_MOST], *lines = m->kept ? m->kept : few;
	for (unsigned i = 0; i < m->n; i++) {
		size_t to = i + 1 < m->n ? m->from[i + 1] : t->text.n;
		lines[m->kept_n + i] = (struct stream_line){
			m->names[i], {t->text.p + m->from[i], to - m->from[i]}};
	}
	assert(m->from[0] <= t->text.n);
	m->head.stored = m->stored.count ? &m->stored : NULL;
	m->head.add = lines;
	m->head.add_n = m->kept_n + m->n;
	const struct route *route = t->route ? t->route : route_default(t->settings->routes);
	if (route->response && !t->from.sibling)
		m->head.add = send_ruled(t, m, route->response, lines, &m->head.add_n);
	/* Bytes behind a refused upgrade may be meant for the other protocol: they are no request. */
	bool refuses = t->tunnel.protocol.n && !m->head.upgrade.n;
	m->head.close = m->head.close || t->fault != NULL || refuses;
	m->head.pauses |= route->streams ? STREAM_PAUSES_REQUEST : 0;
	t->head_us = now_us();
	txn_move(t, TXN_SEND);
	stream_head(t->stream, &m->head, from ? &source : NULL);
}

bool
send_is_head(const struct txn *t)
{
	return t->rq.method == METHOD_HEAD;
}

enum answer
send_walk_answer(const struct txn *t)
{
	if (walk_help(t->body.walk) == WALK_JOINED)
		return ANSWER_COALESCED;
	return t->from.elsewhere ? ANSWER_SIBLING : ANSWER_MISS;
}
