/* rooms: admin base filter
 * test_access.c - who may ask the admin server, and who may change something. */
#include "proxy/admin/access.h"

#include "tests/kit/unit.h"

static char listed[] = "twice.ops.example";
static char *const hosts[] = {listed};
static const struct access_rules home = {.loopback = true};
static const struct access_rules home_token = {.loopback = true, .token = "s3cret"};
static const struct access_rules out = {.hosts = hosts, .host_count = 1};
static const struct access_rules path = {.guarded = true};
static const struct access_rules path_token = {.guarded = true, .token = "s3cret"};
static const struct access_rules out_token = {.hosts = hosts, .host_count = 1, .token = "s3cret"};

static const struct {
	const char *says;
	const struct access_rules *rules;
	const char *host, *origin, *authorization;
	bool changes, may;
} requests[] = {
	/* clang-format off */
	{"by address",                        &home, "127.0.0.1", NULL, NULL, false, true},
	{"by localhost",                      &home, "localhost", NULL, NULL, true, true},
	{"without a name",                    &home, NULL, NULL, NULL, false, true},
	{"by a name that a stranger owns",    &home, "evil.example", NULL, NULL, false, false},
	{"from its own page",                 &home, "localhost", "http://localhost:9090", NULL, true, true},
	{"from another's",                    &home, "localhost", "http://evil.example", NULL, true, false},
	{"from a file",                       &home, "localhost", "null", NULL, false, false},
	{"a token is needed where there is one", &home_token, "localhost", NULL, NULL, true, false},
	{"not for looking",                   &home_token, "localhost", NULL, NULL, false, true},
	{"the right one",                     &home_token, "localhost", NULL, "Bearer s3cret", true, true},
	{"in any case of the scheme",         &home_token, "localhost", NULL, "bearer s3cret", true, true},
	{"a wrong one",                       &home_token, "localhost", NULL, "Bearer s3creT", true, false},
	{"the beginning of it",               &home_token, "localhost", NULL, "Bearer s3c", true, false},
	{"more than it",                      &home_token, "localhost", NULL, "Bearer s3crets3cret", true, false},
	{"none at all",                       &home_token, "localhost", NULL, "Bearer ", true, false},
	{"another scheme",                    &home_token, "localhost", NULL, "Basic s3cret", true, false},
	{"reached by others: not even looking", &out, "192.0.2.1", NULL, NULL, false, false},
	{"by a name on the list",             &out_token, "Twice.ops.example", NULL, "Bearer s3cret", false, true},
	{"looking needs the token too",       &out_token, "192.0.2.1", NULL, NULL, false, false},
	{"with it, looking",                  &out_token, "192.0.2.1", NULL, "Bearer s3cret", false, true},
	{"by one that is not",                &out_token, "evil.example", NULL, "Bearer s3cret", false, false},
	{"nothing changes without a token",   &out, "192.0.2.1", NULL, NULL, true, false},
	{"whatever is said",                  &out, "192.0.2.1", NULL, "Bearer x", true, false},
	{"with the token",                    &out_token, "192.0.2.1", NULL, "Bearer s3cret", true, true},
	{"without it",                        &out_token, "192.0.2.1", NULL, NULL, true, false},
	{"by a path: the file guards it",     &path, "localhost", NULL, NULL, true, true},
	{"also beside a public address",      &path_token, "localhost", NULL, NULL, true, true},
	{"but no page of a stranger's",       &path, "localhost", "http://evil.example", NULL, true, false},
	/* clang-format on */
};

START_TEST(refusal)
{
	struct access_request r = {
		.host = requests[_i].host,
		.host_port = requests[_i].host ? "localhost:9090" : NULL,
		.origin = requests[_i].origin,
		.authorization = requests[_i].authorization,
		.changes = requests[_i].changes,
	};
	const char *no = access_refusal(requests[_i].rules, &r);
	ck_assert_msg(!no == requests[_i].may, "%s: %s", requests[_i].says, no ? no : "may");
}
END_TEST

UNIT("access", LOOP(refusal, requests))
