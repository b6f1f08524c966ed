/* conn_refuse.c - clients that have a connection and lose it again are told so. */
#include "proxy/wire/conn.h"

void
conn_refuse(struct conn *c)
{
	if (!c->listener->tls && !c->listener->h2)
		conn_say(c, arrival_no_place());
}

void
conn_refuse_late(struct conn *c)
{
	struct str text = arrival_no_place();
	struct iovec iov = {(void *)(uintptr_t)text.p, text.n};
	if (conn_write(c, &iov, 1, false) < (ssize_t)iov.iov_len)
		conn_spoil(c);
}
