/* test_outgoing.c - what goes to the origin, and that the key is made of nothing else.
 * rooms: serve coding http base
 */
#include "proxy/serve/outgoing/outgoing.h"

#include "proxy/http/syntax.h"
#include "tests/kit/heads.h"

#define SELF(host, proto)                                                                   \
	"X-Forwarded-For: 192.0.2.1\nX-Forwarded-Proto: " proto "\nX-Forwarded-Host: " host \
	"\nForwarded: for=192.0.2.1;host=" host ";proto=" proto "\nVia: 1.1 twice\n"
#define SEEN SELF("h", "http")

static const struct str headers[] = {STR_INIT("x-country"), STR_INIT("accept"),
				     STR_INIT("x-original-url"), STR_INIT("my_field")};
static const struct str cookies[] = {STR_INIT("ab"), STR_INIT("lang")};
static const struct str session[] = {STR_INIT("session")};
static const struct str any[] = {STR_INIT("")}, logged_in[] = {STR_INIT("wp_in_")};
static const struct str features[] = {STR_INIT("x-feature-"), STR_INIT("x-f")};
static const struct str shops[] = {STR_INIT("shop_")};
static const struct str own_names[] = {STR_INIT("via"), STR_INIT("x-forwarded-host"),
				       STR_INIT("host")};

static const struct key_rules as_is = {0};
static const struct key_rules by_header = {.headers = headers, .header_count = 4};
static const struct key_rules by_cookie = {.cookies = cookies, .cookie_count = 2};
static const struct key_rules no_session = {.pass_cookies = session, .pass_cookie_count = 1};
static const struct key_rules no_cookie = {.pass_stars = any, .pass_star_count = 1};
static const struct key_rules no_user = {.pass_stars = logged_in, .pass_star_count = 1};
static const struct key_rules by_star = {.header_stars = features,
					 .header_star_count = 1,
					 .cookie_stars = shops,
					 .cookie_star_count = 1};
static const struct key_rules by_stars = {.header_stars = features, .header_star_count = 2};
static const struct key_rules by_own = {.headers = own_names, .header_count = 3};
static const struct key_rules ignoring = {.query = QUERY_IGNORE, .normalise = true};

static struct outgoing_settings
settings(bool keep_underscores)
{
	struct outgoing_settings s = {.via = STR_INIT("twice"),
				      .keep_underscores = keep_underscores,
				      .drop = outgoing_overrides,
				      .drop_count = outgoing_overrides_count};
	outgoing_settings_init(&s);
	return s;
}

/* A request and what becomes of it. */
struct trip {
	struct head_text text;
	struct request rq;
	struct outgoing_settings set;
	struct outgoing out;
	struct buf key, fields;
	uint64_t asked;
	bool sure;
};

enum {
	SHARED = 0,
	PASSED = 1,
	TRUSTED = 2,
	UNDERSCORES = 4,
	AS_IT_CAME = 8,
	WISHES = 16,
	OBEY = 32,
	VALIDATES = 64,
	RESUMES = 128,
	CLASSED = 256, /* the route has codings */
	ASKED_GZIP = 512
};

static bool
trip_begin(struct trip *t, const char *request, const struct key_rules *rules, unsigned how)
{
	static const struct h1_limits limits = {4096, 4096, 32};
	struct outgoing_asks asks = {.as_it_came = how & (PASSED | AS_IT_CAME),
				     .wishes = how & WISHES};
	if (how & VALIDATES)
		asks.if_none_match = STR("\"s\"");
	static const unsigned gzip = CODING_BIT(CODING_GZIP);
	static const struct coding_list codings = {2, {CODING_BR, CODING_GZIP}};
	if (how & ASKED_GZIP)
		asks.class = &gzip;
	if (how & RESUMES) {
		asks.range = STR("bytes=5-");
		asks.if_range = STR("\"s\"");
	}
	memset(t, 0, sizeof *t);
	t->rq.fields = (struct fields){.v = t->text.v, .cap = 32};
	if (h1_parse_request(head_text_set(&t->text, request), &limits, &t->rq))
		return false;
	t->rq.scheme = STR("http"); /* the listener's */
	t->set = settings(how & UNDERSCORES);
	t->set.keep_wishes = how & OBEY;
	ck_assert(!outgoing_init(&t->out, &t->rq, &t->set, rules, how & TRUSTED, !(how & PASSED)));
	t->out.client_ip = STR("192.0.2.1");
	t->out.codings = how & CLASSED ? &codings : NULL;
	t->sure = outgoing_key(&t->out, &t->key);
	outgoing_fields(&t->out, buf_str(&t->key), &asks, &t->fields);
	t->asked = outgoing_asked(&t->out, &asks);
	return true;
}

static void
trip_end(struct trip *t)
{
	buf_fini(&t->key);
	buf_fini(&t->fields);
}

/* -- fields of the client's own ---------------------------------------------------------------- */

static const struct {
	const char *says;
	unsigned how;
	const char *fields, *names;
	bool want;
} owns[] = {
	{"nothing but what is written here", SHARED, "", "", false},
	{"a field that no key holds", SHARED, "\nX-Break: 1", "", true},
	{"what every browser sends", SHARED, "\nUser-Agent: b", "", true},
	{"a cookie", SHARED, "\nCookie: a=b", "", true},
	{"a field in the route's key", SHARED, "\nX-Country: de", "", false},
	{"one that selects the variant", SHARED, "\nAccept-Language: de", "accept-language", false},
	{"another one than that", SHARED, "\nAccept-Language: de", "x-else", true},
	{"what does not go out", SHARED, "\nConnection: x\nX: 1\nX-Forwarded-For: 1.1.1.1", "",
	 false},
	{"nor conditions and wishes", SHARED,
	 "\nIf-None-Match: \"a\"\nRange: bytes=0-1\nCache-Control: no-cache", "", false},
	{"a wish that goes out", OBEY, "\nCache-Control: no-cache", "", true},
	{"a trusted forwarder's word on who asks", TRUSTED, "\nX-Real-IP: 192.0.2.7", "", false},
	{"what else comes through it", TRUSTED, "\nX-Break: 1", "", true},
};

