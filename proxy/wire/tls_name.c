/* tls_name.c - no allocation, no clock, no OpenSSL. */
#include "proxy/wire/tls_name.h"

#include <arpa/inet.h>
#include <string.h>

enum { NAME_TYPE_HOST = 0 };

struct str
tls_name_of_hello(const unsigned char *p, size_t n)
{
	/* 2 bytes: of the list; then type, 2 bytes: of the name, the name. A second name of the same
	 * type is forbidden, other types do not exist: only the first is looked at. */
	if (n < 5 || ((size_t)p[0] << 8 | p[1]) != n - 2 || p[2] != NAME_TYPE_HOST)
		return (struct str){0};
	size_t name = (size_t)p[3] << 8 | p[4];
	if (name == 0 || name != n - 5)
		return (struct str){0};
	return (struct str){(const char *)p + 5, name};
}

static struct str
without_port(struct str host)
{
	if (host.n && host.p[0] == '[') {
		const char *end = memchr(host.p, ']', host.n);
		return end ? (struct str){host.p + 1, (size_t)(end - host.p) - 1} : (struct str){0};
	}
	const char *colon = host.n ? memchr(host.p, ':', host.n) : NULL;
	return colon ? (struct str){host.p, (size_t)(colon - host.p)} : host;
}

size_t
tls_name_plain(struct str host, char out[TLS_NAME_BYTES])
{
	struct str name = without_port(host);
	if (name.n && name.p[name.n - 1] == '.')
		name.n--;
	if (name.n == 0 || name.n >= TLS_NAME_BYTES)
		return 0;
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];
		if (c <= ' ' || c > '~' || c == '/')
			return 0;
		out[i] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
	}
	out[name.n] = '\0';
	return name.n;
}

bool
tls_name_is_address(const char *name)
{
	unsigned char bytes[16];
	return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

bool
tls_name_covers(const char *of_certificate, const char *host)
{
	if (of_certificate[0] != '*' || of_certificate[1] != '.')
		return strcmp(of_certificate, host) == 0;
	const char *dot = strchr(host, '.');
	return dot && dot != host && strcmp(of_certificate + 1, dot) == 0 &&
	       !tls_name_is_address(host);
}
