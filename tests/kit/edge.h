/* edge.h - the proxy under test: the real binary, on port 0, with a cache directory of its own.
 *
 * One proxy per scenario. The flags the kit gives: --listen and --admin on 127.0.0.1:0, --origin
 * (the scripted one), --cache (an empty directory), --disk 64MiB, --memory 8MiB, --workers 2; the
 * scenario's flags and YAML come on top (flags override YAML, so a section that the YAML names is
 * not given as a flag).
 */
#ifndef KIT_EDGE_H
#define KIT_EDGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* YAML for the next start. %O stands for the origin's URL, %D for the scenario's directory. */
void edge_yaml(const char *yaml);
enum { EDGE_FLAGS = 24 };
#define edge_start(...) edge_start_flags((const char *const[EDGE_FLAGS]){"", __VA_ARGS__})
/* A section of YAML that says what the flags would, and more: lines of two blanks and a setting. */
#define EDGE_CACHE(more)      "cache:\n  dir: %D/cache\n  disk: 64MiB\n  memory: 8MiB\n" more
#define edge_start_yaml(yaml) (edge_yaml(yaml), edge_start())
void edge_start_flags(const char *const *flags); /* flags[0] is not one */

/* The file of the running proxy's settings, written anew for a reload: as edge_yaml. */
void edge_rewrite(const char *yaml);

/* Starts it where it must refuse: returns the exit status; *says gets its stderr. */
#define edge_refuses(says, ...) \
	edge_refuses_flags(says, (const char *const[EDGE_FLAGS]){"", __VA_ARGS__})
int edge_refuses_flags(char **says, const char *const *flags);

/* Starts it where it may refuse: 0 when it runs, else its exit status, and its stderr in *says. */
int edge_refuses_or_runs(char **says);

/* Another proxy beside it, from this YAML alone (%O and %D as above); the port it listens at. It
 * ends with the scenario, and must end well. */
unsigned edge_beside(const char *yaml);
/* A port of 127.0.0.1 that nobody else is given meanwhile, for proxies that name each other. */
unsigned edge_reserve_port(void);

/* Descriptors that all further starts are handed over as a supervisor does it, names with ":" between
 * them. Borrowed. */
void edge_inherits(const int *fds, unsigned n, const char *names);

void edge_stop(void); /* SIGTERM; it must exit 0 in time */
void edge_signal(int sig);
void edge_pause(void); /* SIGSTOP; all its threads stand still when this returns */
void edge_resume(void);
/* Another process, started by the one under test, has its place from here on; that one must end with
 * `ends` (-9: by SIGKILL). The scenario is a subreaper (prctl). */
void edge_becomes(pid_t pid, int ends);
int edge_wait_exit(void); /* its exit status, or -signal */
void edge_kill9(void);
void edge_restart(void); /* the same flags, YAML and directory; new ports */

unsigned edge_port(void);
unsigned edge_h2_port(void); /* h2c://, see h2.h */
bool edge_is_tls(void);	     /* that port speaks TLS because KIT_TLS says so */
unsigned edge_admin_port(void);
pid_t edge_pid(void);
char *edge_binary(void); /* what is under test: TWICE, or build/twice */
bool edge_alive(void);
char *edge_stderr(void); /* all it wrote so far, over restarts */
char *edge_stdout(void);
bool edge_said(const char *words); /* on stderr */
int edge_times_said(const char *words);
/* It can open no file more that is not there yet, or as many as ever. */
void edge_let_open(bool any);
const char *edge_cache_dir(void);

struct answer edge_purge(const char *query);	     /* POST /purge?query to admin */
double edge_stat(const char *path);		     /* "disk.written_bytes" in GET /stats */
void edge_wait_stat(const char *path, double value); /* until it is at least value */
/* Until so many requests were understood since its start, and what could be done with them at once is done: a miss
 * has joined another, or asks. */
void edge_wait_requests(int n);
/* Waits until it is that exactly; fails when it is more, if it is a number that only grows. */
void edge_expect_stat(const char *path, double value);

uint64_t edge_disk_usage(void); /* bytes that the cache directory takes, as du counts */
uint64_t edge_written_os(void); /* write_bytes of /proc/PID/io */
uint64_t edge_rss_bytes(void);
uint64_t edge_peak_bytes(void); /* the most that was so far */
double edge_cpu_s(void);
bool edge_is_thread_sanitized(void);
bool edge_is_sanitized(void); /* built with ASan or TSan: its memory says nothing */

#endif