START_TEST(whose_field)
{
	struct trip t;
	char request[256];
	snprintf(request, sizeof request, "GET / HTTP/1.1\nHost: h%s", owns[_i].fields);
	ck_assert(trip_begin(&t, request, &by_header, owns[_i].how));
	ck_assert_msg(outgoing_shows_own(&t.out, str_of(owns[_i].names)) == owns[_i].want, "%s",
		      owns[_i].says);
	trip_end(&t);
}
END_TEST

/* -- the head --------------------------------------------------------------------------------- */

static const struct {
	const char *says;
	unsigned how;
	const char *request, *want;
} heads[] = {
	/* clang-format off */
	{"end-to-end fields, and who we saw",      SHARED, "GET / HTTP/1.1\nHost: h\nX-A: a\nCookie: c", "X-A: a\nCookie: c\n" SEEN},
	{"not what the fetch decides",             PASSED, "POST / HTTP/1.1\nHost: h\nContent-Length: 3\nExpect: 100-continue", SEEN},
	{"not what is hop-by-hop",                 SHARED, "GET / HTTP/1.1\nHost: h\nConnection: x, te\nX: 1\nTE: trailers\nUpgrade: h2c\nProxy-Authorization: p", SEEN},
	{"Connection cannot take Authorization away", SHARED, "GET / HTTP/1.1\nHost: h\nConnection: authorization\nAuthorization: a", "Authorization: a\n" SEEN},
	{"a stranger's word about himself is nothing", SHARED, "GET / HTTP/1.1\nHost: h\nX-Forwarded-For: 1.1.1.1\nX-Forwarded-Host: evil\nX-Forwarded-Proto: https\nForwarded: for=x;proto=https\nX-Forwarded-Port: 1\nX-Original-URL: /admin\nProxy: evil\nX-Real-IP: 1.1.1.1", SEEN},
	{"a trusted forwarder's is kept and added to", TRUSTED, "GET / HTTP/1.1\nHost: h\nX-Forwarded-For: 1.1.1.1\nX-Forwarded-Host: front\nX-Forwarded-Proto: http\nForwarded: for=x\nX-Original-URL: /b\nX-Real-IP: 1.1.1.1",
	 "X-Original-URL: /b\nX-Real-IP: 1.1.1.1\nX-Forwarded-For: 1.1.1.1, 192.0.2.1\nX-Forwarded-Proto: http\nX-Forwarded-Host: front\nForwarded: for=x, for=192.0.2.1;host=h;proto=http\nVia: 1.1 twice\n"},
	{"its scheme is the scheme",               TRUSTED, "GET / HTTP/1.1\nHost: h\nX-Forwarded-Proto: HTTPS", SELF("h", "https")},
	{"the nearest forwarder's word counts",    TRUSTED, "GET / HTTP/1.1\nHost: h\nX-Forwarded-Proto: https, http", SELF("h", "http")},
	{"so it does in Forwarded",                TRUSTED, "GET / HTTP/1.1\nHost: h\nForwarded: for=a;proto=http, for=b;Proto=\"https\"", "X-Forwarded-For: 192.0.2.1\nX-Forwarded-Proto: https\nX-Forwarded-Host: h\nForwarded: for=a;proto=http, for=b;Proto=\"https\", for=192.0.2.1;host=h;proto=https\nVia: 1.1 twice\n"},
	{"a scheme that is none",                  TRUSTED, "GET / HTTP/1.1\nHost: h\nX-Forwarded-Proto: gopher", SELF("h", "http")},
	{"a POST may override its method",         PASSED, "POST / HTTP/1.1\nHost: h\nX-HTTP-Method-Override: PUT", "X-HTTP-Method-Override: PUT\n" SEEN},
	{"a GET may not",                          PASSED, "GET / HTTP/1.1\nHost: h\nX-HTTP-Method-Override: PUT", SEEN},
	{"an underscore is a dash in CGI",         SHARED, "GET / HTTP/1.1\nHost: h\nX_Original_URL: /a\nAccept_Language: de\nX_Own: 1", SEEN},
	{"so is every other sign in some", SHARED, "GET / HTTP/1.1\nHost: h\nX.Original.URL: /a\nAccept!Language: de\nX-Own-1: 1", "X-Own-1: 1\n" SEEN},
	{"of a POST too",                          PASSED, "POST / HTTP/1.1\nHost: h\nContent_Length: 5", SEEN},
	{"unless a setting keeps them",            UNDERSCORES, "GET / HTTP/1.1\nHost: h\nX_Own: 1", "X_Own: 1\n" SEEN},
	{"Via goes on, as one line",               SHARED, "GET / HTTP/1.0\nHost: h\nVia: 1.1 a\nVia: 1.1 b", "X-Forwarded-For: 192.0.2.1\nX-Forwarded-Proto: http\nX-Forwarded-Host: h\nForwarded: for=192.0.2.1;host=h;proto=http\nVia: 1.1 a, 1.1 b, 1.0 twice\n"},
	{"no conditions of the client's",          SHARED, "GET / HTTP/1.1\nHost: h\nIf-None-Match: \"c\"\nIf-Modified-Since: now\nRange: bytes=0-1\nIf-Range: \"c\"\nA: b", "A: b\n" SEEN},
	{"but where they are wanted",              AS_IT_CAME, "GET / HTTP/1.1\nHost: h\nIf-None-Match: \"c\"\nRange: bytes=0-1", "If-None-Match: \"c\"\nRange: bytes=0-1\n" SEEN},
	{"no wishes: they are in no key",          SHARED, "GET / HTTP/1.1\nHost: h\nCache-Control: no-cache\nPragma: no-cache\nA: b", "A: b\n" SEEN},
	{"nor for a part, which may be kept",      AS_IT_CAME, "GET / HTTP/1.1\nHost: h\nCache-Control: no-cache\nRange: bytes=0-1", "Range: bytes=0-1\n" SEEN},
	{"but where they are obeyed",              OBEY, "GET / HTTP/1.1\nHost: h\nCache-Control: no-cache\nPragma: no-cache", "Cache-Control: no-cache\nPragma: no-cache\n" SEEN},
	{"or nobody else gets the answer",         WISHES | AS_IT_CAME, "GET / HTTP/1.1\nHost: h\nCache-Control: no-store, no-cache", "Cache-Control: no-store, no-cache\n" SEEN},
	{"or it passes",                           PASSED, "GET / HTTP/1.1\nHost: h\nCache-Control: no-cache", "Cache-Control: no-cache\n" SEEN},
	{"the host in one spelling",               SHARED, "GET / HTTP/1.1\nHost: H.:080", SEEN},
	{"also for who passes",                    PASSED, "GET / HTTP/1.1\nHost: H.:80", SEEN},
	{"a host with a port",                     SHARED, "GET / HTTP/1.1\nHost: h:81", "X-Forwarded-For: 192.0.2.1\nX-Forwarded-Proto: http\nX-Forwarded-Host: h:81\nForwarded: for=192.0.2.1;host=\"h:81\";proto=http\nVia: 1.1 twice\n"},
	{"lines of one name are joined",           SHARED, "GET / HTTP/1.1\nHost: h\nX: 1\nY: 2\nx: 3\nCookie: a=b\nCookie: c=d", "X: 1, 3\nY: 2\nCookie: a=b; c=d\n" SEEN},
	{"not of who passes",                      PASSED, "GET / HTTP/1.1\nHost: h\nX: 1\nx:  2 ,3\nAccept-Encoding: foo, GZIP", "X: 1\nx: 2 ,3\nAccept-Encoding: foo, GZIP\n" SEEN},
	{"normal forms",                           SHARED, "GET / HTTP/1.1\nHost: h\nAccept-Encoding: br;q=0.1, GZIP, foo\nAccept-Language: DE-at, en;q=0.50\nAccept: Text/HTML ,*/*\nX: 1 ,2\nOrigin: x,", "Accept-Encoding: gzip, br\nAccept-Language: de-AT,en;q=0.5\nAccept: text/html,*/*\nX: 1, 2\nOrigin: x,\n" SEEN},
	{"a class of codings",                     CLASSED, "GET / HTTP/1.1\nHost: h\nX: 1\nAccept-Encoding: gzip;q=1\nAccept-Encoding: br;q=0.1, zstd", "X: 1\nAccept-Encoding: br, gzip\n" SEEN},
	{"those that are taken",                   CLASSED, "GET / HTTP/1.1\nHost: h\nAccept-Encoding: br;q=0, x-gzip", "Accept-Encoding: gzip\n" SEEN},
	{"no class of those that are wanted",      CLASSED, "GET / HTTP/1.1\nHost: h\nAccept-Encoding: deflate, zstd", SEEN},
	{"nothing wanted is the same",             CLASSED, "GET / HTTP/1.1\nHost: h", SEEN},
	{"nor is anything asked of who refuses all", CLASSED, "GET / HTTP/1.1\nHost: h\nAccept-Encoding: identity;q=0", "Accept-Encoding: identity;q=0\n" SEEN},
	{"what may be signed stays",               CLASSED, "GET / HTTP/1.1\nHost: h\nAuthorization: a\nAccept-Encoding: gzip, br", "Authorization: a\nAccept-Encoding: gzip, br\n" SEEN},
	{"what passes, too",                       CLASSED | PASSED, "GET / HTTP/1.1\nHost: h\nAccept-Encoding: br, GZIP", "Accept-Encoding: br, GZIP\n" SEEN},
	{"what is stored was asked for otherwise", CLASSED | ASKED_GZIP, "GET / HTTP/1.1\nHost: h\nAccept-Encoding: br", "Accept-Encoding: gzip\n" SEEN},
	{"also by who wants none",                 CLASSED | ASKED_GZIP, "GET / HTTP/1.1\nHost: h", "Accept-Encoding: gzip\n" SEEN},
	/* clang-format on */
};

