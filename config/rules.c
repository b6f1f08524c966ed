/* rules.c - addresses, origins, loops, disks and TLS: what must go together. */
#include "config/rules_inside.h"

#include "config/groups.h"
#include "config/listen.h"
#include "config/units.h"
#include "proxy/base/address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned
config_socket_mode(const struct config *c)
{
	return (unsigned)strtoul(c->socket_mode, NULL, 8);
}

static const char *
check_addresses(const struct config *c, char *err, size_t err_bytes)
{
	if (c->listen_count == 0)
		return rules_wrong("listen", err, err_bytes, "empty; write at least one IP:PORT");
	for (unsigned i = 0; i < c->listen_count; i++) {
		for (unsigned j = 0; j < i; j++) {
			if (config_listen_same(c->listen[i], c->listen[j]))
				return rules_wrong("listen", err, err_bytes,
						   "%s is given twice; keep one", c->listen[i]);
			if (config_listen_overlaps(c->listen[i], c->listen[j]))
				return rules_wrong(
					"listen", err, err_bytes,
					"%s and %s take the same clients ([::] is for IPv4 "
					"too); keep one",
					c->listen[j], c->listen[i]);
		}
		if (c->admin && config_listen_same(c->listen[i], c->admin))
			return rules_wrong("admin", err, err_bytes,
					   "%s is a listen address too; take another port",
					   c->admin);
		if (c->admin && config_listen_overlaps(c->listen[i], c->admin))
			return rules_wrong(
				"admin", err, err_bytes,
				"%s covers %s too, and two cannot have it; take another port",
				c->listen[i], c->admin);
	}
	return NULL;
}

bool
config_origin_address(const char *url, struct address *a)
{
	const char *host = strstr(url, "://");
	char text[ADDRESS_TEXT];
	if (!host) /* a Unix socket */
		return false;
	host += 3;
	const char *bracket = strrchr(host, ']'), *colon = strrchr(host, ':');
	bool has_port = colon && colon > bracket;
	const char *port = strncasecmp(url, "https", 5) == 0 ? ":443" : ":80";
	int n = snprintf(text, sizeof(text), "%s%s", host, has_port ? "" : port);
	return n < (int)sizeof(text) && address_parse(text, a) == 0;
}

/* Would a listener on a answer at b? */
static bool
listens_at(const char *listen, const struct address *b)
{
	struct address a;
	if (address_parse(config_listen_address(listen), &a) < 0 || address_port(&a) == 0 ||
	    address_port(&a) != address_port(b))
		return false;
	bool same = a.bytes == b->bytes && memcmp(&a.sa, &b->sa, a.bytes) == 0;
	return same || (address_is_any(&a) && (address_is_loopback(b) || address_is_any(b)));
}

static const char *
check_loops(const struct config *c, char *err, size_t err_bytes)
{
	for (unsigned i = 0; i < config_member_count(c); i++) {
		struct address to;
		struct config_member m;
		config_member(c, i, &m);
		if (!config_origin_address(m.url, &to))
			continue;
		for (unsigned j = 0; j < c->listen_count; j++)
			if (listens_at(c->listen[j], &to))
				return rules_wrong(
					rules_kept(m.setting), err, err_bytes,
					"%s is where twice itself listens (%s); name the "
					"server behind it",
					m.url, c->listen[j]);
		if (c->admin && listens_at(c->admin, &to))
			return rules_wrong(
				rules_kept(m.setting), err, err_bytes,
				"%s is the admin address; name the server that has the content",
				m.url);
	}
	return NULL;
}

_Static_assert((int)CONFIG_ROUTE_COOKIE_SHARE == (int)CONFIG_COOKIE_SHARE + 1,
	       "one word before those of cache.set_cookie");

struct config_cache
config_route_cache(const struct config *c, const struct config_route *r)
{
	struct config_cache all = c->cache;
	const struct config_route_cache *own = &r->cache;
#define TAKE(member) all.member = own->member ? own->member - 1 : all.member
	TAKE(default_ttl_s);
	TAKE(heuristic_max_s);
	TAKE(stale_if_error_s);
	TAKE(stale_while_revalidate_s);
	TAKE(stale_after_ms);
#undef TAKE
	if (own->set_cookie)
		all.set_cookie = (enum config_cookie)(own->set_cookie - 1);
	if (own->client_errors)
		all.client_errors = own->client_errors == CONFIG_ROUTE_ON;
	return all;
}

bool
config_has_fleet(const struct config *c)
{
	return c->fleet.engine_count || c->fleet.member_count;
}

uint64_t
config_disk_bytes(const struct config *c)
{
	uint64_t sum = c->cache.dir ? c->cache.disk_bytes : 0;
	for (unsigned i = 0; i < c->disk_count; i++)
		sum += c->disks[i].bytes;
	return sum;
}

