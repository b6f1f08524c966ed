/* demo.c - `twice demo`: the main job on a day of CDN traffic made up on the spot.
 *
 * Sample origin, proxy and clients are threads of this one process, but every request and every
 * body crosses real sockets, the cache is a real directory, and every byte received is checked.
 */
#include "config/config.h"
#include "config/load.h"
#include "config/units.h"
#include "proxy/base/process.h"
#include "proxy/cli/cli.h"
#include "proxy/cli/demo/mix.h"
#include "proxy/cli/demo/replay.h"
#include "proxy/cli/demo/sample_origin.h"
#include "proxy/cli/savings.h"
#include "proxy/cli/demo/second_look.h"
#include "proxy/cli/demo/trickle.h"
#include "proxy/node/preflight.h"
#include "proxy/node/server.h"
#include "proxy/cli/terminal.h"

#include <assert.h>
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define REQUESTS_MOST 20000000
#define LOGGED_MOST   250000
#define SETTINGS_MOST 8
#define DISK_SHARE    0.40		  /* of the distinct bytes */
#define LEAST_DISK    (UINT64_C(8) << 20) /* of any cache */
#define MEMORY_SHARE  0.10		  /* of the disk */
#define TICK_MS	      100
#define BAR_CELLS     16
#define FILES_BESIDE  32 /* of the sample origin and the clients, besides connections */

struct demo {
	/* asked for on the command line */
	uint64_t requests, seed, connections;
	const char *cache_dir; /* NULL: a temporary one, removed at the end */
	bool leave;	       /* do not stay after the report */
	struct config_flag settings[SETTINGS_MOST];
	size_t setting_count;
	/* what runs */
	struct mix mix;
	struct sample_origin *origin;
	char origin_url[64];
	struct config config;
	struct server *server;
	struct replay *replay;
	char temporary[256]; /* "" : none made */
	char log[256];	     /* the access log; "": none made */
	sigset_t stop_signals;
	int failure; /* the exit code where it cannot begin */
	char err[512];
};

/* ---- the command line ------------------------------------------------------------------------ */

static const char about[] =
	"Shows what twice does, on made-up CDN traffic. It starts a sample origin and the proxy on free\n"
	"ports of 127.0.0.1, sends the requests through real sockets, checks every byte that comes\n"
	"back, and reports what was written to disk and what an ordinary cache would have written.\n"
	"On a terminal it then goes on serving, with a little traffic, until Ctrl-C. Ctrl-C before the\n"
	"end prints the report so far.";

enum { REQUESTS, SEED, CONNECTIONS, CACHE, SIGHTINGS, WORKERS, EXIT };
static const struct flag rows[] = {
	[REQUESTS] = {"--requests", "N",
		      "number of requests: 200000, for about 58,000 URLs and 2.1 GB", NULL},
	[SEED] = {"--seed", "N", "other traffic of the same kind: 1", NULL},
	[CONNECTIONS] = {"--connections", "N", "keep-alive connections of the clients: 32", NULL},
	[CACHE] = {"--cache", "DIR", "keep the cache in DIR; without this flag it is temporary",
		   NULL},
	[SIGHTINGS] = {"--sightings", "N", "an object is written at its Nth request: 2; 1: all are",
		       "admission.sightings"},
	[WORKERS] = {"--workers", "N", "threads of the proxy: auto (one per core)", "workers"},
	[EXIT] = {"--exit", NULL, "end after the report, on a terminal too", NULL},
	{NULL, NULL, NULL, NULL},
};

static void
add_setting(struct demo *d, const char *flag, const char *setting, const char *text)
{
	for (size_t i = 0; i < d->setting_count; i++)
		if (strcmp(d->settings[i].setting, setting) == 0) { /* the last one counts */
			d->settings[i] = (struct config_flag){flag, setting, text};
			return;
		}
	assert(d->setting_count < SETTINGS_MOST);
	d->settings[d->setting_count++] = (struct config_flag){flag, setting, text};
}

static void
take_number(struct flags *f, uint64_t least, uint64_t most, uint64_t *out)
{
	if (units_parse_count(f->value, out) || *out < least || *out > most)
		flags_refuse(f, "\"%s\" is not a number from %" PRIu64 " to %" PRIu64, f->value,
			     least, most);
}

