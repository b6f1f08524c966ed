/* A supervisor that speaks systemd's protocols: it is told what happens, and holds the sockets, so
 * that nobody is refused while the proxy is away. */
#include "tests/kit/kit.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEPT_MOST = 32 };

/* It was told this, and was given these descriptors to keep. */
static struct {
	int fd;
	pthread_mutex_t lock;
	char said[1 << 16];
	int kept[KEPT_MOST];
	char names[KEPT_MOST * 64];
	unsigned kept_n;
} boss = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void
take_note(const char *text, struct msghdr *m)
{
	pthread_mutex_lock(&boss.lock);
	size_t n = strlen(boss.said);
	snprintf(boss.said + n, sizeof boss.said - n, "%s\n", text);
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	const char *name = strstr(text, "FDNAME=");
	if (c && c->cmsg_type == SCM_RIGHTS && name && boss.kept_n < KEPT_MOST) {
		memcpy(&boss.kept[boss.kept_n], CMSG_DATA(c), sizeof(int));
		n = strlen(boss.names);
		snprintf(boss.names + n, sizeof boss.names - n, "%s%.60s", n ? ":" : "",
			 name + strlen("FDNAME="));
		boss.kept_n++;
	}
	pthread_mutex_unlock(&boss.lock);
}

static void *
hear(void *ctx)
{
	(void)ctx;
	for (;;) {
		char text[1024];
		_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
		struct iovec iov = {text, sizeof text - 1};
		struct msghdr m = {.msg_iov = &iov,
				   .msg_iovlen = 1,
				   .msg_control = room,
				   .msg_controllen = sizeof room};
		ssize_t n = recvmsg(boss.fd, &m, MSG_CMSG_CLOEXEC);
		if (n < 0)
			return NULL;
		text[n] = '\0';
		take_note(text, &m);
	}
}

static void
supervise(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	pthread_t t;
	snprintf(at.sun_path, sizeof at.sun_path, "%s/notify", kit_dir());
	boss.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (bind(boss.fd, (struct sockaddr *)&at, sizeof at) < 0 ||
	    pthread_create(&t, NULL, hear, NULL) != 0)
		fail("no supervisor: %s", strerror(errno));
	setenv("NOTIFY_SOCKET", at.sun_path, 1);
}

static int
count_said(const char *words)
{
	int n = 0;
	pthread_mutex_lock(&boss.lock);
	for (const char *p = boss.said; (p = strstr(p, words)); p += strlen(words))
		n++;
	pthread_mutex_unlock(&boss.lock);
	return n;
}

/* All that was said to it before has been noted. */
static void
hear_out(void)
{
	static int times;
	struct sockaddr_un at;
	socklen_t n = sizeof at;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	expect(getsockname(boss.fd, (struct sockaddr *)&at, &n) == 0);
	expect(sendto(fd, "OWN", 3, 0, (struct sockaddr *)&at, n) == 3);
	close(fd);
	times++;
	wait_until(count_said("OWN\n") >= times);
}

static void
wait_said(const char *words, int times)
{
	wait_until(count_said(words) >= times);
}

/* A socket that listens at a port that the system chooses; with_others: SO_REUSEPORT. */
static int
listening_at(unsigned *port, bool with_others)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)*port)};
	socklen_t n = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = with_others;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
	if (bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 128) ||
	    getsockname(fd, (struct sockaddr *)&at, &n))
		fail("no socket: %s", strerror(errno));
	*port = ntohs(at.sin_port);
	return fd;
}

static void
starts_at(unsigned port, const char *more)
{
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .body = "hello");
	edge_yaml(text("listen: [ \"127.0.0.1:%u\" ]\n%s", port, more));
	edge_start();
}

enum { WAITING = 24 };

/* Connections, each with a request, of which nobody has accepted one yet. */
static void
connect_all(struct client *c[WAITING], unsigned port)
{
	for (int i = 0; i < WAITING; i++) {
		c[i] = client_open_to(port);
		client_request(c[i], "GET", "/x", NULL);
	}
}

