/* A new process takes a running proxy's place: nobody is refused, nothing is lost, and what goes wrong
 * changes nothing. */
#include "tests/kit/kit.h"
#include "tests/kit/tls.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FRESH "Cache-Control: max-age=600\r\n"

/* ---- a program that is no heir ------------------------------------------------------------- */

/* The proxy starts this very program when a link leads here: it says what an heir says up to some
 * step, and then does what the file says that the environment names. Or it starts an heir and stands
 * between the two. Messages begin with these (proxy/node/handover.h): */
enum { HELLO = 1, OPEN = 7, READY = 8, REFUSED = 9, GO = 11, SETTLED = 12 };

static void
say(const char *bytes, size_t n)
{
	if (send(3, bytes, n, MSG_NOSIGNAL) != (ssize_t)n)
		_exit(9);
}

static void
hear(int kind)
{
	static char bytes[1 << 14];
	struct pollfd p = {.fd = 3, .events = POLLIN};
	do {
		poll(&p, 1, -1);
		ssize_t n = recv(3, bytes, sizeof bytes, 0);
		if (n <= 0)
			_exit(8);
	} while (bytes[0] != kind);
}

static void
stop_at(const char *does, const char *step)
{
	if (strncmp(does, step, strlen(step)) != 0)
		return;
	if (strstr(does, "hang"))
		pause();
	if (strstr(does, "crash"))
		raise(SIGKILL);
	if (strstr(does, "refuse"))
		say("\x09no, thanks", 11);
	_exit(7);
}

struct passing {
	char bytes[1 << 14];
	size_t n;
	int fd; /* -1: none came along */
};

static void
receive(int from, struct passing *p)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
	struct iovec part = {p->bytes, sizeof p->bytes};
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = room,
			   .msg_controllen = sizeof room};
	ssize_t n = recvmsg(from, &m, 0);
	if (n <= 0)
		_exit(0); /* the end of the one is the end of the other */
	p->n = (size_t)n;
	p->fd = -1;
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(&p->fd, CMSG_DATA(c), sizeof p->fd);
}

static void
pass_on(int to, const struct passing *p)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {(void *)(uintptr_t)p->bytes, p->n};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
	if (p->fd >= 0) {
		m.msg_control = room;
		m.msg_controllen = sizeof room;
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof p->fd);
		memcpy(CMSG_DATA(c), &p->fd, sizeof p->fd);
	}
	if (sendmsg(to, &m, MSG_NOSIGNAL) < 0)
		_exit(5);
	if (p->fd >= 0)
		close(p->fd);
}

/* NAME-KIND in the directory of the file that says what to do. */
static char *
mark(const char *name, int kind)
{
	static char path[4096];
	const char *does = getenv("NO_HEIR"), *end = strrchr(does, '/');
	snprintf(path, sizeof path, "%.*s/%s-%d", (int)(end - does), does, name, kind);
	return path;
}

/* Lets a message wait until the scenario says go. */
static void
hold(int kind)
{
	if (kind != HELLO && kind != OPEN && kind != READY && kind != REFUSED && kind != GO &&
	    kind != SETTLED)
		return;
	close(creat(mark("at", kind), 0600));
	while (access(mark("go", kind), F_OK) != 0)
		poll(NULL, 0, 2);
}

/* The two talk to each other through here. The one that began dies with this process, or,
 * where messages are only held, outlives it. */
static void
stand_between(const char *does, char **argv)
{
	int ends[2], last = strchr(does, '-') ? atoi(strrchr(does, '-') + 1) : 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		_exit(4);
	fcntl(3, F_SETFL, fcntl(3, F_GETFL) & ~O_NONBLOCK);
	pid_t heir = fork();
	if (heir == 0) {
		if (last)
			prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends[1], 3);
		execv(getenv("HEIR"), argv);
		_exit(3);
	}
	close(ends[1]);
	FILE *f = fopen(mark("pid", 0), "w");
	if (!f || fprintf(f, "%d\n", (int)heir) < 0 || fclose(f) != 0)
		_exit(2);
	for (;;) {
		static struct passing p;
		struct pollfd sides[] = {{.fd = 3, .events = POLLIN},
					 {.fd = ends[0], .events = POLLIN}};
		poll(sides, 2, -1);
		int from = sides[0].revents ? 0 : 1;
		receive(sides[from].fd, &p);
		if (p.bytes[0] == last && strstr(does, "hang")) {
			close(creat(mark("at", last), 0600));
			pause();
		}
		if (p.bytes[0] == last) {
			kill(heir, SIGKILL);
			waitpid(heir, NULL, 0);
			raise(SIGKILL);
		}
		if (!last)
			hold(p.bytes[0]);
		pass_on(sides[!from].fd, &p);
		if (p.bytes[0] == READY)
			close(creat(mark("on", READY), 0600));
	}
}

__attribute__((constructor)) static void
be_no_heir(int argc, char **argv)
{
	(void)argc;
	char does[64] = "";
	const char *file = getenv("NO_HEIR");
	FILE *f = getenv("TWICE_HANDOVER") && file ? fopen(file, "r") : NULL;
	if (!f)
		return;
	if (!fgets(does, sizeof does, f))
		_exit(6);
	if (strncmp(does, "between", 7) == 0)
		stand_between(does, argv);
	stop_at(does, "start");
	if (strncmp(does, "nonsense", 8) == 0)
		say("\x7fnonsense", 9);
	if (strncmp(does, "version", 7) == 0)
		say("\x01\xff\x00\x00\x00", 5);
	say("\x01\x01\x00\x00\x00", 5);
	stop_at(does, "hello");
	hear(OPEN);
	close(creat(mark("at", OPEN), 0600));
	stop_at(does, "open");
	say("\x08"
	    "12345678",
	    9); /* of another cache */
	stop_at(does, "ready");
	pause();
}

/* ---- words --------------------------------------------------------------------------------- */

static const char *program_itself;

static char *
in_dir(const char *name)
{
	return text("%s/%s", kit_dir(), name);
}

static void
link_to(const char *leads)
{
	unlink(in_dir("twice"));
	expect_int(symlink(leads, in_dir("twice")), 0);
}

/* The program is started by a link, so that it may be another one next time. */
static void
start_by_link(void)
{
	char real[4096];
	expect(realpath(edge_binary(), real) != NULL);
	program_itself = text("%s", real);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	link_to(program_itself);
	setenv("TWICE", in_dir("twice"), 1);
	setenv("NO_HEIR", in_dir("does"), 1);
	setenv("HEIR", program_itself, 1);
	edge_start();
}

