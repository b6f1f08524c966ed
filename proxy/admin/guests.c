/* guests.c - a short list, looked through as a whole: guests are few. */
#include "proxy/admin/guests.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* 0: no such descriptor. */
static ino_t
inode_of(int fd)
{
	struct stat s;
	return fstat(fd, &s) == 0 ? s.st_ino : 0;
}

static void
take_out(struct guests *g, unsigned i)
{
	assert(i < g->n);
	g->n--;
	memmove(&g->list[i], &g->list[i + 1], (g->n - i) * sizeof *g->list);
}

static bool
is_here(const struct guest *at)
{
	return inode_of(at->fd) == at->inode;
}

static void
forget_closed(struct guests *g)
{
	for (unsigned i = 0; i < g->n;) {
		if (is_here(&g->list[i]))
			i++;
		else
			take_out(g, i);
	}
}

/* The one that was quiet the longest. The server notices in its next turn. */
static void
show_out(struct guests *g)
{
	shutdown(g->list[0].fd, SHUT_RDWR);
	take_out(g, 0);
}

void
guests_add(struct guests *g, int fd, int64_t now)
{
	ino_t inode = inode_of(fd);
	if (inode == 0)
		return;
	forget_closed(g);
	if (g->n == GUESTS_MOST)
		show_out(g);
	g->list[g->n++] = (struct guest){fd, inode, now};
}

void
guests_asked(struct guests *g, int fd, int64_t now)
{
	for (unsigned i = 0; i < g->n; i++) {
		struct guest at = g->list[i];
		if (at.fd != fd || !is_here(&at))
			continue;
		take_out(g, i);
		at.since_ms = now;
		g->list[g->n++] = at;
		return;
	}
}

void
guests_tick(struct guests *g, int64_t now)
{
	forget_closed(g);
	while (g->n && now - g->list[0].since_ms >= GUEST_MS)
		show_out(g);
}
