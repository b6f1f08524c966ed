/* nowait.c - asks first (poll), and then gives a pipe no more than it promised to take. */
#include "proxy/base/nowait.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

int
nowait_dup(int fd)
{
	struct stat st;
	if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode)) {
		/* Opening it anew gives a description with flags of its own. A file opened so would
		 * begin at offset 0 again; a socket cannot be opened. */
		char path[32];
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		int own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		if (own >= 0)
			return own;
	}
	return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static ssize_t
write_when_ready(int fd, const void *p, size_t n, size_t most)
{
	struct pollfd ready = {.fd = fd, .events = POLLOUT};
	if (poll(&ready, 1, 0) <= 0) {
		errno = EAGAIN;
		return -1;
	}
	return write(fd, p, n < most ? n : most);
}

ssize_t
nowait_write(int fd, const void *p, size_t n)
{
	struct stat st;
	if (fstat(fd, &st))
		return -1;
	if (S_ISSOCK(st.st_mode))
		return send(fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (S_ISREG(st.st_mode))
		return write(fd, p, n);
	/* POLLOUT on a pipe means that PIPE_BUF bytes fit. */
	return write_when_ready(fd, p, n, PIPE_BUF);
}
