/* entrance.c - who a client is, before anything it says is listened to. */
#include "proxy/wire/entrance.h"

#include "proxy/base/address.h"
#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/network.h"
#include "proxy/wire/clients.h"
#include "proxy/wire/conn.h"
#include "proxy/wire/h1.h"
#include "proxy/wire/h2.h"
#include "proxy/wire/proxy_head.h"
#include "proxy/wire/tls_handshake.h"

#include <errno.h>

enum { WARNED_MS = 10000 }; /* between two lines about clients that are no forwarders */

static void
count(struct wire *w, enum metric m)
{
	metrics_add(w->o.metrics, m, 1);
}

bool
entrance_is_open(struct wire *w, const struct arrival *a)
{
	const struct sockaddr *peer = (const struct sockaddr *)&a->peer;
	char text[ADDRESS_HOST_BYTES];
	if (!a->listener->proxied || network_any_is(w->o.forwarders, w->o.forwarder_count, peer))
		return true;
	count(w, METRIC_PROXY_STRANGERS);
	int64_t now = now_ms();
	if (w->stranger_ms && now - w->stranger_ms < WARNED_MS)
		return false;
	w->stranger_ms = now;
	address_print_socket(peer, text);
	log_warning("%s came to a listener for the PROXY protocol and was turned away: "
		    "forwarded.trust does not have it",
		    text);
	return false;
}

/* ---- behind the head ----------------------------------------------------------------------- */

static const struct front *
front_of(const struct listener *l)
{
	return l->tls ? &tls_handshake_front : l->h2 ? &h2_front : &h1_front;
}

/* The connection is its client's from now on: what is counted, limited and said of it. */
static bool
belong(struct conn *c, const struct proxy_head *head)
{
	struct sockaddr_storage was, is = {.ss_family = AF_UNSPEC};
	if (head->who == PROXY_HEAD_SENDER)
		return true;
	if (head->who == PROXY_HEAD_CLIENT)
		is = head->client;
	conn_peer_address(c, &was);
	if (!clients_move(c->wire->o.clients, (struct sockaddr *)&was, (struct sockaddr *)&is))
		return false;
	conn_set_peer(c, (struct sockaddr *)&is);
	return true;
}

static void
go_on(struct conn *c, const struct proxy_head *head)
{
	struct wire *w = c->wire;
	count(w, METRIC_PROXY_HEADS);
	if (!belong(c, head)) {
		count(w, METRIC_REFUSED_CONNECTIONS);
		conn_refuse(c);
		conn_free(c);
		return;
	}
	c->front = front_of(c->listener);
	conn_wait(c, WAIT_IDLE);
	if (c->listener->tls && !tls_handshake_begin(c))
		return;
	c->readable = true; /* its first bytes may have come along */
	if (w->draining)
		c->front->drain(c);
	else
		c->front->drive(c);
}

/* ---- the head ------------------------------------------------------------------------------ */

static void
fail(struct conn *c)
{
	count(c->wire, METRIC_PROXY_BROKEN);
	conn_free(c);
}

/* It is looked at and left in the socket until it is whole: what follows belongs to others. True: it
 * is waited for; false: the connection went on, or is freed. */
static bool
look(struct conn *c)
{
	char text[PROXY_HEAD_MOST];
	struct proxy_head head;
	ssize_t n = conn_peek(c, text, sizeof text);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return true;
	if (n <= 0) { /* so do forwarders that look whether somebody is here */
		conn_free(c);
		return false;
	}
	enum proxy_head_step step = proxy_head_read((struct str){text, (size_t)n}, &head);
	if (step == PROXY_HEAD_MORE && c->input == INPUT_OPEN)
		return true;
	if (step == PROXY_HEAD_DONE && conn_take(c, text, head.bytes))
		go_on(c, &head);
	else
		fail(c);
	return false;
}

static void
drive(struct conn *c)
{
	look(c);
}

static void
on_timeout(struct conn *c)
{
	fail(c);
}

/* Input is looked at once more; a client that is not known by now is not waited for. */
static void
drain(struct conn *c)
{
	if (look(c))
		conn_free(c);
}

static void
check(const struct conn *c)
{
	assert(!c->session && !c->tls && c->waiting == WAIT_HEAD);
}

static const struct front head_front = {
	.drive = drive,
	.timeout = on_timeout,
	.is_slow = front_is_slow_early,
	.again = front_again_early,
	.close = conn_free,
	.drain = drain,
	.check = check,
};

/* ---- how it begins ------------------------------------------------------------------------- */

const struct front *
entrance_front(const struct listener *l)
{
	return l->proxied ? &head_front : front_of(l);
}

bool
entrance_begin(struct conn *c)
{
	if (c->listener->proxied) {
		conn_wait(c, WAIT_HEAD);
		return true;
	}
	return !c->listener->tls || tls_handshake_begin(c);
}