START_TEST(head_row)
{
	struct trip t;
	ck_assert(trip_begin(&t, heads[_i].request, &as_is, heads[_i].how));
	ck_assert_msg(strcmp(text_of(&t.fields), heads[_i].want) == 0, "%s:\n%s", heads[_i].says,
		      text_of(&t.fields));
	trip_end(&t);
}
END_TEST

START_TEST(the_cache_asks_its_own_questions)
{
	struct trip t;
	struct outgoing_asks asks = {.if_none_match = STR_INIT("\"s\""),
				     .if_modified_since = STR_INIT("then"),
				     .as_it_came = true};
	ck_assert(trip_begin(&t, "GET / HTTP/1.1\nHost: h\nIf-None-Match: \"c\"\nA: b", &as_is,
			     SHARED));
	t.fields.n = 0;
	outgoing_fields(&t.out, buf_str(&t.key), &asks, &t.fields);
	ck_assert_str_eq(text_of(&t.fields),
			 "A: b\nIf-None-Match: \"s\"\nIf-Modified-Since: then\n" SEEN);
	trip_end(&t);
}
END_TEST

START_TEST(an_IPv6_client_is_quoted)
{
	struct trip t;
	struct outgoing_asks asks = {.as_it_came = false};
	ck_assert(trip_begin(&t, "GET / HTTP/1.1\nHost: h", &as_is, SHARED));
	t.fields.n = 0;
	t.out.client_ip = STR("2001:db8::1");
	outgoing_fields(&t.out, buf_str(&t.key), &asks, &t.fields);
	ck_assert_ptr_nonnull(strstr(text_of(&t.fields), "for=\"[2001:db8::1]\";host=h"));
	ck_assert_ptr_nonnull(strstr(text_of(&t.fields), "X-Forwarded-For: 2001:db8::1\n"));
	trip_end(&t);
}
END_TEST

