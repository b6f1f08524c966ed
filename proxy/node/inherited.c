/* inherited.c - a list of descriptors, matched by address. */
#include "proxy/node/inherited.h"

#include "config/listen.h"
#include "proxy/base/address.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/node/notify.h"

#include <assert.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
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
	bool is_given, is_ours; /* by the process before; its file */
	struct address at;
};

struct inherited {
	struct socket *sockets;
	unsigned n;
};

/* Of both that follow: a server that is made beside one that serves has a thread of its own. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The process before this one gave these; they wait to be opened. */
static struct inherited given;

/* The supervisor is to be told these later, in this order. */
static struct {
	bool holds;
	struct order {
		char *name;
		int fd; /* a copy, to be kept; -1: those of that name are to be forgotten */
	} * orders;
	unsigned n;
} later;

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

void
inherited_give(const char *listen, int fd, bool is_ours)
{
	struct socket s = {.is_given = true, .is_ours = is_ours};
	if (!look_at(fd, &s)) {
		close(fd);
		return;
	}
	s.name = mem_strndup(listen, strlen(listen));
	pthread_mutex_lock(&lock);
	given.sockets = mem_realloc(given.sockets, (given.n + 1) * sizeof *given.sockets);
	given.sockets[given.n++] = s;
	pthread_mutex_unlock(&lock);
}

/* Moves what was given behind the first n that there may be of others. */
static void
take_given(struct inherited *in, unsigned n)
{
	pthread_mutex_lock(&lock);
	struct inherited all = given;
	given = (struct inherited){0};
	pthread_mutex_unlock(&lock);
	in->sockets = mem_realloc(in->sockets, (n + all.n + 1) * sizeof *in->sockets);
	for (unsigned i = 0; i < all.n; i++)
		in->sockets[in->n++] = all.sockets[i];
	free(all.sockets);
}

void
inherited_drop(void)
{
	struct inherited all = {0};
	take_given(&all, 0);
	for (unsigned i = 0; i < all.n; i++) {
		close(all.sockets[i].fd);
		free(all.sockets[i].name);
	}
	free(all.sockets);
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
	take_given(in, n);
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

/* Port 0 of an entry is any. */
static bool
is_at(const struct address *is, const char *listen)
{
	struct address wanted;
	const char *path = config_listen_path(listen);
	if (path)
		return is_path(is, path);
	return address_parse(config_listen_address(listen), &wanted) == 0 &&
	       is_same_place(&wanted, is);
}

bool
inherited_listens_at(int fd, const char *listen)
{
	struct address is = {.bytes = sizeof is.sa};
	return says(fd, SO_ACCEPTCONN, 1) &&
	       getsockname(fd, (struct sockaddr *)&is.sa, &is.bytes) == 0 && is_at(&is, listen);
}

bool
inherited_is_there(const char *listen)
{
	unsigned n = count_said();
	for (unsigned i = 0; i < n; i++)
		if (inherited_listens_at(FIRST_FD + (int)i, listen))
			return true;
	return false;
}

/* The process before said which entry its sockets are of: at port 0 several may be. */
static bool
is_wanted(const struct socket *s, const char *listen)
{
	struct address at;
	const char *path = config_listen_path(listen);
	if (s->fd < 0)
		return false;
	bool any = !path && address_parse(config_listen_address(listen), &at) == 0 &&
		   address_port(&at) == 0;
	return is_at(&s->at, listen) && !(s->is_given && any && strcmp(s->name, listen) != 0);
}

unsigned
inherited_take(struct inherited *in, const char *listen, int **out, bool *is_ours)
{
	unsigned n = 0;
	*out = NULL;
	*is_ours = false;
	for (unsigned i = 0; i < in->n; i++)
		if (is_wanted(&in->sockets[i], listen)) {
			assert(n < in->n);
			if (!*out)
				*out = mem_zalloc(in->n * sizeof **out);
			(*out)[n++] = in->sockets[i].fd;
			*is_ours |= in->sockets[i].is_ours;
			in->sockets[i].fd = -1;
		}
	return n;
}

/* ---- the supervisor ---------------------------------------------------------------------------- */

void
inherited_hold(void)
{
	pthread_mutex_lock(&lock);
	assert(!later.n);
	later.holds = true;
	pthread_mutex_unlock(&lock);
}

/* Under the lock. */
static void
put_off(const char *name, int fd)
{
	later.orders = mem_realloc(later.orders, (later.n + 1) * sizeof *later.orders);
	later.orders[later.n++] = (struct order){mem_strdup(name), fd};
}

void
inherited_tell(void)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < later.n; i++) {
		struct order *o = &later.orders[i];
		if (o->fd >= 0) {
			notify_keep(o->name, o->fd);
			close(o->fd);
		} else {
			notify_forget(o->name);
		}
		free(o->name);
	}
	free(later.orders);
	memset(&later, 0, sizeof later);
	pthread_mutex_unlock(&lock);
}

static void
forget(const char *name)
{
	pthread_mutex_lock(&lock);
	if (later.holds)
		put_off(name, -1);
	else
		notify_forget(name);
	pthread_mutex_unlock(&lock);
}

enum { KEPT_NAME = 256 };

/* The list of names is split at colons. */
static const char *
name_of(const char *place, char name[KEPT_NAME])
{
	snprintf(name, KEPT_NAME, "%s%s", prefix, place);
	for (char *p = name; *p; p++)
		if (*p == ':')
			*p = '-';
	return name;
}

/* One for a place, whatever is spoken there: a reload may change that, and the sockets stay. */
static const char *
kept_name(const char *listen, char name[KEPT_NAME])
{
	struct address at;
	char text[ADDRESS_TEXT];
	const char *place = listen; /* of port 0 several may be */
	if (config_listen_path(listen))
		place = config_listen_address(listen);
	else if (address_parse(config_listen_address(listen), &at) == 0 && address_port(&at))
		place = address_print(&at, text);
	return name_of(place, name);
}

/* Older programs named a socket by the whole entry, and the supervisor may have it from one. */
void
inherited_forget(const char *listen)
{
	char name[KEPT_NAME], older[KEPT_NAME];
	forget(kept_name(listen, name));
	if (strcmp(name_of(listen, older), name) != 0)
		forget(older);
}

bool
inherited_keep(const char *listen, int fd)
{
	char name[KEPT_NAME];
	if (!notify_is_heard())
		return false;
	pthread_mutex_lock(&lock);
	bool holds = later.holds;
	int copy = holds ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (copy >= 0)
		put_off(kept_name(listen, name), copy);
	pthread_mutex_unlock(&lock);
	if (!holds)
		notify_keep(kept_name(listen, name), fd);
	return !holds || copy >= 0;
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
			if (s->is_given)
				inherited_forget(s->name);
			else
				tell_unused(s);
			if (strncmp(s->name, prefix, sizeof prefix - 1) == 0)
				forget(s->name);
			close(s->fd);
		}
		free(s->name);
	}
	free(in->sockets);
	free(in);
}
