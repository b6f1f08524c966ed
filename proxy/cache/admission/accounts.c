/* accounts.c - thirteen counters for an address, of five minutes each. */
#include "proxy/cache/admission/accounts.h"

#include "proxy/base/mem.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { STEP_S = 300, STEPS = 13, WAYS = 8, SETS = 512 };

struct account {
	struct asker who;
	uint64_t set_aside;
	int64_t step;		 /* the last one that anything was written in */
	uint64_t written[STEPS]; /* of step n at n % STEPS */
	bool used;
};

struct set {
	pthread_mutex_t lock;
	struct account of[WAYS];
};

struct accounts {
	struct set sets[SETS];
};

struct accounts *
accounts_create(void)
{
	struct accounts *a = NEW(struct accounts);
	for (unsigned i = 0; i < SETS; i++)
		pthread_mutex_init(&a->sets[i].lock, NULL);
	return a;
}

void
accounts_destroy(struct accounts **ap)
{
	struct accounts *a = *ap;
	*ap = NULL;
	for (unsigned i = 0; a && i < SETS; i++)
		pthread_mutex_destroy(&a->sets[i].lock);
	free(a);
}

/* ---- one account, under its set's lock ----------------------------------------------------- */

/* Bytes that are older than an hour are forgotten. A clock that was set back stands still here. */
static void
go_on(struct account *a, int64_t now_s)
{
	int64_t now = now_s / STEP_S;
	if (now - a->step >= STEPS)
		memset(a->written, 0, sizeof a->written);
	else
		for (int64_t i = a->step + 1; i <= now; i++)
			a->written[i % STEPS] = 0;
	a->step = now > a->step ? now : a->step;
}

static uint64_t
written_of(struct account *a, int64_t now_s)
{
	uint64_t sum = 0;
	go_on(a, now_s);
	for (unsigned i = 0; i < STEPS; i++)
		sum += a->written[i];
	return sum;
}

static struct account *
find(struct set *s, struct asker who)
{
	for (unsigned i = 0; i < WAYS; i++)
		if (s->of[i].used && memcmp(&s->of[i].who, &who, sizeof who) == 0)
			return &s->of[i];
	return NULL;
}

static struct account *
open_account(struct set *s, struct asker who, int64_t now_s)
{
	struct account *a = find(s, who);
	uint64_t least = UINT64_MAX;
	if (a)
		return a;
	for (unsigned i = 0; i < WAYS; i++) {
		struct account *b = &s->of[i];
		uint64_t is = b->used ? written_of(b, now_s) + b->set_aside + 1 : 0;
		if (is < least) {
			least = is;
			a = b;
		}
	}
	*a = (struct account){.who = who, .step = now_s / STEP_S, .used = true};
	return a;
}

/* ---- any thread ---------------------------------------------------------------------------- */

static struct set *
lock_set(struct accounts *a, struct asker who)
{
	struct set *s = &a->sets[who.hash % SETS];
	pthread_mutex_lock(&s->lock);
	return s;
}

bool
accounts_may(struct accounts *a, struct asker who, uint64_t bytes, uint64_t most, int64_t now_s)
{
	struct set *s = lock_set(a, who);
	struct account *of = find(s, who);
	uint64_t has = of ? written_of(of, now_s) + of->set_aside : 0;
	pthread_mutex_unlock(&s->lock);
	return has < most && bytes <= most - has;
}

void
accounts_set_aside(struct accounts *a, struct asker who, uint64_t bytes, int64_t now_s)
{
	struct set *s = lock_set(a, who);
	open_account(s, who, now_s)->set_aside += bytes;
	pthread_mutex_unlock(&s->lock);
}

void
accounts_charge(struct accounts *a, struct asker who, uint64_t written, uint64_t freed,
		int64_t now_s)
{
	struct set *s = lock_set(a, who);
	struct account *of = written ? open_account(s, who, now_s) : find(s, who);
	if (of) {
		go_on(of, now_s);
		of->written[of->step % STEPS] += written;
		of->set_aside -= freed < of->set_aside ? freed : of->set_aside;
	}
	pthread_mutex_unlock(&s->lock);
}

bool
accounts_most(struct accounts *a, int64_t now_s, struct asker *who, uint64_t *bytes)
{
	*bytes = 0;
	for (unsigned i = 0; i < SETS; i++) {
		struct set *s = &a->sets[i];
		pthread_mutex_lock(&s->lock);
		for (unsigned k = 0; k < WAYS; k++) {
			uint64_t has = s->of[k].used ? written_of(&s->of[k], now_s) : 0;
			if (has > *bytes) {
				*bytes = has;
				*who = s->of[k].who;
			}
		}
		pthread_mutex_unlock(&s->lock);
	}
	return *bytes > 0;
}
