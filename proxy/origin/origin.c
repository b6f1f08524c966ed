/* origin.c - an origin's settings, checked once, in the shape in which libcurl wants them.
 *
 * Names in TLS: SNI and the name the certificate is checked for are server_name, else the name in
 * the URL, whatever Host is sent (as nginx's proxy_ssl_name has it). An address in the URL cannot be
 * an SNI; when a host is set beside it, as in "https://192.0.2.7" with "host: www.example.com", that
 * host is it.
 */
#include "proxy/origin/origin_inside.h"

#include "proxy/base/mem.h"
#include "proxy/origin/resolver.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/un.h>

enum { UNIX_PATH_BYTES = sizeof((struct sockaddr_un *)0)->sun_path };

struct place { /* an origin's URL in parts, owned (curl_free) */
	char *scheme, *host, *port, *path;
};

static void
place_fini(struct place *p)
{
	curl_free(p->scheme);
	curl_free(p->host);
	curl_free(p->port);
	curl_free(p->path);
}

static bool
has(CURLU *u, CURLUPart part)
{
	char *s = NULL;
	bool yes = curl_url_get(u, part, &s, 0) == CURLUE_OK;
	curl_free(s);
	return yes;
}

static const char unix_scheme[] = "unix:";

static bool
is_unix(const char *url)
{
	return strncmp(url, unix_scheme, sizeof unix_scheme - 1) == 0;
}

/* A sentence on the URL's defect; NULL: there is none. HTTP is spoken on a Unix socket as with
 * localhost. */
static const char *
place_parse(const char *url, struct place *p)
{
	const char *wrong = "is not a URL";
	const char *at = is_unix(url) ? "http://localhost" : url;
	const char *file = url + sizeof unix_scheme - 1;
	if (at != url && (*file != '/' || strlen(file) >= UNIX_PATH_BYTES))
		return "must name a socket by its path, of at most 107 bytes: unix:/run/app.sock";
	CURLU *u = curl_url();
	if (!u || !strstr(at, "://") || curl_url_set(u, CURLUPART_URL, at, 0) ||
	    curl_url_get(u, CURLUPART_SCHEME, &p->scheme, 0) ||
	    curl_url_get(u, CURLUPART_HOST, &p->host, 0) ||
	    curl_url_get(u, CURLUPART_PORT, &p->port, CURLU_DEFAULT_PORT) ||
	    curl_url_get(u, CURLUPART_PATH, &p->path, 0))
		goto out;
	wrong = NULL;
	if (strcmp(p->scheme, "http") != 0 && strcmp(p->scheme, "https") != 0)
		wrong = "must begin with http:// or https://";
	else if (strcmp(p->path, "/") != 0 || has(u, CURLUPART_QUERY) || has(u, CURLUPART_FRAGMENT))
		wrong = "must end after the host and port: requests bring their own path";
	else if (has(u, CURLUPART_USER) || has(u, CURLUPART_PASSWORD))
		wrong = "must not hold a user or password";
out:
	curl_url_cleanup(u);
	return wrong;
}

/* With a port or without. */
static bool
is_address(const char *host)
{
	struct in_addr a;
	char text[INET_ADDRSTRLEN];
	snprintf(text, sizeof text, "%.*s", (int)strcspn(host, ":"), host);
	return host[0] == '[' || inet_pton(AF_INET, text, &a) == 1;
}

static char *say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static char *
say(const char *fmt, ...)
{
	char *s;
	va_list ap;
	va_start(ap, fmt);
	int n = vasprintf(&s, fmt, ap);
	va_end(ap);
	return n < 0 ? mem_strdup("") : s;
}

/* Host may carry a port; a TLS name does not. */
static size_t
name_length(const char *host)
{
	return host[0] == '[' ? strlen(host) : strcspn(host, ":");
}

static const char *
tls_name(const struct origin *o, const struct place *p)
{
	if (o->tls && o->server_name)
		return o->server_name;
	return o->tls && o->host && is_address(p->host) && !is_address(o->host) ? o->host : p->host;
}

static void
find_way(struct origin *o, const struct place *p)
{
	const char *named = tls_name(o, p);
	char *name = mem_strndup(named, name_length(named));
	char *way = say("::%s:%s", p->host, p->port);
	o->place = curl_url();
	curl_url_set(o->place, CURLUPART_SCHEME, p->scheme, 0);
	curl_url_set(o->place, CURLUPART_HOST, name, 0);
	curl_url_set(o->place, CURLUPART_PORT, p->port, 0);
	if (named != p->host)
		o->connect_to = curl_slist_append(NULL, way);
	free(name);
	free(way);
}

/* Of a Unix socket and of this machine there is nothing to look up; names beyond ASCII are libcurl's
 * to translate. */
static bool
is_looked_up(const struct origin *o, const char *host)
{
	static const char local[] = "localhost";
	size_t n = strlen(host), k = sizeof local - 1;
	for (const char *c = host; *c; c++)
		if ((unsigned char)*c > '~')
			return false;
	bool is_local = n >= k && strcasecmp(host + n - k, local) == 0 &&
			(n == k || host[n - k - 1] == '.');
	return !o->socket_path && !is_address(host) && !is_local;
}

static void
find_addresses(struct origin *o, const struct place *p, struct resolver *resolver)
{
	if (!resolver || !is_looked_up(o, p->host))
		return;
	o->addresses = resolver_take(resolver, p->host);
	o->name = mem_strdup(p->host);
	o->port = mem_strdup(p->port);
}

