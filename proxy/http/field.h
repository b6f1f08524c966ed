/* field.h - a list of header fields as views into somebody's bytes.
 *
 * Memory    views: they hold as long as the bytes that were parsed. The array is the caller's.
 * Order     kept as received; fields of one name may be in several lines (RFC 9110 5.3).
 */
#ifndef HTTP_FIELD_H
#define HTTP_FIELD_H

#include "proxy/base/str.h"

enum field_id {
	FIELD_OTHER, /* a name we pass on and know nothing about */
#define FIELD(id, name) FIELD_##id,
#include "proxy/http/field_names.h"
#undef FIELD
	FIELD_COUNT
};
_Static_assert(FIELD_COUNT <= 64, "struct fields keeps one bit per known name");

/* Sets of known names: FIELD_BIT(HOST) | FIELD_BIT(VIA). */
#define FIELD_BIT(name) (UINT64_C(1) << FIELD_##name)
static inline uint64_t
field_bit(enum field_id id)
{
	return UINT64_C(1) << id;
}

struct field {
	struct str name, value; /* value without surrounding whitespace */
	enum field_id id;
};

#define FIELDS_MAX 256 /* upper bound of any field-count limit */

struct fields {
	struct field *v; /* caller's array */
	unsigned n, cap;
	uint64_t present; /* bit per field_id: most questions end here */
};

/* The id of a name, case-insensitively; FIELD_OTHER when it is none of ours. */
enum field_id field_id_of(struct str name);

static inline bool
fields_has(const struct fields *f, enum field_id id)
{
	return f->present >> id & 1;
}

/* Appends; false when the array is full. */
bool fields_add(struct fields *f, struct str name, struct str value);
/* Without the lines of that name. */
void fields_drop(struct fields *f, enum field_id id);
/* First line of that name at or after index *at (start with 0),
 * which moves behind it; NULL: none. */
const struct field *fields_next(const struct fields *f, enum field_id id, unsigned *at);
const struct field *fields_next_named(const struct fields *f, struct str name, unsigned *at);
/* The only or first line's value; {NULL,0} when absent. */
struct str fields_get(const struct fields *f, enum field_id id);
unsigned fields_count(const struct fields *f, enum field_id id);
/* True when a comma-separated list field holds that token in any of its lines, ignoring case. */
bool fields_list_has(const struct fields *f, enum field_id id, struct str token);

/* Places of the lines in the order of their names, for many questions about names that we have no
 * id for: each costs a few comparisons instead of one per line. */
struct fields_order {
	uint8_t at[FIELDS_MAX];
};
/* f has at most FIELDS_MAX lines. n log n, whatever the names. */
void fields_sort(const struct fields *f, struct fields_order *out);
bool fields_has_named(const struct fields *f, const struct fields_order *order, struct str name);

/* Bits of the fields that must not cross this hop, whatever Connection says: the fixed list of
 * RFC 9110 7.6.1 (Connection, Keep-Alive, Proxy-Connection, TE, Transfer-Encoding, Upgrade,
 * Trailer, Proxy-Authenticate, Proxy-Authorization...). */
extern const uint64_t fields_hop_by_hop;

/* A Connection lists these fields, one bit per place in the array. */
struct fields_listed {
	uint64_t bits[FIELDS_MAX / 64];
	bool any;
};
enum { FIELDS_OPTIONS_MOST = 32 };
/* Reads all Connection lines once. A field that every recipient needs (Host, Cache-Control,
 * Authorization...) is not listed: 7.6.1 forbids it. False: more than FIELDS_OPTIONS_MOST options,
 * which no honest sender has. */
bool fields_read_listed(const struct fields *f, struct fields_listed *out);
static inline bool
fields_is_listed(const struct fields_listed *l, unsigned i)
{
	return l->any && (l->bits[i / 64] >> i % 64 & 1);
}

#endif
