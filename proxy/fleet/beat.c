/* beat.c - a command of words, and its answer. */
#include "proxy/fleet/beat.h"

#include "proxy/fleet/node_id.h"
#include "proxy/fleet/replies.h"
#include "proxy/fleet/script.h"
#include "proxy/fleet/settled.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdio.h>

#define NUMBER(n)  NUMBER_(n)
#define NUMBER_(n) #n
#define LEASE	   5000
#define STILL	   2000
#define HAND_OVER  600000
#define LONGEST	   3600000
_Static_assert(LEASE == BEAT_LEASE_MS && STILL == BEAT_STILL_MS &&
		       HAND_OVER == SETTLED_HAND_OVER_MS && LONGEST == SETTLED_LONGEST_MS,
	       "the script is told what the code says");

static const char script[] =
#include "proxy/fleet/beat_script.h"
	;

static char sum[SCRIPT_SUM + 1];

static void
make_sum(void)
{
	script_sum((struct str){script, sizeof script - 1}, sum);
}

/* ---- asking -------------------------------------------------------------------------------- */

static void
add(struct beat *b, struct str word)
{
	assert(b->words_n < BEAT_WORDS);
	b->words[b->words_n++] = word;
}

static void
sign_drain(const struct beat *b, const struct secret *s, char mac[SECRET_MAC_TEXT])
{
	struct str part = str_of(b->id);
	secret_sign(s, SECRET_DRAIN, &part, 1, mac);
}

static void
add_script(struct beat *b, bool whole)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static const struct str keys[] = {STR_INIT(BEAT_TAG "secret"), STR_INIT(BEAT_TAG "seen"),
					  STR_INIT(BEAT_TAG "nodes"),  STR_INIT(BEAT_TAG "brief"),
					  STR_INIT(BEAT_TAG "drains"), STR_INIT(BEAT_TAG "state")};
	pthread_once(&once, make_sum);
	add(b, whole ? STR("EVAL") : STR("EVALSHA"));
	add(b, whole ? (struct str){script, sizeof script - 1} : str_of(sum));
	add(b, STR("6"));
	for (unsigned i = 0; i < 6; i++)
		add(b, keys[i]);
}

void
beat_make(struct beat *b, enum beat_order order, const struct member *me, const char *known,
	  const struct secret *s, bool whole)
{
	static const struct str orders[] = {
		[BEAT] = STR_INIT("beat"),
		[BEAT_LEAVE] = STR_INIT("leave"),
		[BEAT_DRAIN] = STR_INIT("drain"),
		[BEAT_UNDRAIN] = STR_INIT("undrain"),
	};
	*b = (struct beat){0};
	node_id_print(me->id, b->id);
	node_id_print(me->instance, b->instance);
	snprintf(b->weight, sizeof b->weight, "%llu", (unsigned long long)me->weight);
	if (order == BEAT)
		member_format(me, s, &b->record);
	sign_drain(b, s, b->mac);
	add_script(b, whole);
	add(b, str_of(s->fingerprint));
	add(b, orders[order]);
	add(b, str_of(b->id));
	add(b, str_of(known));
	add(b, str_of(b->instance));
	add(b, str_of(me->address));
	add(b, str_of(b->weight));
	add(b, b->record.n ? buf_str(&b->record) : STR(""));
	add(b, (struct str){b->mac, sizeof b->mac});
	add(b, STR(NUMBER(LEASE)));
	add(b, STR(NUMBER(STILL)));
	add(b, STR(NUMBER(HAND_OVER)));
	add(b, STR(NUMBER(LONGEST)));
}

void
beat_fini(struct beat *b)
{
	buf_fini(&b->record);
	*b = (struct beat){0};
}

/* ---- hearing ------------------------------------------------------------------------------- */

enum beat_answer
beat_read(const struct redisReply *r, struct str *text)
{
	*text = STR("");
	if (r->type == REDIS_REPLY_ERROR) {
		*text = replies_text(r);
		return str_starts(*text, STR("NOSCRIPT")) ? BEAT_NO_SCRIPT : BEAT_BROKEN;
	}
	if (r->type != REDIS_REPLY_ARRAY || r->elements < 1)
		return BEAT_BROKEN;
	struct str word = replies_text(r->element[0]);
	if (r->elements >= 2)
		*text = replies_text(r->element[1]);
	if (str_eq(word, STR("same")))
		return BEAT_SAME;
	if (r->elements >= 2 && str_eq(word, STR("taken")))
		return BEAT_TAKEN;
	if (r->elements >= 2 && str_eq(word, STR("secret")))
		return BEAT_OTHER_SECRET;
	if (r->elements >= 6 && str_eq(word, STR("members")))
		return BEAT_MEMBERS;
	*text = STR("");
	return BEAT_BROKEN;
}
