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
	if (times != 1)
		clock_run(1);
	return times;
}

void
clock_goes_on(int64_t times)
{
	if (times >= 0)
		begin_era(times, 0);
}

char
clock_thread_state(int pid, int tid, uint64_t *slept)
{
	static const char STATE[] = "State:", SLEPT[] = "voluntary_ctxt_switches:";
	char line[512], path[64], state = 'X';
	snprintf(path, sizeof path, "/proc/%d/task/%d/status", pid, tid);
	FILE *f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, STATE, sizeof STATE - 1) == 0)
			state = line[sizeof STATE]; /* behind a tab */
		else if (strncmp(line, SLEPT, sizeof SLEPT - 1) == 0)
			*slept += strtoull(line + sizeof SLEPT - 1, NULL, 10);
	if (f)
		fclose(f);
	return state;
}

/* Until when it waits; CLOCK_AT_WORK: not until any time. */
static int64_t
waits_until(int tid)
{
	uint32_t n = atomic_load(&page->waiters);
	for (uint32_t i = n < CLOCK_WAITERS ? n : CLOCK_WAITERS; i > 0; i--)
		if (atomic_load(&page->waiter[i - 1].tid) == tid)
			return atomic_load(&page->waiter[i - 1].until_ns);
	return CLOCK_AT_WORK;
}

/* It waits, and not for a time that has come; or it has ended, or is stopped. In the kernel's words: it
 * sleeps ('S') only while nothing that it waits for is there. A frozen one does not, it is in 'D'. */
static bool
is_at_rest(int pid, int tid, int64_t now_ns, uint64_t *slept)
{
	uint64_t n = 0;
	int64_t until = waits_until(tid);
	char state = clock_thread_state(pid, tid, &n);
	if (strchr("ZXTt", state))
		return true;
	if (state != 'S' || (until != CLOCK_AT_WORK && until <= now_ns) ||
	    waits_until(tid) != until)
		return false;
	*slept += n;
	return true;
}

/* Returns how often its threads have gone to sleep. */
static uint64_t
settle_process(int pid, int64_t now_ns)
{
	uint64_t slept = 0;
	DIR *d = opendir(text("/proc/%d/task", pid));
	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] != '.')
			wait_until(is_at_rest(pid, atoi(e->d_name), now_ns, &slept));
	if (d)
		closedir(d);
	return slept;
}

/* Each process once that ever waited. */
static uint64_t
settle_each(int64_t now_ns)
{
	uint64_t slept = 0;
	int seen[64], seen_n = 0;
	uint32_t n = atomic_load(&page->waiters);
	for (uint32_t i = 0; i < n && i < CLOCK_WAITERS; i++) {
		int pid = page->waiter[i].pid, k = 0;
		while (k < seen_n && seen[k] != pid)
			k++;
		if (k < seen_n || k == 64)
			continue;
		seen[seen_n++] = pid;
		slept += settle_process(pid, now_ns);
	}
	return slept;
}

/* Threads are looked at one after another, and one that sleeps may do so until another that is looked at later
 * gives it a lock or work: all are at rest when nobody has gone to sleep since the last look at all. */
static void
settle(int64_t now_ns)
{
	uint64_t slept = settle_each(now_ns), before;
	do {
		before = slept;
		slept = settle_each(now_ns);
	} while (slept != before);
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
