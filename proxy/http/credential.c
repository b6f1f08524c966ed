/* credential.c - words that names of credentials have, wherever they are in it. */
#include "proxy/http/credential.h"

#include "proxy/http/syntax.h"

#include <strings.h>

static const struct str words[] = {
	STR_INIT("auth"),    STR_INIT("token"), STR_INIT("key"),  STR_INIT("secret"),
	STR_INIT("session"), STR_INIT("sign"),	STR_INIT("csrf"), STR_INIT("xsrf"),
	STR_INIT("jwt"),     STR_INIT("cred"),	STR_INIT("pass"),
};

static bool
begins(struct str s, struct str word)
{
	return s.n >= word.n && strncasecmp(s.p, word.p, word.n) == 0;
}

bool
credential_is_name(struct str name)
{
	if (begins(name, STR("x-amz-")))
		return true;
	for (size_t at = 0; at < name.n; at++)
		for (size_t i = 0; i < sizeof words / sizeof *words; i++)
			if (byte_lower(name.p[at]) == words[i].p[0] &&
			    begins(str_from(name, at), words[i]))
				return true;
	return false;
}