uint64_t
config_budget(const struct config *c, unsigned *saved_s)
{
	enum { A_WHILE_S = 2, HOUR_S = 3600 };
	uint64_t rate = c->admission.write_budget;
	*saved_s = rate & (UNITS_RATE_DAY | UNITS_RATE_DRIVE) ? HOUR_S : A_WHILE_S;
	return units_rate_per_s(rate, config_disk_bytes(c));
}

static const char *
check_tls(const struct config *c, char *err, size_t err_bytes)
{
	bool listens = false;
	for (unsigned i = 0; i < c->listen_count; i++)
		listens |= config_listen_scheme(c->listen[i]) == CONFIG_HTTPS;
	if (listens && c->tls.certificate_count == 0 && !c->tls.self_signed)
		return rules_wrong(
			"tls.certificates", err, err_bytes,
			"an address of listen begins with https://, which needs a certificate; "
			"name a file or directory that has one, or take --self-signed for a first try");
	if (!listens && c->tls.certificate_count)
		return rules_wrong(
			"tls.certificates", err, err_bytes,
			"no address of listen begins with https://, so no certificate is used; "
			"write listen: [ \"https://0.0.0.0:443\" ]");
	if (c->tls.client_ca && !listens)
		return rules_wrong(
			"tls.client_ca", err, err_bytes,
			"no address of listen begins with https://, so no client is asked");
	return NULL;
}

static const char *
check_forwarders(const struct config *c, char *err, size_t err_bytes)
{
	for (unsigned i = 0; i < c->listen_count; i++)
		if (config_listen_proxied(c->listen[i]) && !c->forwarded.trust_count)
			return rules_wrong("forwarded.trust", err, err_bytes,
					   "an address of listen begins with proxy+, where only "
					   "forwarders that are named here are listened to; write "
					   "forwarded: { trust: [ 10.0.0.0/8 ] }");
	return NULL;
}

static const char *
check_admin(const struct config *c, char *err, size_t err_bytes)
{
	if (c->admin_token && c->admin_token_file)
		return rules_wrong("admin_token_file", err, err_bytes,
				   "admin_token says the token already; leave one of both out");
	if (c->admin_socket && c->admin_socket[0] != '/')
		return rules_wrong(
			"admin_socket", err, err_bytes,
			"\"%.60s\" is not the path of a socket; write one from the root, such "
			"as /run/twice/admin.sock",
			c->admin_socket);
	for (unsigned i = 0; i < c->admin_host_count; i++)
		if (strpbrk(c->admin_hosts[i], "*:"))
			return rules_wrong(
				"admin_hosts", err, err_bytes,
				"no request is for the name \"%s\"; write names in full, and "
				"without port; addresses are answered anyway",
				c->admin_hosts[i]);
	for (unsigned i = 0; c->admin_socket && i < c->listen_count; i++) {
		const char *path = config_listen_path(c->listen[i]);
		if (path && strcmp(path, c->admin_socket) == 0)
			return rules_wrong("admin_socket", err, err_bytes,
					   "%s is a listen address too; take another path", path);
	}
	return NULL;
}

static const char *
check_identity(const struct config *c, char *err, size_t err_bytes)
{
	if (c->identity.group && !c->identity.user)
		return rules_wrong("group", err, err_bytes,
				   "counts only beside user; write user: %s too, or leave it out",
				   c->identity.group);
	return NULL;
}

/* One of the settings of a fleet that count only beside others. */
static bool
has_fleet_settings(const struct config_fleet *f)
{
	return f->listen || f->ca_file || f->cert_file || f->key_file || f->network_count ||
	       f->secret_file || f->name || f->zone || f->weight_bytes;
}

static const char *
check_fleet_door(const struct config_fleet *f, char *err, size_t err_bytes)
{
	struct address a;
	if (!f->listen || address_parse(f->listen, &a))
		return rules_wrong("fleet.listen", err, err_bytes,
				   "say where the other nodes reach this one, as 10.0.0.11:8443");
	if (address_is_any(&a))
		return rules_wrong("fleet.listen", err, err_bytes,
				   "the other nodes are told this address; name the one of this "
				   "machine, not %s",
				   f->listen);
	if (f->cert_file && !f->ca_file)
		return rules_wrong("fleet.ca_file", err, err_bytes,
				   "name the authority that the nodes' certificates are from");
	if (f->key_file && !f->cert_file)
		return rules_wrong("fleet.key_file", err, err_bytes,
				   "counts only beside cert_file; name that too");
	if (!f->cert_file && !f->network_count)
		return rules_wrong(
			"fleet.networks", err, err_bytes,
			"without cert_file name the networks of the other nodes, such as "
			"[ 10.0.0.0/24 ]");
	return NULL;
}

