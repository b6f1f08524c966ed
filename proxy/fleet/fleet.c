/* fleet.c - the thread, and the doors of others to what it knows. */
#include "proxy/fleet/fleet_inside.h"

#include "proxy/base/address.h"
#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/fleet/await.h"

#include <assert.h>
#include <event2/event.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHOW_EVERY_MS = 200, LEAVE_MS = 1000 };

/* ---- the thread ---------------------------------------------------------------------------- */

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct fleet *f = arg;
	int64_t now = now_ms();
	(void)fd;
	(void)what;
	fleet_beat_turn(f, now);
	fleet_list_turn(f, now);
	inquiry_turn(f->inquiry, now);
	survey_turn(f->counts.survey, now);
	fleet_purges_turn(f, now);
	fleet_digests_turn(f, now);
	peers_sweep(f->peers);
	if (now >= f->shown_ms + SHOW_EVERY_MS)
		fleet_show(f, now);
}

static void
on_mail(evutil_socket_t fd, short what, void *arg)
{
	struct fleet *f = arg;
	(void)fd;
	mailbox_run(&f->mailbox, what & EV_READ);
}

static void *
run(void *arg)
{
	struct fleet *f = arg;
	pthread_setname_np(pthread_self(), "fleet");
	event_base_dispatch(f->base);
	return NULL;
}

/* ---- siblings ------------------------------------------------------------------------------ */

/* Said when it has failed three times in a row, and when it is over. */
static void
on_state(void *ctx, struct sibling *s, const struct str *said, unsigned failures, const char *why)
{
	enum { WORTH_A_LINE = 3 };
	if (said)
		fleet_purges_hear_state(ctx, s, *said, now_ms());
	if (failures == WORTH_A_LINE)
		log_warning("fleet: %s (%s) does not answer: %s", s->m.name, s->m.address, why);
	else if (said && s->silent)
		log_info("fleet: %s (%s) answers again", s->m.name, s->m.address);
	s->silent = failures >= WORTH_A_LINE;
}

/* ---- opening ------------------------------------------------------------------------------- */

