/* engine.c - dial, greet, ask; and again. */
#include "proxy/fleet/engine.h"

#include "proxy/base/buf.h"
#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/fleet/engine_place.h"
#include "proxy/fleet/replies.h"
#include "proxy/origin/lane.h"
#include "proxy/origin/origin.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <hiredis/hiredis.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_PAUSE_MS = 200, READ_BYTES = 16 << 10, WORDS_MOST = 32, WHY_TEXT = 256 };

enum engine_state {
	ENGINE_PAUSES,
	ENGINE_DIALS,
	ENGINE_GREETS, /* its own questions are under way */
	ENGINE_IS_OPEN,
};

struct ask {
	engine_answer_fn *answer;
	void *ctx;
	int64_t until_ms;
};

struct engine {
	struct engine_options o;
	struct engine_place places[ENGINE_PLACES_MOST];
	unsigned at;		  /* of places */
	struct engine_place here; /* the place that is tried: that one, or where it led */
	bool led;		  /* here is where it led, and nothing was answered there yet */
	enum engine_state state;
	struct event *pause;
	unsigned failures;     /* in a row */
	struct origin *origin; /* NULL: dials are not made */
	struct dials dials;
	struct lane *lane;
	struct replies *in;
	struct buf out;
	struct ask asks[ENGINE_ASKS_MOST]; /* the oldest first */
	unsigned asks_n;
};

static void begin(struct engine *e);

/* ---- the end of a connection --------------------------------------------------------------- */

static void
answer_none(struct engine *e)
{
	while (e->asks_n) {
		struct ask a = e->asks[0];
		memmove(e->asks, e->asks + 1, --e->asks_n * sizeof *e->asks);
		a.answer(a.ctx, NULL);
	}
}

static void
hang_up(struct engine *e)
{
	e->state = ENGINE_PAUSES;
	if (e->lane)
		lane_close(&e->lane);
	replies_destroy(&e->in);
	e->out.n = 0;
	answer_none(e);
}

/* Between half of it and all. */
static int64_t
by_chance(int64_t ms)
{
	uint16_t r = 0;
	RAND_bytes((unsigned char *)&r, sizeof r);
	return ms / 2 + ms * r / (2 * UINT16_MAX);
}

static void
pause_ms(struct engine *e, int64_t ms)
{
	struct timeval tv = {ms / 1000, ms % 1000 * 1000};
	event_add(e->pause, &tv);
}

static void
fail(struct engine *e, const char *why)
{
	int64_t ms = FIRST_PAUSE_MS;
	char said[WHY_TEXT];
	snprintf(said, sizeof said, "%s", why);
	hang_up(e);
	for (unsigned i = 0; i < e->failures && ms < ENGINE_PAUSE_MS; i++)
		ms *= 2;
	e->failures++;
	e->led = false;
	e->at = (e->at + 1) % e->o.places_n;
	pause_ms(e, by_chance(ms < ENGINE_PAUSE_MS ? ms : ENGINE_PAUSE_MS));
	e->o.on_away(e->o.ctx, said);
}

/* At once, to where a Sentinel or another server of the cluster sent us. */
static void
follow(struct engine *e, const char *address)
{
	struct engine_place to;
	if (e->led && !e->here.sentinel) {
		fail(e, "it was moved twice in a row");
	} else if (engine_place_move(&e->here, address, &to)) {
		fail(e, "it names an address that is none");
	} else {
		hang_up(e);
		e->here = to;
		e->led = true;
		pause_ms(e, 0);
	}
}

/* ---- bytes --------------------------------------------------------------------------------- */

static void
set_limit(struct engine *e)
{
	lane_wake_at(e->lane, e->asks_n ? e->asks[0].until_ms : 0);
}

static void
send_out(struct engine *e)
{
	while (e->out.n) {
		ssize_t n = lane_send(e->lane, e->out.p, e->out.n);
		if (n <= 0)
			break; /* an end is heard by reading */
		buf_consume(&e->out, (size_t)n);
	}
	lane_watch(e->lane, true, e->out.n > 0);
}

static void
on_lane_writable(struct lane *l)
{
	send_out(l->user);
}

/* Servers that are no place to stay say so in answer to anything. True: the connection is given up. */
static bool
sends_away(struct engine *e, struct str error)
{
	static const struct str words[] = {STR_INIT("READONLY"),   STR_INIT("LOADING"),
					   STR_INIT("MASTERDOWN"), STR_INIT("CLUSTERDOWN"),
					   STR_INIT("NOAUTH"),	   STR_INIT("NOREPLICAS")};
	char text[WHY_TEXT];
	if (str_starts(error, STR("MOVED "))) {
		struct str slot, address;
		struct str rest = str_from(error, 6);
		slot = str_before(rest, ' ');
		address = str_from(rest, slot.n + 1);
		snprintf(text, sizeof text, "%.*s", STR_ARG(address));
		follow(e, text);
		return true;
	}
	for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
		if (str_starts(error, words[i])) {
			snprintf(text, sizeof text, "it says %.*s", STR_ARG(error));
			fail(e, text);
			return true;
		}
	return false;
}

