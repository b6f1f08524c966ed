/* fleet_recall.c - while the engine is away: siblings are asked for purges that this node may have missed, and are told
 * what it has heard of (recall.h says why that is enough). */
#include "proxy/fleet/fleet_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/fleet/recall.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	AWAY_MS =
		2000, /* an engine that says nothing for so long; one that takes no connection is away at once */
	EVERY_MS = 1000,
	LIMIT_MS = 1000,
	AT_ONCE = 32,
	IN_TURN =
		8, /* siblings that a node asks each second which misses nothing that it knows of */
	WORTH_A_LINE = 2 /* times that one could not help */
};

struct fleet_recall_row { /* a sibling */
	struct fleet *fleet;
	struct peer *peer;
	struct peer_question asked;
	int64_t due_ms;
	uint64_t memory, behind; /* all up to there is applied */
	unsigned news;		 /* that are being applied, of an answer with: */
	uint64_t next_memory, next_behind;
	bool ends, knows, durable;
	bool fine; /* it knows, and all that it has told is on disk */
	unsigned failures;
	char said[96]; /* why it could not help, as the log has it */
};

/* ---- what is told --------------------------------------------------------------------------- */

struct telling {
	const struct fleet *fleet;
	const struct recall_question *asked;
	bool compares; /* places of the asker are of this journal */
	struct buf *out;
	uint64_t behind;
	bool ends;
};

static bool
add(void *ctx, const struct journal_lately_visit *v)
{
	struct telling *t = ctx;
	bool has = t->compares && v->has_place && !journal_is_before(t->asked->from, v->at);
	t->ends = has || recall_add(t->out, v->of.node, v->of.items);
	if (t->ends)
		t->behind = v->of.serial;
	return t->ends;
}

static enum recall_word
word_for(const struct fleet *f, const struct recall_question *q)
{
	const struct journal_state *s = f->purges.journal.state;
	if (journal_state_holds(s))
		return RECALL_HELD;
	if (strcmp(q->known, journal_state_known(s)) != 0)
		return RECALL_OTHER;
	return journal_state_reaches(s, q->from) ? RECALL_KNOWS : RECALL_YOUNG;
}

static void
tell(const struct fleet *f, const struct recall_question *q, struct buf *out)
{
	uint64_t *ids = mem_zalloc((f->roster.n + 1) * sizeof *ids), memory = f->me.instance;
	const struct journal_state *s = f->purges.journal.state;
	struct telling t = {.fleet = f,
			    .asked = q,
			    .compares = strcmp(q->known, journal_state_known(s)) == 0,
			    .out = out,
			    .behind = q->memory == memory ? q->behind : 0,
			    .ends = true};
	for (unsigned i = 0; i < f->roster.n; i++)
		ids[i] = f->roster.of[i].id;
	recall_begin(out, word_for(f, q), memory, ids, f->roster.n);
	journal_state_each(s, t.behind, add, &t);
	recall_end(out, t.ends, t.behind);
	free(ids);
}

/* From now on the asker is told of purges directly, whether it is a member that is known here or not: so it misses none
 * behind this answer. */
void
fleet_recall_answer(void *ctx, struct control_question *q, uint64_t from, struct str body)
{
	struct fleet *f = ctx;
	struct recall_question asked;
	struct member asker;
	struct buf said = {0};
	if (f->leaves || !fleet_has_journal(f) || from == f->me.id ||
	    recall_take_question(body, &asked) ||
	    member_parse(asked.record, from, &f->secret, &asker)) {
		control_answer(q, 503, STR(""));
		return;
	}
	spread_welcome(f->purges.spread, &asker, now_ms());
	tell(f, &asked, &said);
	control_answer(q, 200, buf_str(&said));
	buf_fini(&said);
}

/* ---- what is heard -------------------------------------------------------------------------- */

static void
put_off(struct fleet_recall_row *w, const char *why)
{
	const struct member *m = &peer_sibling(w->peer)->m;
	w->fine = false;
	w->due_ms = now_ms() + EVERY_MS;
	if (++w->failures < WORTH_A_LINE || !journal_state_holds(w->fleet->purges.journal.state) ||
	    strncmp(w->said, why, sizeof w->said - 1) == 0)
		return;
	snprintf(w->said, sizeof w->said, "%s", why);
	log_warning("fleet: nothing is answered from the disk until the engine is back or "
		    "all members can tell which purges this node has missed; %s (%s) "
		    "cannot: %s",
		    m->name, m->address, why);
}

static int64_t
pause_of(const struct fleet *f)
{
	const struct fleet_recall *r = &f->purges.recall;
	bool needs_all = r->on_word || journal_state_holds(f->purges.journal.state);
	return needs_all ? EVERY_MS : EVERY_MS * (1 + r->n / IN_TURN);
}

static void
end_piece(struct fleet_recall_row *w)
{
	if (!w->durable) {
		put_off(w, "what it told could not be applied");
		return;
	}
	w->memory = w->next_memory;
	w->behind = w->next_behind;
	w->fine = w->ends && w->knows;
	w->due_ms = w->ends ? now_ms() + pause_of(w->fleet) : 0;
	w->failures = w->fine ? 0 : w->failures;
}

static void
on_applied(struct fleet *f, void *ctx, bool durable)
{
	struct fleet_recall_row *w = ctx;
	assert(w->news && f->purges.recall.news);
	w->durable = w->durable && durable;
	f->purges.recall.news--;
	if (--w->news == 0)
		end_piece(w);
}

