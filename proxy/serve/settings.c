/* settings.c - compiles the configuration once, for all the requests that begin under it. */
#include "proxy/serve/settings.h"

#include "config/config.h"
#include "proxy/base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/random.h>

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
	struct str *names = mem_zalloc((2 * c->tag_header_count + 1) * sizeof *names);
	unsigned n = 0;
	for (unsigned i = 0; i < c->tag_header_count; i++) {
		if (strcmp(c->tag_headers[i], "default") == 0) {
			names[n++] = usual[0];
			names[n++] = usual[1];
		} else {
			names[n++] = str_of(c->tag_headers[i]);
		}
	}
	struct tag_settings s = {.names = names, .names_n = n, .strip = c->strip_tags};
	tags_prepare(&s);
	return s;
}

struct settings *
settings_create(const struct config *c, uint32_t node)
{
	struct settings *s = NEW(struct settings);
	s->config = c;
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
	void (*gone)(void *) = s->gone;
	void *lender = s->lender;
	free(s);
	if (gone)
		gone(lender);
}
