/* probe.c - three questions to an engine. */
#include "proxy/fleet/probe.h"

#include "proxy/fleet/beat.h"
#include "proxy/fleet/engine.h"
#include "proxy/fleet/journal.h"
#include "proxy/fleet/node_id.h"
#include "proxy/fleet/replies.h"

#include <event2/event.h>
#include <hiredis/hiredis.h>
#include <stdio.h>

struct asking {
	const struct probe_options *o;
	struct event_base *base;
	struct engine *engine;
	const char *setting; /* NULL: nothing is wrong so far */
	char *why;
	size_t why_bytes;
	bool answered;
};

static void
find(struct asking *a, const char *setting, const char *sentence)
{
	a->setting = setting;
	snprintf(a->why, a->why_bytes, "%s", sentence);
}

/* A member of this node's name at another address. */
static void
look_at(struct asking *a, const struct member *m)
{
	bool is_named = strcasecmp(m->name, a->o->name) == 0;
	if (!is_named || strcmp(m->address, a->o->listen) == 0)
		return;
	a->setting = "name";
	snprintf(a->why, a->why_bytes,
		 "a node at %s has the name \"%s\" already; each has one of its own", m->address,
		 m->name);
}

static void
on_info(void *ctx, const struct redisReply *r)
{
	struct asking *a = ctx;
	if (journal_is_forgetful(replies_text(r))) {
		a->setting = "engine";
		snprintf(a->why, a->why_bytes,
			 "%s writes nothing down (appendonly no): a restart of it loses the "
			 "journal of purges, and nodes that were not running then come back empty",
			 engine_name(a->engine));
	}
	a->answered = true;
	event_base_loopbreak(a->base);
}

static void
on_nodes(void *ctx, const struct redisReply *r)
{
	struct asking *a = ctx;
	for (size_t i = 0; r && r->type == REDIS_REPLY_ARRAY && i + 1 < r->elements; i += 2) {
		struct member m;
		uint64_t id;
		if (node_id_parse(replies_text(r->element[i]), &id) &&
		    member_parse(replies_text(r->element[i + 1]), id, a->o->secret, &m) == 0)
			look_at(a, &m);
	}
	struct str words[] = {STR("INFO"), STR("persistence")};
	if (!a->setting && engine_ask(a->engine, words, 2, on_info, a))
		return;
	a->answered = true;
	event_base_loopbreak(a->base);
}

static void
on_secret(void *ctx, const struct redisReply *r)
{
	struct asking *a = ctx;
	struct str words[] = {STR("HGETALL"), STR(BEAT_TAG "nodes")};
	struct str theirs = replies_text(r);
	if (r && r->type == REDIS_REPLY_ERROR) {
		snprintf(a->why, a->why_bytes, "%s says %.*s", engine_name(a->engine),
			 STR_ARG(theirs));
		a->setting = "engine";
	} else if (theirs.n && !str_eq(theirs, str_of(a->o->secret->fingerprint))) {
		snprintf(a->why, a->why_bytes,
			 "%s is used by a fleet whose secret has the fingerprint %.*s; that of "
			 "secret_file is %s",
			 engine_name(a->engine), theirs.n > 32 ? 32 : (int)theirs.n, theirs.p,
			 a->o->secret->fingerprint);
		a->setting = "engine";
	}
	if (a->setting || !engine_ask(a->engine, words, 2, on_nodes, a)) {
		a->answered = a->setting != NULL;
		event_base_loopbreak(a->base);
	}
}

static void
on_open(void *ctx)
{
	struct asking *a = ctx;
	struct str words[] = {STR("GET"), STR(BEAT_TAG "secret")};
	engine_ask(a->engine, words, 2, on_secret, a);
}

/* Another place may be better; the time limit ends it. */
static void
on_away(void *ctx, const char *why)
{
	struct asking *a = ctx;
	snprintf(a->why, a->why_bytes, "%s cannot be used: %s", engine_name(a->engine), why);
}

const char *
probe(const struct probe_options *o, char *why, size_t why_bytes)
{
	struct asking a = {.o = o, .why = why, .why_bytes = why_bytes};
	struct timeval most = {PROBE_MS / 1000, PROBE_MS % 1000 * 1000};
	a.base = event_base_new();
	struct engine_options e = {.base = a.base,
				   .places = o->engine,
				   .places_n = o->engine_n,
				   .ca_file = o->ca_file,
				   .cert_file = o->cert_file,
				   .key_file = o->key_file,
				   .on_open = on_open,
				   .on_away = on_away,
				   .ctx = &a};
	find(&a, NULL, "the engine does not answer");
	a.engine = a.base ? engine_create(&e, why, why_bytes) : NULL;
	if (a.engine) {
		event_base_loopexit(a.base, &most);
		event_base_dispatch(a.base);
	}
	bool answered = a.answered;
	engine_destroy(&a.engine);
	if (a.base)
		event_base_free(a.base);
	return answered ? a.setting : "engine";
}
