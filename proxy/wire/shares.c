/* shares.c - one pass over a worker's connections, and a slot for each address. */
#include "proxy/wire/shares.h"

#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/base/network.h"
#include "proxy/wire/conn.h"

#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

struct shares *
shares_create(uint64_t seed)
{
	struct shares *s = NEW(struct shares);
	s->seed = seed;
	if (!seed && getrandom(&s->seed, sizeof s->seed, 0) != (ssize_t)sizeof s->seed)
		s->seed = (uintptr_t)s; /* an old kernel without entropy: better than a constant */
	return s;
}

bool
shares_are_due(const struct shares *s)
{
	return !s->ms || now_ms() - s->ms >= SHARES_LOOK_MS;
}

static size_t
slot(const struct shares *s, const unsigned char address[16])
{
	return XXH3_64bits_withSeed(address, 16, s->seed) % SHARES_SLOTS;
}

size_t
shares_slot_of(const struct shares *s, const struct wire *w, const struct sockaddr *peer)
{
	unsigned char address[16];
	if (peer->sa_family != AF_INET && peer->sa_family != AF_INET6)
		return SHARES_SLOTS;
	network_of_socket(peer, address);
	if (network_any_has(w->o.forwarders, w->o.forwarder_count, address))
		return SHARES_SLOTS;
	network_cut_to_client(address);
	return slot(s, address);
}

size_t
shares_slot(const struct shares *s, const struct conn *c)
{
	struct sockaddr_storage peer;
	unsigned char lone[16] = {0};
	conn_peer_address(c, &peer);
	size_t of = shares_slot_of(s, c->wire, (struct sockaddr *)&peer);
	if (of < SHARES_SLOTS)
		return of;
	memcpy(lone, &c, sizeof c);
	return slot(s, lone);
}

unsigned
shares_look(struct shares *s, const struct wire *w, shares_weigh_fn *weigh)
{
	unsigned n = 0;
	memset(s->of, 0, sizeof s->of);
	for (struct conn *c = w->conns; c; c = c->next) {
		size_t has = weigh(c), of;
		if (has == 0)
			continue;
		of = shares_slot(s, c);
		n += s->of[of].has == 0;
		s->of[of].has += has;
		if (s->of[of].most_has >= has)
			continue;
		s->of[of].most_has = has;
		s->of[of].most = c;
	}
	s->ms = now_ms();
	return n;
}
