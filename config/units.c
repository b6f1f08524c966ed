/* units.c - one table of suffixes per quantity, read forwards and backwards. */
#include "config/units.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DAY_S = 86400, MILLION = 1000000, DRIVES_MOST = 1000 };

struct unit {
	const char *word;
	uint64_t scale;
};

/* Printing takes the first row that divides the number, so larger ones and the form people expect
 * come first; what follows the empty word is only read. */
/* clang-format off */
static const struct unit byte_units[] = {
	{"EiB", 1ull << 60}, {"PiB", 1ull << 50}, {"TiB", 1ull << 40}, {"GiB", 1ull << 30},
	{"MiB", 1ull << 20}, {"KiB", 1ull << 10},
	{"TB", 1000000000000}, {"GB", 1000000000}, {"MB", 1000000}, {"kB", 1000}, {"B", 1}, {"", 1},
	{"T", 1000000000000}, {"G", 1000000000}, {"M", 1000000}, {"k", 1000}, {NULL, 0},
};
static const struct unit count_units[] = {
	{"G", 1000000000}, {"M", 1000000}, {"k", 1000}, {"", 1}, {NULL, 0},
};
static const struct unit time_units[] = {
	{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1},
	{"w", 604800000}, {NULL, 0},
};
/* clang-format on */

static const struct unit *
find_unit(const struct unit *units, const char *word, size_t n)
{
	for (; units->word; units++)
		if (strlen(units->word) == n && strncasecmp(units->word, word, n) == 0)
			return units;
	return NULL;
}

/* "12" or "1.5" at *z as digits / divisor; *z moves behind it. */
static int
parse_digits(const char **z, uint64_t *digits, uint64_t *divisor)
{
	bool any = false, point = false;
	*digits = 0;
	*divisor = 1;
	if (**z == '0' && isdigit((unsigned char)(*z)[1])) /* YAML 1.1 reads 010 as eight */
		return -1;
	for (;; (*z)++) {
		if (**z == '.' && !point) {
			point = true;
			continue;
		}
		if (!isdigit((unsigned char)**z))
			return any ? 0 : -1;
		unsigned digit = (unsigned)(**z - '0');
		if (*digits > (UINT64_MAX - digit) / 10 || *divisor > UINT64_MAX / 10)
			return -1;
		*digits = *digits * 10 + digit;
		*divisor *= point ? 10 : 1;
		any = true;
	}
}

/* Of what has no parts: 1.5 requests, or half a byte. */
static bool
is_cut(const struct unit *units, const struct unit *unit, uint64_t digits, uint64_t divisor)
{
	bool whole = units == count_units || unit->scale == 1;
	return whole && (unsigned __int128)digits * unit->scale % divisor != 0;
}

/* One number with its unit at *z, spaces between them allowed; *z moves behind it. */
static int
parse_one(const char **z, const struct unit *units, uint64_t *out)
{
	uint64_t digits, divisor;
	if (parse_digits(z, &digits, &divisor) < 0)
		return -1;
	while (**z == ' ')
		(*z)++;
	size_t n = 0;
	while (isalpha((unsigned char)(*z)[n]))
		n++;
	const struct unit *unit = find_unit(units, *z, n);
	if (!unit || is_cut(units, unit, digits, divisor))
		return -1;
	*z += n;
	unsigned __int128 whole = (unsigned __int128)digits * unit->scale / divisor;
	if (whole > UINT64_MAX)
		return -1;
	*out = (uint64_t)whole;
	return 0;
}

static int
parse_whole(const char *z, const struct unit *units, uint64_t *out)
{
	uint64_t v;
	if (parse_one(&z, units, &v) < 0 || *z)
		return -1;
	*out = v;
	return 0;
}

int
units_parse_bytes(const char *z, uint64_t *bytes)
{
	return parse_whole(z, byte_units, bytes);
}

int
units_parse_count(const char *z, uint64_t *count)
{
	return parse_whole(z, count_units, count);
}

int
units_parse_ms(const char *z, uint64_t *ms)
{
	uint64_t sum = 0, part;
	if (strcmp(z, "0") == 0) {
		*ms = 0;
		return 0;
	}
	do { /* "1h30m" */
		if (parse_one(&z, time_units, &part) < 0 || sum > UINT64_MAX - part)
			return -1;
		sum += part;
	} while (*z);
	*ms = sum;
	return 0;
}

int
units_parse_ttl(const char *z, unsigned *status, uint64_t *seconds)
{
	uint64_t ms;
	if (strspn(z, "0123456789") != 3 || z[3] != ':')
		return -1;
	const char *time = z + 4 + strspn(z + 4, " ");
	if (units_parse_ms(time, &ms) < 0 || ms % 1000)
		return -1;
	*status = (unsigned)atoi(z);
	*seconds = ms / 1000;
	return 0;
}

