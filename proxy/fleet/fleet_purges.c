/* fleet_purges.c - what siblings ask this node, purges of it among that, and its own purges on their way to them. */
#include "proxy/fleet/fleet_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/fleet/node_id.h"
#include "proxy/fleet/purge_items.h"

#include <assert.h>
#include <event2/event.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- its state, and that of siblings ---------------------------------------------------------- */

void
fleet_purges_hear_state(struct fleet *f, const struct sibling *s, struct str state, int64_t now)
{
	json_t *json = json_loadb(state.p, state.n, 0, NULL);
	const char *seen = json_string_value(json_object_get(json, "seen"));
	const char *digest = json_string_value(json_object_get(json, "digest"));
	uint64_t number = 0;
	if (digest)
		node_id_parse(str_of(digest), &number);
	fleet_digests_hear_state(f, s, number);
	if (seen && fleet_is_behind(f, str_of(seen)))
		f->purges.ahead_ms = now;
	json_decref(json);
}

bool
fleet_purges_behind(const struct fleet *f, int64_t now)
{
	int64_t since = f->purges.ahead_ms;
	return since && now - since < 2 * INQUIRY_EVERY_MS;
}

static uint64_t
self(void *ctx)
{
	const struct fleet *f = ctx;
	return f->me.id;
}

static void
state(void *ctx, struct buf *out)
{
	struct fleet *f = ctx;
	char id[NODE_ID_TEXT + 1];
	uint64_t digest = fleet_digest_number(f);
	struct buf seen = {0};
	fleet_seen(f, &seen);
	json_t *json =
		json_pack("{s:s, s:s, s:s, s:i, s:s, s:s%}", "id", node_id_print(f->me.id, id),
			  "name", f->me.name, "version", f->me.version, "members", (int)f->roster.n,
			  "known", f->roster.known, "seen", seen.n ? seen.p : "", seen.n);
	buf_fini(&seen);
	if (json && digest)
		json_object_set_new(json, "digest", json_string(node_id_print(digest, id)));
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	assert(text);
	buf_add(out, text, strlen(text));
	free(text);
	json_decref(json);
}

static void
numbers(void *ctx, struct buf *out)
{
	const struct fleet *f = ctx;
	if (f->counts.count)
		f->counts.count(f->keep_ctx, out);
}

/* ---- purges of others ----------------------------------------------------------------------- */

static void
note_those(struct fleet *f, uint64_t from, struct buf *items)
{
	if (purge_items_count(buf_str(items)))
		journal_state_note(f->purges.journal.state, from, buf_str(items), now_s());
	items->n = 0;
	purge_items_begin(items, 0);
}

/* Those that have a name and last, in pieces that the journal takes. One without a name is of everything, in the place of
 * those that were too many: it is not to be told again. */
static void
note(struct fleet *f, uint64_t from, struct str items)
{
	struct buf lasting = {0};
	struct purge_items_reader r;
	struct purge_item i;
	purge_items_begin(&lasting, 0);
	purge_items_open(&r, items);
	while (purge_items_next(&r, &i)) {
		if (i.flags & PURGE_ITEM_PASSING)
			continue;
		if (!i.number) {
			journal_state_blur(f->purges.journal.state);
			continue;
		}
		if (lasting.n + purge_items_bytes(&i) > PARCEL_BYTES_MOST)
			note_those(f, from, &lasting);
		purge_items_add(&lasting, &i);
	}
	note_those(f, from, &lasting);
	buf_fini(&lasting);
}

static void
on_applied(struct fleet *f, void *ctx, bool durable)
{
	(void)f;
	control_answer(ctx, durable ? 200 : 503, STR(""));
}

/* From a newer version, if it cannot be read: then everything is meant. */
static void
on_purges(void *ctx, struct control_question *q, uint64_t from, struct str body)
{
	struct fleet *f = ctx;
	struct purge_items_reader r;
	struct buf all = {0};
	if (f->leaves) {
		control_answer(q, 503, STR(""));
		return;
	}
	if (!purge_items_open(&r, body)) {
		purge_items_everything(&all);
		body = buf_str(&all);
	}
	note(f, from, body);
	fleet_news_tell(f, from, body, on_applied, q);
	buf_fini(&all);
}

static void
on_digest(void *ctx, struct control_question *q, struct str target)
{
	struct buf out = {0};
	bool well = fleet_answer_digest(ctx, target, &out);
	control_answer(q, well ? 200 : 503, buf_str(&out));
	buf_fini(&out);
}

/* ---- purges of this node --------------------------------------------------------------------- */

