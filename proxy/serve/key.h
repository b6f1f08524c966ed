/* key.h - under which text and hash a thing lies: the primary key (outgoing.h made it), and
 * behind it what makes it the key of one variant or of a slice.
 *
 * The only place that makes keys of variants and slices. A marker lies at the primary key of
 * what varies and says on which request fields; a variant's key names them with their values. What
 * is forgotten (cache/forget/forget.h) is the URL, with all its variants. "\n%part" stays unused: up to
 * 28 November 2026 RAM, and no disk, kept 206s under it.
 *
 * Memory    a key and a struct variants own their bytes; fini leaves them zeroed.
 */
#ifndef SERVE_KEY_H
#define SERVE_KEY_H

#include "filter/hash.h"
#include "proxy/base/buf.h"
#include "proxy/cache/admission/sighting.h"

struct key {
	struct buf text; /* its first primary_bytes are the primary key */
	size_t primary_bytes;
	struct twice_key_hash primary, hash; /* of the primary key, of the text as it is */
	struct twice_key_hash
		sighting; /* under which requests for it count (cache/admission/sighting.h) */
};

void key_fini(struct key *k);
/* The text that was put into k->text is a primary key. */
void key_is_primary(struct key *k, const struct twice_seed *seed);
void key_copy(struct key *to, const struct key *from); /* to: zeroed, or a key before */
void key_back_to_primary(struct key *k);
struct str key_primary(const struct key *k); /* a view into the text */

/* A marker says this; no names: there is none. */
struct variants {
	struct buf names; /* as vary_names makes them */
};

void variants_fini(struct variants *v);
void variants_clear(struct variants *v); /* keeps the memory */
/* head: a marker's, which is the names. */
void variants_read(struct variants *v, struct str head);

/* From primary to the variant with these values (outgoing_variant made them). */
void key_to_variant(struct key *k, const struct twice_seed *seed, struct str values);
/* From a key whose first base_bytes are that of a body in slices (primary, or of a variant), to the
 * key of one slice of a version of it. */
void key_to_slice(struct key *k, const struct twice_seed *seed, size_t base_bytes,
		  struct str validator, uint64_t total, uint64_t number);

#endif
