/* segment.c - numbers to bytes and back, and nothing believed that a checksum does not cover. */
#include "proxy/cache/store/segment.h"

#include "proxy/base/le.h"

#include <assert.h>
#include <xxhash.h>

enum {
	RECORD_MAGIC = 0x32525754, /* "TWR2" */
	BATCH_MAGIC = 0x32425754,
	FOOTER_MAGIC = 0x32465754,
	SEAL_AT = SEGMENT_HEADER_BYTES - 8,
};

uint64_t
segment_checksum(const void *p, size_t n)
{
	return XXH3_64bits(p, n);
}

/* ---- fragments and entries ----------------------------------------------------------------- */

struct fragment
fragment_get(const char *table, uint32_t i)
{
	const char *p = table + (size_t)i * FRAGMENT_ENTRY_BYTES;
	return (struct fragment){
		.at = {le_get32(p), le_get32(p + 4), le_get32(p + 8), le_get32(p + 12)},
		.checksum = le_get64(p + 16),
	};
}

void
fragment_put(char *table, uint32_t i, const struct fragment *f)
{
	char *p = table + (size_t)i * FRAGMENT_ENTRY_BYTES;
	le_put32(p, f->at.segment);
	le_put32(p + 4, f->at.generation);
	le_put32(p + 8, f->at.offset);
	le_put32(p + 12, f->at.bytes);
	le_put64(p + 16, f->checksum);
}

struct entry
entry_get(const char *table, uint32_t i)
{
	const char *p = table + (size_t)i * SEGMENT_ENTRY_BYTES;
	uint32_t last = le_get32(p + 12);
	return (struct entry){le_get64(p), le_get32(p + 8), last & 0xffffff, (uint8_t)(last >> 24)};
}

void
entry_put(char *table, uint32_t i, const struct entry *e)
{
	char *p = table + (size_t)i * SEGMENT_ENTRY_BYTES;
	le_put64(p, e->hash_hi);
	le_put32(p + 8, e->offset);
	le_put32(p + 12, e->bytes | (uint32_t)e->what << 24);
}

/* ---- records ------------------------------------------------------------------------------- */

uint64_t
record_bytes(size_t text_bytes, size_t fragments_n, uint64_t inline_bytes)
{
	uint64_t front = RECORD_HEADER_BYTES + text_bytes + fragments_n * FRAGMENT_ENTRY_BYTES;
	return inline_bytes ? round_up(front, SEGMENT_ALIGN) + inline_bytes : front;
}

static void
put_terms(char *p, const struct terms *t)
{
	le_put64(p, (uint64_t)t->response_time);
	le_put64(p + 8, (uint64_t)t->initial_age);
	le_put64(p + 16, (uint64_t)t->lifetime);
	le_put64(p + 24, (uint64_t)t->date);
	le_put64(p + 32, (uint64_t)t->last_modified);
	le_put32(p + 40, (uint32_t)t->stale_while_revalidate);
	le_put32(p + 44, (uint32_t)t->stale_if_error);
	le_put32(p + 48, t->flags);
	le_put16(p + 52, t->status);
	le_put16(p + 54, t->server);
	le_put32(p + 56, t->etag_at);
	le_put32(p + 60, t->etag_bytes);
}

static struct terms
get_terms(const char *p)
{
	return (struct terms){
		.response_time = (int64_t)le_get64(p),
		.initial_age = (int64_t)le_get64(p + 8),
		.lifetime = (int64_t)le_get64(p + 16),
		.date = (int64_t)le_get64(p + 24),
		.last_modified = (int64_t)le_get64(p + 32),
		.stale_while_revalidate = (int32_t)le_get32(p + 40),
		.stale_if_error = (int32_t)le_get32(p + 44),
		.flags = le_get32(p + 48),
		.status = le_get16(p + 52),
		.server = le_get16(p + 54),
		.etag_at = le_get32(p + 56),
		.etag_bytes = le_get32(p + 60),
	};
}

