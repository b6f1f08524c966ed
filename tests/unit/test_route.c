/* test_route.c - the first route that matches applies; what none matches has the defaults.
 * rooms: serve config coding http base
 */
#include "config/config.h"
#include "proxy/serve/routes/route.h"

#include "tests/kit/unit.h"

static char video[] = "video.example.com", live[] = "/live/", root[] = "/";

static char below[] = "*.example.org", static_origin[] = "static";

static char cafe[] = "/caf\xc3\xa9/", encoded[] = "/a%20b/";

static struct config_route rules[] = {
	{.host = video, .path = live, .pass = true},
	{.host = video, .admit = CONFIG_ADMIT_ALWAYS},
	{.path = live, .admit = CONFIG_ADMIT_NEVER},
	{.host = video, .path = root, .pass = true}, /* never reached */
	{.host = below, .admit = CONFIG_ADMIT_ALWAYS},
	{.path = cafe, .admit = CONFIG_ADMIT_NEVER},
	{.path = encoded, .admit = CONFIG_ADMIT_NEVER},
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
	{"a wildcard",             "a.example.org", "/1", false, RULE_ALWAYS},
	{"of several labels",      "a.B.Example.ORG.:81", "/1", false, RULE_ALWAYS},
	{"but not without one",    "example.org", "/1", false, RULE_SIGHTINGS},
	{"nor in another name",    "aexample.org", "/1", false, RULE_SIGHTINGS},
	{"nothing",                "example.com", "/1", false, RULE_SIGHTINGS},
	{"beyond ASCII",           "example.com", "/caf%C3%A9/1", false, RULE_NEVER},
	{"in lower case",          "example.com", "/caf%c3%a9/1?a=%41", false, RULE_NEVER},
	{"or not quite",           "example.com", "/caf%C3%A8/1", false, RULE_SIGHTINGS},
	{"which must be encoded",  "example.com", "/a%20b/1", false, RULE_NEVER},
	{"what need not be",       "example.com", "/caf%C3%A9%2f1", true, RULE_NEVER},
	{"twice",                  "example.com", "/caf%25C3%25A9/1", true, RULE_NEVER},
	{"in the query",           "example.com", "/?/a%20b/", false, RULE_SIGHTINGS},
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

/* ---- patterns, methods and fields ------------------------------------------------------------ */

static char css[] = "*.css", thumbs[] = "/img/*/thumb.png", assets[] = "/assets/*", down[] = "/x",
	    admin_php[] = "/admin/*.php", post_method[] = "POST", get_method[] = "GET",
	    german[] = "Accept-Language: de*", beta[] = "X-Beta: *", both_pics[] = "/pics/";
static char *posts[] = {post_method}, *gets[] = {get_method}, *of_germans[] = {german},
	    *of_testers[] = {beta, german};

static struct config_route special[] = {
	{.path = css, .admit = CONFIG_ADMIT_ALWAYS},
	{.path = thumbs, .admit = CONFIG_ADMIT_ALWAYS},
	{.path = assets, .admit = CONFIG_ADMIT_ALWAYS},
	{.path = admin_php, .pass = true},
	{.path = down, .match = {.methods = posts, .method_count = 1}},
	{.path = down, .match = {.headers = of_testers, .header_count = 2}},
	{.path = down, .match = {.headers = of_germans, .header_count = 1}},
	{.path = down, .match = {.methods = gets, .method_count = 1}},
	{.path = both_pics, .admit = CONFIG_ADMIT_ALWAYS},
};

/* clang-format off */
static const struct {
	const char *says, *method, *path, *name, *value, *name2, *value2;
	unsigned number;
	bool pass;
} special_requests[] = {
	{"an end",                               "GET",  "/a/b.css", "", "", "", "", 1, false},
	{"not in another case",                  "GET",  "/a/b.CSS", "", "", "", "", 0, false},
	{"an end that is encoded",               "GET",  "/a/b.c%73s", "", "", "", "", 1, true},
	{"behind what ends a path for some",     "GET",  "/me%3f.css", "", "", "", "", 0, true},
	{"or NUL",                               "GET",  "/me%00.css", "", "", "", "", 0, true},
	{"or encoded twice",                     "GET",  "/me%2523.css", "", "", "", "", 0, true},
	{"behind the parameter of a segment",    "GET",  "/me;.css", "", "", "", "", 0, true},
	{"one folder",                           "GET",  "/img/7/thumb.png", "", "", "", "", 2, false},
	{"not two",                              "GET",  "/img/7/8/thumb.png", "", "", "", "", 0, false},
	{"what could be two",                    "GET",  "/img/7%2f8/thumb.png", "", "", "", "", 0, true},
	{"a beginning with its star",            "GET",  "/assets/", "", "", "", "", 3, false},
	{"what passes is matched in any case",   "GET",  "/Admin/x.PHP", "", "", "", "", 4, true},
	{"the query is no part of it",           "GET",  "/me?.css", "", "", "", "", 0, false},
	{"a method",                             "POST", "/x", "", "", "", "", 5, false},
	{"which comes before fields here",       "POST", "/x", "Accept-Language", "de", "", "", 5, false},
	{"a field",                              "GET",  "/x", "accept-language", "de-AT, en", "", "", 7, false},
	{"another value",                        "GET",  "/x", "Accept-Language", "en, de", "", "", 8, false},
	{"one of two fields",                    "GET",  "/x", "X-Beta", "1", "", "", 8, false},
	{"both",                                 "HEAD", "/x", "X-Beta", "", "Accept-Language", "de", 6, false},
	{"two lines are one",                    "GET",  "/x", "Accept-Language", "de", "Accept-Language", "en", 7, false},
	{"in their order",                       "GET",  "/x", "Accept-Language", "en", "Accept-Language", "de", 8, false},
	{"a field that ends at this hop",        "GET",  "/x", "Accept-Language", "de", "Connection", "accept-language", 8, false},
	{"HEAD is GET",                          "HEAD", "/x", "", "", "", "", 8, false},
	{"no other method",                      "PUT",  "/x", "", "", "", "", 0, false},
};
/* clang-format on */

static void
add_line(struct fields *f, const char *name, const char *value)
{
	if (*name)
		fields_add(f, str_of(name), str_of(value));
}

START_TEST(requests_are_told_apart_by_more_than_host_and_path)
{
	struct config c = {.routes = special, .route_count = COUNT(special)};
	struct routes *all = routes_create(&c);
	struct field lines[2];
	struct request rq = {.method = method_of(str_of(special_requests[_i].method)),
			     .method_name = str_of(special_requests[_i].method),
			     .authority = STR("a"),
			     .path_query = str_of(special_requests[_i].path),
			     .fields = {.v = lines, .cap = 2}};
	add_line(&rq.fields, special_requests[_i].name, special_requests[_i].value);
	add_line(&rq.fields, special_requests[_i].name2, special_requests[_i].value2);
	const struct route *r = route_find(all, &rq);
	unsigned number = route_number(all, r);
	ck_assert_msg(r->pass == special_requests[_i].pass, "%s: it passes: %d",
		      special_requests[_i].says, r->pass);
	ck_assert_msg(number == special_requests[_i].number, "%s: route %u",
		      special_requests[_i].says, number);
	if (!number)
		goto out;
	ck_assert_int_eq(r->pass ? ROUTE_NO_DIFFERENCE : route_difference(all, number, &rq),
			 ROUTE_NO_DIFFERENCE);
	ck_assert_msg((number == 6 || number == 7) == (r->key.mark.n > 0), "%s: %.*s",
		      special_requests[_i].says, STR_ARG(r->key.mark));
out:
	routes_destroy(&all);
}
END_TEST

START_TEST(why_a_route_is_not_for_a_request_is_said)
{
	struct config c = {.routes = special, .route_count = COUNT(special)};
	struct routes *all = routes_create(&c);
	struct request rq = {.method = METHOD_GET, .authority = STR("a"), .path_query = STR("/x")};
	ck_assert_int_eq(route_difference(all, 1, &rq), ROUTE_PATH_DIFFERS);
	ck_assert_int_eq(route_difference(all, 5, &rq), ROUTE_METHOD_DIFFERS);
	ck_assert_int_eq(route_difference(all, 7, &rq), ROUTE_FIELDS_DIFFER);
	routes_destroy(&all);
}
END_TEST

/* ---- for people ------------------------------------------------------------------------------ */

/* clang-format off */
static const struct {
	const char *says, *authority, *path;
	unsigned as_written; /* 0: none */
	const char *for_host; /* of the routes from 1, which are */
} matches[] = {
	{"host and path",              "video.example.com", "/live/1", 1, "yyyynyy"},
	{"the second in its list",     "VIDEO.example.com:80", "/1", 2, "yyyynyy"},
	{"any host",                   "example.com", "/live/1", 3, "nnynnyy"},
	{"a wildcard",                 "a.example.org", "/1", 5, "nnynyyy"},
	{"none",                       "example.com", "/1", 0, "nnynnyy"},
	{"what passes is matched in any case", "video.example.com", "/LIVE/1", 1, "yyyynyy"},
	{"the path as it is written",  "video.example.com", "/%6cive/1", 2, "yyyynyy"},
	{"in the one form it can have", "example.com", "/caf%C3%A9/1", 6, "nnynnyy"},
};
/* clang-format on */

START_TEST(match)
{
	struct config c = {.routes = rules, .route_count = COUNT(rules)};
	struct routes *all = routes_create(&c);
	struct request rq = {.method = METHOD_GET,
			     .authority = str_of(matches[_i].authority),
			     .path_query = str_of(matches[_i].path)};
	ck_assert_msg(route_as_written(all, &rq) == matches[_i].as_written, "%s", matches[_i].says);
	for (unsigned i = 1; i <= COUNT(rules); i++)
		ck_assert_msg((route_difference(all, i, &rq) != ROUTE_HOST_DIFFERS) ==
				      (matches[_i].for_host[i - 1] == 'y'),
			      "%s: route %u", matches[_i].says, i);
	routes_destroy(&all);
}
END_TEST

/* ---- tunnels --------------------------------------------------------------------------------- */

static char socket_path[] = "/ws/", websocket[] = "websocket";
static char *protocols[] = {websocket};
static struct config_route tunnels[] = {
	{.path = socket_path, .upgrades = protocols, .upgrade_count = 1}};

START_TEST(only_who_surely_means_a_route_may_switch_protocols_there)
{
	static const struct {
		const char *path;
		bool may;
	} rows[] = {
		{"/ws/a", true},      {"/ws/a?x=/../", true}, {"/ws/a/b", true},
		{"/other", false},    {"/ws/../a", false},    {"/ws/%2e%2e/a", false},
		{"/x/../ws/", false}, {"/ws/..%2fa", false},  {"/ws", false},
	};
	struct config c = {.routes = tunnels, .route_count = COUNT(tunnels)};
	struct routes *all = routes_create(&c);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct request rq = {.method = METHOD_GET,
				     .authority = STR("a"),
				     .path_query = str_of(rows[i].path)};
		const struct route *r = route_find(all, &rq);
		ck_assert_msg((r->upgrade_count == 1) == rows[i].may, "%s", rows[i].path);
		ck_assert(!rows[i].may || str_eq(r->upgrades[0], STR("websocket")));
	}
	routes_destroy(&all);
}
END_TEST

