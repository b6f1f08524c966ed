/* preflight.c - one function per thing that can be missing; the table at the end calls them. */
#include "proxy/node/preflight.h"

#include "config/config.h"
#include "config/groups.h"
#include "config/listen.h"
#include "config/origins.h"
#include "proxy/base/mem.h"
#include "proxy/cache/store.h"
#include "proxy/node/admin_door.h"
#include "proxy/node/doorway.h"
#include "proxy/node/identity.h"
#include "proxy/node/pages.h"
#include "proxy/origin/origin.h"
#include "proxy/origin/resolver.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct findings { /* who is told */
	void (*each)(void *ctx, const struct finding *f);
	void *ctx;
	unsigned found;
	const struct config *config;
	const struct preflight_place *in;
};

__attribute__((format(printf, 4, 5))) static void
find(struct findings *p, bool stops, const char *setting, const char *fmt, ...)
{
	struct finding f = {.stops = stops};
	snprintf(f.setting, sizeof f.setting, "%s", setting);
	va_list args;
	va_start(args, fmt);
	vsnprintf(f.text, sizeof f.text, fmt, args);
	va_end(args);
	p->found++;
	p->each(p->ctx, &f);
}

/* ---- addresses ----------------------------------------------------------------------------- */

/* 0 when a socket could be made there. Root makes its directory for the user that it becomes. */
static int
cannot_make(const char *path, const struct identity *who)
{
	char dir[UNIX_SOCKET_PATH_BYTES];
	struct stat st;
	snprintf(dir, sizeof dir, "%.*s/", (int)(strrchr(path, '/') - path), path);
	if (access(dir, W_OK | X_OK))
		return errno == ENOENT && who->changed ? 0 : errno;
	return lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode) ? EEXIST : 0;
}

/* 0 when one could listen there, as far as this can be known beside a proxy that runs. */
static int
cannot_listen(const char *listen, const struct preflight_place *in)
{
	struct address a;
	int on = 1, error = 0;
	if (in->listens && in->listens(in->ctx, listen))
		return 0;
	if (config_listen_path(listen))
		return cannot_make(config_listen_path(listen), in->who);
	if (address_parse(config_listen_address(listen), &a) < 0)
		return EINVAL;
	int fd = socket(a.sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
	if (bind(fd, (struct sockaddr *)&a.sa, a.bytes) && errno != EADDRINUSE)
		error = errno;
	close(fd);
	return error;
}

static void
check_listen(const struct config *c, struct findings *p)
{
	for (unsigned i = 0; i < c->listen_count; i++) {
		int error = cannot_listen(c->listen[i], p->in);
		if (error)
			find(p, true, "listen", "cannot listen on %s: %s; %s", c->listen[i],
			     strerror(error),
			     config_listen_path(c->listen[i])
				     ? "name a path in a directory that the program may write"
			     : error == EACCES ? "take a port from 1024 on, or give the program "
						 "CAP_NET_BIND_SERVICE"
					       : "write an address of this machine");
	}
	int error = c->admin_socket ? cannot_make(c->admin_socket, p->in->who) : 0;
	if (error)
		find(p, true, "admin_socket",
		     "cannot listen on %s: %s; name a path in a directory that the program may write",
		     c->admin_socket, strerror(error));
	error = c->admin ? cannot_listen(c->admin, p->in) : 0;
	if (error)
		find(p, true, "admin", "cannot listen on %s: %s; write an address of this machine",
		     c->admin, strerror(error));
}

static void
check_admin(const struct config *c, struct findings *p)
{
	char err[PREFLIGHT_TEXT];
	struct address a;
	char *token =
		c->admin_token_file ? admin_door_token(c->admin_token_file, err, sizeof err) : NULL;
	if (c->admin_token_file && !token)
		find(p, true, "admin_token_file", "%s", err);
	free(token);
	if (c->admin && address_parse(c->admin, &a) == 0 && !address_is_loopback(&a) &&
	    !c->admin_token && !c->admin_token_file)
		find(p, false, "admin",
		     "others can reach %s, so nothing but /healthz is answered there without a "
		     "token; set admin_token_file, or listen on 127.0.0.1",
		     c->admin);
}

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
			find(p, true, setting, "%s", err);
	}
}

