/* succeed.c - the same program, the same arguments, another process. */
#include "proxy/cli/succeed.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/cli/cli.h"
#include "proxy/node/handover.h"
#include "proxy/node/identity.h"
#include "proxy/node/notify.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { END_FD = 3, ARGUMENTS_MOST = 1 << 20 };

static const char *const states[] = {
	[SUCCESSION_NONE] = "none",
	[SUCCESSION_RUNNING] = "running",
	[SUCCESSION_DONE] = "done",
	[SUCCESSION_FAILED] = "failed",
};

/* ---- what is said --------------------------------------------------------------------------- */

void
succeed_tell(struct succeeding *s, bool begin, struct buf *out)
{
	pthread_mutex_lock(&s->lock);
	if (begin && s->state != SUCCESSION_RUNNING) {
		s->state = SUCCESSION_RUNNING;
		s->number++;
		s->reason[0] = '\0';
		kill(getpid(), SIGUSR2);
	}
	json_t *reason = json_string(s->reason);
	json_t *json = json_pack("{s:I, s:s, s:o, s:I, s:s}", "id", (json_int_t)s->number, "state",
				 states[s->state], "reason",
				 reason ? reason : json_string("the log says why"), "pid",
				 (json_int_t)getpid(), "version", cli_version);
	pthread_mutex_unlock(&s->lock);
	char *text = json ? json_dumps(json, JSON_PRESERVE_ORDER) : NULL;
	buf_printf(out, "%s\n", text ? text : "{}");
	free(text);
	json_decref(json);
}

void
succeed_failure(struct succeeding *s, char *why, size_t bytes)
{
	pthread_mutex_lock(&s->lock);
	snprintf(why, bytes, "%s", s->state == SUCCESSION_FAILED ? s->reason : "");
	pthread_mutex_unlock(&s->lock);
}

void
succeed_settled(struct succeeding *s)
{
	pthread_mutex_lock(&s->lock);
	assert(s->state == SUCCESSION_RUNNING);
	s->state = SUCCESSION_DONE;
	pthread_mutex_unlock(&s->lock);
}

/* ---- the program ---------------------------------------------------------------------------- */

/* The words of the command line as this process was started with them; *text holds them. */
static char **
arguments(struct buf *text)
{
	char **words = NULL;
	size_t n = 0;
	ssize_t got = 0;
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && text->n < ARGUMENTS_MOST &&
	       (got = read(fd, buf_room(text, 4096), 4096)) > 0)
		buf_added(text, (size_t)got);
	if (fd >= 0)
		close(fd);
	buf_add(text, "", 1);
	for (size_t at = 0; at + 1 < text->n; at += strlen(text->p + at) + 1) {
		words = mem_realloc(words, (n + 2) * sizeof *words);
		words[n++] = text->p + at;
		words[n] = NULL;
	}
	return words;
}

/* As it was named at the start, so that a link leads to what it names now; without a path, the file
 * that this process was made of, or what has replaced it. */
static bool
program(const char *named, char *to, size_t bytes)
{
	static const char gone[] = " (deleted)";
	if (strchr(named, '/'))
		return (size_t)snprintf(to, bytes, "%s", named) < bytes;
	ssize_t n = readlink("/proc/self/exe", to, bytes - 1);
	if (n < 0)
		return false;
	to[n] = '\0';
	size_t end = sizeof gone - 1;
	if ((size_t)n > end && strcmp(to + (size_t)n - end, gone) == 0)
		to[(size_t)n - end] = '\0';
	return true;
}

/* Ours, without what a supervisor said to this process alone. */
static char **
environment(char *handover)
{
	size_t n = 0, all = 0;
	while (environ[all])
		all++;
	char **e = mem_zalloc((all + 2) * sizeof *e);
	for (size_t i = 0; i < all; i++)
		if (strncmp(environ[i], "WATCHDOG_PID=", 13) != 0 &&
		    strncmp(environ[i], "LISTEN_", 7) != 0 &&
		    strncmp(environ[i], "TWICE_HANDOVER=", 15) != 0)
			e[n++] = environ[i];
	e[n] = handover;
	return e;
}

/* No signal is blocked in it, and none ignored. 0, or an errno. */
static int
spawn(const char *path, char **argv, char **envp, int end, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	sigset_t none, all;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, end, END_FD);
	posix_spawnattr_init(&how);
	posix_spawnattr_setsigmask(&how, &none);
	posix_spawnattr_setsigdefault(&how, &all);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	int error = posix_spawn(pid, path, &files, &how, argv, envp);
	posix_spawnattr_destroy(&how);
	posix_spawn_file_actions_destroy(&files);
	return error;
}

