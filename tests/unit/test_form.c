/* rooms: http base
 *
 * test_form.c - which answers are kept in one form, in which form each client is sent them, and what the
 * head says then (RFC 9110 8.4, 8.8.3.3, 14.3). */
#include "proxy/http/form.h"
#include "tests/kit/unit.h"

enum {
	P = CODING_BIT(CODING_NONE),
	G = CODING_BIT(CODING_GZIP),
	B = CODING_BIT(CODING_BR),
	PACKED = TERMS_PACKED,
	LEFT = TERMS_LEFT_PLAIN
};
#define ONE(coding, asked)                                     \
	(TERMS_ONE_FORM | CODING_##coding << TERMS_CODING_AT | \
	 (CODING_BIT(CODING_##asked) >> 1) << TERMS_ASKED_AT)

static const struct {
	const char *says;
	unsigned flags;
	struct form_facts client;
	enum form want;
	bool own;
} choices[] = {
	/* clang-format off */
	{"without one form it goes as it is",        CODING_BR << TERMS_CODING_AT, {P, 0, false, false}, FORM_AS_STORED, true},
	{"who takes the origin's coding gets it",    ONE(BR, BR),             {P | B, B, false, false}, FORM_AS_STORED, true},
	{"and parts of it",                          ONE(BR, BR),             {P | B, B, true, false}, FORM_AS_STORED, true},
	{"also who says no-transform",               ONE(BR, BR),             {P | B, B, false, true}, FORM_AS_STORED, true},
	{"gzip does for who would be sent br",       ONE(GZIP, GZIP),         {P | G | B, B, false, false}, FORM_AS_STORED, true},
	{"who takes none gets it expanded",          ONE(BR, BR),             {P, 0, false, false}, FORM_EXPANDED, false},
	{"and no parts of that",                     ONE(BR, BR),             {P, 0, true, false}, FORM_EXPANDED, false},
	{"gzip alone, where br lies here",           ONE(BR, BR),             {P | G, G, false, false}, FORM_EXPANDED, false},
	{"no-transform forbids that",                ONE(BR, BR),             {P, 0, false, true}, FORM_NONE, false},
	{"plain bytes that are refused",             ONE(BR, BR),             {G, G, false, false}, FORM_NONE, false},
	{"plain bytes are for all",                  ONE(NONE, BR),           {P | G, G, false, false}, FORM_AS_STORED, true},
	{"with parts",                               ONE(NONE, BR),           {P | B, B, true, true}, FORM_AS_STORED, true},
	{"left plain: for who takes none",           ONE(NONE, NONE) | LEFT,  {P, 0, false, false}, FORM_AS_STORED, true},
	{"left plain: there is better for others",   ONE(NONE, NONE) | LEFT,  {P | B, B, false, false}, FORM_BETTER, true},
	{"left plain: signed requests have no class", ONE(NONE, NONE) | LEFT, {P | B, CODING_UNCLASSED, false, false}, FORM_AS_STORED, true},
	{"left plain, and plain bytes refused",      ONE(NONE, NONE) | LEFT,  {B, CODING_UNCLASSED, false, false}, FORM_BETTER, true},
	{"packed: who takes it gets it packed",      ONE(BR, BR) | PACKED,    {P | B, B, false, false}, FORM_AS_STORED, false},
	{"packed: parts are of the origin's bytes",  ONE(BR, BR) | PACKED,    {P | B, B, true, false}, FORM_EXPANDED, true},
	{"packed: who takes none gets the origin's", ONE(BR, BR) | PACKED,    {P, 0, false, false}, FORM_EXPANDED, true},
	{"packed: and parts of them",                ONE(BR, BR) | PACKED,    {P | G, G, true, false}, FORM_EXPANDED, true},
	{"packed: no-transform gets the origin's",   ONE(BR, BR) | PACKED,    {P, 0, false, true}, FORM_EXPANDED, true},
	{"packed: also who would take it packed",    ONE(BR, BR) | PACKED,    {P | B, B, false, true}, FORM_EXPANDED, true},
	/* clang-format on */
};

START_TEST(choice)
{
	struct terms t = {.flags = choices[_i].flags};
	enum form form = form_choose(&t, &choices[_i].client);
	ck_assert_msg(form == choices[_i].want, "%s: %d", choices[_i].says, form);
	if (form == FORM_AS_STORED || form == FORM_EXPANDED)
		ck_assert_msg(form_is_own(&t, form) == choices[_i].own, "%s: own",
			      choices[_i].says);
}
END_TEST

static const struct {
	const char *says, *coding, *control;
	int status;
	uint64_t bytes;
	bool want;
} answers[] = {
	{"plain", NULL, NULL, 200, 10, true},
	{"plain, and of any size", "identity", NULL, 200, 1 << 30, true},
	{"plain needs no leave", NULL, "no-transform", 404, 10, true},
	{"gzip", "gzip", "max-age=5", 200, 10, true},
	{"of a length that nobody knows", "br", NULL, 200, UINT64_MAX, true},
	{"too much to expand", "br", NULL, 200, FORM_CODED_BYTES + 1, false},
	{"the most", "br", NULL, 200, FORM_CODED_BYTES, true},
	{"an error", "gzip", NULL, 404, 10, false},
	{"a coding that is not known", "compress", NULL, 200, 10, false},
	{"coded twice", "gzip, gzip", NULL, 200, 10, false},
	{"forbidden", "gzip", "max-age=5, No-Transform", 200, 10, false},
};

START_TEST(may_be_one)
{
	struct field v[8];
	struct response rs = {.status = answers[_i].status, .fields = {.v = v, .cap = 8}};
	if (answers[_i].coding)
		fields_add(&rs.fields, STR("Content-Encoding"), str_of(answers[_i].coding));
	if (answers[_i].control)
		fields_add(&rs.fields, STR("Cache-Control"), str_of(answers[_i].control));
	ck_assert_msg(form_may_be_one(&rs, answers[_i].bytes) == answers[_i].want, "%s",
		      answers[_i].says);
}
END_TEST

START_TEST(two_lines_are_two_codings)
{
	struct field v[8];
	struct response rs = {.status = 200, .fields = {.v = v, .cap = 8}};
	fields_add(&rs.fields, STR("Content-Encoding"), STR("gzip"));
	fields_add(&rs.fields, STR("Content-Encoding"), STR("gzip"));
	ck_assert(!form_may_be_one(&rs, 10));
}
END_TEST

START_TEST(terms_say_it)
{
	struct field v[8];
	struct response rs = {.status = 200, .fields = {.v = v, .cap = 8}};
	struct terms t = {.flags = TERMS_IMMUTABLE | TERMS_PACKED | TERMS_LEFT_PLAIN};
	fields_add(&rs.fields, STR("Content-Encoding"), STR("br"));
	form_is_one(&t, &rs, G, true);
	ck_assert_uint_eq(t.flags, (unsigned)(TERMS_IMMUTABLE | ONE(BR, GZIP)));
	ck_assert_int_eq(terms_coding(&t), CODING_BR);
	ck_assert_uint_eq(terms_asked(&t), (unsigned)G);
	rs.fields.n = 0;
	rs.fields.present = 0;
	form_is_one(&t, &rs, 0, false);
	ck_assert_uint_eq(t.flags, (unsigned)(TERMS_IMMUTABLE | ONE(NONE, NONE)));
	form_is_one(&t, &rs, 0, true);
	ck_assert_uint_eq(t.flags, (unsigned)(TERMS_IMMUTABLE | ONE(NONE, NONE) | LEFT));
	form_is_one(&t, &rs, CODING_UNCLASSED, true);
	ck_assert_uint_eq(t.flags,
			  (unsigned)(TERMS_IMMUTABLE | ONE(NONE, NONE) | TERMS_ASKED_FREELY));
	ck_assert_uint_eq(terms_asked(&t), CODING_UNCLASSED);
}
END_TEST

static const struct {
	const char *name;
	bool dropped;
} lines[] = {
	{"Content-Encoding", true},  {"ETag", true},
	{"Accept-Ranges", true},     {"Content-MD5", true},
	{"content-digest", true},    {"Digest", true},
	{"Repr-Digest", true},	     {"Vary", false},
	{"Content-Type", false},     {"Last-Modified", false},
	{"Content-Language", false},
};

START_TEST(lines_that_do_not_hold)
{
	struct terms t = {.flags = ONE(BR, BR)};
	struct field_line l = {.name = str_of(lines[_i].name),
			       .id = field_id_of(str_of(lines[_i].name))};
	ck_assert_msg(form_drops(&t, FORM_EXPANDED, &l) == lines[_i].dropped, "%s", lines[_i].name);
	ck_assert(!form_drops(&t, FORM_AS_STORED, &l));
	t.flags |= TERMS_PACKED;
	ck_assert(!form_drops(&t, FORM_EXPANDED, &l));
	ck_assert_msg(form_drops(&t, FORM_AS_STORED, &l) == lines[_i].dropped, "%s",
		      lines[_i].name);
}
END_TEST

UNIT("form", LOOP(choice, choices), LOOP(may_be_one, answers), TEST(two_lines_are_two_codings),
     TEST(terms_say_it), LOOP(lines_that_do_not_hold, lines))