static void
write_settings(const char *yaml)
{
	FILE *f = fopen(in_dir("twice.yaml"), "w");
	expect(f && fputs(yaml, f) >= 0 && fclose(f) == 0);
}

static void
no_heir_does(const char *what)
{
	FILE *f = fopen(in_dir("does"), "w");
	expect(f && fputs(what, f) >= 0 && fclose(f) == 0);
}

static struct output
upgrade(void)
{
	return program(program_itself, "upgrade", "--admin",
		       text("127.0.0.1:%u", edge_admin_port()));
}

/* It is done; the process under test is the new one. */
static pid_t
upgraded(void)
{
	struct output o = upgrade();
	int pid = 0;
	expect_that(o.status == 0, "twice upgrade ended with %d: %s%s", o.status, o.out, o.err);
	expect_that(sscanf(o.out, "process %d (", &pid) == 1, "it says: %s", o.out);
	return pid;
}

static void
expect_not_upgraded(const char *why)
{
	pid_t before = edge_pid();
	struct output o = upgrade();
	expect_int(o.status, 1);
	expect_that(strstr(o.err, why), "not \"%s\", but: %s", why, o.err);
	expect(edge_alive() && edge_pid() == before);
}

static struct answer
ask_by(struct client *c, const char *method, const char *target)
{
	client_request(c, method, target, method[0] == 'P' ? "Content-Length: 0\r\n" : NULL);
	return client_read(c, method);
}

static void
expect_purged(const char *query)
{
	struct answer a = edge_purge(query);
	expect_status(a, 200);
	expect_that(strstr(a.body, "\"durable\": true"), "%s", a.body);
}

static char *
url_of(const char *path)
{
	return text("url=%s://example.com%s", edge_is_tls() ? "https" : "http", path);
}

static void
store(const char *target)
{
	double objects = edge_stat("disk.objects");
	get(target);
	get(target);
	edge_wait_stat("disk.objects", objects + 1);
	expect_hit(get(target));
}

static void
reload_to(const char *yaml, int times)
{
	write_settings(yaml);
	edge_signal(SIGHUP);
	wait_until(edge_times_said("the configuration is read again") == times);
}

/* Objects on disk are there, new ones are stored, and purged ones are gone. */
static void
expect_all_works(const char *name)
{
	char *other = text("/other-%s", name), *gone = text("/gone-%s", name);
	char *left = text("/left-%s", name);
	expect_hit(get("/kept"));
	expect_verdict(get(other), "detail=first-sight");
	double objects = edge_stat("disk.objects");
	expect_hit(get(other));
	edge_wait_stat("disk.objects", objects + 1);
	store(gone);
	store(left);
	expect_purged(text("%s&%s", url_of(gone), url_of(left)));
	expect_miss(get(gone)); /* the other one is for later */
}

/* ---- when it works ------------------------------------------------------------------------- */

SCENARIO("an upgrade waits for no unsafe method of what is not stored")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	clock_hold();
	start_by_link();
	expect_status(ask("POST", "/nothing", "Content-Length: 0\r\n", NULL), 200);
	edge_becomes(upgraded(), 0); /* though no time passes */
	expect(!edge_said("purge log has taken"));
	expect_answer(get("/nothing"), 200, "hello");
}

SCENARIO("the new process has the port, what is stored, what was seen, and the totals")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	start_by_link();
	store("/kept");
	expect_verdict(get("/once"), "detail=first-sight");
	edge_wait_stat("lifetime.requests", 4);
	edge_becomes(upgraded(), 0);
	expect(edge_stat("lifetime.requests") >= 4);
	expect_verdict(get("/once"), "stored");
	expect_all_works("a");
	edge_becomes(upgraded(), 0);
	expect_all_works("b");
	edge_restart();
	expect_hit(get("/kept"));
	expect_hit(get("/other-a"));
	expect_miss(get("/left-a"));
}

SCENARIO(
	"a purge before or after holds, whichever process is told, and a client of the old one is its own")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	start_by_link();
	store("/before");
	store("/by-post");
	store("/after");
	struct client *c = client_open(), *other = client_open(), *stays = client_open();
	struct client *admin = client_open_to(edge_admin_port());
	expect_hit(ask_by(c, "GET", "/after"));
	expect_hit(ask_by(other, "GET", "/after"));
	expect_hit(ask_by(stays, "GET", "/after"));
	client_request(admin, "GET", "/healthz", NULL);
	expect_status(client_read(admin, "GET"), 200);
	expect_purged(url_of("/before"));
	pid_t fresh = upgraded();
	expect_purged(url_of("/after"));
	/* The old process still has these, and waits for the last of them. */
	struct answer a = ask_by(other, "GET", "/after");
	expect_status(a, 200);
	expect_miss(a);
	expect_field(a, "Connection", "close");
	client_close(other);
	expect_status(ask_by(c, "POST", "/by-post"), 200);
	client_close(c);
	store("/told");
	/* The answer behind the purge is kept nowhere: else it would be back, rightly. */
	origin_says("/told", .fields = "Cache-Control: no-store\r\n", .body = "hello");
	client_send(admin, text("POST /purge?%s HTTP/1.1\r\nHost: localhost\r\n"
				"Content-Length: 0\r\n\r\n",
				url_of("/told")));
	a = client_read(admin, "POST");
	expect_status(a, 200);
	expect_that(strstr(a.body, "\"durable\": true"), "%s", a.body);
	expect_miss(get("/told"));
	client_close(stays);
	edge_becomes(fresh, 0);
	expect_miss(get("/before"));
	expect_miss(get("/by-post"));
	edge_kill9();
	edge_restart();
	expect_miss(get("/told"));
}

