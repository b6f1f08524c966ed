/* field.c - which field names we act on, and the few questions asked of a list of fields. */
#include "proxy/http/field.h"

#include "proxy/http/syntax.h"

#include <assert.h>

static const struct str names[FIELD_COUNT] = {
	[FIELD_OTHER] = {"", 0},
#define FIELD(id, name) [FIELD_##id] = STR_INIT(name),
#include "proxy/http/field_names.h"
#undef FIELD
};

/* RFC 9110 7.6.1: never forwarded. Content-Length is not here: it describes the message, and the
 * framing of the next hop is decided where it is written. */
const uint64_t fields_hop_by_hop =
	FIELD_BIT(CONNECTION) | FIELD_BIT(KEEP_ALIVE) | FIELD_BIT(PROXY_CONNECTION) |
	FIELD_BIT(TE) | FIELD_BIT(TRAILER) | FIELD_BIT(TRANSFER_ENCODING) | FIELD_BIT(UPGRADE) |
	FIELD_BIT(PROXY_AUTHENTICATE) | FIELD_BIT(PROXY_AUTHENTICATION_INFO) |
	FIELD_BIT(PROXY_AUTHORIZATION) | FIELD_BIT(TWICE_HOP);

/* Fields that every recipient needs: Connection must not list them (7.6.1), and whoever does so
 * wants to hide something from the next hop. */
static const uint64_t not_connection_options =
	FIELD_BIT(HOST) | FIELD_BIT(CONTENT_LENGTH) | FIELD_BIT(CACHE_CONTROL) |
	FIELD_BIT(CONTENT_ENCODING) | FIELD_BIT(CONTENT_RANGE) | FIELD_BIT(CONTENT_TYPE) |
	FIELD_BIT(AUTHORIZATION) | FIELD_BIT(COOKIE) | FIELD_BIT(VARY);

static uint64_t
load(const char *p, size_t n)
{
	uint64_t x = 0;
	memcpy(&x, p, n);
	return x;
}

/* Equal but for the case of letters: they differ in 0x20 only, where the lower-case name has a
 * letter (0x40 set; a dash has not). */
static bool
word_is(uint64_t name, uint64_t x)
{
	return ((x ^ name) & ~(name >> 1 & UINT64_C(0x2020202020202020))) == 0;
}

/* str_ieq for one of our names, which are lower case letters and dashes: a third of a parser's time
 * went into strncasecmp. */
static bool
name_is(const char *name, const char *p, size_t n)
{
	size_t i = 0;
	for (; n - i >= 8; i += 8)
		if (!word_is(load(name + i, 8), load(p + i, 8)))
			return false;
	if (i) /* the last eight bytes once more */
		return word_is(load(name + n - 8, 8), load(p + n - 8, 8));
	if (n >= 4)
		return word_is(load(name, 4), load(p, 4)) &&
		       word_is(load(name + n - 4, 4), load(p + n - 4, 4));
	for (; i < n; i++)
		if (!word_is((unsigned char)name[i], (unsigned char)p[i]))
			return false;
	return true;
}

/* The first of the candidates (rows of one length) that is this name, case-insensitively. */
static enum field_id
one_of(struct str name, const uint8_t *ids, unsigned n)
{
	char last = (char)(name.p[name.n - 1] | 0x20);
	for (unsigned i = 0; i < n; i++) {
		const char *known = names[ids[i]].p;
		if (known[name.n - 1] == last && name_is(known, name.p, name.n))
			return (enum field_id)ids[i];
	}
	return FIELD_OTHER;
}

#define ONE_OF(...)                                         \
	do {                                                \
		static const uint8_t ids[] = {__VA_ARGS__}; \
		return one_of(name, ids, sizeof ids);       \
	} while (0)

/* By length, then by last letter: nearly every unknown name is known as such without comparing it.
 * A row of field_names.h that is missing here fails test_field. */
enum field_id
field_id_of(struct str name)
{
	/* clang-format off */
	switch (name.n) {
	case 2:  ONE_OF(FIELD_TE);
	case 3:  ONE_OF(FIELD_AGE, FIELD_VIA);
	case 4:  ONE_OF(FIELD_DATE, FIELD_ETAG, FIELD_HOST, FIELD_VARY);
	case 5:  ONE_OF(FIELD_ALLOW, FIELD_RANGE);
	case 6:  ONE_OF(FIELD_ACCEPT, FIELD_COOKIE, FIELD_EXPECT, FIELD_PRAGMA);
	case 7:  ONE_OF(FIELD_ALT_SVC, FIELD_EXPIRES, FIELD_TRAILER, FIELD_UPGRADE, FIELD_WARNING);
	case 8:  ONE_OF(FIELD_IF_MATCH, FIELD_IF_RANGE, FIELD_LOCATION);
	case 9:  ONE_OF(FIELD_FORWARDED, FIELD_TWICE_HOP);
	case 10: ONE_OF(FIELD_CONNECTION, FIELD_KEEP_ALIVE, FIELD_SET_COOKIE, FIELD_USER_AGENT);
	case 12: ONE_OF(FIELD_CACHE_STATUS, FIELD_CONTENT_TYPE, FIELD_MAX_FORWARDS, FIELD_X_REQUEST_ID);
	case 13: ONE_OF(FIELD_ACCEPT_RANGES, FIELD_AUTHORIZATION, FIELD_CACHE_CONTROL,
	                FIELD_CONTENT_RANGE, FIELD_IF_NONE_MATCH, FIELD_LAST_MODIFIED);
	case 14: ONE_OF(FIELD_CONTENT_LENGTH);
	case 15: ONE_OF(FIELD_ACCEPT_ENCODING, FIELD_ACCEPT_LANGUAGE, FIELD_X_FORWARDED_FOR);
	case 16: ONE_OF(FIELD_CONTENT_ENCODING, FIELD_CONTENT_LOCATION, FIELD_PROXY_CONNECTION,
	                FIELD_X_FORWARDED_HOST);
	case 17: ONE_OF(FIELD_CDN_CACHE_CONTROL, FIELD_IF_MODIFIED_SINCE, FIELD_SURROGATE_CONTROL,
	                FIELD_TRANSFER_ENCODING, FIELD_X_FORWARDED_PROTO);
	case 18: ONE_OF(FIELD_PROXY_AUTHENTICATE);
	case 19: ONE_OF(FIELD_IF_UNMODIFIED_SINCE, FIELD_PROXY_AUTHORIZATION);
	case 25: ONE_OF(FIELD_PROXY_AUTHENTICATION_INFO);
	default: return FIELD_OTHER;
	}
	/* clang-format on */
}

