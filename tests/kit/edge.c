/* edge.c - starts, watches and ends the real proxy. */
#include "tests/kit/inside.h"
#include "tests/kit/tls_inside.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FLAGS_MAX = 2 * EDGE_FLAGS };

/* The stderr of one start, and of those that followed it by an upgrade. */
struct words {
	int fd;
	struct heap said;
	bool ended;
	pthread_t reader;
};

static struct {
	pthread_mutex_t lock;
	pid_t pid; /* 0: not running */
	unsigned port, admin_port, h2_port;
	bool is_tls;
	char *flags[FLAGS_MAX];
	char *yaml;
	struct heap err;     /* stderr of all starts, in the order it came */
	struct words *words; /* of pid, or of the last process */
	int starts;
	bool is_coming_up, waits_for_disk; /* it did not come up for that */
	const int *handed;
	unsigned handed_n;
	const char *handed_names;
} edge = {.lock = PTHREAD_MUTEX_INITIALIZER};

char *
edge_binary(void)
{
	const char *b = getenv("TWICE");
	/* A link stays one: what it leads to may change while the proxy runs. */
	bool whole = b && *b == '/';
	char *path = whole ? strdup(b) : realpath(b ? b : "build/twice", NULL);
	if (!path || access(path, X_OK) < 0)
		fail("there is no %s: make it, or set TWICE", b ? b : "build/twice");
	return path;
}

static char *
replaced(const char *s, const char *what, const char *by)
{
	struct heap h = {0};
	heap_add(&h, "", 0);
	for (const char *at; (at = strstr(s, what)); s = at + strlen(what)) {
		heap_add(&h, s, (size_t)(at - s));
		heap_add(&h, by, strlen(by));
	}
	heap_add(&h, s, strlen(s));
	return h.p;
}

char *
edge_yaml_of(const char *yaml)
{
	return replaced(replaced(yaml, "%O", origin_url()), "%D", kit_dir());
}

void
edge_yaml(const char *yaml)
{
	edge.yaml = edge_yaml_of(yaml);
}

const char *
edge_cache_dir(void)
{
	return text("%s/cache", kit_dir());
}

/* ---- the command line ------------------------------------------------------------------------ */

static bool
given(const char *const *flags, const char *name)
{
	for (int i = 1; flags[i]; i++)
		if (strcmp(flags[i], name) == 0)
			return true;
	return false;
}

static bool
in_yaml(const char *line)
{
	return edge.yaml &&
	       (strncmp(edge.yaml, line + 1, strlen(line + 1)) == 0 || strstr(edge.yaml, line));
}

/* Settings that KIT_TLS needs besides those of the scenario. */
static const char *
with_tls(const char *yaml)
{
	return text("%s\ntls:\n  certificates: [ %s ]\n  strict_host: off\n%s", yaml,
		    kit_tls_certificate(), by_kernel() ? "  kernel: auto\n" : "");
}

static bool
says_own_tls(void)
{
	return in_yaml("\nlisten:") || in_yaml("\ntls:");
}

/* The default filter is 25 MB that each start and each end goes through: under ThreadSanitizer that was two
 * thirds of what a scenario costs. Lines keep their numbers, but those below a block of admission. */
static const char *
with_small_filter(const char *yaml)
{
	const char *whole = text("\n%s", yaml), *more = whole;
	if (strstr(yaml, "capacity:"))
		return yaml;
	more = replaced(more, "\nadmission:\n", "\nadmission:\n  capacity: 200k\n");
	more = replaced(more, "\nadmission: {", "\nadmission: { capacity: 200k,");
	return strcmp(more, whole) != 0 ? more + 1
					: text("%s\nadmission: { capacity: 200k }\n", yaml);
}

static void
write_settings(void)
{
	const char *yaml = edge.yaml ? edge.yaml : "", *path = text("%s/twice.yaml", kit_dir());
	if (edge.is_tls && !says_own_tls())
		yaml = with_tls(yaml);
	FILE *f = fopen(path, "w");
	if (!f || fputs(with_small_filter(yaml), f) < 0 || fclose(f) != 0)
		fail("cannot write %s", path);
}

void
edge_rewrite(const char *yaml)
{
	edge_yaml(yaml);
	write_settings();
}

