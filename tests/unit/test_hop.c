/* rooms: fleet origin http base
 *
 * test_hop.c - the field that siblings send each other, there and back, and what is none. */
#include "proxy/fleet/hop.h"
#include "tests/kit/unit.h"

#include <stdio.h>

static struct secret
secret(void)
{
	struct secret s;
	ck_assert_int_eq(secret_make(&s, STR("0123456789abcdef0123456789abcdef")), 0);
	return s;
}

#define MAC "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ME  "from=\"00000000000000ff\""

/* A field reads as "from at copy verdict state tags covered" or "none". */
static const struct {
	const char *says, *field, *reads;
} fields[] = {
	/* clang-format off */
	{"a request",                       "1;" ME ";at=9", "ff 9 |||||"},
	{"an answer",                       "1;" ME ";at=9;d=disk;v=seen-current;t=:AAECAw==:", "ff 9 |disk|seen-current||AAECAw==|"},
	{"one that is leaving",             "1;" ME ";at=9;s=leaving", "ff 9 |||leaving||"},
	{"signed",                          "1;" ME ";at=9;mac=\"" MAC "\"", "ff 9 |||||1;" ME ";at=9"},
	{"a newer one says more",           "1;" ME ";zone=\"x\";at=9;seen=:AA==:;y", "ff 9 |||||"},
	{"without a time",                  "1;" ME, "ff 0 |||||"},
	{"another form",                    "2;" ME ";at=9", "none"},
	{"no number",                       "a;" ME ";at=9", "none"},
	{"from nobody",                     "1;at=9", "none"},
	{"from a short id",                 "1;from=\"ff\"", "none"},
	{"from a token",                    "1;from=a0000000000000ff", "none"},
	{"a time that is none",             "1;" ME ";at=x", "none"},
	{"a time before 1970",              "1;" ME ";at=-1", "none"},
	{"a copy that is a string",         "1;" ME ";d=\"disk\"", "none"},
	{"tags that are a token",           "1;" ME ";t=abc", "none"},
	{"a short mac",                     "1;" ME ";mac=\"0123\"", "none"},
	{"something behind the mac",        "1;" ME ";mac=\"" MAC "\";at=9", "none"},
	{"two lines of a field, joined",    "1;" ME ", 1;" ME, "none"},
	{"nothing",                         "", "none"},
	{"of a client",                     "please", "none"},
	{"too many parameters", "1;" ME ";a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a", "none"},
	/* clang-format on */
};

START_TEST(field)
{
	struct hop h;
	char reads[512] = "none";
	if (hop_parse(str_of(fields[_i].field), &h) == 0)
		snprintf(reads, sizeof reads, "%llx %lld |%.*s|%.*s|%.*s|%.*s|%.*s",
			 (unsigned long long)h.from, (long long)h.at_s, STR_ARG(h.copy),
			 STR_ARG(h.verdict), STR_ARG(h.state), STR_ARG(h.tags), STR_ARG(h.covered));
	ck_assert_msg(strcmp(reads, fields[_i].reads) == 0, "%s: %s", fields[_i].says, reads);
}
END_TEST

/* The client of a request reads as "for scheme http ask keep", or "none". */
static const struct {
	const char *says, *field, *reads;
} clients[] = {
	/* clang-format off */
	{"nothing", "", "||0|0|1"},
	{"a client by HTTP/2", ";for=\"192.0.2.1\";http=2;scheme=https", "192.0.2.1|https|2|0|1"},
	{"one of IPv6 by HTTP/1.0", ";for=\"2001:db8::1\";http=0;scheme=http", "2001:db8::1|http|0|0|1"},
	{"a question", ";for=\"unix\";ask=?1", "unix||0|1|1"},
	{"no question", ";ask=?0", "||0|0|1"},
	{"an answer of which no copy is kept", ";keep=?0", "||0|0|0"},
	{"a client that is a token", ";for=a", "none"},
	{"a client without a name", ";for=\"\"", "none"},
	{"a client with a mark in it", ";for=\"a\\\"b\"", "none"},
	{"a version that there is not", ";http=3", "none"},
	{"a version before the first", ";http=-1", "none"},
	{"a scheme that is a string", ";scheme=\"http\"", "none"},
	{"a question that is a number", ";ask=1", "none"},
	/* clang-format on */
};

START_TEST(client)
{
	struct hop h, again;
	struct buf b = {0};
	char text[256], reads[256] = "none";
	snprintf(text, sizeof text, "1;" ME ";at=9%s", clients[_i].field);
	if (hop_parse(str_of(text), &h) == 0) {
		snprintf(reads, sizeof reads, "%.*s|%.*s|%d|%d|%d", STR_ARG(h.client),
			 STR_ARG(h.scheme), h.http, h.ask, !h.no_copy);
		hop_format(&h, NULL, NULL, &b);
		ck_assert_int_eq(hop_parse(buf_str(&b), &again), 0);
		ck_assert(str_eq(again.client, h.client) && str_eq(again.scheme, h.scheme) &&
			  again.http == h.http && again.ask == h.ask && again.no_copy == h.no_copy);
	}
	ck_assert_msg(strcmp(reads, clients[_i].reads) == 0, "%s: %s", clients[_i].says, reads);
	buf_fini(&b);
}
END_TEST

