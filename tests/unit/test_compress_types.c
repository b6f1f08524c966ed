/* rooms: coding http base
 *
 * test_compress_types.c - which types a list names, and which none does. */
#include "proxy/coding/compress_types.h"
#include "tests/kit/unit.h"

#define LIST 4
static const struct {
	const char *says;
	const char *list[LIST]; /* none: the default */
	const char *type;
	bool want;
} types[] = {
	/* clang-format off */
	{"a page",                                {0}, "text/html", true},
	{"its charset",                           {0}, "text/html; charset=utf-8", true},
	{"written otherwise",                     {0}, " Text/HTML ;Charset=\"UTF-8\"; x=y", true},
	{"a script",                              {0}, "text/javascript", true},
	{"its older type",                        {0}, "application/javascript; charset=utf-8", true},
	{"a style sheet",                         {0}, "text/css", true},
	{"JSON",                                  {0}, "application/json", true},
	{"SVG",                                   {0}, "image/svg+xml", true},
	{"a feed",                                {0}, "application/rss+xml", true},
	{"a playlist, as servers write it",       {0}, "application/vnd.apple.mpegURL", true},
	{"WebAssembly",                           {0}, "application/wasm", true},
	{"a font that is not packed",             {0}, "font/ttf", true},
	{"one that is",                           {0}, "font/woff2", false},
	{"its older brother",                     {0}, "font/woff", false},
	{"a picture",                             {0}, "image/jpeg", false},
	{"a film",                                {0}, "video/mp4", false},
	{"an archive",                            {0}, "application/zip", false},
	{"bytes of no type",                      {0}, "application/octet-stream", false},
	{"events",                                {0}, "text/event-stream", false},
	{"gRPC",                                  {0}, "application/grpc", false},

	{"no type",                               {0}, "", false},
	{"half a type",                           {0}, "text", false},
	{"the other half",                        {0}, "/html", false},
	{"nothing behind",                        {0}, "text/", false},
	{"two lines of the field",                {0}, "text/html, text/html", false},
	{"a slash more",                          {0}, "text/html/x", false},
	{"a blank within",                        {0}, "text/ html", false},
	{"nothing but parameters",                {0}, ";charset=utf-8", false},
	{"a charset that looks like a type",      {0}, "image/png; x=text/html", false},

	{"one of a list",                         {"a/b", "c/d"}, "c/d", true},
	{"in any case",                           {"A/b"}, "a/B", true},
	{"another one",                           {"a/b", "c/d"}, "a/d", false},
	{"the beginning of one",                  {"a/bc"}, "a/b", false},
	{"more than one",                         {"a/b"}, "a/bc", false},
	{"all of a kind",                         {"TEXT/*"}, "text/x", true},
	{"of another kind",                       {"text/*"}, "texts/x", false},
	{"a kind that begins with it",            {"t/*"}, "text/x", false},
	{"all",                                   {"*"}, "image/png", true},
	{"all, but no type",                      {"*"}, "png", false},
	{"all, but events",                       {"*"}, "text/event-stream", false},
	{"events by name",                        {"text/event-stream", "text/*"}, "Text/Event-Stream; charset=utf-8", false},
	{"all, but gRPC",                         {"*"}, "application/grpc+proto", false},
	{"and gRPC of browsers",                  {"*"}, "application/grpc-web+proto", false},
	{"a type that only begins so",            {"*"}, "application/grpcx", true},
	{"events that only begin so",             {"*"}, "text/event-stream2", true},
	{"a star in the middle is none",          {"application/*+json"}, "application/ld+json", false},
	/* clang-format on */
};

START_TEST(type)
{
	struct str list[LIST];
	size_t n = 0;
	for (; n < LIST && types[_i].list[n]; n++)
		list[n] = str_of(types[_i].list[n]);
	bool is = n ? compress_types_match(list, n, str_of(types[_i].type))
		    : compress_types_match(compress_types_default, compress_types_default_n,
					   str_of(types[_i].type));
	ck_assert_msg(is == types[_i].want, "%s", types[_i].says);
	ck_assert(!compress_types_match(NULL, 0, str_of(types[_i].type)));
}
END_TEST

UNIT("compress_types", LOOP(type, types))
