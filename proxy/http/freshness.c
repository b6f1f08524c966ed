/* freshness.c - the formulas of RFC 9111 4.2, under the names they have there. */
#include "proxy/http/freshness.h"

static int64_t
at_least_0(int64_t s)
{
	return s < 0 ? 0 : s;
}

static int64_t
larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* 4.2.1 counts from Date; without one, from the arrival (RFC 9110 6.6.1). */
static int64_t
date_value(const struct freshness_facts *f)
{
	return f->date.known ? f->date.n : f->response_time;
}

/* 4.2.2: a fraction of the time since the last change. */
static int64_t
guess(const struct freshness_facts *f)
{
	double s = (double)at_least_0(date_value(f) - f->last_modified.n) * f->fraction;
	return s < (double)f->guess_max ? (int64_t)s : f->guess_max;
}

struct lifetime
freshness_lifetime(const struct freshness_facts *f)
{
	if (f->s_maxage.known)
		return (struct lifetime){f->s_maxage.n, BY_S_MAXAGE};
	if (f->max_age.known)
		return (struct lifetime){f->max_age.n, BY_MAX_AGE};
	if (f->expires.known)
		return (struct lifetime){at_least_0(f->expires.n - date_value(f)), BY_EXPIRES};
	if (f->may_guess && f->last_modified.known)
		return (struct lifetime){guess(f), BY_GUESS};
	return (struct lifetime){at_least_0(f->otherwise), BY_DEFAULT};
}

int64_t
freshness_initial_age(const struct freshness_facts *f)
{
	int64_t apparent_age = at_least_0(f->response_time - date_value(f));
	int64_t response_delay = at_least_0(f->response_time - f->request_time);
	int64_t corrected_age_value = (f->age.known ? f->age.n : 0) + response_delay;
	return larger(apparent_age, corrected_age_value);
}
