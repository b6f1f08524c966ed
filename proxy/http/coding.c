/* coding.c - names of codings, read and chosen. */
#include "proxy/http/coding.h"

#include "proxy/http/negotiate_inside.h"
#include "proxy/http/syntax.h"

static const struct str names[CODINGS] = {
	[CODING_NONE] = STR_INIT("identity"), [CODING_GZIP] = STR_INIT("gzip"),
	[CODING_BR] = STR_INIT("br"),	      [CODING_ZSTD] = STR_INIT("zstd"),
	[CODING_OTHER] = STR_INIT("other"),
};

const char *
coding_word(enum coding c)
{
	return names[c].p;
}

static enum coding
named(struct str name)
{
	for (unsigned c = CODING_NONE; c < CODING_OTHER; c++)
		if (str_ieq(name, names[c]))
			return (enum coding)c;
	return str_ieq(name, STR("x-gzip")) ? CODING_GZIP : CODING_OTHER;
}

enum coding
coding_of(struct str content_encoding)
{
	struct str item, second;
	if (!list_next(&content_encoding, &item))
		return CODING_NONE;
	return list_next(&content_encoding, &second) ? CODING_OTHER : named(item);
}

unsigned
coding_accepted(struct str accept_encoding)
{
	unsigned takes = negotiate_takes(accept_encoding);
	return (takes & NEGOTIATE_IDENTITY ? CODING_BIT(CODING_NONE) : 0) |
	       (takes & NEGOTIATE_GZIP ? CODING_BIT(CODING_GZIP) : 0) |
	       (takes & NEGOTIATE_BR ? CODING_BIT(CODING_BR) : 0) |
	       (takes & NEGOTIATE_ZSTD ? CODING_BIT(CODING_ZSTD) : 0);
}

unsigned
coding_class(unsigned accepted, const struct coding_list *list)
{
	unsigned class = 0;
	for (unsigned i = 0; i < list->n; i++)
		class |= accepted & CODING_BIT(list->at[i]);
	return list->n && (class || accepted & CODING_BIT(CODING_NONE)) ? class : CODING_UNCLASSED;
}

void
coding_class_add(unsigned class, const struct coding_list *list, struct buf *out)
{
	bool any = false;
	for (unsigned i = 0; i < list->n; i++) {
		if (!(class & CODING_BIT(list->at[i])))
			continue;
		if (any)
			buf_add_lit(out, ", ");
		buf_add_str(out, names[list->at[i]]);
		any = true;
	}
}
