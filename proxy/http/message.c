/* message.c - what is true of methods. */
#include "proxy/http/message.h"

static const struct {
	struct str name;
	bool safe, idempotent; /* RFC 9110 9.2.1, 9.2.2 */
} methods[] = {
	/* clang-format off */
	[METHOD_OTHER]   = {STR_INIT(""),        false, false},
	[METHOD_GET]     = {STR_INIT("GET"),     true,  true},
	[METHOD_HEAD]    = {STR_INIT("HEAD"),    true,  true},
	[METHOD_POST]    = {STR_INIT("POST"),    false, false},
	[METHOD_PUT]     = {STR_INIT("PUT"),     false, true},
	[METHOD_DELETE]  = {STR_INIT("DELETE"),  false, true},
	[METHOD_OPTIONS] = {STR_INIT("OPTIONS"), true,  true},
	[METHOD_TRACE]   = {STR_INIT("TRACE"),   true,  true},
	[METHOD_CONNECT] = {STR_INIT("CONNECT"), false, false},
	[METHOD_PATCH]   = {STR_INIT("PATCH"),   false, false},
	/* clang-format on */
};

const struct str method_allow = STR_INIT("GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS");

enum method
method_of(struct str name)
{
	for (unsigned m = METHOD_GET; m < sizeof methods / sizeof methods[0]; m++)
		if (str_eq(name, methods[m].name)) /* case-sensitive, 9.1 */
			return (enum method)m;
	return METHOD_OTHER;
}

bool
method_is_safe(enum method m)
{
	return methods[m].safe;
}

bool
method_is_idempotent(enum method m)
{
	return methods[m].idempotent;
}
