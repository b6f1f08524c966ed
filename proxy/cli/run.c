/* run.c - `twice run`: turns the rooms on, in order, and off again. */
#include "config/groups.h"
#include "config/listen.h"
#include "proxy/base/address.h"
#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/process.h"
#include "proxy/cli/ask.h"
#include "proxy/cli/regain.h"
#include "proxy/cli/renew.h"
#include "proxy/cli/settings.h"
#include "proxy/cli/succeed.h"
#include "proxy/node/heir.h"
#include "proxy/node/notify.h"
#include "proxy/node/preflight.h"
#include "proxy/node/server.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* END_MS: what the end takes besides finishing requests, as a supervisor is told: saving what was learnt. For
 * that there is what requests leave of timeouts.drain, and at least SAVE_MS. */
enum { END_MS = 30000, SAVE_MS = 3000, LOG_END_MS = 1000 };

static const char about[] =
	"Runs the proxy in the foreground. `twice run --origin https://host` alone is a working edge: it\n"
	"listens on port 8080 and keeps its objects in /var/cache/twice. SIGTERM finishes open\n"
	"requests and exits, SIGHUP reopens logs and applies the configuration anew, SIGUSR1 reopens logs\n"
	"alone, SIGUSR2 starts the program anew and lets that process take this one's place (twice upgrade).";

/* ---- before ---------------------------------------------------------------------------------- */

static void
add_orders(sigset_t *to)
{
	sigaddset(to, SIGHUP);
	sigaddset(to, SIGUSR1);
	sigaddset(to, SIGUSR2);
}

static void
add_ends(sigset_t *to)
{
	sigaddset(to, SIGTERM);
	sigaddset(to, SIGINT);
	sigaddset(to, SIGQUIT); /* the graceful end of others, which would be a core dump */
}

/* A reload, a rotation or an upgrade that is asked for while this process is only about to serve is none
 * that ends it: what it reads yet is the newest anyway. */
static void
block_orders(void)
{
	sigset_t orders;
	sigemptyset(&orders);
	add_orders(&orders);
	pthread_sigmask(SIG_BLOCK, &orders, NULL);
}

/* Signals that mean something harmless elsewhere (a timer, a power supply, a terminal, a dump of
 * statistics) would end this process or stop it. Faults of its own keep their effect, and so do limits
 * that an operator has set on its time. */
static void
ignore_signals(void)
{
	static const int harmless[] = {
		SIGPIPE,   SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGTTIN, SIGTTOU,
#ifdef SIGSTKFLT
		SIGSTKFLT,
#endif
		SIGXFSZ, /* a file that may not grow fails as a disk does */
	};
	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
		signal(harmless[i], SIG_IGN);
	for (int sig = SIGRTMIN; sig <= SIGRTMAX; sig++)
		signal(sig, SIG_IGN);
}

/* Signals are waited for, not handled: every thread made from here on has them blocked. */
static void
block_signals(sigset_t *waited)
{
	sigemptyset(waited);
	add_ends(waited);
	add_orders(waited);
	pthread_sigmask(SIG_BLOCK, waited, NULL);
}

/* ---- while it runs --------------------------------------------------------------------------- */

/* A bound address as text, with the port that the system chose for port 0. */
static void
say_bound(const char *what, const char *addr, unsigned port)
{
	struct address a;
	char text[ADDRESS_TEXT];
	static const char *const schemes[] = {
		[CONFIG_HTTP] = "", [CONFIG_HTTPS] = "https://", [CONFIG_H2C] = "h2c://"};
	if (config_listen_path(addr)) {
		log_say("twice: %s on %s", what, addr);
	} else if (address_parse(config_listen_address(addr), &a) == 0) {
		address_set_port(&a, port);
		log_say("twice: %s on %s%s%s", what, config_listen_proxied(addr) ? "proxy+" : "",
			schemes[config_listen_scheme(addr)], address_print(&a, text));
	}
}

