/* inside.h - what the kit's files tell each other; not for scenarios. */
#ifndef KIT_INSIDE_H
#define KIT_INSIDE_H

#include "tests/kit/kit.h"

#include <sys/types.h>

/* Bytes that grow; NUL behind them. */
struct heap {
	char *p;
	size_t n, cap;
};
void heap_add(struct heap *h, const char *p, size_t n);
void heap_text(struct heap *h, const char *format, ...) __attribute__((format(printf, 2, 3)));

void *kit_alloc(size_t n); /* zeroed; ends the process when there is none */
char *kit_dup(const char *p, size_t n);

/* Starts argv in a process that does not outlive this one. fds: its stdin, stdout, stderr (-1:
 * /dev/null). */
pid_t kit_spawn(const char *const *argv, const int fds[3]);
/* The same for a proxy: by the test's clock, if there is one. */
pid_t kit_spawn_proxy(const char *const *argv, const int fds[3]);
/* And it stops before its first instruction until a debugger or SIGCONT lets it go on. */
pid_t kit_spawn_stopped(const char *const *argv, const int fds[3]);
/* Processes started from here on inherit fds from descriptor 3 on, n: 0 for nothing; borrowed. */
void kit_hand_over(const int *fds, unsigned n, const char *names);
/* Its exit status or -signal; -1000 when it has not ended after ms (-1: no limit). */
int kit_reap(pid_t pid, int64_t ms);

/* SIGSTOP to a child; all its threads stand still when this returns: on a busy machine they go on until one has heard it. */
void kit_stand_still(pid_t pid);

/* The word that this thread said last, for a thread that it begins. */
void kit_place(const char **file, int *line, const char **word);

void edge_on_hang(void);      /* tells what its threads are at */
void clock_begin_proxy(void); /* one is about to start */
/* A proxy that is asked to stop needs time to end: the clock runs as fast as the machine's
 * from here on. How fast it was; -1: there is none. */
int64_t clock_lets_end(void);
void clock_goes_on(int64_t times);
/* The environment that a proxy needs to live by the test's clock; false: there is none. */
bool clock_is_lent(const char **preload, const char **shared);

/* Of a thread: 'R', 'S', ...; 'X' when it is gone. Adds to *slept how often it has gone to sleep. */
char clock_thread_state(int pid, int tid, uint64_t *slept);

/* A number of /stats that may come down again; all others only grow. */
bool stat_is_gauge(const char *path);

void edge_on_fail(void (*line)(const char *)); /* hands over what helps to understand */
/* It said that the disk has kept a write to the purge log for a second or more, or it did not come up
 * because it waits for the disk. */
bool edge_disk_hung(void);
void edge_on_end(void); /* the scenario is over: stop, and it must stop well */
void edge_beside_on_fail(void (*line)(const char *));
void edge_beside_on_end(void);
char *edge_yaml_of(const char *yaml); /* %O and %D replaced */
void edge_abandon(void);	      /* the scenario failed: just end it */
/* Disks go on: who ends holds the mounts, and would wait for the disk to be unmounted. */
void disk_on_fail(void);
void origin_on_fail(void (*line)(const char *));
void origin_on_end(void);

/* Field of a head (status or request line first): NULL, or a copy; lines joined by ", ". */
char *head_field(const char *head, const char *name, int *lines);

#endif
