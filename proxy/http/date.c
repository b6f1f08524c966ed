/* date.c - HTTP dates (RFC 9110 5.6.7) by fixed positions: every format has fixed columns.
 *
 * Letters are matched in any case, no other zone than GMT is (RFC 9111 4.2).
 */
#include "proxy/http/date.h"

#include "proxy/http/syntax.h"

#define DAY_S 86400

static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
static const char days[] = "SunMonTueWedThuFriSat";
static const struct str long_days[] = {
	STR_INIT("Sunday"),   STR_INIT("Monday"), STR_INIT("Tuesday"),	STR_INIT("Wednesday"),
	STR_INIT("Thursday"), STR_INIT("Friday"), STR_INIT("Saturday"),
};

struct civil {
	int64_t year;
	int month, day; /* 1.. */
	int hour, minute, second;
};

/* Days since 1970-01-01 of a Gregorian date; the year begins in March, so that the leap day is
 * its last (Hinnant, days_from_civil). */
static int64_t
days_of(int64_t year, int month, int day)
{
	year -= month <= 2;
	int64_t era = year / 400, of_era = year - era * 400; /* years 0 to 9999: never negative */
	int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719468;
}

static int
month_days(int64_t year, int month)
{
	static const char of[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	return of[month - 1] + (month == 2 && leap);
}

static bool
civil_to_unix(const struct civil *c, int64_t *out)
{
	if (c->year < 1 || c->day < 1 || c->day > month_days(c->year, c->month) || c->hour > 23 ||
	    c->minute > 59 || c->second > 60) /* a leap second is 60 */
		return false;
	*out = days_of(c->year, c->month, c->day) * DAY_S + c->hour * 3600 + c->minute * 60 +
	       c->second;
	return true;
}

/* RFC 850 years (5.6.7): what seems more than 50 years in the future was a century ago. */
static int64_t
resolve_year(struct civil c, int64_t now)
{
	int64_t year_now = 1970 + now / (DAY_S * 365 + DAY_S / 4), t;
	c.year += year_now - year_now % 100;
	struct civil limit = c;
	limit.year -= 50;
	limit.day = c.day > 28 ? 28 : c.day; /* 29 February may not be a day there */
	if (civil_to_unix(&limit, &t) && t > now)
		c.year -= 100;
	return c.year;
}

/* n digits at p; a leading space counts as zero where asctime pads with it. */
static bool
number(const char *p, int n, bool padded, int *out)
{
	int v = 0;
	for (int i = 0; i < n; i++) {
		if (padded && i == 0 && p[0] == ' ')
			continue;
		if (!byte_is_digit(p[i]))
			return false;
		v = v * 10 + (p[i] - '0');
	}
	*out = v;
	return true;
}

/* Three letters as a number, in lower case. Of all bytes only the two cases of a letter become that
 * letter. */
static uint32_t
letters3(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;
	return (u[0] | (uint32_t)u[1] << 8 | (uint32_t)u[2] << 16) | 0x202020;
}

#define WORD3(a, b, c) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16)

static bool
is_day(const char *p)
{
	switch (letters3(p)) {
	case WORD3('s', 'u', 'n'):
	case WORD3('m', 'o', 'n'):
	case WORD3('t', 'u', 'e'):
	case WORD3('w', 'e', 'd'):
	case WORD3('t', 'h', 'u'):
	case WORD3('f', 'r', 'i'):
	case WORD3('s', 'a', 't'):
		return true;
	default:
		return false;
	}
}

static bool
is_gmt(const char *p)
{
	return p[0] == ' ' && letters3(p + 1) == WORD3('g', 'm', 't');
}

/* 0: none. */
static int
month_of(const char *p)
{
	/* clang-format off */
	switch (letters3(p)) {
	case WORD3('j', 'a', 'n'): return 1;
	case WORD3('f', 'e', 'b'): return 2;
	case WORD3('m', 'a', 'r'): return 3;
	case WORD3('a', 'p', 'r'): return 4;
	case WORD3('m', 'a', 'y'): return 5;
	case WORD3('j', 'u', 'n'): return 6;
	case WORD3('j', 'u', 'l'): return 7;
	case WORD3('a', 'u', 'g'): return 8;
	case WORD3('s', 'e', 'p'): return 9;
	case WORD3('o', 'c', 't'): return 10;
	case WORD3('n', 'o', 'v'): return 11;
	case WORD3('d', 'e', 'c'): return 12;
	default: return 0;
	}
	/* clang-format on */
}

static bool
month_at(const char *p, struct civil *c)
{
	c->month = month_of(p);
	return c->month > 0;
}

static bool
time_at(const char *p, struct civil *c)
{
	return number(p, 2, false, &c->hour) && p[2] == ':' &&
	       number(p + 3, 2, false, &c->minute) && p[5] == ':' &&
	       number(p + 6, 2, false, &c->second);
}

static inline bool
two_digits(const char *p, int *out)
{
	unsigned tens = (unsigned)(p[0] - '0'), ones = (unsigned)(p[1] - '0');
	*out = (int)(tens * 10 + ones);
	return tens <= 9 && ones <= 9;
}

/* "Sun, 06 Nov 1994 08:49:37 GMT": every answer has two or three of them, so without loops. */
static bool
imf_fixdate(const char *p, struct civil *c)
{
	int century, year;
	bool ok = p[3] == ',' && p[4] == ' ' && two_digits(p + 5, &c->day) && p[7] == ' ' &&
		  p[11] == ' ' && two_digits(p + 12, &century) && two_digits(p + 14, &year) &&
		  p[16] == ' ' && two_digits(p + 17, &c->hour) && p[19] == ':' &&
		  two_digits(p + 20, &c->minute) && p[22] == ':' && two_digits(p + 23, &c->second);
	if (!ok)
		return false;
	c->year = century * 100 + year;
	return is_day(p) && month_at(p + 8, c) && is_gmt(p + 25);
}

/* "Sunday, 06-Nov-94 08:49:37 GMT": the part from ", " on is 24 bytes */
static bool
rfc850(struct str s, int64_t now, struct civil *c)
{
	int year = 0;
	if (s.n < 24 + 6)
		return false;
	struct str day = {s.p, s.n - 24};
	const char *p = s.p + day.n;
	bool known = false;
	for (int i = 0; i < 7; i++)
		known = known || str_ieq(day, long_days[i]);
	if (!known || memcmp(p, ", ", 2) != 0 || !number(p + 2, 2, false, &c->day) || p[4] != '-' ||
	    !month_at(p + 5, c) || p[8] != '-' || !number(p + 9, 2, false, &year) || p[11] != ' ' ||
	    !time_at(p + 12, c) || !is_gmt(p + 20))
		return false;
	c->year = year;
	c->year = resolve_year(*c, now);
	return true;
}

/* "Sun Nov  6 08:49:37 1994" */
static bool
asctime_date(const char *p, struct civil *c)
{
	int year = 0;
	bool ok = is_day(p) && p[3] == ' ' && month_at(p + 4, c) && p[7] == ' ' &&
		  number(p + 8, 2, true, &c->day) && p[10] == ' ' && time_at(p + 11, c) &&
		  p[19] == ' ' && number(p + 20, 4, false, &year);
	c->year = year;
	return ok;
}

bool
date_parse(struct str s, int64_t now, int64_t *out)
{
	struct civil c = {0};
	bool ok = s.n == DATE_BYTES && s.p[3] == ',' ? imf_fixdate(s.p, &c)
		  : s.n == 24			     ? asctime_date(s.p, &c)
						     : rfc850(s, now, &c);
	return ok && civil_to_unix(&c, out);
}

static void
digits(char *out, int64_t v, int n)
{
	while (n--) {
		out[n] = (char)('0' + v % 10);
		v /= 10;
	}
}

void
date_format(int64_t t, char out[DATE_BYTES])
{
	const int64_t first = -62135596800, last = 253402300799; /* years 1 to 9999 */
	t = t < first ? first : t > last ? last : t;
	int64_t day = t / DAY_S - (t % DAY_S < 0), second = t - day * DAY_S;
	int64_t z = day + 719468; /* civil_from_days, the inverse of days_of */
	int64_t era = z / 146097, of_era = z - era * 146097;
	int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	int64_t month = (5 * of_year + 2) / 153; /* from March */
	int64_t day_of_month = of_year - (153 * month + 2) / 5 + 1;
	month += month < 10 ? 3 : -9;
	year += era * 400 + (month <= 2);

	memcpy(out, "Sun, 00 Jan 0000 00:00:00 GMT", DATE_BYTES);
	memcpy(out, days + (z + 3) % 7 * 3, 3);
	digits(out + 5, day_of_month, 2);
	memcpy(out + 8, months + (month - 1) * 3, 3);
	digits(out + 12, year, 4);
	digits(out + 17, second / 3600, 2);
	digits(out + 20, second / 60 % 60, 2);
	digits(out + 23, second % 60, 2);
}