static void
check_pages(const struct config *c, struct findings *p)
{
	struct pages pages;
	char setting[CONFIG_NAME_BYTES], err[PREFLIGHT_TEXT];
	if (pages_open(c, &pages, setting, err, sizeof err))
		find(p, true, setting, "%s", err);
	else
		pages_close(&pages);
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
				find(p, true, m.setting,
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
	find(p, true, doorway_name(p->config, of, setting), "%s", text);
}

static void
check_certificates(const struct config *c, struct findings *p)
{
	struct tls_problems problems = {.tell = on_certificate, .ctx = p};
	if (doorway_has_tls(c)) {
		struct tls_server_options o = doorway_tls(c);
		tls_server_try(&o, &problems);
	}
	const char *dir = c->tls.acme_challenges;
	if (dir && access(dir, R_OK | X_OK))
		find(p, false, "tls.acme_challenges",
		     "cannot read in %s: %s; no challenge would be answered: make the directory",
		     dir, strerror(errno));
}

/* ---- files --------------------------------------------------------------------------------- */

/* Leaves the directory that holds it: "/a/b" becomes "/a", "/a" becomes "/", "a" becomes ".". */
static void
cut_name(char *path)
{
	char *slash = strrchr(path, '/');
	if (slash == path)
		slash++;
	if (slash)
		*slash = '\0';
	else
		strcpy(path, ".");
}

/* The directory, or the one in which it is made. One of several is left out if it cannot be used. */
static void
check_one_dir(const struct config *c, const char *dir, const char *setting, struct findings *p)
{
	char at[4096];
	struct stat st;
	bool stops = c->disk_count == 0; /* else it is left out */
	snprintf(at, sizeof at, "%s", dir);
	while (stat(at, &st) && errno == ENOENT && strcmp(at, ".") != 0 && strcmp(at, "/") != 0)
		cut_name(at);
	if (stat(at, &st))
		find(p, stops, setting,
		     "cannot use %s: %s; name a directory you may write, or "
		     "none",
		     dir, strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		find(p, stops, setting, "%s is no directory; name one you may write, or none", at);
	else if (access(at, W_OK | X_OK))
		find(p, stops, setting,
		     "cannot write in %s: %s; name a directory you may write, "
		     "or none",
		     at, strerror(errno));
}

static void
check_cache_dir(const struct config *c, struct findings *p)
{
	char setting[CONFIG_NAME_BYTES];
	if (c->cache.dir && !(p->in->who->gives & 1u))
		check_one_dir(c, c->cache.dir, "cache.dir", p);
	for (unsigned i = 0; i < c->disk_count; i++) {
		if (p->in->who->gives & 2u << i)
			continue;
		snprintf(setting, sizeof setting, "more_disks.%u.dir", i);
		check_one_dir(c, c->disks[i].dir, setting, p);
	}
}

static void
check_one_disk(const struct config *c, const char *dir, uint64_t bytes, const char *setting,
	       struct findings *p)
{
	char at[4096];
	struct statvfs fs;
	snprintf(at, sizeof at, "%s", dir);
	while (statvfs(at, &fs) && errno == ENOENT && strcmp(at, ".") != 0 && strcmp(at, "/") != 0)
		cut_name(at);
	if (statvfs(at, &fs))
		return;
	uint64_t all = (uint64_t)fs.f_blocks * fs.f_frsize;
	uint64_t keep = store_reserve(c->cache.keep_free, all);
	keep = keep < all ? keep : all;
	if (bytes > all)
		find(p, false, setting,
		     "%.1f GB is more than the file system of %s has (%.1f GB); write a smaller size",
		     (double)bytes / 1e9, at, (double)all / 1e9);
	else if (bytes > all - keep)
		find(p, false, setting,
		     "%.2f GB of the %.2f GB of the file system of %s are left to others "
		     "(cache.keep_free): the cache will stop growing at %.2f GB; write a smaller size",
		     (double)keep / 1e9, (double)all / 1e9, at, (double)(all - keep) / 1e9);
}

static void
check_disk(const struct config *c, struct findings *p)
{
	char setting[CONFIG_NAME_BYTES];
	if (c->cache.dir)
		check_one_disk(c, c->cache.dir, c->cache.disk_bytes, "cache.disk", p);
	for (unsigned i = 0; i < c->disk_count; i++) {
		snprintf(setting, sizeof setting, "more_disks.%u.size", i);
		check_one_disk(c, c->disks[i].dir, c->disks[i].bytes, setting, p);
	}
}

static void
check_memory(const struct config *c, struct findings *p)
{
	uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	if (c->cache.memory_bytes > all / 10 * 8)
		find(p, false, "cache.memory",
		     "%.1f GB is more than 80%% of this machine's memory (%.1f GB), and the index and "
		     "the filters need some too; write a smaller size",
		     (double)c->cache.memory_bytes / 1e9, (double)all / 1e9);
}

static void
check_log(const struct config *c, struct findings *p)
{
	const char *path = c->access_log;
	char dir[4096];
	struct stat st;
	if (!path || strcmp(path, "-") == 0 || strcmp(path, "off") == 0)
		return;
	snprintf(dir, sizeof dir, "%s", path);
	cut_name(dir);
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		find(p, false, "access_log", "%s is a directory; name a file in it", path);
	else if (stat(path, &st) == 0 ? access(path, W_OK) : access(dir, W_OK | X_OK))
		find(p, false, "access_log",
		     "cannot write %s: %s; no request would be logged: make %s, or name another file",
		     path, strerror(errno), dir);
}

/* ---- names --------------------------------------------------------------------------------- */

static void
check_name(const struct config_member *m, struct origin *o, struct findings *p)
{
	const char *name = origin_unknown(o);
	if (name)
		find(p, false, m->setting,
		     "no address of %s can be found now; as long as there is none, requests to it "
		     "are answered 502, or stale",
		     name);
}

void
preflight_names(const struct config *c, preflight_each_fn *each, void *ctx)
{
	enum { FIND_MS = 6000 };
	struct findings p = {each, ctx, 0, c, NULL};
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
			check_name(&m, all[i], &p);
		origin_destroy(&all[i]);
	}
	free(all);
	resolver_destroy(&r);
}

/* ---- all of it ----------------------------------------------------------------------------- */

unsigned
preflight(const struct config *c, const struct preflight_place *in, preflight_each_fn *each,
	  void *ctx)
{
	static void (*const checks[])(const struct config *, struct findings *) = {
		check_listen,	 check_admin, check_origin_files, check_certificates, check_loops,
		check_cache_dir, check_disk,  check_memory,	  check_log,	      check_pages,
	};
	struct findings p = {each, ctx, 0, c, in};
	for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
		checks[i](c, &p);
	return p.found;
}
