/* fill_memory.c - a trip's memory: some are kept for the next ones, with the memory of their keys.
 */
#include "proxy/serve/fill_inside.h"

#include "proxy/base/mem.h"
#include "proxy/cache/cache_forget.h"
#include "proxy/cache/store/object_facts.h"
#include "proxy/serve/bill.h"
#include "proxy/serve/keep/keep.h"
#include "proxy/serve/run.h"

#include "proxy/serve/sight.h"

#include <assert.h>
#include <stdlib.h>

enum { SPARES_MAX = 64 };

struct fill *
fill_new(struct txn *t, enum fill_kind kind, struct flight *flight)
{
	struct serve *s = t->serve;
	struct fill *f = s->spare_fills;
	assert(t->stream && t->route && t->key.primary_bytes);
	if (f) {
		s->spare_fills = f->next;
		s->spare_fill_count--;
	} else {
		f = NEW(struct fill);
	}
	memset((char *)f + offsetof(struct fill, serve), 0,
	       sizeof *f - offsetof(struct fill, serve));
	f->serve = s;
	f->settings = settings_ref(t->settings);
	f->kind = kind;
	f->flight = flight_ref(flight);
	f->as_it_came = t->way == WAY_AS_IT_CAME || kind == FILL_PASS;
	f->route = t->route;
	f->arena = arena_ref(t->arena);
	f->rq = t->rq;
	key_copy(&f->key, &t->key);
	f->tags.n = 0;
	f->landed = t->look.landed;
	f->sighting = t->sighting;
	f->reload = kind == FILL_VALIDATE && t->look.reuse.fwd &&
		    strcmp(t->look.reuse.fwd, "request") == 0;
	f->begun = cache_now(s->shelves->cache);
	f->filed.request = bill_request(t);
	buf_add_str(&f->variants.names, buf_str(&t->variants.names));
	txn_peer(t, f->client_ip);
	f->asker = sight_asker(t);
	f->outgoing = t->outgoing;
	f->outgoing.rq = &f->rq;
	outgoing_is_from(&f->outgoing, str_of(f->client_ip), f->settings->trusted,
			 f->settings->trusted_count);
	f->outgoing.request_id = txn_request_id(t);
	memcpy(f->request_id, f->outgoing.request_id.p, f->outgoing.request_id.n);
	f->outgoing.request_id.p = f->request_id;
	f->outgoing.shared = t->outgoing.shared && t->way != WAY_PASSING;
	f->asked.class = outgoing_class(&f->outgoing);
	f->asked.by_coding = t->look.by_coding;
	if (kind == FILL_MISS && t->look.spare)
		f->asked.other = object_ref(t->look.spare);
	f->asked.of_node = t->from.node;
	f->asked.moved = t->outgoing.shared && t->way == WAY_SHARED && !t->from.asks &&
			 t->rq.method == METHOD_GET && !f->as_it_came;
	f->asked.elsewhere = t->from.elsewhere && t->way != WAY_PASSING;
	f->next = s->fills;
	f->prev = &s->fills;
	if (f->next)
		f->next->prev = &f->next;
	s->fills = f;
	return f;
}

/* A trip that begins with an object brings nothing cleaner than that. */
static void
begun_with(struct fill *f, struct object *o)
{
	uint64_t clean = atomic_load_explicit(&o->clean_as_of, memory_order_relaxed);
	f->begun = clean < f->begun ? clean : f->begun;
}

void
fill_hold_stored(struct fill *f, const struct txn *t)
{
	if (!t->object)
		return;
	begun_with(f, f->object = object_ref(t->object));
	if (f->kind == FILL_VALIDATE)
		fill_asks_as_stored(f, &f->object->terms);
}

/* No more of the request's body from that client. */
void
fill_drop_feeder(struct fill *f)
{
	if (f->feeder)
		f->feeder->upload.fill = NULL;
	f->feeder = NULL;
}

/* Kept for the next trip, with the memory of its key. */
static void
give_back(struct fill *f)
{
	struct serve *s = f->serve;
	if (s->spare_fill_count >= SPARES_MAX || f->key.text.cap > FILL_KEY_BYTES ||
	    f->tags.cap > FILL_KEY_BYTES) {
		key_fini(&f->key);
		buf_fini(&f->tags);
		free(f);
		return;
	}
	f->next = s->spare_fills;
	s->spare_fills = f;
	s->spare_fill_count++;
}

void
fill_free(struct fill *f)
{
	assert(!f->fetch); /* it has ended, or was cancelled */
	*f->prev = f->next;
	if (f->next)
		f->next->prev = f->prev;
	fill_drop_feeder(f);
	alarm_cancel(&f->serve->alarms, &f->ask_again);
	alarm_cancel(&f->serve->alarms, &f->claims.rest);
	backend_end(&f->backend);
	keep_no_write(f);
	keep_end_turn(f);
	intake_fini(&f->in);
	run_end(f);
	flights_close(f->flight);
	flight_drop_leader(f->flight);
	flight_unref(&f->flight);
	object_unref(&f->object);
	object_unref(&f->asked.other);
	arena_unref(&f->arena);
	variants_fini(&f->variants);
	settings_unref(&f->settings);
	give_back(f);
}

void
fill_free_spares(struct serve *s)
{
	while (s->spare_fills) {
		struct fill *f = s->spare_fills;
		s->spare_fills = f->next;
		key_fini(&f->key);
		buf_fini(&f->tags);
		free(f);
	}
	s->spare_fill_count = 0;
	buf_fini(&s->lines);
	key_fini(&s->stored_key);
}
