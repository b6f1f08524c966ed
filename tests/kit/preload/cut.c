/* cut.c - a library loaded before the C library: connections of a program to some ports of loopback, or to sockets of
 * files, are cut off, as if the network between had come apart.
 *
 * The file that KIT_CUT names has a number, and the ports; 0 stands for all sockets of files. When the number is another
 * one, connections that the program has begun to those ports are shut down, and new ones find no way there. Then
 * KIT_CUT.done has the number.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { FDS = 4096, LOOK_NS = 5000000, PORTS = 65536, FILES = 0, NONE = -1 };

static int (*next_connect)(int, const struct sockaddr *, socklen_t);
static _Atomic bool is_cut[PORTS];
static _Atomic int goes_to[FDS]; /* a port + 1 for each descriptor that was connected; 0: none */

static int
port_of(const struct sockaddr *a)
{
	if (a->sa_family == AF_UNIX)
		return FILES;
	if (a->sa_family == AF_INET)
		return ntohs(((const struct sockaddr_in *)(const void *)a)->sin_port);
	return NONE;
}

/* A descriptor may be another connection's by now. */
static bool
still_goes_to(int fd, int port)
{
	struct sockaddr_storage a;
	socklen_t n = sizeof a;
	return getpeername(fd, (struct sockaddr *)&a, &n) == 0 &&
	       port_of((struct sockaddr *)&a) == port;
}

static void
shut_those(void)
{
	for (int fd = 0; fd < FDS; fd++) {
		int port = atomic_load(&goes_to[fd]) - 1;
		if (port >= 0 && atomic_load(&is_cut[port]) && still_goes_to(fd, port))
			shutdown(fd, SHUT_RDWR);
	}
}

static void
take(FILE *f)
{
	static bool wanted[PORTS];
	unsigned port;
	for (unsigned i = 0; i < PORTS; i++)
		wanted[i] = false;
	while (fscanf(f, "%u", &port) == 1)
		wanted[port % PORTS] = true;
	for (unsigned i = 0; i < PORTS; i++)
		atomic_store(&is_cut[i], wanted[i]);
	shut_those();
}

static void
say_done(const char *path, long number)
{
	char name[4096], before[4096];
	snprintf(name, sizeof name, "%s.done", path);
	snprintf(before, sizeof before, "%s.new", name);
	FILE *f = fopen(before, "we");
	if (f && fprintf(f, "%ld\n", number) > 0 && fclose(f) == 0)
		rename(before, name);
}

static void *
look(void *arg)
{
	const char *path = arg;
	long seen = -1, number;
	for (;; nanosleep(&(struct timespec){0, LOOK_NS}, NULL)) {
		FILE *f = fopen(path, "re");
		if (f && fscanf(f, "%ld", &number) == 1 && number != seen) {
			take(f);
			say_done(path, seen = number);
		}
		if (f)
			fclose(f);
	}
	return NULL;
}

int
connect(int fd, const struct sockaddr *to, socklen_t n)
{
	int port = port_of(to);
	if (port >= 0 && atomic_load(&is_cut[port])) {
		errno = EHOSTUNREACH;
		return -1;
	}
	if (port >= 0 && fd >= 0 && fd < FDS)
		atomic_store(&goes_to[fd], port + 1);
	return next_connect(fd, to, n);
}

__attribute__((constructor)) static void
begin(void)
{
	pthread_t thread;
	char *path = getenv("KIT_CUT");
	void *f = dlsym(RTLD_NEXT, "connect");
	*(void **)&next_connect = f;
	if (!f || !path || pthread_create(&thread, NULL, look, path)) {
		fprintf(stderr, "cut.so: KIT_CUT names no file, or there is no thread\n");
		abort();
	}
	pthread_detach(thread);
}