static void
compose(const char *const *flags)
{
	int n = 0;
	edge.is_tls = kit_tls() && !given(flags, "--listen") && !says_own_tls();
	write_settings();
	edge.flags[n++] = edge_binary();
	edge.flags[n++] = strdup("run");
	edge.flags[n++] = strdup("-c");
	edge.flags[n++] = text("%s/twice.yaml", kit_dir());
	const struct {
		const char *flag, *yaml, *value;
	} usual[] = {
		{"--listen", "\nlisten:", edge.is_tls ? "https://127.0.0.1:0" : "127.0.0.1:0"},
		{"--admin", "\nadmin:", "127.0.0.1:0"},
		{"--origin", "\norigins:", origin_url()},
		{"--cache", "\n  dir:", edge_cache_dir()},
		{"--disk", "\n  disk:", "64MiB"},
		{"--memory", "\n  memory:", "8MiB"},
		{"--workers", "\nworkers:", "2"},
	};
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
		if (given(flags, usual[i].flag) || in_yaml(usual[i].yaml))
			continue;
		edge.flags[n++] = strdup(usual[i].flag);
		edge.flags[n++] = strdup(usual[i].value);
	}
	/* Scenarios name hosts of their own; that of the origin would be the same for all. */
	if (!given(flags, "--origin") && !given(flags, "--host") && !in_yaml("\norigins:")) {
		edge.flags[n++] = strdup("--host");
		edge.flags[n++] = strdup("client");
	}
	if (h2_is_asked_for() && !given(flags, "--listen") && !in_yaml("\nlisten:")) {
		edge.flags[n++] = strdup("--listen");
		edge.flags[n++] = strdup("h2c://127.0.0.1:0");
	}
	for (int i = 1; flags[i] && n < FLAGS_MAX - 1; i++)
		edge.flags[n++] = strdup(flags[i]);
	edge.flags[n] = NULL;
}

/* ---- its voice ------------------------------------------------------------------------------- */

/* Takes what the process wrote until now out of the pipe, with the lock held: the thread below does it, and so
 * does whoever asks, so that a line is there which was written before something that a test saw. False: it
 * was the end. */
static bool
hear(struct words *w)
{
	char buf[4096];
	ssize_t n;
	while ((n = read(w->fd, buf, sizeof buf)) > 0 || (n < 0 && errno == EINTR)) {
		if (n < 0)
			continue;
		heap_add(&edge.err, buf, (size_t)n);
		heap_add(&w->said, buf, (size_t)n);
	}
	return n < 0 && errno == EAGAIN;
}

static void *
read_stderr(void *ctx)
{
	struct words *w = ctx;
	struct pollfd p = {.fd = w->fd, .events = POLLIN};
	while (!w->ended) { /* which it alone sets */
		poll(&p, 1, -1);
		pthread_mutex_lock(&edge.lock);
		w->ended = !hear(w);
		if (w->ended)
			close(w->fd);
		pthread_mutex_unlock(&edge.lock);
	}
	return NULL;
}

static char *
copy_of(const struct heap *h)
{
	pthread_mutex_lock(&edge.lock);
	if (edge.words && !edge.words->ended)
		hear(edge.words);
	char *s = kit_dup(h->p ? h->p : "", h->n);
	pthread_mutex_unlock(&edge.lock);
	return s;
}

char *
edge_stderr(void)
{
	return copy_of(&edge.err);
}

char *
edge_stdout(void)
{
	struct heap h = {0};
	heap_add(&h, "", 0);
	FILE *f = fopen(text("%s/stdout", kit_dir()), "r");
	char buf[4096];
	size_t n;
	while (f && (n = fread(buf, 1, sizeof buf, f)) > 0)
		heap_add(&h, buf, n);
	if (f)
		fclose(f);
	return h.p;
}

int
edge_times_said(const char *words)
{
	int n = 0;
	for (const char *p = edge_stderr(); (p = strstr(p, words)); p++)
		n++;
	return n;
}

