/* preflight_listen.c - addresses: whether one could listen there. */
#include "proxy/node/preflight_inside.h"

#include "config/config.h"
#include "config/listen.h"
#include "proxy/base/address.h"
#include "proxy/node/admin_door.h"
#include "proxy/node/identity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Whether the port is taken; shared: by somebody who does not share it as twice does with its kind. */
static bool
is_taken(const char *address, bool shared)
{
	struct address a;
	int on = 1;
	if (address_parse(address, &a) < 0 || !address_port(&a))
		return false;
	int fd = socket(a.sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (shared)
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
	/* It does not listen: clients of a proxy that runs would come to it. */
	bool taken = bind(fd, (struct sockaddr *)&a.sa, a.bytes) && errno == EADDRINUSE;
	close(fd);
	return taken;
}

/* A twice that runs with the same addresses has all of them; then a reload or an upgrade is what comes, and
 * nothing is wrong. So a port counts as taken by another program where the rest is free, or where there is
 * no admin and the port is not shared as twice shares it. */
static void
check_taken(const struct config *c, struct findings *p)
{
	bool admin = c->admin && is_taken(c->admin, false), all = true;
	for (unsigned i = 0; i < c->listen_count; i++) {
		const char *listen = c->listen[i], *at = config_listen_address(listen);
		if (config_listen_path(listen) ||
		    (p->in->listens && p->in->listens(p->in->ctx, listen)))
			continue;
		all = all && is_taken(at, false);
		if (!admin && is_taken(at, true))
			preflight_find(
				p, true, "listen",
				"another program listens on %s; end it, or take another port (ss -ltnp "
				"shows which it is)",
				listen);
	}
	if (admin && !all)
		preflight_find(
			p, true, "admin",
			"another program listens on %s; end it, or take another port (ss -ltnp shows "
			"which it is)",
			c->admin);
}

void
preflight_listen(const struct config *c, struct findings *p)
{
	for (unsigned i = 0; i < c->listen_count; i++) {
		int error = cannot_listen(c->listen[i], p->in);
		if (error)
			preflight_find(
				p, true, "listen", "cannot listen on %s: %s; %s", c->listen[i],
				strerror(error),
				config_listen_path(c->listen[i])
					? "name a path in a directory that the program may write"
				: error == EACCES ? "take a port from 1024 on, or give the program "
						    "CAP_NET_BIND_SERVICE"
						  : "write an address of this machine");
	}
	int error = c->admin_socket ? cannot_make(c->admin_socket, p->in->who) : 0;
	if (error)
		preflight_find(
			p, true, "admin_socket",
			"cannot listen on %s: %s; name a path in a directory that the program may write",
			c->admin_socket, strerror(error));
	if (p->in->starts_later)
		check_taken(c, p);
	error = config_has_fleet(c) ? cannot_listen(c->fleet.listen, p->in) : 0;
	if (error)
		preflight_find(p, true, "fleet.listen",
			       "cannot listen on %s: %s; write an address of this machine",
			       c->fleet.listen, strerror(error));
	error = c->admin ? cannot_listen(c->admin, p->in) : 0;
	if (error)
		preflight_find(p, true, "admin",
			       "cannot listen on %s: %s; write an address of this machine",
			       c->admin, strerror(error));
}

void
preflight_admin(const struct config *c, struct findings *p)
{
	char err[PREFLIGHT_TEXT];
	struct address a;
	char *token =
		c->admin_token_file ? admin_door_token(c->admin_token_file, err, sizeof err) : NULL;
	if (c->admin_token_file && !token)
		preflight_find(p, true, "admin_token_file", "%s", err);
	free(token);
	if (c->admin && address_parse(c->admin, &a) == 0 && !address_is_loopback(&a) &&
	    !c->admin_token && !c->admin_token_file)
		preflight_find(
			p, false, "admin",
			"others can reach %s, so nothing but /healthz is answered there without a "
			"token; set admin_token_file, or listen on 127.0.0.1",
			c->admin);
}
