/* forget_ask.c - was it forgotten? Asked on the way of a hit: the time first, which is one load, and
 * then only what was forgotten at all. */
#include "proxy/cache/forget/forget_inside.h"

#include "proxy/base/le.h"
#include "proxy/http/cachekey.h"
#include "proxy/http/syntax.h"
#include "proxy/http/uri.h"

/* Different things may have the same text. */
static const uint64_t KEY_ALONE = 0x6b65792d616c6f6e, OF_PREFIX = 0x7072656669782f2f,
		      OF_PREFIX_HOST = 0x686f73742b707265;

/* ---- names --------------------------------------------------------------------------------- */

/* The path of a URL begins here. */
static size_t
path_at(struct str url)
{
	size_t at = str_starts(url, STR("https://")) ? 8 : 7;
	while (at < url.n && url.p[at] != '/' && url.p[at] != '?')
		at++;
	return at < url.n ? at : url.n;
}

/* host[:port] of a URL's key. */
static struct str
host_of(struct str url)
{
	size_t front = str_starts(url, STR("https://")) ? 8 : 7, end = path_at(url);
	return end < front ? (struct str){NULL, 0} : (struct str){url.p + front, end - front};
}

static struct twice_key_hash
hash_text(const struct forget *f, struct str text, uint64_t salt)
{
	struct twice_key_hash h = twice_key_hash_of(f->o.seed, text.p, text.n);
	h.lo ^= salt;
	return h;
}

/* A URL may be spelled in several ways that mean the same (RFC 3986 6.2.2.1, 6.2.2.2): %c3 and %C3, %7E and ~.
 * What is forgotten is forgotten in all of them. */
static bool
has_spellings(struct str url)
{
	return url.n && memchr(url.p, '%', url.n);
}

static struct twice_key_hash
hash_normal(const struct forget *f, struct str url, uint64_t salt)
{
	struct buf normal = {0};
	if (!has_spellings(url))
		return hash_text(f, url, salt);
	uri_add_unescaped(url, &normal);
	struct twice_key_hash h = hash_text(f, buf_str(&normal), salt);
	buf_fini(&normal);
	return h;
}

/* Of the upper half alone, for the tables of segments know no more of it. */
static struct twice_key_hash
alone(struct twice_key_hash hash)
{
	static const uint64_t spread = 0x9e3779b97f4a7c15;
	return (struct twice_key_hash){(hash.hi ^ KEY_ALONE) * spread, hash.hi};
}

/* As a tag's key: of 32 bits, which are its lowest ones. */
struct twice_key_hash
forget_host_key(uint32_t host)
{
	static const uint64_t spread = 0x9e3779b97f4a7c15, salt = 0x686f7374;
	uint64_t mixed = (host ^ salt) * spread;
	return (struct twice_key_hash){(mixed & ~UINT64_C(0xffffffff)) | host, mixed};
}

static uint32_t
host_number(const struct forget *f, struct str host)
{
	uint32_t n = (uint32_t)hash_text(f, host, 0).lo;
	return n ? n : 1;
}

uint32_t
forget_host_of(const struct forget *f, struct str url)
{
	return host_number(f, host_of(cachekey_url(url)));
}

struct purge_entry
forget_of_now(const struct purge_entry *e)
{
	struct purge_entry now = *e;
	bool soft = e->flags & FORGET_SOFT;
	struct twice_key_hash whole = soft ? forget_softly(e->hash) : e->hash;
	if (e->kind == FORGET_KEY) /* logs of older versions have the lower half too */
		now.hash = alone(whole);
	if (e->kind == FORGET_HOST)
		now.hash = forget_host_key((uint32_t)whole.lo ? (uint32_t)whole.lo : 1);
	if (e->kind == FORGET_HOST && soft)
		now.hash = forget_softly(now.hash);
	return now;
}

uint32_t
forget_tag(const struct forget *f, struct str tag)
{
	char lower[FORGET_TAG_MOST];
	size_t n = tag.n < sizeof lower ? tag.n : sizeof lower;
	for (size_t i = 0; i < n; i++)
		lower[i] = byte_lower(tag.p[i]);
	return (uint32_t)twice_key_hash_of(f->o.seed, lower, n).lo;
}

struct twice_key_hash
forget_prefix_host(const struct forget *f, struct str url)
{
	return hash_text(f, (struct str){url.p, path_at(url)}, OF_PREFIX_HOST);
}

struct twice_key_hash
forget_name(const struct forget *f, enum forget_kind kind, struct twice_key_hash hash,
	    struct str name)
{
	switch (kind) {
	case FORGET_URL:
		return hash_normal(f, cachekey_url(name), 0);
	case FORGET_HOST:
		return forget_host_key(host_number(f, name));
	case FORGET_KEY:
		return alone(hash);
	case FORGET_PREFIX:
		return hash_text(f, name, OF_PREFIX);
	case FORGET_TAG:
		return forget_tag_key(forget_tag(f, name));
	default:
		return (struct twice_key_hash){0};
	}
}

/* ---- asking -------------------------------------------------------------------------------- */

struct question {
	struct forget *f;
	uint32_t sorts; /* that there are */
	uint64_t since;
	uint64_t gone;	  /* the latest time found */
	uint64_t soft;	  /* the same, of what is stale since */
	uint32_t stale_s; /* the earliest one of those */
};