static void
expect_all_served(struct client *c[WAITING])
{
	for (int i = 0; i < WAITING; i++) {
		expect_answer(client_read(c[i], "GET"), 200, "hello");
		client_close(c[i]);
	}
}

/* ---- what it is told ------------------------------------------------------------------------ */

SCENARIO("the supervisor is told of the start, a reload and the end")
{
	supervise();
	setenv("WATCHDOG_USEC", "600000", 1);
	edge_start();
	wait_said("READY=1\nSTATUS=serving at ", 1);
	edge_signal(SIGHUP);
	wait_said("RELOADING=1\nMONOTONIC_USEC=", 1);
	wait_said("READY=1", 2);
	wait_said("WATCHDOG=1", 2);
	expect_int(count_said("STOPPING=1"), 0);
	edge_stop();
	wait_said("STOPPING=1", 1);
	int listeners = h2_is_asked_for() ? 2 : 1;
	expect_int(count_said("FDSTORE=1"), 2 * listeners); /* one for each worker */
}

/* The thread of a worker; 0: none. */
static pid_t
find_worker(void)
{
	char *tasks = text("/proc/%d/task", (int)edge_pid());
	DIR *d = opendir(tasks);
	pid_t found = 0;
	for (struct dirent *e; d && !found && (e = readdir(d));) {
		char name[32] = "";
		FILE *f = fopen(text("%s/%s/comm", tasks, e->d_name), "r");
		if (f && fgets(name, sizeof name, f) && strcmp(name, "worker\n") == 0)
			found = (pid_t)atoi(e->d_name);
		if (f)
			fclose(f);
	}
	closedir(d);
	return found;
}

SCENARIO("a worker that stands still ends the supervisor's patience, though the others go on")
{
	int status;
	supervise();
	setenv("WATCHDOG_USEC", "600000", 1);
	edge_start();
	wait_said("WATCHDOG=1", 1);
	pid_t worker = find_worker();
	expect(worker > 0);
	if (ptrace(PTRACE_SEIZE, worker, 0, 0) || ptrace(PTRACE_INTERRUPT, worker, 0, 0))
		skip("a thread cannot be held: %s", strerror(errno));
	while (waitpid(worker, &status, __WALL) < 0 && errno == EINTR)
		;
	wait_until(edge_said("has been stuck for"));
	hear_out();
	int before = count_said("WATCHDOG=1");
	double then = edge_stat("uptime_s");
	wait_until(edge_stat("uptime_s") > then + 1); /* in which it looks five times */
	expect_int(count_said("WATCHDOG=1"), before);
	if (ptrace(PTRACE_DETACH, worker, 0, 0))
		fail("detach: %s", strerror(errno));
	wait_said("WATCHDOG=1", before + 1);
}

static int
healthz(void)
{
	struct client *c = client_open_to(edge_admin_port());
	client_request(c, "GET", "/healthz", NULL);
	int status = client_read(c, "GET").status;
	client_close(c);
	return status;
}

SCENARIO("a worker that stands still is told at /healthz, to balancers, and one that goes on too")
{
	int status;
	clock_hold();
	edge_start();
	expect_int(healthz(), 200);
	pid_t worker = find_worker();
	expect(worker > 0);
	if (ptrace(PTRACE_SEIZE, worker, 0, 0) || ptrace(PTRACE_INTERRUPT, worker, 0, 0))
		skip("a thread cannot be held: %s", strerror(errno));
	while (waitpid(worker, &status, __WALL) < 0 && errno == EINTR)
		;
	for (int s = 1; s <= 2; s++)
		clock_advance(1000); /* two looks are a pause */
	expect_int(healthz(), 200);
	for (int s = 1; s <= 3; s++)
		clock_advance(1000);
	expect_int(healthz(), 503);
	expect_int((int)edge_stat("workers.stalled"), 1);
	expect(edge_said("has been stuck for"));
	if (ptrace(PTRACE_DETACH, worker, 0, 0))
		fail("detach: %s", strerror(errno));
	wait_until((clock_advance(1000), healthz() == 200));
	expect_int((int)edge_stat("workers.stalled"), 0);
}

