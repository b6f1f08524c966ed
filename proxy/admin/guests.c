/* guests.c - a short list, looked through as a whole: guests are few. */
#include "proxy/admin/guests.h"

#include <assert.h>
#include <stdbool.h>
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
forget_closed(struct guests *g)
{
	for (unsigned i = 0; i < g->n;) {
		const struct guest *at = &g->list[i];
		if (inode_of(at->fd) == at->inode)
			i++;
		else
			g->list[i] = g->list[--g->n];
	}
}

/* The server notices in its next turn. */
static void
show_out(struct guests *g, unsigned i)
{
	shutdown(g->list[i].fd, SHUT_RDWR);
	g->list[i] = g->list[--g->n];
}

static unsigned
quietest(const struct guests *g)
{
	unsigned found = 0;
	for (unsigned i = 1; i < g->n; i++)
		if (g->list[i].since_ms < g->list[found].since_ms)
			found = i;
	return found;
}

void
guests_add(struct guests *g, int fd, int64_t now)
{
	ino_t inode = inode_of(fd);
	if (inode == 0)
		return;
	forget_closed(g);
	if (g->n == GUESTS_MOST)
		show_out(g, quietest(g));
	assert(g->n < GUESTS_MOST);
	g->list[g->n++] = (struct guest){fd, inode, now};
}

void
guests_asked(struct guests *g, int fd, int64_t now)
{
	for (unsigned i = 0; i < g->n; i++)
		if (g->list[i].fd == fd && inode_of(fd) == g->list[i].inode)
			g->list[i].since_ms = now;
}

void
guests_tick(struct guests *g, int64_t now)
{
	forget_closed(g);
	for (unsigned i = 0; i < g->n;) {
		if (now - g->list[i].since_ms >= GUEST_MS)
			show_out(g, i);
		else
			i++;
	}
}
