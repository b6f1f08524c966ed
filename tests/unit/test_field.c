/* rooms: http base
 *
 * test_field.c - names are known, lists are read as lists, hop-by-hop fields are found. */
#include "proxy/http/field.h"
#include "tests/kit/unit.h"

#include <ctype.h>

static const struct str names[] = {
#define FIELD(id, name) [FIELD_##id] = STR_INIT(name),
#include "proxy/http/field_names.h"
#undef FIELD
};

START_TEST(every_row_of_field_names_is_found_in_any_case)
{
	for (int id = FIELD_OTHER + 1; id < FIELD_COUNT; id++) {
		char upper[64];
		struct str name = names[id];
		ck_assert_uint_lt(name.n, sizeof upper);
		for (size_t i = 0; i < name.n; i++)
			upper[i] = (char)toupper((unsigned char)name.p[i]);
		ck_assert_msg(field_id_of(name) == (enum field_id)id, "%.*s: not in field_id_of",
			      STR_ARG(name));
		ck_assert_int_eq((int)field_id_of((struct str){upper, name.n}), id);
	}
}
END_TEST

static const char *const strangers[] = {
	"", "x", "agE2", "hosts", "content-lengtH2", "x-forwarded-fox", "cache_control"};

START_TEST(other_names_are_other)
{
	ck_assert_int_eq(field_id_of(str_of(strangers[_i])), FIELD_OTHER);
}
END_TEST

START_TEST(lines_of_one_name_come_in_order)
{
	struct field v[3];
	struct fields f = {.v = v, .cap = 3};
	ck_assert(fields_add(&f, STR("Vary"), STR("a")));
	ck_assert(fields_add(&f, STR("X-Own"), STR("b")));
	ck_assert(fields_add(&f, STR("vary"), STR("c")));
	ck_assert(!fields_add(&f, STR("one"), STR("too many")));

	unsigned at = 0;
	ck_assert(str_eq(fields_next(&f, FIELD_VARY, &at)->value, STR("a")));
	ck_assert(str_eq(fields_next(&f, FIELD_VARY, &at)->value, STR("c")));
	ck_assert_ptr_null(fields_next(&f, FIELD_VARY, &at));
	at = 0;
	ck_assert(str_eq(fields_next_named(&f, STR("x-OWN"), &at)->value, STR("b")));
	ck_assert_ptr_null(fields_next_named(&f, STR("x-own"), &at));
	ck_assert_uint_eq(fields_count(&f, FIELD_VARY), 2);
	ck_assert_ptr_null(fields_get(&f, FIELD_AGE).p);
}
END_TEST

static const struct {
	const char *says, *connection, *name;
	bool hop;
} hops[] = {
	/* clang-format off */
	{"Connection itself stays here",                 "close",        "Connection",        true},
	{"so does what the list of 7.6.1 names",         "close",        "Keep-Alive",        true},
	{"trailers are announced per hop",               "close",        "Trailer",           true},
	{"credentials for us are not for the origin",    "close",        "Proxy-Authorization", true},
	{"an end-to-end field goes on",                  "close",        "X-Own",             false},
	{"what Connection lists stays here",             "close, x-OWN", "X-Own",             true},
	{"also behind empty members",                    ", ,\tx-own ,", "X-Own",             true},
	{"a prefix is another name",                     "x-ow",         "X-Own",             false},
	{"listing Host does not take it away",           "host",         "Host",              false},
	{"nor Cache-Control, which 7.6.1 forbids to list", "cache-control", "Cache-Control",  false},
	{"Age is ours to drop when listed",              "age",          "Age",               true},
	/* clang-format on */
};

START_TEST(hop_by_hop)
{
	struct field v[2];
	struct fields f = {.v = v, .cap = 2};
	fields_add(&f, STR("Connection"), str_of(hops[_i].connection));
	fields_add(&f, str_of(hops[_i].name), STR("v"));
	struct fields_listed listed;
	ck_assert(fields_read_listed(&f, &listed));
	bool hop = (fields_hop_by_hop >> v[1].id & 1) || fields_is_listed(&listed, 1);
	ck_assert_msg(hop == hops[_i].hop, "%s", hops[_i].says);
	ck_assert(!fields_is_listed(&listed, 0));
}
END_TEST

START_TEST(a_list_of_options_has_an_end)
{
	struct field v[3];
	struct fields f = {.v = v, .cap = 3};
	struct fields_listed listed;
	char text[256] = "";
	for (int i = 0; i < FIELDS_OPTIONS_MOST; i++)
		strcat(text, i ? ",a" : "a");
	fields_add(&f, STR("Connection"), str_of(text));
	ck_assert(fields_read_listed(&f, &listed));
	fields_add(&f, STR("Connection"), STR("close")); /* alone in its line: not counted */
	ck_assert(fields_read_listed(&f, &listed));
	fields_add(&f, STR("Connection"), STR("a"));
	ck_assert(!fields_read_listed(&f, &listed));
}
END_TEST

START_TEST(sorted_names_are_found_like_others)
{
	static const char *const parts[] = {"a", "B", "-", "c", "C", "ab", "Ab", "x-y"};
	struct field v[FIELDS_MAX];
	unsigned seed = (unsigned)_i;
	for (unsigned n = 0; n <= FIELDS_MAX; n = n < 20 ? n + 1 : n + 59) {
		struct fields f = {.v = v, .cap = FIELDS_MAX};
		struct fields_order order;
		static char made[FIELDS_MAX + 50][12];
		for (unsigned i = 0; i < n + 50; i++) {
			made[i][0] = '\0';
			for (int k = rand_r(&seed) % 3; k >= 0; k--)
				strcat(made[i], parts[(unsigned)rand_r(&seed) % COUNT(parts)]);
			if (i < n)
				ck_assert(fields_add(&f, str_of(made[i]), STR("")));
		}
		fields_sort(&f, &order);
		for (unsigned i = 0; i < n + 50; i++) {
			unsigned at = 0;
			bool there = fields_next_named(&f, str_of(made[i]), &at) != NULL;
			ck_assert_msg(fields_has_named(&f, &order, str_of(made[i])) == there,
				      "%s among %u", made[i], n);
		}
	}
}
END_TEST

UNIT("field", TEST(every_row_of_field_names_is_found_in_any_case),
     LOOP(other_names_are_other, strangers), TEST(lines_of_one_name_come_in_order),
     LOOP(hop_by_hop, hops), TEST(a_list_of_options_has_an_end),
     TIMES(sorted_names_are_found_like_others, 20))
