/* parse_text.c - lines of words: the common log format and its kin, Squid, HAProxy, `time id size`.
 */
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

/* From behind an opening quote: up to the closing one, which a backslash hides. *rest is what
 * follows. False: there is none. */
static bool
take_quoted(struct str *rest, struct str *out)
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

/* Our own log has host="..." and cache="..." behind the agent. */
static void
take_extras(struct str rest, struct entry *e)
{
	for (;;) {
		struct str name = str_before(rest, '=');
		if (name.n + 1 >= rest.n)
			return;
		rest = str_from(rest, name.n + 1);
		while (name.n && name.p[0] == ' ')
			name = str_from(name, 1);
		struct str value;
		if (rest.p[0] != '"') {
			value = take_word(&rest);
			continue;
		}
		rest = str_from(rest, 1);
		if (!take_quoted(&rest, &value))
			return;
		if (str_eq(name, STR("host")) && value.n > 0 && value.p[0] != '-')
			e->host = value;
		if (str_eq(name, STR("cache")))
			e->cache = value;
	}
}

/* host ident user [time] "request" status bytes "referer" "agent" ...; Apache's vhost_combined has
 * the virtual host in front. */
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
	if (!take_quoted(&rest, &request) || !roles_set_request(e, request))
		return false;
	struct str status = take_word(&rest), bytes = take_word(&rest);
	if (!value_status(status, &e->status))
		return false;
	e->has_bytes = value_number(bytes, &e->bytes);
	e->client = take_word(&before);
	struct str second = take_word(&before), third = take_word(&before);
	if (before.n > 1 && second.n > 2 && third.n == 1 && third.p[0] == '-') {
		e->host = e->client; /* a fourth word: the first one is the site */
		e->client = second;
	}
	if (rest.n > 1 && rest.p[0] == ' ' && rest.p[1] == '"') {
		struct str referer, agent;
		rest = str_from(rest, 2);
		if (take_quoted(&rest, &referer) && rest.n > 1 && rest.p[1] == '"') {
			rest = str_from(rest, 2);
			if (take_quoted(&rest, &agent) && rest.n)
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
	    !memchr(timers.p, '/', timers.n))
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
	return take_quoted(&rest, &request) && roles_set_request(e, request);
}

/* time id size, apart by blanks, tabs or commas; what follows is not read. */
bool
parse_triple(struct parsing *p, struct str line, struct entry *e)
{
	(void)p;
	struct str part[3];
	size_t at = 0;
	for (int i = 0; i < 3; i++) {
		while (at < line.n &&
		       (line.p[at] == ' ' || line.p[at] == '\t' || line.p[at] == ','))
			at++;
		size_t from = at;
		while (at < line.n && line.p[at] != ' ' && line.p[at] != '\t' && line.p[at] != ',')
			at++;
		part[i] = (struct str){line.p + from, at - from};
	}
	uint64_t n;
	struct str whole = str_before(part[0], '.');
	if (!value_number(part[0], &n) || !value_number(part[2], &e->bytes) || !part[1].n)
		return false;
	/* Counters are times here too, and are taken as they are: no guess at their unit. */
	if (n < UINT64_C(100000000000))
		e->has_time = value_time(part[0], &e->time_us);
	else
		e->has_time = value_time(whole, &e->time_us);
	e->whole_size = e->has_bytes = true;
	e->has_id = value_number(part[1], &e->id);
	if (!e->has_id)
		e->target = part[1];
	return e->has_time;
}

/* ---- libCacheSim's oracleGeneral: u32 time, u64 id, u32 size, i64 next; little endian ---------
 */

bool
parse_oracle(struct str record, struct entry *e)
{
	uint32_t time, size;
	if (record.n != ORACLE_BYTES)
		return false;
	*e = (struct entry){.status = ENTRY_NO_STATUS,
			    .has_time = true,
			    .has_id = true,
			    .has_bytes = true,
			    .whole_size = true};
	memcpy(&time, record.p, 4);
	memcpy(&e->id, record.p + 4, 8);
	memcpy(&size, record.p + 12, 4);
	e->time_us = (int64_t)time * 1000000;
	e->bytes = size;
	return size > 0;
}

/* Times do not go back, sizes are not zero, and it is no text. */
bool
parse_is_oracle(struct str first)
{
	enum { LEAST = 2, MOST = 64 };
	struct entry e;
	int64_t last = 0;
	unsigned n = 0;
	for (; n < MOST && first.n >= ORACLE_BYTES; n++, first = str_from(first, ORACLE_BYTES)) {
		int64_t next;
		memcpy(&next, first.p + 16, 8);
		if (!parse_oracle((struct str){first.p, ORACLE_BYTES}, &e) || e.time_us < last ||
		    next < -1 || !memchr(first.p, 0, ORACLE_BYTES))
			return false;
		last = e.time_us;
	}
	return n >= LEAST || (n == 1 && first.n == 0);
}
