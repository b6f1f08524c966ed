/* kit.c - runs scenarios, each in a process of its own, and tells how they went. */
#include "filter/mix.h"
#include "tests/kit/inside.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_PASSED = 0, EXIT_FAILED = 1, EXIT_SKIPPED = 77, EXIT_VOID = 78, NOT_ENDED = -1000 };

static struct scenario {
	const char *says, *file;
	int seconds, line;
	void (*run)(void);
} scenarios[512];
static int scenario_count;

static char dir[256];
static int report_fd = 2; /* of the scenario's process: what the runner prints below its line */

void
kit_add(const char *says, int seconds, const char *file, int line, void (*run)(void))
{
	if (scenario_count == (int)(sizeof scenarios / sizeof *scenarios))
		abort();
	scenarios[scenario_count++] = (struct scenario){says, file, seconds, line, run};
}

/* ---- memory and text ------------------------------------------------------------------------ */

void *
kit_alloc(size_t n)
{
	void *p = calloc(1, n ? n : 1);
	if (!p) {
		fprintf(stderr, "kit: no memory for %zu bytes\n", n);
		_exit(EXIT_FAILED);
	}
	return p;
}

char *
kit_dup(const char *p, size_t n)
{
	char *s = kit_alloc(n + 1);
	memcpy(s, p, n);
	return s;
}

void
heap_add(struct heap *h, const char *p, size_t n)
{
	if (h->n + n + 1 > h->cap) {
		h->cap = (h->n + n + 1) * 2;
		h->p = realloc(h->p, h->cap);
		if (!h->p)
			abort();
	}
	if (n)
		memcpy(h->p + h->n, p, n);
	h->n += n;
	h->p[h->n] = 0;
}

void
heap_text(struct heap *h, const char *format, ...)
{
	char *s;
	va_list ap;
	va_start(ap, format);
	int n = vasprintf(&s, format, ap);
	va_end(ap);
	if (n < 0)
		abort();
	heap_add(h, s, (size_t)n);
	free(s);
}

char *
text(const char *format, ...)
{
	char *s;
	va_list ap;
	va_start(ap, format);
	if (vasprintf(&s, format, ap) < 0)
		abort();
	va_end(ap);
	return s;
}

char *
head_field(const char *head, const char *name, int *lines)
{
	struct heap v = {0};
	size_t n = strlen(name);
	*lines = 0;
	for (const char *l = strstr(head, "\r\n"); l && l[2] && l[2] != '\r';
	     l = strstr(l + 2, "\r\n")) {
		const char *p = l + 2, *end = strstr(p, "\r\n");
		if (!end || strncasecmp(p, name, n) != 0 || p[n] != ':')
			continue;
		for (p += n + 1; p < end && (*p == ' ' || *p == '\t'); p++)
			;
		while (end > p && (end[-1] == ' ' || end[-1] == '\t'))
			end--;
		if ((*lines)++)
			heap_add(&v, ", ", 2);
		heap_add(&v, p, (size_t)(end - p));
	}
	return *lines ? v.p : NULL;
}

/* Eight bytes from their position alone (splitmix64), so any slice is checkable. */
static uint64_t
pattern_word(uint64_t seed, uint64_t number)
{
	return htole64(mix_bits(seed * MIX_GOLDEN + number));
}

void
pattern_fill(char *p, size_t n, uint64_t seed, uint64_t at)
{
	for (size_t part; n; n -= part, at += part, p += part) {
		uint64_t word = pattern_word(seed, at / 8);
		size_t from = at % 8;
		part = n < 8 - from ? n : 8 - from;
		if (part == 8)
			memcpy(p, &word, 8);
		else
			memcpy(p, (char *)&word + from, part);
	}
}

char *
pattern(uint64_t seed, size_t n)
{
	char *p = kit_alloc(n + 1);
	pattern_fill(p, n, seed, 0);
	return p;
}

bool
is_pattern(const void *p, uint64_t seed, uint64_t at, size_t n)
{
	char want[4096];
	const char *got = p;
	for (size_t part; n; n -= part, at += part, got += part) {
		part = n < sizeof want ? n : sizeof want;
		pattern_fill(want, part, seed, at);
		if (memcmp(got, want, part) != 0)
			return false;
	}
	return true;
}

/* ---- failing -------------------------------------------------------------------------------- */

static void
report_line(const char *line)
{
	dprintf(report_fd, "       %s\n", line);
}

static void
report_lines(const char *s)
{
	while (*s) {
		const char *end = strchrnul(s, '\n');
		char *line = kit_dup(s, (size_t)(end - s));
		report_line(line);
		free(line);
		s = *end ? end + 1 : end;
	}
}

