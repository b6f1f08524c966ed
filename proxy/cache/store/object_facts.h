/* object_facts.h - a stored response, as whoever is handed one sees it: what it is, under which key,
 * and what is known of its body.
 *
 * Memory    objects are counted: whoever is handed one owes object_unref.
 * Threads   any: an object is constant once it was handed out, but for what is atomic.
 */
#ifndef CACHE_OBJECT_FACTS_H
#define CACHE_OBJECT_FACTS_H

#include "filter/hash.h"
#include "proxy/base/str.h"
#include "proxy/http/policy.h"

#include <stdatomic.h>
#include <stdint.h>

enum object_kind {
	OBJECT_RESPONSE,
	OBJECT_MARKER, /* stands at a primary key: says on which fields its variants vary (head) */
	OBJECT_SLICED, /* a head without a body: whole_bytes of it lie in slices */
	OBJECT_SLICE /* a body without a head, under a key of its own: of whole_bytes, one slice */
};
#define OBJECT_NOT_EXPANDED UINT64_C(0)
#define OBJECT_EXPANDS_NOT  UINT64_MAX
enum object_place { OBJECT_IN_RAM, OBJECT_ON_DISK };

struct object { /* constant once handed out, but for refs and the private part */
	_Atomic uint32_t refs;
	uint8_t kind;
	uint8_t place;		      /* where this body is read from */
	_Atomic uint8_t on_disk;      /* a copy is (being) kept on disk */
	_Atomic uint8_t is_packed;    /* ... of its packed form, which takes its place then */
	_Atomic uint64_t clean_as_of; /* nothing forgotten up to then covers it (cache_now) */
	/* Since then it has been asked about without a gap: what came later is as clean as it is. */
	uint64_t clean_from;
	struct twice_key_hash hash;
	struct str key;	 /* the full key text */
	struct str head; /* stored head (http/head.h) */
	struct str tags; /* by which it may be purged: cache_tag of each, 4 bytes, little-endian */
	struct terms terms;
	uint64_t body_bytes;
	uint64_t whole_bytes; /* of SLICED and SLICE; else 0 */
	/* Of a body in a coding (TERMS_ONE_FORM): the bytes that it expands to, OBJECT_NOT_EXPANDED: nobody
	 * has tried, OBJECT_EXPANDS_NOT: it cannot be done. */
	_Atomic uint64_t plain_bytes;
	/* So often it was expanded for who takes another coding than its own: form.h has the most. */
	_Atomic uint8_t others;
			      /* private to cache/ behind this */
};
/* Bytes of the body as the origin sent it. */
static inline uint64_t
object_own_bytes(const struct object *o)
{
	return o->terms.flags & TERMS_PACKED ? atomic_load(&o->plain_bytes) : o->body_bytes;
}
struct object *object_ref(struct object *o);
void object_unref(struct object **o);

#endif
