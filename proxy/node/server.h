/* server.h - the proxy itself: workers, listeners, the admin server, drain.
 *
 * One thread per worker, each with its own event_base, SO_REUSEPORT listeners, connections and
 * fetcher. Workers share the cache, the pair, the baseline and the flights; nothing else they
 * write.
 */
#ifndef NODE_SERVER_H
#define NODE_SERVER_H

#include "config/config.h"
#include "proxy/admin/report.h"

struct server;

/* Opens everything the configuration names: cache directory, filter snapshot, origins, listeners
 * (bound, not yet accepting), the admin server (which answers from here on). The config is borrowed
 * until server_destroy. -1 and a sentence. */
int server_create(struct server **out, const struct config *c, const char *version, char *err,
		  size_t err_bytes);
int server_start(struct server *s); /* threads accept from here on */
/* /healthz says 503 from here on; everything else goes on. Returns timeouts.lame_duck of now. */
uint64_t server_lame_duck(struct server *s);
/* Stops accepting, lets requests under way finish for at most timeouts.drain, joins the threads. */
void server_stop(struct server *s);
/* Saves snapshots, closes the cache. After server_stop. */
void server_destroy(struct server **s);

unsigned server_port(const struct server *s, unsigned listener); /* the bound port */
unsigned server_admin_port(const struct server *s);		 /* 0: there is none */
/* The access log is opened again, after a rotation. Any thread. */
void server_reopen_log(struct server *s);
/* Applies another configuration, checked as at the start, whole or not at all. Connections stay, and
 * take it with their next request; what needs a restart (config_restart_for) keeps its value. Takes
 * fresh, and leaves it zeroed. 0: all workers have it. -1: nothing has changed; a sentence in err and
 * the setting that it is about ("listen"; "": none). each is called with the
 * name of every setting that differs, and with why it needs a restart, NULL: it is applied; only if
 * all went well. Any thread but a worker's. */
struct server_change {
	void (*each)(void *ctx, const char *setting, const char *why);
	void *ctx;
	char *err;
	size_t err_bytes;
	char setting[CONFIG_NAME_BYTES];
};
int server_reload(struct server *s, struct config *fresh, struct server_change *change);
/* What the admin server may ask for; before server_start. */
struct server_orders {
	/* POST /reload: JSON into out. 0: applied; -1: out says why not. On the admin's thread. */
	int (*reload)(void *ctx, struct buf *out);
	void *ctx;
};
void server_take_orders(struct server *s, const struct server_orders *o);
/* Of a server that nobody reloads. */
void server_report(struct server *s, struct report *out);

#endif
