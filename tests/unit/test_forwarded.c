/* rooms: http base
 * test_forwarded.c - who asked, through forwarders trusted or not.
 */
#include "proxy/http/forwarded.h"
#include "tests/kit/heads.h"
#include "tests/kit/unit.h"

/* clang-format off */
static const struct {
	const char *says, *peer, *fields, *want;
} facts[] = { /* trusted: 10.0.0.0/8, 2001:db8::/32 */
	{ "nothing is said",                              "10.0.0.1", "X: y", "10.0.0.1" },
	{ "a trusted forwarder says it",                  "10.0.0.1", "X-Forwarded-For: 192.0.2.7", "192.0.2.7" },
	{ "a stranger says anything",                     "192.0.2.1", "X-Forwarded-For: 192.0.2.7", "192.0.2.1" },
	{ "what precedes a stranger is his own claim", "10.0.0.1", "X-Forwarded-For: 1.1.1.1, 192.0.2.7", "192.0.2.7" },
	{ "a chain of trusted ones",                      "10.0.0.1", "X-Forwarded-For: 192.0.2.7, 10.0.0.9, 10.0.0.8", "192.0.2.7" },
	{ "several lines are one list",                   "10.0.0.1", "X-Forwarded-For: 1.1.1.1\nX-Forwarded-For: 192.0.2.7", "192.0.2.7" },
	{ "only trusted ones: the farthest",              "10.0.0.1", "X-Forwarded-For: 10.0.0.3, 10.0.0.2", "10.0.0.3" },
	{ "a port is left out",                           "10.0.0.1", "X-Forwarded-For: 192.0.2.7:5555", "192.0.2.7" },
	{ "brackets are left out",                        "10.0.0.1", "X-Forwarded-For: [2001:db9::1]:5555", "2001:db9::1" },
	{ "a bare IPv6 address",                          "2001:db8::5", "X-Forwarded-For: 2001:db9::1", "2001:db9::1" },
	{ "no address in a chain that is trusted",         "10.0.0.1", "X-Forwarded-For: 192.0.2.7, unknown, 10.0.0.2", "unknown" },
	{ "nothing but no address",                       "10.0.0.1", "X-Forwarded-For: unknown", "unknown" },
	{ "an empty list",                                "10.0.0.1", "X-Forwarded-For: ,,", "unknown" },
	{ "Forwarded (RFC 7239)",                         "10.0.0.1", "Forwarded: for=192.0.2.7;proto=https", "192.0.2.7" },
	{ "its IPv6 is quoted",                           "10.0.0.1", "Forwarded: proto=http;For=\"[2001:db9::1]:47\"", "2001:db9::1" },
	{ "its chain",                                    "10.0.0.1", "Forwarded: for=1.1.1.1, for=192.0.2.7;by=x, for=10.0.0.4", "192.0.2.7" },
	{ "hidden there",                                 "10.0.0.1", "Forwarded: for=_secret", "unknown" },
	{ "without for",                                  "10.0.0.1", "Forwarded: proto=https", "unknown" },
	{ "a quote that is left open hides nobody",       "10.0.0.1", "X-Forwarded-For: \", 192.0.2.7", "192.0.2.7" },
	{ "nor there",                                    "10.0.0.1", "Forwarded: for=10.0.0.9;x=\", for=192.0.2.7", "192.0.2.7" },
	{ "a comma in quotes that close",                 "10.0.0.1", "Forwarded: x=\"a, for=1.1.1.1\";for=192.0.2.7", "192.0.2.7" },
	{ "both agree",                                   "10.0.0.1", "Forwarded: for=192.0.2.7\nX-Forwarded-For: 192.0.2.7", "192.0.2.7" },
	{ "both agree, in other words",                   "10.0.0.1", "Forwarded: for=\"[2001:DB9:0::1]:9\"\nX-Forwarded-For: 2001:db9::1", "2001:db9::1" },
	{ "both differ: one is the client's own",         "10.0.0.1", "Forwarded: for=1.1.1.1\nX-Forwarded-For: 192.0.2.7", "unknown" },
	{ "a client's own Forwarded names a trusted one", "10.0.0.1", "Forwarded: for=10.0.0.9\nX-Forwarded-For: 192.0.2.7", "unknown" },
	{ "a client's own Forwarded names nobody",        "10.0.0.1", "Forwarded: by=1.1.1.1\nX-Forwarded-For: 192.0.2.7", "unknown" },
	{ "a client's own Forwarded is empty",            "10.0.0.1", "Forwarded: \nX-Forwarded-For: 192.0.2.7", "unknown" },
	{ "a client's own Forwarded is broken",           "10.0.0.1", "Forwarded: for=\"x\nX-Forwarded-For: 192.0.2.7", "unknown" },
	{ "a client's own X-Forwarded-For is broken",     "10.0.0.1", "Forwarded: for=192.0.2.7\nX-Forwarded-For: x", "unknown" },
	{ "a stranger who says what contradicts itself",  "192.0.2.1", "Forwarded: for=1.1.1.1\nX-Forwarded-For: x", "192.0.2.1" },
};
/* clang-format on */

static const char *const trusted_text[] = {"10.0.0.0/8", "2001:db8::/32"};

