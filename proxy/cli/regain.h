/* regain.h - a directory that the program started without can be used again, with what it holds: another server of this
 * process opens it, and takes the place of the first one.
 *
 * The hashes of keys are made with a seed that lies in the directory; a server that could not read it has made one of
 * its own, and so it never finds what is stored there. The second server is made with the configuration that is in
 * use, while the first one serves, and then sockets and all else are handed over as in an upgrade (handover.h). The
 * process, its program and its supervisor are the same. What was in RAM is lost, as at a restart. If anything fails the
 * first server goes on; it is tried again, three times in all.
 *
 * Threads   one: the one that waits for signals.
 */
#ifndef CLI_REGAIN_H
#define CLI_REGAIN_H

#include "proxy/node/server.h"

#include <stdbool.h>

struct regaining;

struct regaining *regain_create(void);
/* May there be something to do later on? */
bool regain_looks(const struct regaining *g, const struct server *s);
/* Once a second: is it time to try? */
bool regain_is_due(struct regaining *g, struct server *s);
/* Returns the server that serves now: another one, to which orders belong, or s. */
struct server *
regain_run(struct regaining *g, struct server *s, const struct server_orders *orders);
/* The first server ends with its last clients, and its log is reopened too. */
void regain_reopen_log(struct regaining *g);
/* The first server lets the requests under way finish, for at most timeouts.drain, and ends. */
void regain_drain(struct regaining *g);
void regain_stop(struct regaining *g); /* waits for that */
/* Behind the end of the other server, which has the configuration from here. False: a thread stands still for a disk, so
 * that the process is to end without cleaning up. */
bool regain_destroy(struct regaining **g);

#endif
