/* segment.h - the format of the disk log: records, batches and footers as bytes. Pure.
 *
 * A segment file is a run of batches, written front to back and each page once, and a footer:
 *
 *	| batch | batch | batch | ...            unused            | footer |
 *	0       (multiples of PAGE)                                 segment_bytes
 *
 * A batch is what was gathered in memory and written by one pwrite:
 *
 *	| header 128 | record | fragment | record | ... | table | zeros to the page |
 *
 * All numbers are little-endian. Records and fragments start at multiples of ALIGN. FORMAT.md,
 * beside this file, describes the directory around the segments.
 *
 * batch header (128)                        footer trailer (the last 128 bytes of the file)
 *   0 u32 magic "TWB2"                        0 u32 magic "TWF2"
 *   4 u32 segment                             4 u32 segment
 *   8 u32 generation                          8 u32 generation
 *  12 u32 offset in the segment, in pages    12 u32 end of the last batch, in pages
 *  16 u32 bytes of the batch                 16 u32 bytes of the footer
 *  20 u32 where the table starts             20 u32 where the table starts, from the footer's start
 *  24 u32 entries in the table               24 u32 entries in the table
 *  28 u32 0                                  28 u32 0
 *  32 u64 XXH3 of the table                  32 u64 XXH3 of the table
 *  40 u64 link: seal of the batch before     40 u64 0
 *  48 u64 opening: random, one per start     48 u64 the same
 *  56 u64 the least clean_as_of of its       56 u64 the least of all batches
 *         records; all ones: it has none
 *  64 u64 0                                  64 u64 0
 *  72 u64 0                                  72 u64 when the segment was opened, unix seconds
 *  80 u64 0                                  80 u64 what the segment had earned when it was sealed
 *  88 zeros                                  88 zeros
 * 120 u64 seal: XXH3 of bytes 0..119        120 u64 seal: XXH3 of bytes 0..119
 *
 * table entry (16): u64 hash.hi, u32 offset / ALIGN, u32 bytes (low 24 bits) and what it is (high 8
 * bits: ENTRY_*). The table lists records and fragments in order. A footer's table is the batches'
 * tables in order. Tags lie in the records, which whoever asks for one reads anyway.
 *
 * record: header (176), key, head, tags, fragment table; when the body is inline: zeros to ALIGN,
 * body
 *   0 u32 magic "TWR2"      4 u32 0           8 u64 XXH3 of bytes 16 .. end of the fragment table
 *  16 u32 bytes in all     20 u32 segment    24 u32 generation    28 u32 offset / ALIGN
 *  32 u64 hash.lo          40 u64 hash.hi    48 u64 body bytes    56 u64 XXH3 of an inline body
 *  64 u32 key bytes        68 u32 head bytes 72 u32 fragments     76 u8 kind, u8 1: inline, u16 0
 *  80 struct terms: i64 response_time, initial_age, lifetime, date, last_modified;
 *     i32 stale_while_revalidate, stale_if_error; u32 flags; u16 status, server; u32 etag_at,
 *     etag_bytes
 * 144 u64 clean_as_of: nothing that was forgotten up to here (forget.h) covers it
 * 152 u64 bytes of the whole body that lies in slices, or of which this is a slice; else 0
 * 160 u32 bytes of tags, u32 0. Which slice it is the key says.
 * 168 u64 bytes that a coded body expands to, or why that is not known (object_facts.h)
 * The head is bytes of http/; nothing here looks into it. tags: 4 bytes for each, see forget_tag.
 * fragment table entry (24): u32 segment, u32 generation, u32 offset / ALIGN, u32 bytes, u64 XXH3
 * A fragment is bare body bytes; all of one object have the same length but the last.
 *
 * Valid     a generation is the number of times any segment was opened: never used twice. A batch
 *           counts when its seal is right, it names the place where it is, and it links to the
 *           batch before it. A footer counts when its generation is that of the batch at 0, or
 *           when the batch at 0 was never written. A record counts when its checksum is right, it
 *           names the place where it is, and nothing that was forgotten covers it.
 * Crash     what was not yet written (the batch in memory, at most some seconds) is lost. A torn
 *           batch may be listed by its table: its damaged records are misses when they are read.
 *           What stood behind a torn batch never comes back: what is written there next has
 *           another seal (its opening differs, if nothing else does), and the link is broken.
 *           A segment in which a write failed is sealed at once, so that its footer lists what
 *           was written behind the hole. If the footer cannot be written either, or a batch is
 *           lost, the keys of the records that replaced older ones are forgotten (forget.h).
 *           Segments are never synced. A loss of power may lose any object, and may bring back an
 *           older answer to a URL in place of its newest one while the older one is still fresh by
 *           its own terms. It never brings back what was purged before the call returned: that is in
 *           the purge log, which is synced, and the record's clean_as_of is compared with it at every
 *           lookup. An invalidation by a client's request is there a second later (forget.h: Ordered).
 * Start     sealed segments are restored from their footers, others by walking their batches, in
 *           order of generation; a later entry of a key wins over an earlier one.
 */
