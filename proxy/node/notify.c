/* notify.c - one datagram a message. */
#include "proxy/node/notify.h"

#include "proxy/base/clock.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* SEND_S: a supervisor that hangs must not take us along. */
enum { MESSAGE_BYTES = 512, SEND_S = 5 };

/* "/run/systemd/notify", or "@name" in the abstract name space. 0 or -1. */
static int
address_of(struct sockaddr_un *at, socklen_t *bytes)
{
	const char *path = getenv("NOTIFY_SOCKET");
	*at = (struct sockaddr_un){.sun_family = AF_UNIX};
	size_t n = path ? strlen(path) : 0;
	if (n < 2 || n >= sizeof at->sun_path || (path[0] != '/' && path[0] != '@'))
		return -1;
	memcpy(at->sun_path, path, n);
	if (path[0] == '@')
		at->sun_path[0] = '\0';
	*bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + (path[0] == '/'));
	return 0;
}

static void
put_fd(struct msghdr *m, char *room, size_t bytes, int fd)
{
	m->msg_control = room;
	m->msg_controllen = bytes;
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
}

/* fd: -1: none goes along. */
static void
send_message(const char *text, int fd)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof fd)] = {0};
	struct sockaddr_un at;
	struct timeval limit = {.tv_sec = SEND_S};
	struct iovec iov = {(void *)(uintptr_t)text, strlen(text)};
	struct msghdr m = {.msg_name = &at, .msg_iov = &iov, .msg_iovlen = 1};
	if (address_of(&at, &m.msg_namelen))
		return;
	if (fd >= 0)
		put_fd(&m, room, sizeof room, fd);
	int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s < 0)
		return;
	setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	ssize_t sent = sendmsg(s, &m, MSG_NOSIGNAL);
	(void)sent; /* a supervisor that went away is none */
	close(s);
}

bool
notify_is_heard(void)
{
	struct sockaddr_un at;
	socklen_t bytes;
	return address_of(&at, &bytes) == 0;
}

void
notify_say(const char *fmt, ...)
{
	char text[MESSAGE_BYTES];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	send_message(text, -1);
}

void
notify_keep(const char *name, int fd)
{
	char text[MESSAGE_BYTES];
	snprintf(text, sizeof text, "FDSTORE=1\nFDNAME=%s", name);
	send_message(text, fd);
}

void
notify_forget(const char *name)
{
	notify_say("FDSTOREREMOVE=1\nFDNAME=%s", name);
}

void
notify_reloading(void)
{
	notify_say("RELOADING=1\nMONOTONIC_USEC=%lld", (long long)now_us());
}

int64_t
notify_watchdog_ms(void)
{
	const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	if (!us || (pid && strtol(pid, NULL, 10) != getpid()))
		return 0;
	long long n = strtoll(us, NULL, 10);
	return n > 0 ? n / 1000 : 0;
}
