/* upstream_health.c - which servers are well. One word per server says whether it is left alone: 0,
 * or until when and how often in a row. The thread that changes the word by compare-and-swap logs
 * it, so each change is told once.
 */
#include "proxy/origin/origin_inside.h"
#include "proxy/origin/upstream_inside.h"

#include "proxy/base/log.h"

#include <assert.h>
#include <stdio.h>

enum { LEVEL_BITS = 8, LEVEL_MOST = 6, WEIGHT_STEPS = 16 };
/* The estimate rises by a 16th for a slower answer and falls by a 64th for a faster one, so it
 * rests where one answer in five is slower; how slow does not matter, so one hanging URL is one
 * step. */
enum { RISE = 16, FALL = 64, USUAL_LEAST_US = 500, USUAL_MOST_US = 60 * 1000 * 1000 };

/* ---- one server's word ----------------------------------------------------------------------- */

static int64_t
until_of(uint64_t held)
{
	return (int64_t)(held >> LEVEL_BITS);
}

static unsigned
level_of(uint64_t held)
{
	return (unsigned)(held & ((1u << LEVEL_BITS) - 1));
}

static uint64_t
held_word(int64_t until_ms, unsigned level)
{
	return (uint64_t)until_ms << LEVEL_BITS | level;
}

/* After so many failed probes and the failures before. */
static int64_t
hold_ms(unsigned level)
{
	assert(level >= 1 && level <= LEVEL_MOST);
	int64_t ms = (int64_t)UPSTREAM_HOLD_FIRST_MS << (level - 1);
	return ms < UPSTREAM_HOLD_MOST_MS ? ms : UPSTREAM_HOLD_MOST_MS;
}

/* The time starts anew, long enough for the answer. */
bool
upstream_wins_probe(struct member *m, int64_t now_ms)
{
	uint64_t held = atomic_load_explicit(&m->held, memory_order_relaxed);
	if (!held || held == UPSTREAM_UNWELL || until_of(held) > now_ms)
		return false;
	int64_t hold = hold_ms(level_of(held)), dial = m->origin->connect_timeout_ms;
	return atomic_compare_exchange_strong(
		&m->held, &held, held_word(now_ms + (hold > dial ? hold : dial), level_of(held)));
}

unsigned
upstream_weight(const struct member *m, int64_t now_ms)
{
	int64_t since = atomic_load_explicit(&m->returned_ms, memory_order_relaxed);
	int64_t steps =
		since ? (now_ms - since) * WEIGHT_STEPS / UPSTREAM_SLOW_RETURN_MS : WEIGHT_STEPS;
	steps = steps < 1 ? 1 : steps > WEIGHT_STEPS ? WEIGHT_STEPS : steps;
	return m->weight * (unsigned)steps;
}

/* ---- failures -------------------------------------------------------------------------------- */

/* Its time has been over for long: nobody asks it, for it is a backup or far back in the order, and
 * the others are well. */
static bool
is_forgotten(uint64_t held, int64_t now_ms)
{
	return held && held != UPSTREAM_UNWELL && until_of(held) + UPSTREAM_HOLD_MOST_MS <= now_ms;
}

/* The place of such a server, which may be asked again. */
static bool
takes_forgotten_place(struct upstream *u, int64_t now_ms)
{
	for (unsigned i = 0; i < u->count; i++) {
		struct member *m = &u->members[i];
		uint64_t held = atomic_load(&m->held);
		if (!is_forgotten(held, now_ms) ||
		    !atomic_compare_exchange_strong(&m->held, &held, 0))
			continue;
		atomic_store_explicit(&m->returned_ms, now_ms, memory_order_relaxed);
		return true;
	}
	return false;
}

/* A place among the half that may be left alone. */
static bool
takes_place(struct upstream *u, int64_t now_ms)
{
	unsigned held = atomic_load(&u->held);
	while (held + 1 <= u->count / 2)
		if (atomic_compare_exchange_weak(&u->held, &held, held + 1))
			return true;
	return takes_forgotten_place(u, now_ms);
}

