/* doorway.c - one struct from another, and the first thing that is wrong. */
#include "proxy/node/doorway.h"

#include "proxy/base/mem.h"
#include "proxy/wire/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool
doorway_has_tls(const struct config *c)
{
	for (unsigned i = 0; i < c->listen_count; i++)
		if (config_listen_scheme(c->listen[i]) == CONFIG_HTTPS)
			return true;
	return false;
}

struct tls_server_options
doorway_tls(const struct config *c)
{
	const struct config_tls *t = &c->tls;
	return (struct tls_server_options){
		.certs =
			{
				.paths = t->certificates,
				.path_count = t->certificate_count,
				.self_signed = t->self_signed,
				.client_ca = t->client_ca,
				.client_required = t->client_required,
				.only_1_3 = strcmp(t->min_version, "1.3") == 0,
			},
		.ticket_key = t->ticket_key,
		.ticket_period_s = (int64_t)t->ticket_period_s,
		.strict_host = t->strict_host,
		.h2 = true,
		.handshakes = t->handshakes,
		.handshakes_per_address = t->handshakes_per_address,
	};
}

char *
doorway_name(const struct config *c, unsigned of, char out[CONFIG_NAME_BYTES])
{
	unsigned n = c->tls.certificate_count;
	if (of < n)
		snprintf(out, CONFIG_NAME_BYTES, "tls.certificates.%u", of);
	else
		snprintf(out, CONFIG_NAME_BYTES, of == n ? "tls.client_ca" : "tls.ticket_key");
	return out;
}

struct complaint {
	char *err;
	size_t bytes;
	unsigned further;
};

static void
on_problem(void *ctx, unsigned of, const char *text)
{
	struct complaint *c = ctx;
	(void)of;
	if (c->err[0] == '\0')
		snprintf(c->err, c->bytes, "%s", text);
	else
		c->further++;
}

static void
say_further(struct complaint *c)
{
	size_t n = strlen(c->err);
	if (c->further)
		snprintf(c->err + n, c->bytes - n, " (and %u more: twice check names all)",
			 c->further);
}

struct listener *
doorway_open(const struct config *c, struct tls_server **tls, char *err, size_t err_bytes)
{
	struct complaint told = {err, err_bytes, 0};
	struct tls_problems problems = {.tell = on_problem, .ctx = &told};
	*err = '\0';
	if (doorway_has_tls(c)) {
		struct tls_server_options o = doorway_tls(c);
		*tls = tls_server_create(&o, &problems);
		say_further(&told);
		if (!*tls)
			return NULL;
	}
	struct listener *l = mem_zalloc(c->listen_count * sizeof *l);
	for (unsigned i = 0; i < c->listen_count; i++) {
		bool is_tls = config_listen_scheme(c->listen[i]) == CONFIG_HTTPS;
		l[i].scheme = is_tls ? STR("https") : STR("http");
		l[i].tls = is_tls ? *tls : NULL;
		l[i].proxied = config_listen_proxied(c->listen[i]);
		l[i].h2 = config_listen_scheme(c->listen[i]) == CONFIG_H2C;
	}
	return l;
}

int
doorway_reload(const struct config *c, struct tls_server *tls, char *err, size_t err_bytes)
{
	struct complaint told = {err, err_bytes, 0};
	struct tls_problems problems = {.tell = on_problem, .ctx = &told};
	struct tls_server_options o = doorway_tls(c);
	*err = '\0';
	int result = tls_server_reload(tls, &o, &problems);
	say_further(&told);
	return result;
}

int
doorway_door(const struct config *c, unsigned i, struct doorway_place *p, char *err,
	     size_t err_bytes)
{
	const char *path = config_listen_path(c->listen[i]);
	if (!path)
		return listen_on(config_listen_address(c->listen[i]), &p->port, err, err_bytes);
	if (!p->file.path) {
		mode_t mode = (mode_t)strtoul(c->socket_mode, NULL, 8);
		p->shared = unix_socket_open(&p->file, path, mode, err, err_bytes);
		if (p->shared < 0)
			return -1;
	}
	int fd = fcntl(p->shared, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		snprintf(err, err_bytes, "cannot listen on '%s': %s", c->listen[i],
			 strerror(errno));
	return fd;
}

void
doorway_shared(struct doorway_place *places, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (places[i].file.path && places[i].shared >= 0) {
			close(places[i].shared);
			places[i].shared = -1;
		}
}

void
doorway_end(struct doorway_place *places, unsigned n)
{
	doorway_shared(places, n);
	for (unsigned i = 0; i < n; i++)
		unix_socket_end(&places[i].file);
}