/* ---- sockets of a socket unit ---------------------------------------------------------------- */

SCENARIO("a socket that was handed over serves, and who came before the start is served too")
{
	unsigned port = 0;
	int fd = listening_at(&port, false);
	struct client *c[WAITING];
	connect_all(c, port);
	edge_inherits(&fd, 1, "web");
	starts_at(port, "");
	expect_all_served(c);
	edge_stop();
	connect_all(c, port); /* nobody is there, and nobody is refused */
	edge_restart();
	expect_all_served(c);
	edge_kill9();
	connect_all(c, port);
	edge_restart();
	expect_all_served(c);
}

SCENARIO("more sockets at an address than workers, or fewer: each has a worker that accepts")
{
	unsigned port = 0;
	int fds[5];
	for (int i = 0; i < 5; i++)
		fds[i] = listening_at(&port, true);
	edge_inherits(fds, 5, "a:b:c:d:e");
	struct client *c[WAITING];
	connect_all(c, port); /* by the kernel's choice in all five queues */
	starts_at(port, "workers: 2\n");
	expect_all_served(c);
	edge_stop();
	edge_inherits(fds, 3, "a:b:c");
	for (int i = 3; i < 5; i++)
		close(fds[i]);
	connect_all(c, port);
	starts_at(port, "workers: 7\n");
	expect_all_served(c);
}

SCENARIO("a Unix socket that was handed over stays when the proxy ends")
{
	char *path = text("%s/t.sock", kit_dir());
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct stat st;
	snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 128))
		fail("no socket: %s", strerror(errno));
	origin_says("/x", .body = "hello");
	edge_inherits(&fd, 1, "web");
	edge_yaml(text("listen: [ \"127.0.0.1:0\", \"unix:%s\" ]\n", path));
	edge_start();
	edge_stop();
	expect(lstat(path, &st) == 0 && S_ISSOCK(st.st_mode));
	struct client *c = client_open_path(path);
	client_request(c, "GET", "/x", NULL);
	edge_restart();
	expect_answer(client_read(c, "GET"), 200, "hello");
}

SCENARIO("what was handed over and nobody wants is closed and named; what is no socket, left alone")
{
	unsigned port = 0, other = 0;
	supervise();
	int fds[3] = {listening_at(&port, false), listening_at(&other, false), boss.fd};
	edge_inherits(fds, 3, "web:twice-127.0.0.1-1:odd");
	starts_at(port, "");
	expect_that(edge_said(text("listens at 127.0.0.1:%u, which no entry of listen", other)),
		    "the extra one is not named");
	expect_that(edge_said("(\"odd\") is no socket that listens"), "the odd one is not named");
	expect_int(get("/x").status, 200);
	wait_said("FDSTOREREMOVE=1\nFDNAME=twice-127.0.0.1-1", 1);
}

SCENARIO("descriptors for another process are not touched")
{
	setenv("LISTEN_PID", "1", 1);
	setenv("LISTEN_FDS", "1", 1);
	origin_says("/x", .body = "hello");
	edge_start();
	expect_int(get("/x").status, 200);
	expect_that(!edge_said("taken over"), "it takes them");
}

/* ---- sockets that it keeps for us ----------------------------------------------------------- */

