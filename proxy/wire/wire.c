/* wire.c - who comes in, who is turned away, and the clock's turn. */
#include "proxy/wire/wire.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/base/process.h"
#include "proxy/http/field.h"
#include "proxy/wire/clients.h"
#include "proxy/wire/conn.h"
#include "proxy/wire/entrance.h"
#include "proxy/wire/h2.h"
#include "proxy/wire/places.h"
#include "proxy/wire/room.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* HOPS_MOST: how often a new client is handed over; each time somebody was quicker. JUDGED_MOST:
 * slow clients that are looked at for one that comes. JUDGED_AFTER: the part of its time limit
 * after which a client in a request is judged at the limit of connections. WARNED_MS: between two
 * lines of one kind. STUCK_MS: until what a client does not take is given back to serve.
 * LAST_MOST: clients taken from a queue that closes, more than one is long (net.core.somaxconn).
 * STREAMS_MS: between two looks at the limits of streams. */
enum {
	ACCEPT_MOST = 64,
	LAST_MOST = 8192,
	LINGER_MS = 2000,
	HOPS_MOST = 8,
	HOP_BYTES = 9 << 10,
	JUDGED_MOST = 16,
	JUDGED_AFTER = 8,
	WARNED_MS = 10000,
	STUCK_MS = 1000,
	STREAMS_MS = 1000
};

struct door { /* a listening socket */
	struct door *next;
	struct wire *wire;
	const struct listener *listener;
	struct event *ev;
	int fd;
	unsigned id;
};

/* ---- accepting ----------------------------------------------------------------------------- */

static void
refuse(struct wire *w, const struct arrival *a)
{
	metrics_add(w->o.metrics, METRIC_REFUSED_CONNECTIONS, 1);
	arrival_refuse(a);
	arrival_close(a);
}

static struct conn *
older(struct conn *a, struct conn *b)
{
	if (!a || !b)
		return a ? a : b;
	return a->wait_since_ms <= b->wait_since_ms ? a : b;
}

/* A client that is below the least rate so far; those that are not are looked at again only after
 * all others. */
static struct conn *
find_slow(struct wire *w, enum waiting kind)
{
	const struct wait_list *l = &w->waits[kind];
	int64_t now = now_ms();
	for (int i = 0; i < JUDGED_MOST; i++) {
		struct conn *c = l->first;
		if (!c || c->driving || now - c->wait_since_ms < l->judged_ms)
			break;
		if (!c->listener->sibling && c->front->is_slow(c))
			return c;
		c->front->timeout(c);
	}
	return NULL;
}

/* The longest idle connection. One whose next request is here, though nobody has read it yet, is
 * idle no more: it may have been accepted in this very round of the loop. */
static struct conn *
find_idle(const struct wire *w)
{
	struct conn *c = w->waits[WAIT_IDLE].first;
	for (int i = 0; c && i < JUDGED_MOST; i++, c = c->wait_next) {
		if (!c->driving && !c->listener->sibling && !conn_has_come(c))
			return c;
	}
	return NULL;
}

/* Siblings take no places of clients, and give none. */
static struct conn *
client_or_none(struct conn *c)
{
	return c && !c->listener->sibling ? c : NULL;
}

/* The connection that is missed least: of clients that may be gone, of those that ask for nothing,
 * or have not finished asking, the one that has waited the longest; at last one that is slow. */
static struct conn *
missed_least(struct wire *w)
{
	struct wait_list *l = w->waits;
	struct conn *c = client_or_none(older(l[WAIT_LINGER].first, l[WAIT_GONE].first));
	if (!c || c->driving)
		c = client_or_none(
			older(find_idle(w), older(l[WAIT_HEAD].first, l[WAIT_HANDSHAKE].first)));
	if (!c || c->driving)
		c = find_slow(w, WAIT_BODY);
	if (!c || c->driving)
		c = find_slow(w, WAIT_STUCK);
	if (!c || c->driving)
		c = find_slow(w, WAIT_STREAMS);
	if (!c || c->driving)
		c = find_slow(w, WAIT_TUNNEL);
	return c ? c : find_slow(w, WAIT_SEND);
}

static void
evict(struct conn *c)
{
	metrics_add(c->wire->o.metrics, METRIC_EVICTED_CONNECTIONS, 1);
	c->front->close(c);
}

/* At the limit: counted before the other is closed, so that nobody else gets the place. */
static enum clients_entry
replace(struct wire *w, const struct sockaddr *peer)
{
	struct conn *c = missed_least(w);
	if (!c)
		return CLIENTS_FULL;
	conn_check(c);
	enum clients_entry in = clients_enter_full(w->o.clients, peer);
	if (in == CLIENTS_IN)
		evict(c);
	return in;
}

/* The same with one that is missed, of an address that holds many. */
static enum clients_entry
succeed(struct wire *w, const struct arrival *a)
{
	struct conn *c = places_take(w, a);
	enum clients_entry in = clients_enter_full(w->o.clients, (const struct sockaddr *)&a->peer);
	if (in != CLIENTS_IN)
		return in;
	metrics_add(w->o.metrics, METRIC_EVICTED_CONNECTIONS, 1);
	if (c->front->give_way)
		c->front->give_way(c);
	else
		c->front->close(c);
	return in;
}

