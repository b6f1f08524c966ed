/* value.c - numbers and times, digit by digit. */
#include "proxy/simulate/value.h"

static const int64_t US = 1000000, SINCE_1601_US = 11644473600 * INT64_C(1000000);

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool
value_number(struct str s, uint64_t *out)
{
	uint64_t n = 0;
	size_t i = 0;
	for (; i < s.n && is_digit(s.p[i]); i++) {
		uint64_t digit = (uint64_t)(s.p[i] - '0');
		if (n > (UINT64_MAX - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	if (i == 0)
		return false;
	if (i < s.n && s.p[i] == '.')
		for (i++; i < s.n && is_digit(s.p[i]); i++)
			continue;
	if (i != s.n)
		return false;
	*out = n;
	return true;
}

bool
value_range(struct str s, uint64_t *from, uint64_t *total)
{
	if (str_starts(s, STR("bytes")))
		s = str_from(s, 6);
	struct str first = str_before(s, '-'), of = str_from(s, str_before(s, '/').n + 1);
	*total = 0;
	if (first.n == s.n || !value_number(str_trim(first), from))
		return false;
	return of.n == 0 || str_eq(of, STR("*")) || (value_number(of, total) && *from < *total);
}

bool
value_status(struct str s, int *out)
{
	if (s.n != 3 || !is_digit(s.p[0]) || !is_digit(s.p[1]) || !is_digit(s.p[2]))
		return false;
	*out = (s.p[0] - '0') * 100 + (s.p[1] - '0') * 10 + (s.p[2] - '0');
	return true;
}

/* n digits at the start of *s, which are taken off; -1: they are not there. */
static int
take_digits(struct str *s, size_t n)
{
	int v = 0;
	if (s->n < n)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (!is_digit(s->p[i]))
			return -1;
		v = v * 10 + (s->p[i] - '0');
	}
	*s = str_from(*s, n);
	return v;
}

static bool
take(struct str *s, char c)
{
	if (s->n == 0 || s->p[0] != c)
		return false;
	*s = str_from(*s, 1);
	return true;
}

/* Days since 1970 of a date of the Gregorian calendar. */
static int64_t
days_of(int64_t y, int m, int d)
{
	y -= m <= 2;
	int64_t era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
	int64_t of_year = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int
take_month(struct str *s)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	for (int m = 0; s->n >= 3 && m < 12; m++)
		if (memcmp(s->p, names + 3 * m, 3) == 0) {
			*s = str_from(*s, 3);
			return m + 1;
		}
	return -1;
}

/* ".123" in microseconds. */
static int64_t
take_fraction(struct str *s)
{
	int64_t us = 0, unit = US / 10;
	if (!take(s, '.') && !take(s, ','))
		return 0;
	for (; s->n && is_digit(s->p[0]); *s = str_from(*s, 1), unit /= 10)
		us += unit * (s->p[0] - '0');
	return us;
}

/* "Z", "+0100", "+01:00", " +0100", or nothing: seconds east of Greenwich. */
static bool
take_zone(struct str *s, int64_t *east)
{
	*east = 0;
	while (take(s, ' '))
		continue;
	if (s->n == 0 || take(s, 'Z'))
		return s->n == 0;
	bool west = s->p[0] == '-';
	if (!take(s, '+') && !take(s, '-'))
		return false;
	int h = take_digits(s, 2);
	take(s, ':');
	int m = s->n ? take_digits(s, 2) : 0;
	if (h < 0 || m < 0 || h > 24 || m > 59 || s->n)
		return false;
	*east = (west ? -1 : 1) * (h * 3600 + m * 60);
	return true;
}

/* "05:20:44.123+01:00" behind a date. */
static bool
take_clock(struct str s, int64_t days, int64_t *us)
{
	int64_t east;
	int h = take_digits(&s, 2);
	bool colon = take(&s, ':');
	int m = take_digits(&s, 2);
	colon = take(&s, ':') && colon;
	int sec = take_digits(&s, 2);
	if (!colon || h < 0 || m < 0 || sec < 0 || h > 23 || m > 59 || sec > 60)
		return false;
	int64_t fraction = take_fraction(&s);
	if (!take_zone(&s, &east))
		return false;
	*us = (days * 86400 + h * 3600 + m * 60 + sec - east) * US + fraction;
	return true;
}

static bool
is_date(int y, int m, int d)
{
	return y >= 1970 && m >= 1 && m <= 12 && d >= 1 && d <= 31;
}

static bool
clf_time(struct str s, int64_t *us)
{
	int d = take_digits(&s, 2);
	bool slash = take(&s, '/');
	int m = take_month(&s);
	slash = take(&s, '/') && slash;
	int y = take_digits(&s, 4);
	if (!slash || !take(&s, ':') || !is_date(y, m, d))
		return false;
	return take_clock(s, days_of(y, m, d), us);
}

/* Also with slashes for its dashes. */
static bool
iso_time(struct str s, int64_t *us)
{
	int y = take_digits(&s, 4);
	char between = s.n && s.p[0] == '/' ? '/' : '-';
	bool dash = take(&s, between);
	int m = take_digits(&s, 2);
	dash = take(&s, between) && dash;
	int d = take_digits(&s, 2);
	if (!dash || !is_date(y, m, d) ||
	    !(take(&s, 'T') || take(&s, ' ') || take(&s, 't') || take(&s, '\t')))
		return false;
	return take_clock(s, days_of(y, m, d), us);
}

/* 20160201164604 */
static bool
compact_time(struct str s, int64_t *us)
{
	int y = take_digits(&s, 4), m = take_digits(&s, 2), d = take_digits(&s, 2);
	int h = take_digits(&s, 2), min = take_digits(&s, 2), sec = take_digits(&s, 2);
	if (s.n || y > 2200 || !is_date(y, m, d) || h < 0 || h > 23 || min < 0 || min > 59 ||
	    sec < 0 || sec > 60)
		return false;
	*us = (days_of(y, m, d) * 86400 + h * 3600 + min * 60 + sec) * US;
	return true;
}

/* Seconds until the year 5138, then milliseconds, microseconds, Windows' tenths of microseconds
 * since 1601 (of the years 1917 to 2170), and nanoseconds. */
static bool
epoch_time(struct str s, int64_t *us)
{
	uint64_t n;
	struct str whole = str_before(s, '.'), rest = str_from(s, whole.n);
	if (!value_number(whole, &n) || n > INT64_MAX)
		return false;
	int64_t fraction = take_fraction(&rest);
	if (rest.n)
		return false;
	if (n < UINT64_C(100000000000))
		*us = (int64_t)n * US + fraction;
	else if (n < UINT64_C(100000000000000))
		*us = (int64_t)n * 1000;
	else if (n < UINT64_C(100000000000000000))
		*us = (int64_t)n;
	else if (n < UINT64_C(180000000000000000))
		*us = (int64_t)(n / 10) - SINCE_1601_US;
	else
		*us = (int64_t)(n / 1000);
	return true;
}

bool
value_time(struct str s, int64_t *us)
{
	s = str_trim(s);
	if (s.n >= 2 && s.p[0] == '[' && s.p[s.n - 1] == ']')
		s = (struct str){s.p + 1, s.n - 2};
	if (s.n > 4 && (s.p[4] == '-' || s.p[4] == '/'))
		return iso_time(s, us);
	if (s.n == 14 && compact_time(s, us))
		return true;
	if (s.n > 2 && s.p[2] == '/')
		return clf_time(s, us);
	return epoch_time(s, us);
}

bool
value_clf_time(struct str s, struct value_clock *memo, int64_t *us)
{
	enum { MINUTE = sizeof memo->minute, SECOND = MINUTE + 1, ZONE = MINUTE + 3, ALL = 26 };
	bool whole = s.n == ALL && s.p[MINUTE] == ':' && s.p[SECOND] >= '0' && s.p[SECOND] < '6' &&
		     is_digit(s.p[SECOND + 1]) && memcmp(s.p + ZONE, " +0000", 6) == 0;
	if (whole && memcmp(s.p, memo->minute, MINUTE) == 0) {
		*us = (memo->at_s + (s.p[SECOND] - '0') * 10 + (s.p[SECOND + 1] - '0')) * US;
		return true;
	}
	if (!clf_time(s, us))
		return false;
	if (whole) {
		memcpy(memo->minute, s.p, MINUTE);
		memo->at_s = *us / US / 60 * 60;
	}
	return true;
}