SCENARIO("kill -9 under a supervisor that keeps the sockets refuses nobody")
{
	by_http_only();
	struct client *c[WAITING];
	char *path = text("%s/t.sock", kit_dir());
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .body = "hello");
	supervise();
	edge_yaml(text("listen: [ \"127.0.0.1:0\", \"unix:%s\" ]\n", path));
	edge_start();
	wait_said("FDSTORE=1", 3); /* two workers' and the path's */
	unsigned port = edge_port();
	get("/x");
	edge_inherits(boss.kept, boss.kept_n, boss.names);
	for (int round = 0; round < 3; round++) {
		edge_kill9();
		connect_all(c, port);
		struct client *by_path = client_open_path(path);
		client_request(by_path, "GET", "/x", NULL);
		edge_restart();
		expect_int((int)edge_port(), (int)port);
		expect_all_served(c);
		expect_answer(client_read(by_path, "GET"), 200, "hello");
		client_close(by_path);
	}
	edge_stop();
	connect_all(c, port); /* the same for an orderly restart */
	edge_restart();
	expect_all_served(c);
	expect_int(count_said("FDSTORE=1"), 3); /* what it keeps is not given again */
}

SCENARIO("it is told which process is the main one after an upgrade, and keeps the sockets it has")
{
	origin_says("*", .fields = "Cache-Control: max-age=60\r\n", .body = "hello");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	supervise();
	edge_start();
	wait_said("READY=1", 1);
	int kept = count_said("FDSTORE=1");
	edge_signal(SIGUSR2);
	wait_said("MAINPID=", 1);
	wait_said("READY=1", 2);
	int pid = 0;
	pthread_mutex_lock(&boss.lock);
	expect_int(sscanf(strstr(boss.said, "MAINPID="), "MAINPID=%d", &pid), 1);
	pthread_mutex_unlock(&boss.lock);
	edge_becomes(pid, 0);
	expect_answer(get("/x"), 200, "hello");
	expect_int(count_said("FDSTORE=1"), kept);
	expect_int(count_said("FDSTOREREMOVE=1"), 0);
	expect_int(count_said("STOPPING=1"), 0);
}

SCENARIO("a process that was followed does not say that the one behind it lives")
{
	struct barrier *go = barrier_new();
	int pid = 0;
	origin_says("/slow", .body = "whole", .hold_body = go, .hold_at = 2);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	supervise();
	setenv("WATCHDOG_USEC", "600000", 1);
	clock_hold();
	edge_start();
	struct call *slow = call_get("/slow");
	barrier_arrivals(go, 1);
	edge_signal(SIGUSR2);
	wait_said("MAINPID=", 1);
	wait_said("READY=1", 2);
	pthread_mutex_lock(&boss.lock);
	expect_int(sscanf(strstr(boss.said, "MAINPID="), "MAINPID=%d", &pid), 1);
	pthread_mutex_unlock(&boss.lock);
	clock_settle();
	hear_out();
	expect_int(kill(pid, SIGSTOP), 0);
	int before = count_said("WATCHDOG=1");
	for (int i = 0; i < 5; i++) /* times that either would look */
		clock_advance(300);
	expect_int(count_said("WATCHDOG=1"), before);
	expect_int(kill(pid, SIGCONT), 0);
	/* Not at each look: a worker may not have had a turn since the last one. */
	while (count_said("WATCHDOG=1") < before + 3)
		clock_advance(300);
	barrier_open(go);
	call_expect(slow, 200, "whole");
	edge_becomes(pid, 0);
}

/* ---- what nobody accepts from any more ------------------------------------------------------ */

/* Returns what it says. */
static char *
reload_to(const char *yaml, int status)
{
	edge_rewrite(yaml);
	struct output o = program(edge_binary(), "reload", "--admin",
				  text("127.0.0.1:%u", edge_admin_port()));
	expect_that(o.status == status, "%s%s", o.out, o.err);
	return o.err;
}

