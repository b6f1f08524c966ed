/* origin.c - an origin's settings, checked once, in the shape in which libcurl wants them.
 *
 * Names in TLS: SNI and the name the certificate is checked for are the name in the URL, whatever
 * Host is sent (as nginx's proxy_ssl_name has it). An address in the URL cannot be an SNI; when a
 * host is set beside it, as in "https://192.0.2.7" with "host: www.example.com", that host is it.
 */
#include "proxy/origin/origin_inside.h"

#include "proxy/base/mem.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
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

static bool
is_address(const char *host)
{
	struct in_addr a;
	return host[0] == '[' || inet_pton(AF_INET, host, &a) == 1;
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

static void
find_way(struct origin *o, const struct place *p)
{
	bool named_by_host = o->tls && o->host && is_address(p->host) && !is_address(o->host);
	char *name =
		named_by_host ? mem_strndup(o->host, name_length(o->host)) : mem_strdup(p->host);
	char *way = say("::%s:%s", p->host, p->port);
	o->place = curl_url();
	curl_url_set(o->place, CURLUPART_SCHEME, p->scheme, 0);
	curl_url_set(o->place, CURLUPART_HOST, name, 0);
	curl_url_set(o->place, CURLUPART_PORT, p->port, 0);
	if (named_by_host)
		o->connect_to = curl_slist_append(NULL, way);
	free(name);
	free(way);
}

static bool
is_usual_port(const struct place *p)
{
	return strcmp(p->port, strcmp(p->scheme, "http") == 0 ? "80" : "443") == 0;
}

static X509_STORE *
read_trust(const char *ca_file)
{
	X509_STORE *s = X509_STORE_new();
	if (s && (ca_file ? X509_STORE_load_file(s, ca_file) : X509_STORE_set_default_paths(s)))
		return s;
	X509_STORE_free(s);
	return NULL;
}

/* -1: it is not there. */
static int
look_at(struct origin_file *f)
{
	struct stat st;
	if (stat(f->path, &st))
		return -1;
	f->changed = st.st_mtim;
	f->inode = st.st_ino;
	f->bytes = st.st_size;
	return 0;
}

static bool
is_file(const struct origin_file *f, const char *path)
{
	struct origin_file now = {.path = f->path};
	if (!f->path || !path)
		return f->path == path;
	return strcmp(f->path, path) == 0 && look_at(&now) == 0 &&
	       now.changed.tv_sec == f->changed.tv_sec &&
	       now.changed.tv_nsec == f->changed.tv_nsec && now.inode == f->inode &&
	       now.bytes == f->bytes;
}

static const char *
openssl_reason(void)
{
	const char *why = ERR_reason_error_string(ERR_peek_error());
	ERR_clear_error();
	return why ? why : "unknown error";
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
	       o->insecure == opt->insecure && is_file(&o->ca, opt->ca_file) &&
	       o->connect_timeout_ms == with.connect_timeout_ms &&
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
	o->ca.path = opt->ca_file ? mem_strdup(opt->ca_file) : NULL;
	if (o->ca.path)
		look_at(&o->ca); /* before it is read: a change in between makes another origin */
	find_way(o, &p);
	o->authority = is_usual_port(&p) ? mem_strdup(p.host) : say("%s:%s", p.host, p.port);
	if (o->tls && !o->insecure && !(o->trust = read_trust(opt->ca_file))) {
		snprintf(err, err_bytes, "origin '%s': CA file '%s' cannot be read: %s", opt->url,
			 opt->ca_file ? opt->ca_file : "(the system's)", openssl_reason());
		origin_destroy(&o);
	}
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
	X509_STORE_free(o->trust);
	curl_slist_free_all(o->connect_to);
	free(o->authority);
	free(o->host);
	curl_url_cleanup(o->place);
	free(o->ca.path);
	free(o->url);
	free(o);
}

const char *
origin_url(const struct origin *o)
{
	return o->url;
}
