/* address.c - getaddrinfo does the reading; this file only takes host and port apart. */
#include "proxy/base/address.h"

#include "proxy/base/buf.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The host without brackets; names that stand for numbers are replaced. */
static int
copy_host(char *host, size_t bytes, const char *z, size_t n)
{
	bool bracketed = n >= 2 && z[0] == '[' && z[n - 1] == ']';
	if (bracketed) {
		z++;
		n -= 2;
	} else if (memchr(z, ':', n)) {
		return -1; /* "::1:80" could be read in two ways */
	}
	if (n >= bytes)
		return -1;
	memcpy(host, z, n);
	host[n] = '\0';
	if (!bracketed && (n == 0 || strcmp(host, "*") == 0))
		strcpy(host, "0.0.0.0");
	else if (strcmp(host, "localhost") == 0)
		strcpy(host, "127.0.0.1");
	return 0;
}

static bool
is_port(const char *z)
{
	size_t n = strspn(z, "0123456789");
	return n >= 1 && n <= 5 && z[n] == '\0' && atoi(z) <= 65535;
}

int
address_parse(const char *z, struct address *a)
{
	char host[ADDRESS_TEXT];
	const char *colon = strrchr(z, ':');
	if (!colon || !is_port(colon + 1) ||
	    copy_host(host, sizeof(host), z, (size_t)(colon - z)) < 0)
		return -1;
	struct addrinfo how = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
			       .ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	if (getaddrinfo(host, colon + 1, &how, &found) != 0)
		return -1;
	memset(a, 0, sizeof(*a));
	memcpy(&a->sa, found->ai_addr, found->ai_addrlen);
	a->bytes = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

unsigned
address_port(const struct address *a)
{
	if (a->sa.ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)&a->sa)->sin6_port);
	return ntohs(((const struct sockaddr_in *)&a->sa)->sin_port);
}

void
address_set_port(struct address *a, unsigned port)
{
	if (a->sa.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&a->sa)->sin6_port = htons((uint16_t)port);
	else
		((struct sockaddr_in *)&a->sa)->sin_port = htons((uint16_t)port);
}

char *
address_print(const struct address *a, char out[ADDRESS_TEXT])
{
	char host[46];
	if (getnameinfo((const struct sockaddr *)&a->sa, a->bytes, host, sizeof(host), NULL, 0,
			NI_NUMERICHOST) != 0)
		strcpy(host, "?");
	snprintf(out, ADDRESS_TEXT, a->sa.ss_family == AF_INET6 ? "[%s]:%u" : "%s:%u", host,
		 address_port(a));
	return out;
}

void
address_print_host(int family, const void *in, char out[ADDRESS_HOST_BYTES])
{
	const unsigned char *byte = in;
	if (family != AF_INET) {
		if (!inet_ntop(family, in, out, ADDRESS_HOST_BYTES))
			strcpy(out, family == AF_UNIX ? "unix" : "unknown");
		return;
	}
	for (int i = 0; i < 4; i++) {
		unsigned n = byte[i];
		if (n >= 100)
			*out++ = (char)('0' + n / 100);
		if (n >= 10)
			*out++ = (char)('0' + n / 10 % 10);
		*out++ = (char)('0' + n % 10);
		*out++ = i < 3 ? '.' : '\0';
	}
}

void
address_print_socket(const struct sockaddr *sa, char out[ADDRESS_HOST_BYTES])
{
	const void *in =
		sa->sa_family == AF_INET6
			? (const void *)&((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr
			: &((const struct sockaddr_in *)(const void *)sa)->sin_addr;
	address_print_host(sa->sa_family, in, out);
}

bool
address_is_loopback(const struct address *a)
{
	if (a->sa.ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)&a->sa)->sin6_addr);
	return ntohl(((const struct sockaddr_in *)&a->sa)->sin_addr.s_addr) >> 24 == 127;
}

bool
address_is_any(const struct address *a)
{
	if (a->sa.ss_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)&a->sa)->sin6_addr);
	return ((const struct sockaddr_in *)&a->sa)->sin_addr.s_addr == htonl(INADDR_ANY);
}
