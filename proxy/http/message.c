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
	[METHOD_OTHER_SAFE]       = {STR_INIT(""), true,  true},
	[METHOD_OTHER_IDEMPOTENT] = {STR_INIT(""), false, true},
	/* clang-format on */
};

/* Of the registry of methods (iana.org/assignments/http-methods), but for those above; LOCK is neither. */
static const struct str other_safe[] = {STR_INIT("PROPFIND"), STR_INIT("QUERY"), STR_INIT("REPORT"),
					STR_INIT("SEARCH")};
static const struct str other_idempotent[] = {
	STR_INIT("ACL"),
	STR_INIT("BASELINE-CONTROL"),
	STR_INIT("BIND"),
	STR_INIT("CHECKIN"),
	STR_INIT("CHECKOUT"),
	STR_INIT("COPY"),
	STR_INIT("LABEL"),
	STR_INIT("LINK"),
	STR_INIT("MERGE"),
	STR_INIT("MKACTIVITY"),
	STR_INIT("MKCALENDAR"),
	STR_INIT("MKCOL"),
	STR_INIT("MKREDIRECTREF"),
	STR_INIT("MKWORKSPACE"),
	STR_INIT("MOVE"),
	STR_INIT("ORDERPATCH"),
	STR_INIT("PROPPATCH"),
	STR_INIT("REBIND"),
	STR_INIT("UNBIND"),
	STR_INIT("UNCHECKOUT"),
	STR_INIT("UNLINK"),
	STR_INIT("UNLOCK"),
	STR_INIT("UPDATE"),
	STR_INIT("UPDATEREDIRECTREF"),
	STR_INIT("VERSION-CONTROL"),
};

const struct str method_allow = STR_INIT("GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS");

static bool
is_one_of(struct str name, const struct str *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(name, v[i]))
			return true;
	return false;
}

enum method
method_of(struct str name)
{
	for (unsigned m = METHOD_GET; m <= METHOD_PATCH; m++)
		if (str_eq(name, methods[m].name)) /* case-sensitive, 9.1 */
			return (enum method)m;
	if (is_one_of(name, other_safe, sizeof other_safe / sizeof *other_safe))
		return METHOD_OTHER_SAFE;
	return is_one_of(name, other_idempotent, sizeof other_idempotent / sizeof *other_idempotent)
		       ? METHOD_OTHER_IDEMPOTENT
		       : METHOD_OTHER;
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
