/* bare.c - the least a server can do: the yardstick of bench/hit.sh.
 *
 *	bare PORT [BODY_BYTES]
 *
 * One thread, one epoll, one recv and one send a request: finds the end of the head, looks at
 * nothing in it, answers with the same fields a cached hit of twice carries and a fixed body.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define FDS_MAX 20000

static struct {
	size_t n;
	char bytes[4096];
} * heads[FDS_MAX];

static char answer[64 * 1024 + 1024];
static size_t answer_n;

static void
make_answer(size_t body_bytes)
{
	answer_n = (size_t)snprintf(answer, 1024,
				    "HTTP/1.1 200 OK\r\n"
				    "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
				    "Content-Type: application/octet-stream\r\n"
				    "Content-Length: %zu\r\n"
				    "Cache-Control: public, max-age=86400\r\n"
				    "ETag: \"0123456789abcdef\"\r\n"
				    "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
				    "Accept-Ranges: bytes\r\n"
				    "Age: 12\r\n"
				    "Via: 1.1 bare\r\n"
				    "Cache-Status: bare; hit; ttl=86388; detail=ram\r\n\r\n",
				    body_bytes);
	memset(answer + answer_n, 'x', body_bytes);
	answer_n += body_bytes;
}

static int
listen_on(int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				.sin_port = htons((unsigned short)port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 1024)) {
		perror("bare: cannot listen");
		exit(1);
	}
	return fd;
}

static void
welcome(int epoll, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
	if (fd < 0)
		return;
	if (fd >= FDS_MAX || !(heads[fd] = realloc(heads[fd], sizeof(*heads[fd])))) {
		close(fd);
		return;
	}
	heads[fd]->n = 0;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd,
		  &(struct epoll_event){.events = EPOLLIN | EPOLLET, .data.fd = fd});
}

/* A closed loop without pipelining: when a head is complete, nothing follows it. */
static void
serve(int fd)
{
	size_t room = sizeof(heads[fd]->bytes) - heads[fd]->n;
	ssize_t n = recv(fd, heads[fd]->bytes + heads[fd]->n, room, 0);
	if (n <= 0) {
		close(fd);
		return;
	}
	heads[fd]->n += (size_t)n;
	if (!memmem(heads[fd]->bytes, heads[fd]->n, "\r\n\r\n", 4))
		return;
	heads[fd]->n = 0;
	if (send(fd, answer, answer_n, MSG_NOSIGNAL) != (ssize_t)answer_n)
		close(fd);
}

int
main(int argc, char **argv)
{
	size_t body_bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 1024;
	if (argc < 2 || body_bytes > 64 * 1024) {
		fprintf(stderr, "usage: bare PORT [BODY_BYTES up to 65536]\n");
		return 2;
	}
	make_answer(body_bytes);
	int listener = listen_on(atoi(argv[1])), epoll = epoll_create1(0);
	epoll_ctl(epoll, EPOLL_CTL_ADD, listener,
		  &(struct epoll_event){.events = EPOLLIN, .data.fd = listener});
	for (;;) {
		struct epoll_event events[64];
		int n = epoll_wait(epoll, events, 64, -1);
		for (int i = 0; i < n; i++) {
			if (events[i].data.fd == listener)
				welcome(epoll, listener);
			else
				serve(events[i].data.fd);
		}
	}
}
