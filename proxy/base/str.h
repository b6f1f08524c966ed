/* str.h - a borrowed view of bytes, and the few questions asked of it everywhere.
 *
 * Memory    a str owns nothing; whoever hands one out says how long it holds.
 * Threads   pure.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

struct str {
	const char *p;
	size_t n;
};

/* A literal as a str, also in static tables. */
#define STR(lit) ((struct str){(lit), sizeof(lit) - 1})
#define STR_INIT(lit)                  \
	{                              \
		(lit), sizeof(lit) - 1 \
	}
/* For printf("%.*s", STR_ARG(s)). */
#define STR_ARG(s) (int)(s).n, (s).p

static inline struct str
str_of(const char *z)
{
	return (struct str){z, strlen(z)};
}

static inline bool
str_eq(struct str a, struct str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* ASCII case-insensitively: field names, directives, schemes, hosts. */
static inline bool
str_ieq(struct str a, struct str b)
{
	if (a.n != b.n || a.n == 0)
		return a.n == b.n;
	/* Letters differ from their other case in 0x20: most that differ
	 * do so in the first byte. */
	return ((a.p[0] ^ b.p[0]) & ~0x20) == 0 && strncasecmp(a.p, b.p, a.n) == 0;
}

static inline bool
str_starts(struct str s, struct str with)
{
	return s.n >= with.n && (with.n == 0 || memcmp(s.p, with.p, with.n) == 0);
}

/* Without spaces and tabs at both ends (OWS of RFC 9110 5.6.3). */
static inline struct str
str_trim(struct str s)
{
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t')) {
		s.p++;
		s.n--;
	}
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

/* Up to the first c, or all of s. */
static inline struct str
str_before(struct str s, char c)
{
	const char *at = s.n ? (const char *)memchr(s.p, c, s.n) : NULL;
	return at ? (struct str){s.p, (size_t)(at - s.p)} : s;
}

static inline struct str
str_from(struct str s, size_t at)
{
	if (at > s.n)
		at = s.n;
	return at ? (struct str){s.p + at, s.n - at} : s; /* s.p may be NULL */
}

#endif
