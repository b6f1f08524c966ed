/* fleet_journal.c - purges of this node are appended to the journal, and those of others are read from it. */
#include "proxy/fleet/fleet_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/fleet/purge_names.h"
#include "proxy/fleet/replies.h"

#include <assert.h>
#include <stdio.h>

enum { EVERY_MS = 1000, HASTE_MS = 100 };

/* ---- holding ------------------------------------------------------------------------------- */

static bool
hold(struct fleet *f, bool holds)
{
	struct fleet_journal *j = &f->purges.journal;
	if (journal_state_holds(j->state) == holds)
		return false;
	journal_state_hold(j->state, holds);
	if (f->purges.hold)
		f->purges.hold(f->keep_ctx, holds);
	return true;
}

/* Its place stays as it is, and what lies behind it is in its memory now. */
void
fleet_journal_trust(struct fleet *f, unsigned members)
{
	struct journal_state *s = f->purges.journal.state;
	journal_state_remember(s, journal_state_place(s));
	if (hold(f, false))
		log_info(
			"fleet: the engine is away, and the %u other members have told which purges "
			"this node has missed; the disk is used",
			members);
}

/* From then on this node is known to whoever purges. */
static void
follow(struct fleet *f)
{
	struct fleet_journal *j = &f->purges.journal;
	if (!journal_state_reaches_any(j->state) && j->again >= j->again_to && !j->renews)
		journal_state_remember(j->state, j->to);
	f->purges.recall.on_word = false;
	if (hold(f, false))
		log_info("fleet: the journal of purges is read; the disk is used");
}

/* ---- what is read --------------------------------------------------------------------------- */

/* All that was told is applied. */
static void
finish(struct fleet *f)
{
	struct fleet_journal *j = &f->purges.journal;
	int64_t now = now_ms();
	j->due_ms = now + (journal_state_holds(j->state) ? HASTE_MS : EVERY_MS);
	if (!j->durable)
		return;
	journal_state_move(j->state, j->to_id, j->to);
	if (!j->ends)
		j->due_ms = now;
	else if (j->as_member)
		follow(f);
}

static void
on_applied(struct fleet *f, void *ctx, bool durable)
{
	struct fleet_journal *j = &f->purges.journal;
	(void)ctx;
	assert(j->news);
	j->durable = j->durable && durable;
	if (--j->news == 0)
		finish(f);
}

static void
tell(struct fleet *f, uint64_t from, struct str items)
{
	struct buf all = {0};
	if (!items.n)
		purge_items_everything(&all);
	f->purges.journal.news++;
	fleet_news_tell(f, from, items.n ? items : buf_str(&all), on_applied, NULL);
	buf_fini(&all);
}

/* Whether the first purge of the items was applied, and so was heard of before. */
static bool
is_known(const struct fleet *f, const struct journal_entry *e)
{
	struct purge_items_reader r;
	struct purge_item i;
	return e->items.n && purge_items_open(&r, e->items) && purge_items_next(&r, &i) &&
	       purge_names_has(f->purges.names, e->node, i.number);
}

/* One that a process of before has heard of is not in this one's memory; until it is said to reach anywhere, it need not
 * be. */
static void
remember(struct fleet *f, const struct journal_entry *e)
{
	struct journal_state *s = f->purges.journal.state;
	if (!e->items.n)
		journal_state_pass(s, e->at);
	else if (!journal_state_place_those(s, e->node, e->items, e->at) &&
		 (!is_known(f, e) ||
		  (journal_state_reaches_any(s) && !journal_state_covers(s, e->node, e->items))))
		journal_state_note_at(s, e->node, e->items, e->at, now_s());
}

static void
take(struct fleet *f, const struct journal_answer *a)
{
	struct fleet_journal *j = &f->purges.journal;
	j->durable = true;
	j->ends = a->n < JOURNAL_AT_ONCE;
	j->as_member = j->asked_as_member;
	j->to = a->n ? a->of[a->n - 1].at : journal_state_place(j->state);
	snprintf(j->to_id, sizeof j->to_id, "%s", a->id);
	j->news = 1; /* until all are told */
	if (!journal_is_before(j->to, j->own))
		j->own = (struct journal_place){0};
	for (unsigned i = 0; i < a->n; i++) {
		const struct journal_entry *e = &a->of[i];
		if (!e->node) {
			j->facts.refused++;
			continue;
		}
		j->facts.entries++;
		remember(f, e);
		tell(f, e->node, e->items);
	}
	on_applied(f, NULL, true);
}