/* 0, or -1 and f->exit_code. */
static int
parse_flags(struct demo *d, struct flags *f)
{
	int i;
	f->exit_code = -1;
	while ((i = flags_next(f)) != FLAGS_END && i != FLAGS_EXIT) {
		if (i == FLAGS_WORD)
			flags_refuse(f, "\"%s\" is not understood; see twice demo --help",
				     f->value);
		else if (i == REQUESTS)
			take_number(f, 1, REQUESTS_MOST, &d->requests);
		else if (i == SEED)
			take_number(f, 0, UINT64_MAX, &d->seed);
		else if (i == CONNECTIONS)
			take_number(f, 1, 4096, &d->connections);
		else if (i == CACHE)
			d->cache_dir = f->value;
		else if (i == EXIT)
			d->leave = true;
		else
			add_setting(d, rows[i].name, rows[i].setting, f->value);
		if (f->exit_code >= 0)
			break;
	}
	return f->exit_code >= 0 ? -1 : 0;
}

/* ---- the cache directory --------------------------------------------------------------------- */

static int
remove_entry(const char *path, const struct stat *st, int what, struct FTW *at)
{
	(void)st, (void)what, (void)at;
	return remove(path);
}

static int
choose_cache_dir(struct demo *d)
{
	const char *parent = getenv("TMPDIR");
	if (d->cache_dir)
		return 0;
	if (!parent || !*parent) /* a disk more often than /tmp is */
		parent = access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
	snprintf(d->temporary, sizeof(d->temporary), "%s/twice-demo.XXXXXX", parent);
	if (!mkdtemp(d->temporary)) {
		snprintf(d->err, sizeof(d->err),
			 "no temporary directory in %s (%s): name one with --cache", parent,
			 strerror(errno));
		d->temporary[0] = 0;
		return -1;
	}
	d->cache_dir = d->temporary;
	return 0;
}

/* A log of the requests, which is simulated at the end: in memory, so that it is none of the disk
 * writes that are counted. Where that cannot be had, or would be large, there is none. */
static void
choose_log(struct demo *d)
{
	snprintf(d->log, sizeof(d->log), "/dev/shm/twice-demo-log.XXXXXX");
	int fd = d->requests <= LOGGED_MOST ? mkstemp(d->log) : -1;
	if (fd >= 0)
		close(fd);
	else
		d->log[0] = 0;
}

static int
check_room(struct demo *d, uint64_t needed)
{
	struct statvfs fs;
	if (!d->temporary[0] || statvfs(d->temporary, &fs) ||
	    (uint64_t)fs.f_bavail * fs.f_frsize > needed)
		return 0;
	snprintf(
		d->err, sizeof(d->err),
		"%s has %.1f GB free and the demo wants %.1f: use --cache on another disk, or fewer "
		"--requests",
		d->temporary, (double)(fs.f_bavail * fs.f_frsize) / 1e9, (double)needed / 1e9);
	return -1;
}

/* Clients, proxy and origin are one process: each connection has two ends, before the proxy and behind it. */
static int
check_files(struct demo *d)
{
	struct rlimit r;
	uint64_t needed = preflight_files(&d->config) + 4 * d->connections + FILES_BESIDE;
	process_raise_file_limit();
	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur >= needed)
		return 0;
	snprintf(d->err, sizeof(d->err),
		 "it needs %" PRIu64 " open files, and the limit is %" PRIu64
		 ": raise the limit (ulimit -n), or use fewer --connections",
		 needed, (uint64_t)r.rlim_cur);
	return -1;
}

/* ---- turning the rooms on -------------------------------------------------------------------- */

/* The defaults, what the command line changed, and sizes in the proportions of the mix. */
static int
configure(struct demo *d)
{
	struct config *c = &d->config;

	snprintf(d->origin_url, sizeof(d->origin_url), "http://127.0.0.1:%u",
		 sample_origin_port(d->origin));
	add_setting(d, "--listen", "listen", "127.0.0.1:0");
	add_setting(d, "--admin", "admin", "127.0.0.1:0");
	add_setting(d, "--origin", "origins", d->origin_url);
	add_setting(d, "--cache", "cache.dir", d->cache_dir);
	if (d->log[0])
		add_setting(d, "--access-log", "access_log", d->log);
	d->failure = CLI_USAGE;
	if (config_load_flags(c, NULL, d->settings, d->setting_count, d->err, sizeof(d->err)))
		return -1;
	d->failure = CLI_FAILED;
	c->cache.disk_bytes = (uint64_t)((double)d->mix.distinct_bytes * DISK_SHARE);
	if (c->cache.disk_bytes < LEAST_DISK) /* of few requests */
		c->cache.disk_bytes = LEAST_DISK;
	c->cache.memory_bytes = (uint64_t)((double)c->cache.disk_bytes * MEMORY_SHARE);
	c->admission.capacity = 2 * (uint64_t)d->mix.object_count + 100000;
	return config_validate(c, d->err, sizeof(d->err));
}

