/* fleet_beat.c - a beat each second, and what its answer means. */
#include "proxy/fleet/fleet_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/fleet/node_id.h"
#include "proxy/fleet/replies.h"

#include <assert.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>

static void
count_beat(struct fleet *f, bool failed)
{
	pthread_mutex_lock(&f->lock);
	f->state.beats++;
	f->state.failed_beats += failed;
	pthread_mutex_unlock(&f->lock);
}

/* ---- trouble ------------------------------------------------------------------------------- */

/* Said once, until it is over; several places may have troubles of their own. */
static void
say_trouble(struct fleet *f, const char *why)
{
	struct fleet_beats *b = &f->beats;
	bool said = b->why[0] != '\0';
	snprintf(b->why, sizeof b->why, "%s", why);
	if (said)
		return;
	log_warning("fleet: the engine %s cannot be used: %s; the members stay as they are",
		    engine_name(b->engine), b->why);
}

static void
end_trouble(struct fleet *f, int64_t now)
{
	struct fleet_beats *b = &f->beats;
	if (b->why[0] || !b->heard)
		log_info("fleet: the engine %s answers", engine_name(b->engine));
	b->why[0] = '\0';
	b->refuses = false;
	b->taken_since_ms = 0;
	b->heard = true;
	b->answered_ms = now;
}

static void
refuse(struct fleet *f, struct str theirs)
{
	char why[FLEET_WHY];
	snprintf(
		why, sizeof why,
		"another fleet uses it, whose secret has the fingerprint %.*s; that of this node's "
		"secret_file is %s",
		theirs.n > 32 ? 32 : (int)theirs.n, theirs.p, f->secret.fingerprint);
	if (!f->beats.refuses)
		f->beats.why[0] = '\0';
	f->beats.refuses = true;
	say_trouble(f, why);
}

/* Somebody else has this id. One who beats no more was this node itself, which was killed and came back at another
 * address; one who still does when that one's lease would be over is a node in a copy of the directory, and this node
 * is the second. */
static void
take_new_id(struct fleet *f, struct str address, int64_t now)
{
	int64_t *since = &f->beats.taken_since_ms;
	if (!*since)
		*since = now;
	if (now - *since < BEAT_LEASE_MS + BEAT_EVERY_MS)
		return;
	*since = 0;
	f->beats.due_ms = now;
	char before[NODE_ID_TEXT + 1], id[NODE_ID_TEXT + 1];
	node_id_print(f->me.id, before);
	do
		RAND_bytes((unsigned char *)&f->me.id, sizeof f->me.id);
	while (!f->me.id);
	log_warning(
		"fleet: another node at %.*s has the id %s, so this directory is a copy; the id of "
		"this node is %s from now on",
		STR_ARG(address), before, node_id_print(f->me.id, id));
	f->keep_id(f->keep_ctx, f->me.id);
	fleet_purges_settle(f, now);
	f->beats.known[0] = '\0';
}

/* ---- members ------------------------------------------------------------------------------- */

static void
keep(const struct fleet *f, const struct roster *r)
{
	struct buf text = {0};
	roster_write(r, &f->secret, &text);
	f->keep_members(f->keep_ctx, buf_str(&text));
	buf_fini(&text);
}

/* "ERA:EPOCH": the era is another one where the engine has lost its data. */
static bool
is_other_era(const char *a, const char *b)
{
	struct str x = str_before(str_of(a), ':'), y = str_before(str_of(b), ':');
	return x.n && y.n && !str_eq(x, y);
}

static void
adopt_held(struct fleet *f)
{
	struct fleet_beats *b = &f->beats;
	b->held_until_ms = 0;
	keep(f, &b->held);
	fleet_adopt(f, &b->held);
}

/* An engine that has lost its data knows only who has beaten since: the others have as long as a lease. */
static void
take_members(struct fleet *f, const struct redisReply *reply, int64_t now)
{
	struct fleet_beats *b = &f->beats;
	struct roster r;
	if (roster_take(&r, reply, &f->secret)) {
		say_trouble(f, "its answer is not that of the fleet's script");
		return;
	}
	bool lost = is_other_era(*b->known ? b->known : f->roster.known, r.known);
	snprintf(b->known, sizeof b->known, "%s", r.known);
	if (lost && !b->held_until_ms) {
		log_warning("fleet: the engine has lost its data; members have %d s to come back",
			    BEAT_LEASE_MS / 1000);
		b->held_until_ms = now + BEAT_LEASE_MS;
	}
	roster_fini(&b->held);
	b->held = r;
	if (!b->held_until_ms)
		adopt_held(f);
}

/* ---- asking -------------------------------------------------------------------------------- */