/* Scripts wait for these lines; "listening on" and "admin on" end with a port. */
static void
announce(const struct settings *s, const struct server *server)
{
	const struct config *c = &s->config;
	for (unsigned i = 0; i < config_member_count(c); i++) {
		struct config_member m;
		config_member(c, i, &m);
		log_say("twice: answers come from %s, asked for Host: %s", m.url,
			m.origin->host ? m.origin->host : "as the client sends it");
	}
	if (server_keeps_files(server))
		log_say("twice: objects are kept in %s", c->cache.dir);
	else
		log_say("twice: objects are kept in RAM only");
	for (unsigned i = 0; i < c->disk_count; i++)
		log_say("twice: and in %s", c->disks[i].dir);
	if (server_admin_port(server))
		say_bound("admin", c->admin, server_admin_port(server));
	if (server_admin_port(server) && !settings_has(s, "admin"))
		log_say("twice: builds before 0.3.0 had admin on " ASK_ADMIN_BEFORE
			"; to have it there, write admin: \"" ASK_ADMIN_BEFORE "\"");
	if (c->admin_socket)
		log_say("twice: the admin server is at unix:%s", c->admin_socket);
	for (unsigned i = 0; i < c->listen_count; i++)
		say_bound("listening", c->listen[i], server_port(server, i));
}

struct running {
	struct renewal renewal;
	struct succeeding succeeding;
	struct regaining *regaining;
};

static int
on_reload(void *ctx, struct buf *out)
{
	struct running *r = ctx;
	return renew(&r->renewal, out);
}

static void
on_reloaded(void *ctx, int64_t *read_s, bool *refused)
{
	const struct running *r = ctx;
	*read_s = atomic_load(&r->renewal.read_s);
	*refused = atomic_load(&r->renewal.refused);
}

static void
on_upgrade_failed(void *ctx, char *why, size_t bytes)
{
	struct running *r = ctx;
	succeed_failure(&r->succeeding, why, bytes);
}

static void
on_upgrade(void *ctx, bool begin, struct buf *out)
{
	struct running *r = ctx;
	succeed_tell(&r->succeeding, begin, out);
}

/* Load balancers find out and send their clients elsewhere; whoever comes is served. */
static void
wait_as_lame_duck(struct server *server)
{
	uint64_t ms = server_lame_duck(server);
	if (!ms)
		return;
	notify_say("STOPPING=1\nSTATUS=/healthz says 503\nEXTEND_TIMEOUT_USEC=%llu",
		   (unsigned long long)(ms + server_drain_ms(server) + END_MS) * 1000);
	log_say("twice: /healthz says 503, clients are served for %llu s yet; send the signal again to "
		"stop at once",
		(unsigned long long)(ms + 999) / 1000);
	struct timespec left = {.tv_sec = (time_t)(ms / 1000),
				.tv_nsec = (long)(ms % 1000) * 1000000};
	while (nanosleep(&left, &left))
		;
}

static void
end_at_once(int signal_number)
{
	_exit(128 + signal_number);
}

/* From here a second signal ends the process at once; the cache survives that. An order does not: a log
 * being rotated must not cut off what is under way, nor does one more upgrade. */
static void
end_at_once_next_time(void)
{
	sigset_t ending;
	sigemptyset(&ending);
	add_ends(&ending);
	if (getpid() ==
	    1) { /* the first one of a container: the kernel spares it what it does not handle */
		signal(SIGTERM, end_at_once);
		signal(SIGINT, end_at_once);
	}
	signal(SIGQUIT, end_at_once); /* without a core dump */
	pthread_sigmask(SIG_UNBLOCK, &ending, NULL);
}

static void
reopen_logs(struct running *r)
{
	server_reopen_log(r->renewal.server);
	regain_reopen_log(r->regaining);
	log_info("the logs are reopened");
}

static struct server_orders
orders_of(struct running *r)
{
	return (struct server_orders){.reload = on_reload,
				      .reloaded = on_reloaded,
				      .upgrade_failed = on_upgrade_failed,
				      .upgrade = on_upgrade,
				      .ctx = r};
}