void
edge_let_open(bool any)
{
	struct rlimit limit;
	rlim_t next = 0;
	while (access(text("/proc/%d/fd/%u", (int)edge_pid(), (unsigned)next), F_OK) == 0)
		next++;
	expect(prlimit(edge_pid(), RLIMIT_NOFILE, NULL, &limit) == 0);
	limit.rlim_cur = any ? limit.rlim_max : next;
	expect(prlimit(edge_pid(), RLIMIT_NOFILE, &limit, NULL) == 0);
}

bool
edge_said(const char *words)
{
	return strstr(edge_stderr(), words) != NULL;
}

/* The port of the line "listening on 127.0.0.1:PORT"; 0: not said yet. */
static unsigned
said_port(const char *line)
{
	const char *p = strstr(copy_of(&edge.words->said), line);
	if (!p)
		return 0;
	p += strlen(line);
	const char *end = strpbrk(p, "\r\n");
	if (!end)
		return 0;
	while (end > p && end[-1] != ':')
		end--;
	return (unsigned)strtoul(end, NULL, 10);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* With KIT_ATTACH the proxy waits for a debugger, which tests/kit/attach.sh starts. */
static pid_t
start_process(const int fds[3])
{
	const char *const *argv = (const char *const *)edge.flags;
	if (!getenv("KIT_ATTACH"))
		return kit_spawn_proxy(argv, fds);
	pid_t pid = kit_spawn_stopped(argv, fds);
	fprintf(stderr, "the proxy waits for a debugger: gdb -p %d\n", (int)pid);
	return pid;
}

static void
launch(void)
{
	int err[2];
	if (pipe2(err, O_CLOEXEC) < 0)
		fail("pipe: %s", strerror(errno));
	int out =
		open(text("%s/stdout", kit_dir()), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	struct words *w = kit_alloc(sizeof *w);
	kit_hand_over(edge.handed, edge.handed_n, edge.handed_names);
	edge.pid = start_process((const int[]){-1, out, err[1]});
	kit_hand_over(NULL, 0, NULL);
	edge.starts++;
	close(err[1]);
	close(out);
	w->fd = err[0];
	fcntl(w->fd, F_SETFL, O_NONBLOCK);
	edge.words = w;
	if (pthread_create(&w->reader, NULL, read_stderr, w) != 0)
		fail("no thread");
}

static bool
err_ended(void)
{
	pthread_mutex_lock(&edge.lock);
	bool e = edge.words->ended;
	pthread_mutex_unlock(&edge.lock);
	return e;
}

/* Lines that say "listening on" and are whole. */
static int
listeners_said(void)
{
	static const char line[] = "listening on ";
	int n = 0;
	for (const char *p = copy_of(&edge.words->said); (p = strstr(p, line)); p += sizeof line)
		n += strchr(p, '\n') != NULL;
	return n;
}

/* How many there will be: of the flags, else those in quotes behind listen: of the YAML. */
static int
listeners_due(void)
{
	int n = 0, quotes = 0;
	for (int i = 0; edge.flags[i]; i++)
		n += strcmp(edge.flags[i], "--listen") == 0;
	const char *p = !n && in_yaml("\nlisten:") ? strstr(edge.yaml, "listen:") : NULL;
	for (; p && *p && *p != '\n'; p++)
		quotes += *p == '"';
	return n ? n : quotes > 2 ? quotes / 2 : 1;
}

/* A line of a file of one of the proxy's threads. */
static const char *
thread_says(const char *thread, const char *file)
{
	char line[128] = "";
	FILE *f = fopen(text("/proc/%d/task/%s/%s", (int)edge.pid, thread, file), "r");
	if (f && fgets(line, sizeof line, f))
		line[strcspn(line, "\n")] = '\0';
	if (f)
		fclose(f);
	return text("%s", line);
}

/* Notes what its threads are at: of one that does not begin or end. */
static void
note_threads(void)
{
	DIR *d = opendir(text("/proc/%d/task", (int)edge.pid));
	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] != '.')
			note("thread %s: waits in %s, stack %s", thread_says(e->d_name, "stat"),
			     thread_says(e->d_name, "wchan"), thread_says(e->d_name, "stack"));
	if (d)
		closedir(d);
}

static bool
has_thread_in_state(char state)
{
	bool yes = false;
	DIR *d = opendir(text("/proc/%d/task", (int)edge.pid));
	for (struct dirent *e; d && !yes && (e = readdir(d));) {
		const char *behind_name = strrchr(thread_says(e->d_name, "stat"), ')');
		yes = behind_name && behind_name[1] && behind_name[2] == state;
	}
	if (d)
		closedir(d);
	return yes;
}