#ifndef CACHE_SEGMENT_H
#define CACHE_SEGMENT_H

#include "filter/hash.h"
#include "proxy/base/str.h"
#include "proxy/http/policy.h"

enum {
	SEGMENT_PAGE = 4096,
	SEGMENT_ALIGN = 16,
	SEGMENT_HEADER_BYTES = 128, /* of a batch, and the trailer of a footer */
	SEGMENT_ENTRY_BYTES = 16,
	RECORD_HEADER_BYTES = 176,
	FRAGMENT_ENTRY_BYTES = 24,
	/* The index counts record lengths in RECORD_UNITs, up to this. */
	RECORD_UNIT = 512,
	RECORD_MAX_BYTES = 1023 * RECORD_UNIT,
};

static inline uint64_t
round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* A locator leads to bytes in the log; bytes 0: to none. */
struct locator {
	uint32_t segment, generation;
	uint32_t offset; /* in units of SEGMENT_ALIGN */
	uint32_t bytes;	 /* of the record, possibly rounded up to RECORD_UNIT */
};

/* Whether both mean the same place, at the same time. */
static inline bool
locator_equal(const struct locator *a, const struct locator *b)
{
	return a->segment == b->segment && a->generation == b->generation && a->offset == b->offset;
}

struct fragment {
	struct locator at;
	uint64_t checksum;
};

struct record {
	struct locator at;
	struct twice_key_hash hash;
	struct str key, head; /* views */
	struct str tags;      /* a view: 4 bytes each, little-endian */
	struct terms terms;
	uint64_t body_bytes;
	uint64_t whole_bytes; /* of a body in slices, or of which this is a slice */
	uint64_t plain_bytes; /* see object_facts.h */
	uint64_t clean_as_of;
	uint8_t kind; /* enum object_kind */
	bool is_inline;
	uint32_t fragments_n;
	const char *fragments; /* view of the encoded table: fragment_get */
	const char *body;      /* view, when inline */
	uint64_t body_checksum;
};

uint64_t segment_checksum(const void *p, size_t n);

/* Bytes of a record with so many of key, head and tags, the padding to SEGMENT_ALIGN not counted. */
uint64_t record_bytes(size_t text_bytes, size_t fragments_n, uint64_t inline_bytes);
static inline size_t
record_text_bytes(const struct record *r)
{
	return r->key.n + r->head.n + r->tags.n;
}
/* Writes r at to (record_bytes of room). r->fragments is an encoded table. */
void record_format(const struct record *r, char *to);
/* NULL when p[0..n) starts with a whole record that is right, but for an inline body's checksum
 * (record_body_is_right); else what is wrong with it. */
const char *record_parse(const char *p, size_t n, struct record *out);
bool record_body_is_right(const struct record *r);

struct fragment fragment_get(const char *table, uint32_t i);
void fragment_put(char *table, uint32_t i, const struct fragment *f);

/* Or-ed to ENTRY_RECORD. ENTRY_REPLACES: an older record of the key may lie in the log. ENTRY_APART:
 * its body does not lie in it, but elsewhere in the log. */
enum { ENTRY_RECORD = 1, ENTRY_FRAGMENT = 3, ENTRY_APART = 0x40, ENTRY_REPLACES = 0x80 };

struct entry {
	uint64_t hash_hi;
	uint32_t offset, bytes;
	uint8_t what;
};
static inline bool
entry_is_record(const struct entry *e)
{
	return (e->what & ~(ENTRY_APART | ENTRY_REPLACES)) == ENTRY_RECORD;
}
struct entry entry_get(const char *table, uint32_t i);
void entry_put(char *table, uint32_t i, const struct entry *e);

struct batch_header {
	bool is_footer;
	uint32_t segment, generation;
	uint32_t page, bytes, table_at, entries;
	uint64_t table_checksum, link, opening;
	uint64_t clean_as_of; /* the least of its records' */
	uint64_t opened_s;    /* of a footer */
	uint64_t seal;	      /* set by parsing and formatting */
};
void batch_header_format(struct batch_header *h, char *to);
/* False when it is not a header, is damaged, or its numbers contradict each other. */
bool batch_header_parse(const char *p, size_t n, struct batch_header *out);

/* Bytes of a footer with so many entries, a multiple of SEGMENT_PAGE. */
uint64_t footer_bytes(uint64_t entries);

#endif