_Noreturn void
kit_fail(const char *file, int line, const char *says, ...)
{
	static atomic_flag failing = ATOMIC_FLAG_INIT;
	if (atomic_flag_test_and_set(&failing)) /* another thread is telling already */
		for (;;)
			pause();
	struct heap h = {0};
	va_list ap;
	va_start(ap, says);
	char *s;
	if (vasprintf(&s, says, ap) < 0)
		abort();
	va_end(ap);
	heap_text(&h, "%s:%d: %s", file, line, s);
	report_lines(h.p);
	origin_on_fail(report_line);
	edge_on_fail(report_line);
	bool hung = edge_disk_hung();
	disk_on_fail();
	edge_abandon();
	_exit(hung ? EXIT_VOID : EXIT_FAILED);
}

_Noreturn void
skip(const char *why, ...)
{
	char *s;
	va_list ap;
	va_start(ap, why);
	if (vasprintf(&s, why, ap) < 0)
		abort();
	va_end(ap);
	report_lines(s);
	disk_on_fail();
	edge_abandon();
	_exit(EXIT_SKIPPED);
}

void
note(const char *says, ...)
{
	char *s;
	va_list ap;
	va_start(ap, says);
	if (vasprintf(&s, says, ap) < 0)
		abort();
	va_end(ap);
	report_lines(s);
	free(s);
}

void
kit_expect_int(const char *file, int line, const char *what, long long got, long long want)
{
	if (got != want)
		kit_fail(file, line, "expected %s to be %lld, it is %lld", what, want, got);
}

void
kit_expect_between(const char *file, int line, const char *what, double got, double low,
		   double high)
{
	if (got < low || got > high)
		kit_fail(file, line, "expected %s between %.17g and %.17g, it is %.17g", what, low,
			 high, got);
}

void
kit_expect_text(const char *file, int line, const char *what, const char *got, const char *want)
{
	if (!got != !want || (got && strcmp(got, want) != 0))
		kit_fail(file, line, "expected %s to be\n  \"%.1500s\"\nit is\n  \"%.1500s\"", what,
			 want ? want : "(nothing)", got ? got : "(nothing)");
}

/* ---- waiting -------------------------------------------------------------------------------- */

struct barrier {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	bool open;
	int standing;
};

struct barrier *
barrier_new(void)
{
	struct barrier *b = kit_alloc(sizeof *b);
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->moved, NULL);
	return b;
}

void
barrier_open(struct barrier *b)
{
	pthread_mutex_lock(&b->lock);
	b->open = true;
	pthread_cond_broadcast(&b->moved);
	pthread_mutex_unlock(&b->lock);
}

void
barrier_pass(struct barrier *b)
{
	pthread_mutex_lock(&b->lock);
	b->standing++;
	pthread_cond_broadcast(&b->moved);
	while (!b->open)
		pthread_cond_wait(&b->moved, &b->lock);
	pthread_mutex_unlock(&b->lock);
}

void
barrier_arrivals(struct barrier *b, int n)
{
	pthread_mutex_lock(&b->lock);
	struct kit_wait w = kit_wait_begin(NULL, 0, "others at a barrier");
	kit_wait_goes_on(&w);
	while (b->standing < n)
		pthread_cond_wait(&b->moved, &b->lock);
	kit_wait_end(&w);
	pthread_mutex_unlock(&b->lock);
}

int64_t
kit_now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t
kit_seconds_since(int64_t begun_ms)
{
	return (kit_now_ms() - begun_ms) / 1000 + 1; /* one may have been about to end */
}

void
kit_pause(void)
{
	poll(NULL, 0, 2);
}

void
kit_pause_since(int64_t begun_ms)
{
	int64_t share = (kit_now_ms() - begun_ms) / 8;
	poll(NULL, 0, share < 2 ? 2 : share < 100 ? (int)share : 100);
}

static _Thread_local struct {
	const char *file, *word;
	int line;
} last_word;
static struct kit_wait *waits;
static pthread_mutex_t waits_lock = PTHREAD_MUTEX_INITIALIZER;

void
kit_at(const char *file, int line, const char *word)
{
	last_word.file = file;
	last_word.line = line;
	last_word.word = word;
}

void
kit_place(const char **file, int *line, const char **word)
{
	*file = last_word.file;
	*line = last_word.line;
	*word = last_word.word;
}

struct kit_wait
kit_wait_begin(const char *file, int line, const char *what)
{
	return (struct kit_wait){
		.file = file, .line = line, .what = what, .begun_ms = kit_now_ms()};
}

