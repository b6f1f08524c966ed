/* witness.c - two marks in a table of passes: somebody found it, and this client did. */
#include "proxy/serve/rules/witness.h"

#include "proxy/base/network.h"
#include "proxy/serve/rules/passes.h"

enum { SUSPECT_S = 600 }; /* within which a second client has to find the same */

uint64_t
witness_of(const struct twice_seed *seed, struct str address)
{
	unsigned char network[16];
	network_client(address, network);
	return twice_key_hash_of(seed, network, sizeof network).lo;
}

bool
witness_is_second(struct passes *p, struct twice_key_hash what, uint64_t client, int64_t now)
{
	struct twice_key_hash his = passes_key(what, client);
	bool second =
		passes_has(p, PASSES_HEARD, what, now) && !passes_has(p, PASSES_HEARD_BY, his, now);
	passes_remember(p, PASSES_HEARD, what, now + SUSPECT_S);
	passes_remember(p, PASSES_HEARD_BY, his, now + SUSPECT_S);
	return second;
}

bool
witness_is_known(struct passes *p, struct twice_key_hash what, uint64_t client, int64_t now)
{
	if (passes_has(p, PASSES_WITNESSED, what, now))
		return true;
	bool second = witness_is_second(p, what, client, now);
	if (second)
		passes_remember(p, PASSES_WITNESSED, what, now + SUSPECT_S);
	return second;
}