static void
on_event(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;
	(void)fd;
	conn_note(c, what);
	clock_begin_event();
	c->front->drive(c);
	clock_end_event();
}

void
wire_arrive(struct wire *w, const struct arrival *a)
{
	const struct sockaddr *peer = (const struct sockaddr *)&a->peer;
	conn_check_wire(w);
	enum clients_entry in = clients_enter(conn_clients(w, a->listener), peer);
	if (in == CLIENTS_FULL && !a->listener->sibling) {
		int at = a->hops < HOPS_MOST ? room_find(w->o.room, now_ms()) : -1;
		if (at >= 0 && (unsigned)at != w->o.worker &&
		    room_hand_over(w->o.room, (unsigned)at, a))
			return;
		in = replace(w, peer);
		at = in == CLIENTS_FULL ? places_find(w, a) : -1;
		if (at >= 0 && (unsigned)at != w->o.worker &&
		    room_hand_over(w->o.room, (unsigned)at, a))
			return;
		if (at >= 0 && (unsigned)at == w->o.worker)
			in = succeed(w, a);
	}
	if (in != CLIENTS_IN) {
		refuse(w, a);
		return;
	}
	struct conn *c = conn_open(w, a, entrance_front(a->listener), on_event);
	if (c && entrance_begin(c) && w->draining)
		c->front->drain(c);
}

void
wire_accept(struct wire *w, const struct arrival *a)
{
	metrics_add(w->o.metrics, METRIC_ACCEPTED, 1);
	if (entrance_is_open(w, a))
		wire_arrive(w, a);
	else
		arrival_close(a);
}

/* Descriptors ran out, or memory for them. True: there is one now. */
static bool
make_descriptor(struct wire *w, const char *why)
{
	int64_t now = now_ms();
	if (!w->warned_ms || now - w->warned_ms >= WARNED_MS) {
		w->warned_ms = now;
		log_warning("cannot accept: %s; idle connections are closed instead (raise the "
			    "limit of open files, or lower limits.connections)",
			    why);
	}
	struct conn *c = missed_least(w);
	if (c)
		evict(c);
	return c != NULL;
}

/* It has got one of the reserve. True: it has another one now, or is gone; false: nobody else may come in
 * for now either. */
static bool
is_spared(struct wire *w, struct arrival *a)
{
	int own = make_descriptor(w, "the other files that may be open are not for clients")
			  ? fcntl(a->fd, F_DUPFD_CLOEXEC, 0)
			  : -1;
	if (own < 0 || own >= process_files_for_peers()) {
		if (own >= 0)
			close(own);
		refuse(w, a);
		return false;
	}
	arrival_close(a);
	a->fd = own;
	return true;
}

/* Lets in so many of those who wait at the door. */
static void
let_in(struct door *d, int most)
{
	for (int i = 0; i < most; i++) {
		struct arrival a = {.listener = d->listener};
		socklen_t n = sizeof a.peer;
		a.fd = accept4(d->fd, (struct sockaddr *)&a.peer, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (a.fd >= 0 && (a.fd < process_files_for_peers() || is_spared(d->wire, &a))) {
			wire_accept(d->wire, &a);
			continue;
		}
		if (a.fd >= 0) {
			event_del(d->ev); /* the next tick adds it again */
			return;
		}
		if (errno == EINTR || errno == ECONNABORTED)
			continue;
		if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM)
			return;
		if (make_descriptor(d->wire, strerror(errno)))
			continue;
		event_del(d->ev); /* as above */
		return;
	}
}

static void
on_knock(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	let_in(arg, ACCEPT_MOST);
}

int
wire_listen(struct wire *w, int fd, const struct listener *l, unsigned id)
{
	struct door *d = NEW(struct door);
	d->wire = w;
	d->listener = l;
	d->fd = fd;
	d->id = id;
	d->ev = event_new(w->o.base, fd, EV_READ | EV_PERSIST, on_knock, d);
	d->next = w->doors;
	w->doors = d;
	return d->ev && !event_add(d->ev, NULL) ? 0 : -1;
}

static void
close_door(struct door *d)
{
	if (d->ev)
		event_free(d->ev);
	close(d->fd);
	free(d);
}

static void
close_doors(struct wire *w)
{
	while (w->doors) {
		struct door *d = w->doors;
		w->doors = d->next;
		close_door(d);
	}
}

void
wire_unlisten(struct wire *w, unsigned id)
{
	for (struct door **at = &w->doors; *at;) {
		struct door *d = *at;
		if (d->id != id) {
			at = &d->next;
			continue;
		}
		let_in(d, LAST_MOST);
		*at = d->next;
		close_door(d);
	}
}

void
wire_speak(struct wire *w, unsigned id, const struct listener *l)
{
	assert(l);
	for (struct door *d = w->doors; d; d = d->next)
		if (d->id == id)
			d->listener = l;
}

/* ---- the clock's turn ---------------------------------------------------------------------- */