static void
put_bytes(char **to, const char *p, size_t n)
{
	if (n)
		memcpy(*to, p, n);
	*to += n;
}

void
record_format(const struct record *r, char *to)
{
	uint64_t inline_bytes = r->is_inline ? r->body_bytes : 0;
	uint64_t all = record_bytes(record_text_bytes(r), r->fragments_n, inline_bytes);
	assert(all <= RECORD_MAX_BYTES);
	le_put32(to, RECORD_MAGIC);
	le_put32(to + 4, 0);
	le_put32(to + 16, (uint32_t)all);
	le_put32(to + 20, r->at.segment);
	le_put32(to + 24, r->at.generation);
	le_put32(to + 28, r->at.offset);
	le_put64(to + 32, r->hash.lo);
	le_put64(to + 40, r->hash.hi);
	le_put64(to + 48, r->body_bytes);
	le_put64(to + 56, r->body_checksum);
	le_put32(to + 64, (uint32_t)r->key.n);
	le_put32(to + 68, (uint32_t)r->head.n);
	le_put32(to + 72, r->fragments_n);
	to[76] = (char)r->kind;
	to[77] = r->is_inline;
	le_put16(to + 78, 0);
	put_terms(to + 80, &r->terms);
	le_put64(to + 144, r->clean_as_of);
	le_put64(to + 152, r->whole_bytes);
	le_put32(to + 160, (uint32_t)r->tags.n);
	le_put32(to + 164, 0);
	le_put64(to + 168, r->plain_bytes);
	char *end = to + RECORD_HEADER_BYTES;
	put_bytes(&end, r->key.p, r->key.n);
	put_bytes(&end, r->head.p, r->head.n);
	put_bytes(&end, r->tags.p, r->tags.n);
	put_bytes(&end, r->fragments, (size_t)r->fragments_n * FRAGMENT_ENTRY_BYTES);
	le_put64(to + 8, segment_checksum(to + 16, (size_t)(end - to) - 16));
	if (!inline_bytes)
		return;
	char *body = to + all - inline_bytes;
	memset(end, 0, (size_t)(body - end));
	memcpy(body, r->body, inline_bytes);
}

/* The lengths of the parts fit into the record's own length, whatever numbers they are. */
static bool
parts_fit(const struct record *r, uint64_t all)
{
	uint64_t rest = all - RECORD_HEADER_BYTES;
	if (r->key.n > rest || r->head.n > rest - r->key.n ||
	    r->tags.n > rest - r->key.n - r->head.n || r->tags.n % 4)
		return false;
	rest -= record_text_bytes(r);
	if (r->fragments_n > rest / FRAGMENT_ENTRY_BYTES)
		return false;
	uint64_t inline_bytes = r->is_inline ? r->body_bytes : 0;
	return inline_bytes <= rest &&
	       all == record_bytes(record_text_bytes(r), r->fragments_n, inline_bytes);
}

static bool
fragments_add_up(const struct record *r)
{
	if (r->is_inline)
		return r->fragments_n == 0;
	uint64_t sum = 0;
	uint32_t first = r->fragments_n ? fragment_get(r->fragments, 0).at.bytes : 0;
	for (uint32_t i = 0; i < r->fragments_n; i++) {
		uint32_t n = fragment_get(r->fragments, i).at.bytes;
		bool last = i + 1 == r->fragments_n;
		if (n == 0 || n > first || (!last && n != first))
			return false;
		sum += n;
	}
	return sum == r->body_bytes;
}