static void
become_no_heir(const char *what)
{
	char self[4096] = "";
	expect(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
	link_to(self);
	no_heir_does(what);
}

/* Told to the admin server at every message of an upgrade; the answers come later. */
static void
purge_at_each(const int *steps, int n, struct client **told)
{
	for (int i = 0; i < n; i++) {
		char *now = url_of(text("/now-%d", steps[i]));
		char *later = url_of(text("/later-%d", steps[i]));
		if (steps[i] == GO) {
			/* The admin server has a second for what it is at, and is then left: nobody
			 * waits for a purge that waits for the end of the upgrade. */
			wait_until(access(mark("on", READY), F_OK) == 0);
			clock_advance(1000);
		}
		wait_until(access(mark("at", steps[i]), F_OK) == 0);
		told[i] = client_open_to(edge_admin_port());
		client_send(told[i], text("POST /purge?%s&%s HTTP/1.1\r\nHost: localhost\r\n"
					  "Content-Length: 0\r\n\r\n",
					  now, later));
		expect_int(close(creat(mark("go", steps[i]), 0600)), 0);
	}
}

SCENARIO("a purge at any moment of an upgrade holds, and its answer comes when it is durable")
{
	static const int steps[] = {HELLO, OPEN, READY, GO, SETTLED};
	enum { STEPS = sizeof steps / sizeof *steps };
	struct client *told[STEPS];
	int pid = 0;
	origin_says("*", .fields = FRESH, .body = "hello");
	clock_hold();
	start_by_link();
	store("/kept");
	for (int i = 0; i < STEPS; i++) {
		store(text("/now-%d", steps[i]));
		store(text("/later-%d", steps[i]));
	}
	become_no_heir("between");
	edge_signal(SIGUSR2);
	purge_at_each(steps, STEPS, told);
	for (int i = 0; i < STEPS; i++) {
		struct answer a = client_read(told[i], "POST");
		note("at message %d", steps[i]);
		expect_status(a, 200);
		expect_that(strstr(a.body, "\"durable\": true"), "%s", a.body);
		client_close(told[i]);
	}
	FILE *f = fopen(mark("pid", 0), "r");
	expect(f && fscanf(f, "%d", &pid) == 1 && fclose(f) == 0);
	edge_becomes(pid, 0);
	expect_purged(url_of("/no-such"));
	for (int i = 0; i < STEPS; i++)
		expect_miss(get(text("/now-%d", steps[i])));
	expect_hit(get("/kept"));
	link_to(program_itself);
	edge_kill9();
	edge_restart();
	for (int i = 0; i < STEPS; i++)
		expect_miss(get(text("/later-%d", steps[i])));
	expect_hit(get("/kept"));
}

/* Of a process that is not ours to wait for, as /proc has it; 0: it is gone. */
static char
state_of(pid_t pid)
{
	char state = 0;
	FILE *f = fopen(text("/proc/%d/stat", (int)pid), "r");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	if (f)
		fclose(f);
	return state;
}

/* All its threads. */
static bool
stands_still(pid_t pid)
{
	return state_of(pid) == 'T';
}

static bool
has_ended(pid_t pid)
{
	char state = state_of(pid);
	return !state || state == 'Z';
}

static void
ask_to_purge(struct client *c, const char *query)
{
	client_send(c, text("POST /purge?%s HTTP/1.1\r\nHost: localhost\r\n"
			    "Content-Length: 0\r\n\r\n",
			    query));
}

/* By a connection that the old process has; the answer is told when it comes. */
static struct answer
purge_by(struct client *c, const char *query)
{
	ask_to_purge(c, query);
	return client_read(c, "POST");
}

SCENARIO("what the old process is told while the new one stands still is forgotten in the end, "
	 "and no purge is said to be durable for an earlier one's sake")
{
	enum { MANY = 600 }; /* more than a message holds */
	struct client *admin[3];
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_yaml("timeouts: { drain: 1m }\n");
	start_by_link();
	store("/kept");
	store("/last");
	store("/next");
	struct client *stays = client_open();
	expect_hit(ask_by(stays, "GET", "/kept"));
	for (int i = 0; i < 3; i++) {
		admin[i] = client_open_to(edge_admin_port());
		client_request(admin[i], "GET", "/healthz", NULL);
		expect_status(client_read(admin[i], "GET"), 200);
	}
	char *query = url_of("/last");
	for (int i = 0; i < MANY; i++)
		query = text("url=http://a/%d&%s", i, query);
	pid_t fresh = upgraded();
	expect_int(kill(fresh, SIGSTOP), 0);
	wait_until(stands_still(fresh));
	expect_status(purge_by(admin[0], query), 503);
	/* By now it was not taken at all, or some of it. */
	expect_status(purge_by(admin[2], url_of("/no-such")), 503);
	expect_int(kill(fresh, SIGCONT), 0);
	wait_until(!verdict_has(get("/last"), "hit"));
	/* The answer to that has come by now, or comes late. */
	expect_purged(url_of("/no-such"));
	expect_int(kill(fresh, SIGSTOP), 0);
	wait_until(stands_still(fresh));
	expect_status(purge_by(admin[1], url_of("/next")), 503);
	expect_int(kill(fresh, SIGCONT), 0);
	wait_until(!verdict_has(get("/next"), "hit"));
	for (int i = 0; i < 3; i++)
		client_close(admin[i]);
	client_close(stays);
	edge_becomes(fresh, 0);
	expect_hit(get("/kept"));
}

SCENARIO("three in a row: what the first is told to forget the third does, and they end in order")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	start_by_link();
	store("/x");
	store("/kept");
	struct client *first = client_open();
	expect_hit(ask_by(first, "GET", "/x"));
	pid_t second_pid = upgraded();
	struct client *second = client_open();
	expect_hit(ask_by(second, "GET", "/x"));
	pid_t third_pid = upgraded();
	expect_hit(get("/x"));
	client_close(second);
	expect_status(ask_by(first, "POST", "/x"), 200);
	wait_until(!verdict_has(get("/x"), "hit"));
	expect_int(kill(second_pid, 0), 0); /* as long as the first lives */
	client_close(first);
	edge_becomes(second_pid, 0);
	edge_becomes(third_pid, 0);
	expect_all_works("a");
}

enum { LOADERS = 4, FILES = 50, UPGRADES = 10 };
static _Atomic long asked, failed, missed, closed;
static _Atomic bool enough;

static void
count(struct answer a)
{
	atomic_fetch_add(&asked, 1);
	if (a.status != 200 || a.cut || a.fault || strcmp(a.body, "hello") != 0)
		atomic_fetch_add(&failed, 1);
	else if (!strstr(a.head, "; hit"))
		atomic_fetch_add(&missed, 1);
}