/* It can open so many files more, and no others. */
static void
leave_descriptors(unsigned n)
{
	struct rlimit limit;
	rlim_t next = 0;
	for (unsigned found = 0; found < n; next++)
		found += access(text("/proc/%d/fd/%u", (int)edge_pid(), (unsigned)next), F_OK) < 0;
	expect(prlimit(edge_pid(), RLIMIT_NOFILE, NULL, &limit) == 0);
	limit.rlim_cur = next;
	expect(prlimit(edge_pid(), RLIMIT_NOFILE, &limit, NULL) == 0);
}

SCENARIO("it keeps no socket of an entry that a reload takes away, or of a reload that is refused")
{
	by_http_only();
	unsigned stays = edge_reserve_port(), goes = edge_reserve_port(),
		 opens = edge_reserve_port();
	char *path = text("%s/t.sock", kit_dir());
	char *origin = text("workers: 2\norigins: [ { name: web, url: \"%s\" } ]\n", origin_url());
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .body = "hello");
	supervise();
	edge_start_yaml(text("%slisten: [ \"127.0.0.1:%u\", \"127.0.0.1:%u\", \"unix:%s\" ]\n",
			     origin, stays, goes, path));
	wait_said("FDSTORE=1", 5); /* two workers' of either port, and the path's */
	reload_to(text("%slisten: [ \"127.0.0.1:%u\" ]\n", origin, stays), 0);
	wait_said(text("FDSTOREREMOVE=1\nFDNAME=twice-127.0.0.1-%u", goes), 1);
	wait_said(text("FDSTOREREMOVE=1\nFDNAME=twice-unix-%s", path), 1);
	/* One entry is opened, and of many others not all can be. */
	char many[64 * 20] = "";
	for (int i = 2; i < 42; i++)
		snprintf(many + strlen(many), sizeof many - strlen(many), ", \"127.0.0.%d:0\"", i);
	leave_descriptors(20);
	char *said = reload_to(text("%slisten: [ \"127.0.0.1:%u\", \"127.0.0.1:%u\"%s ]\n", origin,
				    stays, opens, many),
			       2);
	expect_that(strstr(said, "listen: cannot listen on '127.0.0."), "%s", said);
	wait_said(text("\nFDNAME=twice-127.0.0.1-%u", opens), 2);
	wait_said(text("FDSTOREREMOVE=1\nFDNAME=twice-127.0.0.1-%u", opens), 1);
	leave_descriptors(100);
	struct client *c = client_open_to(stays);
	client_request(c, "GET", "/x", NULL);
	expect_answer(client_read(c, "GET"), 200, "hello");
	expect_int(count_said(text("FDSTOREREMOVE=1\nFDNAME=twice-127.0.0.1-%u", stays)), 0);
}

SCENARIO("it forgets what an older program gave it under another name")
{
	by_http_only();
	unsigned stays = edge_reserve_port(), goes = 0;
	int fd = listening_at(&goes, false);
	char *origin = text("workers: 2\norigins: [ { name: web, url: \"%s\" } ]\n", origin_url());
	supervise();
	edge_inherits(&fd, 1, text("twice-h2c-//127.0.0.1-%u", goes));
	edge_start_yaml(text("%slisten: [ \"127.0.0.1:%u\", \"h2c://127.0.0.1:%u\" ]\n", origin,
			     stays, goes));
	reload_to(text("%slisten: [ \"127.0.0.1:%u\" ]\n", origin, stays), 0);
	wait_said(text("FDSTOREREMOVE=1\nFDNAME=twice-127.0.0.1-%u", goes), 1);
	wait_said(text("FDSTOREREMOVE=1\nFDNAME=twice-h2c-//127.0.0.1-%u", goes), 1);
	expect_int(count_said(text("FDSTOREREMOVE=1\nFDNAME=twice-127.0.0.1-%u", stays)), 0);
}

/* The process that has taken the place of the one under test. */
static void
becomes_main_one(void)
{
	int pid = 0;
	wait_said("MAINPID=", 1);
	pthread_mutex_lock(&boss.lock);
	expect_int(sscanf(strstr(boss.said, "MAINPID="), "MAINPID=%d", &pid), 1);
	pthread_mutex_unlock(&boss.lock);
	edge_becomes(pid, 0);
}

