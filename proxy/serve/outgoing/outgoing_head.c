/* outgoing_head.c - the field lines that go to the origin. */
#include "proxy/serve/outgoing/outgoing_inside.h"

#include "proxy/http/syntax.h"

static void
add_field(struct str name, struct str value, struct buf *out)
{
	buf_add_str(out, name);
	buf_add_lit(out, ": ");
	buf_add_str(out, value);
	buf_add_lit(out, "\r\n");
}

/* RFC 9110 7.6.2: each hop takes one off; the one that brings 0 is not passed on. */
static bool
counts_down(const struct request *r, const struct field *field)
{
	return field->id == FIELD_MAX_FORWARDS &&
	       (r->method == METHOD_OPTIONS || r->method == METHOD_TRACE);
}

static void
add_one_less(const struct field *field, struct buf *out)
{
	int64_t n;
	bool number = digits_parse(field->value, &n);
	buf_add_str(out, field->name);
	buf_add_lit(out, ": ");
	buf_add_u64(out, number && n > 0 ? (uint64_t)(n - 1) : 0);
	buf_add_lit(out, "\r\n");
}

static bool
is_asked_instead(const struct outgoing_asks *a, enum field_id id)
{
	return (id == FIELD_RANGE && a->range.n) || (id == FIELD_IF_RANGE && a->if_range.n) ||
	       (id == FIELD_IF_NONE_MATCH && a->if_none_match.n) ||
	       (id == FIELD_IF_MODIFIED_SINCE && a->if_modified_since.n);
}

/* Lines of one name are found in one pass over all: next[i] is the line behind i with its name, and
 * again[i] says that there is one before. */
struct chains {
	uint16_t next[FIELDS_MAX]; /* FIELDS_MAX: none */
	uint64_t again[FIELDS_MAX / 64];
};

static uint64_t
load8(const char *p)
{
	uint64_t word;
	memcpy(&word, p, sizeof word);
	return word;
}

/* Fewer than eight bytes. */
static uint64_t
load_few(struct str s)
{
	uint64_t word = 0;
	for (size_t i = 0; i < s.n; i++)
		word = word << 8 | (unsigned char)s.p[i];
	return word;
}

/* Capital letters alone: a stranger has many names of '^' and '~', which differ in the same bit. */
static uint64_t
lower8(uint64_t word)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
	uint64_t seven = word & ~tops;
	uint64_t from_a = seven + ones * (0x80 - 'A'), behind_z = seven + ones * (0x80 - 'Z' - 1);
	return word | (from_a & ~behind_z & ~word & tops) >> 2;
}

static uint64_t
mix(uint64_t h, uint64_t word, uint64_t seed)
{
	unsigned __int128 product = (unsigned __int128)(h ^ lower8(word)) * (seed | 1);
	return (uint64_t)product ^ (uint64_t)(product >> 64) ^ UINT64_C(0x9e3779b97f4a7c15);
}

/* Seeded, eight bytes at a time, the last ones twice where that makes eight: with a hash that strangers can
 * compute, a hundred names that all have the same one are compared each with each. */
static uint32_t
name_hash(struct str name, uint64_t seed)
{
	uint64_t h = seed ^ name.n;
	size_t i = 0;
	for (; i + 8 <= name.n; i += 8)
		h = mix(h, load8(name.p + i), seed);
	if (i < name.n)
		h = mix(h, i ? load8(name.p + name.n - 8) : load_few(name), seed);
	return (uint32_t)(h ^ h >> 32);
}

/* A cheap look that is right for most heads: no two lines have one name. */
static bool
may_repeat(const struct fields *f, uint64_t seed)
{
	enum { MARKS = 1024 };
	uint64_t known = 0, others[MARKS / 64] = {0};
	for (unsigned i = 0; i < f->n; i++) {
		bool other = f->v[i].id == FIELD_OTHER;
		unsigned mark = other ? name_hash(f->v[i].name, seed) % MARKS : f->v[i].id;
		uint64_t *seen = other ? &others[mark / 64] : &known;
		uint64_t one = UINT64_C(1) << mark % 64;
		if (*seen & one)
			return true;
		*seen |= one;
	}
	return false;
}

static void
chain_lines(const struct fields *f, uint64_t seed, struct chains *c)
{
	enum { SLOTS = 2 * FIELDS_MAX };
	uint16_t last[SLOTS]; /* place + 1 of the last line of a name */
	uint32_t hash[FIELDS_MAX];
	memset(last, 0, sizeof last);
	memset(c->again, 0, sizeof c->again);
	for (unsigned i = 0; i < f->n; i++) {
		hash[i] = name_hash(f->v[i].name, seed);
		uint32_t at = hash[i] % SLOTS;
		c->next[i] = FIELDS_MAX;
		while (last[at] && (hash[last[at] - 1] != hash[i] ||
				    !str_ieq(f->v[last[at] - 1].name, f->v[i].name)))
			at = (at + 1) % SLOTS;
		if (last[at]) {
			c->next[last[at] - 1] = (uint16_t)i;
			c->again[i / 64] |= UINT64_C(1) << i % 64;
		}
		last[at] = (uint16_t)(i + 1);
	}
}

