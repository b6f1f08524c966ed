/* server.h - the proxy itself: workers, listeners, the admin server, drain.
 *
 * One thread per worker, each with its own event_base, SO_REUSEPORT listeners, connections and
 * fetcher. Workers share the cache, the pair, the baseline and the flights; nothing else they
 * write.
 */
#ifndef NODE_SERVER_H
#define NODE_SERVER_H

#include "config/name.h"
#include "proxy/admin/report.h"

struct config;
struct server;

/* Opens everything the configuration names: cache directory, filter snapshot, origins, listeners
 * (bound, not yet accepting), the admin server (which answers from here on). The config is borrowed
 * until server_destroy. -1 and a sentence. */
int server_create(struct server **out, const struct config *c, const char *version, char *err,
		  size_t err_bytes);
/* The same in the place of a process that still serves (heir.h), which is told when to stop; the server
 * has the heir from here on, and the admin server does not answer before server_accede. */
struct heir;
int server_create_heir(struct server **out, const struct config *c, const char *version,
		       struct heir *heir, char *err, size_t err_bytes);
/* The old process stops, and gives what it knows. -1 and a sentence: it goes on, once this one has
 * ended (server_destroy). */
int server_accede(struct server *s, char *err, size_t err_bytes);
/* After server_start: the old process may go. */
void server_settle(struct server *s);
/* Why this server does not take the other one's place; before server_destroy. */
void server_refuse(struct server *s, const char *why);
int server_start(struct server *s); /* threads accept from here on */
/* /healthz says 503 from here on, and connections end with their next answer; everything else goes on. Returns timeouts.lame_duck of now. */
uint64_t server_lame_duck(struct server *s);
/* timeouts.drain of now. */
uint64_t server_drain_ms(struct server *s);
/* Stops accepting, lets requests under way finish for at most timeouts.drain, joins the threads. */
void server_stop(struct server *s);
/* Saves snapshots, closes the cache. After server_stop. This waits for disks. */
void server_destroy(struct server **s);

unsigned server_port(const struct server *s, unsigned listener); /* the bound port */
unsigned server_admin_port(const struct server *s);		 /* 0: there is none */
/* Whether a socket of its listens at the entry (config_listen_same), or at admin. Not beside server_reload. */
bool server_listens(const struct server *s, const char *listen);
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
/* Another process takes this one's place; end: of the stream to it (handover.h), taken if that happens.
 * 0: it serves, and this one writes nothing and accepts nobody any more: server_linger, server_stop.
 * -1 and a sentence: it was killed, and all is as it was. Any thread but a worker's.
 * The other one may be a server of this process (pid 0), where this server has no directory (cache_waits): what is
 * told to be forgotten here makes that one forget everything, for its hashes are of another seed. */
struct server_heir {
	int pid;
	/* Of pid 0: it will not start to serve. False: it does already. */
	bool (*stands_down)(void *ctx);
	bool (*is_over)(void *ctx); /* asked now and then: has this process been told to end? */
	void *ctx;
	/* 0: copies of the listening sockets, the caller's, which nobody accepts from. */
	int *sockets;
	unsigned socket_n;
};
int
server_bequeath(struct server *s, int end, struct server_heir *heir, char *err, size_t err_bytes);
/* Until the last client has gone, or timeouts.drain, or is_over, which is returned; a second at least, so
 * that somebody is there if the other process ends at once. */
bool server_linger(struct server *s, bool (*is_over)(void *ctx), void *ctx);
/* It has none of its directories. Any thread. */
bool server_is_without_directory(const struct server *s);
/* Do directories wait that another server of this process can have with what they hold (cache_waits)? *all: no other is
 * away. Any thread. */
bool server_may_return(const struct server *s, bool *all);
/* A copy of the configuration that is in use, the caller's. Any thread. */
void server_copy_config(struct server *s, struct config *to);
/* The admin server may ask for these; before server_start. */
struct server_orders {
	/* POST /reload: JSON into out. 0: applied; -1: out says why not. On the admin's thread. */
	int (*reload)(void *ctx, struct buf *out);
	/* When a configuration was read last, and whether another one was refused since. Any thread. */
	void (*reloaded)(void *ctx, int64_t *read_s, bool *refused);
	/* Why the last upgrade failed; "" where it did not. Any thread. */
	void (*upgrade_failed)(void *ctx, char *why, size_t bytes);
	/* GET and POST /upgrade (admin.h). */
	void (*upgrade)(void *ctx, bool begin, struct buf *out);
	void *ctx;
};
void server_take_orders(struct server *s, const struct server_orders *o);
/* Has it a directory? Not where the only one could not be used. Any thread. */
bool server_keeps_files(const struct server *s);
/* Of a server that nobody reloads. */
void server_report(struct server *s, struct report *out);

#endif