/* This process may have stood still (SIGSTOP, a machine that is moved) while its clock went on: what a
 * client sent in time lies in its socket then, and counts before its limit does. */
static bool
has_come(const struct conn *c)
{
	return c->input == INPUT_OPEN && conn_has_come(c);
}

static bool
is_due(const struct wait_list *l, const struct conn *c, int64_t now)
{
	return l->first == c && now - c->wait_since_ms >= l->limit_ms;
}

void
wire_tick(struct wire *w, int64_t now)
{
	conn_check_wire(w);
	conn_waits_rest(w, now);
	for (int kind = WAIT_NOTHING + 1; kind < WAIT_KINDS; kind++) {
		struct wait_list *l = &w->waits[kind];
		for (struct conn *c; (c = l->first) && is_due(l, c, now);) {
			conn_check(c);
			if (has_come(c)) {
				c->readable = true;
				c->front->drive(c);
				if (!is_due(l, c, now))
					continue;
			}
			c->front->timeout(c);
			/* Still waiting, and not anew: nothing more to be done with it. */
			if (is_due(l, c, now))
				c->front->close(c);
		}
	}
	for (struct door *d = w->doors; d; d = d->next)
		if (!event_pending(d->ev, EV_READ, NULL))
			event_add(d->ev, NULL);
}

/* ---- life ---------------------------------------------------------------------------------- */

static void
set_limits(struct wire *w)
{
	const struct wire_limits *l = &w->o.limits;
	/* A head that a client may send, and the field of the hop; and a sibling waits for its client. */
	w->sibling_limits = *l;
	w->sibling_limits.head_bytes += HOP_BYTES;
	w->sibling_limits.field_count += l->field_count < FIELDS_MAX;
	w->sibling_limits.least_rate = 0;
	const int64_t limits[WAIT_KINDS] = {
		[WAIT_HANDSHAKE] = l->header_ms,
		[WAIT_HEAD] = l->header_ms,
		[WAIT_IDLE] = l->idle_ms,
		[WAIT_BODY] = l->body_ms,
		[WAIT_STUCK] = l->send_ms,
		[WAIT_GONE] = l->half_close_ms,
		[WAIT_LINGER] = LINGER_MS,
		[WAIT_STREAMS] = STREAMS_MS,
		[WAIT_TUNNEL] = l->tunnel_ms,
		[WAIT_SEND] = l->send_ms < STUCK_MS ? l->send_ms : STUCK_MS,
	};
	for (int i = 0; i < WAIT_KINDS; i++)
		w->waits[i].limit_ms = limits[i];
	w->waits[WAIT_BODY].judged_ms = l->body_ms / JUDGED_AFTER;
	w->waits[WAIT_TUNNEL].judged_ms = l->idle_ms;
	w->waits[WAIT_STUCK].judged_ms = l->send_ms / JUDGED_AFTER;
	w->waits[WAIT_SEND].judged_ms = l->send_ms / JUDGED_AFTER;
}

void
wire_settle(struct wire *w, const struct wire_limits *l, const struct network *forwarders,
	    unsigned forwarder_count)
{
	conn_check_wire(w);
	w->o.limits = *l;
	w->o.forwarders = forwarders;
	w->o.forwarder_count = forwarder_count;
	set_limits(w);
}

struct wire *
wire_create(const struct wire_options *o)
{
	struct wire *w = NEW(struct wire);
	w->o = *o;
	for (int i = 0; i < WAIT_KINDS; i++)
		w->waits[i].last = &w->waits[i].first;
	set_limits(w);
	tls_desk_init(&w->desk);
	w->scratch = mem_alloc(SCRATCH_BYTES);
	w->gather = mem_alloc(GATHER_MOST);
	w->fields = mem_alloc(FIELDS_MAX * sizeof *w->fields);
	return w;
}

void
wire_drain(struct wire *w)
{
	w->draining = true;
	for (struct door *d = w->doors; d; d = d->next)
		let_in(d, LAST_MOST);
	close_doors(w);
	for (struct conn *c = w->conns; c; c = w->next_conn) {
		w->next_conn = c->next;
		c->front->drain(c);
	}
}

void
wire_leave(struct wire *w, bool yes)
{
	w->leaving = yes;
	for (struct conn *c = w->conns; yes && c; c = w->next_conn) {
		w->next_conn = c->next;
		if (c->front->leave)
			c->front->leave(c);
	}
}

void
wire_be_lame_duck(struct wire *w)
{
	w->lame_duck = true;
}

void
wire_close_all(struct wire *w)
{
	while (w->conns)
		w->conns->front->close(w->conns);
}

unsigned
wire_connections(const struct wire *w)
{
	return w->conn_count;
}

void
wire_destroy(struct wire **wp)
{
	struct wire *w = *wp;
	*wp = NULL;
	if (!w)
		return;
	wire_close_all(w);
	close_doors(w);
	tls_desk_fini(&w->desk);
	free(w->scratch);
	free(w->gather);
	free(w->fields);
	h2_shared_destroy(&w->h2);
	places_destroy(&w->places);
	free(w);
}