/* -- the key ---------------------------------------------------------------------------------- */

#define PASS "(pass) "
static const struct {
	const char *says;
	const struct key_rules *rules;
	unsigned how;
	const char *request, *want;
} keys[] = {
	/* clang-format off */
	{"the URL",                               &as_is, SHARED, "GET /a?b HTTP/1.1\nHost: h", "http://h/a?b"},
	{"headers, absent and present",           &by_header, SHARED, "GET / HTTP/1.1\nHost: h\nX-Country: de", "http://h/\nx-country=de\naccept\nx-original-url\nmy_field"},
	{"an empty header is not an absent one",  &by_header, SHARED, "GET / HTTP/1.1\nHost: h\nX-Country:", "http://h/\nx-country=\naccept\nx-original-url\nmy_field"},
	{"as they go out",                        &by_header, SHARED, "GET / HTTP/1.1\nHost: h\nAccept: A/b\nAccept: c/d;q=1.0", "http://h/\nx-country\naccept=a/b,c/d\nx-original-url\nmy_field"},
	{"a field that is dropped, but named",    &by_header, SHARED, "GET / HTTP/1.1\nHost: h\nX-Original-URL: /x\nMy_Field: 1", "http://h/\nx-country\naccept\nx-original-url=/x\nmy_field=1"},
	{"what Connection lists is not there",    &by_header, SHARED, "GET / HTTP/1.1\nHost: h\nConnection: x-country\nX-Country: de", "http://h/\nx-country\naccept\nx-original-url\nmy_field"},
	{"what is written here",                  &by_own, SHARED, "GET / HTTP/1.1\nHost: H:80\nVia: 1.0 x", "http://h/\nvia=1.0 x, 1.1 twice\nx-forwarded-host=h\nhost=h"},
	{"cookies",                               &by_cookie, SHARED, "GET / HTTP/1.1\nHost: h\nCookie: x=1; lang=de;ab=2", "http://h/\nab=2\nlang=de"},
	{"no such cookies",                       &by_cookie, SHARED, "GET / HTTP/1.1\nHost: h\nCookie: xab=1; lan=de", "http://h/\nab\nlang"},
	{"a repeated cookie passes",              &by_cookie, SHARED, "GET / HTTP/1.1\nHost: h\nCookie: ab=1; ab=2", PASS "http://h/\nab\nlang"},
	{"so does a quoted one",                  &by_cookie, SHARED, "GET / HTTP/1.1\nHost: h\nCookie: ab=\"1\"", PASS "http://h/\nab\nlang"},
	{"and one in two lines of cookies",       &by_cookie, SHARED, "GET / HTTP/1.1\nHost: h\nCookie: ab=1\nCookie: x=2", PASS "http://h/\nab\nlang"},
	{"a cookie that must pass",               &no_session, SHARED, "GET / HTTP/1.1\nHost: h\nCookie: a=b; session=1", PASS "http://h/"},
	{"however it is written",                 &no_session, SHARED, "GET / HTTP/1.1\nHost: h\nCookie: a=\"b; sess%69on=1", PASS "http://h/"},
	{"others need not",                       &no_session, SHARED, "GET / HTTP/1.1\nHost: h\nCookie: a=session", "http://h/"},
	{"any cookie passes",                     &no_cookie, SHARED, "GET / HTTP/1.1\nHost: h\nCookie: a=b", PASS "http://h/"},
	{"no cookie does not",                    &no_cookie, SHARED, "GET / HTTP/1.1\nHost: h", "http://h/"},
	{"a cookie whose name begins so",         &no_user, SHARED, "GET / HTTP/1.1\nHost: h\nCookie: a=b; wp_in_7f=1", PASS "http://h/"},
	{"in another case, encoded, in quotes",   &no_user, SHARED, "GET / HTTP/1.1\nHost: h\nCookie: a=\"b, WP%5fin_7f=1", PASS "http://h/"},
	{"in a second line",                      &no_user, SHARED, "GET / HTTP/1.1\nHost: h\nCookie: a=b\nCookie: wp_in_x=1", PASS "http://h/"},
	{"only the beginning of it does not",     &no_user, SHARED, "GET / HTTP/1.1\nHost: h\nCookie: wp_in=1; xwp_in_a=1; a=wp_in_b", "http://h/"},
	{"fields and cookies that begin so, by name", &by_star, SHARED, "GET / HTTP/1.1\nHost: h\nX-Feature-B: 1\nx-feature-a: 2\nX-FEATURE-b: 3\nCookie: shop_b=1; x=y; shop_a=22", "http://h/\nx-feature-*=x-feature-a:1:2x-feature-b:4:1, 3\nshop_*=shop_a=22;shop_b=1"},
	{"none of them",                          &by_star, SHARED, "GET / HTTP/1.1\nHost: h\nX-Feature: 1\nCookie: shop=1", "http://h/\nx-feature-*=\nshop_*="},
	{"what Connection lists is none of them", &by_star, SHARED, "GET / HTTP/1.1\nHost: h\nConnection: x-feature-a\nX-Feature-a: 1", "http://h/\nx-feature-*=\nshop_*="},
	{"nor is what is written here",           &by_stars, SHARED, "GET / HTTP/1.1\nHost: h\nX-Forwarded-For: 1", "http://h/\nx-feature-*=\nx-f*="},
	{"what is dropped, but begins so",        &by_stars, SHARED, "GET / HTTP/1.1\nHost: h\nX-Forwarded-Server: a", "http://h/\nx-feature-*=\nx-f*=x-forwarded-server:1:a"},
	{"of two that one could be, neither",     &by_star, SHARED, "GET / HTTP/1.1\nHost: h\nCookie: shop_a=1; SHOP_A=2", PASS "http://h/\nx-feature-*=\nshop_*=shop_a=1"},
	{"one twice passes",                      &by_star, SHARED, "GET / HTTP/1.1\nHost: h\nCookie: shop_a=1; shop_a=2", PASS "http://h/\nx-feature-*=\nshop_*="},
	{"a trusted forwarder's scheme",          &as_is, TRUSTED, "GET / HTTP/1.1\nHost: h\nX-Forwarded-Proto: https", "https://h/"},
	{"and its overrides, but not who asks",   &as_is, TRUSTED, "GET / HTTP/1.1\nHost: h\nX-Forwarded-Host: f\nX-Real-IP: 1\nX-Original-URL: /b\nX-Forwarded-Port: 8", "http://h/\nx-forwarded-host=f\nX-Original-URL=/b\nX-Forwarded-Port=8"},
	{"also those of others, handed on",       &as_is, TRUSTED, "GET / HTTP/1.1\nHost: h\nForwarded: for=1.2.3.4;host=evil;proto=http, for=5.6.7.8; Proto=HTTP ;host=\"h\"", "http://h/\nforwarded;host=evil"},
	{"a scheme that is not the last one's",   &as_is, TRUSTED, "GET / HTTP/1.1\nHost: h\nForwarded: for=a;proto=https\nForwarded: for=b;proto=http", "http://h/\nforwarded;proto=https"},
	{"of quotes that do not close, all",      &as_is, TRUSTED, "GET / HTTP/1.1\nHost: h\nForwarded: for=\"a;host=h", "http://h/\nforwarded;=for=\"a;host=h"},
	{"a stranger's are nothing",              &as_is, SHARED, "GET / HTTP/1.1\nHost: h\nX-Forwarded-Host: f\nForwarded: host=e\nX-Original-URL: /b\nX-Forwarded-Proto: https", "http://h/"},
	/* clang-format on */
};

