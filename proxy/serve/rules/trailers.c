/* trailers.c - one line after the other: what nobody on the way acts on may pass. */
#include "proxy/serve/rules/trailers.h"

#include "proxy/http/form.h"
#include "proxy/http/syntax.h"

bool
trailers_are_wanted(const struct fields *request)
{
	return fields_has(request, FIELD_TE) && fields_list_has(request, FIELD_TE, STR("trailers"));
}

/* Names that we know are those that somebody on the way acts on; of the others these families. */
static bool
is_for_heads(const struct field *f)
{
	static const struct str families[] = {
		STR_INIT("content-"),
		STR_INIT("proxy-"),
		STR_INIT("sec-"),
		STR_INIT("access-control-"),
		STR_INIT("www-authenticate"),
		STR_INIT("authentication-info"),
		STR_INIT("strict-transport-security"),
		STR_INIT("clear-site-data"),
		STR_INIT("retry-after"),
	};
	if (f->id != FIELD_OTHER)
		return f->id != FIELD_ETAG; /* RFC 9110 8.8.3 allows it there */
	for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
		if (f->name.n >= families[i].n &&
		    str_ieq((struct str){f->name.p, families[i].n}, families[i]))
			return true;
	return false;
}

void
trailers_pass(struct str lines, const struct header_rules *rules, const struct tag_settings *tags,
	      bool other_form, struct buf *out)
{
	struct str name, value;
	while (lines.n) {
		struct str line = str_before(lines, '\r');
		lines = str_from(lines, line.n + 2 < lines.n ? line.n + 2 : lines.n);
		if (line.n == 0 || !str_cut(line, ':', &name, &value))
			return;
		struct field f = {.name = name, .value = str_trim(value), .id = field_id_of(name)};
		if (is_for_heads(&f) || (other_form && form_is_of_bytes(f.id, name)) || (rules && header_rules_hide(rules, name)) ||
		    (tags && tags->strip && tags_is_field(tags, &f)))
			continue;
		buf_add_str(out, name);
		buf_add_lit(out, ": ");
		buf_add_str(out, f.value);
		buf_add_lit(out, "\r\n");
	}
}
