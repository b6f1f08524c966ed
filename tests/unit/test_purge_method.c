/* test_purge_method.c - what a PURGE asks for, as it is written by people and plugins.
 * rooms: serve cache coding http base filter
 */
#include "proxy/serve/rules/purge_method.h"

#include "tests/kit/heads.h"

#define PATTERN "X-Magento-Tags-Pattern: "

static const struct {
	const char *says, *target, *fields, *want; /* NULL: it is refused */
} forms[] = {
	/* clang-format off */
	{"the URL",                                "/a?b", "", "url"},
	{"softly",                                 "/a", "Soft-Purge: 1", "soft url"},
	{"by another's word",                      "/a", "Fastly-Soft-Purge: true", "soft url"},
	{"not softly",                             "/a", "Soft-Purge: 0", "url"},
	{"a word that is neither",                 "/a", "Soft-Purge: perhaps", NULL},
	{"what begins like it",                    "/blog/*", "", "prefix /blog/"},
	{"in the middle of a name",                "/blog/a*", "Soft-Purge: 1", "soft prefix /blog/a"},
	{"the host",                               "/*", "", "prefix /"},
	{"as a regular expression",                "/.*", "", "prefix /"},
	{"which says so",                          "/.*", "X-Purge-Method: regex", "prefix /"},
	{"any other regular expression",           "/blog/.*", "X-Purge-Method: regex", NULL},
	{"or one that looks like it",              "/blog/.*", "", NULL},
	{"no pattern, but said to be one",         "/blog/", "X-Purge-Method: regex", NULL},
	{"a star that is a letter",                "/a*b", "X-Purge-Method: exact", "url"},
	{"a plugin's word for it",                 "/a", "X-Purge-Method: default", "url"},
	{"a method that nobody knows",             "/a", "X-Purge-Method: all", NULL},
	{"a star elsewhere",                       "/a*b", "", NULL},
	{"two of them",                            "/a/*/*", "", NULL},
	{"one in the query",                       "/a?b=*", "", NULL},
	{"a tag",                                  "/", "Surrogate-Key: a", "tags a"},
	{"several",                                "/x/*", "Surrogate-Key: a  b\nsurrogate-key: c,d", "tags a b c d"},
	{"an empty list",                          "/", "Surrogate-Key: ,", NULL},
	{"tags that are not read",                 "/", "X-Cache-Tags: a", NULL},
	{"a plugin's field",                       "/", "xkey-purge: a b", "tags a b"},
	{"softly, by its name",                    "/", "xkey-softpurge: a", "soft tags a"},
	{"one whose tags are not read",            "/", "Purge-Cache-Tags: a", NULL},
	{"a pattern of whole tags",                "/", PATTERN "((^|,)cat_1(,|$))", "tags cat_1"},
	{"of several",                             "/", PATTERN "((^|,)cat_1(,|$))|((^|,)p-2(,|$))", "tags cat_1 p-2"},
	{"a pattern of something else",            "/", PATTERN "((^|,)cat_1(,|$))|x", NULL},
	{"of parts of tags",                       "/", PATTERN "cat_.*", NULL},
	{"of all",                                 "/", PATTERN ".*", NULL},
	{"cut short",                              "/", PATTERN "((^|,)cat_1(,|$", NULL},
	{"an empty one",                           "/", PATTERN "((^|,)(,|$))", NULL},
	{"a field that another cache would read",  "/a", "X-LiteSpeed-Purge: tag=a", NULL},
	{"another one",                            "/a", "X-Ban-Url: /a", NULL},
	{"fields that have nothing to do with it", "/a", "User-Agent: x\nAccept: */*\nX-Pool: a\nETag: b", "url"},
	/* clang-format on */
};

START_TEST(form)
{
	static const struct str read[] = {STR_INIT("surrogate-key"), STR_INIT("xkey"),
					  STR_INIT("x-magento-tags")};
	static const struct h1_limits limits = {4096, 4096, 32};
	struct tag_settings tags = {.names = read, .names_n = 3};
	struct head_text text;
	struct request rq = {.fields = {.v = text.v, .cap = 32}};
	struct purge_request asked;
	struct buf got = {0};
	struct str tag;
	char head[512];
	tags_prepare(&tags);
	snprintf(head, sizeof head, "PURGE %s HTTP/1.1\nHost: h%s%s", forms[_i].target,
		 forms[_i].fields[0] ? "\n" : "", forms[_i].fields);
	ck_assert(!h1_parse_request(head_text_set(&text, head), &limits, &rq));
	const char *no = purge_method_read(&rq, &tags, &asked);
	ck_assert_msg(!no == (forms[_i].want != NULL), "%s: %s", forms[_i].says, no ? no : "done");
	if (no) {
		ck_assert(strchr(no, '\n') == no + strlen(no) - 1);
		return;
	}
	buf_add_str(&got, asked.soft ? STR("soft ") : STR(""));
	if (asked.kind == FORGET_URL)
		buf_add_lit(&got, "url");
	if (asked.kind == FORGET_PREFIX)
		buf_printf(&got, "prefix %.*s", STR_ARG(asked.prefix));
	if (asked.kind == FORGET_TAG)
		buf_add_lit(&got, "tags");
	while (asked.kind == FORGET_TAG && purge_method_next_tag(&rq, &tags, &asked, &tag))
		buf_printf(&got, " %.*s", STR_ARG(tag));
	ck_assert_msg(str_eq(buf_str(&got), str_of(forms[_i].want)), "%s: %.*s", forms[_i].says,
		      STR_ARG(buf_str(&got)));
	buf_fini(&got);
}
END_TEST

UNIT("purge_method", LOOP(form, forms))
