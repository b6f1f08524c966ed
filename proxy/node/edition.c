/* edition.c - made aside, held by counts, destroyed by who lets go last. */
#include "proxy/node/edition.h"

#include "config/config.h"
#include "proxy/base/le.h"
#include "proxy/base/mem.h"
#include "proxy/node/admin_door.h"
#include "proxy/serve/settings.h"

#include <assert.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct edition *
edition_create(const struct config *c, uint32_t node)
{
	struct edition *e = NEW(struct edition);
	atomic_init(&e->users, 1);
	e->config = c;
	e->node = node;
	e->ports = mem_zalloc((c->listen_count + 1) * sizeof *e->ports);
	return e;
}

struct edition *
edition_create_own(struct config *own, uint32_t node)
{
	struct edition *e = edition_create(own, node);
	e->own = *own;
	e->config = &e->own;
	memset(own, 0, sizeof *own);
	return e;
}

static struct settings *
make_settings(const struct edition *e)
{
	struct settings *s = settings_create(e->config, e->node);
	s->groups = e->origins.groups;
	if (e->base)
		routes_pass(s->routes);
	s->pages = e->base ? e->base->pages.of : e->pages.of;
	s->counted = e->counted;
	s->forms = e->forms;
	return s;
}

/* Each of these says in e->wrong which setting it is about. */
static int
open_parts(struct edition *e, unsigned workers, const struct edition *before,
	   struct edition_names *names, char *err, size_t err_bytes)
{
	snprintf(e->wrong, sizeof e->wrong, "origins");
	e->origins.lenient = e->lenient;
	if (origins_open(&e->origins, e->config, workers, before ? &before->origins : NULL,
			 &names->origins, err, err_bytes))
		return -1;
	snprintf(e->wrong, sizeof e->wrong, "admin_token_file");
	if (admin_door_token_of(e->config, &e->token, err, err_bytes))
		return -1;
	return pages_open(e->config, e->lenient, &e->pages, e->wrong, err, err_bytes);
}

int
edition_open(struct edition *e, unsigned workers, const struct edition *before,
	     struct edition_names *names, char *err, size_t err_bytes)
{
	assert(!e->settings && (!before || before->settings));
	if (open_parts(e, workers, before, names, err, err_bytes))
		return -1;
	e->counted = route_names_open(&names->routes, e->config, before ? before->config : NULL);
	e->forms = mem_zalloc((e->config->route_count + 1) * sizeof *e->forms);
	e->settings = make_settings(e);
	return 0;
}

struct edition *
edition_create_passing(struct edition *base)
{
	const struct config *c = base->config;
	assert(base->settings && !base->base);
	struct edition *e = edition_create(c, base->node);
	e->base = edition_ref(base);
	memcpy(e->ports, base->ports, c->listen_count * sizeof *e->ports);
	origins_share(&e->origins, &base->origins);
	e->counted = mem_zalloc(c->route_count + 1);
	memcpy(e->counted, base->counted, c->route_count);
	e->settings = make_settings(e);
	return e;
}

struct edition *
edition_ref(struct edition *e)
{
	unsigned before = atomic_fetch_add_explicit(&e->users, 1, memory_order_relaxed);
	assert(before > 0);
	return e;
}

void
edition_unref(struct edition **ep)
{
	struct edition *e = *ep;
	*ep = NULL;
	if (!e || atomic_fetch_sub_explicit(&e->users, 1, memory_order_acq_rel) > 1)
		return;
	settings_unref(&e->settings);
	origins_close(&e->origins);
	pages_close(&e->pages);
	free(e->counted);
	free(e->forms);
	if (e->config == &e->own)
		config_fini(&e->own);
	free(e->token);
	free(e->ports);
	struct edition *base = e->base;
	free(e);
	edition_unref(&base);
}

static void
on_gone(void *lender)
{
	struct edition *e = lender;
	edition_unref(&e);
}

struct settings *
edition_settings(struct edition *e)
{
	assert(e->settings); /* it is open */
	struct settings *s = make_settings(e);
	s->gone = on_gone;
	s->lender = edition_ref(e);
	return s;
}

/* Tells this node from others in Via: two of one name may be in a row, and a request that comes back must
 * be known. The seed lies in the cache directory (without one it is new at each start), so the number stays
 * the same over restarts; host name and listeners tell a node from another one that was started in a copy of
 * its directory. The machine's name alone would not do: an edge and its shield may run on one. Clients see
 * the number, so it is made by another hash than the one by which keys are found. */
uint32_t
edition_number(const struct twice_seed *seed, const struct config *c)
{
	unsigned char mac[EVP_MAX_MD_SIZE];
	char host[256] = "";
	struct buf b = {0};
	gethostname(host, sizeof host - 1);
	buf_printf(&b, "node %s", host);
	for (unsigned i = 0; i < c->listen_count; i++)
		buf_printf(&b, " %s", c->listen[i]);
	if (c->fleet.listen) /* whose nodes have one seed */
		buf_printf(&b, " fleet %s", c->fleet.listen);
	bool made = HMAC(EVP_sha256(), seed->secret, sizeof seed->secret, (unsigned char *)b.p, b.n,
			 mac, NULL);
	assert(made);
	buf_fini(&b);
	return le_get32((char *)mac);
}