static void
take_back_directory(struct running *r)
{
	struct server_orders mine = orders_of(r);
	pthread_mutex_lock(
		&r->renewal.lock); /* a reload waits, and is for the server that serves then */
	r->renewal.server = r->succeeding.server =
		regain_run(r->regaining, r->renewal.server, &mine);
	pthread_mutex_unlock(&r->renewal.lock);
}

/* A directory that was left out is looked for meanwhile. -1: there is no waiting. */
static int
await_signal(struct running *r, const sigset_t *waited)
{
	int sig = 0;
	while (sig <= 0 && regain_looks(r->regaining, r->renewal.server)) {
		sig = sigtimedwait(waited, NULL, &(struct timespec){.tv_sec = 1});
		if (sig <= 0 && regain_is_due(r->regaining, r->renewal.server))
			take_back_directory(r);
	}
	return sig > 0 || sigwait(waited, &sig) == 0 ? sig : -1;
}

/* False: another process has taken this one's place. */
static bool
serve_until_told(struct running *r, const sigset_t *waited)
{
	int sig;
	while ((sig = await_signal(r, waited)) > 0)
		if (sig == SIGHUP)
			renew(&r->renewal, NULL);
		else if (sig == SIGUSR1)
			reopen_logs(r);
		else if (sig != SIGUSR2)
			break;
		else if (succeed_run(&r->succeeding))
			return false;
	return true;
}

/* Until when it is to have ended. */
static int64_t
finish(struct server *server)
{
	end_at_once_next_time();
	wait_as_lame_duck(server);
	uint64_t drain_ms = server_drain_ms(server);
	notify_say("STOPPING=1\nSTATUS=finishing open requests\nEXTEND_TIMEOUT_USEC=%llu",
		   (unsigned long long)(drain_ms + END_MS) * 1000);
	log_say("twice: finishing open requests, at most %llu s; send the signal again to stop at once",
		(unsigned long long)(drain_ms + 999) / 1000);
	return now_ms() + (int64_t)drain_ms;
}

struct ending {
	struct server **server;
	sem_t done;
};

static void *
destroy(void *ctx)
{
	struct ending *e = ctx;
	server_destroy(e->server);
	sem_post(&e->done);
	return NULL;
}

/* A disk that hangs is not waited for. What sleeps in the kernel for it ends with it, and the process is gone only
 * then; so its sockets are closed here. */
static void
end_in_time(struct server **server, int64_t until_ms)
{
	pthread_t thread;
	int late;
	int64_t left_ms = until_ms - now_ms();
	struct timespec until = now_and_ms((unsigned)(left_ms > SAVE_MS ? left_ms : SAVE_MS));
	struct ending e = {.server = server};
	sem_init(&e.done, 0, 0);
	if (pthread_create(&thread, NULL, destroy, &e)) {
		server_destroy(server);
		return;
	}
	while ((late = sem_clockwait(&e.done, CLOCK_MONOTONIC, &until)) != 0 && errno == EINTR)
		;
	if (!late) {
		pthread_join(thread, NULL);
		sem_destroy(&e.done);
		return;
	}
	log_warning(
		"a disk does not answer, so that this process ends without saving what the filters learnt "
		"since the last snapshot; the kernel may keep the process until the disk answers");
	process_close_sockets();
	_exit(CLI_FINE);
}

/* Its last clients' lines go to the same file as those of the process that serves. */
static bool
is_told_to_end(void *ctx)
{
	sigset_t waited;
	int sig;
	sigemptyset(&waited);
	add_ends(&waited);
	sigaddset(&waited, SIGUSR1);
	while ((sig = sigtimedwait(&waited, NULL, &(struct timespec){0})) == SIGUSR1)
		reopen_logs(ctx);
	return sig > 0;
}

/* The rooms say which deed failed; the flag that helps is known here. */
static const char *
way_out(const struct config *c, const char *err)
{
	if (strstr(err, "--"))
		return "";
	if (c->cache.dir && strstr(err, c->cache.dir))
		return "; name a directory you may write with --cache DIR, or use RAM only with --cache none";
	for (unsigned i = 0; i < c->listen_count; i++)
		if (strstr(err, c->listen[i]))
			return "; choose another address with --listen IP:PORT";
	return "";
}

