/* parse_text.c - lines of words: the common log format and its kin, Squid, HAProxy. */
#include "proxy/simulate/parse_inside.h"

/* The next word of *rest, which it is taken from; empty at the end. */
static struct str
take_word(struct str *rest)
{
	while (rest->n && (rest->p[0] == ' ' || rest->p[0] == '\t'))
		*rest = str_from(*rest, 1);
	struct str word = str_before(*rest, ' ');
	*rest = str_from(*rest, word.n);
	return word;
}

bool
parse_take_quoted(struct str *rest, struct str *out)
{
	for (size_t at = 0; at < rest->n; at++) {
		const char *quote = memchr(rest->p + at, '"', rest->n - at);
		if (!quote)
			return false;
		size_t end = (size_t)(quote - rest->p), slashes = 0;
		while (slashes < end && rest->p[end - 1 - slashes] == '\\')
			slashes++;
		if (slashes % 2 == 0) {
			*out = (struct str){rest->p, end};
			*rest = str_from(*rest, end + 1);
			return true;
		}
		at = end;
	}
	return false;
}

/* Up to `[`, which a name of a user may not hold. */
static bool
take_bracketed(struct str *rest, struct str *before, struct str *inside)
{
	const char *open = rest->n ? memchr(rest->p, '[', rest->n) : NULL;
	if (!open)
		return false;
	*before = (struct str){rest->p, (size_t)(open - rest->p)};
	*rest = str_from(*rest, before->n + 1);
	*inside = str_before(*rest, ']');
	if (inside->n == rest->n)
		return false;
	*rest = str_from(*rest, inside->n + 1);
	return true;
}

/* A name as sites have it, with a port or without; no address, no number, no name of a file. */
static bool
is_site(struct str s)
{
	struct str name = str_before(s, ':'), last = name;
	uint64_t port;
	if (s.n > name.n && !value_number(str_from(s, name.n + 1), &port))
		return false;
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
		if (!letter && !(c >= '0' && c <= '9') && c != '-' && c != '.')
			return false;
		if (c == '.')
			last = str_from(name, i + 1);
	}
	bool dots = last.n < name.n && last.n >= 2;
	return (dots && (last.p[0] < '0' || last.p[0] > '9')) || str_eq(name, STR("localhost"));
}

/* The next name=value, name="value", word or "word" of *rest; a word is a value without a name. False:
 * there is none. */
static bool
take_extra(struct str *rest, struct str *name, struct str *value)
{
	while (rest->n && rest->p[0] == ' ')
		*rest = str_from(*rest, 1);
	size_t n = 0;
	while (n < rest->n && rest->p[n] != '=' && rest->p[n] != ' ' && rest->p[n] != '"')
		n++;
	*name = *value = (struct str){rest->p, n};
	bool has_value = n < rest->n && rest->p[n] == '=';
	*rest = str_from(*rest, n + has_value);
	if (!has_value)
		name->n = 0;
	if (rest->n && rest->p[0] == '"') {
		*rest = str_from(*rest, 1);
		return parse_take_quoted(rest, value);
	}
	if (has_value)
		*value = take_word(rest);
	return has_value || n > 0;
}

/* Our own log has host="...", cache="..." and more by names behind the agent; others have the site there,
 * in quotes or without. */
static void
take_extras(struct str rest, struct entry *e)
{
	struct str name, value;
	while (take_extra(&rest, &name, &value)) {
		bool site = name.n ? str_eq(name, STR("host")) && value.n && value.p[0] != '-'
				   : !e->host.n && is_site(value);
		if (site)
			e->host = value;
		if (str_eq(name, STR("cache")))
			e->cache = value;
		if (str_eq(name, STR("range")))
			e->range = value;
		if (str_eq(name, STR("type")))
			e->type = value;
		if (str_eq(name, STR("coding")))
			e->coding = value.n ? value : STR("-");
		if (str_eq(name, STR("life")))
			e->has_lifetime = value_number(value, &e->lifetime_s);
		if (str_eq(name, STR("var")))
			e->variant = value;
		if (str_eq(name, STR("purge")))
			e->purge = value;
	}
}

/* Before the time: client ident user. Apache's vhost_combined has the site in front;
 * lighttpd has it instead of the ident. */
static void
take_client(struct str before, struct entry *e)
{
	struct str first = take_word(&before), second = take_word(&before);
	struct str third = take_word(&before);
	e->client = first;
	if (before.n > 1 && second.n > 2 && third.n == 1 && third.p[0] == '-') {
		e->host = first; /* there is a fourth word */
		e->client = second;
	} else if (is_site(second)) {
		e->host = second;
	}
}

