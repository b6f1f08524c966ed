/* template.c - a name ends where its letters do: "$hostname" is not "$host" and "name". */
#include "proxy/base/template.h"

static const struct {
	struct str name;
	enum template_piece piece;
} variables[] = {
	{STR_INIT("host"), TEMPLATE_HOST},   {STR_INIT("scheme"), TEMPLATE_SCHEME},
	{STR_INIT("path"), TEMPLATE_PATH},   {STR_INIT("client_address"), TEMPLATE_CLIENT},
	{STR_INIT("query"), TEMPLATE_QUERY},
};

static size_t
name_length(struct str s)
{
	size_t n = 0;
	while (n < s.n && ((s.p[n] >= 'a' && s.p[n] <= 'z') || s.p[n] == '_'))
		n++;
	return n;
}

static enum template_piece
variable(struct str name)
{
	for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
		if (str_eq(name, variables[i].name))
			return variables[i].piece;
	return TEMPLATE_UNKNOWN;
}

enum template_piece
template_next(struct str *rest, struct str *piece)
{
	struct str s = *rest;
	if (s.n == 0)
		return TEMPLATE_END;
	if (s.p[0] != '$') {
		*piece = str_before(s, '$');
		*rest = str_from(s, piece->n);
		return TEMPLATE_TEXT;
	}
	if (s.n > 1 && s.p[1] == '$') {
		*piece = (struct str){s.p + 1, 1};
		*rest = str_from(s, 2);
		return TEMPLATE_TEXT;
	}
	if (s.n > 1 && s.p[1] >= '1' && s.p[1] <= '9') {
		*piece = (struct str){s.p, 2};
		*rest = str_from(s, 2);
		return TEMPLATE_CAPTURE;
	}
	struct str name = str_from(s, 1);
	name.n = name_length(name);
	*piece = (struct str){s.p, name.n + 1};
	*rest = str_from(s, piece->n);
	return variable(name);
}

unsigned
template_pieces(struct str text)
{
	unsigned bits = 0;
	struct str piece;
	enum template_piece p;
	while ((p = template_next(&text, &piece)) != TEMPLATE_END)
		bits |= 1u << p;
	return bits;
}
