/* roles.c - names to meanings, and values into an entry. */
#include "proxy/simulate/roles.h"

#include "proxy/simulate/value.h"

#include <stdatomic.h>
#include <stdio.h>

#define NAMES_MOST 32

static const struct {
	const char *word;
	const char *names[NAMES_MOST];
} rows[ROLE_COUNT] = {
#define X(id, word, ...) [ROLE_##id] = {word, {__VA_ARGS__}},
	ROLES(X)
#undef X
};

int
roles_name(struct roles_own *own, const char *role, const char *name)
{
	for (enum role r = 0; r < ROLE_COUNT; r++) {
		if (strcmp(rows[r].word, role) != 0)
			continue;
		if (own->n == ROLES_OWN_MOST || strlen(name) >= sizeof own->rows[0].name || !*name)
			return -1;
		own->rows[own->n].role = r;
		snprintf(own->rows[own->n++].name, sizeof own->rows[0].name, "%s", name);
		return 0;
	}
	return -1;
}

const char *
roles_missing(const struct roles_own *own)
{
	for (unsigned i = 0; i < own->n; i++)
		if (!atomic_load_explicit(&own->rows[i].found, memory_order_relaxed))
			return own->rows[i].name;
	return NULL;
}

bool
roles_is_named(const struct roles_own *own, enum role role)
{
	for (unsigned i = 0; own && i < own->n; i++)
		if (own->rows[i].role == role)
			return true;
	return false;
}

const char *
roles_words(void)
{
	return ""
#define X(id, word, ...) word " "
		ROLES(X)
#undef X
			;
}

enum role
roles_find(struct roles_own *own, struct str name, unsigned *rank)
{
	*rank = 0;
	for (unsigned i = 0; own && i < own->n; i++)
		if (str_ieq(name, str_of(own->rows[i].name))) {
			if (!atomic_load_explicit(&own->rows[i].found, memory_order_relaxed))
				atomic_store_explicit(&own->rows[i].found, true,
						      memory_order_relaxed);
			return own->rows[i].role;
		}
	for (enum role r = 0; r < ROLE_COUNT; r++)
		for (unsigned i = 0; i < NAMES_MOST && rows[r].names[i]; i++)
			if (str_ieq(name, str_of(rows[r].names[i]))) {
				*rank = i + 1;
				return r;
			}
	return ROLE_NONE;
}

static bool
leads(const char *known, struct str name)
{
	return strlen(known) > name.n && known[name.n] == '.' &&
	       strncasecmp(known, name.p, name.n) == 0;
}

bool
roles_lead(const struct roles_own *own, struct str name)
{
	for (unsigned i = 0; own && name.n && i < own->n; i++)
		if (leads(own->rows[i].name, name))
			return true;
	for (enum role r = 0; name.n && r < ROLE_COUNT; r++)
		for (unsigned i = 0; i < NAMES_MOST && rows[r].names[i]; i++)
			if (leads(rows[r].names[i], name))
				return true;
	return false;
}

enum role
roles_of_word(struct str word)
{
	enum role r = 0;
	while (r < ROLE_COUNT && !str_eq(word, str_of(rows[r].word)))
		r++;
	return r;
}

const char *const *
roles_names(enum role r)
{
	return rows[r].names;
}

static bool
is_absent(struct str v)
{
	return v.n == 0 || (v.n == 1 && v.p[0] == '-');
}

static bool
is_method(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < 'A' || s.p[i] > 'Z')
			return false;
	return s.n > 0;
}

bool
roles_set_request(struct entry *e, struct str line)
{
	struct str method = str_before(line, ' ');
	if (method.n == line.n && is_method(method)) { /* a log calls so what is the method alone */
		e->method = method;
		return true;
	}
	struct str target = str_before(str_from(line, method.n + 1), ' ');
	if (!method.n || !target.n)
		return false;
	e->method = method;
	e->target = target;
	return true;
}

static bool
set_text(struct entry *e, enum role role, struct str v)
{
	switch (role) {
	case ROLE_METHOD: /* traces have numbers for it, of their own */
		if (v.p[0] < '0' || v.p[0] > '9')
			e->method = v;
		break;
	case ROLE_SCHEME: /* HTTP/1.1 is none */
		if (!memchr(v.p, '/', v.n))
			e->scheme = v;
		break;
	case ROLE_HOST:
		e->host = v;
		break;
	case ROLE_TARGET:
		e->target = v;
		break;
	case ROLE_QUERY:
		e->query = v;
		break;
	case ROLE_CLIENT:
		e->client = v;
		break;
	case ROLE_CACHE:
		e->cache = v;
		break;
	case ROLE_RANGE:
		e->range = v;
		break;
	case ROLE_TYPE:
		e->type = v;
		break;
	case ROLE_VARIANT:
		e->variant = v;
		break;
	case ROLE_PURGE:
		e->purge = v;
		break;
	case ROLE_REQUEST:
		return roles_set_request(e, v);
	default:
		break;
	}
	return true;
}

bool
roles_set(struct entry *e, enum role role, struct str v)
{
	if (role == ROLE_CODING) /* a column with nothing in it says that there is none */
		e->coding = is_absent(v) ? STR("-") : v;
	if (is_absent(v))
		return true;
	switch (role) {
	case ROLE_TIME:
		return e->has_time = value_time(v, &e->time_us);
	case ROLE_STATUS:
		if (!value_status(v, &e->status))
			e->status = 0; /* no answer was sent */
		return true;
	case ROLE_SIZE:
		e->has_bytes = e->whole_size = value_number(v, &e->bytes);
		return e->has_bytes;
	case ROLE_BYTES:
		return e->whole_size || (e->has_bytes = value_number(v, &e->bytes));
	case ROLE_ID: /* of the object, unless its URL is there too: then it may be the request's */
		e->has_id = value_number(v, &e->id);
		if (!e->has_id && !e->target.n)
			e->target = v;
		return true;
	case ROLE_LIFETIME:
		e->has_lifetime = value_number(v, &e->lifetime_s);
		return true;
	default:
		return set_text(e, role, v);
	}
}
