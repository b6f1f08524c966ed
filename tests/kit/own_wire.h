/* own_wire.h - a test's own wire, on an event loop that turns when the test says so. */
#ifndef KIT_OWN_WIRE_H
#define KIT_OWN_WIRE_H

#include "proxy/base/clock.h"
#include "proxy/serve/stream.h"
#include "proxy/wire/clients.h"
#include "proxy/wire/arrival.h"
#include "proxy/wire/room.h"
#include "proxy/wire/wire.h"

#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>

struct own_wire {
	struct event_base *base;
	struct wire *wire;
	struct arena_pool arenas;
	struct clients *clients;
	struct room *room;
	struct metrics metrics;
};

/* up: borrowed; node: as wire_options says. */
static inline void
own_wire_begin(struct own_wire *w, const struct stream_up *up, void *node,
	       const struct wire_limits *limits, unsigned clients_most)
{
	struct event_config *ec = event_config_new();
	event_config_require_features(ec, EV_FEATURE_ET | EV_FEATURE_EARLY_CLOSE);
	w->base = event_base_new_with_config(ec);
	event_config_free(ec);
	w->clients = clients_create(&(struct clients_limits){.most = clients_most});
	w->room = room_create(1);
	w->wire = wire_create(&(struct wire_options){.base = w->base,
						     .metrics = &w->metrics,
						     .arenas = &w->arenas,
						     .clients = w->clients,
						     .room = w->room,
						     .up = up,
						     .node = node,
						     .limits = *limits});
	room_join(w->room, 0, w->wire, wire_arrive, NULL);
}

/* A 103 with one line goes to the client. */
static inline void
own_wire_hint(struct stream *s, struct str name, struct str value)
{
	struct buf text = {0};
	struct field_block_writer w;
	struct field_block head;
	field_block_begin(&w, &text, 103, STR("Early Hints"));
	field_block_add(&w, field_id_of(name), name, value);
	field_block_end(&w);
	if (!field_block_open(buf_str(&text), &head))
		abort();
	stream_interim(s, &head);
	buf_fini(&text);
}

/* Time passes, a second at a time. clock_ms: own_clock_ahead_ms; turn: of the test's event loop. */
static inline void
own_wire_pass(struct own_wire *w, _Atomic int64_t *clock_ms, int seconds, void (*turn)(void))
{
	for (int i = 0; i < seconds; i++) {
		*clock_ms += 1000;
		wire_tick(w->wire, now_ms());
		turn();
	}
}

/* Nothing may be left of any connection. */
static inline void
own_wire_end(struct own_wire *w)
{
	wire_destroy(&w->wire);
	room_leave(w->room, 0);
	room_destroy(&w->room);
	assert(clients_count(w->clients) == 0);
	assert(w->arenas.arenas == 0);
	clients_destroy(&w->clients);
	event_base_free(w->base);
	arena_pool_fini(&w->arenas);
}

#endif
