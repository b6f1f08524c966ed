/* rooms: serve coding http base
 * test_error_page.c - what went wrong, in the form that the client likes.
 */
#include "proxy/serve/rules/error_page.h"
#include "tests/kit/unit.h"

#include <jansson.h>

static const struct {
	const char *says, *accept, *type;
} forms[] = {
	/* clang-format off */
	{"nothing said",            "",                                      "text/plain"},
	{"curl",                    "*/*",                                   "text/plain"},
	{"a browser",               "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", "text/html; charset=utf-8"},
	{"a browser's image",       "image/avif,image/webp,*/*;q=0.8",       "text/plain"},
	{"a program",               "application/json",                      "application/json"},
	{"axios",                   "application/json, text/plain, */*",     "application/json"},
	{"RFC 9457",                "application/problem+json",              "application/problem+json"},
	{"the more exact form",     "application/*, application/json;q=0.1", "application/problem+json"},
	{"none of these",           "image/png",                             "text/plain"},
	{"nothing but HTML is fine","text/*;q=0, text/html",                 "text/html; charset=utf-8"},
	{"no sense",                "text/html;q=7, ;;,\"",                  "text/plain"},
	/* clang-format on */
};

static const char *
body_of(const struct error_page *p, const char *accept, struct str *type)
{
	static char z[2048];
	struct buf out = {0};
	*type = error_page_add(p, str_of(accept), &out);
	ck_assert_uint_lt(out.n, sizeof z);
	memcpy(z, out.p, out.n);
	z[out.n] = '\0';
	buf_fini(&out);
	return z;
}

static const struct error_page dead = {
	.status = 502, .word = "no-connection", .id = STR_INIT("4f-a")};

START_TEST(form)
{
	struct str type;
	const char *body = body_of(&dead, forms[_i].accept, &type);
	ck_assert_msg(str_eq(type, str_of(forms[_i].type)), "%s: %.*s", forms[_i].says,
		      STR_ARG(type));
	ck_assert_msg(strstr(body, "502") && strstr(body, "no-connection") && strstr(body, "4f-a"),
		      "%s: %s", forms[_i].says, body);
}
END_TEST

/* The list of hints has one for each status that faults and errors have. */
START_TEST(each_status_has_a_title)
{
	static const int statuses[] = {400, 403, 405, 408, 413, 414, 417, 421,
				       431, 501, 502, 503, 504, 505, 508};
	struct str type;
	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
		struct error_page p = {.status = statuses[i], .word = "w", .id = STR("i")};
		ck_assert_ptr_null(strstr(body_of(&p, "", &type), "Error"));
	}
	ck_assert_str_eq(body_of(&(struct error_page){.status = 599, .word = "w", .id = STR("i")},
				 "", &type),
			 "599 Error: w\nrequest id: i\n");
}
END_TEST

START_TEST(json_reads_back)
{
	struct str type;
	struct error_page p = dead;
	p.rule = "RFC 9110 2.5: a rule";
	json_t *top = json_loads(body_of(&p, "application/problem+json", &type), 0, NULL);
	ck_assert_ptr_nonnull(top);
	ck_assert_int_eq(json_integer_value(json_object_get(top, "status")), 502);
	ck_assert_str_eq(json_string_value(json_object_get(top, "title")), "Bad Gateway");
	ck_assert_str_eq(json_string_value(json_object_get(top, "detail")), p.rule);
	ck_assert_str_eq(json_string_value(json_object_get(top, "reason")), "no-connection");
	ck_assert_str_eq(json_string_value(json_object_get(top, "request_id")), "4f-a");
	json_decref(top);
}
END_TEST

UNIT("error_page", LOOP(form, forms), TEST(each_status_has_a_title), TEST(json_reads_back))
