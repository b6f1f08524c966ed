/* conn_check.c - between two events: what must hold of a connection, and what an event says of it. */
#include "proxy/wire/conn.h"

#include <assert.h>

void
conn_check_wire(const struct wire *w)
{
	assert(w->within_serve == 0 && w->within_stream == 0);
	assert((w->conn_count == 0) == (w->conns == NULL));
	assert(!w->view_of || w->view.n > 0);
	for (int kind = WAIT_NOTHING + 1; kind < WAIT_KINDS; kind++) {
		const struct wait_list *l = &w->waits[kind];
		assert((l->first == NULL) == (l->last == &l->first) && *l->last == NULL);
		assert((l->first == NULL) == (l->count == 0));
		assert(!l->first || l->first->waiting == kind);
	}
}

void
conn_check(const struct conn *c)
{
	const struct wire *w = c->wire;
	assert(c->fd >= 0 && *c->prev == c && w->conn_count > 0 && !c->driving);
	assert(c->waiting < WAIT_KINDS && c->input <= INPUT_OVER);
	assert((c->waiting == WAIT_NOTHING) == (c->wait_prev == NULL));
	assert(!c->wait_prev || *c->wait_prev == c);
	assert(c->in_at <= c->in.n && (w->view_of != c || c->in.n == 0));
	assert(c->scanned <= conn_input(c).n);
	c->front->check(c);
}

void
conn_note(struct conn *c, short what)
{
	conn_check(c);
	if ((what & EV_CLOSED) && c->input == INPUT_OPEN)
		c->input = INPUT_ENDING;
	if (what & EV_WRITE)
		c->writable = true;
	if (what & (EV_READ | EV_CLOSED))
		c->readable = c->news = true;
}