/* Keeps a connection until it is told that it is over. */
static void *
load_kept(void *arg)
{
	struct client *c = NULL;
	for (int i = (int)(intptr_t)arg; !enough; i++) {
		c = c ? c : client_open();
		client_request(c, "GET", text("/%d", i % FILES), NULL);
		struct answer a = client_try(c, "GET");
		count(a);
		if (!a.status || a.fault || field(a, "Connection")) {
			atomic_fetch_add(&closed, 1);
			client_close(c);
			c = NULL;
		}
	}
	if (c)
		client_close(c);
	return NULL;
}

static void *
load_new(void *arg)
{
	for (int i = (int)(intptr_t)arg; !enough; i++)
		count(try_ask("GET", text("/%d", i % FILES), "", NULL));
	return NULL;
}

SCENARIO_IN(120, "ten upgrades under load: no request fails, and hits stay hits")
{
	pthread_t threads[LOADERS];
	origin_says("*", .fields = FRESH, .body = "hello");
	start_by_link();
	for (int i = 0; i < 2 * FILES; i++)
		get(text("/%d", i % FILES));
	edge_wait_stat("disk.objects", FILES);
	for (intptr_t i = 0; i < LOADERS; i++)
		pthread_create(&threads[i], NULL, i % 2 ? load_kept : load_new, (void *)i);
	for (int i = 0; i < UPGRADES; i++)
		edge_becomes(upgraded(), 0);
	enough = true;
	for (int i = 0; i < LOADERS; i++)
		pthread_join(threads[i], NULL);
	note("%ld requests, %ld of them misses; %ld connections were told to end", (long)asked,
	     (long)missed, (long)closed);
	expect_int(failed, 0);
	expect_that(missed <= asked / 50 + 8 * UPGRADES, "%ld misses of %ld", (long)missed,
		    (long)asked);
	for (int i = 0; i < FILES; i++)
		expect_hit(get(text("/%d", i)));
}

SCENARIO("a download that began before goes on to its end, as it began")
{
	static char big[300000];
	memset(big, 'x', sizeof big - 1);
	origin_says("/big", .fields = FRESH, .body = big);
	start_by_link();
	get("/big");
	get("/big");
	edge_wait_stat("disk.objects", 1);
	struct client *c = client_open_narrow();
	client_request(c, "GET", "/big", NULL);
	client_read_head(c);
	pid_t fresh = upgraded();
	static char got[sizeof big];
	expect_int((int)client_read_body(c, got, sizeof big - 1), (int)sizeof big - 1);
	expect(memcmp(got, big, sizeof big - 1) == 0);
	client_close(c);
	edge_becomes(fresh, 0);
	expect_hit(get("/big"));
}

SCENARIO("by TLS and HTTP/2 too: sessions are resumed by the new process")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	cert_write(in_dir("a.pem"), .names = "example.com");
	edge_yaml(text("listen: [ \"https://127.0.0.1:0\", \"h2c://127.0.0.1:0\", "
		       "\"unix:%s\", \"127.0.0.1:0\" ]\ntls: { certificates: [ %s ] }\n"
		       "admin_socket: %s\n",
		       in_dir("web.sock"), in_dir("a.pem"), in_dir("admin.sock")));
	start_by_link();
	struct stat before, after;
	struct client *c = client_open_tls(.name = "example.com");
	expect_status(ask_by(c, "GET", "/x"), 200);
	expect_int(stat(in_dir("web.sock"), &before), 0);
	pid_t fresh = upgraded();
	struct client *again = client_open_tls(.name = "example.com", .resume = c);
	expect(client_was_resumed(again));
	client_close(c);
	edge_becomes(fresh, 0);
	expect_status(ask_by(again, "GET", "/x"), 200);
	expect_int(stat(in_dir("web.sock"), &after), 0);
	expect(before.st_ino == after.st_ino);
	struct client *u = client_open_path(in_dir("web.sock"));
	expect_status(ask_by(u, "GET", "/x"), 200);
	client_close(u);
	u = client_open_path(in_dir("admin.sock"));
	client_send(u, "GET /upgrade HTTP/1.1\r\nHost: localhost\r\n\r\n");
	expect_that(strstr(client_read(u, "GET").body, "done"), "the admin socket");
	client_close(u);
	edge_stop();
	expect_int(access(in_dir("web.sock"), F_OK), -1);
	expect_int(access(in_dir("admin.sock"), F_OK), -1);
}

SCENARIO("an upgrade makes the file of a Unix socket anew that somebody has removed")
{
	by_http_only();
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_yaml(text("\nworkers: 1\nlisten: [ \"127.0.0.1:0\", \"unix:%s\" ]\n",
		       in_dir("web.sock")));
	start_by_link();
	store("/kept");
	expect_int(unlink(in_dir("web.sock")), 0);
	edge_becomes(upgraded(), 0);
	struct client *c = client_open_path(in_dir("web.sock"));
	expect_hit(ask_by(c, "GET", "/kept"));
	client_close(c);
	edge_stop();
	expect_int(access(in_dir("web.sock"), F_OK), -1);
}

SCENARIO("streams of HTTP/2 that began go on to their end, and then their connection is over")
{
	enum { STREAMS = 20 };
	struct barrier *go = barrier_new();
	int slow[STREAMS];
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_yaml("listen: [ \"127.0.0.1:0\", \"h2c://127.0.0.1:0\" ]\n"
		  "timeouts: { drain: 1m }\n");
	start_by_link();
	store("/kept");
	struct h2_client *c = h2_open();
	for (int i = 0; i < STREAMS; i++) {
		const char *path = text("/slow/%d", i);
		origin_says(path, .fields = "Cache-Control: no-store\r\n", .body = "slowly",
			    .hold_body = go, .hold_at = 2);
		slow[i] = h2_request(c, "GET", path, NULL, NULL);
	}
	for (int i = 0; i < STREAMS; i++)
		h2_wait_body(c, slow[i], 2);
	pid_t fresh = upgraded();
	h2_wait_goaway(c, 1);
	struct h2_client *next = h2_open();
	struct answer a = h2_read(next, h2_request(next, "GET", "/kept", NULL, NULL));
	expect_hit(a);
	barrier_open(go);
	for (int i = 0; i < STREAMS; i++) {
		a = h2_read(c, slow[i]);
		expect_status(a, 200);
		expect_text(a.body, "slowly");
		expect(!a.cut);
	}
	h2_wait_end(c);
	expect_int(h2_goaway(c), 0);
	edge_becomes(fresh, 0);
	a = h2_read(next, h2_request(next, "GET", "/kept", NULL, NULL));
	expect_hit(a);
	h2_close(next);
	h2_close(c);
}

