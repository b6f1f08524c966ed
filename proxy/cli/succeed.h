/* succeed.h - a running proxy starts the program anew, and that process takes its place.
 *
 * Threads   begin and tell from any; run from the one that waits for signals.
 */
#ifndef CLI_SUCCEED_H
#define CLI_SUCCEED_H

#include "proxy/base/buf.h"
#include "proxy/node/server.h"

#include <pthread.h>

enum succession { SUCCESSION_NONE, SUCCESSION_RUNNING, SUCCESSION_DONE, SUCCESSION_FAILED };

struct succeeding {
	struct server *server;
	pthread_mutex_t lock; /* all that follows */
	enum succession state;
	unsigned long number; /* of the upgrade */
	char reason[512];
	struct server_heir heir; /* done: who it is, and sockets for another one */
};

/* GET and POST /upgrade: JSON (admin.h). begin: SIGUSR2 is sent to this process, unless an upgrade is
 * under way. */
void succeed_tell(struct succeeding *s, bool begin, struct buf *out);
/* Why the last upgrade failed; "" where it did not. */
void succeed_failure(struct succeeding *s, char *why, size_t bytes);
/* This process has taken another one's place. Until then its state is SUCCESSION_RUNNING: that one may
 * still go on. */
void succeed_settled(struct succeeding *s);
/* The program is started, with the arguments of this process, and takes its place: true, this one is
 * to end (server_linger). False: it goes on; the reason is in the log. */
bool succeed_run(struct succeeding *s);
/* Does a signal wait that ends this process? For server_heir. */
bool succeed_is_told_to_end(void *ctx);
/* Behind that: the other process has ended already, and no supervisor looks after it. */
bool succeed_is_alone(const struct succeeding *s);
/* This process is about to end, and holds nothing any more. again: it becomes the program anew, with the
 * same sockets, in whose queues clients wait meanwhile; it returns only if that fails. */
void succeed_end(struct succeeding *s, bool again);

#endif