static void
hear(struct engine *e, const struct redisReply *r)
{
	struct ask a = e->asks[0];
	if (r->type == REDIS_REPLY_ERROR && sends_away(e, replies_text(r)))
		return;
	memmove(e->asks, e->asks + 1, --e->asks_n * sizeof *e->asks);
	if (e->state == ENGINE_IS_OPEN)
		e->led = false; /* it takes what it is asked */
	a.answer(a.ctx, r);
}

/* All that is here; the connection may end meanwhile, and even the next one be begun. */
static void
hear_all(struct engine *e)
{
	const struct replies *in = e->in;
	while (e->in == in && e->in) {
		struct redisReply *r = replies_next(e->in);
		if (!r)
			break;
		if (e->asks_n)
			hear(e, r);
		else
			fail(e, "it answered what nobody had asked");
		freeReplyObject(r);
	}
	if (e->in != in || !e->in)
		return;
	if (replies_are_broken(e->in))
		fail(e, "it does not answer as Redis does");
	else
		set_limit(e);
}

static void
on_lane_readable(struct lane *l)
{
	struct engine *e = l->user;
	char bytes[READ_BYTES];
	while (e->lane == l) {
		ssize_t n = lane_recv(l, bytes, sizeof bytes);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			fail(e, "it closed the connection");
			return;
		}
		replies_feed(e->in, bytes, (size_t)n);
		bool more = lane_may_have_more(l, (size_t)n, sizeof bytes);
		hear_all(e);
		if (!more)
			return;
	}
}

static void
on_lane_wake(struct lane *l)
{
	fail(l->user, "it does not answer");
}

/* ---- asking -------------------------------------------------------------------------------- */

static bool
ask(struct engine *e, const struct str *words, unsigned n, engine_answer_fn *answer, void *ctx)
{
	const char *p[WORDS_MOST];
	size_t bytes[WORDS_MOST];
	char *text = NULL;
	assert(n <= WORDS_MOST);
	if (e->asks_n == ENGINE_ASKS_MOST)
		return false;
	for (unsigned i = 0; i < n; i++) {
		p[i] = words[i].p;
		bytes[i] = words[i].n;
	}
	int made = redisFormatCommandArgv(&text, (int)n, p, bytes);
	bool fits = made > 0 && e->out.n + (size_t)made <= ENGINE_OUT_MOST;
	if (fits) {
		buf_add(&e->out, text, (size_t)made);
		e->asks[e->asks_n++] = (struct ask){answer, ctx, lane_now_ms() + ENGINE_LIMIT_MS};
		if (e->asks_n == 1)
			set_limit(e);
		send_out(e);
	}
	if (made > 0)
		redisFreeCommand(text);
	return fits;
}

bool
engine_ask(struct engine *e, const struct str *words, unsigned n, engine_answer_fn *answer,
	   void *ctx)
{
	return e->state == ENGINE_IS_OPEN && ask(e, words, n, answer, ctx);
}

/* ---- greeting ------------------------------------------------------------------------------ */

/* Of AUTH and SELECT: an error ends the connection. */
static void
on_granted(void *ctx, const struct redisReply *r)
{
	char text[WHY_TEXT];
	if (!r || r->type != REDIS_REPLY_ERROR)
		return;
	snprintf(text, sizeof text, "it says %.*s", STR_ARG(replies_text(r)));
	fail(ctx, text);
}

/* A user who may not ask for the role is let in: a replica refuses the first write. */
static void
on_role(void *ctx, const struct redisReply *r)
{
	struct engine *e = ctx;
	if (!r || e->state != ENGINE_GREETS)
		return;
	struct str role =
		r->type == REDIS_REPLY_ARRAY && r->elements ? replies_text(r->element[0]) : STR("");
	if (role.n && !str_eq(role, STR("master"))) {
		fail(e, str_eq(role, STR("sentinel"))
				? "it is a Sentinel; name it as sentinel://HOST:PORT/NAME"
				: "it is a replica, which takes no writes");
		return;
	}
	e->state = ENGINE_IS_OPEN;
	e->failures = 0;
	e->o.on_open(e->o.ctx);
}

