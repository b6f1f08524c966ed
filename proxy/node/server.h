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
/* Stops accepting, lets requests under way finish for at most timeouts.drain, joins the threads. */
void server_stop(struct server *s);
/* Saves snapshots, closes the cache. After server_stop. */
void server_destroy(struct server **s);

unsigned server_port(const struct server *s, unsigned listener); /* the bound port */
unsigned server_admin_port(const struct server *s);		 /* 0: there is none */
/* SIGHUP: logs are opened again, and the certificates that fresh names are read again; NULL: the
 * settings could not be read. -1 and a sentence: the certificates of before serve on. */
int server_reload(struct server *s, const struct config *fresh, char *err, size_t err_bytes);
/* Any thread. */
void server_report(struct server *s, struct report *out);

#endif
