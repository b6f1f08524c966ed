/* engine.h - a connection to the engine (Redis), kept open: commands out, replies in.
 *
 * It is opened again and again, with pauses that grow to ENGINE_PAUSE_MS and differ by chance, at each of its places in
 * turn, until one of them is a server that takes writes. Sentinels are asked where that one is, and where a server
 * names another one (MOVED) that one is asked, once in a row.
 *
 * RESP2 and commands of Redis 6.2. Bytes go by origin/lane, so that names, TLS and time limits are as for origins.
 *
 * Bounds    ENGINE_ASKS_MOST questions and ENGINE_OUT_MOST bytes may be under way; a reply has ENGINE_LIMIT_MS.
 * Threads   one: that of the event loop.
 * Order     no callback comes from within a call but engine_destroy's: all come from the event loop.
 */
#ifndef FLEET_ENGINE_H
#define FLEET_ENGINE_H

#include "proxy/base/str.h"

struct engine;
struct event_base;
struct redisReply;
struct resolver;

enum {
	ENGINE_ASKS_MOST = 16,
	ENGINE_OUT_MOST = 256 << 10,
	ENGINE_LIMIT_MS = 2000,
	ENGINE_PAUSE_MS = 5000,
	ENGINE_PLACES_MOST = 16,
};

struct engine_options {
	struct event_base *base;
	struct resolver *resolver; /* of names; outlives the engine */
	char *const *places;	   /* as engine_place.h reads them */
	unsigned places_n;
	const char *ca_file, *cert_file, *key_file; /* for rediss; NULL: the system's, none */
	void (*on_open)(void *ctx);		    /* it takes questions now */
	void (*on_away)(void *ctx,
			const char *why); /* a try has failed, or what was open has ended */
	void *ctx;
};

/* NULL and a sentence in err: a place or a file that cannot be used. */
struct engine *engine_create(const struct engine_options *o, char *err, size_t err_bytes);
/* Questions under way are answered with NULL. */
void engine_destroy(struct engine **e);
bool engine_is_open(const struct engine *e);
/* Where it is, or is tried, without a password; holds until the next event. */
const char *engine_name(const struct engine *e);

/* NULL: there is no answer, for the connection ended. It holds during the call, which must not destroy the engine. */
typedef void engine_answer_fn(void *ctx, const struct redisReply *r);
/* A command of words. False: it is not open, or too much is under way; answer is not called then. */
bool engine_ask(struct engine *e, const struct str *words, unsigned n, engine_answer_fn *answer,
		void *ctx);

#endif
