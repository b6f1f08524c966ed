/* mailbox.h - how other threads hand work to a worker: a lock-free stack of letters and an
 * eventfd that wakes its event loop.
 *
 * Threads   mailbox_post from any; mailbox_run only from the owning worker.
 * Memory    letters are embedded in their sender's struct; a letter is in at most one mailbox at a
 *           time and belongs to the mailbox until its function is called.
 */
#ifndef BASE_MAILBOX_H
#define BASE_MAILBOX_H

#include <stdatomic.h>

struct letter {
	struct letter *next;            /* the mailbox's, while posted */
	void (*open)(struct letter *l); /* called once, on the owner's thread */
};

struct mailbox {
	_Atomic(struct letter *) head;
	int fd; /* eventfd: readable when letters wait; register it for reading */
};

int mailbox_init(struct mailbox *m); /* 0, or -1 with errno */
void mailbox_fini(struct mailbox *m);
void mailbox_post(struct mailbox *m, struct letter *l);
/* Opens all waiting letters in the order they were posted; returns how many. */
unsigned mailbox_run(struct mailbox *m);

#endif