/* ---- when it does not ---------------------------------------------------------------------- */

SCENARIO_IN(
	90,
	"whatever the new process does before it is ready, the old one serves on with all it had")
{
	/* Those that hang come last: until then there is no time limit that a slow start could meet. */
	static const struct {
		const char *does, *why;
	} rows[] = {
		{"start-exit", "ended"},
		{"start-crash", "ended"},
		{"nonsense", "speaks another protocol"},
		{"version", "another way"},
		{"hello-exit", "ended"},
		{"hello-refuse", "no, thanks"},
		{"open-crash", "ended"},
		{"open-refuse", "no, thanks"},
		{"ready", "cache.dir"},
		{"start-hang", "not ready within"},
		{"open-hang", "not ready within"},
	};
	char self[4096] = "";
	by_http_only(); /* it writes settings of its own */
	expect(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_yaml("timeouts: { upgrade: 1h }\n");
	start_by_link();
	store("/kept");
	link_to(self);
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (strcmp(rows[i].does, "start-hang") == 0)
			reload_to("timeouts: { upgrade: 500ms }\n", 1);
		no_heir_does(rows[i].does);
		note("%s", rows[i].does);
		struct client *c = client_open();
		expect_hit(ask_by(c, "GET", "/kept"));
		expect_not_upgraded(rows[i].why);
		expect_hit(ask_by(c, "GET", "/kept"));
		client_close(c);
		expect_all_works(rows[i].does);
	}
	link_to("/nonexistent");
	expect_not_upgraded("No such file");
	reload_to("timeouts: { upgrade: 1m }\n", 2);
	link_to(program_itself);
	edge_becomes(upgraded(), 0);
	expect_all_works("end");
	edge_kill9();
	edge_restart();
	expect_hit(get("/kept"));
	expect_hit(get("/other-open-crash"));
	expect_miss(get("/left-open-hang"));
}

SCENARIO(
	"a new process that is killed before it is heard has changed nothing, whatever it had begun")
{
	static const int steps[] = {READY, GO, SETTLED};
	origin_says("*", .fields = FRESH, .body = "hello");
	start_by_link();
	store("/kept");
	for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++) {
		char *name = text("%d", steps[i]);
		struct client *c = client_open();
		expect_hit(ask_by(c, "GET", "/kept"));
		become_no_heir(text("between-crash-%d", steps[i]));
		note("message %d", steps[i]);
		edge_signal(SIGUSR2);
		wait_until(edge_times_said("the upgrade has failed") == (int)i + 1);
		expect_hit(ask_by(c, "GET", "/kept"));
		client_close(c);
		expect_all_works(name);
	}
	link_to(program_itself);
	edge_becomes(upgraded(), 0);
	expect_all_works("end");
	edge_kill9();
	edge_restart();
	for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++) {
		expect_hit(get(text("/other-%d", steps[i])));
		expect_miss(get(text("/left-%d", steps[i])));
	}
	expect_hit(get("/kept"));
}

SCENARIO(
	"a new process that hangs while nobody accepts is given up in time, and who waited is served")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_yaml("timeouts: { upgrade: 5s }\n");
	clock_hold();
	start_by_link();
	store("/kept");
	become_no_heir(text("between-hang-%d", GO));
	edge_signal(SIGUSR2);
	wait_until(access(mark("at", GO), F_OK) == 0);
	struct call *waits = call_get("/kept");
	clock_advance(5000);
	clock_run(1);
	wait_until(edge_said("was not ready within 5 s"));
	expect_hit(call_wait(waits));
	expect_all_works("after");
	link_to(program_itself);
	edge_becomes(upgraded(), 0);
	expect_all_works("end");
}

/* A program that becomes another one when in_dir("go") is there. */
static void
link_to_slow(const char *becomes)
{
	char *script = in_dir("slow");
	FILE *f = fopen(script, "w");
	expect(f != NULL);
	fprintf(f,
		"#!/bin/sh\necho $$ > %s\nwhile [ ! -e %s ]; do sleep 0.02; done\nexec %s \"$@\"\n",
		in_dir("pid"), in_dir("go"), becomes);
	expect_int(fclose(f), 0);
	expect_int(chmod(script, 0700), 0);
	link_to(script);
}

