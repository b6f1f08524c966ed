/* rooms: http base
 *
 * test_message.c - what is true of methods (RFC 9110 9.2). */
#include "proxy/http/message.h"
#include "tests/kit/unit.h"

static const struct {
	const char *name;
	enum method method;
	bool safe, idempotent;
} known[] = {
	{"GET", METHOD_GET, true, true},
	{"HEAD", METHOD_HEAD, true, true},
	{"POST", METHOD_POST, false, false},
	{"PUT", METHOD_PUT, false, true},
	{"DELETE", METHOD_DELETE, false, true},
	{"OPTIONS", METHOD_OPTIONS, true, true},
	{"TRACE", METHOD_TRACE, true, true},
	{"CONNECT", METHOD_CONNECT, false, false},
	{"PATCH", METHOD_PATCH, false, false},
	{"M-SEARCH", METHOD_OTHER, false, false},
	{"PROPFIND", METHOD_OTHER_SAFE, true, true},
	{"SEARCH", METHOD_OTHER_SAFE, true, true},
	{"MKCOL", METHOD_OTHER_IDEMPOTENT, false, true},
	{"LOCK", METHOD_OTHER, false, false},
	{"get", METHOD_OTHER, false, false}, /* 9.1: case-sensitive */
	{"", METHOD_OTHER, false, false},
};

START_TEST(methods)
{
	ck_assert_int_eq(method_of(str_of(known[_i].name)), known[_i].method);
	ck_assert_int_eq(method_is_safe(known[_i].method), known[_i].safe);
	ck_assert_int_eq(method_is_idempotent(known[_i].method), known[_i].idempotent);
}
END_TEST

UNIT("message", LOOP(methods, known))