bool
fields_add(struct fields *f, struct str name, struct str value)
{
	if (f->n >= f->cap)
		return false;
	enum field_id id = field_id_of(name);
	f->v[f->n++] = (struct field){name, value, id};
	f->present |= field_bit(id);
	return true;
}

void
fields_drop(struct fields *f, enum field_id id)
{
	unsigned n = 0;
	for (unsigned i = 0; i < f->n; i++)
		if (f->v[i].id != id)
			f->v[n++] = f->v[i];
	f->n = n;
	f->present &= ~field_bit(id);
}

const struct field *
fields_next(const struct fields *f, enum field_id id, unsigned *at)
{
	if (!fields_has(f, id))
		return NULL;
	while (*at < f->n) {
		const struct field *x = &f->v[(*at)++];
		if (x->id == id)
			return x;
	}
	return NULL;
}

const struct field *
fields_next_named(const struct fields *f, struct str name, unsigned *at)
{
	enum field_id id = field_id_of(name);
	if (id != FIELD_OTHER)
		return fields_next(f, id, at);
	while (*at < f->n) {
		const struct field *x = &f->v[(*at)++];
		if (str_ieq(x->name, name))
			return x;
	}
	return NULL;
}

struct str
fields_get(const struct fields *f, enum field_id id)
{
	unsigned at = 0;
	const struct field *x = fields_next(f, id, &at);
	return x ? x->value : (struct str){NULL, 0};
}

unsigned
fields_count(const struct fields *f, enum field_id id)
{
	unsigned n = 0, at = 0;
	while (fields_next(f, id, &at))
		n++;
	return n;
}

bool
fields_list_has(const struct fields *f, enum field_id id, struct str token)
{
	unsigned at = 0;
	const struct field *line;
	while ((line = fields_next(f, id, &at)) != NULL) {
		bool one = !memchr(line->value.p, ',', line->value.n); /* nearly always */
		if (one ? str_ieq(line->value, token) : list_has(line->value, token))
			return true;
	}
	return false;
}

/* By length, then by letters without their case: any order will do. */
static int
compare(struct str a, struct str b)
{
	if (a.n != b.n)
		return a.n < b.n ? -1 : 1;
	return strncasecmp(a.p, b.p, a.n);
}

void
fields_sort(const struct fields *f, struct fields_order *out)
{
	/* cppcheck-suppress ctuuninitvar ; an address, no value */
	uint8_t spare[FIELDS_MAX], *from = out->at, *to = spare;
	assert(f->n <= FIELDS_MAX);
	for (unsigned i = 0; i < f->n; i++)
		out->at[i] = (uint8_t)i;
	for (unsigned run = 1; run < f->n; run *= 2) { /* runs of so many are sorted */
		for (unsigned i = 0; i < f->n; i += 2 * run) {
			unsigned a = i, mid = i + run < f->n ? i + run : f->n, b = mid;
			unsigned end = mid + run < f->n ? mid + run : f->n;
			for (unsigned k = i; k < end; k++) {
				bool first = b == end ||
					     (a < mid &&
					      compare(f->v[from[a]].name, f->v[from[b]].name) <= 0);
				to[k] = first ? from[a++] : from[b++];
			}
		}
		uint8_t *sorted = to;
		to = from;
		from = sorted;
	}
	if (from != out->at)
		memcpy(out->at, from, f->n);
}

bool
fields_has_named(const struct fields *f, const struct fields_order *order, struct str name)
{
	unsigned low = 0, high = f->n;
	while (low < high) {
		unsigned mid = (low + high) / 2;
		int c = compare(name, f->v[order->at[mid]].name);
		if (c == 0)
			return true;
		if (c < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return false;
}

static void
mark(const struct fields *f, struct str option, struct fields_listed *out)
{
	enum field_id id = field_id_of(option);
	if (id != FIELD_OTHER && (!fields_has(f, id) || (not_connection_options >> id & 1)))
		return;
	for (unsigned i = 0; i < f->n; i++) {
		if (f->v[i].id != id || (id == FIELD_OTHER && !str_ieq(f->v[i].name, option)))
			continue;
		out->bits[i / 64] |= UINT64_C(1) << i % 64;
		out->any = true;
	}
}

bool
fields_read_listed(const struct fields *f, struct fields_listed *out)
{
	unsigned at = 0, n = 0;
	const struct field *line;
	*out = (struct fields_listed){.any = false};
	while ((line = fields_next(f, FIELD_CONNECTION, &at)) != NULL) {
		struct str rest = line->value, option;
		if (str_ieq(rest, STR("keep-alive")) || str_ieq(rest, STR("close")))
			continue; /* nearly always */
		while (list_next(&rest, &option)) {
			if (++n > FIELDS_OPTIONS_MOST)
				return false;
			mark(f, option, out);
		}
	}
	return true;
}