/* RFC 9110 8.3.1, and RFC 6838 4.2 for what names may have. */
bool
units_is_type(const char *z, size_t n)
{
	static const char of_names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789!#$&-^_.+";
	size_t first = strspn(z, of_names);
	if (!first || z[first] != '/')
		return false;
	size_t second = strspn(z + first + 1, of_names);
	if (!second && z[first + 1] == '*')
		second = 1;
	return second && first + 1 + second == n;
}

int
units_parse_type_ttl(const char *z, size_t *type_bytes, uint64_t *seconds)
{
	uint64_t ms;
	size_t n = strcspn(z, ":");
	if (!z[n] || !units_is_type(z, n))
		return -1;
	const char *time = z + n + 1 + strspn(z + n + 1, " ");
	if (units_parse_ms(time, &ms) < 0 || ms % 1000)
		return -1;
	*type_bytes = n;
	*seconds = ms / 1000;
	return 0;
}

int
units_parse_share(const char *z, double *share)
{
	if (!isdigit((unsigned char)*z) && *z != '.')
		return -1; /* strtod would take "nan", "inf", "0x1p3" and signs */
	if (z[strspn(z, "0123456789.eE-+")] != '\0' && z[strspn(z, "0123456789.eE-+ ")] != '%')
		return -1;
	char *end;
	double v = strtod(z, &end);
	while (*end == ' ')
		end++;
	if (*end == '%') {
		v /= 100;
		end++;
	}
	if (*end || !(v >= 0 && v <= 1))
		return -1;
	*share = v;
	return 0;
}

/* "0.05": there are no fractions of a byte, so it is no size. */
static bool
is_fraction(const char *z)
{
	return strchr(z, '.') && z[strspn(z, "0123456789.")] == '\0';
}

int
units_parse_room(const char *z, uint64_t *room)
{
	bool is_share = strchr(z, '%') || is_fraction(z);
	double share;
	uint64_t bytes;
	if (is_share && units_parse_share(z, &share) == 0)
		*room = UNITS_ROOM_SHARE | (uint64_t)(share * MILLION + 0.5);
	else if (!is_share && units_parse_bytes(z, &bytes) == 0 && bytes < UNITS_ROOM_SHARE)
		*room = bytes ? bytes : UNITS_ROOM_SHARE;
	else
		return -1;
	return 0;
}

/* Behind z's last word, if that is one of these; else NULL. *z is cut before it. */
static const char *
cut_word(char *z, const char *const *words)
{
	for (; *words; words++) {
		size_t n = strlen(z), m = strlen(*words);
		if (n > m && strcasecmp(z + n - m, *words) == 0) {
			for (n -= m; n && z[n - 1] == ' '; n--)
				;
			z[n] = '\0';
			return *words;
		}
	}
	return NULL;
}

/* "0.5" as millionths. */
static int
parse_millionths(const char *z, uint64_t *out)
{
	uint64_t digits, divisor;
	if (parse_digits(&z, &digits, &divisor) < 0 || *z || digits > UINT64_MAX / MILLION)
		return -1;
	*out = digits * MILLION / divisor;
	return *out > 0 && *out < DRIVES_MOST * (uint64_t)MILLION ? 0 : -1;
}

/* "0.5", and behind DWPD nothing or "of 1TB". */
static int
parse_drives(const char *number, const char *of, uint64_t *rate)
{
	uint64_t millionths, bytes;
	if (parse_millionths(number, &millionths) < 0)
		return -1;
	while (*of == ' ')
		of++;
	if (!*of) {
		*rate = UNITS_RATE_DRIVE | millionths;
		return 0;
	}
	if (strncasecmp(of, "of ", 3) != 0 || units_parse_bytes(of + 3, &bytes) < 0)
		return -1;
	unsigned __int128 day = (unsigned __int128)bytes * millionths / MILLION;
	if (day < DAY_S || day >= UNITS_RATE_DAY)
		return -1;
	*rate = UNITS_RATE_DAY | (uint64_t)day;
	return 0;
}

int
units_parse_rate(const char *z, uint64_t *rate)
{
	static const char *const day[] = {"/day", "/d", NULL}, *const second[] = {"/s", NULL};
	char text[64];
	uint64_t bytes;
	if (strlen(z) >= sizeof text)
		return -1;
	strcpy(text, z);
	char *drives = strcasestr(text, "DWPD");
	if (drives) {
		const char *of = drives + strlen("DWPD");
		while (drives > text && drives[-1] == ' ')
			drives--;
		*drives = '\0';
		return parse_drives(text, of, rate);
	}
	bool by_day = cut_word(text, day);
	if (!by_day)
		cut_word(text, second);
	if (units_parse_bytes(text, &bytes) < 0 || bytes >= UNITS_RATE_DAY ||
	    bytes < (by_day ? DAY_S : 1))
		return -1;
	*rate = by_day ? UNITS_RATE_DAY | bytes : bytes;
	return 0;
}

