/* preflight_fleet.c - can this node join its fleet: the secret, the files of TLS, the engine. */
#include "proxy/node/preflight_inside.h"

#include "config/config.h"
#include "proxy/fleet/engine_place.h"
#include "proxy/fleet/probe.h"
#include "proxy/node/membership.h"
#include "proxy/origin/origin.h"

#include <stdio.h>
#include <string.h>

static bool
check_secret(const struct config_fleet *f, struct findings *p, struct secret *secret)
{
	char why[PREFLIGHT_TEXT];
	bool fine = secret_read(secret, f->secret_file, why, sizeof why) == 0;
	if (!fine)
		preflight_find(p, true, "fleet.secret_file", "%s", why);
	return fine;
}

static bool
check_places(const struct config_fleet *f, struct findings *p)
{
	char why[PREFLIGHT_TEXT];
	for (unsigned i = 0; i < f->engine_count; i++) {
		struct engine_place place;
		if (engine_place_parse(f->engine[i], &place, why, sizeof why) == 0)
			continue;
		preflight_find(p, true, "fleet.engine", "%s", why);
		return false;
	}
	return true;
}

static bool
check_tls(const struct config_fleet *f, struct findings *p)
{
	char why[PREFLIGHT_TEXT], setting[32];
	const struct origin_options o = {
		.ca_file = f->ca_file, .cert_file = f->cert_file, .key_file = f->key_file};
	const char *wrong = origin_check_files(&o, why, sizeof why);
	if (!wrong)
		return true;
	snprintf(setting, sizeof setting, "fleet.%s", wrong);
	preflight_find(p, true, setting, "%s", why);
	return false;
}

/* Asked by `twice check` alone: a start does not wait for an engine. */
static void
ask_engine(const struct config *c, struct findings *p, const struct secret *secret)
{
	const struct config_fleet *f = &c->fleet;
	char why[PREFLIGHT_TEXT], setting[32], name[MEMBERSHIP_NAME];
	const struct probe_options o = {
		.engine = f->engine,
		.engine_n = f->engine_count,
		.ca_file = f->ca_file,
		.cert_file = f->cert_file,
		.key_file = f->key_file,
		.secret = secret,
		.name = membership_name(c, name),
		.listen = f->listen,
	};
	const char *wrong = probe(&o, why, sizeof why);
	if (!wrong)
		return;
	snprintf(setting, sizeof setting, "fleet.%s", wrong);
	preflight_find(p, false, setting, "%s", why);
}

void
preflight_fleet(const struct config *c, struct findings *p)
{
	struct secret secret;
	if (!config_has_fleet(c))
		return;
	bool has_secret = check_secret(&c->fleet, p, &secret);
	bool fine = check_places(&c->fleet, p);
	fine = check_tls(&c->fleet, p) && fine && has_secret;
	if (fine && c->fleet.engine_count && p->in->starts_later)
		ask_engine(c, p, &secret);
	if (has_secret)
		secret_forget(&secret);
}
