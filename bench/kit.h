/* kit.h - what every measurement says first: the machine, the commit, the command. */
#ifndef BENCH_KIT_H
#define BENCH_KIT_H

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static inline double
bench_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The first line of a command's output that has the word in it, from behind the colon. */
static inline void
bench_say(const char *label, const char *command)
{
	char line[256] = "unknown\n";
	FILE *f = popen(command, "r");
	if (f && !fgets(line, sizeof(line), f))
		strcpy(line, "unknown\n");
	if (f)
		pclose(f);
	printf("# %s %s", label, line);
}

static inline void
bench_head(int argc, char **argv)
{
	bench_say("machine:", "sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1");
	printf("# cores:   %ld\n", sysconf(_SC_NPROCESSORS_ONLN));
	bench_say("commit: ", "git describe --always --dirty 2>/dev/null");
	printf("# command:");
	for (int i = 0; i < argc; i++)
		printf(" %s", argv[i]);
	printf("\n\n");
}

#endif
