/* sight.c - which kind of sighting is it? Only the request's own words decide. */
#include "proxy/serve/sight.h"

#include "proxy/base/clock.h"
#include "proxy/base/network.h"
#include "proxy/cache/slice_bytes.h"
#include "proxy/cache/store/object_facts.h"
#include "proxy/cache/admission/seen.h"
#include "proxy/http/forwarded.h"
#include "proxy/http/range.h"
#include "proxy/serve/rules/slices.h"
#include "proxy/serve/txn.h"

#include <string.h>

/* Larger than any body, so that a range that counts from the end does not reach the beginning. It counts for a
 * slice of its own. */
static const uint64_t ENDLESS = UINT64_C(1) << 62;

static uint64_t
first_of(const struct range *ranges, unsigned n)
{
	uint64_t first = ranges[0].at;
	for (unsigned i = 1; i < n; i++)
		first = ranges[i].at < first ? ranges[i].at : first;
	return first;
}

/* Apart from what all requests go through, for its ranges want a large frame. */
__attribute__((noinline)) static enum sighting_kind
kind_of_range(const struct request *rq, uint64_t *slice)
{
	struct range ranges[RANGES_MAX];
	unsigned n = 0;
	struct str range = fields_get(&rq->fields, FIELD_RANGE);
	if (!range.n || range_parse(range, ENDLESS, ranges, &n) == RANGE_WHOLE)
		return SIGHTING_PLAIN;
	uint64_t first = first_of(ranges, n);
	*slice = first / SLICE_BYTES;
	return first ? SIGHTING_RANGE_BEHIND : SIGHTING_RANGE_FIRST;
}

static enum sighting_kind
kind_of(const struct request *rq, uint64_t *slice)
{
	if (rq->method == METHOD_HEAD)
		return SIGHTING_HEAD;
	if (rq->method != METHOD_GET)
		return SIGHTING_OTHER;
	return fields_has(&rq->fields, FIELD_RANGE) ? kind_of_range(rq, slice) : SIGHTING_PLAIN;
}

void
sight_of(const struct request *rq, const struct route *route, int status, struct sighting_facts *f)
{
	*f = (struct sighting_facts){
		.route = route->admit,
		.sightings = route->sightings,
		.max_object_bytes = route->max_object_bytes,
		.storable = true,
		.status = status,
		.body_bytes = UINT64_MAX,
	};
	f->kind = kind_of(rq, &f->slice);
	if (sighting_is_range(f->kind))
		f->now_s = now_s();
}

/* A stale copy that may answer while a new one is fetched is of use as long. */
int64_t
sight_life_s(const struct terms *terms)
{
	bool fresh = !(terms->flags & TERMS_NO_CACHE) && terms->lifetime > 0;
	return fresh ? terms->lifetime + terms->stale_while_revalidate - terms->initial_age : 0;
}

void
sight_life(struct sighting_facts *f, const struct terms *terms, int64_t now)
{
	int64_t passed = now > terms->response_time ? now - terms->response_time : 0;
	f->has_life = true;
	f->confirmed = terms->flags & TERMS_CONFIRMED;
	f->fresh_s = sight_life_s(terms) - passed;
}

struct asker
sight_asker(const struct txn *t)
{
	const struct settings *s = t->settings;
	struct asker a = {.address = {0}};
	if (s->trusted_count) {
		char peer[STREAM_PEER_BYTES] = "";
		txn_peer(t, peer);
		network_client(
			forwarded_client(&t->rq.fields, s->trusted, s->trusted_count, str_of(peer)),
			a.address);
	} else {
		if (t->from.sibling)
			network_address(str_of(t->from.ip), a.address);
		else
			stream_address(t->stream, a.address);
		network_cut_to_client(a.address);
	}
	askers_hash(&a, t->serve->shelves->seed);
	return a;
}

/* The node that owns the key counts it, and writes it. */
static void
of_owner(const struct txn *t, struct sighting_facts *f)
{
	if (txn_is_billed_elsewhere(t))
		f->kind = SIGHTING_ELSEWHERE;
}

void
sight_of_txn(const struct txn *t, int status, struct sighting_facts *f)
{
	sight_of(&t->rq, t->route, status, f);
	of_owner(t, f);
	f->from = sight_asker(t);
}

void
sight_of_object(const struct txn *t, struct sighting_facts *f)
{
	const struct object *o = t->object;
	bool in_slices = o->kind == OBJECT_SLICED;
	sight_of(&t->rq, t->route, o->terms.status, f);
	of_owner(t, f);
	f->on_disk = o->on_disk && !in_slices; /* of a body in slices these may not be */
	f->admitted = o->on_disk && in_slices;
	f->body_bytes = slices_length(o);
	/* Of what is on disk nobody has to know who asks for it, but for ranges. */
	if (fields_has(&t->rq.fields, FIELD_RANGE) ||
	    (!f->on_disk && seen_asks_who(t->serve->shelves->seen)))
		f->from = sight_asker(t);
	if (!o->on_disk)
		sight_life(f, &o->terms, now_s());
}

void
sight_stored(struct txn *t, bool confirmed)
{
	struct sighting_facts f;
	sight_of_object(t, &f);
	bool ours = f.kind != SIGHTING_ELSEWHERE;
	if (confirmed && !t->object->on_disk && f.kind == SIGHTING_PLAIN)
		f.kind = SIGHTING_CONFIRMED;
	else if (ours && !f.admitted && f.kind != SIGHTING_HEAD) /* else it may bring slices */
		f.kind = SIGHTING_VALIDATION;
	t->sighting = seen_look(t->serve->shelves->seen, t->key.sighting, &f);
}