SCENARIO("a reload that is asked for within an upgrade that fails is done behind it")
{
	char self[4096] = "", *log = in_dir("access.log"), *rotated = in_dir("access.log.1");
	expect(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_yaml(text("timeouts: { upgrade: 4s }\naccess_log: %s\n", log));
	clock_hold();
	start_by_link();
	store("/kept");
	link_to_slow(self);
	no_heir_does(text("between-hang-%d", GO));
	edge_signal(SIGUSR2);
	wait_until(access(in_dir("pid"), F_OK) == 0);
	expect_int(rename(log, rotated), 0);
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, "POST /reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
	wait_until((get("/kept"), access(log, F_OK) == 0)); /* it has begun, and waits */
	expect_int(close(creat(in_dir("go"), 0600)), 0);
	wait_until(access(mark("on", READY), F_OK) == 0);
	clock_advance(1000); /* the admin server, which waits with the reload, is left then */
	wait_until(access(mark("at", GO), F_OK) == 0);
	clock_advance(4000);
	clock_run(1);
	wait_until(edge_said("the upgrade has failed"));
	expect_status(client_read(c, "POST"), 200);
	client_close(c);
	expect_all_works("after");
}

SCENARIO("an upgrade that fails takes all sockets back, also when no descriptor is left")
{
	unsigned ports[6];
	char listen[6 * 32] = "";
	by_http_only();
	origin_says("*", .fields = FRESH, .body = "hello");
	for (int i = 0; i < 6; i++) {
		ports[i] = edge_reserve_port();
		snprintf(listen + strlen(listen), sizeof listen - strlen(listen),
			 "%s\"127.0.0.1:%u\"", i ? ", " : "", ports[i]);
	}
	edge_yaml(text("timeouts: { upgrade: 4s }\nlisten: [ %s ]\n", listen));
	clock_hold();
	start_by_link();
	store("/kept");
	become_no_heir(text("between-hang-%d", GO));
	edge_signal(SIGUSR2);
	wait_until(access(mark("at", GO), F_OK) == 0);
	edge_let_open(false);
	clock_advance(4000);
	clock_run(1);
	wait_until(edge_said("the upgrade has failed"));
	edge_let_open(true);
	for (int i = 0; i < 12; i++) { /* either worker's */
		struct client *c = client_open_to(ports[i / 2]);
		expect_hit(ask_by(c, "GET", "/kept"));
		client_close(c);
	}
	expect_all_works("after");
}

/* Messages of this kind are not held. */
static void
let_pass(int kind)
{
	expect_int(close(creat(mark("go", kind), 0600)), 0);
}

static pid_t
pid_between(void)
{
	int pid = 0;
	FILE *f = fopen(mark("pid", 0), "r");
	expect(f && fscanf(f, "%d", &pid) == 1 && fclose(f) == 0);
	return pid;
}

SCENARIO("an upgrade that fails takes the admin server back, also without descriptors")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_yaml(text("admin_socket: %s\n", in_dir("admin.sock")));
	start_by_link();
	store("/kept");
	become_no_heir("between");
	let_pass(HELLO);
	let_pass(OPEN);
	edge_signal(SIGUSR2);
	wait_until(access(mark("at", READY), F_OK) == 0);
	edge_let_open(false);
	let_pass(READY);
	wait_until(access(mark("at", GO), F_OK) == 0); /* nobody accepts */
	kill(pid_between(), SIGKILL);
	let_pass(GO);
	wait_until(edge_said("the upgrade has failed"));
	edge_let_open(true);
	expect_all_works("after");
	struct client *c = client_open_path(in_dir("admin.sock"));
	client_send(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
	expect_status(client_read(c, "GET"), 200);
	client_close(c);
}

/* A socket that listens at a port that edge_reserve_port has given. */
static int
listening_at(unsigned port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
	expect_int(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	expect_int(listen(fd, 1), 0);
	return fd;
}

SCENARIO("a new process that refuses in the end leaves the files of sockets to the old one")
{
	static const int steps[] = {HELLO, OPEN, GO};
	unsigned port = edge_reserve_port();
	char *settings = text("listen: [ \"127.0.0.1:0\", \"unix:%s\" ]\nadmin_socket: %s\n",
			      in_dir("web.sock"), in_dir("admin.sock"));
	by_http_only();
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_yaml(text("\nadmin: 127.0.0.1:0\n%s", settings));
	start_by_link();
	store("/kept");
	write_settings(text("admin: 127.0.0.1:%u\n%s", port, settings));
	become_no_heir("between");
	for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++)
		let_pass(steps[i]);
	edge_signal(SIGUSR2);
	wait_until(access(mark("at", READY), F_OK) == 0);
	int busy = listening_at(port);
	let_pass(READY);
	wait_until(access(mark("at", REFUSED), F_OK) == 0);
	wait_until(has_ended(pid_between())); /* the old one has heard nothing yet */
	expect_int(access(in_dir("admin.sock"), F_OK), 0);
	expect_int(access(in_dir("web.sock"), F_OK), 0);
	let_pass(REFUSED);
	wait_until(edge_said("cannot listen on admin address"));
	struct client *c = client_open_path(in_dir("web.sock"));
	expect_hit(ask_by(c, "GET", "/kept"));
	client_close(c);
	c = client_open_path(in_dir("admin.sock"));
	client_send(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
	expect_status(client_read(c, "GET"), 200);
	client_close(c);
	close(busy);
	edge_stop();
	expect_int(access(in_dir("web.sock"), F_OK), -1);
	expect_int(access(in_dir("admin.sock"), F_OK), -1);
}

/* The port that a socket with this inode listens at; 0: none. */
static unsigned
port_of_inode(unsigned long inode)
{
	char line[512];
	unsigned found = 0, port, state;
	unsigned long is;
	FILE *f = fopen(text("/proc/%d/net/tcp", (int)edge_pid()), "r");
	while (f && !found && fgets(line, sizeof line, f))
		if (sscanf(line, " %*d: %*x:%x %*x:%*x %x %*s %*s %*s %*d %*d %lu", &port, &state,
			   &is) == 3 &&
		    is == inode && state == 10)
			found = port;
	if (f)
		fclose(f);
	return found;
}

/* Whether a descriptor of the proxy is an epoll that waits for one socket of each port, and how many
 * listening sockets there are in it. */
static bool
waits_for_each(int fd, const unsigned *ports, unsigned n)
{
	char line[512];
	unsigned held[8] = {0}, all = 0;
	FILE *f = fopen(text("/proc/%d/fdinfo/%d", (int)edge_pid(), fd), "r");
	int of;
	while (f && fgets(line, sizeof line, f)) {
		char to[64] = "";
		unsigned long inode;
		if (sscanf(line, "tfd: %d", &of) != 1 ||
		    readlink(text("/proc/%d/fd/%d", (int)edge_pid(), of), to, sizeof to - 1) < 0 ||
		    sscanf(to, "socket:[%lu", &inode) != 1)
			continue;
		unsigned port = port_of_inode(inode);
		for (unsigned i = 0; i < n; i++) {
			held[i] += ports[i] == port;
			all += ports[i] == port;
		}
	}
	if (f)
		fclose(f);
	for (unsigned i = 0; i < n; i++)
		if (held[i] != 1)
			return false;
	return all == n;
}

static int
workers_with_each(const unsigned *ports, unsigned n)
{
	int count = 0;
	for (int fd = 3; fd < 200; fd++)
		count += waits_for_each(fd, ports, n);
	return count;
}

SCENARIO("after an upgrade that failed each worker has a socket of each entry again")
{
	unsigned ports[] = {edge_reserve_port(), edge_reserve_port()};
	by_http_only();
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_yaml(text("\nworkers: 2\nlisten: [ \"127.0.0.1:%u\", \"127.0.0.1:%u\" ]\n", ports[0],
		       ports[1]));
	start_by_link();
	wait_until(workers_with_each(ports, 2) == 2);
	become_no_heir(text("between-crash-%d", GO));
	edge_signal(SIGUSR2);
	wait_until(edge_said("the upgrade has failed"));
	wait_until(workers_with_each(ports, 2) == 2);
}

SCENARIO("what is purged while a new process hangs is durable when that is given up")
{
	char self[4096] = "";
	expect(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
	origin_says("*", .fields = FRESH, .body = "hello");
	/* A purge waits for 5 s. */
	edge_yaml("timeouts: { upgrade: 4s }\n");
	clock_hold();
	start_by_link();
	store("/kept");
	store("/x");
	store("/y");
	link_to(self);
	no_heir_does("open-hang");
	edge_signal(SIGUSR2);
	wait_until(access(mark("at", OPEN), F_OK) == 0);
	struct client *c = client_open_to(edge_admin_port());
	ask_to_purge(c, text("%s&%s", url_of("/x"), url_of("/y")));
	clock_advance(4000);
	wait_until(edge_said("the upgrade has failed"));
	struct answer a = client_read(c, "POST");
	expect_status(a, 200);
	expect_that(strstr(a.body, "\"durable\": true"), "%s", a.body);
	client_close(c);
	expect_miss(get("/y"));
	link_to(program_itself);
	edge_kill9();
	edge_restart();
	expect_miss(get("/x"));
	expect_hit(get("/kept"));
}

SCENARIO(
	"a purge that waits for a new process for long is said to be not durable, and the disk serves on")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_yaml("timeouts: { upgrade: 9s }\n");
	clock_hold();
	start_by_link();
	store("/kept");
	store("/x");
	origin_says("/x", .fields = "Cache-Control: no-store\r\n", .body = "hello");
	edge_restart(); /* nothing is in RAM */
	become_no_heir("open-hang");
	edge_signal(SIGUSR2);
	wait_until(access(mark("at", OPEN), F_OK) == 0);
	struct client *c = client_open_to(edge_admin_port());
	ask_to_purge(c, url_of("/x"));
	clock_advance(5000);
	struct answer a = client_read(c, "POST");
	expect_status(a, 503);
	expect_that(strstr(a.body, "a new process"), "%s", a.body);
	client_close(c);
	expect_hit(get("/kept"));
	expect_miss(get("/x"));
	clock_advance(4000);
	wait_until(edge_said("the upgrade has failed"));
	expect_purged(url_of("/later")); /* and with it what came before */
	link_to(program_itself);
	edge_kill9();
	edge_restart();
	expect_miss(get("/x"));
	expect_hit(get("/kept"));
}

SCENARIO("a bad configuration is refused by the new process, with its line")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_yaml("limits: { connections: 100 }\n");
	start_by_link();
	store("/kept");
	write_settings("\nlimts: { connections: 7 }\n");
	expect_not_upgraded("did you mean \"limits\"");
	expect_all_works("a");
}

/* By a script that sets the limit, which root cannot raise again then. */
static void
start_with_few_files(int n)
{
	char real[4096];
	expect(realpath(edge_binary(), real) != NULL);
	program_itself = text("%s", real);
	FILE *f = fopen(in_dir("few"), "w");
	fprintf(f, "#!/bin/sh\nulimit -n %d\nexec %s \"$@\"\n", n, real);
	fclose(f);
	expect_int(chmod(in_dir("few"), 0755), 0);
	setenv("TWICE", in_dir("few"), 1);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_CAPBSET_DROP, CAP_SYS_RESOURCE, 0, 0, 0);
	edge_start();
}