static int
start(const struct succeeding *s, int end, pid_t *pid, char *err, size_t err_bytes)
{
	struct buf text = {0};
	char path[4096], handover[64];
	char **argv = arguments(&text);
	snprintf(handover, sizeof handover, "TWICE_HANDOVER=%d:%lu", END_FD, s->number);
	char **envp = environment(handover);
	int error = argv && program(argv[0], path, sizeof path) ? 0 : ENOENT;
	identity_pass_on();
	if (!error)
		error = spawn(path, argv, envp, end, pid);
	if (error)
		snprintf(err, err_bytes, "cannot start %s: %s", argv ? path : "the program",
			 strerror(error));
	free(argv);
	free(envp);
	buf_fini(&text);
	return error ? -1 : 0;
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* It is asked to end: the upgrade is given up, and the signal is still there for who waits for it. */
bool
succeed_is_told_to_end(void *ctx)
{
	sigset_t waits;
	(void)ctx;
	return sigpending(&waits) == 0 &&
	       (sigismember(&waits, SIGTERM) == 1 || sigismember(&waits, SIGINT) == 1 ||
		sigismember(&waits, SIGQUIT) == 1);
}

static int
hand_over(struct succeeding *s, char *err, size_t err_bytes)
{
	int ends[2];
	struct server_heir *heir = &s->heir;
	*heir = (struct server_heir){.is_over = succeed_is_told_to_end};
	if (getpid() == 1) {
		snprintf(err, err_bytes,
			 "this is the first process of a container, which ends "
			 "with it; replace the container");
		return -1;
	}
	if (handover_pair(ends)) {
		snprintf(err, err_bytes, "cannot make a socket: %s", strerror(errno));
		return -1;
	}
	int r = start(s, ends[1], &heir->pid, err, err_bytes);
	close(ends[1]);
	if (r == 0)
		r = server_bequeath(s->server, ends[0], heir, err, err_bytes);
	if (r == 0)
		notify_say("MAINPID=%d", heir->pid);
	else
		close(ends[0]);
	return r;
}

bool
succeed_run(struct succeeding *s)
{
	char err[512] = "";
	int64_t begun = now_ms();
	pthread_mutex_lock(&s->lock);
	if (s->state != SUCCESSION_RUNNING) /* by the signal alone */
		s->number++;
	s->state = SUCCESSION_RUNNING;
	pthread_mutex_unlock(&s->lock);
	log_info("an upgrade begins: the program is started anew");
	int r = hand_over(s, err, sizeof err);
	pthread_mutex_lock(&s->lock);
	s->state = r ? SUCCESSION_FAILED : SUCCESSION_DONE;
	snprintf(s->reason, sizeof s->reason, "%s", err);
	pthread_mutex_unlock(&s->lock);
	if (r)
		log_error("the upgrade has failed, and nothing has changed: %s", err);
	else
		log_info(
			"another process serves, after %lld ms; this one ends with its last client",
			(long long)(now_ms() - begun));
	return r == 0;
}

/* ---- once more ------------------------------------------------------------------------------ */

/* The descriptors from END_FD on, as a supervisor hands them over. False: there are none left. */
static bool
place_sockets(const struct server_heir *h)
{
	char number[32];
	bool fine = true;
	for (unsigned i = 0; i < h->socket_n; i++) {
		int moved = fcntl(h->sockets[i], F_DUPFD_CLOEXEC, END_FD + (int)h->socket_n);
		close(h->sockets[i]);
		h->sockets[i] = moved;
		fine &= moved >= 0;
	}
	for (unsigned i = 0; fine && i < h->socket_n; i++)
		fine = dup2(h->sockets[i], END_FD + (int)i) >= 0;
	snprintf(number, sizeof number, "%u", h->socket_n);
	setenv("LISTEN_FDS", number, 1);
	snprintf(number, sizeof number, "%d", (int)getpid());
	setenv("LISTEN_PID", number, 1);
	unsetenv("LISTEN_FDNAMES");
	return fine;
}

static void
become_anew(const struct server_heir *h)
{
	struct buf text = {0};
	char path[4096];
	sigset_t none;
	char **argv = arguments(&text);
	sigemptyset(&none);
	if (argv && place_sockets(h) && program(argv[0], path, sizeof path)) {
		pthread_sigmask(SIG_SETMASK, &none, NULL);
		execv(path, argv);
	}
	log_error("the program cannot be started anew: %s", strerror(errno));
	free(argv);
	buf_fini(&text);
}

bool
succeed_is_alone(const struct succeeding *s)
{
	int status;
	return s->heir.socket_n && waitpid(s->heir.pid, &status, WNOHANG) == s->heir.pid &&
	       !(WIFEXITED(status) && WEXITSTATUS(status) == CLI_FINE) && /* it was told to end */
	       !getenv("NOTIFY_SOCKET");
}

void
succeed_end(struct succeeding *s, bool again)
{
	struct server_heir *h = &s->heir;
	if (again) {
		log_error(
			"the process that took this one's place has ended already; the program is "
			"started anew, at the same sockets");
		identity_pass_on();
		become_anew(h);
	}
	for (unsigned i = 0; i < h->socket_n; i++)
		close(h->sockets[i]);
	free(h->sockets);
	*h = (struct server_heir){0};
}