static void
send_lasting(struct fleet *f, int64_t now)
{
	struct parcel *p;
	while ((p = outbox_take(f->purges.outbox, true))) {
		journal_state_note(f->purges.journal.state, f->me.id, buf_str(&p->items), now_s());
		spread_put(f->purges.spread, p, now);
		parcel_unref(&p);
	}
	fleet_journal_turn(f, now);
}

static void
send_passing(struct fleet *f, int64_t now)
{
	int64_t due_ms;
	struct parcel *p = outbox_take_passing(f->purges.outbox, now, &due_ms);
	if (p) {
		spread_put(f->purges.spread, p, now);
		parcel_unref(&p);
	} else if (due_ms) {
		struct timeval left = {0, (due_ms - now) * 1000};
		event_add(f->purges.gathered, &left);
	}
}

static void
on_gathered(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd;
	(void)what;
	send_passing(ctx, now_ms());
}

struct waking {
	struct letter letter;
	struct fleet *fleet;
};

static void
on_waking(struct letter *l)
{
	struct waking *w = (struct waking *)l;
	struct fleet *f = w->fleet;
	free(w);
	if (f->leaves)
		return;
	send_lasting(f, now_ms());
	send_passing(f, now_ms());
}

/* Any thread. */
static void
wake(void *ctx)
{
	struct fleet *f = ctx;
	struct waking *w = NEW(struct waking);
	*w = (struct waking){.letter.open = on_waking, .fleet = f};
	mailbox_post(&f->mailbox, &w->letter);
}

static void
on_change(void *ctx)
{
	fleet_wait_turn(ctx, now_ms(), false);
}

/* Without a journal what all have is through, and what some lack for an hour is theirs to lack. */
static void
forget_sent(struct fleet *f)
{
	struct parcel *p;
	while (!fleet_has_journal(f) && (p = outbox_first(f->purges.outbox))) {
		if (!spread_all_have(f->purges.spread, p->high) &&
		    now_s() - p->made_s < SPREAD_OWED_S)
			return;
		outbox_drop(f->purges.outbox, p);
	}
}

void
fleet_purges_turn(struct fleet *f, int64_t now)
{
	spread_turn(f->purges.spread, now);
	fleet_journal_turn(f, now);
	fleet_recall_turn(f, now);
	forget_sent(f);
	fleet_wait_turn(f, now, false);
}

/* ---- life ---------------------------------------------------------------------------------- */

void
fleet_purges_settle(struct fleet *f, int64_t now)
{
	spread_settle(f->purges.spread, f->siblings, f->roster.n, now);
	purge_names_begin(f->purges.names, f->me.id);
	if (f->purges.joined)
		outbox_join(f->purges.outbox, wake, f, f->me.id);
	else
		outbox_expect(f->purges.outbox, f->me.id);
}

/* Parcels of before are sent again: whoever has them skips them. */
void
fleet_purges_begin(struct fleet *f)
{
	struct fleet_purges *p = &f->purges;
	p->joined = true;
	fleet_recall_begin(f);
	for (struct parcel *kept = outbox_first(p->outbox); kept; kept = kept->next)
		spread_put(p->spread, kept, now_ms());
	outbox_join(p->outbox, wake, f, f->me.id);
}

void
fleet_purges_open(struct fleet *f, const struct fleet_options *o)
{
	struct fleet_purges *p = &f->purges;
	const struct control_options c = {.mailbox = &f->mailbox,
					  .secret = &f->secret,
					  .self = self,
					  .state = state,
					  .numbers = numbers,
					  .purges = on_purges,
					  .recall = fleet_recall_answer,
					  .digest = on_digest,
					  .ctx = f};
	p->names = o->names;
	p->outbox = o->outbox;
	p->hear = o->hear;
	fleet_journal_open(f, o);
	p->control = control_create(&c);
	p->spread = spread_create(f->peers, fleet_has_journal(f), on_change, f);
	fleet_news_open(f);
	p->gathered = evtimer_new(f->base, on_gathered, f);
	assert(p->gathered);
}

void
fleet_purges_leave(struct fleet *f)
{
	if (!f->purges.desk)
		return;
	outbox_leave(f->purges.outbox, f);
	fleet_news_leave(f);
}

void
fleet_purges_close(struct fleet *f)
{
	struct fleet_purges *p = &f->purges;
	fleet_wait_turn(f, now_ms(), true);
	fleet_journal_close(f);
	fleet_recall_close(f);
	spread_destroy(&p->spread);
	control_destroy(&p->control);
	if (p->gathered)
		event_free(p->gathered);
	p->gathered = NULL;
}