/* Looked at for a second: in a sleep that nothing interrupts each time, as who waits for a device is. */
static bool
waits_for_disk(void)
{
	int looks = 20;
	for (; looks && has_thread_in_state('D'); looks--)
		poll(NULL, 0, 50);
	return !looks;
}

/* False: it ended. */
static bool
comes_up(void)
{
	launch();
	struct kit_wait w =
		kit_wait_begin(NULL, 0, "the proxy to say \"listening on\" and \"admin on\"");
	kit_wait_goes_on(&w);
	edge.is_coming_up = true;
	for (bool up = false;; kit_pause()) {
		edge.port = said_port("listening on ");
		edge.admin_port = said_port("admin on ");
		if (edge.port && edge.admin_port && listeners_said() >= listeners_due()) {
			edge.h2_port = said_port("listening on h2c://");
			up = true;
		}
		if (!up && !err_ended())
			continue;
		edge.is_coming_up = false;
		kit_wait_end(&w);
		return up;
	}
}

void
edge_on_hang(void)
{
	if (!edge.pid)
		return;
	note_threads();
	edge.waits_for_disk = edge.is_coming_up && waits_for_disk();
}

void
edge_inherits(const int *fds, unsigned n, const char *names)
{
	edge.handed = fds;
	edge.handed_n = n;
	edge.handed_names = names;
}

static void
start(void)
{
	if (!comes_up())
		fail("the proxy ended at its start: status %d", edge_wait_exit());
}

int
edge_refuses_or_runs(char **says)
{
	compose((const char *const[EDGE_FLAGS]){""});
	if (comes_up())
		return 0;
	int status = edge_wait_exit();
	*says = copy_of(&edge.words->said);
	return status;
}

void
edge_start_flags(const char *const *flags)
{
	if (edge.pid)
		fail("a proxy runs already");
	compose(flags);
	start();
}

int
edge_refuses_flags(char **says, const char *const *flags)
{
	pid_t running = edge.pid;
	struct words *its_words = edge.words;
	compose(flags);
	launch();
	int status = edge_wait_exit();
	*says = copy_of(&edge.words->said);
	edge.pid = running;
	edge.words = its_words;
	return status;
}

void
edge_restart(void)
{
	if (edge.pid)
		edge_stop();
	start();
}

void
edge_becomes(pid_t pid, int ends)
{
	int64_t times = clock_lets_end();
	int status = kit_reap(edge.pid, KIT_FOREVER);
	clock_goes_on(times);
	edge.pid = pid;
	if (status != ends)
		fail("the process before ended with %d", status);
}

int
edge_wait_exit(void)
{
	int64_t times = clock_lets_end();
	int status = kit_reap(edge.pid, KIT_FOREVER);
	clock_goes_on(times);
	pthread_join(edge.words->reader, NULL);
	edge.pid = 0;
	return status;
}

void
edge_signal(int sig)
{
	if (edge.pid && kill(edge.pid, sig) < 0)
		fail("kill: %s", strerror(errno));
}

void
edge_pause(void)
{
	kit_stand_still(edge.pid);
}

void
edge_resume(void)
{
	edge_signal(SIGCONT);
}

void
edge_stop(void)
{
	if (!edge.pid)
		fail("no proxy runs");
	edge_signal(SIGTERM);
	int status = edge_wait_exit();
	if (status != 0)
		fail("the proxy was asked to stop and ended with %d", status);
}

void
edge_kill9(void)
{
	edge_signal(SIGKILL);
	edge_wait_exit();
}

bool
edge_alive(void)
{
	return edge.pid && !err_ended();
}

unsigned
edge_port(void)
{
	return edge.port;
}

bool
edge_is_tls(void)
{
	return edge.is_tls;
}

unsigned
edge_h2_port(void)
{
	return edge.h2_port;
}

unsigned
edge_admin_port(void)
{
	return edge.admin_port;
}

pid_t
edge_pid(void)
{
	return edge.pid;
}

