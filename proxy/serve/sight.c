/* sight.c - which kind of sighting is it? Only the request's own words decide. */
#include "proxy/serve/sight.h"

#include "proxy/base/clock.h"
#include "proxy/cache/object_facts.h"
#include "proxy/cache/seen.h"
#include "proxy/http/forwarded.h"
#include "proxy/http/range.h"
#include "proxy/serve/txn.h"

#include <string.h>

/* Larger than any body, so that a range that counts from the end does not reach the beginning. */
static const uint64_t ENDLESS = UINT64_C(1) << 62;

static bool
asks_for_first_byte(const struct slice *slices, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (slices[i].at == 0)
			return true;
	return false;
}

static enum sighting_kind
kind_of(const struct request *rq)
{
	struct slice slices[RANGES_MAX];
	unsigned n = 0;
	if (rq->method == METHOD_HEAD)
		return SIGHTING_HEAD;
	if (rq->method != METHOD_GET)
		return SIGHTING_OTHER;
	struct str range = fields_get(&rq->fields, FIELD_RANGE);
	if (!range.n || range_parse(range, ENDLESS, slices, &n) == RANGE_WHOLE)
		return SIGHTING_PLAIN;
	return asks_for_first_byte(slices, n) ? SIGHTING_RANGE_FIRST : SIGHTING_RANGE_ELSEWHERE;
}

struct sighting_facts
sight_of(const struct request *rq, const struct route *route, int status, struct str client,
	 const struct twice_seed *seed)
{
	struct sighting_facts f = {
		.kind = kind_of(rq),
		.route = route->admit,
		.sightings = route->sightings,
		.max_object_bytes = route->max_object_bytes,
		.storable = true,
		.status = status,
		.body_bytes = UINT64_MAX,
	};
	if (f.kind == SIGHTING_RANGE_FIRST) {
		f.client = twice_key_hash_of(seed, client.p, client.n).lo;
		f.now_s = now_s();
	}
	return f;
}

struct sighting_facts
sight_of_txn(const struct txn *t, int status)
{
	char peer[STREAM_PEER_BYTES] = "";
	struct str client = {NULL, 0};
	if (fields_has(&t->rq.fields, FIELD_RANGE)) {
		stream_peer(t->stream, peer);
		client = forwarded_client(&t->rq.fields, t->settings->trusted,
					  t->settings->trusted_count, str_of(peer));
	}
	return sight_of(&t->rq, t->route, status, client, t->serve->shelves->seed);
}

struct sighting_facts
sight_of_object(const struct txn *t)
{
	const struct object *o = t->object;
	bool in_slices = o->kind == OBJECT_SLICED;
	struct sighting_facts f = sight_of_txn(t, o->terms.status);
	f.on_disk = o->on_disk && !in_slices; /* its slices may not be */
	f.admitted = o->on_disk && in_slices;
	return f;
}

void
sight_stored(struct txn *t)
{
	struct sighting_facts f = sight_of_object(t);
	if (!f.admitted && f.kind != SIGHTING_HEAD) /* else it may bring slices */
		f.kind = SIGHTING_VALIDATION;
	t->sighting = seen_look(t->serve->shelves->seen, t->key.sighting, &f);
}