const char *
record_parse(const char *p, size_t n, struct record *out)
{
	if (n < RECORD_HEADER_BYTES)
		return "shorter than a header";
	if (le_get32(p) != RECORD_MAGIC)
		return "no record starts here";
	uint32_t all = le_get32(p + 16);
	if (all < RECORD_HEADER_BYTES || all > n || all > RECORD_MAX_BYTES)
		return "its length is impossible";
	struct record r = {
		.at = {le_get32(p + 20), le_get32(p + 24), le_get32(p + 28), all},
		.hash = {.lo = le_get64(p + 32), .hi = le_get64(p + 40)},
		.body_bytes = le_get64(p + 48),
		.body_checksum = le_get64(p + 56),
		.key = {p + RECORD_HEADER_BYTES, le_get32(p + 64)},
		.head = {NULL, le_get32(p + 68)},
		.tags = {NULL, le_get32(p + 160)},
		.fragments_n = le_get32(p + 72),
		.kind = (uint8_t)p[76],
		.is_inline = p[77] != 0,
		.clean_as_of = le_get64(p + 144),
		.whole_bytes = le_get64(p + 152),
		.plain_bytes = le_get64(p + 168),
		.terms = get_terms(p + 80),
	};
	if (!parts_fit(&r, all))
		return "its parts do not fit its length";
	r.head.p = r.key.p + r.key.n;
	r.tags.p = r.head.p + r.head.n;
	r.fragments = r.tags.p + r.tags.n;
	const char *end = r.fragments + (size_t)r.fragments_n * FRAGMENT_ENTRY_BYTES;
	if (r.is_inline)
		r.body = p + all - r.body_bytes;
	if (le_get64(p + 8) != segment_checksum(p + 16, (size_t)(end - p) - 16))
		return "its checksum is wrong";
	if (!fragments_add_up(&r))
		return "its fragments do not add up to its body";
	*out = r;
	return NULL;
}

bool
record_body_is_right(const struct record *r)
{
	return !r->is_inline || segment_checksum(r->body, r->body_bytes) == r->body_checksum;
}

/* ---- batches and footers ------------------------------------------------------------------- */

uint64_t
footer_bytes(uint64_t entries)
{
	return round_up(SEGMENT_HEADER_BYTES + entries * SEGMENT_ENTRY_BYTES, SEGMENT_PAGE);
}

void
batch_header_format(struct batch_header *h, char *to)
{
	memset(to, 0, SEGMENT_HEADER_BYTES);
	le_put32(to, h->is_footer ? FOOTER_MAGIC : BATCH_MAGIC);
	le_put32(to + 4, h->segment);
	le_put32(to + 8, h->generation);
	le_put32(to + 12, h->page);
	le_put32(to + 16, h->bytes);
	le_put32(to + 20, h->table_at);
	le_put32(to + 24, h->entries);
	le_put64(to + 32, h->table_checksum);
	le_put64(to + 40, h->link);
	le_put64(to + 48, h->opening);
	le_put64(to + 56, h->clean_as_of);
	le_put64(to + 72, h->opened_s);
	h->seal = segment_checksum(to, SEAL_AT);
	le_put64(to + SEAL_AT, h->seal);
}

bool
batch_header_parse(const char *p, size_t n, struct batch_header *out)
{
	if (n < SEGMENT_HEADER_BYTES)
		return false;
	uint32_t magic = le_get32(p);
	if ((magic != BATCH_MAGIC && magic != FOOTER_MAGIC) ||
	    le_get64(p + SEAL_AT) != segment_checksum(p, SEAL_AT))
		return false;
	*out = (struct batch_header){
		.is_footer = magic == FOOTER_MAGIC,
		.segment = le_get32(p + 4),
		.generation = le_get32(p + 8),
		.page = le_get32(p + 12),
		.bytes = le_get32(p + 16),
		.table_at = le_get32(p + 20),
		.entries = le_get32(p + 24),
		.table_checksum = le_get64(p + 32),
		.link = le_get64(p + 40),
		.opening = le_get64(p + 48),
		.clean_as_of = le_get64(p + 56),
		.opened_s = le_get64(p + 72),
		.seal = le_get64(p + SEAL_AT),
	};
	uint64_t table = (uint64_t)out->entries * SEGMENT_ENTRY_BYTES;
	return out->bytes % SEGMENT_PAGE == 0 && out->bytes >= SEGMENT_PAGE &&
	       out->table_at <= out->bytes && table <= out->bytes - out->table_at;
}