void
edge_on_fail(void (*line)(const char *))
{
	if (!edge.starts)
		return;
	if (edge.pid && err_ended()) {
		int status = kit_reap(edge.pid, 1000);
		line(text("-- the proxy has ended: %d", status));
		edge.pid = 0;
	}
	char *s = edge_stderr(), *save;
	size_t n = strlen(s);
	line("-- the proxy's stderr:");
	for (char *l = strtok_r(n > 8000 ? s + n - 8000 : s, "\n", &save); l;
	     l = strtok_r(NULL, "\n", &save))
		line(text("  %s", l));
	edge_beside_on_fail(line);
}

static bool
said_that_disk_hangs(void)
{
	static const char words[] = "a write to its purge log has taken ";
	for (const char *p = edge_stderr(); (p = strstr(p, words));)
		if (strtod(p += sizeof words - 1, NULL) >= 1)
			return true;
	return false;
}

bool
edge_disk_hung(void)
{
	if (edge.waits_for_disk)
		return true;
	/* Its words may be on their way. */
	for (int tries = 100; edge.starts && tries; tries--, kit_pause())
		if (said_that_disk_hangs())
			return true;
	return false;
}

void
edge_on_end(void)
{
	if (edge.pid)
		edge_stop();
	edge_beside_on_end();
}

/* In a subreaper, whoever followed the process under test is a child when that is gone. */
static void
end_successors(void)
{
	int pid = 1;
	while (pid > 0) {
		FILE *f = fopen(text("/proc/self/task/%d/children", (int)getpid()), "r");
		if (!f || fscanf(f, "%d", &pid) != 1)
			pid = 0;
		if (f)
			fclose(f);
		if (pid > 0 && (kill(pid, SIGKILL) < 0 || waitpid(pid, NULL, 0) < 0))
			return;
	}
}

void
edge_abandon(void)
{
	int subreaper = 0;
	if (edge.pid)
		kill(edge.pid, SIGKILL);
	if (prctl(PR_GET_CHILD_SUBREAPER, &subreaper) == 0 && subreaper)
		end_successors();
}

/* ---- its numbers ----------------------------------------------------------------------------- */

