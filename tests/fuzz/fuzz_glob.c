/* fuzz_glob.c - patterns with "*" against texts of strangers.
 * rooms: base
 *
 * The input is a byte that chooses the kind, a pattern, a second one and a text, cut at NULs. What is found is what
 * trying every way finds; a pattern that covers another one matches all that the other matches; and a text matches
 * itself with a "*" at either end.
 */
#include "proxy/base/glob.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

enum { INPUT_MOST = 48 };

static bool
model(const struct glob *g, size_t first, struct str text)
{
	struct str rest = str_from(g->pattern, first);
	bool any = !g->is_path || first == 0 || first + 1 == g->pattern.n;
	if (!rest.n)
		return !text.n;
	if (rest.p[0] != '*')
		return text.n && str_eq((struct str){text.p, 1}, (struct str){rest.p, 1}) &&
		       model(g, first + 1, str_from(text, 1));
	for (size_t i = 0; i <= text.n; i++) {
		if (i && text.p[i - 1] == '/' && !any)
			return false;
		if (model(g, first + 1, str_from(text, i)))
			return true;
	}
	return false;
}

static bool
is_pattern(struct str s)
{
	size_t stars = 0;
	for (size_t i = 0; i < s.n; i++) {
		stars += s.p[i] == '*';
		if (i && s.p[i] == '*' && s.p[i - 1] == '*')
			return false;
	}
	return s.n && stars <= 4; /* the model tries every way */
}

static void
must(bool is)
{
	if (!is)
		abort();
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	if (n < 1 || n > INPUT_MOST)
		return 0;
	char *p = malloc(n); /* exactly */
	memcpy(p, data, n);
	struct str a = str_before((struct str){p + 1, n - 1}, '\0');
	struct str b = str_before(str_from((struct str){p, n}, a.n + 2), '\0');
	struct str text = str_from((struct str){p, n}, a.n + b.n + 3);
	struct glob g = {a, data[0] & 1, false}, h = {b, data[0] & 1, false};
	if (is_pattern(a) && is_pattern(b)) {
		bool is = glob_matches(&g, text);
		must(is == model(&g, 0, text));
		must(is || !glob_covers(&g, b) || !glob_matches(&h, text));
		must(glob_covers(&g, a));
		g.any_case = true;
		must(!is || glob_matches(&g, text));
	}
	free(p);
	return 0;
}
