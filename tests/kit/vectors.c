/* vectors.c - reading tables of rows. */
#include "tests/kit/vectors.h"

#include "tests/kit/kit.h"

void *
vectors_read(const char *file, size_t row_bytes, vector_begin_fn *begin, vector_word_fn *word,
	     int *count)
{
	const char *dir = getenv("TWICE_VECTORS") ? getenv("TWICE_VECTORS") : "tests/vectors/wire";
	FILE *f = fopen(text("%s/%s", dir, file), "r");
	char *rows = calloc(VECTORS_MOST, row_bytes), *row = NULL, *line = NULL;
	size_t cap = 0;
	if (!f)
		fail("cannot read %s/%s", dir, file);
	*count = 0;
	while (getline(&line, &cap, f) > 0) {
		line[strcspn(line, "\n")] = 0;
		if (*line == '#' || !*line)
			continue;
		if (*line == '[') {
			if (*count == VECTORS_MOST)
				fail("%s: more than %d rows", file, VECTORS_MOST);
			line[strlen(line) - 1] = 0;
			row = rows + (size_t)(*count)++ * row_bytes;
			begin(row, strdup(line + 1));
		} else if (row) {
			word(row, line);
		}
	}
	fclose(f);
	return rows;
}

size_t
vector_unescape(const char *s, char *out)
{
	char *o = out;
	for (; *s; s++) {
		if (*s != '\\' || !s[1]) {
			*o++ = *s;
			continue;
		}
		char c = *++s, hex[3] = {0};
		if (c == 'x' && s[1] && s[2]) {
			memcpy(hex, s + 1, 2);
			*o++ = (char)strtol(hex, NULL, 16);
			s += 2;
		} else {
			*o++ = c == 'r' ? '\r' : c == 'n' ? '\n' : c == 't' ? '\t' : c;
		}
	}
	*o = 0;
	return (size_t)(o - out);
}

bool
vector_is_wrong(const char *row, const char *wrong)
{
	if (wrong)
		note("%s: %s", row, wrong);
	if (!edge_alive())
		fail("the proxy ended at row \"%s\"", row);
	return wrong;
}
