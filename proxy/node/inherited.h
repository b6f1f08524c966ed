/* inherited.h - listening sockets that a supervisor hands over (sd_listen_fds(3)): those of its
 * socket units, and those that an earlier run of this program gave it to keep (FDSTORE).
 *
 * Clients who connect while the program is away wait in such a socket's queue. Sockets are known by
 * the address they listen at; of several at one address (SO_REUSEPORT) each has a queue of its own,
 * so all of them are taken.
 *
 * A process that is to take another one's place tells the supervisor nothing before it has it: if it
 * does not get so far, the other one goes on with the sockets that it had.
 *
 * Threads   any, for what a process before this one gave, and what is told to the supervisor; the rest one at a time.
 */
#ifndef NODE_INHERITED_H
#define NODE_INHERITED_H

#include <stdbool.h>

struct inherited;

/* Reads LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES, once: then they are gone from the environment. */
struct inherited *inherited_open(void);
/* A socket of the process before this one, for the next inherited_open, which takes it: the entry of
 * `listen` that it is of, and whether the file that it listens at is this process's to remove. */
void inherited_give(const char *listen, int fd, bool is_ours);
/* Closes the sockets that were given and will not be opened. */
void inherited_drop(void);
/* Does a socket listen at the entry? */
bool inherited_listens_at(int fd, const char *listen);
/* Whether one of LISTEN_FDS listens at the entry: before inherited_open, which takes them. */
bool inherited_is_there(const char *listen);
/* The number of sockets that listen at an entry of `listen`; *out gets them, allocated. They are the
 * caller's now. 0: none, and *out is NULL. *is_ours: their file is to be removed at the end. */
unsigned inherited_take(struct inherited *in, const char *listen, int **out, bool *is_ours);
/* Closes what nobody took, with a warning that names it. NULL is fine. */
void inherited_close(struct inherited **in);

/* From here on the supervisor is told nothing; then all of it, and from there on at once again. */
void inherited_hold(void);
void inherited_tell(void);
/* The supervisor gets a copy of a socket that listens at the entry, for the next start. False: there
 * is none that takes it. */
bool inherited_keep(const char *listen, int fd);
/* It keeps none of that entry any more: nobody would accept from them. */
void inherited_forget(const char *listen);

#endif