static void
apply(struct fleet_recall_row *w, uint64_t node, struct str items)
{
	struct fleet *f = w->fleet;
	struct purge_items_reader r;
	struct buf all = {0};
	if (!purge_items_open(&r, items)) {
		purge_items_everything(&all);
		items = buf_str(&all);
	}
	if (!journal_state_has(f->purges.journal.state, node, items))
		journal_state_note(f->purges.journal.state, node, items, now_s());
	w->news++;
	f->purges.recall.news++;
	fleet_news_tell(f, node, items, on_applied, w);
	buf_fini(&all);
}

static bool
knows_all(const struct fleet *f, const struct recall_answer *a)
{
	for (unsigned i = 0; i < a->members; i++) {
		uint64_t id = recall_member(a, i);
		bool known = id == f->me.id;
		for (unsigned k = 0; k < f->roster.n && !known; k++)
			known = f->roster.of[k].id == id;
		if (!known)
			return false;
	}
	return true;
}

static void
on_answer(void *ctx, const struct str *content, const char *why)
{
	struct fleet_recall_row *w = ctx;
	struct recall_answer a;
	uint64_t node;
	struct str items;
	if (!content || recall_take(*content, &a)) {
		put_off(w, content ? "it is another version" : why);
		return;
	}
	bool all = knows_all(w->fleet, &a);
	w->next_memory = a.memory;
	w->next_behind = a.behind;
	w->ends = a.ends;
	w->knows = a.word == RECALL_KNOWS && all;
	w->durable = true;
	w->news = 1; /* until all are told */
	w->fleet->purges.recall.news++;
	if (!w->knows)
		put_off(w, all ? recall_say(a.word) : "it has members that are not known here");
	while (recall_next(&a, &node, &items))
		apply(w, node, items);
	on_applied(w->fleet, w, true);
}

/* ---- asking --------------------------------------------------------------------------------- */

static void
ask(struct fleet_recall_row *w)
{
	struct fleet *f = w->fleet;
	struct buf body = {0}, record = {0};
	member_format(&f->me, &f->secret, &record);
	struct recall_question q = {.from = journal_state_place(f->purges.journal.state),
				    .memory = w->memory,
				    .behind = w->behind,
				    .record = buf_str(&record)};
	memcpy(q.known, journal_state_known(f->purges.journal.state), JOURNAL_ID);
	recall_put_question(&q, &body);
	peer_ask(w->peer, &w->asked, CONTROL_RECALL, buf_str(&body), LIMIT_MS);
	buf_fini(&record);
	buf_fini(&body);
}

static void
ask_all(struct fleet_recall *r, int64_t now)
{
	unsigned under_way = 0;
	for (unsigned i = 0; i < r->n; i++) {
		peer_turn(&r->rows[i].asked, now);
		under_way += r->rows[i].asked.fetch || r->rows[i].news;
	}
	for (unsigned i = 0; i < r->n && under_way < AT_ONCE; i++) {
		struct fleet_recall_row *w = &r->rows[i];
		if (w->asked.fetch || w->news || now < w->due_ms)
			continue;
		if (peer_is_usable(w->peer)) {
			ask(w);
			under_way++;
		} else {
			put_off(w, "its address, or a file of TLS, cannot be used");
		}
	}
}

static void
open_rows(struct fleet *f)
{
	struct fleet_recall *r = &f->purges.recall;
	r->rows = mem_zalloc((f->roster.n + 1) * sizeof *r->rows);
	for (unsigned i = 0; i < f->roster.n; i++) {
		if (f->siblings[i]->is_self)
			continue;
		struct fleet_recall_row *w = &r->rows[r->n++];
		w->fleet = f;
		w->asked.on_answer = on_answer;
		w->asked.ctx = w;
		w->peer = peer_open(f->peers, f->siblings[i], LIMIT_MS, 1);
	}
}

static void
close_rows(struct fleet_recall *r)
{
	for (unsigned i = 0; i < r->n; i++) {
		peer_question_fini(&r->rows[i].asked);
		peer_close(&r->rows[i].peer);
	}
	free(r->rows);
	r->rows = NULL;
	r->n = 0;
}

/* ---- when ----------------------------------------------------------------------------------- */

static bool
is_away(const struct fleet *f, int64_t now)
{
	const struct fleet_beats *b = &f->beats;
	return (b->why[0] && !engine_is_open(b->engine)) || now - b->replied_ms > AWAY_MS;
}

static bool
all_are_fine(const struct fleet_recall *r)
{
	for (unsigned i = 0; i < r->n; i++)
		if (!r->rows[i].fine)
			return false;
	return r->n > 0;
}

void
fleet_recall_turn(struct fleet *f, int64_t now)
{
	struct fleet_recall *r = &f->purges.recall;
	const struct journal_state *s = f->purges.journal.state;
	bool away = fleet_has_journal(f) && is_away(f, now), holds = journal_state_holds(s);
	bool wants = !f->leaves && *journal_state_known(s) && (away || (r->on_word && r->rows));
	if (r->rows && r->news == 0 && (!wants || holds != r->held)) {
		close_rows(r); /* the engine is back, or this node has stood still */
		r->on_word = r->on_word && !holds;
	}
	if (!wants || r->news)
		return;
	if (!r->rows) {
		open_rows(f);
		r->held = holds;
	}
	if (holds && !r->on_word && away && all_are_fine(r)) {
		r->on_word = true;
		r->held = false;
		fleet_journal_trust(f, r->n);
	}
	ask_all(r, now);
}

void
fleet_recall_begin(struct fleet *f)
{
	f->purges.recall.on_word = !journal_state_holds(f->purges.journal.state);
}

void
fleet_recall_close(struct fleet *f)
{
	close_rows(&f->purges.recall);
}
