/* test_local_rules.c - who is denied, and where a redirect leads.
 * rooms: serve config coding http base
 */
#include "config/config.h"
#include "proxy/serve/routes/local_rules.h"
#include "proxy/serve/routes/route.h"

#include "tests/kit/unit.h"

static char ten[] = "10.0.0.0/8", one[] = "10.1.0.0/16", six[] = "2001:db8::/32", moved[] = "301";

/* clang-format off */
static const struct {
	const char *says;
	char *allow, *deny;
	const char *client;
	bool denied;
} clients[] = {
	{"deny alone: in it",             NULL, ten,  "10.2.3.4",   true},
	{"deny alone: others may",        NULL, ten,  "192.0.2.1",  false},
	{"allow alone: in it",            ten,  NULL, "10.2.3.4",   false},
	{"allow alone: others may not",   ten,  NULL, "192.0.2.1",  true},
	{"both: allow comes first",       one,  ten,  "10.1.3.4",   false},
	{"both: then deny",               one,  ten,  "10.2.3.4",   true},
	{"both: in neither",              one,  ten,  "192.0.2.1",  false},
	{"IPv6",                          NULL, six,  "2001:db8::1", true},
	{"of a Unix socket, by allow",    ten,  NULL, "unix",       true},
};
static const struct {
	const char *says, *to, *path_query, *want;
} places[] = {
	{"a fixed place",             "https://x/y",               "/a?b",            "https://x/y"},
	{"path and query",            "https://x$path$query",      "/a?b=1",          "https://x/a?b=1"},
	{"the path alone",            "https://x$path",            "/a?b=1",          "https://x/a"},
	{"no query is nothing",       "https://x$path$query",      "/a",              "https://x/a"},
	{"an empty query stays",      "https://x$path$query",      "/a?",             "https://x/a?"},
	{"a second question mark",    "https://x$path$query",      "/a?b?c",          "https://x/a?b?c"},
	{"host and scheme",           "$scheme://www.$host/",      "/",               "https://www.h/"},
	{"two slashes choose no host", "https://x$path",           "//evil",          "https://x//evil"},
	{"a backslash is no slash",   "https://x$path",            "/\\evil",         "https://x/%5Cevil"},
	{"no line ends",              "https://x$path",            "/a\r\nX: b",      "https://x/a%0D%0AX:%20b"},
	{"bytes that no URI has",     "https://x$path",            "/\xc3\xbc<\"#",   "https://x/%C3%BC%3C%22%23"},
	{"what is encoded stays so",  "https://x$path",            "/%0d%0a%2f",      "https://x/%0d%0a%2f"},
};
/* clang-format on */

START_TEST(denies)
{
	char *allow[] = {clients[_i].allow}, *deny[] = {clients[_i].deny};
	struct config_route c = {.clients = {allow, deny, allow[0] != NULL, deny[0] != NULL}};
	struct local_rules *r = local_rules_create(&c);
	ck_assert(local_rules_ask_client(r));
	ck_assert_msg(local_rules_deny(r, str_of(clients[_i].client)) == clients[_i].denied, "%s",
		      clients[_i].says);
	local_rules_destroy(&r);
}
END_TEST

START_TEST(leads)
{
	char to[64];
	struct buf out = {0};
	strcpy(to, places[_i].to);
	struct config_route c = {.redirect = {to, moved}};
	struct local_rules *r = local_rules_create(&c);
	struct local_values v = {STR("h"), STR("https"), str_of(places[_i].path_query)};
	local_rules_add_location(r, &v, &out);
	ck_assert_msg(str_eq(buf_str(&out), str_of(places[_i].want)), "%s: %.*s", places[_i].says,
		      STR_ARG(buf_str(&out)));
	ck_assert_int_eq(local_rules_redirect_status(r, true), 301);
	ck_assert_int_eq(local_rules_redirect_status(r, false), 308);
	buf_fini(&out);
	local_rules_destroy(&r);
}
END_TEST

START_TEST(most_routes_have_none)
{
	struct config_route c = {.pass = true};
	struct local_rules *r = local_rules_create(&c);
	ck_assert_ptr_null(r);
	local_rules_destroy(&r);
}
END_TEST

/* ---- a path that can be read in several ways ------------------------------------------------- */

static char admin[] = "/admin/", open_path[] = "/open/";
static char *denied[] = {ten};
static struct config_route guarded[] = {
	{.path = admin, .clients = {.deny = denied, .deny_count = 1}},
	{.path = open_path, .admit = CONFIG_ADMIT_ALWAYS},
};
enum way { WAY_OPEN, WAY_GUARDED, WAY_CLOSED };

/* clang-format off */
static const struct {
	const char *says, *path;
	enum way way;
} paths[] = {
	{"as it is written",               "/admin/x",              WAY_GUARDED},
	{"in any case",                    "/Admin/x",              WAY_GUARDED},
	{"all readings agree",             "/admin/%41",            WAY_GUARDED},
	{"elsewhere",                      "/open/x",               WAY_OPEN},
	{"elsewhere, encoded",             "/open/%41",             WAY_OPEN},
	{"only when it is decoded",        "/%61dmin/x",            WAY_CLOSED},
	{"only as it is written",          "/admin/..%2fopen/x",    WAY_CLOSED},
	{"by two slashes",                 "//admin/x",             WAY_CLOSED},
	{"by dots",                        "/open/../admin/x",      WAY_CLOSED},
	{"out of it by dots",              "/admin/../open/x",      WAY_CLOSED},
	{"decoded twice",                  "/open/%252e%252e/admin/x", WAY_CLOSED},
};
/* clang-format on */

START_TEST(readings)
{
	struct config c = {.routes = guarded, .route_count = COUNT(guarded)};
	struct routes *all = routes_create(&c);
	struct request rq = {
		.method = METHOD_GET, .authority = STR("h"), .path_query = str_of(paths[_i].path)};
	const struct route *r = route_find(all, &rq);
	enum way way = r->closed ? WAY_CLOSED : r->local ? WAY_GUARDED : WAY_OPEN;
	ck_assert_msg(way == paths[_i].way, "%s: %d", paths[_i].says, way);
	routes_destroy(&all);
}
END_TEST

UNIT("local_rules", LOOP(denies, clients), LOOP(leads, places), TEST(most_routes_have_none),
     LOOP(readings, paths))