uint64_t
units_rate_per_s(uint64_t rate, uint64_t drive_bytes)
{
	unsigned __int128 day = rate & ~(UNITS_RATE_DAY | UNITS_RATE_DRIVE);
	if (rate & UNITS_RATE_DRIVE)
		day = day * drive_bytes / MILLION;
	else if (!(rate & UNITS_RATE_DAY))
		return rate;
	uint64_t per_s = (uint64_t)(day / DAY_S);
	return per_s ? per_s : 1;
}

static char *
print_whole(uint64_t v, const struct unit *units, char *out)
{
	while (v % units->scale || (v == 0 && units->scale != 1))
		units++;
	snprintf(out, UNITS_BYTES, "%llu%s", (unsigned long long)(v / units->scale), units->word);
	return out;
}

char *
units_print_bytes(uint64_t bytes, char out[UNITS_BYTES])
{
	return print_whole(bytes, byte_units, out);
}

char *
units_print_count(uint64_t count, char out[UNITS_BYTES])
{
	return print_whole(count, count_units, out);
}

char *
units_print_ms(uint64_t ms, char out[UNITS_BYTES])
{
	return ms ? print_whole(ms, time_units, out) : strcpy(out, "0s");
}

char *
units_print_share(double share, char out[UNITS_BYTES])
{
	for (int digits = 0; digits <= 17; digits++) {
		double back;
		snprintf(out, UNITS_BYTES, "%.*f%%", digits, share * 100);
		if (units_parse_share(out, &back) == 0 && back == share)
			return out;
	}
	snprintf(out, UNITS_BYTES, "%.17g", share); /* times 100 and back is not always the same */
	return out;
}

/* n / 10^digits, as short as that can be said, and a word behind it. */
static char *
print_decimal(uint64_t n, int digits, const char *word, char out[UNITS_BYTES])
{
	uint64_t one = 1;
	for (int i = 0; i < digits; i++)
		one *= 10;
	int at = snprintf(out, UNITS_BYTES, "%llu.%0*llu", (unsigned long long)(n / one), digits,
			  (unsigned long long)(n % one));
	while (out[at - 1] == '0')
		at--;
	at -= out[at - 1] == '.';
	snprintf(out + at, (size_t)(UNITS_BYTES - at), "%s", word);
	return out;
}

char *
units_print_room(uint64_t room, char out[UNITS_BYTES])
{
	if (room & UNITS_ROOM_SHARE)
		return print_decimal(room & ~UNITS_ROOM_SHARE, 4, "%", out);
	return units_print_bytes(room, out);
}

char *
units_print_rate(uint64_t rate, char out[UNITS_BYTES])
{
	uint64_t n = rate & ~(UNITS_RATE_DAY | UNITS_RATE_DRIVE);
	if (rate & UNITS_RATE_DRIVE)
		return print_decimal(n, 6, "DWPD", out);
	units_print_bytes(n, out);
	return rate & UNITS_RATE_DAY ? strcat(out, "/day") : out;
}

char *
units_say_bytes(uint64_t bytes, char out[UNITS_BYTES])
{
	static const char *const words[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
	double v = (double)bytes;
	unsigned i = 0;
	for (; v >= 999.5 && i < 6; i++)
		v /= 1000;
	snprintf(out, UNITS_BYTES, "%.*f %s",
		 i == 0 || v >= 99.95 ? 0
		 : v >= 9.995	      ? 1
				      : 2,
		 v, words[i]);
	return out;
}

char *
units_say_count(uint64_t count, char out[UNITS_BYTES])
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	char *to = out;
	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return out;
}

char *
units_say_bytes_more(double bytes, char out[UNITS_BYTES])
{
	if (bytes >= 0)
		return units_say_bytes((uint64_t)bytes, out);
	char positive[UNITS_BYTES];
	units_say_bytes((uint64_t)-bytes, positive);
	snprintf(out, UNITS_BYTES, "-%.*s", UNITS_BYTES - 2, positive);
	return out;
}

char *
units_say_lasting(double seconds, char out[UNITS_BYTES])
{
	if (seconds < 120)
		snprintf(out, UNITS_BYTES, "%.0f s", seconds);
	else if (seconds < 7200)
		snprintf(out, UNITS_BYTES, "%.0f min", seconds / 60);
	else if (seconds < 2 * 86400)
		snprintf(out, UNITS_BYTES, "%.1f h", seconds / 3600);
	else
		snprintf(out, UNITS_BYTES, "%.1f days", seconds / 86400);
	return out;
}