START_TEST(key_row)
{
	struct trip t;
	struct buf got = {0};
	ck_assert(trip_begin(&t, keys[_i].request, keys[_i].rules, keys[_i].how));
	buf_add_str(&got, t.sure ? STR("") : STR(PASS));
	buf_add_str(&got, buf_str(&t.key));
	ck_assert_msg(str_eq(buf_str(&got), str_of(keys[_i].want)), "%s: %.*s", keys[_i].says,
		      STR_ARG(buf_str(&got)));
	buf_fini(&got);
	trip_end(&t);
}
END_TEST

#define HOPS_9	"1 a, 1 a, 1 a, 1 a, 1 a, 1 a, 1 a, 1 a, 1 a, "
#define HOPS_63 HOPS_9 HOPS_9 HOPS_9 HOPS_9 HOPS_9 HOPS_9 HOPS_9

static const struct {
	const char *via;
	bool loop;
} vias[] = {
	{"Via: 1.1 twice", true},
	{"Via: 1.0 other, 1.1 TWICE (a comment)", true},
	{"Via: 1.1 other\nVia: HTTP/1.1 twice", true},
	{"Via: 1.1 twice-2", false},
	{"Via: 1.1 other (twice), twice", false},
	{"X-Via: 1.1 twice", false},
	{"Via: " HOPS_63 "1 a", false},
	{"Via: " HOPS_63 "1 a, 1 a", true},
	{"Via: " HOPS_63 "1 a\nVia: 1 a", true},
};

START_TEST(own_via_is_a_loop)
{
	char text[1024];
	struct head_text h;
	static const struct h1_limits limits = {4096, 4096, 32};
	struct request rq = {.fields = {.v = h.v, .cap = 32}};
	struct outgoing_settings set = settings(false);
	struct outgoing o;
	snprintf(text, sizeof text, "GET / HTTP/1.1\nHost: h\n%s", vias[_i].via);
	ck_assert(!h1_parse_request(head_text_set(&h, text), &limits, &rq));
	const struct fault *want = vias[_i].loop ? &fault_LOOP : NULL;
	ck_assert_msg(outgoing_init(&o, &rq, &set, &as_is, false, true) == want, "%s",
		      vias[_i].via);
}
END_TEST

static const struct key_rules sorting = {.query = QUERY_SORT, .normalise = true};

static const struct {
	const char *says, *request;
	bool as_it_came;
} forms[] = {
	/* clang-format off */
	{"nothing to change",           "GET /a HTTP/1.1\nHost: h\nAuthorization: x\nAccept: a/b,c/d;q=0.5", false},
	{"no signature",                "GET /a HTTP/1.1\nHost: h\nAccept: a/b, c/d", false},
	{"Accept",                      "GET /a HTTP/1.1\nHost: h\nAuthorization: x\nAccept: a/b, c/d", true},
	{"lines that would be one",     "GET /a HTTP/1.1\nHost: h\nAuthorization: x\nX: a\nX: b", true},
	{"the host's case",             "GET /a HTTP/1.1\nHost: H\nAuthorization: x", true},
	{"the default port",            "GET /a HTTP/1.1\nHost: h:80\nAuthorization: x", true},
	{"the order of the query",      "GET /a?b=1&a=1&Signature=x HTTP/1.1\nHost: h", true},
	{"in order",                    "GET /a?Signature=x&a=1&b=1 HTTP/1.1\nHost: h", false},
	{"how it is written",           "GET /%61?Signature=x HTTP/1.1\nHost: h", true},
	{"a condition",                 "GET /a HTTP/1.1\nHost: h\nAuthorization: x\nIf-None-Match: \"1\"", true},
	{"a range",                     "GET /a HTTP/1.1\nHost: h\nAuthorization: x\nRange: bytes=0-1", true},
	{"what is said to caches",      "GET /a HTTP/1.1\nHost: h\nAuthorization: x\nPragma: no-cache\nCache-Control: a,b", false},
	{"what nobody is sent",         "GET /a HTTP/1.1\nHost: h\nAuthorization: x\nX-Original-URL: /b", false},
	/* clang-format on */
};

START_TEST(a_signed_request_keeps_its_form)
{
	struct trip t;
	ck_assert(trip_begin(&t, forms[_i].request, &sorting, SHARED));
	ck_assert_msg(outgoing_goes_as_it_came(&t.out, buf_str(&t.key)) == forms[_i].as_it_came,
		      "%s", forms[_i].says);
	trip_end(&t);
}
END_TEST