/* host ident user [time] "request" status bytes "referer" "agent" ... */
bool
parse_clf(struct parsing *p, struct str line, struct entry *e)
{
	struct str before, when, request, rest = line;
	if (!take_bracketed(&rest, &before, &when) ||
	    !value_clf_time(when, &p->clock, &e->time_us) || rest.n < 2 || rest.p[0] != ' ' ||
	    rest.p[1] != '"')
		return false;
	e->has_time = true;
	rest = str_from(rest, 2);
	if (!parse_take_quoted(&rest, &request) || !roles_set_request(e, request))
		return false;
	struct str status = take_word(&rest), bytes = take_word(&rest);
	if (!value_status(status, &e->status))
		return false;
	e->has_bytes = value_number(bytes, &e->bytes);
	take_client(before, e);
	if (rest.n > 1 && rest.p[0] == ' ' && rest.p[1] == '"') {
		struct str referer, agent;
		rest = str_from(rest, 2);
		if (parse_take_quoted(&rest, &referer) && rest.n > 1 && rest.p[1] == '"') {
			rest = str_from(rest, 2);
			if (parse_take_quoted(&rest, &agent) && rest.n)
				take_extras(rest, e);
		}
	}
	return true;
}

/* 1066036250.129 345 192.0.2.1 TCP_HIT/200 4512 GET http://... - HIER_NONE/- text/html */
bool
parse_squid(struct parsing *p, struct str line, struct entry *e)
{
	(void)p;
	struct str rest = line, when = take_word(&rest), took = take_word(&rest);
	struct str client = take_word(&rest), code = take_word(&rest);
	struct str bytes = take_word(&rest), method = take_word(&rest);
	struct str url = take_word(&rest);
	uint64_t n;
	struct str word = str_before(code, '/'), status = str_from(code, word.n + 1);
	if (took.n && took.p[0] == '-')
		took = str_from(took, 1);
	if (!url.n || !value_number(took, &n) || word.n == code.n || !value_time(when, &e->time_us))
		return false;
	if (!value_status(status, &e->status))
		e->status = 0; /* 000: the client went away */
	e->has_time = true;
	e->client = client;
	e->cache = word;
	e->method = method;
	e->target = url;
	e->has_bytes = value_number(bytes, &e->bytes);
	return true;
}

/* a/b/c/d/e, of which some may be below 0, or + in front. */
static bool
are_timers(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!strchr("0123456789/+-", s.p[i]) || !s.p[i])
			return false;
	return s.n && memchr(s.p, '/', s.n);
}

/* ... client:port [time] frontend backend/server a/b/c/d/e status bytes - - ---- 1/1/1/1/0 0/0
 * {host} "request" */
bool
parse_haproxy(struct parsing *p, struct str line, struct entry *e)
{
	(void)p;
	struct str before, when, rest = line, request;
	if (!take_bracketed(&rest, &before, &when))
		return false;
	if (str_starts(rest, STR(": "))) /* that was haproxy[123]: */
		if (!take_bracketed(&rest, &before, &when))
			return false;
	if (!value_time(when, &e->time_us))
		return false;
	e->has_time = true;
	struct str frontend = take_word(&rest), server = take_word(&rest);
	struct str timers = take_word(&rest), status = take_word(&rest);
	struct str bytes = take_word(&rest);
	if (!frontend.n || frontend.p[0] == '"' || !memchr(server.p, '/', server.n) ||
	    !are_timers(timers))
		return false;
	if (!value_status(status, &e->status))
		e->status = 0; /* -1: no answer */
	if (bytes.n && bytes.p[0] == '+')
		bytes = str_from(bytes, 1);
	e->has_bytes = value_number(bytes, &e->bytes);
	struct str upto = str_before(rest, '"');
	struct str captures = str_before(str_from(upto, str_before(upto, '{').n + 1), '}');
	captures = str_before(captures, '|');
	if (captures.n && memchr(captures.p, '.', captures.n))
		e->host = captures;
	rest = str_from(rest, upto.n + 1);
	size_t colon = before.n;
	while (before.n && before.p[before.n - 1] == ' ')
		before.n--;
	for (colon = before.n; colon && before.p[colon - 1] != ' '; colon--)
		continue;
	e->client = str_from(before, colon);
	return parse_take_quoted(&rest, &request) && roles_set_request(e, request);
}