static bool
may_be(const struct question *q, enum forget_kind kind)
{
	return q->sorts & (forget_hints_sort(kind, false) | forget_hints_sort(kind, true));
}

/* The latest times of what has this hash. */
static void
ask(struct question *q, enum forget_kind kind, struct twice_key_hash hash)
{
	struct purge_entry e;
	if (q->sorts & forget_hints_sort(kind, false)) {
		uint64_t at = forget_table_find(q->f->table, hash, &e);
		q->gone = at > q->gone ? at : q->gone;
	}
	if (!(q->sorts & forget_hints_sort(kind, true)))
		return;
	uint64_t at = forget_table_find(q->f->table, forget_softly(hash), &e);
	if (at > q->since && (!q->stale_s || e.when_s < q->stale_s))
		q->stale_s = e.when_s;
	q->soft = at > q->soft ? at : q->soft;
}

/* Only at the lengths that prefixes have. */
static void
ask_beginnings(struct question *q, struct str url)
{
	const struct forget_hints *h = &q->f->hints;
	size_t path = path_at(url), end = str_before(url, '?').n;
	for (size_t w = path / 64; w < FORGET_LENGTH_WORDS && w * 64 <= end; w++) {
		uint64_t bits = atomic_load_explicit(&h->lengths[w], memory_order_relaxed);
		for (; bits; bits &= bits - 1) {
			size_t n = w * 64 + (size_t)__builtin_ctzll(bits);
			if (n > path && n <= end)
				ask(q, FORGET_PREFIX,
				    hash_text(q->f, (struct str){url.p, n}, OF_PREFIX));
		}
	}
}

/* Only where the host has prefixes; those are in the log as they were written and in normal form. */
static void
ask_prefixes(struct question *q, struct str url)
{
	struct question host = *q;
	host.gone = host.soft = 0;
	ask(&host, FORGET_PREFIX_HOST, forget_prefix_host(q->f, url));
	if (host.gone <= q->since && host.soft <= q->since)
		return;
	ask_beginnings(q, url);
	if (has_spellings(url)) {
		struct buf normal = {0};
		uri_add_unescaped(url, &normal);
		ask_beginnings(q, buf_str(&normal));
		buf_fini(&normal);
	}
}

static void
ask_tags(struct question *q, struct str tags)
{
	for (size_t i = 0; i + 4 <= tags.n; i += 4) {
		struct twice_key_hash tag = forget_tag_key(le_get32(tags.p + i));
		if (forget_hints_has_tag(&q->f->hints, tag))
			ask(q, FORGET_TAG, tag);
	}
}

static void
ask_all(struct question *q, const struct forget_thing *o)
{
	struct str url = cachekey_url(o->key);
	if (may_be(q, FORGET_URL))
		ask(q, FORGET_URL, hash_normal(q->f, url, 0));
	if (may_be(q, FORGET_URL) && has_spellings(url)) /* as older versions have named it */
		ask(q, FORGET_URL, hash_text(q->f, url, 0));
	if (may_be(q, FORGET_KEY))
		ask(q, FORGET_KEY, alone(o->hash));
	if (may_be(q, FORGET_HOST))
		ask(q, FORGET_HOST, forget_host_key(host_number(q->f, host_of(url))));
	if (may_be(q, FORGET_PREFIX))
		ask_prefixes(q, url);
	if (o->tags.n && may_be(q, FORGET_TAG))
		ask_tags(q, o->tags);
	/* This may have taken the place of what was dropped before it was asked for. */
	q->sorts |= atomic_load(&q->f->hints.sorts);
	if (may_be(q, FORGET_ALL))
		ask(q, FORGET_ALL, (struct twice_key_hash){0});
}

/* The floors last: what they say is dropped from the tables. */
enum forget_word
forget_judge(struct forget *f, const struct forget_thing *o, uint64_t since, uint64_t *now,
	     uint32_t *stale_s)
{
	*now = forget_now(f);
	if (*now <= since)
		return FORGET_CLEAN;
	struct question q = {.f = f, .sorts = atomic_load(&f->hints.sorts), .since = since};
	if (q.sorts)
		ask_all(&q, o);
	if (q.gone > since || since < atomic_load(&f->floor))
		return FORGET_GONE;
	*stale_s = q.stale_s;
	return q.soft > since ? FORGET_STALE : FORGET_CLEAN;
}

struct forget_latest
forget_latest(struct forget *f, const struct forget_thing *o)
{
	struct question q = {.f = f, .sorts = atomic_load(&f->hints.sorts)};
	q.sorts &= ~(forget_hints_sort(FORGET_URL, false) | forget_hints_sort(FORGET_KEY, false) |
		     forget_hints_sort(FORGET_HOST, false));
	if (q.sorts)
		ask_all(&q, o);
	return (struct forget_latest){q.gone, q.soft};
}

bool
forget_covers_fetch(struct forget *f, const struct forget_thing *o, uint64_t since, uint64_t *now)
{
	uint32_t ignored;
	return forget_judge(f, o, since, now, &ignored) != FORGET_CLEAN ||
	       (*now > since && since < atomic_load(&f->fetch_floor));
}