/* Purges may have been missed: nothing that is stored counts any more. */
static void
empty(struct fleet *f, const struct journal_answer *a)
{
	struct fleet_journal *j = &f->purges.journal;
	bool first = !*journal_state_known(j->state);
	if (first)
		log_info("fleet: this node follows the journal of purges from here on; what it "
			 "has stored before is forgotten");
	else
		log_warning("fleet: the journal of purges does not have all since this node read "
			    "it last; so that nothing comes back that was purged meanwhile, the "
			    "cache is emptied");
	j->facts.emptied += !first;
	journal_state_blur(j->state); /* whoever asks this node might need what it has not read */
	j->durable = true;
	j->ends = false; /* some may have come meanwhile */
	j->own = (struct journal_place){0};
	j->to = a->last;
	snprintf(j->to_id, sizeof j->to_id, "%s", a->id);
	tell(f, f->me.id, STR(""));
}

/* The journal has lost some, and this node has not: all who have not journal again what they have heard of lately. What
 * lies behind this node's place is read on. */
static void
go_on(struct fleet *f, const struct journal_answer *a, bool renews)
{
	struct fleet_journal *j = &f->purges.journal;
	struct journal_lately last = {0}, next;
	log_warning(
		"fleet: the engine came back with less of the journal of purges than it had; those "
		"of the last hour are journaled again");
	while (journal_state_lately(j->state, last.serial, 0, &next))
		last = next;
	j->again = 0;
	j->again_to = last.serial;
	j->renews = renews;
	j->own = (struct journal_place){0};
	j->facts.renewed++;
	journal_state_move(j->state, a->id, a->n ? a->of[0].before : a->last);
	j->due_ms = 0;
}

static void
on_entries(struct fleet *f, const struct journal_answer *a)
{
	const struct journal_state *s = f->purges.journal.state;
	struct journal_place place = journal_state_place(s);
	bool holds = journal_state_holds(s);
	bool gap = a->n && a->of[0].has_before && journal_is_before(place, a->of[0].before);
	enum journal_word word = journal_judge(journal_state_known(s), place, a);
	if (word == JOURNAL_FOLLOWS && journal_lacks(f->purges.journal.own, a))
		word = JOURNAL_OLDER;
	switch (word) {
	case JOURNAL_FOLLOWS:
		take(f, a);
		break;
	case JOURNAL_TRIMMED:
		empty(f, a);
		break;
	case JOURNAL_OTHER:
		if (holds || gap || !*journal_state_known(s))
			empty(f, a);
		else
			go_on(f, a, false);
		break;
	case JOURNAL_OLDER:
		if (holds)
			empty(f, a);
		else
			go_on(f, a, true);
		break;
	}
}

/* ---- the engine's answers ------------------------------------------------------------------- */

/* False: it says nothing that counts; asked again later. */
static bool
hear(struct fleet *f, const struct redisReply *r, struct journal_answer *a)
{
	struct fleet_journal *j = &f->purges.journal;
	j->under_way = false;
	j->retry_ms = now_ms() + EVERY_MS;
	if (!r)
		return false;
	journal_read(r, &f->secret, a);
	j->whole = a->word == JOURNAL_NO_SCRIPT;
	if (a->word == JOURNAL_NO_SCRIPT || a->word == JOURNAL_IS)
		j->retry_ms = 0;
	if (a->word == JOURNAL_BROKEN && !j->is_broken)
		log_warning("fleet: the engine cannot keep the journal of purges: it says %.*s",
			    a->text.n > 200 ? 200 : (int)a->text.n, a->text.n ? a->text.p : "");
	j->is_broken = a->word == JOURNAL_BROKEN;
	return a->word == JOURNAL_IS;
}

static void
on_read(void *ctx, const struct redisReply *r)
{
	struct fleet *f = ctx;
	struct journal_answer a;
	if (hear(f, r, &a))
		on_entries(f, &a);
	fleet_journal_turn(f, now_ms());
}

static void
on_renewed(void *ctx, const struct redisReply *r)
{
	struct fleet *f = ctx;
	struct fleet_journal *j = &f->purges.journal;
	struct journal_answer a;
	if (hear(f, r, &a)) {
		j->renews = false;
		j->due_ms = 0;
		journal_state_move(j->state, a.id, journal_state_place(j->state));
	}
	fleet_journal_turn(f, now_ms());
}

/* A node that has joined a moment ago has to have the purge as well: it is looked for at once. */
static void
mind_members(struct fleet *f, struct str members)
{
	struct fleet_journal *j = &f->purges.journal;
	bool same = str_eq(members, str_of(f->roster.known)) || !*f->roster.known;
	snprintf(j->members, sizeof j->members, "%.*s", same ? 0 : (int)members.n, members.p);
	if (!same)
		f->beats.due_ms = 0;
}