static bool
is_usual_port(const struct place *p)
{
	return strcmp(p->port, strcmp(p->scheme, "http") == 0 ? "80" : "443") == 0;
}

static char *
authority_of(const struct place *p)
{
	return is_usual_port(p) ? mem_strdup(p->host) : say("%s:%s", p->host, p->port);
}

char *
origin_own_host(const char *url)
{
	struct place p = {0};
	char *host = is_unix(url) || place_parse(url, &p) ? NULL : authority_of(&p);
	place_fini(&p);
	return host;
}

static void
set_limits(struct origin *o, const struct origin_options *opt)
{
	o->connect_timeout_ms = opt->connect_timeout_ms ? opt->connect_timeout_ms : 5000;
	o->read_timeout_ms = opt->read_timeout_ms ? opt->read_timeout_ms : 60000;
	o->first_byte_timeout_ms =
		opt->first_byte_timeout_ms ? opt->first_byte_timeout_ms : o->read_timeout_ms;
	o->total_timeout_ms = opt->total_timeout_ms;
	o->max_connections = opt->max_connections ? opt->max_connections : 256;
}

static bool
is_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool
origin_is(const struct origin *o, const struct origin_options *opt)
{
	struct origin with = {0};
	set_limits(&with, opt);
	return strcmp(o->url, opt->url) == 0 && is_text(o->host, opt->host) &&
	       is_text(o->server_name, opt->server_name) && o->insecure == opt->insecure &&
	       origin_tls_is(&o->files, opt) && o->connect_timeout_ms == with.connect_timeout_ms &&
	       o->first_byte_timeout_ms == with.first_byte_timeout_ms &&
	       o->read_timeout_ms == with.read_timeout_ms &&
	       o->total_timeout_ms == with.total_timeout_ms &&
	       o->max_connections == with.max_connections;
}

struct origin *
origin_ref(const struct origin *origin)
{
	struct origin *o = (struct origin *)(uintptr_t)origin;
	atomic_fetch_add_explicit(&o->users, 1, memory_order_relaxed);
	return o;
}

const char *
origin_check_files(const struct origin_options *opt, char *err, size_t err_bytes)
{
	struct origin_tls files = {0};
	const char *setting = NULL;
	origin_tls_open(&files, opt, &setting, err, err_bytes);
	origin_tls_close(&files);
	return setting;
}

static int
read_files(struct origin *o, const struct origin_options *opt, char *err, size_t err_bytes)
{
	const char *setting;
	char why[512];
	if (origin_tls_open(&o->files, opt, &setting, why, sizeof why) == 0)
		return 0;
	if (opt->lenient) {
		origin_tls_trust_none(&o->files);
		o->insecure = false;
		return 0;
	}
	snprintf(err, err_bytes, "origin '%s': %s: %s", opt->url, setting, why);
	return -1;
}

struct origin *
origin_create(const struct origin_options *opt, char *err, size_t err_bytes)
{
	struct place p = {0};
	struct origin *o = NULL;
	const char *wrong = place_parse(opt->url, &p);
	if (wrong) {
		snprintf(err, err_bytes, "origin '%s' %s", opt->url, wrong);
		goto out;
	}
	o = NEW(struct origin);
	atomic_init(&o->users, 1);
	o->url = mem_strdup(opt->url);
	if (is_unix(opt->url))
		o->socket_path = o->url + sizeof unix_scheme - 1;
	o->host = opt->host ? mem_strdup(opt->host) : NULL;
	o->tls = strcmp(p.scheme, "https") == 0;
	o->insecure = opt->insecure;
	set_limits(o, opt);
	o->server_name = opt->server_name ? mem_strdup(opt->server_name) : NULL;
	find_way(o, &p);
	o->authority = authority_of(&p);
	if (o->tls && read_files(o, opt, err, err_bytes))
		origin_destroy(&o);
	else
		find_addresses(o, &p, opt->resolver);
out:
	place_fini(&p);
	return o;
}

void
origin_destroy(struct origin **po)
{
	struct origin *o = *po;
	*po = NULL;
	if (!o || atomic_fetch_sub_explicit(&o->users, 1, memory_order_acq_rel) > 1)
		return;
	origin_tls_close(&o->files);
	addresses_destroy(&o->addresses);
	free(o->name);
	free(o->port);
	curl_slist_free_all(o->connect_to);
	free(o->authority);
	free(o->host);
	curl_url_cleanup(o->place);
	free(o->server_name);
	free(o->url);
	free(o);
}

struct str
origin_host(const struct origin *o, struct str client)
{
	return o->host ? str_of(o->host) : client.n ? client : str_of(o->authority);
}

const char *
origin_url(const struct origin *o)
{
	return o->url;
}

int
origin_addresses(const struct origin *o, unsigned char out[ORIGIN_ADDRESSES_TOLD][16])
{
	struct ip found[ORIGIN_ADDRESSES_TOLD];
	if (!o->addresses)
		return -1;
	unsigned n = addresses_list(o->addresses, found, ORIGIN_ADDRESSES_TOLD);
	for (unsigned i = 0; i < n && i < ORIGIN_ADDRESSES_TOLD; i++)
		memcpy(out[i], found[i].bytes, sizeof found[i].bytes);
	return (int)n;
}

const char *
origin_name(const struct origin *o)
{
	return o->addresses ? addresses_name(o->addresses) : NULL;
}

const char *
origin_unknown(const struct origin *o)
{
	return o->addresses && !addresses_is_known(o->addresses) ? o->name : NULL;
}
