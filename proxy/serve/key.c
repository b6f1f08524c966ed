/* key.c - marks behind a primary key. No request's primary key holds a line end followed by '#' or
 * '%': the lines that outgoing.c adds begin with a name, or with '@' (cachekey.h). */
#include "proxy/serve/key.h"

#include "filter/hash_equal.h"

#include <assert.h>

/* A key must be so at the doors. */
static void
check(const struct key *k)
{
	assert(k->primary_bytes <= k->text.n);
	bool primary = k->primary_bytes == k->text.n;
	assert(!primary || key_hash_equal(k->hash, k->primary));
}

void
key_fini(struct key *k)
{
	buf_fini(&k->text);
	*k = (struct key){0};
}

void
key_is_primary(struct key *k, const struct twice_seed *seed)
{
	k->primary_bytes = k->text.n;
	k->primary = k->hash = k->sighting = twice_key_hash_of(seed, k->text.p, k->text.n);
	check(k);
}

void
key_copy(struct key *to, const struct key *from)
{
	check(from);
	to->text.n = 0;
	buf_add_str(&to->text, buf_str(&from->text));
	to->primary_bytes = from->primary_bytes;
	to->primary = from->primary;
	to->hash = from->hash;
	to->sighting = from->sighting;
}

void
key_back_to_primary(struct key *k)
{
	k->text.n = k->primary_bytes;
	k->hash = k->sighting = k->primary;
	check(k);
}

struct str
key_primary(const struct key *k)
{
	return (struct str){k->text.p, k->primary_bytes};
}

void
variants_fini(struct variants *v)
{
	buf_fini(&v->names);
}

void
variants_clear(struct variants *v)
{
	v->names.n = 0;
}

void
variants_read(struct variants *v, struct str head)
{
	variants_clear(v);
	buf_add_str(&v->names, head);
}

void
key_to_variant(struct key *k, const struct twice_seed *seed, struct str values)
{
	assert(k->text.n == k->primary_bytes);
	buf_add_lit(&k->text, "\n#");
	buf_add_str(&k->text, values);
	k->hash = twice_key_hash_of(seed, k->text.p, k->text.n);
	k->sighting = sighting_key(seed, k->primary, values);
}

void
key_to_slice(struct key *k, const struct twice_seed *seed, size_t base_bytes, struct str validator,
	     uint64_t total, uint64_t number)
{
	assert(base_bytes >= k->primary_bytes && base_bytes <= k->text.n);
	k->text.n = base_bytes;
	buf_add_lit(&k->text, "\n%slice ");
	buf_add_u64(&k->text, total);
	buf_add_lit(&k->text, " ");
	buf_add_u64(&k->text, number);
	buf_add_lit(&k->text, " ");
	buf_add_str(&k->text, validator); /* last: whatever it holds, the rest is told apart */
	k->hash = twice_key_hash_of(seed, k->text.p, k->text.n);
}
