/* doorway.c - one struct from another, and the first thing that is wrong. */
#include "proxy/node/doorway.h"

#include "config/config.h"
#include "config/listen.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/node/inherited.h"
#include "proxy/wire/listen.h"
#include "proxy/wire/tls_kernel.h"

#include <assert.h>
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

bool
doorway_may_be_https(const struct config *c)
{
	return doorway_has_tls(c) || c->forwarded.trust_count > 0;
}

bool
doorway_has_plain(const struct config *c)
{
	for (unsigned i = 0; i < c->listen_count; i++)
		if (config_listen_scheme(c->listen[i]) != CONFIG_HTTPS)
			return true;
	return false;
}

/* Whether the kernel is to encrypt, and can. */
static bool
is_in_kernel(const struct config_tls *t, const char **why)
{
	*why = NULL;
	return strcmp(t->kernel, "auto") == 0 && tls_kernel_is_there(why);
}

struct tls_server_options
doorway_tls(const struct config *c)
{
	const struct config_tls *t = &c->tls;
	const char *why;
	return (struct tls_server_options){
		.certs =
			{
				.paths = t->certificates,
				.path_count = t->certificate_count,
				.self_signed = t->self_signed,
				.client_ca = t->client_ca,
				.client_required = t->client_required,
				.only_1_3 = strcmp(t->min_version, "1.3") == 0,
				.in_kernel = is_in_kernel(t, &why),
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

static void
say_kernel(const struct config_tls *t)
{
	const char *why;
	bool yes = is_in_kernel(t, &why);
	if (yes)
		log_info("tls.kernel: the kernel encrypts what is sent");
	else if (why)
		log_info("tls.kernel: OpenSSL encrypts what is sent: %s", why);
}

static bool
serves_somebody(const struct config *c, struct tls_server *tls)
{
	struct tls_certs *certs = tls_server_certs(tls);
	size_t n = tls_certs_count(certs);
	tls_certs_unref(&certs);
	return n || doorway_has_plain(c);
}

int
doorway_open_tls(const struct config *c, bool lenient, struct tls_server **tls, char *err,
		 size_t err_bytes)
{
	struct complaint told = {err, err_bytes, 0};
	struct tls_problems problems = {.tell = on_problem, .ctx = &told};
	struct tls_server_options o = doorway_tls(c);
	*err = '\0';
	o.certs.lenient = lenient;
	*tls = tls_server_create(&o, &problems);
	if (*tls && !serves_somebody(c, *tls))
		tls_server_destroy(tls);
	say_further(&told);
	if (*tls)
		say_kernel(&c->tls);
	return *tls ? 0 : -1;
}

enum { SPEAKS_TLS = 1, SPEAKS_H2 = 2, IS_PROXIED = 4 };

void
doorway_speak(struct doorway_listeners *l)
{
	for (unsigned i = 0; i < sizeof l->of / sizeof l->of[0]; i++)
		l->of[i] = (struct listener){
			.scheme = i & SPEAKS_TLS ? STR("https") : STR("http"),
			.h2 = i & SPEAKS_H2,
			.proxied = i & IS_PROXIED,
		};
}

void
doorway_speak_tls(struct doorway_listeners *l, struct tls_server *tls)
{
	for (unsigned i = 0; i < sizeof l->of / sizeof l->of[0]; i++)
		if (i & SPEAKS_TLS)
			l->of[i].tls = tls;
}

const struct listener *
doorway_listener(const struct config *c, unsigned i, const struct doorway_listeners *l)
{
	enum config_scheme scheme = config_listen_scheme(c->listen[i]);
	unsigned n = (scheme == CONFIG_HTTPS ? SPEAKS_TLS : 0) |
		     (scheme == CONFIG_H2C ? SPEAKS_H2 : 0) |
		     (config_listen_proxied(c->listen[i]) ? IS_PROXIED : 0);
	assert(scheme != CONFIG_HTTPS || l->of[n].tls);
	return &l->of[n];
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
	if (result == 0)
		say_kernel(&c->tls);
	return result;
}

/* The file stays when a supervisor keeps the socket: whoever connects meanwhile waits there. */
static int
open_path(const struct config *c, unsigned i, struct doorway_place *p, char *err, size_t err_bytes)
{
	mode_t mode = (mode_t)config_socket_mode(c);
	int fd = unix_socket_open(&p->file, config_listen_path(c->listen[i]), mode, err, err_bytes);
	if (fd < 0)
		return -1;
	p->given = mem_zalloc(sizeof *p->given);
	p->given[p->given_n++] = fd;
	if (inherited_keep(c->listen[i], fd))
		unix_socket_leave(&p->file);
	return 0;
}

static void
take_inherited(const struct config *c, struct doorway_place *places)
{
	struct inherited *in = inherited_open();
	for (unsigned i = 0; i < c->listen_count; i++) {
		struct doorway_place *p = &places[i];
		bool is_ours;
		p->given_n = inherited_take(in, c->listen[i], &p->given, &is_ours);
		p->adopted = p->given_n && is_ours && config_listen_path(c->listen[i]);
		if (p->adopted)
			unix_socket_adopt(&p->file, config_listen_path(c->listen[i]),
					  (mode_t)config_socket_mode(c));
		if (p->given_n && !config_listen_path(c->listen[i]))
			p->port = listen_port(p->given[0]);
		if (p->given_n)
			log_info(
				"%s: %u listening socket%s taken over from a supervisor or another process",
				c->listen[i], p->given_n, p->given_n > 1 ? "s" : "");
	}
	inherited_close(&in);
}

int
doorway_place(const struct config *c, unsigned i, struct doorway_place *p, char *err,
	      size_t err_bytes)
{
	return config_listen_path(c->listen[i]) ? open_path(c, i, p, err, err_bytes) : 0;
}

int
doorway_places(const struct config *c, struct doorway_place *places, char *err, size_t err_bytes)
{
	take_inherited(c, places);
	for (unsigned i = 0; i < c->listen_count; i++)
		if (!places[i].given_n && doorway_place(c, i, &places[i], err, err_bytes))
			return -1;
	return 0;
}

unsigned
doorway_count(const struct doorway_place *p, unsigned w, unsigned n)
{
	assert(w < n);
	return p->given_n > n ? (p->given_n - w + n - 1) / n : 1;
}

void
doorway_remember(struct doorway_place *p, int fd)
{
	assert(fd >= 0);
	p->open = mem_realloc(p->open, (p->open_n + 1) * sizeof *p->open);
	p->open[p->open_n++] = fd;
}

void
doorway_forget(struct doorway_place *p)
{
	free(p->open);
	p->open = NULL;
	p->open_n = 0;
}

static int
open_door(const struct config *c, unsigned i, struct doorway_place *p, unsigned number, char *err,
	  size_t err_bytes)
{
	if (!p->given_n) {
		int made = listen_on(config_listen_address(c->listen[i]), &p->port, err, err_bytes);
		if (made >= 0)
			inherited_keep(c->listen[i], made);
		return made;
	}
	int fd = fcntl(p->given[number % p->given_n], F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		snprintf(err, err_bytes, "cannot listen on '%s': %s", c->listen[i],
			 strerror(errno));
	return fd;
}

int
doorway_door(const struct config *c, unsigned i, struct doorway_place *p, unsigned number,
	     char *err, size_t err_bytes)
{
	int fd = open_door(c, i, p, number, err, err_bytes);
	if (fd >= 0)
		doorway_remember(p, fd);
	return fd;
}

void
doorway_shared(struct doorway_place *places, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		for (unsigned k = 0; k < places[i].given_n; k++)
			close(places[i].given[k]);
		free(places[i].given);
		places[i].given = NULL;
		places[i].given_n = 0;
	}
}

void
doorway_leave(const struct config *c, unsigned i, struct doorway_place *p)
{
	assert(i < c->listen_count);
	doorway_end(p, 1);
	inherited_forget(c->listen[i]);
}

void
doorway_end(struct doorway_place *places, unsigned n)
{
	doorway_shared(places, n);
	for (unsigned i = 0; i < n; i++) {
		doorway_forget(&places[i]);
		unix_socket_end(&places[i].file);
	}
}
