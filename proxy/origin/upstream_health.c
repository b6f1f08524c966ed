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

/* It is the client's, or at the URL, of the probe before, which has not brought the server back: that may
 * be its own doing. */
static bool
is_like_last_probe(const struct member *m, struct source from)
{
	uint64_t by = atomic_load_explicit(&m->probed_by, memory_order_relaxed);
	return by && ((uint32_t)(by >> 32) == from.client || (uint32_t)by == from.url);
}

/* The time starts anew, long enough for the answer. */
bool
upstream_wins_probe(struct member *m, struct source from, int64_t now_ms)
{
	uint64_t held = atomic_load_explicit(&m->held, memory_order_relaxed);
	if (!held || held == UPSTREAM_UNWELL || until_of(held) > now_ms)
		return false;
	if (until_of(held) + UPSTREAM_OTHERS_FIRST_MS > now_ms && is_like_last_probe(m, from))
		return false;
	int64_t hold = hold_ms(level_of(held)), dial = m->origin->connect_timeout_ms;
	if (!atomic_compare_exchange_strong(
		    &m->held, &held,
		    held_word(now_ms + (hold > dial ? hold : dial), level_of(held))))
		return false;
	atomic_store_explicit(&m->probed_by, (uint64_t)from.client << 32 | from.url,
			      memory_order_relaxed);
	return true;
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

struct failure {
	int why; /* a status, or minus a fetch_end */
	const char *word, *detail;
	bool nobodys; /* no request can cause it */
};

static const char *
times_of(unsigned failures)
{
	return failures == 1 ? "time" : "times in a row";
}

/* Of a lone server the first failure without an answer is said too, but any request may cause some:
 * not too often. */
static bool
is_to_be_said(const struct upstream *u, const struct member *m, const struct failure *f, bool fails,
	      int64_t now_ms)
{
	int64_t last = atomic_load_explicit(&m->said_ms, memory_order_relaxed);
	bool first =
		u->count == 1 && f->why < 0 && (!last || now_ms - last >= UPSTREAM_SAY_AGAIN_MS);
	return (fails || first) && !atomic_load(&m->held);
}

/* It is asked all the same. */
static void
say_failure(const struct upstream *u, struct member *m, const struct failure *f, unsigned failures,
	    int64_t now_ms)
{
	if (atomic_exchange(&m->said, true))
		return;
	atomic_store_explicit(&m->said_ms, now_ms, memory_order_relaxed);
	log_warning("origin %s fails: %s (%s), %u %s; it is asked all the same, for %s",
		    origin_url(m->origin), f->word, f->detail, failures, times_of(failures),
		    u->count == 1 ? "there is no other"
				  : "half of its group is left alone already");
}

static void
note_failure(struct upstream *u, const struct upstream_try *t, const struct failure *f,
	     int64_t now_ms)
{
	struct member *m = &u->members[t->current];
	atomic_store_explicit(&m->why, f->why, memory_order_relaxed);
	unsigned failures = outlier_failed(&m->outlier, t->from, f->nobodys, now_ms);
	if (t->probe) {
		if (f->nobodys)
			atomic_store_explicit(&m->probed_by, 0, memory_order_relaxed);
		leave_alone_longer(m, now_ms);
		return;
	}
	bool fails = outlier_is(&m->outlier, now_ms);
	if (fails)
		atomic_store(&m->failing, true);
	if ((fails || is_silent(m, f->why, now_ms)) && leave_alone(u, m, now_ms)) {
		atomic_store(&m->said, true);
		log_warning("origin %s is left alone for a while: %s (%s), %u %s; the other "
			    "servers of group %s are asked instead",
			    origin_url(m->origin), f->word, f->detail, failures, times_of(failures),
			    u->name);
	} else if (is_to_be_said(u, m, f, fails, now_ms)) {
		say_failure(u, m, f, failures, now_ms);
	}
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
			atomic_store_explicit(&m->probed_by, 0, memory_order_relaxed);
			return true;
		}
	return false;
}

static void
note_success(struct upstream *u, struct member *m, struct source from, int64_t now_ms)
{
	unsigned failures = outlier_well(&m->outlier, from, now_ms);
	if (!failures && !atomic_load_explicit(&m->held, memory_order_relaxed) &&
	    !atomic_load_explicit(&m->failing, memory_order_relaxed))
		return;
	atomic_store(&m->failing, false);
	if (let_return(u, m, false, now_ms))
		outlier_forget(&m->outlier); /* what was before says nothing of it now */
	if (atomic_exchange(&m->said, false))
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
	outlier_forget(&m->outlier);
	atomic_store(&m->failing, false);
	atomic_store(&m->said, false);
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

/* The connection carried no request yet. */
static bool
is_nobodys(enum fetch_end end)
{
	return end == FETCH_DNS || end == FETCH_CONNECT || end == FETCH_CONNECT_TIMEOUT ||
	       end == FETCH_TLS;
}

static bool
is_failure_of_server(const struct fetch_result *r)
{
	switch (r->end) {
	case FETCH_READ_TIMEOUT:
	case FETCH_CLOSED:
	case FETCH_SEND:
		return !r->head_seen;
	case FETCH_TOTAL_TIMEOUT: /* the time may have gone into a large body */
		return !r->begun && !r->body_taken;
	default:
		return is_nobodys(r->end);
	}
}

void
upstream_failed(struct upstream *u, const struct upstream_try *t, const struct fetch_result *r,
		int64_t now_ms)
{
	assert(t->current < u->count);
	struct failure f = {
		.why = -(int)r->end,
		.word = r->word,
		.detail = r->detail ? r->detail : "no answer",
		.nobodys = is_nobodys(r->end),
	};
	if (is_failure_of_server(r))
		note_failure(u, t, &f, now_ms);
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
	usual_learn(&m->usual, t->from, wait_us);
	note_answer(m, now_ms);
	if (status < 502 || status > 504) {
		note_success(u, m, t->from, now_ms);
		return;
	}
	snprintf(word, sizeof word, "%d", status);
	note_failure(u, t, &(struct failure){.why = status, .word = word, .detail = "its answer"},
		     now_ms);
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
	uint64_t held = atomic_load_explicit(&m->held, memory_order_relaxed);
	bool failing = atomic_load_explicit(&m->failing, memory_order_relaxed), several;
	bool unwell = atomic_load_explicit(&m->unwell, memory_order_relaxed);
	int64_t left = held && held != UPSTREAM_UNWELL ? until_of(held) - now_ms : 0;
	struct upstream_state s = {
		.url = origin_url(m->origin),
		.group = u->name,
		.number = m->number,
		.condition = held		 ? UPSTREAM_OUT
			     : failing || unwell ? UPSTREAM_FAILING
						 : UPSTREAM_WELL,
		.returns_ms = left > 0 ? left : 0,
		.active = atomic_load_explicit(&m->active, memory_order_relaxed),
		.usual_ms = (usual_us(&m->usual, &several) + 999) / 1000,
	};
	if (s.condition != UPSTREAM_WELL)
		s.why = unwell ? check_word(
					 atomic_load_explicit(&m->check_why, memory_order_relaxed))
			       : why_of(m);
	return s;
}

int64_t
upstream_usual_ms(const struct upstream *u, bool *several)
{
	*several = false;
	for (unsigned i = 0; i < u->count; i++) {
		const struct member *m = &u->members[i];
		if (!atomic_load_explicit(&m->held, memory_order_relaxed))
			return (usual_us(&m->usual, several) + 999) / 1000;
	}
	return 0;
}
