/* relay.c - the least a proxy can do: the yardstick of bench/miss.sh.
 *
 *	relay PORT ORIGIN_PORT
 *
 * One thread, one epoll. Each client gets a connection to the origin of its own, opened when it
 * comes; bytes are copied both ways, looked at by nobody. A write that is not taken whole ends
 * both: with small messages and clients that read, none is.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FDS_MAX = 20000 };

static int other_end[FDS_MAX]; /* of each socket: where its bytes go */
static char bytes[64 * 1024];

static struct sockaddr_in
loopback(int port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				    .sin_port = htons((unsigned short)port)};
}

static int
listen_on(int port)
{
	struct sockaddr_in a = loopback(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 1024)) {
		perror("relay: cannot listen");
		exit(1);
	}
	return fd;
}

/* Connected while the others wait: that happens once for each client. */
static int
connect_to(int port)
{
	struct sockaddr_in a = loopback(port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a))) {
		close(fd);
		return -1;
	}
	return fd;
}

static void
watch(int epoll, int fd, int other)
{
	other_end[fd] = other;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd,
		  &(struct epoll_event){.events = EPOLLIN | EPOLLET, .data.fd = fd});
}

static void
welcome(int epoll, int listener, int origin_port)
{
	int client = accept4(listener, NULL, NULL, 0);
	int origin = client < 0 ? -1 : connect_to(origin_port);
	if (origin < 0 || client >= FDS_MAX || origin >= FDS_MAX) {
		if (client >= 0)
			close(client);
		if (origin >= 0)
			close(origin);
		return;
	}
	watch(epoll, client, origin);
	watch(epoll, origin, client);
}

static void
pass_on(int fd)
{
	int to = other_end[fd];
	if (to < 0) /* ended together with the other one, a moment ago */
		return;
	ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	if (n > 0 && send(to, bytes, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) == n)
		return;
	other_end[fd] = other_end[to] = -1;
	close(fd);
	close(to);
}

int
main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: relay PORT ORIGIN_PORT\n");
		return 2;
	}
	int listener = listen_on(atoi(argv[1])), epoll = epoll_create1(0);
	epoll_ctl(epoll, EPOLL_CTL_ADD, listener,
		  &(struct epoll_event){.events = EPOLLIN, .data.fd = listener});
	for (;;) {
		struct epoll_event events[64];
		int n = epoll_wait(epoll, events, 64, -1);
		for (int i = 0; i < n; i++) {
			if (events[i].data.fd == listener)
				welcome(epoll, listener, atoi(argv[2]));
			else
				pass_on(events[i].data.fd);
		}
	}
}
