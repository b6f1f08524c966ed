/* `twice demo`: its address first, a line that fits the terminal, a report however it ends. */
#include "tests/kit/inside.h"

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

SCENARIO("says where it is before it plays, and reports at the end")
{
	struct output o = program(edge_binary(), "demo", "--requests", "2000", "--exit");
	expect_that(o.status == 0, "exit %d: %s", o.status, o.err);
	const char *address = strstr(o.out, "The proxy is at http://127.0.0.1:");
	const char *playing = strstr(o.out, "Playing 2000 requests");
	expect_that(address && playing && address < playing, "%s", o.out);
	expect_that(strstr(o.out, "wrong bodies                        0   of 2,000 answers"), "%s",
		    o.out);
	if (access("/dev/shm", W_OK) == 0)
		expect_that(strstr(o.out, "The same requests once more") && strstr(o.out, "bound"),
			    "no simulation: %s", o.out);
}

SCENARIO("few requests are a demo too, and of a flag that is said twice the last one counts")
{
	struct output o = program(edge_binary(), "demo", "--requests", "100", "--workers", "2",
				  "--workers", "3", "--sightings", "3", "--workers", "1",
				  "--sightings", "1", "--sightings", "2", "--exit");
	expect_that(o.status == 0 && strstr(o.out, "Playing 100 requests"), "exit %d: %s%s",
		    o.status, o.out, o.err);
}

/* Reads what a demo says on a terminal, until it has said the words. */
static char *
said_on_terminal(int fd, struct heap *said, const char *words)
{
	for (;;) {
		char some[4096];
		struct pollfd p = {.fd = fd, .events = POLLIN};
		if (said->p && strstr(said->p, words)) /* perhaps with what was read before */
			return strstr(said->p, words);
		ssize_t n = poll(&p, 1, KIT_FOREVER) > 0 ? read(fd, some, sizeof some) : 0;
		if (n < 0)
			break; /* the other side has ended */
		heap_add(said, some, (size_t)n);
	}
	fail("the demo did not say \"%s\": %s", words, said->p ? said->p : "");
}

static pid_t
demo_on_terminal(int columns, const char *requests, int *fd)
{
	struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
	pid_t pid = forkpty(fd, NULL, NULL, &size);
	if (pid == 0) {
		execl(edge_binary(), edge_binary(), "demo", "--requests", requests, NULL);
		_exit(127);
	}
	return pid;
}

/* The longest that was written to one line of the terminal before it was written over. */
static int
widest_progress(const char *said)
{
	int widest = 0, n = 0;
	bool bar = false;
	for (const char *p = said; *p; p++) {
		if (*p == '\r' || *p == '\n') {
			widest = bar && n > widest ? n : widest;
			n = 0;
			bar = false;
		} else if (*p == '\033') {
			p += strcspn(p, "KJH");
		} else {
			bar |= n == 0 && *p == '[';
			n++;
		}
	}
	return widest;
}

SCENARIO("on a narrow terminal the bar stays in its line; Ctrl-C prints the report so far")
{
	int fd;
	struct heap said = {0};
	pid_t pid = demo_on_terminal(50, "300000", &fd);
	said_on_terminal(fd, &said, "hits ");
	for (int i = 0; i < 3; i++) { /* three more of them */
		struct heap more = {0};
		said_on_terminal(fd, &more, "\r");
		heap_add(&said, more.p, more.n);
	}
	expect_int(kill(pid, SIGINT), 0);
	said_on_terminal(fd, &said, "Stopped after");
	said_on_terminal(fd, &said, "Where to look next");
	expect_that(strstr(said.p, "an ordinary cache writes"), "no report: %s", said.p);
	expect_int(kit_reap(pid, KIT_FOREVER), 0);
	expect_between(widest_progress(said.p), 30, 49);
}

SCENARIO("at the end it stays, with a trickle of traffic, until Ctrl-C")
{
	int fd;
	struct heap said = {0};
	pid_t pid = demo_on_terminal(100, "2000", &fd);
	char *stats = said_on_terminal(fd, &said, "/stats\r\n");
	char *colon = stats;
	while (*colon != ':')
		colon--;
	unsigned admin = (unsigned)atoi(colon + 1);
	for (double total = 0; total < 2005;) { /* the mix has 2000; the rest is the trickle */
		struct client *c = client_open_to(admin);
		client_send(c, "GET /stats HTTP/1.1\r\nHost: localhost\r\n\r\n");
		const char *at = strstr(client_read(c, "GET").body, "\"total\":");
		total = at ? atof(at + 8) : 0;
		client_close(c);
		kit_pause();
	}
	expect_int(kill(pid, SIGINT), 0);
	expect_int(kit_reap(pid, KIT_FOREVER), 0);
	close(fd);
}

#define SMALL " demo --requests 200 --exit --workers 1 --connections 2"

SCENARIO("a demo that may open too few files says how many it needs")
{
	static const int limits[] = {16, 40, 100};
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		struct output o =
			program("sh", "-c",
				text("ulimit -n %d && exec %s" SMALL, limits[i], edge_binary()));
		expect_int(o.status, 1);
		expect_that(strstr(o.err, "raise the limit"), "ulimit -n %d: %s", limits[i], o.err);
	}
}

SCENARIO(
	"a demo that can start too few threads says so, wherever it is, and waits for none of them")
{
	needs("setpriv");
	needs("prlimit");
	if (geteuid() != 0)
		skip("the limit of processes is that of a user of its own: this takes root");
	chmod(kit_dir(), 0777);
	int n = 1, status = 1;
	for (; n < 60 && status; n++) { /* by a user that nobody else is */
		struct output o = program(
			"sh", "-c",
			text("TMPDIR=%s exec setpriv --reuid=%d --regid=65534 --clear-groups prlimit "
			     "--nproc=%d %s" SMALL,
			     kit_dir(), 600000 + (int)getpid(), n, edge_binary()));
		status = o.status;
		expect_that(status == 0 || (status == 1 && strstr(o.err, "thread")),
			    "%d threads: %d, %s", n, status, o.err);
	}
	expect_that(status == 0 && n > 10, "it ran with %d threads", n);
}
