/* idle.c - clients that mostly wait: the load of bench/idle.sh.
 *
 *	idle PORT IDLE SLOW
 *
 * Opens IDLE keep-alive connections, gets one answer on each, says "idle". After a line on
 * standard input it opens SLOW more (half send their head a byte a second, half read a megabyte a
 * KiB a second), says "slow", and goes on like that. When standard input ends it asks once more on
 * every idle connection and says how many still work.
 */
#include "proxy/cli/demo/mix.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ASKED_BYTES 100
#define SLOW_BYTES  (1024 * 1024)

static struct sockaddr_in proxy;

static int
open_connection(int receive_bytes)
{
	struct timeval patience = {.tv_sec = 20};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0)
		return -1;
	if (receive_bytes)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(int));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&proxy, sizeof(proxy)) == 0)
		return fd;
	close(fd);
	return -1;
}

static bool
ask(int fd, uint64_t name, uint64_t bytes)
{
	struct mix_object o = {name, bytes};
	char path[MIX_PATH_BYTES], request[128];
	mix_path(&o, path);
	int n = snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: idle\r\n\r\n", path);
	return send(fd, request, (size_t)n, MSG_NOSIGNAL) == n;
}

/* One whole small answer, its body checked. */
static bool
hear(int fd, uint64_t name)
{
	struct mix_object o = {name, ASKED_BYTES};
	char in[4096];
	size_t n = 0;
	for (;;) {
		ssize_t got = recv(fd, in + n, sizeof(in) - n, 0);
		if (got <= 0)
			return false;
		n += (size_t)got;
		char *end = memmem(in, n, "\r\n\r\n", 4);
		if (end && (size_t)(in + n - end) == 4 + ASKED_BYTES)
			return mix_body_matches(&o, 0, end + 4, ASKED_BYTES);
		if (n == sizeof(in))
			return false;
	}
}

static int
open_idle(int *fds, int count)
{
	int open = 0;
	for (int i = 0; i < count; i++) {
		uint64_t name = (uint64_t)i % 100;
		fds[i] = open_connection(0);
		if (fds[i] >= 0 && ask(fds[i], name, ASKED_BYTES) && hear(fds[i], name))
			open++;
		else if (open == i) /* the first that fails says why */
			fprintf(stderr, "idle: connection %d: %s\n", i, strerror(errno));
	}
	return open;
}

static int
ask_again(const int *fds, int count)
{
	int well = 0;
	for (int i = 0; i < count; i++) {
		uint64_t name = (uint64_t)i % 100;
		well += fds[i] >= 0 && ask(fds[i], name, ASKED_BYTES) && hear(fds[i], name);
	}
	return well;
}

static bool
is_writer(int i)
{
	return i % 2 == 0;
}

static int
open_slow(int *fds, int count)
{
	int open = 0;
	for (int i = 0; i < count; i++) {
		fds[i] = open_connection(is_writer(i) ? 0 : 4096);
		open += fds[i] >= 0 && (is_writer(i) || ask(fds[i], (uint64_t)i, SLOW_BYTES));
	}
	return open;
}

/* One step of every slow client; returns how many the proxy has not turned away. */
static int
drip(const int *fds, int count, size_t second)
{
	static const char head[] =
		"GET /cdn/0123456789abcdef/100 HTTP/1.1\r\nHost: slow\r\n"
		"X-Slow: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	char in[1024];
	int left = 0;
	for (int i = 0; i < count; i++) {
		if (is_writer(i))
			left += send(fds[i], head + second % (sizeof(head) - 1), 1,
				     MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
		else
			left += recv(fds[i], in, sizeof(in), MSG_DONTWAIT) > 0 || errno == EAGAIN;
	}
	return left;
}

/* Waits up to timeout_ms for standard input; false when it ended. */
static bool
go_on(int timeout_ms)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	char line[64];
	return poll(&in, 1, timeout_ms) <= 0 || read(STDIN_FILENO, line, sizeof(line)) > 0;
}

static void
say(const char *what, int n, int of)
{
	printf("%s=%d of=%d\n", what, n, of);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: idle PORT IDLE SLOW\n");
		return 2;
	}
	proxy = (struct sockaddr_in){.sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				     .sin_port = htons((uint16_t)atoi(argv[1]))};
	int idle = atoi(argv[2]), slow = atoi(argv[3]), left = slow;
	int *fds = calloc((size_t)(idle + slow), sizeof(*fds));

	say("idle", open_idle(fds, idle), idle);
	go_on(-1);
	say("slow", open_slow(fds + idle, slow), slow);
	for (size_t second = 0; go_on(1000); second++)
		left = drip(fds + idle, slow, second);
	say("slow_left", left, slow);
	say("idle_well", ask_again(fds, idle), idle);
	free(fds);
	return 0;
}