static struct buf none; /* where nothing is rewritten */

START_TEST(host_and_target_are_the_keys)
{
	struct trip t;
	ck_assert(trip_begin(&t, "GET /%7Ea/../b?c HTTP/1.1\nHost: H.:080", &ignoring, SHARED));
	ck_assert(str_eq(outgoing_authority(buf_str(&t.key)), STR("h")));
	ck_assert(str_eq(outgoing_target(&t.out, buf_str(&t.key), &none), STR("/b")));
	trip_end(&t);
	ck_assert(trip_begin(&t, "GET /%7Ea/../b?c HTTP/1.1\nHost: H.:080", &ignoring, PASSED));
	ck_assert(str_eq(outgoing_authority(buf_str(&t.key)), STR("h")));
	ck_assert(str_eq(outgoing_target(&t.out, buf_str(&t.key), &none), STR("/%7Ea/../b?c")));
	trip_end(&t);
	ck_assert(trip_begin(&t, "OPTIONS * HTTP/1.1\nHost: h", &as_is, PASSED));
	ck_assert(str_eq(outgoing_authority(buf_str(&t.key)), STR("h")));
	trip_end(&t);
	ck_assert(trip_begin(&t, "GET /a HTTP/1.0", &as_is, SHARED));
	ck_assert_uint_eq(outgoing_authority(buf_str(&t.key)).n, 0);
	trip_end(&t);
}
END_TEST

/* -- variants --------------------------------------------------------------------------------- */

static const struct {
	const char *says, *names, *lines, *want;
} variants[] = {
	/* clang-format off */
	{"a value",                          "foo", "Foo: 1", "\nfoo:1"},
	{"case matters in what is unknown",  "foo", "Foo: AbC", "\nfoo:AbC"},
	{"absent",                           "foo", "Bar: 1", ""},
	{"empty is not absent",              "foo", "Foo:", "\nfoo:"},
	{"several names",                    "bar,baz,foo", "Foo: 1\nBaz: 2", "\nbaz:2\nfoo:1"},
	{"lines combine",                    "foo", "Foo: 1\nFoo: 2", "\nfoo:1, 2"},
	{"blanks around commas go",          "foo", "Foo:  1 ,\t2 ", "\nfoo:1, 2"},
	{"but not in quotes",                "foo", "Foo: \"1 ,2\"", "\nfoo:\"1 ,2\""},
	{"order stays",                      "foo", "Foo: 2, 1", "\nfoo:2, 1"},
	{"so it does for languages",         "accept-language", "Accept-Language: zh, en", "\naccept-language:zh,en"},
	{"codings are those that exist",     "accept-encoding", "Accept-Encoding: gzip;q=0.123", "\naccept-encoding:gzip"},
	{"what Connection lists is absent",  "foo", "Connection: foo\nFoo: 1", ""},
	{"so is what is dropped",            "x-original-url,x_foo", "X-Original-URL: /a\nX_Foo: 1", ""},
	{"and what the cache does not ask",  "range", "Range: bytes=0-1", ""},
	{"what is written here",             "forwarded,host,via,x-forwarded-for", "X-Forwarded-For: 1\nVia: 1.0 a",
	 "\nforwarded:for=192.0.2.1;host=h;proto=http\nhost:h\nvia:1.0 a, 1.1 twice\nx-forwarded-for:192.0.2.1"},
	{"cookies are joined and no more",   "cookie", "Cookie: a=1, 2\nCookie: b", "\ncookie:a=1, 2; b"},
	{"an origin is no list",             "origin", "Origin: x,", "\norigin:x,"},
	{"nothing to vary on",               "", "Foo: 1", ""},
	/* clang-format on */
};

/* The query is that of the key, or of the request that passes, unless the route makes one. */
START_TEST(a_rewritten_target_keeps_the_query)
{
	struct trip t;
	struct buf out = {0};
	ck_assert(trip_begin(&t, "GET /a?b&a HTTP/1.1\nHost: h", &sorting, SHARED));
	t.out.path = STR("/x");
	ck_assert(str_eq(outgoing_target(&t.out, buf_str(&t.key), &out), STR("/x?a&b")));
	t.out.shared = false;
	out.n = 3;
	ck_assert(str_eq(outgoing_target(&t.out, buf_str(&t.key), &out), STR("/x?b&a")));
	t.out.path = STR("/x?c");
	ck_assert(str_eq(outgoing_target(&t.out, buf_str(&t.key), &out), STR("/x?c")));
	buf_fini(&out);
	trip_end(&t);
}
END_TEST

START_TEST(variant_row)
{
	char request[512];
	struct trip t;
	struct buf b = {0};
	snprintf(request, sizeof request, "GET / HTTP/1.1\nHost: h\n%s", variants[_i].lines);
	ck_assert(trip_begin(&t, request, &as_is, SHARED));
	outgoing_variant(&t.out, buf_str(&t.key), str_of(variants[_i].names), &b);
	ck_assert_msg(str_eq(buf_str(&b), str_of(variants[_i].want)), "%s: %.*s", variants[_i].says,
		      STR_ARG(buf_str(&b)));
	/* behind the key itself, which moves when it grows */
	size_t n = t.key.n;
	struct buf key = {0};
	buf_add_str(&key, buf_str(&t.key));
	outgoing_variant(&t.out, (struct str){key.p, n}, str_of(variants[_i].names), &key);
	ck_assert(str_eq(str_from(buf_str(&key), n), buf_str(&b)));
	buf_fini(&key);
	buf_fini(&b);
	trip_end(&t);
}
END_TEST

START_TEST(which_variants_need_the_client)
{
	ck_assert(outgoing_names_client(&(struct outgoing){0}, STR("accept,forwarded")));
	ck_assert(outgoing_names_client(&(struct outgoing){0}, STR("x-forwarded-for")));
	ck_assert(!outgoing_names_client(&(struct outgoing){0}, STR("accept,x-forwarded-host")));
}
END_TEST

