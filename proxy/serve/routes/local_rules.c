/* local_rules.c - decisions of a route that ends requests here. */
#include "proxy/serve/routes/local_rules.h"

#include "config/routes.h"
#include "proxy/base/mem.h"
#include "proxy/base/template.h"
#include "proxy/http/forwarded.h"

#include <stdlib.h>
#include <strings.h>

/* The end of its name says what a file is. */
static struct str
type_of(const char *file)
{
	static const struct {
		const char *end;
		struct str type;
	} types[] = {
		{".html", STR_INIT("text/html")},
		{".htm", STR_INIT("text/html")},
		{".json", STR_INIT("application/json")},
		{".xml", STR_INIT("application/xml")},
		{".js", STR_INIT("text/javascript")},
		{".css", STR_INIT("text/css")},
		{".svg", STR_INIT("image/svg+xml")},
		{".png", STR_INIT("image/png")},
		{".ico", STR_INIT("image/vnd.microsoft.icon")},
	};
	const char *dot = file ? strrchr(file, '.') : NULL;
	for (size_t i = 0; dot && i < sizeof types / sizeof types[0]; i++)
		if (strcasecmp(dot, types[i].end) == 0)
			return types[i].type;
	return STR("text/plain");
}

/* Without a charset clients guess one for what is no ASCII. */
static struct str
type_of_text(struct str body)
{
	for (size_t i = 0; i < body.n; i++)
		if ((unsigned char)body.p[i] > 0x7e)
			return STR("text/plain; charset=utf-8");
	return STR("text/plain");
}

struct local_rules *
local_rules_create(const struct config_route *c)
{
	const struct config_clients *who = &c->clients;
	if (!who->allow_count && !who->deny_count && !c->redirect.to && !c->answer.status)
		return NULL;
	struct local_rules *r = NEW(struct local_rules);
	r->allow = network_list(who->allow, who->allow_count, &r->allow_n);
	r->deny = network_list(who->deny, who->deny_count, &r->deny_n);
	if (c->redirect.to) {
		r->to = str_of(c->redirect.to);
		r->to_status = atoi(c->redirect.status); /* a choice of the schema */
	}
	r->status = (int)c->answer.status;
	r->body = c->answer.body ? str_of(c->answer.body) : STR("");
	r->type = c->answer.content_type ? str_of(c->answer.content_type)
		  : c->answer.file	 ? type_of(c->answer.file)
					 : type_of_text(r->body);
	r->retry_after_s = c->answer.retry_after_s;
	return r;
}

void
local_rules_destroy(struct local_rules **rp)
{
	struct local_rules *r = *rp;
	*rp = NULL;
	if (!r)
		return;
	free(r->allow);
	free(r->deny);
	free(r);
}

bool
local_rules_ask_client(const struct local_rules *r)
{
	return r->allow_n || r->deny_n;
}

bool
local_rules_deny(const struct local_rules *r, struct str client)
{
	if (forwarded_is_unknown(client))
		return true;
	if (network_any_holds(r->allow, r->allow_n, client))
		return false;
	if (r->deny_n)
		return network_any_holds(r->deny, r->deny_n, client);
	return r->allow_n > 0;
}

/* ---- where to ------------------------------------------------------------------------------- */

/* RFC 3986 2; brackets too, which stand in the hosts of IPv6. */
static bool
is_of_uri(char c)
{
	static const char signs[] = "-._~:/?[]@!$&'()*+,;=%";
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr(signs, c));
}

static void
add_encoded(struct str s, struct buf *out)
{
	for (size_t i = 0; i < s.n; i++)
		if (is_of_uri(s.p[i]))
			buf_add(out, &s.p[i], 1);
		else
			buf_printf(out, "%%%02X", (unsigned char)s.p[i]);
}

void
local_rules_add_location(const struct local_rules *r, const struct local_values *v, struct buf *out)
{
	struct str rest = r->to, text, path = str_before(v->path_query, '?');
	enum template_piece p;
	while ((p = template_next(&rest, &text)) != TEMPLATE_END)
		if (p == TEMPLATE_TEXT) /* the operator's: a fragment may be meant */
			buf_add_str(out, text);
		else
			add_encoded(p == TEMPLATE_HOST	   ? v->host
				    : p == TEMPLATE_SCHEME ? v->scheme
				    : p == TEMPLATE_PATH   ? path
							   : str_from(v->path_query, path.n),
				    out);
}

int
local_rules_redirect_status(const struct local_rules *r, bool reads)
{
	if (reads)
		return r->to_status;
	return r->to_status == 301 ? 308 : r->to_status == 302 ? 307 : r->to_status;
}