/* The failures in a row were one too many. True for the thread that left it alone. */
static bool
leave_alone(struct upstream *u, struct member *m, int64_t now_ms)
{
	uint64_t well = 0;
	if (atomic_load(&m->held) || !takes_place(u, now_ms))
		return false;
	if (atomic_compare_exchange_strong(&m->held, &well, held_word(now_ms + hold_ms(1), 1)))
		return true;
	atomic_fetch_sub(&u->held, 1);
	return false;
}

/* The one request that was to find out whether it is back says no: longer. */
static void
leave_alone_longer(struct member *m, int64_t now_ms)
{
	uint64_t held = atomic_load(&m->held);
	unsigned level = level_of(held) < LEVEL_MOST ? level_of(held) + 1 : LEVEL_MOST;
	if (held && held != UPSTREAM_UNWELL)
		atomic_compare_exchange_strong(&m->held, &held,
					       held_word(now_ms + hold_ms(level), level));
}

/* It let a connection wait for all of its time, and answered nobody meanwhile: one is enough. */
static bool
is_silent(const struct member *m, int why, int64_t now_ms)
{
	int64_t answered = atomic_load_explicit(&m->answered_ms, memory_order_relaxed);
	int64_t begun = now_ms - m->origin->connect_timeout_ms;
	return why == -FETCH_CONNECT_TIMEOUT &&
	       (!answered || answered + UPSTREAM_ANSWERED_STEP_MS <= begun);
}

static void
note_failure(struct upstream *u, const struct upstream_try *t, int why, const char *word,
	     const char *detail, int64_t now_ms)
{
	struct member *m = &u->members[t->current];
	atomic_store_explicit(&m->why, why, memory_order_relaxed);
	unsigned failures = atomic_fetch_add(&m->failures, 1) + 1;
	if (t->probe) {
		leave_alone_longer(m, now_ms);
		return;
	}
	if (failures < UPSTREAM_FAILURES && !is_silent(m, why, now_ms))
		return;
	if (leave_alone(u, m, now_ms))
		log_warning("origin %s is left alone for a while: %s (%s), %u %s; the other "
			    "servers of group %s are asked instead",
			    origin_url(m->origin), word, detail, failures,
			    failures == 1 ? "time" : "times in a row", u->name);
	else if (failures == UPSTREAM_FAILURES && !atomic_load(&m->held))
		log_warning("origin %s fails: %s (%s), %u times in a row; it is asked all the "
			    "same, for %s",
			    origin_url(m->origin), word, detail, failures,
			    u->count == 1 ? "there is no other"
					  : "half of its group is left alone already");
}

/* Its time is over, or it has answered. What its checks hold stays held. */
static bool
let_return(struct upstream *u, struct member *m, bool by_checks, int64_t now_ms)
{
	uint64_t held = atomic_load(&m->held);
	while (held && (held == UPSTREAM_UNWELL) == by_checks)
		if (atomic_compare_exchange_weak(&m->held, &held, 0)) {
			atomic_fetch_sub(&u->held, 1);
			atomic_store_explicit(&m->returned_ms, now_ms, memory_order_relaxed);
			return true;
		}
	return false;
}

