/* settings.c - compiles the configuration once, for all the requests that begin under it. */
#include "proxy/serve/settings.h"

#include "config/config.h"
#include "proxy/base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/random.h>

static int
by_name(const void *a, const void *b)
{
	const struct str *x = a, *y = b;
	int order = strncasecmp(x->p, y->p, x->n < y->n ? x->n : y->n);
	return order ? order : (x->n > y->n) - (x->n < y->n);
}

/* "default" stands for those by which pages measure visits and no server chooses what it sends. */
static struct str *
ignored_of(const struct config_cache *c, unsigned *n)
{
	static const struct str usual[] = {
		/* Google */
		STR_INIT("_ga"),
		STR_INIT("_ga_*"),
		STR_INIT("_gid"),
		STR_INIT("_gat"),
		STR_INIT("_gat_*"),
		STR_INIT("_gac_*"),
		STR_INIT("_gcl_*"),
		STR_INIT("_dc_gtm_*"),
		STR_INIT("__utm*"),
		STR_INIT("__gads"),
		STR_INIT("__gpi"),
		/* Matomo, Meta, Microsoft, Hotjar, TikTok, LinkedIn, Pinterest, X, HubSpot, Yandex */
		STR_INIT("_pk_*"),
		STR_INIT("_fbp"),
		STR_INIT("_fbc"),
		STR_INIT("_uetsid"),
		STR_INIT("_uetvid"),
		STR_INIT("_clck"),
		STR_INIT("_clsk"),
		STR_INIT("_hj*"),
		STR_INIT("_ttp"),
		STR_INIT("_tt_*"),
		STR_INIT("li_fat_id"),
		STR_INIT("_pin_unauth"),
		STR_INIT("_twclid"),
		STR_INIT("__hstc"),
		STR_INIT("__hssc"),
		STR_INIT("__hssrc"),
		STR_INIT("hubspotutk"),
		STR_INIT("_ym_*"),
	};
	enum { USUAL = sizeof usual / sizeof usual[0] };
	struct str *names = mem_zalloc((c->ignore_cookie_count + 1) * USUAL * sizeof *names);
	*n = 0;
	for (unsigned i = 0; i < c->ignore_cookie_count; i++) {
		bool all = strcmp(c->ignore_cookies[i], "default") == 0;
		if (!all)
			names[(*n)++] = str_of(c->ignore_cookies[i]);
		for (unsigned k = 0; all && k < USUAL; k++)
			names[(*n)++] = usual[k];
	}
	return names;
}

/* "default" stands for all that is known. */
static struct outgoing_settings
outgoing_of(const struct config *config, struct str via)
{
	const struct config_forwarded *c = &config->forwarded;
	unsigned n = 0;
	struct str *drop =
		mem_zalloc((c->drop_count + 1) * outgoing_overrides_count * sizeof *drop);
	for (unsigned i = 0; i < c->drop_count; i++) {
		bool all = strcmp(c->drop[i], "default") == 0;
		if (!all)
			drop[n++] = str_of(c->drop[i]);
		for (unsigned k = 0; all && k < outgoing_overrides_count; k++)
			drop[n++] = outgoing_overrides[k];
	}
	qsort(drop, n, sizeof *drop, by_name);
	struct str *harmless =
		mem_zalloc((config->cache.heuristic_field_count + 1) * sizeof *harmless);
	for (unsigned i = 0; i < config->cache.heuristic_field_count; i++)
		harmless[i] = str_of(config->cache.heuristic_fields[i]);
	struct outgoing_settings s = {
		.via = via,
		.harmless = harmless,
		.harmless_count = config->cache.heuristic_field_count,
		.keep_underscores = c->keep_underscores,
		.keep_wishes = config->cache.client_directives == CONFIG_CLIENT_OBEY,
		.drop = drop,
		.drop_count = n,
	};
	s.ignored = ignored_of(&config->cache, &s.ignored_count);
	if (getrandom(&s.name_seed, sizeof s.name_seed, 0) != (ssize_t)sizeof s.name_seed)
		s.name_seed = (uintptr_t)drop; /* an old kernel without entropy: better than none */
	outgoing_settings_init(&s);
	return s;
}

/* "default" stands for those that others use. */
static struct tag_settings
tags_of(const struct config_cache *c)
{
	static const struct str usual[] = {STR_INIT("surrogate-key"), STR_INIT("cache-tag")};
	struct str *names = mem_zalloc((2 * c->tags.header_count + 1) * sizeof *names);
	unsigned n = 0;
	for (unsigned i = 0; i < c->tags.header_count; i++) {
		if (strcmp(c->tags.headers[i], "default") == 0) {
			names[n++] = usual[0];
			names[n++] = usual[1];
		} else {
			names[n++] = str_of(c->tags.headers[i]);
		}
	}
	struct tag_settings s = {.names = names, .names_n = n, .strip = c->tags.strip};
	tags_prepare(&s);
	return s;
}

struct settings *
settings_create(const struct config *c, uint32_t node)
{
	struct settings *s = NEW(struct settings);
	s->config = c;
	s->name = "twice";
	s->routes = routes_create(c);
	buf_printf(&s->via, "%s-%08x", c->forwarded.via, node);
	s->outgoing = outgoing_of(c, buf_str(&s->via));
	s->tags = tags_of(&c->cache);
	s->trusted = network_list(c->forwarded.trust, c->forwarded.trust_count, &s->trusted_count);
	s->purge_from =
		network_list(c->cache.purge_from, c->cache.purge_from_count, &s->purge_from_count);
	s->users = 1;
	return s;
}

struct settings *
settings_ref(struct settings *s)
{
	assert(s->users > 0);
	s->users++;
	return s;
}

void
settings_unref(struct settings **sp)
{
	struct settings *s = *sp;
	*sp = NULL;
	if (!s)
		return;
	assert(s->users > 0);
	if (--s->users)
		return;
	routes_destroy(&s->routes);
	free(s->trusted);
	free(s->purge_from);
	free((void *)(uintptr_t)s->tags.names);
	buf_fini(&s->via);
	free((void *)(uintptr_t)s->outgoing.drop);
	free((void *)(uintptr_t)s->outgoing.harmless);
	free((void *)(uintptr_t)s->outgoing.ignored);
	void (*gone)(void *) = s->gone;
	void *lender = s->lender;
	free(s);
	if (gone)
		gone(lender);
}