void
kit_wait_goes_on(struct kit_wait *w)
{
	if (w->is_listed)
		return;
	w->is_listed = true;
	if (!w->file) {
		w->file = last_word.file;
		w->line = last_word.line;
		w->word = last_word.word;
	}
	pthread_mutex_lock(&waits_lock);
	w->from = &waits;
	w->next = waits;
	if (waits)
		waits->from = &w->next;
	waits = w;
	pthread_mutex_unlock(&waits_lock);
}

void
kit_wait_is_at(struct kit_wait *w, double now)
{
	kit_wait_goes_on(w);
	pthread_mutex_lock(&waits_lock);
	snprintf(w->now, sizeof w->now, "%g", now);
	pthread_mutex_unlock(&waits_lock);
}

void
kit_wait_end(struct kit_wait *w)
{
	if (!w->is_listed)
		return;
	pthread_mutex_lock(&waits_lock);
	*w->from = w->next;
	if (w->next)
		w->next->from = w->from;
	pthread_mutex_unlock(&waits_lock);
}

/* Tells what the scenario's threads wait for; threads of the kit that no word began wait for work. */
static void
report_waits(void)
{
	pthread_mutex_lock(&waits_lock);
	for (const struct kit_wait *w = waits; w; w = w->next)
		if (w->file)
			report_line(text("%s:%d: waits for %lld ms: %s%s%s%s%s", w->file, w->line,
					 (long long)(kit_now_ms() - w->begun_ms),
					 w->word ? w->word : "", w->word ? " for " : "", w->what,
					 *w->now ? ", it is " : "", w->now));
	pthread_mutex_unlock(&waits_lock);
}

/* ---- programs ------------------------------------------------------------------------------- */

/* The next process is handed these over, as a supervisor does it (sd_listen_fds(3)). */
static struct {
	const int *fds;
	unsigned n;
	const char *names;
} handed;

void
kit_hand_over(const int *fds, unsigned n, const char *names)
{
	handed.fds = fds;
	handed.n = n;
	handed.names = names;
}

static char listen_pid[32] = "LISTEN_PID="; /* the child's, who writes it itself */

/* The environment of the next process. In the parent: other threads of it may hold locks as it forks,
 * which nobody in the child would ever give back. */
static char **
environment(bool is_proxy)
{
	size_t n = 0, k = 0;
	const char *preload, *clock;
	bool clocked = is_proxy && clock_is_lent(&preload, &clock);
	if (!handed.n && !clocked)
		return environ;
	while (environ[n])
		n++;
	char **all = kit_alloc((n + 6) * sizeof *all);
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], "LISTEN_", 7) != 0 &&
		    (!clocked || strncmp(environ[i], "LD_PRELOAD=", 11) != 0))
			all[k++] = environ[i];
	if (clocked) {
		all[k++] = (char *)(uintptr_t)preload;
		all[k++] = (char *)(uintptr_t)clock;
	}
	if (handed.n) {
		all[k++] = listen_pid;
		all[k++] = text("LISTEN_FDS=%u", handed.n);
		all[k++] = text("LISTEN_FDNAMES=%s", handed.names);
	}
	all[k] = NULL;
	return all;
}

enum { HANDED_MOST = 16 };

/* In the child: standard input, output and error, and behind them what is handed over. All are copied
 * beyond that first, so that none is overwritten before its turn. */
static void
place(const int fds[3])
{
	int copies[3 + HANDED_MOST];
	unsigned n = 3 + handed.n;
	if (handed.n > HANDED_MOST)
		_exit(127);
	for (unsigned i = 0; i < n; i++) {
		int fd = i >= 3	       ? handed.fds[i - 3]
			 : fds[i] >= 0 ? fds[i]
				       : open("/dev/null", O_RDWR);
		if ((copies[i] = fcntl(fd, F_DUPFD, (int)n)) < 0)
			_exit(127);
	}
	for (unsigned i = 0; i < n; i++)
		if (dup2(copies[i], (int)i) < 0)
			_exit(127);
}

/* In the child: who it is, for whom descriptors are handed over. */
static void
say_pid(void)
{
	char digits[16];
	unsigned n = 0, pid = (unsigned)getpid();
	for (; pid; pid /= 10)
		digits[n++] = (char)('0' + pid % 10);
	for (unsigned i = 0; i < n; i++)
		listen_pid[sizeof "LISTEN_PID=" - 1 + i] = digits[n - 1 - i];
	listen_pid[sizeof "LISTEN_PID=" - 1 + n] = '\0';
}