START_TEST(who_asked)
{
	struct network trusted[2];
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(network_parse(trusted_text[i], &trusted[i]), 0);
	struct str who =
		forwarded_client(fields_of(facts[_i].fields), trusted, 2, str_of(facts[_i].peer));
	ck_assert_msg(str_eq(who, str_of(facts[_i].want)), "%s: %.*s", facts[_i].says,
		      STR_ARG(who));
}
END_TEST

/* clang-format off */
static const struct {
	const char *says, *fields, *want;
} schemes[] = {
	{ "nothing is said",                  "X: y", "" },
	{ "X-Forwarded-Proto",                "X-Forwarded-Proto: HTTPS", "https" },
	{ "the nearest forwarder is the last", "X-Forwarded-Proto: https\nX-Forwarded-Proto: https, http", "http" },
	{ "a scheme that is none",            "X-Forwarded-Proto: gopher\nForwarded: proto=https", "" },
	{ "Forwarded (RFC 7239)",             "Forwarded: for=a;proto=http, for=b;Proto=\"https\"", "https" },
	{ "the last says nothing of it",      "Forwarded: for=a;proto=https, for=b", "" },
};
/* clang-format on */

START_TEST(how_it_was_asked)
{
	struct str scheme = forwarded_scheme(fields_of(schemes[_i].fields));
	ck_assert_msg(str_eq(scheme, str_of(schemes[_i].want)), "%s: %.*s", schemes[_i].says,
		      STR_ARG(scheme));
}
END_TEST

/* clang-format off */
static const struct {
	const char *says, *trusted, *first, *many, *last, *want;
} longs[] = {
	/* The nearest forwarder's word is the last one, whatever a client has put before it. */
	{ "many of the client's making hide nobody", "10.0.0.0/8", "1", ", 10.0.0.2", ", 192.0.2.7", "192.0.2.7" },
	{ "too many hops are nobody",                "any", "10.0.0.1", ", 10.0.0.1", ", 10.0.0.1", "unknown" },
};
/* clang-format on */

START_TEST(who_asked_by_way_of_many)
{
	struct network trusted;
	struct field v[1];
	struct fields f = {.v = v, .cap = 1};
	char list[4000];
	network_parse(longs[_i].trusted, &trusted);
	strcpy(list, longs[_i].first);
	for (int i = 0; i < 198; i++)
		strcat(list, longs[_i].many);
	strcat(list, longs[_i].last);
	fields_add(&f, STR("X-Forwarded-For"), str_of(list));
	struct str who = forwarded_client(&f, &trusted, 1, STR("10.9.9.9"));
	ck_assert_msg(str_eq(who, str_of(longs[_i].want)), "%s: %.*s", longs[_i].says,
		      STR_ARG(who));
}
END_TEST

static void
note_claim(void *ctx, struct str name, struct str value)
{
	buf_add_str(ctx, name);
	buf_add_lit(ctx, "=");
	buf_add_u64(ctx, value.n);
	buf_add_lit(ctx, "\n");
}

/* A client's own members before the forwarder's, 4,096 bytes with it, and one more. */
START_TEST(more_than_4_kib_of_forwarded_are_not_read)
{
	static const struct str end = STR_INIT(",for=192.0.2.7;proto=https");
	struct network trusted;
	network_parse("10.0.0.0/8", &trusted);
	for (size_t bytes = 4096; bytes <= 4097; bytes++) {
		char list[4098];
		struct field v[1];
		struct fields f = {.v = v, .cap = 1};
		struct buf claims = {0};
		bool read = bytes == 4096;
		memset(list, 'x', bytes);
		memcpy(list + bytes - end.n, end.p, end.n);
		fields_add(&f, STR("Forwarded"), (struct str){list, bytes});
		ck_assert(str_eq(forwarded_client(&f, &trusted, 1, STR("10.9.9.9")),
				 read ? STR("192.0.2.7") : STR("unknown")));
		ck_assert(str_eq(forwarded_scheme(&f), read ? STR("https") : STR("")));
		forwarded_claims(&f, note_claim, &claims);
		ck_assert(str_eq(buf_str(&claims), read ? STR("proto=5\n") : STR("=4097\n")));
		buf_fini(&claims);
	}
}
END_TEST

/* The last 64 are looked at, empty ones too. */
START_TEST(so_many_members_are_looked_at)
{
	struct network trusted;
	network_parse("10.0.0.0/8", &trusted);
	for (int commas = 62; commas < 66; commas++) {
		char list[100] = "192.0.2.7";
		struct field v[1];
		struct fields f = {.v = v, .cap = 1};
		for (int i = 0; i < commas; i++)
			strcat(list, ",");
		strcat(list, "10::1");
		fields_add(&f, STR("X-Forwarded-For"), str_of(list));
		ck_assert(str_eq(forwarded_client(&f, &trusted, 1, STR("10.9.9.9")), STR("10::1")));
		list[strlen(list) - 5] = '\0';
		v[0].value = str_of(list);
		ck_assert_msg(str_eq(forwarded_client(&f, &trusted, 1, STR("10.9.9.9")),
				     commas < 64 ? STR("192.0.2.7") : STR("unknown")),
			      "%d", commas);
	}
}
END_TEST

UNIT("forwarded", TEST(more_than_4_kib_of_forwarded_are_not_read),
     TEST(so_many_members_are_looked_at), LOOP(who_asked, facts), LOOP(how_it_was_asked, schemes),
     LOOP(who_asked_by_way_of_many, longs))