START_TEST(tags_go_there_and_back)
{
	static char tags[HOP_TAGS_MOST + 4];
	for (size_t n = 0; n <= sizeof tags; n += 4) {
		struct buf text = {0}, back = {0};
		tags[n % sizeof tags] = (char)n;
		hop_add_tags((struct str){tags, n}, &text);
		hop_read_tags(buf_str(&text), &back);
		ck_assert_uint_eq(back.n, n > HOP_TAGS_MOST ? 0 : n);
		ck_assert(back.n == 0 || memcmp(back.p, tags, back.n) == 0);
		buf_fini(&text);
		buf_fini(&back);
	}
	struct buf none = {0};
	hop_read_tags(STR("AAA="), &none); /* two bytes are no tag */
	hop_read_tags(STR("AAAAA"), &none);
	ck_assert_uint_eq(none.n, 0);
}
END_TEST

START_TEST(a_field_is_bounded)
{
	static char text[HOP_FIELD_MOST + 100];
	struct hop h;
	int n = snprintf(text, sizeof text, "1;" ME ";t=:");
	memset(text + n, 'A', sizeof text - (size_t)n);
	text[HOP_FIELD_MOST - 1] = ':';
	ck_assert_int_eq(hop_parse((struct str){text, HOP_FIELD_MOST}, &h), 0);
	text[HOP_FIELD_MOST - 1] = 'A';
	text[HOP_FIELD_MOST] = ':';
	ck_assert_int_eq(hop_parse((struct str){text, HOP_FIELD_MOST + 1}, &h), -1);
}
END_TEST

/* Signed at second 1000 by node 255 for node 7: GET /x. */
static const struct {
	const char *says;
	uint64_t to;
	const char *method, *target, *asked;
	int64_t now_s;
	bool holds;
} readers[] = {
	{"as it was meant", 7, "GET", "/x", "", 1000, true},
	{"a clock that is ahead", 7, "GET", "/x", "", 1060, true},
	{"a clock that is behind", 7, "GET", "/x", "", 940, true},
	{"said again later", 7, "GET", "/x", "", 1061, false},
	{"from the future", 7, "GET", "/x", "", 939, false},
	{"shown to another node", 8, "GET", "/x", "", 1000, false},
	{"for another method", 7, "PUT", "/x", "", 1000, false},
	{"for another target", 7, "GET", "/y", "", 1000, false},
	{"taken for an answer", 7, "GET", "/x", MAC, 1000, false},
};

START_TEST(reader)
{
	struct secret s = secret();
	struct hop_subject said = {7, STR("GET"), STR("/x"), STR(""), STR("")},
			   read = {readers[_i].to, str_of(readers[_i].method),
				   str_of(readers[_i].target), str_of(readers[_i].asked), STR("")};
	struct hop h = {.from = 255, .at_s = 1000, .copy = STR("disk"), .tags = STR("AAAA")};
	struct buf b = {0};
	hop_format(&h, &s, &said, &b);
	ck_assert_int_eq(hop_parse(buf_str(&b), &h), 0);
	ck_assert(h.from == 255 && str_eq(h.copy, STR("disk")) && str_eq(h.tags, STR("AAAA")));
	ck_assert_msg(hop_is_signed(&h, &s, &read, readers[_i].now_s) == readers[_i].holds, "%s",
		      readers[_i].says);
	buf_fini(&b);
}
END_TEST

START_TEST(an_answer_is_bound_to_its_request_and_its_body)
{
	struct secret s = secret();
	struct hop_subject about = {7, STR("GET"), STR("/x"), STR(MAC), STR("body")}, other = about;
	struct hop h = {.from = 255, .at_s = 1000, .state = STR("leaving")};
	struct buf b = {0};
	hop_format(&h, &s, &about, &b);
	ck_assert_int_eq(hop_parse(buf_str(&b), &h), 0);
	ck_assert(hop_is_signed(&h, &s, &about, 1000));
	other.asked = STR("another");
	ck_assert(!hop_is_signed(&h, &s, &other, 1000));
	other = about;
	other.content = STR("another body");
	ck_assert(!hop_is_signed(&h, &s, &other, 1000));
	buf_fini(&b);
}
END_TEST

START_TEST(one_without_a_signature_is_not_signed)
{
	struct secret s = secret();
	struct hop_subject about = {7, STR("GET"), STR("/x"), STR(""), STR("")};
	struct hop h = {.from = 255, .at_s = 1000};
	struct buf b = {0};
	hop_format(&h, NULL, NULL, &b);
	ck_assert_int_eq(hop_parse(buf_str(&b), &h), 0);
	ck_assert(!hop_is_signed(&h, &s, &about, 1000));
	buf_fini(&b);
}
END_TEST

UNIT("hop", LOOP(field, fields), LOOP(client, clients), TEST(tags_go_there_and_back),
     TEST(a_field_is_bounded), LOOP(reader, readers),
     TEST(an_answer_is_bound_to_its_request_and_its_body),
     TEST(one_without_a_signature_is_not_signed))
