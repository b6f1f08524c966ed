/* sibling_word.c - the field Twice-Hop, as it is said and heard. */
#include "proxy/serve/sibling_word.h"

#include "proxy/cache/store/object_facts.h"
#include "proxy/fleet/hop.h"
#include "proxy/fleet/purge_seen.h"
#include "proxy/serve/fill_inside.h"

/* ---- of what a sibling is asked ------------------------------------------------------------ */

static void
add_hop(const struct fill *f, struct buf *lines)
{
	const struct backend_siblings *s = &f->backend.siblings;
	const struct request *rq = &f->rq;
	struct hop h = {
		.from = s->chart->self.id,
		.at_s = now_s(),
		.client = str_of(f->client_ip),
		.scheme = rq->scheme,
		.http = rq->by_h2 ? 2 : rq->minor > 0,
		.ask = s->asks,
	};
	struct hop_subject about = {
		.to = s->of[s->at]->m.id, .method = rq->method_name, .target = rq->path_query};
	struct purge_name heard[PURGE_NAMES_SEEN_MOST];
	struct buf seen = {0};
	unsigned n = purge_names_seen(f->serve->shelves->fleet->names, now_ms(), heard);
	if (n)
		purge_seen_format(heard, n, &seen);
	h.seen = buf_str(&seen);
	buf_add_lit(lines, HOP_FIELD ": ");
	hop_format(&h, &s->chart->self.secret, &about, lines);
	buf_add_lit(lines, "\r\n");
	buf_fini(&seen);
}

void
sibling_add_question(const struct fill *f, const struct outgoing_asks *asks, struct buf *lines)
{
	outgoing_raw(&f->outgoing, asks, lines);
	add_hop(f, lines);
}

struct str
sibling_field(const struct fields *fields)
{
	unsigned at = 0;
	const struct field *f = fields_next(fields, FIELD_TWICE_HOP, &at);
	return f && !fields_next(fields, FIELD_TWICE_HOP, &at) ? f->value : STR("");
}

void
sibling_read_answer(struct fill *f, const struct response *rs)
{
	const struct backend_siblings *s = &f->backend.siblings;
	struct hop h;
	struct str line = sibling_field(&rs->fields);
	f->asked.cold = f->asked.on_disk = false;
	if (!line.n || hop_parse(line, &h))
		return;
	f->asked.cold = h.no_copy;
	f->asked.had = h.copy.n > 0;
	/* Another zone keeps it: here it must be asked for twice, as if it came from an origin. */
	f->asked.on_disk = str_eq(h.copy, STR("disk")) && !chart_is_across(s->chart, s->of[s->at]);
	hop_read_tags(h.tags, &f->tags);
}

/* ---- in the answer to a sibling ------------------------------------------------------------ */

void
sibling_waits(struct txn *t)
{
	enum { PROCESSING = 102 }; /* RFC 2518 10.1 */
	struct buf head = {0};
	struct field_block_writer w;
	struct field_block block;
	if (!t->from.sibling || t->from.waits)
		return;
	t->from.waits = true;
	field_block_begin(&w, &head, PROCESSING, STR("Processing"));
	field_block_end(&w);
	if (field_block_open(buf_str(&head), &block))
		stream_interim(t->stream, &block);
	buf_fini(&head);
}

void
sibling_add_answer(const struct txn *t, struct buf *out)
{
	const struct chart *c = t->serve->fleet.chart;
	struct buf tags = {0};
	if (t->from.said.n || !c) {
		buf_add_str(out, t->from.said);
		return;
	}
	const struct object *o = t->object;
	struct hop h = {.from = c->self.id, .at_s = now_s()};
	if (t->cs.hit)
		h.copy = o && o->on_disk ? STR("disk") : STR("ram");
	else if (t->from.had)
		h.copy = STR("sibling");
	else if (t->from.asks)
		h.state = STR("lacking");
	h.verdict = str_of(admission_word(t->sighting.verdict));
	hop_add_tags(t->from.tags, &tags);
	h.no_copy = t->from.tags.n > HOP_TAGS_MOST;
	h.tags = buf_str(&tags);
	hop_format(&h, NULL, NULL, out);
	buf_fini(&tags);
}
