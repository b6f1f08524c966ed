/* rooms: http base
 * test_credential.c - names of fields that speak of a credential, and names that do not.
 */
#include "proxy/http/credential.h"
#include "tests/kit/unit.h"

/* clang-format off */
static const struct {
	const char *name;
	bool speaks;
} names[] = {
	{ "Api-Key",              true },
	{ "X-Api-Key",            true },
	{ "apikey",               true },
	{ "X-Auth-Token",         true },
	{ "X-CSRF-Token",         true },
	{ "X-XSRF-TOKEN",         true },
	{ "X-Session-Id",         true },
	{ "X-Amz-Security-Token", true },
	{ "X-Amz-Date",           true },
	{ "X-Amz-Content-Sha256", true },
	{ "X-Client-Secret",      true },
	{ "X-JWT-Assertion",      true },
	{ "Signature-Input",      true },
	{ "X-Credentials",        true },
	{ "X-Password",           true },
	{ "Proxy-Authorization",  true },
	{ "DNT",                  false },
	{ "Origin",               false },
	{ "Priority",             false },
	{ "Referer",              false },
	{ "Sec-CH-UA-Platform",   false },
	{ "Sec-Fetch-Mode",       false },
	{ "Upgrade-Insecure-Requests", false },
	{ "X-Amzn-Trace-Id",      false },
	{ "X-Requested-With",     false },
	{ "traceparent",          false },
	{ "ke",                   false },
	{ "a",                    false },
};
/* clang-format on */

START_TEST(a_name_speaks_of_a_credential)
{
	ck_assert_msg(credential_is_name(str_of(names[_i].name)) == names[_i].speaks, "%s",
		      names[_i].name);
}
END_TEST

UNIT("credential", LOOP(a_name_speaks_of_a_credential, names))
