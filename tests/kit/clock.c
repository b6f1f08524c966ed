/* clock.c - the test's side of the clock: writes its eras, and sees that the proxies came along. */
#include "tests/kit/inside.h"

#include "tests/kit/clock_page.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

static struct clock_page *_Atomic page; /* NULL: there is no clock of the test's */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_too_late; /* a proxy lives by the machine's clock */

void
clock_begin_proxy(void)
{
	is_too_late |= !page;
}

/* The library lies beside the folder of the scenario's own program. */
static char *
library(void)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n < 0)
		fail("/proc/self/exe: %s", strerror(errno));
	self[n] = '\0';
	for (int up = 0; up < 2; up++)
		*strrchr(self, '/') = '\0';
	char *path = text("%s/kit/clock.so", self);
	if (access(path, R_OK) < 0)
		fail("there is no %s: make scenario builds it", path);
	return path;
}

static char *
page_path(void)
{
	return text("%s/clock", kit_dir());
}

bool
clock_is_lent(const char **preload, const char **shared)
{
	if (!page)
		return false;
	const char *before = getenv("LD_PRELOAD");
	*preload = before && *before ? text("LD_PRELOAD=%s:%s", library(), before)
				     : text("LD_PRELOAD=%s", library());
	*shared = text("KIT_CLOCK=%s", page_path());
	return true;
}

