/* unix_socket.c - a file that may be left over, somebody else's, or in use. */
#include "proxy/wire/unix_socket.h"

#include "proxy/base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 4096 };

/* A full queue (EAGAIN) is an answer too. */
static bool
somebody_answers(const struct sockaddr_un *at)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return true;
	bool refused = connect(fd, (const struct sockaddr *)at, sizeof *at) < 0 &&
		       (errno == ECONNREFUSED || errno == ENOENT);
	close(fd);
	return !refused;
}

/* Frees the path of an old socket if it can; else says why not. */
static const char *
make_way(const struct sockaddr_un *at)
{
	struct stat st;
	if (lstat(at->sun_path, &st))
		return errno == ENOENT ? NULL : strerror(errno);
	if (!S_ISSOCK(st.st_mode))
		return "a file of another kind has this name";
	if (somebody_answers(at))
		return "another program listens there";
	return unlink(at->sun_path) && errno != ENOENT ? strerror(errno) : NULL;
}

/* The file has its mode before anybody can connect. */
static int
listen_at(int fd, const struct sockaddr_un *at, mode_t mode)
{
	if (bind(fd, (const struct sockaddr *)at, sizeof *at))
		return -1;
	if (chmod(at->sun_path, mode) == 0 && listen(fd, BACKLOG) == 0)
		return 0;
	int why = errno;
	unlink(at->sun_path);
	errno = why;
	return -1;
}

int
unix_socket_open(struct unix_socket *u, const char *path, mode_t mode, char *err, size_t err_bytes)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct stat st;
	const char *why;
	int fd = -1;
	if (strlen(path) >= sizeof at.sun_path) {
		why = "the path is too long";
		goto failed;
	}
	strcpy(at.sun_path, path);
	why = make_way(&at);
	if (why)
		goto failed;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || listen_at(fd, &at, mode) || lstat(path, &st)) {
		why = strerror(errno);
		goto failed;
	}
	u->path = strdup(path);
	u->device = st.st_dev;
	u->inode = st.st_ino;
	return fd;
failed:
	snprintf(err, err_bytes, "cannot listen on 'unix:%s': %s", path, why);
	if (fd >= 0)
		close(fd);
	return -1;
}

void
unix_socket_adopt(struct unix_socket *u, const char *path, mode_t mode)
{
	struct stat st;
	if (lstat(path, &st) || !S_ISSOCK(st.st_mode))
		return;
	*u = (struct unix_socket){.path = strdup(path), .device = st.st_dev, .inode = st.st_ino};
	if ((st.st_mode & 07777) != mode && chmod(path, mode))
		log_warning("unix:%s keeps its mode %03o: %s; restart for socket_mode", path,
			    (unsigned)st.st_mode & 07777, strerror(errno));
}

void
unix_socket_leave(struct unix_socket *u)
{
	free(u->path);
	*u = (struct unix_socket){0};
}

void
unix_socket_end(struct unix_socket *u)
{
	struct stat st;
	if (!u->path)
		return;
	if (lstat(u->path, &st) == 0 && st.st_dev == u->device && st.st_ino == u->inode)
		unlink(u->path);
	unix_socket_leave(u);
}
