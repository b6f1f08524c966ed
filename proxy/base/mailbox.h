/* mailbox.h - how other threads hand work to a worker: a lock-free stack of letters and an
 * eventfd that wakes its event loop.
 *
 * Threads   mailbox_post from any; mailbox_run only from the owning worker.
 * Memory    letters are embedded in their sender's struct; a letter is in at most one mailbox at a
 *           time and belongs to the mailbox until its function is called.
 */
#ifndef BASE_MAILBOX_H
#define BASE_MAILBOX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct letter {
	struct letter *next;		/* the mailbox's, while posted */
	void (*open)(struct letter *l); /* called once, on the owner's thread */
};

typedef void mailbox_nudge_fn(void *ctx);

struct mailbox {
	_Atomic(struct letter *) head;
	int fd; /* eventfd: readable when letters wait; register it for reading */
	/* Set both on the owning thread to spare a system call when the owner writes to itself:
	 * nudge is then called instead of writing to fd, and must see to it that mailbox_run is
	 * called soon. */
	_Atomic(mailbox_nudge_fn *) nudge; /* set last, when the two below hold */
	void *nudge_ctx;
	pthread_t owner;
};

int mailbox_init(struct mailbox *m); /* 0, or -1 with errno */
void mailbox_fini(struct mailbox *m);
void mailbox_post(struct mailbox *m, struct letter *l);
/* From the owning thread, once; others may be posting already. */
void mailbox_adopt(struct mailbox *m, mailbox_nudge_fn *nudge, void *ctx);
/* Opens all waiting letters in the order they were posted; returns how many. drain: fd was
 * readable. */
unsigned mailbox_run(struct mailbox *m, bool drain);

#endif
