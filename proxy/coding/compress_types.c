/* compress_types.c - media types against a list of them. */
#include "proxy/coding/compress_types.h"

#include "proxy/http/syntax.h"

/* clang-format off */
const struct str compress_types_default[] = {
	STR_INIT("text/*"), /* html, css, javascript, plain, xml, csv, markdown, calendar, vtt */
	STR_INIT("application/javascript"),
	STR_INIT("application/x-javascript"),
	STR_INIT("application/json"),
	STR_INIT("application/ld+json"),
	STR_INIT("application/geo+json"),
	STR_INIT("application/problem+json"),
	STR_INIT("application/manifest+json"),
	STR_INIT("application/vnd.api+json"),
	STR_INIT("application/x-ndjson"),
	STR_INIT("application/graphql-response+json"),
	STR_INIT("application/xml"),
	STR_INIT("application/xhtml+xml"),
	STR_INIT("application/rss+xml"),
	STR_INIT("application/atom+xml"),
	STR_INIT("application/vnd.apple.mpegurl"), /* lists of pieces of films */
	STR_INIT("application/x-mpegurl"),
	STR_INIT("application/dash+xml"),
	STR_INIT("application/wasm"),
	STR_INIT("application/vnd.ms-fontobject"),
	STR_INIT("font/ttf"),
	STR_INIT("font/otf"),
	STR_INIT("image/svg+xml"),
	STR_INIT("image/x-icon"),
	STR_INIT("image/vnd.microsoft.icon"),
	STR_INIT("image/bmp"),
};
/* clang-format on */
const size_t compress_types_default_n =
	sizeof compress_types_default / sizeof compress_types_default[0];

static bool
is_type(struct str s)
{
	struct str kind, rest;
	return str_cut(s, '/', &kind, &rest) && str_is_token(kind) && str_is_token(rest);
}

/* gRPC's types, which may name a format behind a plus. */
static bool
is_never(struct str type)
{
	static const struct str grpc = STR_INIT("application/grpc");
	struct str rest = str_from(type, grpc.n);
	return str_ieq(type, STR("text/event-stream")) ||
	       (str_ieq((struct str){type.p, type.n - rest.n}, grpc) &&
		(rest.n == 0 || rest.p[0] == '+' || rest.p[0] == '-'));
}

/* Most that differ do so in their lengths, or in a letter at either end. */
static inline bool
is_of(struct str type, struct str pattern)
{
	char last = pattern.p[pattern.n - 1];
	if (last != '*')
		return type.n == pattern.n && !((last ^ type.p[type.n - 1]) & ~0x20) &&
		       str_ieq(type, pattern);
	if (pattern.n == 1)
		return true;
	pattern.n--;
	return type.n > pattern.n && str_ieq((struct str){type.p, pattern.n}, pattern);
}

bool
compress_types_match(const struct str *list, size_t n, struct str content_type)
{
	struct str type = str_trim(str_before(content_type, ';'));
	for (size_t i = 0; type.n && i < n; i++)
		if (is_of(type, list[i]))
			return is_type(type) && !is_never(type);
	return false;
}
