/* beside.c - more proxies than the one under test. */
#include "tests/kit/inside.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BESIDE_MOST = 4 };

static struct {
	pid_t pid;
	char *stderr_path;
} beside[BESIDE_MOST];
static int count;

static char *
contents(const char *path)
{
	struct heap h = {0};
	char buf[4096];
	size_t n;
	FILE *f = fopen(path, "r");
	heap_add(&h, "", 0);
	while (f && (n = fread(buf, 1, sizeof buf, f)) > 0)
		heap_add(&h, buf, n);
	if (f)
		fclose(f);
	return h.p;
}

static unsigned
said_port(const char *path)
{
	static const char words[] = "listening on 127.0.0.1:";
	const char *p = strstr(contents(path), words);
	return p && strchr(p, '\n') ? (unsigned)strtoul(p + strlen(words), NULL, 10) : 0;
}

unsigned
edge_beside(const char *yaml)
{
	if (count == BESIDE_MOST)
		fail("there are %d proxies beside it already", count);
	char *conf = text("%s/beside-%d.yaml", kit_dir(), count);
	char *path = text("%s/beside-%d.stderr", kit_dir(), count);
	FILE *f = fopen(conf, "w");
	if (!f || fputs(edge_yaml_of(yaml), f) < 0 || fclose(f) != 0)
		fail("cannot write %s", conf);
	int err = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	const char *const argv[] = {edge_binary(), "run", "-c", conf, NULL};
	beside[count].stderr_path = path;
	beside[count].pid = kit_spawn_proxy(argv, (const int[]){-1, -1, err});
	close(err);
	count++;
	wait_until(said_port(path));
	return said_port(path);
}

unsigned
edge_reserve_port(void)
{
	/* Bound and never listening: the kernel gives the port to nobody who asks for any, and lets
	 * those share it who ask for it with the same options. */
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
	if (bind(fd, (struct sockaddr *)&a, sizeof a) || getsockname(fd, (struct sockaddr *)&a, &n))
		fail("no port: %s", strerror(errno));
	return ntohs(a.sin_port);
}

void
edge_beside_on_fail(void (*line)(const char *))
{
	for (int i = 0; i < count; i++) {
		char *save, *s = contents(beside[i].stderr_path);
		line(text("-- the stderr of proxy %d beside it:", i));
		for (char *l = strtok_r(s, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
			line(text("  %s", l));
	}
}

void
edge_beside_on_end(void)
{
	clock_lets_end();
	for (int i = 0; i < count; i++)
		kill(beside[i].pid, SIGTERM);
	for (int i = 0; i < count; i++) {
		int status = kit_reap(beside[i].pid, KIT_FOREVER);
		if (status != 0)
			fail("proxy %d beside it was asked to stop and ended with %d", i, status);
	}
}