static const char *
check_fleet(const struct config *c, char *err, size_t err_bytes)
{
	const struct config_fleet *f = &c->fleet;
	if (!config_has_fleet(c))
		return has_fleet_settings(f) ? rules_wrong("fleet.engine", err, err_bytes,
							   "name the engine of the fleet, such as "
							   "redis://10.0.0.5:6379, or its members")
					     : NULL;
	if (f->engine_count && f->member_count)
		return rules_wrong("fleet.members", err, err_bytes,
				   "the engine knows the members; leave one of both out");
	if (f->zone && f->member_count)
		return rules_wrong(
			"fleet.zone", err, err_bytes,
			"only the engine tells nodes of each other's zones; name one, or leave "
			"zone out");
	if (!f->secret_file)
		return rules_wrong("fleet.secret_file", err, err_bytes,
				   "name the file of the fleet's secret (openssl rand -hex 32 "
				   "makes one), the same on every node");
	return check_fleet_door(f, err, err_bytes);
}

static const char *
check_disks(const struct config *c, char *err, size_t err_bytes)
{
	if (c->disk_count && !c->cache.dir)
		return rules_wrong(
			"more_disks", err, err_bytes,
			"cache.dir: none keeps everything in RAM; name the first disk there");
	if (c->disk_count > CONFIG_DISKS_MOST)
		return rules_wrong("more_disks", err, err_bytes,
				   "more than %d; join some to one file system (LVM, RAID 0)",
				   CONFIG_DISKS_MOST);
	for (unsigned i = 0; i < c->disk_count; i++)
		for (unsigned j = 0; j <= i; j++) {
			const char *other = j ? c->disks[j - 1].dir : c->cache.dir;
			if (strcmp(c->disks[i].dir, other) == 0)
				return rules_wrong(rules_indexed("more_disks", i, "dir"), err,
						   err_bytes, "%s is given twice; keep one", other);
		}
	return NULL;
}

static const char *
check_sizes(const struct config *c, char *err, size_t err_bytes)
{
	if (c->cache.max_object_bytes > c->cache.disk_bytes)
		return rules_wrong("cache.max_object", err, err_bytes,
				   "more than cache.disk; write a smaller size, or auto");
	return NULL;
}

static const char *
check_filter(const struct config *c, char *err, size_t err_bytes)
{
	const struct config_admission *a = &c->admission;
	if (a->sightings > 2 && a->filter != CONFIG_FILTER_PAIR &&
	    a->filter != CONFIG_FILTER_COUNTING)
		return rules_wrong(
			"admission.sightings", err, err_bytes,
			"this filter tells only one sighting from none; write 1 or 2, or "
			"set admission.filter to pair");
	if (!a->sightings && a->filter != CONFIG_FILTER_PAIR)
		return rules_wrong(
			"admission.sightings", err, err_bytes,
			"auto is only for admission.filter: pair; leave filter out, or write a "
			"number");
	return NULL;
}

void
rules_each(const struct config *c, rules_each_fn *each, void *ctx)
{
	typedef const char *check_fn(const struct config *, char *, size_t);
	check_fn *const checks[] = {
		check_addresses,   groups_check,     check_loops,    check_disks,
		check_tls,	   check_forwarders, check_identity, check_admin,
		rules_of_headers,  rules_of_rate,    rules_of_names, rules_of_encoding,
		rules_of_compress, check_sizes,	     check_filter,   check_fleet};
	char why[512];
	const char *bad;
	for (unsigned i = 0; i < c->origin_count; i++)
		if ((bad = groups_check_one(c, i, why, sizeof why)) != NULL)
			each(ctx, bad, why);
	for (unsigned i = 0; i < c->route_count; i++)
		if ((bad = rules_of_route(c, i, why, sizeof why)) != NULL)
			each(ctx, bad, why);
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		if ((bad = checks[i](c, why, sizeof why)) != NULL)
			each(ctx, bad, why);
}

struct first {
	char setting[CONFIG_NAME_BYTES];
	char *err;
	size_t err_bytes;
	bool found;
};

static void
keep_first(void *ctx, const char *setting, const char *why)
{
	struct first *f = ctx;
	if (f->found)
		return;
	f->found = true;
	snprintf(f->setting, sizeof f->setting, "%s", setting);
	snprintf(f->err, f->err_bytes, "%s", why);
}

const char *
rules_broken(const struct config *c, char *err, size_t err_bytes)
{
	struct first first = {.err = err, .err_bytes = err_bytes};
	rules_each(c, keep_first, &first);
	return first.found ? rules_kept(first.setting) : NULL;
}
