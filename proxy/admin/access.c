/* access.c - by name, by page, by token. */
#include "proxy/admin/access.h"

#include "proxy/base/address.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A name that a stranger could register and point here. Addresses and names without a dot
 * (localhost, a container's name) are none. */
static bool
is_foreign_name(const struct access_rules *rules, const char *host)
{
	char with_port[ADDRESS_TEXT];
	struct address a;
	for (unsigned i = 0; i < rules->host_count; i++)
		if (strcasecmp(rules->hosts[i], host) == 0)
			return false;
	snprintf(with_port, sizeof(with_port), "%s:0", host);
	return strchr(host, '.') && address_parse(with_port, &a) < 0;
}

static bool
is_from_own_page(const struct access_request *r)
{
	const char *scheme_end = strstr(r->origin, "://");
	return scheme_end && r->host_port && strcasecmp(scheme_end + 3, r->host_port) == 0;
}

/* In a time that does not tell how much of it is right. */
static bool
is_token(const char *authorization, const char *token)
{
	static const char scheme[] = "Bearer ";
	if (!authorization || strncasecmp(authorization, scheme, sizeof scheme - 1) != 0)
		return false;
	const char *said = authorization + sizeof scheme - 1;
	size_t n = strlen(token), m = strlen(said);
	unsigned char differs = n != m;
	for (size_t i = 0; i < m; i++)
		differs |= (unsigned char)(said[i] ^ token[n ? i % n : 0]);
	return !differs;
}

const char *
access_refusal(const struct access_rules *rules, const struct access_request *r)
{
	if (r->host && is_foreign_name(rules, r->host))
		return "ask by address, by localhost, or by a name that admin_hosts lists\n";
	if (r->origin && !is_from_own_page(r))
		return "a page of another site may not send this request\n";
	if (rules->guarded || (rules->loopback && !(rules->token && r->changes)))
		return NULL;
	if (!rules->token)
		return "others can reach this address: set admin_token_file, or let admin listen on "
		       "127.0.0.1\n";
	if (!is_token(r->authorization, rules->token))
		return "send \"Authorization: Bearer\" with the admin_token (twice: in "
		       "TWICE_ADMIN_TOKEN)\n";
	return NULL;
}