static void
on_beat(void *ctx, const struct redisReply *r)
{
	struct fleet *f = ctx;
	struct fleet_beats *b = &f->beats;
	int64_t now = now_ms();
	struct str text;
	char why[FLEET_WHY];
	b->under_way = false;
	count_beat(f, !r);
	if (!r)
		return;
	b->replied_ms = now;
	enum beat_answer a = beat_read(r, &text);
	if (a == BEAT_SAME || a == BEAT_MEMBERS)
		end_trouble(f, now);
	if (a == BEAT_MEMBERS) {
		take_members(f, r, now);
	} else if (a == BEAT_TAKEN) {
		take_new_id(f, text, now);
	} else if (a == BEAT_OTHER_SECRET) {
		refuse(f, text);
	} else if (a == BEAT_NO_SCRIPT) {
		b->whole = true;
		b->due_ms = now;
	} else if (a == BEAT_BROKEN) {
		snprintf(why, sizeof why, "it says %.*s", STR_ARG(text));
		say_trouble(f, text.n ? why : "its answer is not that of the fleet's script");
	}
}

static void
beat(struct fleet *f, int64_t now)
{
	struct fleet_beats *b = &f->beats;
	struct beat words;
	beat_make(&words, BEAT, &f->me, b->known, &f->secret, b->whole);
	b->whole = false;
	b->due_ms = now + BEAT_EVERY_MS;
	b->under_way = engine_ask(b->engine, words.words, words.words_n, on_beat, f);
	beat_fini(&words);
}

void
fleet_beat_turn(struct fleet *f, int64_t now)
{
	struct fleet_beats *b = &f->beats;
	if (!b->engine)
		return;
	b->answers = now - b->answered_ms < BEAT_LEASE_MS && !b->refuses;
	if (engine_is_open(b->engine) && !b->under_way && now >= b->due_ms && !f->leaves)
		beat(f, now);
	if (b->held_until_ms && now >= b->held_until_ms)
		adopt_held(f);
}

/* ---- orders -------------------------------------------------------------------------------- */

struct order {
	fleet_done_fn *done;
	void *ctx;
	struct fleet *fleet;
	enum beat_order order;
	struct member about;
	bool whole;
};

static void send_order(struct order *o);

static void
on_order(void *ctx, const struct redisReply *r)
{
	struct order *o = ctx;
	struct str text;
	char why[FLEET_WHY];
	enum beat_answer a = r ? beat_read(r, &text) : BEAT_BROKEN;
	if (a == BEAT_NO_SCRIPT && !o->whole) {
		o->whole = true;
		send_order(o);
		return;
	}
	if (!r)
		snprintf(why, sizeof why, "the engine does not answer");
	else
		snprintf(why, sizeof why, "the engine says %.*s", STR_ARG(text));
	o->fleet->beats.due_ms = 0; /* it is seen at once */
	o->done(o->ctx, a == BEAT_SAME || a == BEAT_MEMBERS ? NULL : why);
	free(o);
}

static void
send_order(struct order *o)
{
	struct engine *e = o->fleet->beats.engine;
	struct beat words;
	beat_make(&words, o->order, &o->about, "", &o->fleet->secret, o->whole);
	bool asked = e && engine_ask(e, words.words, words.words_n, on_order, o);
	beat_fini(&words);
	if (asked)
		return;
	o->done(o->ctx, e ? "the engine does not answer; nothing was ordered"
			  : "there is no engine that could keep the order (fleet.engine)");
	free(o);
}

void
fleet_order(struct fleet *f, enum beat_order order, const struct member *about, fleet_done_fn *done,
	    void *ctx)
{
	struct order *o = NEW(struct order);
	*o = (struct order){done, ctx, f, order, *about, false};
	send_order(o);
}

/* ---- life ---------------------------------------------------------------------------------- */

static void
on_open(void *ctx)
{
	struct fleet *f = ctx;
	f->beats.due_ms = 0;
	fleet_beat_turn(f, now_ms());
	fleet_journal_begin(f);
}

static void
on_away(void *ctx, const char *why)
{
	say_trouble(ctx, why);
}

int
fleet_open_engine(struct fleet *f, struct resolver *r, char *err, size_t err_bytes)
{
	struct engine_options o = {
		.base = f->base,
		.resolver = r,
		.places = f->texts.engine,
		.places_n = f->texts.engine_n,
		.ca_file = f->texts.ca_file,
		.cert_file = f->texts.cert_file,
		.key_file = f->texts.key_file,
		.on_open = on_open,
		.on_away = on_away,
		.ctx = f,
	};
	f->beats.answered_ms = f->beats.replied_ms = now_ms();
	f->beats.answers = true;
	f->beats.engine = engine_create(&o, err, err_bytes);
	return f->beats.engine ? 0 : -1;
}