static void
on_appended(void *ctx, const struct redisReply *r)
{
	struct fleet *f = ctx;
	struct fleet_journal *j = &f->purges.journal;
	struct parcel *p = j->appends;
	struct journal_answer a;
	bool done = hear(f, r, &a);
	j->appends = NULL;
	j->facts.appended += done;
	if (done) {
		j->own = a.last;
		mind_members(f, a.members);
	}
	if (done && p)
		p->journaled_ms = now_ms();
	if (done && p)
		outbox_drop(f->purges.outbox, p);
	else if (done)
		j->again = j->appending;
	parcel_unref(&p);
	fleet_wait_turn(f, now_ms(), false);
	fleet_journal_turn(f, now_ms());
}

/* ---- asking -------------------------------------------------------------------------------- */

static void
ask(struct fleet *f, struct journal_ask *a, engine_answer_fn *answer)
{
	struct fleet_journal *j = &f->purges.journal;
	struct journal_command c;
	a->known = journal_state_known(j->state);
	a->whole = j->whole;
	journal_make(&c, a, &f->secret);
	j->under_way = engine_ask(f->beats.engine, c.words, c.words_n, answer, f);
}

static bool
append_again(struct fleet *f)
{
	struct fleet_journal *j = &f->purges.journal;
	struct journal_lately next;
	if (j->again >= j->again_to ||
	    !journal_state_lately(j->state, j->again, now_s() - JOURNAL_LATELY_S, &next) ||
	    next.serial > j->again_to) {
		j->again = j->again_to;
		return false;
	}
	j->appending = next.serial;
	ask(f,
	    &(struct journal_ask){.order = JOURNAL_APPEND, .node = next.node, .items = next.items},
	    on_appended);
	return true;
}

static bool
append_own(struct fleet *f)
{
	struct fleet_journal *j = &f->purges.journal;
	struct parcel *p = outbox_first(f->purges.outbox);
	if (!p)
		return false;
	ask(f,
	    &(struct journal_ask){
		    .order = JOURNAL_APPEND, .node = f->me.id, .items = buf_str(&p->items)},
	    on_appended);
	if (j->under_way)
		j->appends = parcel_ref(p);
	return true;
}

/* A process that stood still has missed what was purged meanwhile. */
static void
mind_the_time(struct fleet *f, int64_t now)
{
	struct fleet_journal *j = &f->purges.journal;
	bool still = j->turned_ms && now - j->turned_ms > BEAT_LEASE_MS;
	j->turned_ms = now;
	if (!still || journal_state_holds(j->state))
		return;
	log_warning("fleet: this process stood still; nothing is answered from the disk until it "
		    "has read the journal of purges");
	hold(f, true);
	j->due_ms = 0;
}

void
fleet_journal_turn(struct fleet *f, int64_t now)
{
	struct fleet_journal *j = &f->purges.journal;
	if (!fleet_has_journal(f))
		return;
	mind_the_time(f, now);
	if (f->leaves || j->under_way || !engine_is_open(f->beats.engine) || f->beats.refuses ||
	    now < j->retry_ms)
		return;
	if (j->renews)
		ask(f, &(struct journal_ask){.order = JOURNAL_RENEW}, on_renewed);
	else if (append_again(f) || append_own(f))
		return;
	else if (!j->news && now >= j->due_ms) {
		j->asked_as_member = f->beats.heard;
		ask(f,
		    &(struct journal_ask){.order = JOURNAL_READ,
					  .from = journal_state_place(j->state)},
		    on_read);
	}
}

/* Said once: the journal is worth as much as the engine writes down. */
static void
on_info(void *ctx, const struct redisReply *r)
{
	struct fleet *f = ctx;
	struct fleet_journal *j = &f->purges.journal;
	if (j->said_forgetful || !journal_is_forgetful(replies_text(r)))
		return;
	j->said_forgetful = true;
	log_warning(
		"fleet: the engine %s writes nothing down (appendonly no), so that a restart of "
		"it loses the journal of purges, and nodes that were not running then come "
		"back empty",
		engine_name(f->beats.engine));
}

/* ---- life ---------------------------------------------------------------------------------- */

void
fleet_journal_begin(struct fleet *f)
{
	struct str words[] = {STR("INFO"), STR("persistence")};
	engine_ask(f->beats.engine, words, 2, on_info, f);
	f->purges.journal.due_ms = 0;
	fleet_journal_turn(f, now_ms());
}

void
fleet_journal_open(struct fleet *f, const struct fleet_options *o)
{
	f->purges.journal.state = o->journal;
	f->purges.hold = o->hold;
}

void
fleet_journal_close(struct fleet *f)
{
	parcel_unref(&f->purges.journal.appends);
}