static void
add_chained(const struct outgoing *o, const struct chains *c, unsigned first, struct buf *out)
{
	struct outgoing_lines l = {.n = 0};
	for (unsigned i = first; i < FIELDS_MAX; i = c->next[i])
		if (!fields_is_listed(&o->listed, i))
			l.at[l.n++] = (uint8_t)i;
	buf_add_str(out, o->rq->fields.v[first].name);
	buf_add_lit(out, ": ");
	outgoing_add_value(o, &l, out);
	buf_add_lit(out, "\r\n");
}

static void
add_alone(const struct field *f, struct buf *out)
{
	buf_add_str(out, f->name);
	buf_add_lit(out, ": ");
	outgoing_add_normal(f->id, f->name, f->value, out);
	buf_add_lit(out, "\r\n");
}

/* classed: Accept-Encoding is written by add_class. */
static void
add_clients(const struct outgoing *o, const struct outgoing_asks *a, bool classed, struct buf *out)
{
	const struct fields *f = &o->rq->fields;
	struct chains c;
	bool joins = o->shared && may_repeat(f, o->set->name_seed);
	if (joins)
		chain_lines(f, o->set->name_seed, &c);
	for (unsigned i = 0; i < f->n; i++) {
		const struct field *field = &f->v[i];
		if (fields_is_listed(&o->listed, i) || is_asked_instead(a, field->id) ||
		    (classed && field->id == FIELD_ACCEPT_ENCODING) ||
		    !outgoing_goes_out(o, field->id, field->name, a))
			continue;
		if (counts_down(o->rq, field))
			add_one_less(field, out);
		else if (!o->shared)
			add_field(field->name, field->value, out);
		else if (!joins)
			add_alone(field, out);
		else if (!(c.again[i / 64] >> i % 64 & 1))
			add_chained(o, &c, i, out);
	}
}

static void
add_if_any(struct str name, struct str value, struct buf *out)
{
	if (value.n)
		add_field(name, value, out);
}

static void
add_asked(const struct outgoing_asks *a, struct buf *out)
{
	add_if_any(STR("If-None-Match"), a->if_none_match, out);
	add_if_any(STR("If-Modified-Since"), a->if_modified_since, out);
	add_if_any(STR("Range"), a->range, out);
	add_if_any(STR("If-Range"), a->if_range, out);
}

static void
add_own(const struct outgoing *o, enum field_id id, struct str name, struct str authority,
	struct buf *out)
{
	size_t from = out->n;
	buf_add_str(out, name);
	buf_add_lit(out, ": ");
	if (outgoing_add_written(o, id, authority, out))
		buf_add_lit(out, "\r\n");
	else
		out->n = from;
}

void
outgoing_fields(const struct outgoing *o, struct str primary, const struct outgoing_asks *a,
		struct buf *out)
{
	struct str authority = outgoing_authority(primary);
	unsigned class = a->class && outgoing_has_classes(o) ? *a->class : outgoing_class(o);
	add_clients(o, a, class != CODING_UNCLASSED, out);
	if (class != CODING_UNCLASSED && class) {
		buf_add_lit(out, "Accept-Encoding: ");
		coding_class_add(class, o->codings, out);
		buf_add_lit(out, "\r\n");
	}
	add_asked(a, out);
	add_if_any(STR("X-Request-ID"), o->request_id, out);
	add_own(o, FIELD_X_FORWARDED_FOR, STR("X-Forwarded-For"), authority, out);
	add_own(o, FIELD_X_FORWARDED_PROTO, STR("X-Forwarded-Proto"), authority, out);
	add_own(o, FIELD_X_FORWARDED_HOST, STR("X-Forwarded-Host"), authority, out);
	add_own(o, FIELD_FORWARDED, STR("Forwarded"), authority, out);
	add_own(o, FIELD_VIA, STR("Via"), authority, out);
	for (unsigned i = 0; o->headers && i < o->headers->n; i++) {
		buf_add_str(out, o->headers->lines[i].name);
		buf_add_lit(out, ": ");
		outgoing_add_ruled(o, &o->headers->lines[i], authority, out);
		buf_add_lit(out, "\r\n");
	}
}

void
outgoing_raw(const struct outgoing *o, const struct outgoing_asks *a, struct buf *out)
{
	const struct fields *f = &o->rq->fields;
	for (unsigned i = 0; i < f->n; i++)
		if (!fields_is_listed(&o->listed, i) && !is_asked_instead(a, f->v[i].id) &&
		    outgoing_is_end_to_end(f->v[i].id, a))
			add_field(f->v[i].name, f->v[i].value, out);
	add_asked(a, out);
	add_if_any(STR("X-Request-ID"), o->request_id, out);
}
