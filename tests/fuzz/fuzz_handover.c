/* fuzz_handover.c - what an heir hears from the process whose place it takes: any messages, with or
 * without a socket, in any order, and then the end.
 * rooms: node origin cache config http base filter
 *
 * Input     messages: u8 1: with a socket, 2: with two; u16 length; its bytes, of which the first is the kind.
 */
#include "proxy/base/le.h"
#include "proxy/node/handover.h"
#include "proxy/node/heir.h"
#include "proxy/node/inherited.h"
#include "proxy/origin/resolver.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD_BYTES = 3, MESSAGE_MOST = HANDOVER_BYTES + 16, MESSAGES_MOST = 40 };

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

static int
a_socket(void)
{
	static int fd = -1;
	if (fd < 0)
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || listen(fd, 1) != 0)
		abort();
	return fd;
}

/* As handover_send does, but any bytes. */
static void
say(int end, const unsigned char *p, size_t n, unsigned sockets)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(2 * sizeof(int))] = {0};
	struct iovec part = {(void *)(uintptr_t)p, n};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
	int fds[2] = {a_socket(), a_socket()};
	if (sockets) {
		m.msg_control = room;
		m.msg_controllen = CMSG_SPACE(sockets * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sockets * sizeof(int));
		memcpy(CMSG_DATA(c), fds, sockets * sizeof(int));
	}
	(void)!sendmsg(end, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void
say_all(int end, const unsigned char *p, size_t n)
{
	for (int i = 0; i < MESSAGES_MOST && n >= HEAD_BYTES; i++) {
		size_t bytes = le_get16((const char *)p + 1) % MESSAGE_MOST;
		unsigned sockets = p[0] & 2 ? 2 : p[0] & 1;
		p += HEAD_BYTES;
		n -= HEAD_BYTES;
		bytes = bytes < n ? bytes : n;
		say(end, p, bytes, sockets);
		p += bytes;
		n -= bytes;
	}
}

static int
lowest_free(void)
{
	int fd = dup(a_socket());
	close(fd);
	return fd;
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	int ends[2], free_before = lowest_free();
	char err[512];
	struct purge_entry *forgotten = NULL;
	size_t many = 0;
	bool ours;
	if (handover_pair(ends))
		abort();
	say_all(ends[0], data, n);
	shutdown(ends[0], SHUT_WR);
	struct heir *h = heir_begin(ends[1], NULL);
	if (!h)
		abort();
	/* Nothing is looked up that nobody takes. */
	struct resolver *r = resolver_create(NULL, 1000);
	heir_hint(h, r);
	resolver_destroy(&r);
	int result = heir_await(h, 7, &forgotten, &many, err, sizeof err);
	if (result == 0 && !heir_is_alone(h) && many && !forgotten)
		abort();
	for (int path = 0; path < 2; path++) {
		int fd = heir_admin(h, path, &ours);
		if (fd >= 0)
			close(fd);
	}
	struct inherited *in = inherited_open();
	inherited_close(&in);
	free(forgotten);
	heir_refuse(&h, "enough");
	close(ends[0]);
	if (lowest_free() != free_before)
		abort(); /* a descriptor was left open */
	return 0;
}
