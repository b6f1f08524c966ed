/* preflight.c - one function per thing that can be missing; the table at the end calls them. */
#include "proxy/node/preflight_inside.h"

#include "config/config.h"
#include "config/groups.h"
#include "config/listen.h"
#include "config/origins.h"
#include "proxy/base/address.h"
#include "proxy/base/mem.h"
#include "proxy/base/process.h"
#include "proxy/cache/store/ledger.h"
#include "proxy/cache/store/store.h"
#include "proxy/node/doorway.h"
#include "proxy/node/identity.h"
#include "proxy/node/pages.h"
#include "proxy/node/reach.h"
#include "proxy/origin/origin.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- origins ------------------------------------------------------------------------------- */

static void
check_origin_files(const struct config *c, struct findings *p)
{
	char setting[64], err[PREFLIGHT_TEXT];
	for (unsigned i = 0; i < c->origin_count; i++) {
		const struct config_origin *o = &c->origins[i];
		struct origin_options files = {
			.ca_file = o->ca_file,
			.insecure = !o->ca_file,
			.cert_file = o->cert_file,
			.key_file = o->key_file,
		};
		const char *wrong = origin_check_files(&files, err, sizeof err);
		snprintf(setting, sizeof setting, "origins.%u.%s", i, wrong ? wrong : "");
		if (wrong)
			preflight_find_missing(p, setting, "%s", err);
	}
}

static void
check_pages(const struct config *c, struct findings *p)
{
	char setting[CONFIG_NAME_BYTES], err[PREFLIGHT_TEXT];
	for (unsigned i = 0; i < c->route_count; i++)
		if (pages_try(c, i, setting, err, sizeof err))
			preflight_find_missing(p, setting, "%s", err);
}

/* Whether an interface of this machine has the address. */
static bool
is_ours(const struct address *a)
{
	struct ifaddrs *all = NULL;
	bool found = false;
	if (getifaddrs(&all))
		return false;
	for (struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != a->sa.ss_family)
			continue;
		if (a->sa.ss_family == AF_INET)
			found = ((struct sockaddr_in *)(void *)i->ifa_addr)->sin_addr.s_addr ==
				((const struct sockaddr_in *)&a->sa)->sin_addr.s_addr;
		else if (a->sa.ss_family == AF_INET6)
			found = IN6_ARE_ADDR_EQUAL(
				&((struct sockaddr_in6 *)(void *)i->ifa_addr)->sin6_addr,
				&((const struct sockaddr_in6 *)&a->sa)->sin6_addr);
	}
	freeifaddrs(all);
	return found;
}

/* config/ knows loopback; an origin may also be the machine's own name in numbers. */
static void
check_loops(const struct config *c, struct findings *p)
{
	for (unsigned i = 0; i < config_member_count(c); i++) {
		struct address to, a;
		struct config_member m;
		config_member(c, i, &m);
		if (!config_origin_address(m.url, &to) || !is_ours(&to) || address_is_loopback(&to))
			continue;
		for (unsigned j = 0; j < c->listen_count; j++)
			if (address_parse(config_listen_address(c->listen[j]), &a) == 0 &&
			    address_is_any(&a) && address_port(&a) &&
			    address_port(&a) == address_port(&to))
				preflight_find(
					p, true, m.setting,
					"%s is this machine, where twice itself listens (%s); name the "
					"server behind it",
					m.url, c->listen[j]);
	}
}

/* ---- certificates -------------------------------------------------------------------------- */

static void
on_certificate(void *ctx, unsigned of, const char *text)
{
	struct findings *p = ctx;
	char setting[CONFIG_NAME_BYTES];
	doorway_name(p->config, of, setting);
	if (of ==
	    p->config->tls.certificate_count) /* client_ca: nobody could be told from a stranger */
		preflight_find(p, true, setting, "%s", text);
	else
		preflight_find_missing(p, setting, "%s", text);
}

static void
on_certificate_of_another_time(void *ctx, unsigned of, const char *text)
{
	struct findings *p = ctx;
	char setting[CONFIG_NAME_BYTES];
	preflight_find(p, false, doorway_name(p->config, of, setting), "%s", text);
}

static void
check_certificates(const struct config *c, struct findings *p)
{
	struct tls_problems problems = {
		.tell = on_certificate, .warn = on_certificate_of_another_time, .ctx = p};
	if (doorway_has_tls(c)) {
		struct tls_server_options o = doorway_tls(c);
		size_t usable = tls_server_try(&o, &problems);
		if (!usable && problems.told && !doorway_has_plain(c))
			preflight_find(
				p, true, "listen",
				"no client could be served: each entry needs a certificate, and none can "
				"be used; mend one of tls.certificates");
	}
	const char *dir = c->tls.acme_challenges;
	struct reach_dir r = {0};
	if (dir)
		reach_dir(dir, &r);
	if (r.hangs)
		preflight_find(
			p, false, "tls.acme_challenges",
			"%s does not answer (the disk hangs); no challenge is answered until it does",
			dir);
	else if (dir && access(dir, R_OK | X_OK))
		preflight_find(
			p, false, "tls.acme_challenges",
			"cannot read in %s: %s; no challenge would be answered: make the directory",
			dir, strerror(errno));
}

