/* test_route.c - the first route that matches applies; what none matches has the defaults.
 * rooms: serve http base
 */
#include "proxy/serve/route.h"

#include "tests/kit/unit.h"

static char video[] = "video.example.com", live[] = "/live/", root[] = "/";

static struct config_route rules[] = {
	{.host = video, .path = live, .pass = true},
	{.host = video, .admit = CONFIG_ADMIT_ALWAYS},
	{.path = live, .admit = CONFIG_ADMIT_NEVER},
	{.host = video, .path = root, .pass = true}, /* never reached */
};

/* clang-format off */
static const struct {
	const char *says, *authority, *path;
	bool pass;
	enum admission_rule admit;
} requests[] = {
	{"host and path",          "video.example.com", "/live/1", true, RULE_SIGHTINGS},
	{"host alone",             "video.example.com", "/1", false, RULE_ALWAYS},
	{"host in another case",   "VIDEO.example.com", "/1", false, RULE_ALWAYS},
	{"host with a port",       "video.example.com:8080", "/1", false, RULE_ALWAYS},
	{"a longer host",          "video.example.com.evil.net", "/1", false, RULE_SIGHTINGS},
	{"path alone",             "example.com", "/live/1", false, RULE_NEVER},
	{"path but for its slash", "example.com", "/live", false, RULE_SIGHTINGS},
	{"nothing",                "example.com", "/1", false, RULE_SIGHTINGS},
};
/* clang-format on */

START_TEST(find)
{
	struct config c = {.routes = rules, .route_count = COUNT(rules)};
	struct routes *all = routes_create(&c);
	struct request rq = {.method = METHOD_GET,
			     .authority = str_of(requests[_i].authority),
			     .path_query = str_of(requests[_i].path)};
	const struct route *r = route_find(all, &rq);
	ck_assert_msg(r->pass == requests[_i].pass && r->admit == requests[_i].admit, "%s",
		      requests[_i].says);
	routes_destroy(&all);
}
END_TEST

UNIT("route", LOOP(find, requests))
