/* process.c - /proc/self: read whole, one number at a time. */
#include "proxy/base/process.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILES_WANTED = 1 << 20 };

void
process_raise_file_limit(void)
{
	struct rlimit limit, wanted = {FILES_WANTED, FILES_WANTED};
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= FILES_WANTED)
		return;
	if (setrlimit(RLIMIT_NOFILE, &wanted) == 0) /* root may raise the hard limit too */
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

uint64_t
process_file_limit(void)
{
	struct rlimit limit;
	return getrlimit(RLIMIT_NOFILE, &limit) < 0 ? FILES_WANTED : limit.rlim_cur;
}

static int files_for_peers = INT_MAX;

void
process_reserve_files(uint64_t n)
{
	uint64_t all = process_file_limit();
	uint64_t left = all > 2 * n ? all - n : all - all / 2;
	files_for_peers = left < INT_MAX ? (int)left : INT_MAX;
}

int
process_files_for_peers(void)
{
	return files_for_peers;
}

static void
read_text(const char *path, char *out, size_t bytes)
{
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(out, 1, bytes - 1, f) : 0;
	out[n] = '\0';
	if (f)
		fclose(f);
}

/* The number behind a name at the beginning of a line. */
static uint64_t
number_behind(const char *text, const char *name)
{
	for (const char *at = text; (at = strstr(at, name)); at++)
		if (at == text || at[-1] == '\n')
			return strtoull(at + strlen(name), NULL, 10);
	return 0;
}

static double
seconds(clockid_t which)
{
	struct timespec t;
	clock_gettime(which, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Fields 14 (user), 15 (system), 20 (threads), 22 (start), 23 (virtual bytes) and 24 (resident
 * pages) of /proc/self/stat; the name of the program, field 2, ends with the last parenthesis. */
static void
read_stat(struct process_facts *out)
{
	char text[1024];
	unsigned long long user = 0, system = 0, threads = 0, start = 0, bytes = 0, pages = 0;
	read_text("/proc/self/stat", text, sizeof text);
	const char *behind = strrchr(text, ')');
	if (!behind ||
	    sscanf(behind + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %llu "
		   "%*d %llu %llu %llu",
		   &user, &system, &threads, &start, &bytes, &pages) != 6)
		return;
	double ticks = (double)sysconf(_SC_CLK_TCK);
	out->cpu_s = (double)(user + system) / ticks;
	out->start_s = seconds(CLOCK_REALTIME) - seconds(CLOCK_BOOTTIME) + (double)start / ticks;
	out->threads = threads;
	out->virtual_bytes = bytes;
	out->resident_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t
count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	uint64_t n = 0;
	if (!d)
		return 0;
	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	return n - 1; /* the directory's own */
}

void
process_read(struct process_facts *out)
{
	char text[1024];
	struct rlimit most;
	*out = (struct process_facts){0};
	read_stat(out);
	read_text("/proc/self/io", text, sizeof text);
	out->written_bytes = number_behind(text, "write_bytes: ");
	out->open_fds = count_fds();
	if (getrlimit(RLIMIT_NOFILE, &most) == 0)
		out->most_fds = most.rlim_cur;
}

void
process_close_sockets(void)
{
	struct stat st;
	DIR *d = opendir("/proc/self/fd");
	for (struct dirent *e; d && (e = readdir(d));) {
		int fd = e->d_name[0] == '.' ? -1 : (int)strtol(e->d_name, NULL, 10);
		if (fd >= 0 && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode))
			close(fd);
	}
	if (d)
		closedir(d);
}