/* ---- files --------------------------------------------------------------------------------- */

/* The directory, or the one in which it is made. One of several is left out if it cannot be used, and so is one that
 * hangs. */
static void
check_one_dir(const struct config *c, const char *dir, const struct reach_dir *r,
	      const char *setting, struct findings *p)
{
	bool stops = c->disk_count == 0; /* else it is left out */
	bool alone = stops && !c->cache.required;
	if (r->hangs)
		preflight_find(p, stops && !alone, setting, "%s does not answer (the disk hangs)%s",
			       dir,
			       stops && !alone ? "; name another directory"
					       : ": the cache does without it until it does");
	else if (r->error)
		preflight_find(p, stops && !(alone && r->error == EIO), setting,
			       "cannot use %s: %s; name a directory you may write, or "
			       "none",
			       dir, strerror(r->error));
	else if (!r->is_dir)
		preflight_find(p, stops, setting,
			       "%s is no directory; name one you may write, or none", r->at);
	else if (r->writing)
		preflight_find(p, stops && !(alone && (r->writing == EIO || r->writing == EROFS)),
			       setting,
			       "cannot write in %s: %s; name a directory you may write, "
			       "or none",
			       r->at, strerror(r->writing));
}

static void
check_one_disk(const struct config *c, const struct reach_dir *r, uint64_t bytes,
	       const char *setting, struct findings *p)
{
	uint64_t all = r->all_bytes, keep = store_reserve(c->cache.keep_free, all);
	keep = keep < all ? keep : all;
	if (!all)
		return;
	if (bytes > all)
		preflight_find(
			p, false, setting,
			"%.1f GB is more than the file system of %s has (%.1f GB); write a smaller size",
			(double)bytes / 1e9, r->at, (double)all / 1e9);
	else if (bytes > all - keep)
		preflight_find(
			p, false, setting,
			"%.2f GB of the %.2f GB of the file system of %s are left to others "
			"(cache.keep_free): the cache will stop growing at %.2f GB; write a smaller size",
			(double)keep / 1e9, (double)all / 1e9, r->at, (double)(all - keep) / 1e9);
}

static void
check_disks(const struct config *c, struct findings *p)
{
	char setting[CONFIG_NAME_BYTES];
	for (unsigned i = 0; i <= c->disk_count; i++) {
		const char *dir = i ? c->disks[i - 1].dir : c->cache.dir;
		struct reach_dir r;
		if (!dir)
			continue;
		reach_dir(dir, &r);
		snprintf(setting, sizeof setting, i ? "more_disks.%u.dir" : "cache.dir", i - 1);
		if (!(p->in->who->gives & 1u << i) || r.hangs)
			check_one_dir(c, dir, &r, setting, p);
		snprintf(setting, sizeof setting, i ? "more_disks.%u.size" : "cache.disk", i - 1);
		check_one_disk(c, &r, i ? c->disks[i - 1].bytes : c->cache.disk_bytes, setting, p);
	}
}

static uint64_t
segments_of(uint64_t disk_bytes)
{
	uint64_t bytes = ledger_log_bytes(disk_bytes, 0);
	return bytes / ledger_segment_bytes(bytes) + 1;
}

int64_t
preflight_disk_ms(const struct config *c)
{
	enum { MOST_MS = 10000 };
	uint64_t upgrade_ms = c->timeouts.upgrade_ms;
	return upgrade_ms < MOST_MS ? (int64_t)upgrade_ms : MOST_MS;
}

uint64_t
preflight_files(const struct config *c)
{
	enum {
		RESERVE = 64
	}; /* the log, small files, connections to the admin server, an upgrade */
	uint64_t n = RESERVE + c->listen_count;
	if (c->cache.dir)
		n += segments_of(c->cache.disk_bytes);
	for (unsigned i = 0; i < c->disk_count; i++)
		n += segments_of(c->disks[i].bytes);
	return n;
}

static void
check_files(const struct config *c, struct findings *p)
{
	uint64_t most = process_file_limit(), others = preflight_files(c);
	if (c->limits.connections > most) /* by a few only, fewer is what there is room for */
		preflight_find(
			p, false, "limits.connections",
			"%u connections cannot be kept where %llu files may be open: %llu are for the "
			"cache, the admin server and a reserve, and each fetch from an origin takes one "
			"as well; raise that limit (LimitNOFILE= of systemd, ulimit -n), or lower this "
			"one",
			c->limits.connections, (unsigned long long)most,
			(unsigned long long)others);
}

