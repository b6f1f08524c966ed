/* encoding.c - lists of content codings. */
#include "config/encoding.h"

#include "config/config.h"

#include <string.h>
#include <strings.h>

static const char *const known[CONFIG_CODINGS_MOST] = {"br", "gzip", "zstd"};
static const char *const usual[] = {"br", "gzip"};

static const char *
coding_of(const char *word)
{
	for (unsigned i = 0; i < CONFIG_CODINGS_MOST; i++)
		if (strcasecmp(word, known[i]) == 0)
			return known[i];
	return NULL;
}

static bool
is_alone(const char *word)
{
	return strcmp(word, "default") == 0 || strcmp(word, "none") == 0;
}

unsigned
config_encoding_names(const struct config *c, const struct config_route *r,
		      const char *names[CONFIG_CODINGS_MOST])
{
	const struct config_encoding *list = r && r->cache.accept_encoding.count
						     ? &r->cache.accept_encoding
						     : &c->forwarded.accept_encoding;
	unsigned n = 0;
	if (list->count == 1 && strcmp(list->words[0], "default") == 0) {
		memcpy(names, usual, sizeof usual);
		return sizeof usual / sizeof *usual;
	}
	for (unsigned i = 0; i < list->count && n < CONFIG_CODINGS_MOST; i++) {
		const char *coding = coding_of(list->words[i]);
		if (coding)
			names[n++] = coding;
	}
	return n;
}

const char *
config_encoding_fault(const struct config_encoding *list, const char **word)
{
	for (unsigned i = 0; i < list->count; i++) {
		*word = list->words[i];
		if (is_alone(*word) && list->count > 1)
			return "stands alone, or not at all";
		if (!is_alone(*word) && !coding_of(*word))
			return "is no coding that is known here; write some of br, gzip, zstd, or none";
		for (unsigned k = 0; k < i; k++)
			if (strcasecmp(list->words[k], *word) == 0)
				return "is there twice";
	}
	return NULL;
}