/* ---- one key, one group of origins ----------------------------------------------------------- */

static char web[] = "web", pieces[] = "/a/x", folder[] = "/a/b/", deep[] = "/A/b/c",
	    odd[] = "/a/%2F", tail[] = "/b", accent[] = "/a/\xc3\xa9";

static char inner[] = "/a/*/c", by_end[] = "*.c";

/* Every second one keys by the normal form, and all ask different groups. */
static struct config_route groups_rules[] = {
	{.path = by_end,
	 .target.origin = web,
	 .match = {.headers = of_testers, .header_count = 1},
	 .normalise = true},
	{.path = inner, .target.origin = static_origin, .normalise = true},
	{.path = by_end, .target.origin = static_origin},
	{.match = {.headers = of_germans, .header_count = 1}, .target.origin = static_origin},
	{.host = video, .path = pieces, .target.origin = web, .normalise = true},
	{.host = video, .path = folder, .target.origin = static_origin},
	{.host = video, .path = deep, .normalise = true},
	{.path = accent, .target.origin = static_origin, .normalise = true},
	{.path = odd, .target.origin = static_origin, .normalise = true},
	{.path = tail, .target.origin = web, .query = CONFIG_QUERY_IGNORE, .normalise = true},
};
static char url[] = "http://192.0.2.1", first_name[] = "first";
static struct config_origin groups[] = {{.url = url, .name = first_name},
					{.url = url, .name = web},
					{.url = url, .name = static_origin}};