/* This process serves, and says so; the one before it, if there is one, may go. */
static int
begin(const struct settings *s, struct running *r, struct heir *heir, char *err, size_t err_bytes)
{
	struct server *server = r->renewal.server;
	struct server_orders mine = orders_of(r);
	pthread_mutex_lock(&r->renewal.lock); /* a change waits until the start has been told */
	server_take_orders(server, &mine);
	int result = heir ? server_accede(server, err, err_bytes) : 0;
	if (result == 0 && server_start(server)) {
		snprintf(err, err_bytes,
			 "cannot start the worker threads; lower --workers or raise "
			 "the limit of processes");
		result = -1;
	}
	if (result == 0 && heir) {
		server_settle(server);
		succeed_settled(&r->succeeding);
	}
	if (result == 0)
		announce(s, server);
	pthread_mutex_unlock(&r->renewal.lock);
	if (result)
		server_refuse(server, err);
	return result;
}

static int
serve(const struct settings *s, struct heir *heir, unsigned long number)
{
	struct server *server = NULL;
	struct running running = {
		.renewal = {.lock = PTHREAD_MUTEX_INITIALIZER, .settings = s, .read_s = now_s()},
		.succeeding = {.lock = PTHREAD_MUTEX_INITIALIZER,
			       .number = number,
			       .state = heir ? SUCCESSION_RUNNING : SUCCESSION_NONE},
		.regaining = regain_create(),
	};
	sigset_t waited;
	char err[512];
	int64_t until_ms = 0;
	bool again = false;
	block_signals(&waited);
	if (server_create_heir(&server, &s->config, cli_version, heir, err, sizeof(err)) < 0)
		goto out;
	running.renewal.server = running.succeeding.server = server;
	if (begin(s, &running, heir, err, sizeof(err)))
		goto out;
	notify_say("READY=1\nSTATUS=serving at %s", s->config.listen[0]);
	if (identity_is_root_unsaid(&s->config))
		log_warning("everything runs as root; write user: NAME to become another user, or "
			    "user: root to keep it so");
	bool told = serve_until_told(&running, &waited);
	server = running.renewal.server;
	if (told)
		until_ms = finish(server);
	else {
		again = !server_linger(server, is_told_to_end, &running);
		end_at_once_next_time();
	}
	regain_drain(running.regaining);
	server_stop(server);
	regain_stop(running.regaining);
	again = again && succeed_is_alone(&running.succeeding);
	end_in_time(&server, until_ms);
	bool all = regain_destroy(&running.regaining);
	log_finish(LOG_END_MS);
	succeed_end(&running.succeeding, again);
	if (!all)
		_exit(CLI_FINE);
	return CLI_FINE;
out:
	cli_complain("run", "%s%s", err, way_out(&s->config, err));
	server_destroy(&server);
	regain_destroy(&running.regaining);
	succeed_end(&running.succeeding, false);
	return CLI_FAILED;
}

int
cli_run(int argc, char **argv)
{
	struct settings s;
	unsigned found;
	int result, before;
	unsigned long number;
	struct heir *heir = NULL;
	block_orders();
	ignore_signals();
	before = heir_called(&number);
	if (settings_init(&s, "run", about, argc, argv, &result) < 0) {
		if (before >= 0)
			heir_begin(before, cli_complaints());
		return result;
	}
	log_set_level(settings_log_level(&s.config));
	process_raise_file_limit(); /* connections are files */
	enum settings_start start = before >= 0 ? SETTINGS_SUCCEED : SETTINGS_START;
	process_reserve_files(preflight_files(&s.config));
	result = settings_fit(&s, "run", start, &found) ? CLI_FINE : CLI_USAGE;
	if (before >= 0)
		heir = heir_begin(before, result == CLI_FINE ? NULL : cli_complaints());
	if (result == CLI_FINE)
		result = serve(&s, heir, number);
	settings_fini(&s);
	return result;
}