static void
note_success(struct upstream *u, struct member *m, int64_t now_ms)
{
	if (!atomic_load_explicit(&m->failures, memory_order_relaxed) &&
	    !atomic_load_explicit(&m->held, memory_order_relaxed))
		return;
	unsigned failures = atomic_exchange(&m->failures, 0);
	bool was_held = let_return(u, m, false, now_ms);
	if (was_held || failures >= UPSTREAM_FAILURES)
		log_warning("origin %s answers again", origin_url(m->origin));
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* Also one that is left alone for a time: its place is taken already. */
static bool
leave_alone_unwell(struct upstream *u, struct member *m, int64_t now_ms)
{
	uint64_t held = atomic_load(&m->held);
	while (held != UPSTREAM_UNWELL) {
		bool takes = held == 0;
		if (takes && !takes_place(u, now_ms))
			return false;
		if (atomic_compare_exchange_strong(&m->held, &held, UPSTREAM_UNWELL))
			return true;
		if (takes)
			atomic_fetch_sub(&u->held, 1);
	}
	return false;
}

static const char *check_word(int why);

static void
note_bad_check(struct upstream *u, struct member *m, int why, int64_t now_ms)
{
	unsigned failed = atomic_load(&m->checks_failed);
	atomic_store(&m->checks_good, 0);
	if (failed < u->checks.fall)
		atomic_store(&m->checks_failed, ++failed);
	if (failed < u->checks.fall && !atomic_load(&m->unwell))
		return;
	atomic_store(&m->check_why, why);
	bool is_news = !atomic_exchange(&m->unwell, true);
	bool left = leave_alone_unwell(u, m, now_ms);
	if (left)
		log_warning("origin %s is left alone until its checks succeed: %s; the other "
			    "servers of group %s are asked instead",
			    origin_url(m->origin), check_word(why), u->name);
	else if (is_news)
		log_warning("origin %s fails: %s; it is asked all the same, for half of its group "
			    "is left alone already",
			    origin_url(m->origin), check_word(why));
}

static void
note_good_check(struct upstream *u, struct member *m, int64_t now_ms)
{
	unsigned good = atomic_load(&m->checks_good);
	atomic_store(&m->checks_failed, 0);
	if (good < u->checks.rise)
		atomic_store(&m->checks_good, ++good);
	if (good < u->checks.rise || !atomic_exchange(&m->unwell, false))
		return;
	atomic_store(&m->failures, 0);
	let_return(u, m, true, now_ms);
	log_warning("origin %s passes its checks again", origin_url(m->origin));
}

void
upstream_checked(struct upstream *u, unsigned i, int status, enum fetch_end end, int64_t now_ms)
{
	assert(i < u->count && u->checks.path && u->count > 1);
	if (end == FETCH_NO_SOCKET)
		return; /* nobody was asked */
	bool good = (unsigned)status >= u->checks.least && (unsigned)status <= u->checks.most;
	if (good)
		note_good_check(u, &u->members[i], now_ms);
	else
		note_bad_check(u, &u->members[i], status ? status : -(int)end, now_ms);
}

/* ---- answers --------------------------------------------------------------------------------- */

static bool
is_failure_of_server(const struct fetch_result *r)
{
	switch (r->end) {
	case FETCH_DNS:
	case FETCH_CONNECT:
	case FETCH_CONNECT_TIMEOUT:
	case FETCH_TLS:
		return true;
	case FETCH_READ_TIMEOUT:
	case FETCH_CLOSED:
	case FETCH_SEND:
		return !r->head_seen;
	case FETCH_TOTAL_TIMEOUT: /* the time may have gone into a large body */
		return !r->begun && !r->body_taken;
	default:
		return false;
	}
}

void
upstream_failed(struct upstream *u, const struct upstream_try *t, const struct fetch_result *r,
		int64_t now_ms)
{
	assert(t->current < u->count);
	if (is_failure_of_server(r))
		note_failure(u, t, -(int)r->end, r->word, r->detail ? r->detail : "no answer",
			     now_ms);
}

static void
learn(struct member *m, int64_t us)
{
	int64_t usual = atomic_load_explicit(&m->usual_us, memory_order_relaxed), was = usual;
	if (!usual)
		usual = us;
	else if (us > usual)
		usual += usual / RISE;
	else
		usual -= usual / FALL;
	usual = usual < USUAL_LEAST_US	? USUAL_LEAST_US
		: usual > USUAL_MOST_US ? USUAL_MOST_US
					: usual;
	if (usual != was)
		atomic_store_explicit(&m->usual_us, (uint32_t)usual, memory_order_relaxed);
}

/* Seldom written, for all workers read what lies beside it. */
static void
note_answer(struct member *m, int64_t now_ms)
{
	int64_t last = atomic_load_explicit(&m->answered_ms, memory_order_relaxed);
	if (!last || now_ms - last >= UPSTREAM_ANSWERED_STEP_MS)
		atomic_store_explicit(&m->answered_ms, now_ms, memory_order_relaxed);
}

void
upstream_answered(struct upstream *u, const struct upstream_try *t, int status, int64_t wait_us,
		  int64_t now_ms)
{
	struct member *m = &u->members[t->current];
	char word[16];
	assert(t->current < u->count);
	learn(m, wait_us);
	note_answer(m, now_ms);
	if (status < 502 || status > 504) {
		note_success(u, m, now_ms);
		return;
	}
	snprintf(word, sizeof word, "%d", status);
	note_failure(u, t, status, word, "its answer", now_ms);
}

/* ---- reports --------------------------------------------------------------------------------- */

/* Constant words, since reports borrow them: rare statuses share one. */
static const char *
check_word(int why)
{
	static const char *const words[] = {
#define FETCH_END(id, status, word) "health check: " word,
#include "proxy/origin/fetch_ends.h"
#undef FETCH_END
	};
	static const struct {
		int status;
		const char *word;
	} statuses[] = {
#define STATUS(n) {n, "health check: " #n}
		STATUS(200), STATUS(204), STATUS(301), STATUS(302), STATUS(307),
		STATUS(308), STATUS(400), STATUS(401), STATUS(403), STATUS(404),
		STATUS(405), STATUS(410), STATUS(421), STATUS(429), STATUS(500),
		STATUS(501), STATUS(502), STATUS(503), STATUS(504),
#undef STATUS
	};
	if (why <= 0)
		return words[-why];
	for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
		if (statuses[i].status == why)
			return statuses[i].word;
	return "health check: unexpected status";
}

static const char *
why_of(const struct member *m)
{
	static const char *const words[] = {
#define FETCH_END(id, status, word) word,
#include "proxy/origin/fetch_ends.h"
#undef FETCH_END
	};
	int why = atomic_load_explicit(&m->why, memory_order_relaxed);
	if (why > 0)
		return why == 502 ? "502" : why == 503 ? "503" : "504";
	return words[-why];
}

struct upstream_state
upstream_state(const struct upstream *u, unsigned i, int64_t now_ms)
{
	assert(i < u->count);
	const struct member *m = &u->members[i];
	uint32_t us = atomic_load_explicit(&m->usual_us, memory_order_relaxed);
	uint64_t held = atomic_load_explicit(&m->held, memory_order_relaxed);
	unsigned failures = atomic_load_explicit(&m->failures, memory_order_relaxed);
	bool unwell = atomic_load_explicit(&m->unwell, memory_order_relaxed);
	int64_t left = held && held != UPSTREAM_UNWELL ? until_of(held) - now_ms : 0;
	struct upstream_state s = {
		.url = origin_url(m->origin),
		.group = u->name,
		.number = m->number,
		.condition = held				       ? UPSTREAM_OUT
			     : failures >= UPSTREAM_FAILURES || unwell ? UPSTREAM_FAILING
								       : UPSTREAM_WELL,
		.returns_ms = left > 0 ? left : 0,
		.active = atomic_load_explicit(&m->active, memory_order_relaxed),
		.usual_ms = ((int64_t)us + 999) / 1000,
	};
	if (s.condition != UPSTREAM_WELL)
		s.why = unwell ? check_word(
					 atomic_load_explicit(&m->check_why, memory_order_relaxed))
			       : why_of(m);
	return s;
}

int64_t
upstream_usual_ms(const struct upstream *u)
{
	for (unsigned i = 0; i < u->count; i++) {
		const struct member *m = &u->members[i];
		if (!atomic_load_explicit(&m->held, memory_order_relaxed))
			return upstream_state(u, i, 0).usual_ms;
	}
	return 0;
}