static int
start(struct demo *d)
{
	struct sample_origin_options origin = {.max_age_s = 86400};

	if (choose_cache_dir(d))
		return -1;
	choose_log(d);
	if (sample_origin_start(&d->origin, &origin, d->err, sizeof(d->err)))
		return -1;
	if (configure(d))
		return -1;
	if (check_room(d, d->config.cache.disk_bytes + (64 << 20)) || check_files(d))
		return -1;
	if (server_create(&d->server, &d->config, cli_version, d->err, sizeof(d->err)))
		return -1;
	if (server_start(d->server)) {
		snprintf(d->err, sizeof(d->err), "cannot start the proxy's threads: %s",
			 strerror(errno));
		return -1;
	}
	return 0;
}

static void
stop(struct demo *d)
{
	replay_stop(&d->replay);
	if (d->server)
		server_stop(d->server);
	server_destroy(&d->server);
	config_fini(&d->config);
	sample_origin_stop(&d->origin);
	mix_fini(&d->mix);
	if (d->log[0])
		unlink(d->log);
	if (d->temporary[0])
		nftw(d->temporary, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- while it runs --------------------------------------------------------------------------- */

static double
now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Waits a tick; true when Ctrl-C or SIGTERM came meanwhile. */
static bool
told_to_stop(const struct demo *d)
{
	struct timespec tick = {.tv_nsec = TICK_MS * 1000000L};
	return sigtimedwait(&d->stop_signals, NULL, &tick) > 0;
}

/* On a terminal the line is written over and over, so it is cut to its width. */
static void
print_progress(const struct demo *d, uint64_t done, double seconds, bool last)
{
	struct replay_counts n;
	struct report r;
	char bar[BAR_CELLS + 1], line[256];
	int width = terminal_columns();
	int cells = (int)(done * BAR_CELLS / d->mix.request_count);

	replay_counts(d->replay, &n);
	server_report(d->server, &r);
	for (int i = 0; i < BAR_CELLS; i++)
		bar[i] = i < cells ? '#' : '.';
	bar[BAR_CELLS] = 0;
	snprintf(line, sizeof line,
		 "[%s] %3u%%  hits %.1f%%, %.0f MB written instead of %.0f, %.0f/s", bar,
		 (unsigned)(done * 100 / d->mix.request_count),
		 n.answered ? 100.0 * (double)n.hits / (double)n.answered : 0,
		 (double)r.cache.written_bytes / 1e6, (double)r.baseline.ghost.written_bytes / 1e6,
		 (double)done / seconds);
	if (width)
		fprintf(stderr, "%.*s\033[K%c", width - 1, line, last ? '\n' : '\r');
	else
		fprintf(stderr, "%s\n", line);
}

/* A bar that grows on a terminal, a line for every tenth elsewhere. False when told to stop. */
static bool
watch(const struct demo *d)
{
	bool terminal = terminal_columns() > 0, going = true;
	double begun = now_s();
	uint64_t tenth = 1;

	while (going) {
		struct replay_counts n;
		if (told_to_stop(d))
			return false;
		going = !replay_is_done(d->replay);
		replay_counts(d->replay, &n);
		uint64_t done = n.answered + n.failures;
		if (!terminal && done * 10 < tenth * d->mix.request_count)
			continue;
		tenth = done * 10 / d->mix.request_count + 1;
		print_progress(d, done, now_s() - begun, !going);
	}
	return true;
}

/* Bytes this process caused to be written, by the kernel's count; 0 when it does not say. */
static uint64_t
written_by_the_kernels_count(void)
{
	char line[128];
	uint64_t n = 0;
	FILE *f = fopen("/proc/self/io", "r");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "write_bytes: %" SCNu64, &n);
	if (f)
		fclose(f);
	return n;
}

/* Where to look, before anything else is said: the dashboard shows the run from its beginning. */
static void
print_addresses(const struct demo *d)
{
	unsigned port = server_port(d->server, 0), admin = server_admin_port(d->server);
	printf("The proxy is at http://127.0.0.1:%u/, its dashboard at http://127.0.0.1:%u/\n\n",
	       port, admin);
}

/* ---- after ----------------------------------------------------------------------------------- */

static void
print_report(const struct demo *d, const struct replay_counts *n, const struct report *r,
	     uint64_t kernel)
{
	char a[UNITS_BYTES], b[UNITS_BYTES];
	printf("\n");
	savings_print_report(stdout, r);
	printf("\n  wrong bodies             %12s   of %s answers, each checked byte for byte\n",
	       units_say_count(n->wrong_bodies, a), units_say_count(n->answered, b));
	if (kernel > 0) /* nothing: the cache lies on a tmpfs */
		printf("  the kernel's own count   %12s   of this process's disk writes\n",
		       units_say_bytes(kernel, a));
	if (n->answered + n->failures == d->mix.request_count)
		printf("\n%s of the %s URLs were asked for only once (%.1f%%): an ordinary cache wrote them to\n"
		       "disk for nothing.\n",
		       units_say_count(d->mix.asked_once, a),
		       units_say_count(d->mix.object_count, b),
		       100.0 * d->mix.asked_once / d->mix.object_count);
	else
		printf("\nStopped after %s of %s requests.\n",
		       units_say_count(n->answered + n->failures, a),
		       units_say_count(d->mix.request_count, b));
	if (d->log[0])
		second_look_print(stdout, &d->config, d->log);
	printf("\nWhere to look next\n");
	printf("  twice run --origin https://your.host  puts it to work; twice stats shows what it saves\n"
	       "  twice simulate access.log             says what it would save on your own traffic\n"
	       "  twice demo --sightings 1              sends the same requests through an ordinary cache\n");
}

static void
print_next_steps(const struct demo *d)
{
	char path[MIX_PATH_BYTES];
	unsigned port = server_port(d->server, 0), admin = server_admin_port(d->server);
	const struct mix *m = &d->mix;
	mix_path(&m->objects[m->object_count - 1], path); /* the most popular one */

	printf("\nStill serving, with some ten requests a second, until Ctrl-C. Ask for a popular URL and\n"
	       "for a new one twice each, and look at Cache-Status.\n"
	       "  curl -sD- -o /dev/null http://127.0.0.1:%u%s\n"
	       "  curl -sD- -o /dev/null http://127.0.0.1:%u/cdn/%016" PRIx64 "/5000\n"
	       "Dashboard and numbers\n"
	       "  http://127.0.0.1:%u/    http://127.0.0.1:%u/stats\n",
	       port, path, port, (uint64_t)time(NULL), admin, admin);
	fflush(stdout);
}

static void
stay(const struct demo *d)
{
	struct trickle *trickle = trickle_create(&d->mix, server_port(d->server, 0));
	print_next_steps(d);
	while (!told_to_stop(d))
		if (trickle)
			trickle_one(trickle);
	trickle_destroy(&trickle);
}

static int
run(struct demo *d)
{
	struct replay_options o = {.mix = &d->mix,
				   .port = server_port(d->server, 0),
				   .connections = (unsigned)d->connections};
	struct replay_counts n;
	struct report r;
	uint64_t kernel = written_by_the_kernels_count();
	print_addresses(d);
	printf("Playing %u requests for %u URLs, %.2f GB of distinct content, through a cache of\n"
	       "%.0f MB on disk and %.0f MB in memory.\n",
	       d->mix.request_count, d->mix.object_count, (double)d->mix.distinct_bytes / 1e9,
	       (double)d->config.cache.disk_bytes / 1e6,
	       (double)d->config.cache.memory_bytes / 1e6);
	fflush(stdout);
	if (replay_start(&d->replay, &o, d->err, sizeof(d->err)))
		return CLI_FAILED;
	bool whole = watch(d);
	if (!whole && terminal_columns())
		fputc('\n', stderr); /* the line of the bar stays */
	replay_counts(d->replay, &n);
	server_report(d->server, &r);
	kernel = written_by_the_kernels_count() - kernel;
	print_report(d, &n, &r, kernel);
	if (n.wrong_bodies || n.failures)
		fprintf(stderr,
			"twice demo: %" PRIu64 " wrong bodies, %" PRIu64 " failures; first: %s\n",
			n.wrong_bodies, n.failures, replay_complaint(d->replay));
	if (whole && isatty(STDOUT_FILENO) && !d->leave)
		stay(d);
	return n.wrong_bodies || n.failures;
}

int
cli_demo(int argc, char **argv)
{
	struct demo d = {.requests = 200000, .seed = 1, .connections = 32, .failure = CLI_FAILED};
	struct flags f = {.command = "demo",
			  .synopsis = "[flags]",
			  .about = about,
			  .rows = rows,
			  .argc = argc,
			  .argv = argv};
	if (parse_flags(&d, &f))
		return f.exit_code;

	/* Before any thread: all of them leave Ctrl-C to the loop in watch. */
	sigemptyset(&d.stop_signals);
	sigaddset(&d.stop_signals, SIGINT);
	sigaddset(&d.stop_signals, SIGTERM);
	sigaddset(&d.stop_signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &d.stop_signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);

	mix_init_cdn(&d.mix, (uint32_t)d.requests, d.seed);
	config_init(&d.config);
	int code = start(&d) ? d.failure : run(&d);
	if (*d.err)
		cli_complain("demo", "%s", d.err);
	stop(&d);
	return code;
}