static void
make_page(void)
{
	if (is_too_late)
		fail("the clock is asked for before the first proxy starts");
	int fd = open(page_path(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0 || fchmod(fd, 0666) || ftruncate(fd, sizeof *page))
		fail("cannot make %s: %s", page_path(), strerror(errno));
	struct clock_page *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		fail("cannot map %s: %s", page_path(), strerror(errno));
	close(fd);
	int64_t now = clock_machine_ns(CLOCK_MONOTONIC);
	p->real_ahead_ns = clock_machine_ns(CLOCK_REALTIME) - now;
	p->boot_ahead_ns = clock_machine_ns(CLOCK_BOOTTIME) - now;
	p->era[0] = (struct clock_era){.machine_ns = now, .own_ns = now, .times = 1};
	page = p;
}

/* How long until a second of CLOCK_REALTIME begins. */
static int64_t
to_whole_second(const struct clock_era *e)
{
	int64_t in_second = (e->own_ns + page->real_ahead_ns) % 1000000000;
	return e->times && in_second ? 1000000000 - in_second : 0;
}

/* From now on, and that much later than it is. times: -1 as before. */
static int64_t
begin_era(int64_t times, int64_t later_ns)
{
	pthread_mutex_lock(&lock);
	if (!page)
		make_page();
	struct clock_era e = clock_era(page);
	e.own_ns = clock_own_ns(&e) + later_ns;
	e.machine_ns = clock_machine_ns(CLOCK_MONOTONIC);
	if (times == 0)
		e.own_ns += to_whole_second(&e);
	e.times = times < 0 ? e.times : times;
	page->era[(atomic_load(&page->eras) + 1) % CLOCK_ERAS] = e;
	atomic_fetch_add(&page->eras, 1);
	pthread_mutex_unlock(&lock);
	return e.own_ns;
}

void
clock_hold(void)
{
	begin_era(0, 0);
}

void
clock_run(unsigned times)
{
	begin_era(times, 0);
}

int64_t
clock_lets_end(void)
{
	if (!page)
		return -1;
	int64_t times = clock_era(page).times;
	if (!times)
		clock_run(1);
	return times;
}

void
clock_goes_on(int64_t times)
{
	if (times >= 0)
		begin_era(times, 0);
}

/* ---- rest ---------------------------------------------------------------------------------- */

/* A thread that sleeps, and what it was at: nobody slept and woke between two looks that agree. */
struct sleeper {
	int64_t tid, sleeps, until_ns;
};

struct look {
	struct sleeper *all;
	size_t n, most;
};

static const struct clock_waiter *
row_of(int64_t tid)
{
	uint32_t n = atomic_load(&page->waiters);
	for (uint32_t i = n < CLOCK_WAITERS ? n : CLOCK_WAITERS; i > 0; i--)
		if (atomic_load(&page->waiter[i - 1].tid) == tid)
			return &page->waiter[i - 1];
	return NULL;
}

/* Its state in the kernel's letters, 'X' when it is gone, and how often it has left the processor. */
static char
state_of(int pid, int64_t tid, int64_t *leaves)
{
	char line[128], path[64], state = 'X';
	long long n;
	snprintf(path, sizeof path, "/proc/%d/task/%lld/status", pid, (long long)tid);
	FILE *f = fopen(path, "r");
	*leaves = 0;
	while (f && fgets(line, sizeof line, f)) {
		sscanf(line, "State: %c", &state);
		if (sscanf(line, "voluntary_ctxt_switches: %lld", &n) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %lld", &n) == 1)
			*leaves += n;
	}
	if (f)
		fclose(f);
	return state;
}

/* It waits, and not for a time that has come; or it has ended, or is stopped. In the kernel's words: it
 * sleeps ('S') only while nothing that it waits for is there. A frozen one does not, it is in 'D', and so is
 * one that waits for a disk, which is rest only when the test has the disk hang. One that waits with a limit
 * leaves the processor for each slice of its wait, which is no news. */
static bool
is_at_rest(int pid, struct sleeper *s, int64_t now_ns)
{
	const struct clock_waiter *w = row_of(s->tid);
	s->until_ns = w ? atomic_load(&w->until_ns) : CLOCK_AT_WORK;
	char state = state_of(pid, s->tid, &s->sleeps);
	if (s->until_ns != CLOCK_AT_WORK)
		s->sleeps = atomic_load(&w->waits);
	if (strchr("ZXTt", state))
		return true;
	if (state == 'D')
		return disk_one_hangs();
	return state == 'S' && (s->until_ns == CLOCK_AT_WORK || s->until_ns > now_ns);
}

/* The thread that is at work; 0: all rest. */
static int64_t
look_at_process(struct look *l, int pid, int64_t now_ns)
{
	int64_t at_work = 0, self = syscall(SYS_gettid);
	DIR *d = opendir(text("/proc/%d/task", pid));
	for (struct dirent *e; !at_work && d && (e = readdir(d));) {
		struct sleeper s = {.tid = atoi(e->d_name)};
		if (e->d_name[0] == '.' || s.tid == self)
			continue;
		at_work = is_at_rest(pid, &s, now_ns) ? 0 : s.tid;
		if (l->n == l->most && !(l->all = realloc(l->all, (l->most += 64) * sizeof s)))
			abort();
		l->all[l->n++] = s;
	}
	if (d)
		closedir(d);
	return at_work;
}

/* At each process once that ever waited, and at the test's own: clients and the origin. */
static int64_t
look_at_all(struct look *l, int64_t now_ns)
{
	int seen[64] = {getpid()}, seen_n = 1;
	uint32_t n = atomic_load(&page->waiters);
	l->n = 0;
	int64_t at_work = look_at_process(l, seen[0], now_ns);
	for (uint32_t i = 0; i < n && i < CLOCK_WAITERS && !at_work; i++) {
		int pid = page->waiter[i].pid, k = 0;
		while (k < seen_n && seen[k] != pid)
			k++;
		if (k < seen_n || k == 64)
			continue;
		seen[seen_n++] = pid;
		at_work = look_at_process(l, pid, now_ns);
	}
	return at_work;
}

static bool
agree(const struct look *a, const struct look *b)
{
	return a->n == b->n && memcmp(a->all, b->all, a->n * sizeof *a->all) == 0;
}

/* Looks twice: who slept at the first look may have been woken by one who worked then, and sleeps now. */
static void
settle(int64_t now_ns)
{
	struct look first = {0}, next = {0};
	struct kit_wait w = kit_wait_begin(NULL, 0, "all threads to rest; the one at work");
	for (int64_t at_work; (at_work = look_at_all(&first, now_ns)) ||
			      (at_work = look_at_all(&next, now_ns)) || !agree(&first, &next);) {
		kit_wait_is_at(&w, (double)at_work);
		kit_pause_since(w.begun_ms);
	}
	kit_wait_end(&w);
	free(first.all);
	free(next.all);
}

void
clock_advance(int64_t ms)
{
	clock_settle();
	settle(begin_era(-1, ms * 1000000));
}

static int64_t
own_ns(void)
{
	struct clock_era e;
	if (!page)
		return clock_machine_ns(CLOCK_MONOTONIC);
	e = clock_era(page);
	return clock_own_ns(&e);
}

int64_t
clock_ms(void)
{
	return own_ns() / 1000000;
}

int64_t
clock_s(void)
{
	int64_t ns = page ? own_ns() + page->real_ahead_ns : clock_machine_ns(CLOCK_REALTIME);
	return ns / 1000000000;
}

void
clock_settle(void)
{
	if (!page)
		fail("there is no clock of the test's");
	settle(own_ns());
}