static void
on_master(void *ctx, const struct redisReply *r)
{
	struct engine *e = ctx;
	char address[WHY_TEXT];
	if (!r)
		return;
	if (r->type != REDIS_REPLY_ARRAY || r->elements != 2) {
		fail(e, "the Sentinel knows no service of that name");
		return;
	}
	struct str host = replies_text(r->element[0]), port = replies_text(r->element[1]);
	bool is_v6 = host.n && memchr(host.p, ':', host.n);
	snprintf(address, sizeof address, is_v6 ? "[%.*s]:%.*s" : "%.*s:%.*s", STR_ARG(host),
		 STR_ARG(port));
	follow(e, address);
}

static void
greet_sentinel(struct engine *e)
{
	struct str words[] = {STR("SENTINEL"), STR("get-master-addr-by-name"),
			      str_of(e->here.service)};
	ask(e, words, 3, on_master, e);
}

static void
greet_server(struct engine *e)
{
	char database[16];
	struct str auth[3] = {STR("AUTH"), str_of(e->here.user)};
	unsigned n = e->here.user[0] ? 2 : 1;
	auth[n++] = str_of(e->here.password);
	if (e->here.password[0])
		ask(e, auth, n, on_granted, e);
	snprintf(database, sizeof database, "%u", e->here.database);
	struct str chosen[] = {STR("SELECT"), str_of(database)};
	if (e->here.database)
		ask(e, chosen, 2, on_granted, e);
	ask(e, &STR("ROLE"), 1, on_role, e);
}

static void
on_lane_open(struct lane *l, CURLcode code, const char *sentence)
{
	struct engine *e = l->user;
	if (code != CURLE_OK) {
		fail(e, sentence);
		return;
	}
	e->state = ENGINE_GREETS;
	e->in = replies_create();
	if (e->here.sentinel)
		greet_sentinel(e);
	else
		greet_server(e);
}

/* ---- dialling ------------------------------------------------------------------------------ */

static struct origin *
make_origin(const struct engine *e, const struct engine_place *p, char *err, size_t err_bytes)
{
	const struct origin_options o = {
		.url = p->url,
		.ca_file = e->o.ca_file,
		.cert_file = p->tls ? e->o.cert_file : NULL,
		.key_file = p->tls ? e->o.key_file : NULL,
		.connect_timeout_ms = ENGINE_LIMIT_MS,
		.resolver = e->o.resolver,
	};
	return origin_create(&o, err, err_bytes);
}

static void
end_dials(struct engine *e)
{
	if (!e->origin)
		return;
	dials_fini(&e->dials);
	origin_destroy(&e->origin);
}

static void
begin(struct engine *e)
{
	static const struct lane_owner owner = {
		.on_open = on_lane_open,
		.on_readable = on_lane_readable,
		.on_writable = on_lane_writable,
		.on_wake = on_lane_wake,
	};
	char err[WHY_TEXT];
	assert(!e->lane && e->state == ENGINE_PAUSES);
	end_dials(e);
	if (!e->led)
		e->here = e->places[e->at];
	e->origin = make_origin(e, &e->here, err, sizeof err);
	if (!e->origin) {
		fail(e, err);
		return;
	}
	dials_init(&e->dials, e->o.base, e->origin);
	e->state = ENGINE_DIALS;
	e->lane = lane_open(&e->dials, &owner);
	e->lane->user = e;
}

static void
on_pause_over(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	begin(arg);
}

/* ---- life ---------------------------------------------------------------------------------- */

struct engine *
engine_create(const struct engine_options *o, char *err, size_t err_bytes)
{
	struct engine *e = NEW(struct engine);
	assert(o->places_n > 0 && o->places_n <= ENGINE_PLACES_MOST);
	e->o = *o;
	e->pause = evtimer_new(o->base, on_pause_over, e);
	bool fine = e->pause != NULL;
	for (unsigned i = 0; i < o->places_n && fine; i++) {
		struct origin *try = NULL;
		fine = engine_place_parse(o->places[i], &e->places[i], err, err_bytes) == 0 &&
		       (try = make_origin(e, &e->places[i], err, err_bytes));
		if (try)
			origin_destroy(&try);
	}
	if (!fine) {
		engine_destroy(&e);
		return NULL;
	}
	e->here = e->places[0];
	pause_ms(e, 0);
	return e;
}

void
engine_destroy(struct engine **pe)
{
	struct engine *e = *pe;
	*pe = NULL;
	if (!e)
		return;
	hang_up(e);
	end_dials(e);
	if (e->pause)
		event_free(e->pause);
	buf_fini(&e->out);
	free(e);
}

bool
engine_is_open(const struct engine *e)
{
	return e->state == ENGINE_IS_OPEN;
}

const char *
engine_name(const struct engine *e)
{
	return e->here.name;
}