static char *
copy(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

static void
copy_texts(struct fleet *f, const struct fleet_options *o)
{
	struct fleet_texts *t = &f->texts;
	t->listen = copy(o->listen);
	t->ca_file = copy(o->ca_file);
	t->cert_file = copy(o->cert_file);
	t->key_file = copy(o->key_file);
	t->engine = mem_zalloc((o->engine_n + 1) * sizeof *t->engine);
	for (; t->engine_n < o->engine_n; t->engine_n++)
		t->engine[t->engine_n] = copy(o->engine[t->engine_n]);
	t->networks = network_list(o->networks, o->networks_n, &t->networks_n);
}

static uint64_t
draw(void)
{
	uint64_t n = 0;
	while (!n)
		RAND_bytes((unsigned char *)&n, sizeof n);
	return n;
}

/* "10.0.0.1:0" with the port that it became. */
static void
say_address(struct fleet *f)
{
	struct address a;
	if (address_parse(f->texts.listen, &a) == 0) {
		char text[ADDRESS_TEXT];
		address_set_port(&a, door_port(f->door));
		snprintf(f->me.address, sizeof f->me.address, "%s", address_print(&a, text));
	}
}

static void
name_self(struct fleet *f, const struct fleet_options *o)
{
	f->me.id = o->id;
	f->me.instance = o->instance;
	f->me.weight = o->weight ? o->weight : 1;
	snprintf(f->me.name, sizeof f->me.name, "%s", o->words.name);
	snprintf(f->me.zone, sizeof f->me.zone, "%s", o->words.zone);
	snprintf(f->me.version, sizeof f->me.version, "%s", o->words.version);
	if (f->me.id || !o->engine_n)
		return;
	f->me.id = draw();
	f->keep_id(f->keep_ctx, f->me.id);
}

static int
open_door(struct fleet *f, const struct fleet_options *of, const char **setting, char *err,
	  size_t err_bytes)
{
	const struct door_options o = {
		.base = f->base,
		.listen = f->texts.listen,
		.networks = f->texts.networks,
		.networks_n = f->texts.networks_n,
		.tls = f->texts.cert_file != NULL,
		.arrive = of->arrive,
		.ctx = of->arrive_ctx,
	};
	*setting = "listen";
	f->door = door_create(&o, err, err_bytes);
	return f->door ? 0 : -1;
}

static void
open_inquiry(struct fleet *f)
{
	const struct peers_options o = {
		.base = f->base,
		.secret = &f->secret,
		.self = &f->me.id,
		.tls = f->texts.cert_file != NULL,
		.ca_file = f->texts.ca_file,
		.cert_file = f->texts.cert_file,
		.key_file = f->texts.key_file,
	};
	f->peers = peers_create(&o);
	f->inquiry = inquiry_create(
		&(struct inquiry_options){.peers = f->peers, .on_state = on_state, .ctx = f});
	fleet_survey_open(f);
}

/* Until the engine says more: those of before, or this node alone. */
static void
adopt_first(struct fleet *f, struct str kept)
{
	struct roster r = {0};
	struct member me = f->me;
	if (f->texts.engine_n == 0) {
		fleet_list_turn(f, now_ms());
		return;
	}
	bool known = kept.n && roster_read(&r, kept, &f->secret) == 0 && r.n > 0;
	for (unsigned i = 0; i < r.n; i++)
		if (r.of[i].id == f->me.id)
			me.drains = r.of[i].drains;
	roster_put(&r, &me);
	if (!known)
		roster_settle(&r);
	fleet_adopt(f, &r);
}

static int
open_members(struct fleet *f, const struct fleet_options *o, const char **setting, char *err,
	     size_t err_bytes)
{
	*setting = o->engine_n ? "engine" : "members";
	return o->engine_n
		       ? fleet_open_engine(f, o->resolver, err, err_bytes)
		       : fleet_open_list(f, o->members, o->members_n, o->resolver, err, err_bytes);
}

struct fleet *
fleet_create(const struct fleet_options *o, const char **setting, char *err, size_t err_bytes)
{
	struct fleet *f = NEW(struct fleet);
	struct timeval every = {0, FLEET_TICK_MS * 1000};
	pthread_mutex_init(&f->lock, NULL);
	f->mailbox.fd = -1;
	f->keep_id = o->keep_id;
	f->keep_members = o->keep_members;
	f->counts.count = o->count;
	f->keep_ctx = o->ctx;
	f->charts = o->charts;
	copy_texts(f, o);
	f->base = event_base_new();
	*setting = "listen";
	snprintf(err, err_bytes, "there is no descriptor for its thread");
	if (mailbox_init(&f->mailbox))
		goto fail;
	open_inquiry(f);
	fleet_purges_open(f, o);
	*setting = "secret_file";
	if (secret_read(&f->secret, o->secret_file, err, err_bytes) ||
	    open_door(f, o, setting, err, err_bytes))
		goto fail;
	name_self(f, o);
	say_address(f);
	if (open_members(f, o, setting, err, err_bytes))
		goto fail;
	f->mail = event_new(f->base, f->mailbox.fd, EV_READ | EV_PERSIST, on_mail, f);
	f->tick = event_new(f->base, -1, EV_PERSIST, on_tick, f);
	event_add(f->mail, NULL);
	event_add(f->tick, &every);
	adopt_first(f, o->kept);
	return f;
fail:
	fleet_destroy(&f, false);
	return NULL;
}

int
fleet_start(struct fleet *f)
{
	f->runs = true;
	charts_open(f->charts, f->purges.control);
	charts_put(f->charts, chart_ref(f->chart));
	fleet_purges_begin(f);
	if (pthread_create(&f->thread, NULL, run, f) == 0)
		return 0;
	f->runs = false;
	charts_open(f->charts, NULL);
	charts_put(f->charts, NULL);
	return -1;
}

/* ---- ending -------------------------------------------------------------------------------- */

struct farewell {
	struct letter letter;
	struct fleet *fleet;
	bool leaves;
	struct event *limit;
};

static void
on_limit(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	event_base_loopbreak(arg);
}

static void
on_left(void *ctx, const char *why)
{
	struct fleet *f = ctx;
	(void)why;
	event_base_loopbreak(f->base);
}

static void
on_farewell(struct letter *l)
{
	struct farewell *w = (struct farewell *)l;
	struct fleet *f = w->fleet;
	struct timeval most = {LEAVE_MS / 1000, LEAVE_MS % 1000 * 1000};
	f->leaves = true;
	if (!w->leaves || !f->beats.engine || !engine_is_open(f->beats.engine)) {
		event_base_loopbreak(f->base);
		return;
	}
	w->limit = evtimer_new(f->base, on_limit, f->base);
	event_add(w->limit, &most);
	fleet_order(f, BEAT_LEAVE, &f->me, on_left, f);
}

static void
free_texts(struct fleet_texts *t)
{
	for (unsigned i = 0; i < t->engine_n; i++)
		free(t->engine[i]);
	free(t->engine);
	free(t->networks);
	free(t->listen);
	free(t->ca_file);
	free(t->cert_file);
	free(t->key_file);
}

static void
end_thread(struct fleet *f, bool leaves)
{
	struct farewell w = {.letter.open = on_farewell, .fleet = f, .leaves = leaves};
	mailbox_post(&f->mailbox, &w.letter);
	pthread_join(f->thread, NULL);
	if (w.limit)
		event_free(w.limit);
	f->runs = false;
}

void
fleet_destroy(struct fleet **pf, bool leaves)
{
	struct fleet *f = *pf;
	*pf = NULL;
	if (!f)
		return;
	if (f->runs) {
		charts_open(f->charts, NULL);
		charts_put(f->charts, NULL);
		end_thread(f, leaves);
	}
	f->leaves = true;
	fleet_purges_leave(f);
	if (f->mailbox.fd >= 0)
		mailbox_run(&f->mailbox, true); /* whoever waits for an order hears of it */
	door_destroy(&f->door);
	inquiry_destroy(&f->inquiry);
	fleet_survey_close(f);
	fleet_purges_close(f);
	fleet_digests_close(f);
	peers_destroy(&f->peers);
	engine_destroy(&f->beats.engine);
	fleet_close_list(f);
	roster_fini(&f->beats.held);
	fleet_end_charts(f);
	if (f->mail)
		event_free(f->mail);
	if (f->tick)
		event_free(f->tick);
	if (f->mailbox.fd >= 0)
		mailbox_fini(&f->mailbox);
	event_base_free(f->base);
	free(f->rows);
	free_texts(&f->texts);
	secret_forget(&f->secret);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/* ---- others -------------------------------------------------------------------------------- */

unsigned
fleet_tell(struct fleet *f, struct fleet_state *out, struct fleet_row *rows, unsigned most)
{
	pthread_mutex_lock(&f->lock);
	unsigned n = f->rows_n;
	*out = f->state;
	for (unsigned i = 0; rows && i < n && i < most; i++)
		rows[i] = f->rows[i];
	pthread_mutex_unlock(&f->lock);
	return n < most ? n : most;
}

/* An order of another thread, which waits for it. */
struct errand {
	struct await await; /* first */
	struct fleet *fleet;
	enum beat_order order;
	char node[MEMBER_NAME];
	bool failed;
	char why[FLEET_WHY];
};

static bool
note_end(struct await *a, void *ctx)
{
	struct errand *e = (struct errand *)a;
	const char *why = ctx;
	e->failed = why != NULL;
	snprintf(e->why, sizeof e->why, "%s", why ? why : "");
	return true;
}

static void
on_done(void *ctx, const char *why)
{
	struct errand *e = ctx;
	char text[FLEET_WHY];
	snprintf(text, sizeof text, "%s", why ? why : "");
	await_look(&e->await, note_end, why ? text : NULL);
}

static void
on_errand(struct letter *l)
{
	struct errand *e = (struct errand *)l;
	char why[FLEET_WHY];
	bool twice;
	const struct member *m = roster_find(&e->fleet->roster, str_of(e->node), &twice);
	if (m && !e->fleet->leaves) {
		fleet_order(e->fleet, e->order, m, on_done, e);
		return;
	}
	snprintf(why, sizeof why,
		 e->fleet->leaves ? "this node is leaving, and %s was not told of"
		 : twice	  ? "there are two nodes of the name \"%s\"; give the id"
				  : "there is no member of the name or id \"%s\"",
		 e->node);
	on_done(e, why);
}

struct errand_end {
	bool fine;
	char *err;
	size_t err_bytes;
};

static void
take_end(struct await *a, void *ctx)
{
	const struct errand *e = (const struct errand *)a;
	struct errand_end *to = ctx;
	to->fine = a->done && !e->failed;
	if (!to->fine)
		snprintf(to->err, to->err_bytes, "%s",
			 a->done ? e->why
				 : "the engine does not answer; it may have taken the order");
}

int
fleet_drain(struct fleet *f, struct str node, bool drains, char *err, size_t err_bytes)
{
	struct errand *e = NEW(struct errand);
	struct errand_end end = {.err = err, .err_bytes = err_bytes};
	e->fleet = f;
	e->order = drains ? BEAT_DRAIN : BEAT_UNDRAIN;
	snprintf(e->node, sizeof e->node, "%.*s", STR_ARG(node));
	await_post(&e->await, on_errand, &f->mailbox);
	await_for(&e->await, FLEET_ORDER_MS, take_end, &end);
	return end.fine ? 0 : -1;
}

unsigned
fleet_port(const struct fleet *f)
{
	return door_port(f->door);
}

const struct secret *
fleet_secret(const struct fleet *f)
{
	return &f->secret;
}