static void
check_memory(const struct config *c, struct findings *p)
{
	uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	if (c->cache.memory_bytes > all / 10 * 8)
		preflight_find(
			p, false, "cache.memory",
			"%.1f GB is more than 80%% of this machine's memory (%.1f GB), and the index and "
			"the filters need some too; write a smaller size",
			(double)c->cache.memory_bytes / 1e9, (double)all / 1e9);
}

/* With the reason in errno. */
static bool
can_make_in(const char *dir)
{
	struct stat st;
	if (stat(dir, &st))
		return false;
	if (S_ISDIR(st.st_mode))
		return access(dir, W_OK | X_OK) == 0;
	errno = ENOTDIR;
	return false;
}

static void
check_log(const struct config *c, struct findings *p)
{
	const char *path = c->access_log;
	char dir[REACH_PATH];
	struct reach_dir r;
	struct stat st;
	if (!path || strcmp(path, "-") == 0 || strcmp(path, "off") == 0)
		return;
	snprintf(dir, sizeof dir, "%s", path);
	reach_cut_name(dir);
	reach_dir(path, &r);
	bool there = !r.hangs && stat(path, &st) == 0;
	if (r.hangs)
		preflight_find(
			p, false, "access_log",
			"%s does not answer (the disk hangs); no request is logged until it does",
			path);
	else if (there && S_ISDIR(st.st_mode))
		preflight_find(p, false, "access_log", "%s is a directory; name a file in it",
			       path);
	else if (there ? access(path, W_OK) == 0 : can_make_in(dir))
		return;
	else
		preflight_find(
			p, false, "access_log",
			"cannot write %s: %s; no request would be logged: %s %s, or name another file",
			path, strerror(errno),
			errno == ENOENT	   ? "make"
			: errno == ENOTDIR ? "make a directory of"
					   : "let the program's user write",
			there ? path : dir);
}

/* ---- all of it ----------------------------------------------------------------------------- */

struct reading {
	const char **paths;
	char (*settings)[CONFIG_NAME_BYTES];
	unsigned n;
};

__attribute__((format(printf, 3, 4))) static void
add_path(struct reading *r, const char *path, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(r->settings[r->n], sizeof *r->settings, fmt, args);
	va_end(args);
	r->paths[r->n++] = path;
}

static void
add_paths(const struct config *c, struct reading *r)
{
	add_path(r, c->admin_token_file, "admin_token_file");
	add_path(r, c->tls.client_ca, "tls.client_ca");
	add_path(r, c->tls.ticket_key, "tls.ticket_key");
	add_path(r, c->fleet.secret_file, "fleet.secret_file");
	add_path(r, c->fleet.ca_file, "fleet.ca_file");
	add_path(r, c->fleet.cert_file, "fleet.cert_file");
	add_path(r, c->fleet.key_file, "fleet.key_file");
	for (unsigned i = 0; i < c->tls.certificate_count; i++)
		add_path(r, c->tls.certificates[i], "tls.certificates");
	for (unsigned i = 0; i < c->origin_count; i++) {
		add_path(r, c->origins[i].ca_file, "origins.%u.ca_file", i);
		add_path(r, c->origins[i].cert_file, "origins.%u.cert_file", i);
		add_path(r, c->origins[i].key_file, "origins.%u.key_file", i);
	}
	for (unsigned i = 0; i < c->route_count; i++)
		add_path(r, c->routes[i].answer.file, "routes.%u.answer.file", i);
}

/* A disk that hangs below one of the files that are read would have a start or a reload stand still. */
static bool
check_reach(const struct config *c, struct findings *p)
{
	unsigned most = 7 + c->tls.certificate_count + 3 * c->origin_count + c->route_count;
	struct reading r = {.paths = mem_zalloc(most * sizeof *r.paths),
			    .settings = mem_zalloc(most * sizeof *r.settings)};
	add_paths(c, &r);
	unsigned hangs = reach_files(r.paths, r.n);
	if (hangs < r.n)
		preflight_find(p, true, r.settings[hangs], "%s does not answer (the disk hangs)",
			       r.paths[hangs]);
	free(r.paths);
	free(r.settings);
	return hangs == r.n;
}

unsigned
preflight(const struct config *c, const struct preflight_place *in, preflight_each_fn *each,
	  void *ctx)
{
	static void (*const checks[])(const struct config *, struct findings *) = {
		preflight_listen, preflight_admin, check_origin_files, check_certificates,
		check_loops,	  check_disks,	   check_files,	       check_memory,
		check_log,	  check_pages,	   preflight_fleet,
	};
	struct findings p = {each, ctx, 0, c, in};
	if (!check_reach(c, &p))
		return p.found;
	for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
		checks[i](c, &p);
	return p.found;
}
