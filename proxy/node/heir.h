/* heir.h - the new process while it takes an old one's place (handover.h): what it is given, and what
 * it hears until the old one has ended.
 *
 * Threads   one at a time; heir_listen starts one of its own.
 */
#ifndef NODE_HEIR_H
#define NODE_HEIR_H

#include "proxy/cache/forget/purge_log.h"

struct cache;
struct heir;
struct resolver;

/* Is there a process whose place is to be taken? Its end of the stream, as it said in the environment,
 * from where it goes; *number: how it calls this upgrade. -1: there is none. */
int heir_called(unsigned long *number);
/* Says hello, and receives all there is; the sockets of listeners go to inherited_give. When the old
 * process ends meanwhile, this one is alone: it starts as ever, with what it has got. When that one says
 * nothing, or what this one does not understand, it goes on serving, and heir_await says so. problem: why
 * this process cannot start, which is all that is said then, and NULL is returned; NULL: it can. */
struct heir *heir_begin(int end, const char *problem);
/* The same of a server that takes another one's place within a process. It is never alone: when the end of the other
 * one is gone, that serves on; NULL, or later on heir_await, says so. */
struct heir *heir_begin_inside(int end);
/* Without having settled: the old process hears why, and goes on. NULL is fine. */
void heir_refuse(struct heir **h, const char *why);
void heir_end(struct heir **h); /* NULL is fine; after heir_listen: joins the thread */

/* Nobody else uses the cache's directories (any more). */
bool heir_is_alone(const struct heir *h);
/* Has the old process ended? True of one that never was. Any thread. */
bool heir_is_over(const struct heir *h);
/* Borrowed; how many. */
unsigned heir_locks(const struct heir *h, const int **out);
struct str heir_tickets(const struct heir *h);
/* Where the old process found names of origins, to be used until r has looked them up. */
void heir_hint(const struct heir *h, struct resolver *r);
/* The old process's socket of the admin server, the caller's now; -1: none. path: the one at
 * admin_socket; *is_ours: its file is this process's to remove. */
int heir_admin(struct heir *h, bool path, bool *is_ours);

/* The old process is told whose cache was opened, and stops; then this one may write. *forgotten, n:
 * what it was told to forget since it rests; the caller frees. 0; -1 and a sentence. */
int heir_await(struct heir *h, uint64_t fingerprint, struct purge_entry **forgotten, size_t *n,
	       char *err, size_t err_bytes);
/* From here on a thread forgets in c what the old one is told, and when that has ended, c may empty
 * segments. -1: there is no thread to be had. */
int heir_listen(struct heir *h, struct cache *c);
/* This process serves. After heir_listen; there is no way back. */
void heir_settle(struct heir *h);

#endif
