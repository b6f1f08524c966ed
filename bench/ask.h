/* ask.h - a blocking client for measurements: one request at a time, answers by Content-Length. */
#ifndef BENCH_ASK_H
#define BENCH_ASK_H

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static inline int64_t
ask_now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static inline void
ask_sleep_until(int64_t us)
{
	int64_t left = us - ask_now_us();
	struct timespec t = {left / 1000000, left % 1000000 * 1000};
	if (left > 0)
		nanosleep(&t, NULL);
}

/* -1: there is no connection to be had. */
static inline int
ask_open(unsigned port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	struct timeval patience = {20, 0};
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
		return fd;
	close(fd);
	return -1;
}

struct ask_answer {
	int status;	/* 0: none came, or not all of it */
	bool hit, ends; /* a hit, by Cache-Status; the server closes the connection */
};

static inline struct ask_answer
ask_read(int fd)
{
	static _Thread_local char in[65536];
	struct ask_answer a = {0};
	size_t n = 0, length = 0;
	char *end = NULL;
	while (!end) {
		ssize_t got = recv(fd, in + n, sizeof in - 1 - n, 0);
		if (got <= 0)
			return a;
		n += (size_t)got;
		in[n] = '\0';
		end = strstr(in, "\r\n\r\n");
		if (!end && n == sizeof in - 1)
			return a;
	}
	end[2] = '\0';
	const char *field = strcasestr(in, "\ncontent-length:");
	length = field ? strtoull(field + 16, NULL, 10) : 0;
	a.ends = strcasestr(in, "\nconnection: close") != NULL;
	a.hit = strstr(in, "twice; hit") != NULL;
	int status = atoi(in + 9);
	for (size_t left = (size_t)(end + 4 - in) + length; n < left;) {
		ssize_t got = recv(fd, in, left - n < sizeof in ? left - n : sizeof in, 0);
		if (got <= 0)
			return a;
		n += (size_t)got;
	}
	a.status = status;
	return a;
}

/* One request on that connection. */
static inline struct ask_answer
ask(int fd, const char *path, bool last)
{
	char out[512];
	int n = snprintf(out, sizeof out, "GET %s HTTP/1.1\r\nHost: bench.example\r\n%s\r\n", path,
			 last ? "Connection: close\r\n" : "");
	return send(fd, out, (size_t)n, MSG_NOSIGNAL) == n ? ask_read(fd) : (struct ask_answer){0};
}

static inline int
ask_compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

/* Of n times, which are sorted. */
static inline double
ask_share(const uint32_t *v, size_t n, double share)
{
	return n ? v[(size_t)((double)(n - 1) * share)] : 0;
}

#endif
