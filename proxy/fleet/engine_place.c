/* engine_place.c - an engine's address, cut into its parts. */
#include "proxy/fleet/engine_place.h"

#include "proxy/fleet/member.h"
#include "proxy/http/syntax.h"

#include <stdio.h>

enum { PORT = 6379, SENTINEL_PORT = 26379, DATABASES = 1 << 14 };

static bool
decode(struct str s, char *to, size_t room)
{
	size_t n = 0;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if (c == '%') {
			int hi = i + 2 < s.n ? byte_hex(s.p[i + 1]) : -1;
			int lo = hi >= 0 ? byte_hex(s.p[i + 2]) : -1;
			if (lo < 0)
				return false;
			c = (char)(hi << 4 | lo);
			i += 2;
		}
		if (!c || n + 1 >= room)
			return false;
		to[n++] = c;
	}
	to[n] = '\0';
	return true;
}

/* "USER:PASSWORD", ":PASSWORD" */
static bool
take_user(struct str s, struct engine_place *p)
{
	struct str user, password;
	return str_cut(s, ':', &user, &password) && password.n &&
	       decode(user, p->user, sizeof p->user) &&
	       decode(password, p->password, sizeof p->password);
}

static bool
take_database(struct str s, struct engine_place *p)
{
	int64_t n = 0;
	if (!s.n)
		return true;
	if (!digits_parse(s, &n) || n >= DATABASES)
		return false;
	p->database = (unsigned)n;
	return true;
}

/* "/DATABASE", of a Sentinel "/NAME[/DATABASE]" */
static bool
take_path(struct str s, struct engine_place *p)
{
	struct str name, database;
	if (!p->sentinel)
		return take_database(s, p);
	str_cut(s, '/', &name, &database);
	return member_may_be_named(name) && decode(name, p->service, sizeof p->service) &&
	       take_database(database, p);
}

static bool
take_host(struct str s, struct engine_place *p)
{
	char address[MEMBER_ADDRESS];
	bool has_port = s.n && s.p[s.n - 1] != ']' && memchr(s.p, ':', s.n) != NULL;
	int n = has_port ? snprintf(address, sizeof address, "%.*s", STR_ARG(s))
			 : snprintf(address, sizeof address, "%.*s:%d", STR_ARG(s),
				    p->sentinel ? SENTINEL_PORT : PORT);
	if (n < 0 || (size_t)n >= sizeof address || !member_may_be_at(str_of(address)))
		return false;
	snprintf(p->url, sizeof p->url, "http%s://%s", p->tls ? "s" : "", address);
	return true;
}

static void
say_name(struct str scheme, struct str host, struct str path, struct engine_place *p)
{
	snprintf(p->name, sizeof p->name, "%.*s://%.*s%s%.*s", STR_ARG(scheme), STR_ARG(host),
		 path.n ? "/" : "", STR_ARG(path));
}

static bool
take(struct str s, struct engine_place *p)
{
	struct str scheme = str_before(s, ':'), rest = str_from(s, scheme.n), host, path, user;
	if (!str_starts(rest, STR("://")))
		return false;
	rest = str_from(rest, 3);
	p->tls = str_eq(scheme, STR("rediss"));
	p->sentinel = str_eq(scheme, STR("sentinel"));
	if (!p->tls && !p->sentinel && !str_eq(scheme, STR("redis")))
		return false;
	str_cut(rest, '/', &host, &path);
	for (size_t i = host.n; i > 0; i--)
		if (host.p[i - 1] == '@') {
			user = (struct str){host.p, i - 1};
			host = str_from(host, i);
			if (!take_user(user, p))
				return false;
			break;
		}
	say_name(scheme, host, path, p);
	return take_host(host, p) && take_path(path, p);
}

int
engine_place_parse(const char *text, struct engine_place *out, char *err, size_t err_bytes)
{
	struct engine_place p = {0};
	struct str s = str_of(text);
	bool fine = s.n < ENGINE_PLACE_TEXT - 16;
	if (fine && str_starts(s, STR("unix:"))) {
		fine = s.n > 6 && s.p[5] == '/';
		snprintf(p.url, sizeof p.url, "%s", text);
		snprintf(p.name, sizeof p.name, "%s", text);
	} else {
		fine = fine && take(s, &p);
	}
	if (fine)
		*out = p;
	else
		snprintf(err, err_bytes,
			 "an engine is redis://HOST:PORT, rediss://HOST:PORT, unix:/PATH or "
			 "sentinel://HOST:PORT/NAME");
	return fine ? 0 : -1;
}

int
engine_place_move(const struct engine_place *from, const char *address, struct engine_place *out)
{
	struct engine_place p = *from;
	p.sentinel = false;
	if (!member_may_be_at(str_of(address)))
		return -1;
	snprintf(p.url, sizeof p.url, "http%s://%s", p.tls ? "s" : "", address);
	snprintf(p.name, sizeof p.name, "redis%s://%s", p.tls ? "s" : "", address);
	*out = p;
	return 0;
}
