/* inherited.c - a list of descriptors, matched by address. */
#include "proxy/node/inherited.h"

#include "config/config.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/node/notify.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIRST_FD = 3, FDS_MOST = 4096 };

/* Of what we gave it to keep. */
static const char prefix[] = "twice-";

struct socket {
	int fd; /* -1: taken */
	char *name;
	struct address at;
};

struct inherited {
	struct socket *sockets;
	unsigned n;
};

/* ---- reading ----------------------------------------------------------------------------------- */

static bool
says(int fd, int option, int value)
{
	int is = 0;
	socklen_t n = sizeof is;
	return getsockopt(fd, SOL_SOCKET, option, &is, &n) == 0 && is == value;
}

/* A socket that listens, told by what it is and not by what was said of it. */
static bool
look_at(int fd, struct socket *out)
{
	int flags = fcntl(fd, F_GETFL);
	out->at.bytes = sizeof out->at.sa;
	if (flags < 0 || !says(fd, SO_TYPE, SOCK_STREAM) || !says(fd, SO_ACCEPTCONN, 1) ||
	    getsockname(fd, (struct sockaddr *)&out->at.sa, &out->at.bytes) ||
	    fcntl(fd, F_SETFL, flags | O_NONBLOCK) || fcntl(fd, F_SETFD, FD_CLOEXEC))
		return false;
	out->fd = fd;
	return true;
}

/* How many there are for this process; a child of it has none. */
static unsigned
count_said(void)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	if (!pid || !count || strtol(pid, NULL, 10) != getpid())
		return 0;
	long n = strtol(count, NULL, 10);
	return n > 0 && n <= FDS_MOST ? (unsigned)n : 0;
}

struct inherited *
inherited_open(void)
{
	struct inherited *in = NEW(struct inherited);
	unsigned n = count_said();
	const char *said = getenv("LISTEN_FDNAMES");
	char *names = mem_strndup(said ? said : "", said ? strlen(said) : 0), *rest = names;
	in->sockets = mem_zalloc((n + 1) * sizeof *in->sockets);
	for (unsigned i = 0; i < n; i++) {
		const char *name = strsep(&rest, ":");
		struct socket *s = &in->sockets[in->n];
		if (!look_at(FIRST_FD + (int)i, s)) {
			log_warning("descriptor %u of LISTEN_FDS (\"%s\") is no socket that "
				    "listens; it is left alone",
				    FIRST_FD + i, name ? name : "");
			continue;
		}
		s->name = mem_strndup(name ? name : "", name ? strlen(name) : 0);
		in->n++;
	}
	free(names);
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	return in;
}

/* ---- by address -------------------------------------------------------------------------------- */

static bool
is_same_place(const struct address *wanted, const struct address *is)
{
	if (wanted->sa.ss_family != is->sa.ss_family ||
	    (address_port(wanted) && address_port(wanted) != address_port(is)))
		return false;
	if (wanted->sa.ss_family == AF_INET)
		return ((const struct sockaddr_in *)&wanted->sa)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)&is->sa)->sin_addr.s_addr;
	return IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)&wanted->sa)->sin6_addr,
				  &((const struct sockaddr_in6 *)&is->sa)->sin6_addr);
}

/* A socket whose file was removed meanwhile cannot be reached any more. */
static bool
is_path(const struct address *is, const char *path)
{
	struct stat st;
	return is->sa.ss_family == AF_UNIX &&
	       strncmp(((const struct sockaddr_un *)&is->sa)->sun_path, path,
		       sizeof((struct sockaddr_un *)0)->sun_path) == 0 &&
	       lstat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

static bool
is_at(const struct socket *s, const char *listen)
{
	struct address wanted;
	const char *path = config_listen_path(listen);
	if (s->fd < 0)
		return false;
	if (path)
		return is_path(&s->at, path);
	return address_parse(config_listen_address(listen), &wanted) == 0 &&
	       is_same_place(&wanted, &s->at);
}

unsigned
inherited_take(struct inherited *in, const char *listen, int **out)
{
	unsigned n = 0;
	*out = NULL;
	for (unsigned i = 0; i < in->n; i++)
		if (is_at(&in->sockets[i], listen)) {
			if (!*out)
				*out = mem_zalloc(in->n * sizeof **out);
			(*out)[n++] = in->sockets[i].fd;
			in->sockets[i].fd = -1;
		}
	return n;
}

/* ---- the end ----------------------------------------------------------------------------------- */

static void
tell_unused(const struct socket *s)
{
	char text[ADDRESS_TEXT];
	const struct sockaddr_un *un = (const struct sockaddr_un *)&s->at.sa;
	bool is_path_socket = s->at.sa.ss_family == AF_UNIX;
	log_warning("a socket was handed over (\"%s\") that listens at %s%.*s, which no entry of "
		    "listen names; it is closed: write the address there, or take it out of the "
		    "socket unit",
		    s->name, is_path_socket ? "unix:" : "",
		    (int)(is_path_socket ? sizeof un->sun_path : sizeof text),
		    is_path_socket ? un->sun_path : address_print(&s->at, text));
}

void
inherited_close(struct inherited **pin)
{
	struct inherited *in = *pin;
	*pin = NULL;
	if (!in)
		return;
	for (unsigned i = 0; i < in->n; i++) {
		struct socket *s = &in->sockets[i];
		if (s->fd >= 0) {
			tell_unused(s);
			if (strncmp(s->name, prefix, sizeof prefix - 1) == 0)
				notify_forget(s->name);
			close(s->fd);
		}
		free(s->name);
	}
	free(in->sockets);
	free(in);
}

bool
inherited_keep(const char *listen, int fd)
{
	char name[256];
	if (!notify_is_heard())
		return false;
	snprintf(name, sizeof name, "%s%s", prefix, listen);
	for (char *p = name; *p; p++)
		if (*p == ':')
			*p = '-'; /* the list of names is split there */
	notify_keep(name, fd);
	return true;
}