static bool is_traced; /* the child asks for a stop at its first instruction */

static pid_t
spawn(const char *const *argv, const int fds[3], char **with)
{
	pid_t parent = getpid(), pid = fork();
	if (pid < 0)
		kit_fail(__FILE__, __LINE__, "fork: %s", strerror(errno));
	if (pid > 0)
		return pid;
	environ = with;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	place(fds);
	if (handed.n)
		say_pid();
	syscall(SYS_close_range, 3 + handed.n, ~0u, 0);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (is_traced) {
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	}
	execvp(argv[0], (char *const *)(uintptr_t)argv);
	dprintf(2, "cannot start %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

pid_t
kit_spawn(const char *const *argv, const int fds[3])
{
	return spawn(argv, fds, environment(false));
}

pid_t
kit_spawn_proxy(const char *const *argv, const int fds[3])
{
	clock_begin_proxy();
	return spawn(argv, fds, environment(true));
}

pid_t
kit_spawn_stopped(const char *const *argv, const int fds[3])
{
	siginfo_t how;
	is_traced = true;
	pid_t pid = kit_spawn_proxy(argv, fds);
	is_traced = false;
	/* The new program is loaded, and has not run. What ended instead is for kit_reap. */
	if (waitid(P_PID, (id_t)pid, &how, WSTOPPED | WEXITED | WNOWAIT) == 0 &&
	    how.si_code == CLD_TRAPPED)
		ptrace(PTRACE_DETACH, pid, NULL, SIGSTOP);
	return pid;
}

int
kit_reap(pid_t pid, int64_t ms)
{
	int status, fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int r;
	if (fd < 0)
		note("pidfd_open of %d: %s", (int)pid, strerror(errno));
	struct kit_wait w = kit_wait_begin(NULL, 0, "the end of a process");
	kit_wait_goes_on(&w);
	while ((r = poll(&p, 1, (int)ms)) < 0 && errno == EINTR)
		;
	kit_wait_end(&w);
	close(fd);
	if (r == 0)
		return NOT_ENDED;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return NOT_ENDED;
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

void
kit_stand_still(pid_t pid)
{
	int status;
	if (kill(pid, SIGSTOP) < 0)
		fail("kill: %s", strerror(errno));
	while (waitpid(pid, &status, WUNTRACED) < 0)
		if (errno != EINTR)
			fail("waitpid: %s", strerror(errno));
	if (!WIFSTOPPED(status))
		fail("the process ended instead of standing still");
}

struct output
run_program(const char *const *argv)
{
	int out[2], err[2];
	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
		fail("pipe: %s", strerror(errno));
	pid_t pid = kit_spawn(argv, (const int[]){-1, out[1], err[1]});
	close(out[1]);
	close(err[1]);
	struct heap h[2] = {{0}};
	heap_add(&h[0], "", 0);
	heap_add(&h[1], "", 0);
	struct pollfd p[2] = {{.fd = out[0], .events = POLLIN}, {.fd = err[0], .events = POLLIN}};
	while (p[0].fd >= 0 || p[1].fd >= 0) {
		poll(p, 2, -1);
		for (int i = 0; i < 2; i++) {
			char buf[65536];
			if (p[i].fd < 0 || !p[i].revents)
				continue;
			ssize_t n = read(p[i].fd, buf, sizeof buf);
			if (n > 0) {
				heap_add(&h[i], buf, (size_t)n);
			} else {
				close(p[i].fd);
				p[i].fd = -1;
			}
		}
	}
	return (struct output){kit_reap(pid, -1), h[0].p, h[1].p, h[0].n};
}

uint64_t
kit_not_taken(unsigned port)
{
	char line[512];
	unsigned at, waiting;
	uint64_t n = 0;
	FILE *f = fopen("/proc/net/tcp", "re");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%*d: %*8x:%4x %*8x:%*4x %*2x %8x:", &at, &waiting) == 2 &&
		    at == port)
			n += waiting;
	if (f)
		fclose(f);
	return n;
}

int
kit_connects_in_vain(const char *address, unsigned port)
{
	enum { SYN_SENT = 2 };
	char line[512];
	unsigned to, to_port, state;
	int n = 0;
	FILE *f = fopen("/proc/net/tcp", "r");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%*d: %*8x:%*4x %8x:%4x %2x", &to, &to_port, &state) == 3)
			n += to == inet_addr(address) && to_port == port && state == SYN_SENT;
	if (f)
		fclose(f);
	return n;
}

void
needs(const char *program)
{
	char *path = strdup(getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin"), *save;
	for (char *d = strtok_r(path, ":", &save); d; d = strtok_r(NULL, ":", &save))
		if (access(text("%s/%s", d, program), X_OK) == 0)
			return;
	skip("needs %s, which is not installed", program);
}

bool
kit_long(void)
{
	const char *l = getenv("TWICE_LONG");
	return l && *l && strcmp(l, "0") != 0;
}

const char *
kit_dir(void)
{
	return dir;
}

/* ---- the runner ------------------------------------------------------------------------------ */

static int
remove_one(const char *path, const struct stat *st, int what, struct FTW *f)
{
	(void)st, (void)what, (void)f;
	return remove(path);
}

/* The runner sends SIGALRM when the scenario has taken too long: it tells what it waits for. On a thread
 * of its own, for a handler may not take locks. */
static void *
guard(void *ctx)
{
	const struct scenario *s = ctx;
	sigset_t alarms;
	int sig;
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	sigwait(&alarms, &sig);
	report_waits();
	edge_on_hang();
	kit_fail(s->file, s->line, "it hangs: it did not end in its time");
}

static void
begin_guard(struct scenario *s)
{
	pthread_t t;
	sigset_t alarms;
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarms, NULL);
	if (pthread_create(&t, NULL, guard, s) != 0)
		fail("no thread");
}

static void
in_child(struct scenario *s, int report)
{
	report_fd = report;
	begin_guard(s);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	s->run();
	edge_on_end();
	origin_on_end();
	_exit(EXIT_PASSED);
}

static double
time_factor(void)
{
	const char *f = getenv("KIT_TIME");
	double x = f ? atof(f) : 1;
	return x > 0 ? x : 1;
}

enum { PASSED, FAILED, SKIPPED, VOID };
static const char *const results[] = {"ok", "FAIL", "skip", "void"};

static int
result_of(int status)
{
	switch (status) {
	case EXIT_PASSED:
		return PASSED;
	case EXIT_SKIPPED:
		return SKIPPED;
	case EXIT_VOID:
		return VOID;
	default:
		return FAILED;
	}
}

static int
run_once(struct scenario *s)
{
	const char *tmp = getenv("TMPDIR");
	snprintf(dir, sizeof dir, "%s/twice-test.XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(dir)) {
		perror(dir);
		return FAILED;
	}
	char report_name[300];
	snprintf(report_name, sizeof report_name, "%s/report", dir);
	int report = open(report_name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	fflush(stdout);
	int64_t start = kit_now_ms();
	pid_t pid = fork();
	if (pid == 0)
		in_child(s, report);
	int64_t limit = (int64_t)(s->seconds * 1000 * time_factor());
	int status = kit_reap(pid, limit);
	if (status == NOT_ENDED) {
		kill(pid, SIGALRM);
		status = kit_reap(pid, 5000);
		if (status == NOT_ENDED) {
			kill(pid, SIGKILL);
			status = kit_reap(pid, -1);
		}
	}
	int result = result_of(status);
	printf("%-4s  %s (%lld ms)\n", results[result], s->says, (long long)(kit_now_ms() - start));
	if (result == FAILED || result == VOID)
		printf("       %s:%d\n", s->file, s->line);
	if (status < 0)
		printf("       ended by signal %d (%s)\n", -status, strsignal(-status));
	char buf[4096];
	ssize_t n;
	lseek(report, 0, SEEK_SET);
	while ((n = read(report, buf, sizeof buf)) > 0)
		fwrite(buf, 1, (size_t)n, stdout);
	close(report);
	if (getenv("KIT_KEEP"))
		printf("       kept: %s\n", dir);
	else
		nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	fflush(stdout);
	return result;
}

/* A scenario that this machine's disk spoils says nothing of the program: it is run again. */
static int
run_one(struct scenario *s)
{
	int result = run_once(s);
	for (int more = 2; result == VOID && more; more--) {
		printf("       the disk hung (see above): once more\n");
		result = run_once(s);
	}
	return result == VOID ? FAILED : result;
}

int
main(void)
{
	int count[3] = {0};
	const char *only = getenv("KIT_ONLY"), *name = scenario_count ? scenarios[0].file : "?";
	for (int i = 0; i < scenario_count; i++)
		if (!only || strstr(scenarios[i].says, only))
			count[run_one(&scenarios[i])]++;
	printf("%s: %d passed, %d failed, %d skipped\n", name, count[0], count[1], count[2]);
	return count[1] ? EXIT_FAILURE : EXIT_SUCCESS;
}
