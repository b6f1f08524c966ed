/* date.c - HTTP dates (RFC 9110 5.6.7) by fixed positions: every format has fixed columns.
 *
 * Letters are matched in any case, no other zone than GMT is (RFC 9111 4.2).
 */
#include "proxy/http/date.h"

#include "proxy/http/syntax.h"

#include <endian.h>

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

static bool
is_leap(unsigned year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 16 == 0); /* of 100 and 16: of 400 */
}

static inline bool
civil_to_unix(const struct civil *c, int64_t *out)
{
	static const short before[] = {0,   31,	 59,  90,  120, 151, 181,
				       212, 243, 273, 304, 334, 365}; /* each month, and the end */
	enum { BEFORE_1970 = 719162 };
	unsigned past = (unsigned)c->year - 1; /* years 1 to 9999 */
	if (c->year < 1 || c->year > 9999 || c->day < 1 || c->hour > 23 || c->minute > 59 ||
	    c->second > 60) /* a leap second is 60 */
		return false;
	bool leap = is_leap((unsigned)c->year);
	int length = before[c->month] - before[c->month - 1] + (c->month == 2 && leap);
	if (c->day > length)
		return false;
	int n = (int)(past * 365 + past / 4 - past / 100 + past / 400) - BEFORE_1970 +
		before[c->month - 1] + (c->month > 2 && leap) + c->day - 1;
	*out = (int64_t)n * DAY_S + c->hour * 3600 + c->minute * 60 + c->second;
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

static uint32_t
load4(const char *p)
{
	uint32_t word;
	memcpy(&word, p, sizeof word);
	return le32toh(word);
}

/* Three letters as a number, in lower case; a fourth byte is read and not looked at. Of all bytes only the two
 * cases of a letter become that letter. */
static uint32_t
letters3(const char *p)
{
	return (load4(p) & 0xffffff) | 0x202020;
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
	return (load4(p) | 0x20202000) == (' ' | WORD3('g', 'm', 't') << 8);
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

static uint64_t
load8(const char *p)
{
	uint64_t word;
	memcpy(&word, p, sizeof word);
	return le64toh(word);
}

/* Eight bytes of a date against its form, in which a 0 stands for any digit and any other byte for itself, but
 * for the first ones, which are letters: all at once, for every answer has two or three dates. In *digits each
 * byte becomes the number that it has with the byte behind it. */
static inline bool
is_form(const char *p, const char form[8], unsigned letters, uint64_t *digits)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
	uint64_t all = ~UINT64_C(0) << 8 * letters;
	uint64_t want = load8(form), zeros = want >> 4 & ~(want >> 3) & ~(want >> 6) & ones;
	uint64_t is = (load8(p) ^ want) & all; /* a digit becomes its number, what is itself 0 */
	uint64_t over = is + (ones * 0x7f - zeros * 9);
	*digits = is * 10 + (is >> 8);
	return ((over | is) & tops) == 0;
}

static int
number_at(uint64_t digits, unsigned i)
{
	return (int)(digits >> 8 * i & 0xff);
}

/* "Sun, 06 Nov 1994 08:49:37 GMT" */
static bool
imf_fixdate(const char *p, struct civil *c)
{
	uint64_t day, year, time;
	if (!is_form(p, "Sun, 00 ", 3, &day) || !is_form(p + 8, "Nov 0000", 3, &year) ||
	    !is_form(p + 17, "00:00:00", 0, &time) || p[16] != ' ')
		return false;
	c->day = number_at(day, 5);
	c->year = number_at(year, 4) * 100 + number_at(year, 6);
	c->hour = number_at(time, 0);
	c->minute = number_at(time, 3);
	c->second = number_at(time, 6);
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

/* The two forms that nobody should send any more, apart from what everybody sends. */
__attribute__((noinline)) static bool
parse_obsolete(struct str s, int64_t now, int64_t *out)
{
	struct civil c = {0};
	return (s.n == 24 ? asctime_date(s.p, &c) : rfc850(s, now, &c)) && civil_to_unix(&c, out);
}

bool
date_parse(struct str s, int64_t now, int64_t *out)
{
	struct civil c;
	if (s.n == DATE_BYTES && s.p[3] == ',')
		return imf_fixdate(s.p, &c) && civil_to_unix(&c, out);
	return parse_obsolete(s, now, out);
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
