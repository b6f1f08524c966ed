/* reading_word.c - words that a setting has for some of its values, and those that mean the same. */
#include "config/reading_inside.h"
#include "config/suggest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

int
reading_add_scalar(struct reading *r, const char *text, bool quoted)
{
	/* libyaml copies the text; its prototype is older than const */
	return yaml_document_add_scalar(&r->made, NULL, (yaml_char_t *)(uintptr_t)text, -1,
					quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE
					       : YAML_PLAIN_SCALAR_STYLE);
}

/* Round_Robin is round-robin. */
static bool
is_spelled(const char *word, const char *given, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (word[i] != (given[i] == '_' ? '-' : (char)tolower((unsigned char)given[i])))
			return false;
	return true;
}

int
reading_find_word(const char *words, const char *word)
{
	size_t n = strlen(word);
	for (int i = 0; *words; i++) {
		size_t len = strcspn(words, "|");
		if (len == n && is_spelled(words, word, n))
			return i;
		words += len + (words[len] == '|');
	}
	return -1;
}

int
reading_fail_words(struct reading *r, const struct given *g, const char *path,
		   const struct setting *s)
{
	char copy[128], *rest, *nearest = NULL;
	snprintf(copy, sizeof(copy), "%s", s->words);
	for (char *w = strtok_r(copy, "|", &rest); w; w = strtok_r(NULL, "|", &rest))
		if (suggest_is_near(g->text, w))
			nearest = w;
	if (nearest)
		return reading_fail(r, g, "%s: \"%.60s\" is not known; did you mean \"%s\"?", path,
				    g->text, nearest);
	return reading_fail(r, g, "%s: \"%.60s\" is not known; write one of %s", path, g->text,
			    s->words);
}

bool
reading_is_off(const struct setting *s, const char *text)
{
	static const char *const words[] = {"off", "no", "false", "none", "never", NULL};
	if (!s->words || (strcmp(s->words, "none") != 0 && strcmp(s->words, "off") != 0))
		return false;
	for (const char *const *w = words; *w; w++)
		if (strcasecmp(*w, text) == 0)
			return true;
	return false;
}
