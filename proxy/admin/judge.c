/* judge.c - a ring of the counters as they were, a second apart. */
#include "proxy/admin/judge.h"

#include "proxy/admin/history.h"
#include "proxy/base/mem.h"

#include <pthread.h>
#include <stdlib.h>

enum { MINUTE_US = 60 * 1000000, STEPS = 64 };

struct step {
	int64_t at_us;
	double came[REPORT_RATES], failed;
};

struct judge {
	pthread_mutex_t lock; /* all that follows */
	struct step ring[STEPS];
	unsigned long count; /* so many were put in */
	enum judgement_level level;
	int64_t since_s;
};

struct judge *
judge_create(int64_t now_s)
{
	struct judge *j = NEW(struct judge);
	pthread_mutex_init(&j->lock, NULL);
	j->since_s = now_s;
	return j;
}

void
judge_destroy(struct judge **jp)
{
	struct judge *j = *jp;
	*jp = NULL;
	if (!j)
		return;
	pthread_mutex_destroy(&j->lock);
	free(j);
}

/* A 504 that only-if-cached asked for is no failure, and any client may ask for it. */
static double
failed_of(const struct report *r)
{
	uint64_t errors = r->n[METRIC_STATUS_5XX], wanted = r->n[METRIC_ONLY_IF_CACHED];
	return errors > wanted ? (double)(errors - wanted) : 0;
}

/* The oldest that is of the last minute; NULL: none is known. */
static const struct step *
find_begin(const struct judge *j, int64_t now_us)
{
	unsigned long n = j->count < STEPS ? j->count : STEPS;
	for (unsigned long i = j->count - n; i < j->count; i++) {
		const struct step *s = &j->ring[i % STEPS];
		if (now_us - s->at_us <= MINUTE_US && now_us > s->at_us)
			return s;
	}
	return NULL;
}

static void
tell_minute(const struct judge *j, struct report *r, int64_t now_us)
{
	const struct step *begin = find_begin(j, now_us);
	r->health.minute = (struct report_minute){0};
	if (!begin)
		return;
	history_totals(r, r->health.minute.came);
	r->health.minute.seconds = (double)(now_us - begin->at_us) / 1e6;
	r->health.minute.failed = failed_of(r) - begin->failed;
	if (r->health.minute.failed < 0) /* the two counters are read one after the other */
		r->health.minute.failed = 0;
	for (int i = 0; i < REPORT_RATES; i++)
		r->health.minute.came[i] -= begin->came[i];
}

static void
judge(struct judge *j, struct report *r, int64_t now_us)
{
	tell_minute(j, r, now_us);
	judgement_of(r, &r->health.judgement);
	if (r->health.judgement.level != j->level) {
		j->level = r->health.judgement.level;
		j->since_s = r->now_s;
	}
	r->health.judgement.since_s = j->since_s;
}

void
judge_second(struct judge *j, struct report *r, int64_t now_us)
{
	pthread_mutex_lock(&j->lock);
	struct step *s = &j->ring[j->count++ % STEPS];
	s->at_us = now_us;
	history_totals(r, s->came);
	s->failed = failed_of(r);
	judge(j, r, now_us);
	pthread_mutex_unlock(&j->lock);
}

void
judge_report(struct judge *j, struct report *r, int64_t now_us)
{
	pthread_mutex_lock(&j->lock);
	judge(j, r, now_us);
	pthread_mutex_unlock(&j->lock);
}
