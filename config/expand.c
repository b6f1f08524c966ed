/* expand.c - one pass over the text; what a variable holds is not looked at again. */
#include "config/expand.h"

#include <ctype.h>
#include <stdlib.h>

enum { NAME_BYTES = 128 };

static size_t
name_length(const char *z)
{
	size_t n = 0;
	while (z[n] == '_' || isalpha((unsigned char)z[n]) || (n && isdigit((unsigned char)z[n])))
		n++;
	return n;
}

/* z is behind "${"; *end behind the "}". */
static enum expand
add_variable(const char *z, struct buf *out, struct str *name, const char **end)
{
	char zname[NAME_BYTES];
	size_t n = name_length(z);
	const char *close = strchr(z, '}');
	bool has_default = z[n] == ':' && z[n + 1] == '-';
	*name = (struct str){z - 2, close ? (size_t)(close + 1 - (z - 2)) : strlen(z - 2)};
	if (!close || !n || n >= sizeof zname || (z + n != close && !has_default))
		return EXPAND_WRONG;
	memcpy(zname, z, n);
	zname[n] = '\0';
	*end = close + 1;
	const char *value = getenv(zname);
	if (has_default && (!value || !*value)) {
		buf_add(out, z + n + 2, (size_t)(close - (z + n + 2)));
		return EXPAND_DONE;
	}
	*name = (struct str){z, n};
	if (!value)
		return EXPAND_UNSET;
	buf_add(out, value, strlen(value));
	return EXPAND_DONE;
}

enum expand
expand(const char *text, struct buf *out, struct str *name)
{
	while (*text) {
		enum expand result = EXPAND_DONE;
		if (strncmp(text, "$${", 3) == 0) {
			buf_add_lit(out, "${");
			text += 3;
		} else if (strncmp(text, "${", 2) == 0) {
			result = add_variable(text + 2, out, name, &text);
		} else {
			buf_add(out, text++, 1);
		}
		if (result != EXPAND_DONE)
			return result;
	}
	return EXPAND_DONE;
}
