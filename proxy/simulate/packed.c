/* packed.c - types, their endings, and what Brotli leaves of them. */
#include "proxy/simulate/packed.h"

#include "proxy/coding/compress_types.h"
#include "proxy/serve/routes/route.h"

#include <stdio.h>
#include <strings.h>

/* A part of a type's name, and what is left of such bodies, in thousandths: of files of 4 to 64 KiB, roughly
 * (bench/results/packed.txt). The first that fits. */
/* clang-format off */
static const struct {
	const char *part;
	uint16_t thousandths;
} left[] = {
	{"html",       300},
	{"css",        250},
	{"javascript", 300},
	{"json",       200},
	{"svg",        350},
	{"xml",        300},
	{"font",       500},
	{"wasm",       400},
	{"",           350},
};

static const struct {
	const char *ending;
	struct str type;
} endings[] = {
	{"/",            STR_INIT("text/html")},
	{".html",        STR_INIT("text/html")},
	{".htm",         STR_INIT("text/html")},
	{".xhtml",       STR_INIT("application/xhtml+xml")},
	{".css",         STR_INIT("text/css")},
	{".js",          STR_INIT("text/javascript")},
	{".mjs",         STR_INIT("text/javascript")},
	{".json",        STR_INIT("application/json")},
	{".map",         STR_INIT("application/json")},
	{".geojson",     STR_INIT("application/geo+json")},
	{".webmanifest", STR_INIT("application/manifest+json")},
	{".svg",         STR_INIT("image/svg+xml")},
	{".xml",         STR_INIT("application/xml")},
	{".rss",         STR_INIT("application/rss+xml")},
	{".atom",        STR_INIT("application/atom+xml")},
	{".mpd",         STR_INIT("application/dash+xml")},
	{".m3u8",        STR_INIT("application/vnd.apple.mpegurl")},
	{".txt",         STR_INIT("text/plain")},
	{".csv",         STR_INIT("text/csv")},
	{".md",          STR_INIT("text/markdown")},
	{".vtt",         STR_INIT("text/vtt")},
	{".wasm",        STR_INIT("application/wasm")},
	{".ttf",         STR_INIT("font/ttf")},
	{".otf",         STR_INIT("font/otf")},
	{".ico",         STR_INIT("image/x-icon")},
	{".bmp",         STR_INIT("image/bmp")},
};
/* clang-format on */

static bool
ends_with(struct str s, const char *ending)
{
	size_t n = strlen(ending);
	return s.n >= n && strncasecmp(s.p + s.n - n, ending, n) == 0;
}

static bool
has_part(struct str s, const char *part)
{
	size_t n = strlen(part);
	for (size_t i = 0; i + n <= s.n; i++)
		if (strncasecmp(s.p + i, part, n) == 0)
			return true;
	return false;
}

/* A dash, and nothing, is no value. */
static bool
is_said(struct str s)
{
	return s.n && !(s.n == 1 && s.p[0] == '-');
}

static struct str
type_of(const struct entry *e, struct str path, enum packed_source *from)
{
	*from = PACKED_TYPED;
	if (is_said(e->type))
		return e->type;
	*from = PACKED_ENDED;
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (ends_with(path, endings[i].ending))
			return endings[i].type;
	struct str name = path;
	for (size_t i = 0; i < path.n; i++)
		if (path.p[i] == '/')
			name = str_from(path, i + 1);
	if (!name.n || !memchr(name.p, '.', name.n))
		*from = PACKED_UNKNOWN;
	return STR("");
}

static uint16_t
share_of(const struct packed_options *o, struct str type, struct str path)
{
	uint16_t otherwise = 0;
	for (unsigned i = 0; i < o->shares_n; i++) {
		const struct packed_share *s = &o->shares[i];
		if (!*s->ending)
			otherwise = s->thousandths;
		else if (ends_with(path, s->ending))
			return s->thousandths;
	}
	for (size_t i = 0; !otherwise; i++)
		if (has_part(type, left[i].part))
			return left[i].thousandths;
	return otherwise;
}

static bool
is_coded(const struct entry *e)
{
	return is_said(e->coding) && !str_ieq(e->coding, STR("identity"));
}

struct packed_told
packed_tell(const struct packed_options *o, const struct route *route, const struct entry *e,
	    struct str path)
{
	struct packed_told t = {.says_coding = e->coding.n > 0};
	struct str type = type_of(e, path, &t.from);
	const struct route_packing *p = &route->packing;
	bool secret = route->key.cookie_count && !p->any;
	if (!o->off && type.n && !is_coded(e) && !secret &&
	    compress_types_match(p->types, p->type_count, type))
		t.thousandths = share_of(o, type, path);
	return t;
}

uint64_t
packed_bytes(uint64_t bytes, uint16_t thousandths)
{
	bool is = thousandths && bytes >= PACKED_LEAST_BYTES && bytes <= PACKED_MOST_BYTES;
	return is ? bytes * thousandths / 1000 : bytes;
}

const char *
packed_say(char to[PACKED_TEXT])
{
	size_t n = 0;
	for (size_t i = 0; i < sizeof left / sizeof *left; i++)
		n += (size_t)snprintf(to + n, PACKED_TEXT - n, "%s%s %.0f%%", i ? ", " : "",
				      *left[i].part ? left[i].part : "other text",
				      left[i].thousandths / 10.0);
	return to;
}