SCENARIO("where files run out a reserve is left for the admin server, a reload and an upgrade")
{
	enum { OPEN_MOST = 300, CLIENTS = 400 };
	struct barrier *go = barrier_new();
	struct client *waiting[CLIENTS];
	origin_says("/slow", .fields = FRESH, .body = "slow", .hold_head = go);
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_yaml("timeouts: { drain: 1s }\n");
	start_with_few_files(OPEN_MOST);
	expect(edge_said("limits.connections: 20000 connections cannot be kept where 300 files"));
	for (int i = 0; i < CLIENTS; i++) {
		waiting[i] = client_open();
		client_request(waiting[i], "GET", "/slow", NULL);
	}
	/* One whose request is not here yet gives way to the next, others are refused; the rest waits at the
	 * door. */
	wait_until(edge_stat("connections.refused") + edge_stat("connections.evicted") >= 20);
	expect(edge_stat("connections.open") > OPEN_MOST / 4);
	expect_int(
		program(edge_binary(), "reload", "--admin", text("127.0.0.1:%u", edge_admin_port()))
			.status,
		0);
	edge_becomes(upgraded(), 0);
	barrier_open(go);
	for (int i = 0; i < CLIENTS; i++)
		client_close(waiting[i]);
	/* Refused, or closed for another one, as long as the others are not noticed to be gone. */
	wait_until(try_ask("GET", "/after", NULL, NULL).status == 200);
}

SCENARIO("an upgrade changes nothing where a file cannot be read that a start would go on without")
{
	char *page = in_dir("page.html");
	FILE *f = fopen(page, "w");
	expect(f && fputs("a page", f) >= 0 && fclose(f) == 0);
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_yaml(text("routes: [ { path: /page, answer: { status: 200, file: %s } } ]\n", page));
	start_by_link();
	store("/kept");
	expect_int(unlink(page), 0);
	expect_not_upgraded("page.html");
	expect_answer(get("/page"), 200, "a page");
	expect_all_works("a");
}

SCENARIO("an upgrade needs no file that the new configuration does not name any more")
{
	char *page = in_dir("page.html");
	FILE *f = fopen(page, "w");
	expect(f && fputs("a page", f) >= 0 && fclose(f) == 0);
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_yaml(text("routes: [ { path: /page, answer: { status: 200, file: %s } } ]\n", page));
	start_by_link();
	expect_answer(get("/page"), 200, "a page");
	store("/kept");
	edge_rewrite("timeouts: { drain: 5s }\n");
	expect_int(unlink(page), 0);
	edge_becomes(upgraded(), 0);
	expect_answer(get("/page"), 200, "hello");
	expect_hit(get("/kept"));
}

SCENARIO("a process that is killed while the new one starts is followed all the same")
{
	unsigned port = edge_reserve_port();
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_yaml(text("listen: [ \"127.0.0.1:%u\" ]\n", port));
	start_by_link();
	store("/kept");
	edge_restart(); /* all is on disk */
	link_to_slow(program_itself);
	edge_signal(SIGUSR2);
	FILE *f;
	int pid = 0;
	wait_until((f = fopen(in_dir("pid"), "r")) != NULL && fscanf(f, "%d", &pid) == 1);
	pid_t old = edge_pid();
	expect_int(kill(old, SIGKILL), 0);
	edge_becomes(pid, -SIGKILL);
	expect_int(close(creat(in_dir("go"), 0600)), 0);
	wait_until(edge_times_said("listening on") == 3);
	link_to(program_itself);
	edge_stop();
	edge_restart();
	expect_hit(get("/kept"));
}

