/* guests.c - a short list, looked through as a whole: guests are few. */
#include "proxy/admin/guests.h"

#include <assert.h>
#include <event2/bufferevent.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static void
take_out(struct guests *g, unsigned i)
{
	assert(i < g->n);
	g->n--;
	memmove(&g->list[i], &g->list[i + 1], (g->n - i) * sizeof *g->list);
}

/* Does the server still have it? */
static bool
is_here(const struct guest *at)
{
	bufferevent_event_cb on_event;
	bufferevent_getcb(at->connection, NULL, NULL, &on_event, NULL);
	return on_event != NULL;
}

static void
let_go(struct guests *g, unsigned i)
{
	struct bufferevent *connection = g->list[i].connection;
	take_out(g, i);
	bufferevent_decref(connection);
}

static void
forget_closed(struct guests *g)
{
	for (unsigned i = 0; i < g->n;) {
		if (is_here(&g->list[i]))
			i++;
		else
			let_go(g, i);
	}
}

/* The one that was quiet the longest. The server notices in its next turn. */
static void
show_out(struct guests *g)
{
	shutdown(bufferevent_getfd(g->list[0].connection), SHUT_RDWR);
	let_go(g, 0);
}

void
guests_add(struct guests *g, struct bufferevent *connection, int64_t now)
{
	forget_closed(g);
	if (g->n == GUESTS_MOST)
		show_out(g);
	g->list[g->n++] = (struct guest){.connection = connection, .since_ms = now};
}

void
guests_asked(struct guests *g, const struct bufferevent *connection, int64_t now)
{
	for (unsigned i = 0; i < g->n; i++) {
		struct guest at = g->list[i];
		if (at.connection != connection)
			continue;
		take_out(g, i);
		at.since_ms = now;
		at.asked = true;
		g->list[g->n++] = at;
		return;
	}
}

void
guests_answered(struct guests *g, const struct bufferevent *connection)
{
	for (unsigned i = 0; i < g->n; i++)
		if (g->list[i].connection == connection)
			g->list[i].asked = false;
}

static bool
waits(const struct guest *at)
{
	int unread = 0;
	return is_here(at) &&
	       (at->asked ||
		(ioctl(bufferevent_getfd(at->connection), FIONREAD, &unread) == 0 && unread > 0));
}

bool
guests_wait(const struct guests *g)
{
	for (unsigned i = 0; i < g->n; i++)
		if (waits(&g->list[i]))
			return true;
	return false;
}

void
guests_tick(struct guests *g, int64_t now)
{
	forget_closed(g);
	while (g->n && now - g->list[0].since_ms >= GUEST_MS)
		show_out(g);
}

void
guests_fini(struct guests *g)
{
	while (g->n)
		let_go(g, g->n - 1);
}
