/* run.c - `twice run`: turns the rooms on, in order, and off again. */
#include "proxy/base/address.h"
#include "proxy/base/log.h"
#include "proxy/cli/renew.h"
#include "proxy/cli/settings.h"
#include "proxy/node/notify.h"
#include "proxy/node/server.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* END_MS: what the end takes besides finishing requests: saving what was learnt. */
enum { FILES_WANTED = 1 << 20, END_MS = 30000 };

static const char about[] =
	"Runs the proxy in the foreground. `twice run --origin https://host` alone is a working edge: it\n"
	"listens on port 8080 and keeps its objects in /var/cache/twice. SIGTERM finishes open\n"
	"requests and exits, SIGHUP reopens logs and applies the configuration anew.";

/* ---- before ---------------------------------------------------------------------------------- */

/* Connections are files: as many as we may have. */
static void
raise_file_limit(void)
{
	struct rlimit limit, wanted = {FILES_WANTED, FILES_WANTED};
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= FILES_WANTED)
		return;
	if (setrlimit(RLIMIT_NOFILE, &wanted) == 0) /* root may raise the hard limit too */
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Signals are waited for, not handled: every thread made from here on has them blocked. */
static void
block_signals(sigset_t *waited)
{
	sigemptyset(waited);
	sigaddset(waited, SIGTERM);
	sigaddset(waited, SIGINT);
	sigaddset(waited, SIGHUP);
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

static int
on_reload(void *ctx, struct buf *out)
{
	return renew(ctx, out);
}

/* Load balancers find out and send their clients elsewhere; whoever comes is served. */
static void
wait_as_lame_duck(const struct settings *s, struct server *server)
{
	uint64_t ms = server_lame_duck(server);
	if (!ms)
		return;
	notify_say("STOPPING=1\nSTATUS=/healthz says 503\nEXTEND_TIMEOUT_USEC=%llu",
		   (unsigned long long)(ms + s->config.timeouts.drain_ms + END_MS) * 1000);
	log_say("twice: /healthz says 503, clients are served for %llu s yet; send the signal again to "
		"stop at once",
		(unsigned long long)(ms + 999) / 1000);
	struct timespec left = {.tv_sec = (time_t)(ms / 1000),
				.tv_nsec = (long)(ms % 1000) * 1000000};
	while (nanosleep(&left, &left))
		;
}

static void
serve_until_told(const struct settings *s, struct renewal *renewal, const sigset_t *waited)
{
	int sig;
	while (sigwait(waited, &sig) == 0 && sig == SIGHUP)
		renew(renewal, NULL);
	/* From here a second one ends the process at once; the cache survives that. SIGHUP does
	 * not: a log being rotated must not cut off what is under way. */
	sigset_t ending = *waited;
	sigdelset(&ending, SIGHUP);
	pthread_sigmask(SIG_UNBLOCK, &ending, NULL);
	wait_as_lame_duck(s, renewal->server);
	notify_say("STOPPING=1\nSTATUS=finishing open requests\nEXTEND_TIMEOUT_USEC=%llu",
		   (unsigned long long)(s->config.timeouts.drain_ms + END_MS) * 1000);
	log_say("twice: finishing open requests, at most %llu s; send the signal again to stop at once",
		(unsigned long long)(s->config.timeouts.drain_ms + 999) / 1000);
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

static int
serve(const struct settings *s)
{
	struct server *server = NULL;
	struct renewal renewal = {.lock = PTHREAD_MUTEX_INITIALIZER, .settings = s};
	sigset_t waited;
	char err[512];
	int result = CLI_FAILED;
	block_signals(&waited);
	if (server_create(&server, &s->config, cli_version, err, sizeof(err)) < 0)
		goto out;
	renewal.server = server;
	pthread_mutex_lock(&renewal.lock); /* a change waits until the start has been told */
	server_take_orders(server, &(struct server_orders){on_reload, &renewal});
	bool started = server_start(server) == 0;
	if (started)
		announce(&s->config, server);
	pthread_mutex_unlock(&renewal.lock);
	if (!started) {
		snprintf(err, sizeof(err),
			 "cannot start the worker threads; lower --workers or raise "
			 "the limit of processes");
		goto out;
	}
	notify_say("READY=1\nSTATUS=serving at %s", s->config.listen[0]);
	if (identity_is_root_unsaid(&s->config))
		log_warning("everything runs as root; write user: NAME to become another user, or "
			    "user: root to keep it so");
	serve_until_told(s, &renewal, &waited);
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
	int result;
	if (settings_init(&s, "run", about, argc, argv, &result) < 0)
		return result;
	log_set_level(settings_log_level(&s.config));
	raise_file_limit();
	result = settings_fit(&s, "run", IDENTITY_MAKES, &found) ? serve(&s) : CLI_USAGE;
	settings_fini(&s);
	return result;
}
