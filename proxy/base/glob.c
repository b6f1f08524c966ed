/* glob.c - from left to right, each piece at the first place where it fits. A later place would leave less to
 * the next "*": one that stands for no slash has met none up to there, so nothing is won by it. Only behind a
 * "*" at the beginning of a path does the place matter, and there each segment is tried.
 */
#include "proxy/base/glob.h"

/* The text that is matched, or a pattern that is to be covered. */
struct look {
	const struct glob *glob;
	struct str text;
	bool is_pattern;
};

/* Whether this byte is nothing that a "*" in between stands for. */
static bool
is_end_of_star(const struct look *l, size_t at)
{
	bool is_outer = at == 0 || at + 1 == l->text.n;
	if (!l->glob->is_path)
		return false;
	return l->text.p[at] == '/' || (l->is_pattern && is_outer && l->text.p[at] == '*');
}

static bool
has_at(const struct look *l, size_t at, struct str piece)
{
	struct str s = str_from(l->text, at);
	if (s.n < piece.n)
		return false;
	s.n = piece.n;
	return l->glob->any_case ? str_ieq(s, piece) : str_eq(s, piece);
}

/* The piece is at the end; from: where it may begin, loose: or behind that. */
static bool
ends_with(const struct look *l, size_t from, struct str piece, bool loose)
{
	size_t n = l->text.n - from;
	if (n < piece.n || (!loose && n > piece.n) || !has_at(l, l->text.n - piece.n, piece))
		return false;
	for (; from < l->text.n - piece.n; from++)
		if (is_end_of_star(l, from))
			return false;
	return true;
}

/* The rest of the pattern, which begins with no "*", from there on; loose: behind one. */
static bool
matches_from(const struct look *l, size_t at, struct str rest, bool loose)
{
	while (rest.n) {
		struct str piece = str_before(rest, '*');
		if (piece.n == rest.n)
			return ends_with(l, at, piece, loose);
		while (!has_at(l, at, piece)) {
			if (!loose || at == l->text.n || is_end_of_star(l, at))
				return false;
			at++;
		}
		at += piece.n;
		rest = str_from(rest, piece.n + 1);
		loose = true;
	}
	return true; /* it ends in "*" */
}

static bool
matches(const struct look *l)
{
	struct str pattern = l->glob->pattern;
	if (!pattern.n || pattern.p[0] != '*')
		return pattern.n ? matches_from(l, 0, pattern, false) : !l->text.n;
	struct str rest = str_from(pattern, 1);
	for (size_t at = 0; at <= l->text.n; at++)
		if ((at == 0 || is_end_of_star(l, at - 1)) && matches_from(l, at, rest, true))
			return true;
	return false;
}

bool
glob_matches(const struct glob *g, struct str text)
{
	return matches(&(struct look){.glob = g, .text = text});
}

bool
glob_covers(const struct glob *g, struct str pattern)
{
	return matches(&(struct look){.glob = g, .text = pattern, .is_pattern = true});
}
