/* run.c - `twice run`: turns the rooms on, in order, and off again. */
#include "config/groups.h"
#include "config/listen.h"
#include "proxy/base/address.h"
#include "proxy/base/log.h"
#include "proxy/base/process.h"
#include "proxy/cli/renew.h"
#include "proxy/cli/settings.h"
#include "proxy/cli/succeed.h"
#include "proxy/node/heir.h"
#include "proxy/node/notify.h"
#include "proxy/node/server.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* END_MS: what the end takes besides finishing requests: saving what was learnt. */
enum { END_MS = 30000 };

static const char about[] =
	"Runs the proxy in the foreground. `twice run --origin https://host` alone is a working edge: it\n"
	"listens on port 8080 and keeps its objects in /var/cache/twice. SIGTERM finishes open\n"
	"requests and exits, SIGHUP reopens logs and applies the configuration anew, SIGUSR2 starts the\n"
	"program anew and lets that process take this one's place (twice upgrade).";

/* ---- before ---------------------------------------------------------------------------------- */

/* A reload or an upgrade that is asked for while this process is only about to serve is none that ends
 * it: what it reads yet is the newest anyway. */
static void
block_orders(void)
{
	sigset_t orders;
	sigemptyset(&orders);
	sigaddset(&orders, SIGHUP);
	sigaddset(&orders, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &orders, NULL);
}

/* Signals are waited for, not handled: every thread made from here on has them blocked. */
static void
block_signals(sigset_t *waited)
{
	sigemptyset(waited);
	sigaddset(waited, SIGTERM);
	sigaddset(waited, SIGINT);
	sigaddset(waited, SIGHUP);
	sigaddset(waited, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, waited, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a file that may not grow fails as a disk does */
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
announce(const struct config *c, const struct server *server)
{
	for (unsigned i = 0; i < config_member_count(c); i++) {
		struct config_member m;
		config_member(c, i, &m);
		log_say("twice: answers come from %s", m.url);
	}
	if (c->cache.dir)
		log_say("twice: objects are kept in %s", c->cache.dir);
	else
		log_say("twice: objects are kept in RAM only");
	for (unsigned i = 0; i < c->disk_count; i++)
		log_say("twice: and in %s", c->disks[i].dir);
	if (server_admin_port(server))
		say_bound("admin", c->admin, server_admin_port(server));
	if (c->admin_socket)
		log_say("twice: the admin server is at unix:%s", c->admin_socket);
	for (unsigned i = 0; i < c->listen_count; i++)
		say_bound("listening", c->listen[i], server_port(server, i));
}

struct running {
	struct renewal renewal;
	struct succeeding succeeding;
};

static int
on_reload(void *ctx, struct buf *out)
{
	struct running *r = ctx;
	return renew(&r->renewal, out);
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

/* From here a second signal ends the process at once; the cache survives that. SIGHUP does not: a log
 * being rotated must not cut off what is under way, nor does one more upgrade. */
static void
end_at_once_next_time(const sigset_t *waited)
{
	sigset_t ending = *waited;
	if (getpid() ==
	    1) { /* the first one of a container: the kernel spares it what it does not handle */
		signal(SIGTERM, end_at_once);
		signal(SIGINT, end_at_once);
	}
	sigdelset(&ending, SIGHUP);
	sigdelset(&ending, SIGUSR2);
	pthread_sigmask(SIG_UNBLOCK, &ending, NULL);
}

/* False: another process has taken this one's place. */
static bool
serve_until_told(struct running *r, const sigset_t *waited)
{
	int sig;
	while (sigwait(waited, &sig) == 0)
		if (sig == SIGHUP)
			renew(&r->renewal, NULL);
		else if (sig != SIGUSR2)
			break;
		else if (succeed_run(&r->succeeding))
			return false;
	return true;
}

static void
finish(struct server *server, const sigset_t *waited)
{
	end_at_once_next_time(waited);
	wait_as_lame_duck(server);
	uint64_t drain_ms = server_drain_ms(server);
	notify_say("STOPPING=1\nSTATUS=finishing open requests\nEXTEND_TIMEOUT_USEC=%llu",
		   (unsigned long long)(drain_ms + END_MS) * 1000);
	log_say("twice: finishing open requests, at most %llu s; send the signal again to stop at once",
		(unsigned long long)(drain_ms + 999) / 1000);
}

static bool
is_told_to_end(void *ctx)
{
	const sigset_t *waited = ctx;
	sigset_t ending = *waited;
	sigdelset(&ending, SIGHUP);
	sigdelset(&ending, SIGUSR2);
	return sigtimedwait(&ending, NULL, &(struct timespec){0}) > 0;
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
	static const struct server_orders orders = {.reload = on_reload, .upgrade = on_upgrade};
	struct server_orders mine = orders;
	mine.ctx = r;
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
		announce(&s->config, server);
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
		.renewal = {.lock = PTHREAD_MUTEX_INITIALIZER, .settings = s},
		.succeeding = {.lock = PTHREAD_MUTEX_INITIALIZER,
			       .number = number,
			       .state = heir ? SUCCESSION_RUNNING : SUCCESSION_NONE},
	};
	sigset_t waited;
	char err[512];
	int result = CLI_FAILED;
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
	if (serve_until_told(&running, &waited))
		finish(server, &waited);
	else {
		server_linger(server, is_told_to_end, &waited);
		end_at_once_next_time(&waited);
	}
	server_stop(server);
	result = CLI_FINE;
out:
	if (result != CLI_FINE)
		cli_complain("run", "%s%s", err, way_out(&s->config, err));
	server_destroy(&server);
	return result;
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
	before = heir_called(&number);
	if (settings_init(&s, "run", about, argc, argv, &result) < 0) {
		if (before >= 0)
			heir_begin(before, cli_complaints());
		return result;
	}
	log_set_level(settings_log_level(&s.config));
	process_raise_file_limit(); /* connections are files */
	enum settings_start start = before >= 0 ? SETTINGS_SUCCEED : SETTINGS_START;
	result = settings_fit(&s, "run", start, &found) ? CLI_FINE : CLI_USAGE;
	if (before >= 0)
		heir = heir_begin(before, result == CLI_FINE ? NULL : cli_complaints());
	if (result == CLI_FINE)
		result = serve(&s, heir, number);
	settings_fini(&s);
	return result;
}