/* However long a name is, its lines are one whatever the case, and another name's are not. */
START_TEST(lines_of_one_name_are_joined)
{
	static const char upper[] = "X-ABCDEFGHIJKLMNOPQRSTUVWXYZ",
			  lower[] = "x-abcdefghijklmnopqrstuvwxyz";
	for (int n = 1; n < (int)sizeof upper; n++)
		for (int at = 0; at < n; at++) {
			struct trip t;
			char request[256], last[sizeof lower], want[64];
			memcpy(last, lower, sizeof last);
			last[at] = '9';
			snprintf(request, sizeof request,
				 "GET / HTTP/1.1\nHost: h\n%.*s: 1\n%.*s: 2\n%.*s: 3", n, upper, n,
				 lower, n, last);
			ck_assert(trip_begin(&t, request, &as_is, SHARED));
			snprintf(want, sizeof want, "%.*s: 1, 2\r\n%.*s: 3\r\n", n, upper, n, last);
			buf_add(&t.fields, "", 1);
			ck_assert_msg(strstr(t.fields.p, want), "%s", t.fields.p);
			trip_end(&t);
		}
}
END_TEST

/* -- what is keyed is what is sent ------------------------------------------------------------- */

/* Ways to write what may mean the same, or not quite. */
static const char *const ways[][5] = {
	{"Accept-Encoding: gzip", "accept-encoding: GZIP;q=0.5, foo", "Accept-Encoding: x-gzip",
	 "Accept-Encoding: gzip\nAccept-Encoding: br;q=0", ""},
	{"Accept-Language: zh, en", "Accept-Language: zh,EN;q=1.0", "Accept-Language: en, zh",
	 "Accept-Language: zh\nAccept-Language: en", "Accept_Language: zh"},
	{"Accept: a/b, c/d", "ACCEPT: A/b ,c/d", "Accept: c/d, a/b", "Accept: a/b;x=\"1\", c/d",
	 "Accept: a/b;x=1,c/d"},
	{"X-A: 1, 2", "X-A: 1\nX-A: 2", "x-a: 1 ,2", "X-A: 2, 1", "X-A: 1,2,"},
	{"Cookie: lang=de; b=2", "Cookie: lang=de\nCookie: b=2", "Cookie: lang =de; b=2",
	 "Cookie: b=2; lang=en", "Cookie: b=2"},
	{"Origin: x", "Origin: x,", "Origin: X", "Origin: x\nOrigin: ", ""},
	{"Connection: x-a", "Connection: close", "Connection: keep-alive, accept-language",
	 "Connection: X-A, Origin", ""},
	{"X-Original-URL: /b", "X_Original_URL: /b", "X-Original-URL: /c", "", ""},
	{"X-Forwarded-Host: e", "X-Forwarded-Host: f", "X-Forwarded-Host: h", "", ""},
	{"X-Forwarded-Proto: https", "Forwarded: proto=https", "X-Forwarded-Proto: http", "", ""},
	{"Via: 1.1 a", "Via: 1.0 a", "Via: 1.1 a\nVia: 1.1 b", "Via: 1.1 a, 1.1 b", ""},
	{"Authorization: a", "Authorization:  a", "Authorization: b", "Authorization: a,", ""},
	{"X-Real-IP: 1", "X-Real-IP: 2", "", "", ""},
	{"If-None-Match: \"a\"", "If-None-Match: \"b\"", "", "", ""},
	{"Range: bytes=0-1", "Range: bytes=1-", "Range: bytes=0-1\nIf-Range: \"a\"", "", ""},
	{"If-Modified-Since: x", "If-Match: *", "", "", ""},
	{"Cache-Control: no-cache", "Cache-Control: max-age=0", "Pragma: no-cache", "", ""},
	{"Foo: a b,c", "Foo: a b, c", "Foo: \"a,b\"", "Foo: \"a, b\"", "Foo:"},
};
static const char *const hosts[] = {"h", "H", "h:80", "h:080", "h.", "h:", "h:81", "g"};
static const char *const paths[] = {"/a", "/a?b", "/%61", "/x/../a", "/a?", "//a"};
#define ALL_NAMES                                                                               \
	"accept,accept-encoding,accept-language,authorization,cache-control,connection,cookie," \
	"foo,forwarded,host,if-match,if-modified-since,if-none-match,if-range,origin,pragma,"   \
	"range,via,x-a,x-forwarded-for,x-forwarded-host,"                                       \
	"x-forwarded-proto,x-original-url,x_original_url"
/* Of the list in outgoing.h: who asks, by a trusted forwarder's word. */
#define LISTED "X-Real-IP"

/* Every key holds these. */
#define IN_KEY "x-forwarded-host,x-forwarded-proto,x-original-url,x_original_url,host"

struct dice {
	uint64_t x;
};
static unsigned
roll(struct dice *d, unsigned sides)
{
	d->x = d->x * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(d->x >> 33) % sides;
}

static void
write_request(const unsigned *way, char *text, size_t bytes)
{
	int n = snprintf(text, bytes, "GET %s HTTP/1.%u\nHost: %s", paths[way[0]], way[2],
			 hosts[way[1]]);
	for (int i = 0; i < COUNT(ways); i++)
		if (way[i + 3] < 5 && *ways[i][way[i + 3]])
			n += snprintf(text + n, bytes - (size_t)n, "\n%s", ways[i][way[i + 3]]);
}

/* Lines of one name in an outgoing head, as they are but for the case of the name. */
static void
lines_of(const struct buf *head, struct str name, struct buf *out)
{
	struct str rest = buf_str(head), line, tail;
	while (rest.n) {
		str_cut(rest, '\n', &line, &tail);
		if (line.n > name.n && line.p[name.n] == ':' &&
		    strncasecmp(line.p, name.p, name.n) == 0)
			buf_add_str(out, str_from(line, name.n));
		rest = tail;
	}
}