SCENARIO("a process that is killed after it was followed is not missed")
{
	origin_says("*", .fields = FRESH, .body = "hello");
	start_by_link();
	store("/kept");
	struct client *c = client_open();
	expect_hit(ask_by(c, "GET", "/kept"));
	pid_t fresh = upgraded();
	edge_signal(SIGKILL);
	edge_becomes(fresh, -SIGKILL);
	client_close(c);
	wait_until(edge_said("the process before this one has ended"));
	expect_all_works("a");
}

static pid_t
parent_of(pid_t pid)
{
	int parent = 0;
	char line[256];
	FILE *f = fopen(text("/proc/%d/status", (int)pid), "r");
	while (f && fgets(line, sizeof line, f))
		sscanf(line, "PPid: %d", &parent);
	if (f)
		fclose(f);
	expect(parent > 1);
	return parent;
}

SCENARIO("a new process that is killed right behind the upgrade loses no listener, and no client")
{
	struct barrier *go = barrier_new();
	by_http_only(); /* a client that nobody accepts speaks neither TLS nor HTTP/2 */
	by_h1_only();
	origin_says("/slow", .fields = FRESH, .body = "slow", .hold_head = go);
	origin_says("*", .fields = FRESH, .body = "hello");
	start_by_link();
	store("/kept");
	struct call *slow = call_get("/slow");
	origin_wait_requests(2);
	pid_t before = edge_pid(), fresh = upgraded();
	expect(fresh != before);
	struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, fresh, 0), .events = POLLIN};
	expect(end.fd >= 0 && kill(fresh, SIGKILL) == 0);
	/* It comes into the queue of a socket that nobody accepts from. */
	struct client *early = client_open();
	client_request(early, "GET", "/kept", NULL);
	/* On a busy machine it takes a while to die, and the old one ends with its last client while it lives. */
	wait_until(poll(&end, 1, 0) == 1);
	close(end.fd);
	barrier_open(go);
	call_expect(slow, 200, "slow");
	expect_answer(client_read(early, "GET"), 200, "hello");
	wait_until(edge_said("is started anew, at the same sockets"));
	expect_answer(get("/kept"), 200, "hello");
	expect(edge_alive() && edge_pid() == before);
}

SCENARIO(
	"a new process that is told to end right behind the upgrade ends, and nothing is started anew")
{
	struct barrier *go = barrier_new();
	origin_says("/slow", .fields = FRESH, .body = "slow", .hold_head = go);
	start_by_link();
	struct call *slow = call_get("/slow");
	origin_wait_requests(1);
	pid_t fresh = upgraded();
	expect(kill(fresh, SIGTERM) == 0);
	wait_until(edge_said("finishing open requests"));
	wait_until(has_ended(fresh));
	barrier_open(go);
	call_expect(slow, 200, "slow");
	expect_int(edge_wait_exit(), 0);
	expect(!edge_said("is started anew, at the same sockets"));
}

SCENARIO("a purge that waits for a new process that dies is answered at once, and nothing spins")
{
	enum { FORGET = 10 };
	by_h1_only(); /* by HTTP/2 a connection is told to end when another process serves */
	origin_says("*", .fields = FRESH, .body = "hello");
	edge_yaml(EDGE_CACHE("  purge_from: [ 127.0.0.1 ]\n"));
	start_by_link();
	store("/x");
	struct client *c = client_open();
	expect_hit(ask_by(c, "GET", "/x"));
	become_no_heir(text("between-hang-%d", FORGET));
	pid_t heir = upgraded(), between = parent_of(heir);
	client_request(c, "PURGE", "/x", NULL);
	wait_until(access(mark("at", FORGET), F_OK) == 0);
	double before_s = edge_cpu_s();
	link_to(program_itself);
	kill(between, SIGKILL); /* and with it the new one */
	expect_status(client_read(c, "PURGE"), 503);
	expect_that(edge_cpu_s() - before_s < 0.5, "it took %.1f s", edge_cpu_s() - before_s);
	client_close(c);
	/* Its own parent's socket is closed a moment before it becomes our child. */
	wait_until(waitpid(heir, NULL, WNOHANG) == heir);
	wait_until(edge_said("is started anew, at the same sockets"));
	expect_status(get("/x"), 200);
}

/* The signals that wake its first thread are not blocked any more. */
static bool
ends_at_once(pid_t pid)
{
	unsigned long long blocked = 0;
	char line[256];
	FILE *f = fopen(text("/proc/%d/status", (int)pid), "r");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "SigBlk: %llx", &blocked) == 1)
			break;
	if (f)
		fclose(f);
	return !(blocked >> (SIGTERM - 1) & 1);
}

SCENARIO("a process that was followed ends at the second signal, whoever still downloads")
{
	static char big[3000000];
	memset(big, 'x', sizeof big - 1);
	origin_says("/big", .fields = FRESH, .body = big);
	start_by_link();
	get("/big");
	get("/big");
	edge_wait_stat("disk.objects", 1);
	struct client *c = client_open_narrow();
	client_request(c, "GET", "/big", NULL);
	client_read_head(c);
	pid_t fresh = upgraded();
	edge_signal(SIGTERM);
	wait_until(ends_at_once(edge_pid()));
	expect(edge_alive());
	edge_signal(SIGTERM);
	edge_becomes(fresh, -SIGTERM);
	client_close(c);
	expect_hit(get("/big"));
}

static const char *
told(const char *state, int pid)
{
	return text(
		"{\"id\": 1, \"state\": \"%s\", \"reason\": \"\", \"pid\": %d, \"version\": \"%d.0\"}",
		state, pid, pid);
}

SCENARIO(
	"twice upgrade names the new process, though the old one may be the first to say that it is done")
{
	origin_says("/upgrade", .body = told("running", 1)); /* the origin is both of them */
	origin_says("/upgrade", .body = told("running", 1));
	origin_says("/upgrade", .body = told("done", 1));
	origin_says("/upgrade", .body = told("done", 2));
	struct output o =
		program(edge_binary(), "upgrade", "--admin", text("127.0.0.1:%u", origin_port()));
	expect_text(o.out, "process 2 (twice 2.0) has taken the place of process 1 (twice 1.0)\n");
	expect_int(o.status, 0);
	expect_int(origin_requests(), 4);
}
