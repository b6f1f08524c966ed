/* preflight_names.c - names of origins that cannot be found now. */
#include "proxy/node/preflight.h"

#include "config/config.h"
#include "config/groups.h"
#include "proxy/base/mem.h"
#include "proxy/origin/origin.h"
#include "proxy/origin/resolver.h"

#include <stdio.h>
#include <stdlib.h>

static void
check_name(const struct config_member *m, struct origin *o, preflight_each_fn *each, void *ctx)
{
	struct finding f = {0};
	const char *name = origin_unknown(o);
	if (!name)
		return;
	snprintf(f.setting, sizeof f.setting, "%s", m->setting);
	snprintf(f.text, sizeof f.text,
		 "no address of %s can be found now; as long as there is none, requests to it "
		 "are answered 502, or stale",
		 name);
	each(ctx, &f);
}

void
preflight_names(const struct config *c, preflight_each_fn *each, void *ctx)
{
	enum { FIND_MS = 6000 };
	unsigned n = config_member_count(c);
	struct resolver *r = resolver_create(NULL, 60000);
	struct origin **all = mem_zalloc((n + 1) * sizeof *all);
	struct config_member m;
	char err[PREFLIGHT_TEXT];
	for (unsigned i = 0; i < n; i++) {
		config_member(c, i, &m);
		struct origin_options o = {.url = m.url, .resolver = r, .insecure = true};
		all[i] = origin_create(&o, err, sizeof err);
	}
	resolver_wait(r, FIND_MS);
	for (unsigned i = 0; i < n; i++) {
		config_member(c, i, &m);
		if (all[i])
			check_name(&m, all[i], each, ctx);
		origin_destroy(&all[i]);
	}
	free(all);
	resolver_destroy(&r);
}
