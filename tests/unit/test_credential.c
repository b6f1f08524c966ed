/* rooms: http base
 * test_credential.c - names of fields that speak of a credential, and names that do not.
 */
#include "proxy/http/credential.h"
#include "tests/kit/heads.h"

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

/* clang-format off */
static const struct {
	const char *request;
	bool is_signed;
} requests[] = {
	{"GET /a HTTP/1.1\nHost: h", false},
	{"GET /a HTTP/1.1\nHost: h\nCookie: signature=1", false},
	{"GET /a HTTP/1.1\nHost: h\nAuthorization: Bearer x", true},
	{"GET /a HTTP/1.1\nHost: h\nSignature: sig1=:YQ==:", true},
	{"GET /a HTTP/1.1\nHost: h\nsignature-input: sig1=()", true},
	{"GET /a HTTP/1.1\nHost: h\nX-Shopify-Hmac-SHA256: YQ==", true},
	{"GET /a HTTP/1.1\nHost: h\nX-Design: 1", false},
	{"GET /a HTTP/1.1\nHost: h\nHMAC: 1", true},
	{"GET /a HTTP/1.1\nHost: h\nHma: 1", false},
	{"GET /a HTTP/1.1\nHost: h\nX-hmhmac: 1", true},
	{"GET /a HTTP/1.1\nHost: h\nX-nsigsignature: 1", true},
	{"GET /a HTTP/1.1\nHost: h\nX-signsignatur: 1", false},
	{"GET /a HTTP/1.1\nHost: h\nX-ccSiGnAtUrE: 1", true},
	{"GET /a?x=1&X-Amz-Signature=f HTTP/1.1\nHost: h", true},
	{"GET /a?X-Goog-Signature=f HTTP/1.1\nHost: h", true},
	{"GET /a?Expires=1&signature=f&Key-Pair-Id=k HTTP/1.1\nHost: h", true},
	{"GET /a?signature HTTP/1.1\nHost: h", true},
	{"GET /a?x=signature HTTP/1.1\nHost: h", false},
	{"GET /signature=1 HTTP/1.1\nHost: h", false},
	{"GET /a?se=1&sig=f HTTP/1.1\nHost: h", true},
	{"GET /a?sig=f&token_expiry=1 HTTP/1.1\nHost: h", true},
	{"GET /a?sig=f HTTP/1.1\nHost: h", false},
	{"GET /a?expires=1 HTTP/1.1\nHost: h", false},
};
/* clang-format on */

START_TEST(signatures)
{
	ck_assert_msg(credential_signs(request_of(requests[_i].request)) == requests[_i].is_signed,
		      "%s", requests[_i].request);
}
END_TEST

/* All names of six of these letters, and of those of "signature" with two before and one behind. */
START_TEST(a_word_is_found_wherever_it_is)
{
	static const char letters[] = "hMaCx";
	for (int i = 0; i < 5 * 5 * 5 * 5 * 5 * 5; i++) {
		char head[] = "GET / HTTP/1.1\nHost: h\nxxxxxx: 1", *name = strstr(head, "xxx");
		for (int at = 0, rest = i; at < 6; at++, rest /= 5)
			name[at] = letters[rest % 5];
		bool has = strcasestr(name, "hmac") != NULL;
		ck_assert_msg(credential_signs(request_of(head)) == has, "%s", name);
	}
	for (int i = 0; i < 9 * 9 * 9; i++) {
		char head[] = "GET / HTTP/1.1\nHost: h\nxxsignaturex: 1",
		     *name = strstr(head, "xx");
		name[0] = "signature"[i % 9];
		name[1] = "signature"[i / 9 % 9];
		name[11] = "signature"[i / 81];
		ck_assert_msg(credential_signs(request_of(head)), "%s", name);
		name[2 + i % 9] = 'q';
		ck_assert_msg(!credential_signs(request_of(head)), "%s", name);
	}
}
END_TEST

START_TEST(too_long_a_name_may_be_one)
{
	char name[257];
	memset(name, 'x', sizeof name);
	ck_assert(!credential_is_name((struct str){name, 256}));
	ck_assert(credential_is_name((struct str){name, 257}));
}
END_TEST

UNIT("credential", TEST(a_word_is_found_wherever_it_is), TEST(too_long_a_name_may_be_one),
     LOOP(signatures, requests), LOOP(a_name_speaks_of_a_credential, names))