SCENARIO(
	"an address that is elsewhere for the moment keeps its socket over a reload and an upgrade")
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t n = sizeof at;
	unsigned port = edge_reserve_port();
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	by_http_only();
	inet_pton(AF_INET, "192.0.2.1", &at.sin_addr);
	setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &one, sizeof one);
	if (bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 128) ||
	    getsockname(fd, (struct sockaddr *)&at, &n))
		skip("no socket of an address that is elsewhere: %s", strerror(errno));
	char *settings = text("workers: 2\norigins: [ { name: web, url: \"%s\" } ]\n"
			      "listen: [ \"127.0.0.1:%u\", \"192.0.2.1:%u\" ]\n",
			      origin_url(), port, ntohs(at.sin_port));
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .body = "hello");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	supervise();
	edge_inherits(&fd, 1, "elsewhere");
	edge_start_yaml(settings);
	expect_answer(get("/x"), 200, "hello");
	reload_to(text("%stimeouts: { idle: 50s }\n", settings), 0);
	wait_until(edge_said("timeouts.idle has changed, and is applied"));
	edge_signal(SIGUSR2);
	becomes_main_one();
	expect_answer(get("/x"), 200, "hello");
	/* It has the socket: a further reload finds it there. */
	reload_to(settings, 0);
	expect_int(count_said("FDSTOREREMOVE=1"), 0);
}

static int
count_kept(const char *message, unsigned port)
{
	return count_said(text("%s\nFDNAME=twice-127.0.0.1-%u", message, port));
}

SCENARIO("it hears of the entries of a new process only when that has the old one's place")
{
	by_http_only();
	unsigned stays = edge_reserve_port(), goes = edge_reserve_port(),
		 comes = edge_reserve_port(), taken = 0;
	int fd = listening_at(&taken, false);
	char *origin = text("workers: 2\norigins: [ { name: web, url: \"%s\" } ]\n", origin_url());
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .body = "hello");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	supervise();
	edge_start_yaml(
		text("%slisten: [ \"127.0.0.1:%u\", \"127.0.0.1:%u\" ]\n", origin, stays, goes));
	wait_said("READY=1", 1);
	/* One entry comes and one goes, but another cannot be opened. */
	edge_rewrite(text("%slisten: [ \"127.0.0.1:%u\", \"127.0.0.1:%u\", \"127.0.0.1:%u\" ]\n",
			  origin, stays, comes, taken));
	edge_signal(SIGUSR2);
	wait_until(edge_said("the upgrade has failed, and nothing has changed: cannot listen on"));
	edge_rewrite(
		text("%slisten: [ \"127.0.0.1:%u\", \"127.0.0.1:%u\" ]\n", origin, stays, comes));
	expect_int(count_kept("FDSTORE=1", comes), 0);
	expect_int(count_kept("FDSTOREREMOVE=1", goes), 0);
	edge_signal(SIGUSR2);
	wait_said("MAINPID=", 1);
	wait_said("READY=1", 2);
	int pid = 0;
	pthread_mutex_lock(&boss.lock);
	expect_int(sscanf(strstr(boss.said, "MAINPID="), "MAINPID=%d", &pid), 1);
	pthread_mutex_unlock(&boss.lock);
	edge_becomes(pid, 0);
	hear_out();
	expect_int(count_kept("FDSTORE=1", comes), 2); /* two workers' */
	expect(count_kept("FDSTOREREMOVE=1", goes) > 0);
	expect_int(count_kept("FDSTORE=1", stays), 2);
	struct client *c = client_open_to(comes);
	client_request(c, "GET", "/x", NULL);
	expect_answer(client_read(c, "GET"), 200, "hello");
	close(fd);
}