static uint64_t seed;

static unsigned
below_n(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

static void
random_request(struct request *rq, char host[64], char path[128])
{
	static struct field lines[2];
	static const char *const hosts[] = {"video.example.com",    "VIDEO.example.com",
					    "video.example.com:80", "video.example.com.",
					    "%76ideo.example.com",  "b"};
	static const char *const parts[] = {"/",     "a",      "x",	  "b",	 "c",	"..",
					    ".",     "%2f",    "%2F",	  "%61", "%2e", "//",
					    "%252f", ";p",     "\\",	  "A",	 "?",	"/a/x",
					    "/a/b/", "%c3%A9", "/%C3%a9", ".c",	 "/c",	"%23"};
	strcpy(host, hosts[below_n(COUNT(hosts))]);
	strcpy(path, "/a");
	if (below_n(8) == 0)
		strcpy(path, "/b");
	for (unsigned n = below_n(9); n; n--)
		strcat(path, parts[below_n(COUNT(parts))]);
	*rq = (struct request){.method = METHOD_GET,
			       .scheme = STR("http"),
			       .authority = str_of(host),
			       .path_query = str_of(path),
			       .fields = {.v = lines, .cap = 2}};
	add_line(&rq->fields, below_n(2) ? "X-Beta" : "", "1");
	add_line(&rq->fields, below_n(2) ? "Accept-Language" : "", below_n(2) ? "de" : "en");
}

/* A table of the first group that was seen for a key. */
enum { SLOTS = 1 << 15, TRIES = 100000 };
static struct {
	char key[256];
	unsigned group;
} seen[SLOTS];

static unsigned
slot_of(struct str key)
{
	uint64_t h = 14695981039346656037u;
	for (size_t i = 0; i < key.n; i++)
		h = (h ^ (unsigned char)key.p[i]) * 1099511628211u;
	return (unsigned)(h >> 40) % SLOTS;
}

START_TEST(one_key_is_never_answered_by_two_groups)
{
	struct config c = {.routes = groups_rules,
			   .route_count = COUNT(groups_rules),
			   .origins = groups,
			   .origin_count = COUNT(groups)};
	struct routes *all = routes_create(&c);
	char host[64], path[128];
	struct request rq;
	struct buf key = {0};
	unsigned met = 0, shared = 0;
	seed = (uint64_t)_i + 1;
	memset(seen, 0, sizeof seen);
	for (int i = 0; i < TRIES; i++) {
		random_request(&rq, host, path);
		const struct route *r = route_find(all, &rq);
		if (r->pass)
			continue;
		shared++;
		key.n = 0;
		cachekey_add_url(rq.scheme, rq.authority, rq.path_query, &r->key, &key);
		buf_add_str(&key, r->key.mark);
		buf_add(&key, "", 1);
		ck_assert_uint_lt(key.n, sizeof seen[0].key);
		unsigned s = slot_of(buf_str(&key));
		if (strcmp(seen[s].key, key.p) == 0) {
			met++;
			ck_assert_msg(seen[s].group == r->group,
				      "%s by group %u, and by group %u for %s%s", key.p,
				      seen[s].group, r->group, host, path);
		}
		strcpy(seen[s].key, key.p);
		seen[s].group = r->group;
	}
	ck_assert_uint_gt(shared, TRIES / 20);
	ck_assert_uint_gt(met, TRIES / 200);
	buf_fini(&key);
	routes_destroy(&all);
}
END_TEST

UNIT("route", LOOP(find, requests), LOOP(match, matches),
     LOOP(requests_are_told_apart_by_more_than_host_and_path, special_requests),
     TEST(why_a_route_is_not_for_a_request_is_said),
     TEST(only_who_surely_means_a_route_may_switch_protocols_there),
     TIMES(one_key_is_never_answered_by_two_groups, 5))
