/* listen.c - addresses by getaddrinfo: numeric IPv4, bracketed IPv6, a name, or ":8080" for all. */
#include "proxy/wire/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Splits at the last colon, takes brackets off. */
static int
split(const char *addr, char *host, size_t host_bytes, char *port, size_t port_bytes)
{
	const char *colon = strrchr(addr, ':');
	if (!colon || strlen(colon + 1) == 0 || strlen(colon + 1) >= port_bytes)
		return -1;
	size_t n = (size_t)(colon - addr);
	if (n >= 2 && addr[0] == '[' && addr[n - 1] == ']') {
		addr++;
		n -= 2;
	}
	if (n >= host_bytes)
		return -1;
	memcpy(host, addr, n);
	host[n] = 0;
	strcpy(port, colon + 1);
	return 0;
}

unsigned
listen_port(int fd)
{
	struct sockaddr_storage ss = {0};
	socklen_t n = sizeof ss;
	if (getsockname(fd, (struct sockaddr *)&ss, &n))
		return 0;
	return ntohs(ss.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)(void *)&ss)->sin6_port
					      : ((struct sockaddr_in *)(void *)&ss)->sin_port);
}

static int
open_one(const struct addrinfo *ai)
{
	int one = 1;
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) || listen(fd, 4096)) {
		int why = errno;
		close(fd);
		errno = why;
		return -1;
	}
	return fd;
}

/* SO_REUSEPORT would let us share a port with a stranger of the same user without a word: look
 * first whether somebody answers to a plain bind. */
static int
is_taken(const struct addrinfo *ai)
{
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	if (fd < 0)
		return 0;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	int taken = bind(fd, ai->ai_addr, ai->ai_addrlen) && errno == EADDRINUSE;
	close(fd);
	return taken;
}

int
listen_on(const char *addr, unsigned *port, char *err, size_t err_bytes)
{
	char host[256], service[8];
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *list = NULL;
	if (split(addr, host, sizeof host, service, sizeof service)) {
		snprintf(err, err_bytes,
			 "cannot listen on '%s': write host:port, as in 0.0.0.0:8080", addr);
		return -1;
	}
	int first = *port == 0;
	if (!first)
		snprintf(service, sizeof service, "%u", *port & 0xffff);
	int e = getaddrinfo(*host ? host : NULL, service, &hints, &list);
	if (e) {
		snprintf(err, err_bytes, "cannot listen on '%s': %s", addr, gai_strerror(e));
		return -1;
	}
	int fd = -1;
	if (first && is_taken(list))
		errno = EADDRINUSE;
	else
		fd = open_one(list);
	if (fd < 0)
		snprintf(err, err_bytes, "cannot listen on '%s': %s%s", addr, strerror(errno),
			 errno == EADDRINUSE ? " (another program has it: choose another port)"
					     : "");
	else
		*port = listen_port(fd);
	freeaddrinfo(list);
	return fd;
}
