/* listen.c - the parts of an address of `listen`. */
#include "config/listen.h"

#include "proxy/base/address.h"

#include <string.h>
#include <strings.h>

static const char proxied[] = "proxy+";

bool
config_listen_proxied(const char *listen)
{
	return strncasecmp(listen, proxied, sizeof proxied - 1) == 0;
}

/* Of "proxy+https://0.0.0.0:443" what is spoken there and the address. */
static const char *
listen_url(const char *listen)
{
	return config_listen_proxied(listen) ? listen + sizeof proxied - 1 : listen;
}

const char *
config_listen_address(const char *listen)
{
	const char *url = listen_url(listen);
	if (strncasecmp(url, "https://", 8) == 0)
		return url + 8;
	if (strncasecmp(url, "h2c://", 6) == 0)
		return url + 6;
	return strncasecmp(url, "http://", 7) == 0 ? url + 7 : url;
}

enum config_scheme
config_listen_scheme(const char *listen)
{
	switch (config_listen_address(listen) - listen_url(listen)) {
	case 6:
		return CONFIG_H2C;
	case 8:
		return CONFIG_HTTPS;
	default:
		return CONFIG_HTTP;
	}
}

const char *
config_listen_path(const char *listen)
{
	const char *at = config_listen_address(listen);
	return strncmp(at, "unix:", 5) == 0 ? at + 5 : NULL;
}

bool
config_listen_same(const char *a, const char *b)
{
	struct address x, y;
	const char *p = config_listen_path(a), *q = config_listen_path(b);
	if (p || q)
		return p && q && strcmp(p, q) == 0;
	return address_parse(config_listen_address(a), &x) == 0 &&
	       address_parse(config_listen_address(b), &y) == 0 && address_port(&x) &&
	       x.bytes == y.bytes && memcmp(&x.sa, &y.sa, x.bytes) == 0;
}

bool
config_listen_overlaps(const char *a, const char *b)
{
	struct address x, y;
	if (config_listen_path(a) || config_listen_path(b) ||
	    address_parse(config_listen_address(a), &x) < 0 ||
	    address_parse(config_listen_address(b), &y) < 0)
		return false;
	return address_port(&x) && address_port(&x) == address_port(&y) &&
	       (address_is_any(&x) || address_is_any(&y));
}
