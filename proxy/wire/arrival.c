/* arrival.c - what becomes of a client that does not stay. */
#include "proxy/wire/arrival.h"

#include <unistd.h>

struct str
arrival_no_place(void)
{
	return STR("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
		   "Retry-After: 1\r\nConnection: close\r\n\r\n");
}

void
arrival_refuse(const struct arrival *a)
{
	struct str text = arrival_no_place();
	if (a->listener->tls || a->listener->h2 || a->listener->proxied)
		return;
	ssize_t n = send(a->fd, text.p, text.n, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)n;
}

void
arrival_close(const struct arrival *a)
{
	close(a->fd);
}