static bool
same_lines(const struct trip *a, const struct trip *b, struct str names)
{
	struct str name;
	bool same = true;
	while (list_next(&names, &name)) {
		struct buf x = {0}, y = {0};
		lines_of(&a->fields, name, &x);
		lines_of(&b->fields, name, &y);
		same = same && str_eq(buf_str(&x), buf_str(&y));
		buf_fini(&x);
		buf_fini(&y);
	}
	return same;
}

/* With all names in Vary nothing may differ but what is on the list. */
static unsigned
lines_besides(const struct buf *head, struct str listed)
{
	struct str rest = buf_str(head), line, tail;
	unsigned n = 0;
	while (rest.n) {
		str_cut(rest, '\n', &line, &tail);
		n += !(line.n > listed.n && strncasecmp(line.p, listed.p, listed.n) == 0);
		rest = tail;
	}
	return n;
}

static void
random_names(struct dice *d, char *out)
{
	char all[] = ALL_NAMES;
	*out = '\0';
	for (char *p = strtok(all, ","); p; p = strtok(NULL, ","))
		if (roll(d, 3) == 0)
			strcat(strcat(out, *out ? "," : ""), p);
}

static const struct key_rules *const rule_sets[] = {&as_is,    &by_header, &by_cookie,
						    &ignoring, &by_own,	   &by_stars};

enum { WAYS = COUNT(ways) + 3 };

/* How request lines are written: each of the ways anew by a chance of one in `one_in`. */
static void
roll_ways(struct dice *d, unsigned *way, unsigned one_in)
{
	for (int i = 0; i < WAYS; i++)
		if (roll(d, one_in) == 0)
			way[i] = roll(d, i == 0	  ? COUNT(paths)
					 : i == 1 ? COUNT(hosts)
					 : i == 2 ? 2
						  : 10);
}

struct met { /* what happened, so that a test that tests nothing is found out */
	unsigned same_key, other_key, same_variant, other_variant, unshared;
};

/* Of two requests with one key, whose answers may be shared. */
static void
compare(const struct trip *a, const struct trip *b, const char *names, struct met *met)
{
	const struct key_rules *rules = a->out.rules;
	struct str ka = buf_str(&a->key), kb = buf_str(&b->key);
	struct buf va = {0}, vb = {0};
	outgoing_variant(&a->out, ka, str_of(names), &va);
	outgoing_variant(&b->out, kb, str_of(names), &vb);
	bool same = str_eq(buf_str(&va), buf_str(&vb));
	met->same_variant += same;
	met->other_variant += !same;
	ck_assert(str_eq(outgoing_target(&a->out, ka, &none), outgoing_target(&b->out, kb, &none)));
	ck_assert(same_lines(a, b, STR(IN_KEY)));
	for (unsigned i = 0; i < rules->header_count; i++)
		ck_assert(same_lines(a, b, rules->headers[i]));
	ck_assert_msg(same_lines(a, b, str_of(names)) == same, "Vary: %s\n%.*s\n%.*s", names,
		      STR_ARG(buf_str(&a->fields)), STR_ARG(buf_str(&b->fields)));
	if (same && strcmp(names, ALL_NAMES) == 0)
		ck_assert_uint_eq(lines_besides(&a->fields, STR(LISTED)),
				  lines_besides(&b->fields, STR(LISTED)));
	buf_fini(&va);
	buf_fini(&vb);
}

/* Two requests that differ in some ways, for two kinds of fetch: whatever the key and the variant
 * do not tell apart, the origin cannot tell apart either; and where it sees the same, they are the
 * same. What an answer says it depends on and no key holds is not shared. */
START_TEST(keyed_is_sent)
{
	static const unsigned fetches[] = {SHARED, SHARED, AS_IT_CAME, VALIDATES, RESUMES};
	struct met met = {0};
	struct dice d = {(uint64_t)_i + 1};
	for (int round = 0; round < 3000; round++) {
		unsigned way[WAYS] = {0}, how = roll(&d, 2) ? TRUSTED : SHARED;
		const struct key_rules *rules = rule_sets[roll(&d, COUNT(rule_sets))];
		char text[1024], names[512];
		struct trip a, b;
		how |= roll(&d, 4) ? 0 : OBEY;
		roll_ways(&d, way, 1);
		write_request(way, text, sizeof text);
		ck_assert_msg(trip_begin(&a, text, rules, how | fetches[roll(&d, 5)]), "%s", text);
		roll_ways(&d, way, 6);
		write_request(way, text, sizeof text);
		ck_assert(trip_begin(&b, text, rules, how | fetches[roll(&d, 5)]));
		random_names(&d, names);
		if (roll(&d, 3) == 0)
			strcpy(names, ALL_NAMES);
		bool key_is_same = a.sure && b.sure && str_eq(buf_str(&a.key), buf_str(&b.key));
		bool shared = !outgoing_varies_on(str_of(names), a.asked | b.asked);
		met.same_key += key_is_same;
		met.other_key += !key_is_same;
		met.unshared += key_is_same && !shared;
		if (key_is_same && shared)
			compare(&a, &b, names, &met);
		trip_end(&a);
		trip_end(&b);
	}
	/* all of this happened */
	ck_assert_uint_gt(met.same_key, 300);
	ck_assert_uint_gt(met.other_key, 300);
	ck_assert_uint_gt(met.same_variant, 50);
	ck_assert_uint_gt(met.other_variant, 50);
	ck_assert_uint_gt(met.unshared, 100);
}
END_TEST

UNIT("outgoing", LOOP(whose_field, owns), LOOP(head_row, heads),
     TEST(the_cache_asks_its_own_questions), TEST(an_IPv6_client_is_quoted), LOOP(key_row, keys),
     LOOP(own_via_is_a_loop, vias), LOOP(a_signed_request_keeps_its_form, forms),
     TEST(host_and_target_are_the_keys), TEST(a_rewritten_target_keeps_the_query),
     LOOP(variant_row, variants), TEST(which_variants_need_the_client),
     TEST(lines_of_one_name_are_joined), TIMES(keyed_is_sent, 3))
