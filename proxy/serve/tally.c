/* tally.c - one function that every request ends in: so the counters sum to the answers. */
#include "proxy/serve/tally.h"

#include "proxy/cache/store/object_facts.h"
#include "proxy/serve/lately.h"
#include "proxy/serve/txn.h"

#include <assert.h>

static enum metric
metric_of_answer(enum answer a)
{
	static const enum metric rows[] = {
#define ANSWER(id, metric, what) [ANSWER_##id] = METRIC_##metric,
#include "proxy/serve/answers.h"
#undef ANSWER
	};
	return rows[a];
}

static enum metric
metric_of_verdict(enum admission a)
{
	static const enum metric rows[ADMISSION_COUNT] = {
#define ADMISSION(id, written, word, why) [ADMISSION_##id] = METRIC_##id,
#include "proxy/cache/admission/admissions.h"
#undef ADMISSION
	};
	return rows[a];
}

/* An object that is asked for stays on disk: an answer from it pays for it. */
static void
pay(const struct txn *t)
{
	bool whole_or_part = t->status == 200 || t->status == 206;
	if (!t->object || t->rq.method != METHOD_GET || !whole_or_part)
		return;
	/* Slices are paid for one by one (walk.c). */
	uint64_t bytes = t->object->kind == OBJECT_SLICED ? t->object->head.n : t->body_sent;
	cache_pay(t->serve->shelves->cache, t->object, bytes);
}

/* No origin was asked: it was here, or with another node of the fleet. */
static bool
is_hit(const struct txn *t)
{
	return t->cs.hit || t->from.had;
}

_Static_assert(METRIC_STATUS_5XX - METRIC_STATUS_NONE == 5, "the classes are rows in order");

/* A client that left before there was an answer waited for none. */
static void
measure(const struct txn *t)
{
	struct measures *m = t->serve->measures;
	bool hit = is_hit(t);
	if (!t->head_us)
		return;
	histogram_add(&m->of[hit ? MEASURE_FIRST_BYTE_HIT : MEASURE_FIRST_BYTE_OTHER],
		      (uint64_t)(t->head_us - t->begun_us));
	histogram_add(&m->of[hit ? MEASURE_TOTAL_HIT : MEASURE_TOTAL_OTHER],
		      (uint64_t)(now_us() - t->begun_us));
}

/* "example.com/news": the host and the first part of the path. */
static struct str
place_of(struct str key, struct str host)
{
	const char *end = key.p + key.n, *from = host.p + host.n, *p = from < end ? from + 1 : from;
	while (p < end && *p != '/' && *p != '?' && *p != '\n')
		p++;
	if (p == end || *p != '/')
		p = from; /* a file at the top is no part */
	return (struct str){host.p, (size_t)(p - host.p)};
}

/* Of a request that was drawn, for GET /top. */
static void
tell_names(const struct txn *t)
{
	struct hot *hot = t->serve->hot;
	struct str key = key_primary(&t->key), host = outgoing_authority(key);
	bool written = t->sighting.verdict == ADMISSION_SEEN_CURRENT ||
		       t->sighting.verdict == ADMISSION_SEEN_PREVIOUS;
	hot_add(hot, HOT_URLS, cachekey_url(key), 1);
	hot_add(hot, HOT_HOSTS, host, 1);
	if (written && !t->cs.hit)
		hot_add(hot, HOT_ADMITTED, place_of(key, host), (double)t->body_sent);
	if (t->sighting.verdict == ADMISSION_FIRST_SIGHT)
		hot_add(hot, HOT_FIRST_SIGHT, place_of(key, host), (double)t->body_sent);
}

static void
remember(const struct txn *t)
{
	int64_t now = now_s();
	lately_note(t->serve->lately, t->key.primary,
		    (struct lately_found){.at_s = now,
					  .status = t->status,
					  .verdict = t->sighting.verdict,
					  .answer = (unsigned)t->answer,
					  .judged = t->learnt.judged});
	if (hot_is_drawn(t->serve->hot, now))
		tell_names(t);
}

static void
count_for_route(const struct txn *t)
{
	struct route_measures *r =
		&t->serve->measures->routes[t->settings->counted[t->route->place - 1]];
	histogram_raise(&r->requests, 1);
	histogram_raise(&r->hits, is_hit(t));
	histogram_raise(&r->bytes, t->body_sent);
	histogram_raise(&r->answers[measures_class(t->status)], 1);
	if (t->head_us)
		histogram_add(&r->first_byte_us, (uint64_t)(t->head_us - t->begun_us));
}

void
tally_answer(const struct txn *t)
{
	struct metrics *m = t->serve->metrics;
	assert(t->state == TXN_DONE);
	assert(!t->cs.hit || (t->answer != ANSWER_MISS && t->answer != ANSWER_COALESCED));
	if (!t->from.asks)
		pay(t);
	if (t->from.sibling) { /* all else is counted where its client is */
		if (t->key.primary_bytes) {
			remember(t);
			metrics_add(m, metric_of_verdict(t->sighting.verdict), 1);
		}
		return;
	}
	measure(t);
	if (t->route && t->route->place)
		count_for_route(t);
	if (t->key.primary_bytes)
		remember(t);
	metrics_add(m, METRIC_STATUS_NONE + measures_class(t->status), 1);
	metrics_add(m, metric_of_answer(t->answer), 1);
	metrics_add(m, metric_of_verdict(t->sighting.verdict), 1);
	if (is_hit(t))
		metrics_add(m, METRIC_HITS, 1);
	metrics_add(m, METRIC_BYTES_FROM_CACHE,
		    t->from.had ? t->body_sent
				: body_from_cache(&t->body, t->cs.hit, t->body_sent));
}
