/* fuzz_pattern.c - a pattern, a line end, and a text: a match begins where regexec of the C library has it begin, for
 * patterns that mean the same to both; captures lie inside of the text.
 * rooms: base
 */
#include "proxy/base/pattern.h"

#include <assert.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

enum { PATTERN_MOST = 60, TEXT_MOST = 80 }; /* regexec may take long for more */

static const char *
find_any(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strstr(text, *words))
			return *words;
	return NULL;
}

/* POSIX has no lazy repetitions, no sets by a letter, and no escapes in brackets; glibc has escapes of its own. */
static bool
is_posix(const char *pattern)
{
	static const char *const ours[] = {"\\d", "\\w", "(?",	"??",  "*?", "+?", "}?",
					   "\\<", "\\>", "\\`", "\\'", "[.", "[=", NULL};
	return !find_any(pattern, ours) && !(strchr(pattern, '[') && strchr(pattern, '\\'));
}

static void
compare(const char *pattern, const char *text, bool found, const struct str *captures)
{
	regex_t posix;
	regmatch_t where;
	if (regcomp(&posix, pattern, REG_EXTENDED) != 0) /* "[a-b-c]" */
		return;
	int r = regexec(&posix, text, 1, &where, 0);
	assert(r == 0 || r == REG_NOMATCH);
	assert((r == 0) == found);
	assert(!found || captures[0].p == text + where.rm_so);
	regfree(&posix);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	char err[200];
	struct str captures[PATTERN_CAPTURES];
	char *pattern = malloc(n + 1), *text = pattern;
	memcpy(pattern, data, n);
	pattern[n] = '\0';
	while (*text && *text != '\n')
		text++;
	if (*text)
		*text++ = '\0';
	struct pattern *p = pattern_create(pattern, err, sizeof err);
	assert(p || *err);
	if (p) {
		struct str s = str_of(text);
		bool found = pattern_match(p, s, captures);
		for (unsigned i = 0; found && i < PATTERN_CAPTURES; i++) {
			assert(i <= pattern_captures(p) || !captures[i].p);
			assert(!captures[i].p || (captures[i].p >= s.p &&
						  captures[i].p + captures[i].n <= s.p + s.n));
		}
		/* glibc takes the place before a line end for one where "$" matches, and paths have none. */
		if (strlen(pattern) <= PATTERN_MOST && s.n <= TEXT_MOST && is_posix(pattern) &&
		    !strchr(text, '\n'))
			compare(pattern, text, found, captures);
	}
	pattern_destroy(&p);
	free(pattern);
	return 0;
}
