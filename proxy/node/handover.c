/* handover.c - messages and descriptors on a socket that keeps them apart. */
#include "proxy/node/handover.h"

#include "proxy/base/mem.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

int
handover_pair(int ends[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends);
}

/* Is there something to do within limit_ms? */
static bool
await(int end, short what, int limit_ms)
{
	struct pollfd p = {.fd = end, .events = what};
	int n;
	do
		n = poll(&p, 1, limit_ms);
	while (n < 0 && errno == EINTR);
	return n > 0;
}

int
handover_send(int end, enum handover_kind kind, struct str bytes, int fd, int limit_ms)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof fd)] = {0};
	char first = (char)kind;
	struct iovec parts[] = {{&first, 1}, {(void *)(uintptr_t)bytes.p, bytes.n}};
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
	if (bytes.n > HANDOVER_BYTES)
		return -1;
	if (fd >= 0) {
		m.msg_control = room;
		m.msg_controllen = sizeof room;
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(c), &fd, sizeof fd);
	}
	while (sendmsg(end, &m, MSG_NOSIGNAL) < 0)
		if (errno != EINTR && (errno != EAGAIN || !await(end, POLLOUT, limit_ms)))
			return -1;
	return 0;
}

/* The one that came along, -1 for none. False: more did, which are closed: no message has two. */
static bool
take_descriptor(struct msghdr *m, int *out)
{
	bool fine = !(m->msg_flags & MSG_CTRUNC);
	*out = -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; CMSG_LEN(at + sizeof(int)) <= c->cmsg_len; at += sizeof(int)) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + at, sizeof fd);
			if (*out < 0) {
				*out = fd;
				continue;
			}
			close(fd);
			fine = false;
		}
	}
	return fine;
}

enum handover_got
handover_receive(int end, struct handover_message *out, int limit_ms)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
	unsigned char first = 0;
	struct iovec parts[] = {{&first, 1}, {out->bytes, sizeof out->bytes}};
	struct msghdr m = {.msg_iov = parts,
			   .msg_iovlen = 2,
			   .msg_control = room,
			   .msg_controllen = sizeof room};
	ssize_t n;
	if (!await(end, POLLIN, limit_ms))
		return HANDOVER_NOTHING;
	/* ECONNRESET is told once, and before what is still to be read: the other one has ended without
	 * reading all that it was told. */
	do
		n = recvmsg(end, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n < 0 && errno == EAGAIN)
		return HANDOVER_NOTHING;
	out->fd = -1;
	bool fine = n >= 0 && take_descriptor(&m, &out->fd);
	if (fine && n == 0 && out->fd < 0)
		return HANDOVER_END;
	if (!fine || n == 0 || first == 0 || first >= HANDOVER_KINDS || m.msg_flags & MSG_TRUNC) {
		handover_drop(out);
		return HANDOVER_WRONG;
	}
	out->kind = first;
	out->n = (size_t)n - 1;
	return HANDOVER_GOT;
}

void
handover_drop(struct handover_message *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

/* ---- what was forgotten --------------------------------------------------------------------- */

enum { AT_ONCE = HANDOVER_BYTES / PURGE_ENTRY };

size_t
handover_at_once(const struct purge_entry *list, size_t n)
{
	if (n <= AT_ONCE)
		return n;
	return AT_ONCE - (list[AT_ONCE - 1].kind == FORGET_PREFIX_HOST);
}

int
handover_send_forgets(int end, const struct purge_entry *list, size_t n, int limit_ms)
{
	char bytes[AT_ONCE * PURGE_ENTRY];
	for (size_t done = 0; done < n;) {
		size_t k = 0, part = handover_at_once(list + done, n - done);
		while (k < part)
			purge_log_format_entry(&list[done++], bytes + k++ * PURGE_ENTRY);
		if (handover_send(end, HANDOVER_FORGET, (struct str){bytes, k * PURGE_ENTRY}, -1,
				  limit_ms))
			return -1;
	}
	return 0;
}

bool
handover_read_forgets(const struct handover_message *m, struct purge_entry **list, size_t *n)
{
	size_t more = m->n / PURGE_ENTRY;
	if (m->n % PURGE_ENTRY != 0)
		return false;
	*list = mem_realloc(*list, (*n + more + 1) * sizeof **list);
	for (size_t i = 0; i < more; i++)
		if (!purge_log_parse_entry(m->bytes + i * PURGE_ENTRY, &(*list)[*n + i]))
			return false;
	*n += more;
	return true;
}