static char *
admin_get(const char *path)
{
	struct client *c = client_open_to(edge.admin_port);
	client_send(c,
		    text("GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path));
	struct answer a = client_try(c, "GET");
	client_close(c);
	return a.status == 200 && !a.fault ? a.body : NULL;
}

struct answer
edge_purge(const char *query)
{
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, text("POST /purge?%s HTTP/1.1\r\nHost: localhost\r\n"
			    "Content-Length: 0\r\nConnection: close\r\n\r\n",
			    query));
	return client_read(c, "POST");
}

double
edge_stat(const char *path)
{
	char *body = admin_get("/stats");
	if (!body)
		fail("GET /stats was not answered");
	json_error_t e;
	json_t *root = json_loads(body, 0, &e), *v = root;
	if (!root)
		fail("/stats is not JSON: %s\n%s", e.text, body);
	char *copy = strdup(path), *save;
	for (char *part = strtok_r(copy, ".", &save); part; part = strtok_r(NULL, ".", &save))
		v = json_is_array(v) ? json_array_get(v, (size_t)atoi(part))
				     : json_object_get(v, part);
	if (!json_is_number(v))
		fail("/stats has no number %s:\n%s", path, body);
	double x = json_number_value(v);
	json_decref(root);
	return x;
}

static bool
has_slept_since(int thread, uint64_t before)
{
	uint64_t n = 0;
	char state = clock_thread_state(edge.pid, thread, &n);
	return !strchr("RD", state) || n != before;
}

/* A request is counted at the beginning of a turn of its worker, which may stand still in it for a while. Each
 * worker has ended its turn when it sleeps, or has slept since. */
static void
await_turns(void)
{
	DIR *d = opendir(text("/proc/%d/task", (int)edge.pid));
	for (struct dirent *e; d && (e = readdir(d));) {
		if (strcmp(thread_says(e->d_name, "comm"), "worker") != 0)
			continue;
		uint64_t before = 0;
		clock_thread_state(edge.pid, atoi(e->d_name), &before);
		wait_until(has_slept_since(atoi(e->d_name), before));
	}
	if (d)
		closedir(d);
}

void
edge_wait_stat(const char *path, double value)
{
	double last;
	char what[128];
	if (value <= 0)
		fail("%s is always at least %g: this waits for nothing", path, value);
	snprintf(what, sizeof what, "%s to be at least %g", path, value);
	struct kit_wait w = kit_wait_begin(NULL, 0, what);
	for (; (last = edge_stat(path)) < value; kit_pause_since(w.begun_ms))
		kit_wait_is_at(&w, last);
	kit_wait_end(&w);
	if (strcmp(path, "requests.total") == 0)
		await_turns();
}

bool
stat_is_gauge(const char *path)
{
	static const char *const gauges[] = {
		"connections.open",	 "disk.objects", "disk.pending_bytes",
		"disk.used_bytes",	 "flights.",	 "http2.connections",
		"origin.active_fetches", "ram.objects",	 "tunnels.open"};
	for (size_t i = 0; i < sizeof gauges / sizeof *gauges; i++) {
		size_t n = strlen(gauges[i]);
		if (gauges[i][n - 1] == '.' ? strncmp(path, gauges[i], n) == 0
					    : strcmp(path, gauges[i]) == 0)
			return true;
	}
	return strstr(path, ".generation.") != NULL;
}

void
edge_expect_stat(const char *path, double value)
{
	double last;
	char what[128];
	snprintf(what, sizeof what, "%s to be %g", path, value);
	struct kit_wait w = kit_wait_begin(NULL, 0, what);
	for (; (last = edge_stat(path)) != value; kit_pause_since(w.begun_ms)) {
		if (last > value && !stat_is_gauge(path))
			fail("expected %s to be %g, it is %g", path, value, last);
		kit_wait_is_at(&w, last);
	}
	kit_wait_end(&w);
}

/* A request is counted when its head is understood, and on a miss it joins, or is asked for, in the same turn. */
void
edge_wait_requests(int n)
{
	edge_wait_stat("requests.total", n);
}

static uint64_t
proc_number(const char *file, const char *line)
{
	FILE *f = fopen(text("/proc/%d/%s", (int)edge.pid, file), "r");
	char buf[256];
	unsigned long long n = 0;
	while (f && fgets(buf, sizeof buf, f))
		if (strncmp(buf, line, strlen(line)) == 0)
			n = strtoull(buf + strlen(line), NULL, 10);
	if (f)
		fclose(f);
	return n;
}

uint64_t
edge_rss_bytes(void)
{
	return proc_number("status", "VmRSS:") * 1024;
}

uint64_t
edge_peak_bytes(void)
{
	return proc_number("status", "VmHWM:") * 1024;
}

uint64_t
edge_written_os(void)
{
	return proc_number("io", "write_bytes:");
}

double
edge_cpu_s(void)
{
	FILE *f = fopen(text("/proc/%d/stat", (int)edge.pid), "r");
	unsigned long user = 0, sys = 0;
	if (!f || fscanf(f, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
			 &sys) != 2)
		user = sys = 0;
	if (f)
		fclose(f);
	return (double)(user + sys) / (double)sysconf(_SC_CLK_TCK);
}

static bool
binary_has(const char *symbol)
{
	int fd = open(edge_binary(), O_RDONLY | O_CLOEXEC);
	struct stat st;
	bool found = false;
	if (fd < 0 || fstat(fd, &st) < 0)
		fail("cannot read %s", edge_binary());
	char *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p != MAP_FAILED) {
		found = memmem(p, (size_t)st.st_size, symbol, strlen(symbol));
		munmap(p, (size_t)st.st_size);
	}
	close(fd);
	return found;
}

bool
edge_is_thread_sanitized(void)
{
	return binary_has("__tsan_init");
}

bool
edge_is_sanitized(void)
{
	return binary_has("__asan_init") || edge_is_thread_sanitized();
}

static _Thread_local uint64_t usage;

static int
add_usage(const char *path, const struct stat *st, int what, struct FTW *f)
{
	(void)path, (void)f;
	if (what == FTW_F)
		usage += (uint64_t)st->st_blocks * 512;
	return 0;
}

uint64_t
edge_disk_usage(void)
{
	usage = 0;
	nftw(edge_cache_dir(), add_usage, 16, FTW_PHYS);
	return usage;
}
