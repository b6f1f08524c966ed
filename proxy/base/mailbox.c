/* mailbox.c - a Treiber stack taken whole and turned round: posting is one CAS, and only the
 * letter that finds the box empty pays for the wake-up. */
#include "proxy/base/mailbox.h"

#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

int
mailbox_init(struct mailbox *m)
{
	atomic_init(&m->head, NULL);
	atomic_init(&m->nudge, NULL);
	m->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return m->fd < 0 ? -1 : 0;
}

void
mailbox_fini(struct mailbox *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

void
mailbox_post(struct mailbox *m, struct letter *l)
{
	struct letter *head = atomic_load_explicit(&m->head, memory_order_relaxed);
	do
		l->next = head;
	while (!atomic_compare_exchange_weak_explicit(&m->head, &head, l, memory_order_release,
						      memory_order_relaxed));
	if (head)
		return;
	mailbox_nudge_fn *nudge = atomic_load_explicit(&m->nudge, memory_order_acquire);
	if (nudge && pthread_equal(m->owner, pthread_self())) {
		nudge(m->nudge_ctx);
	} else {
		uint64_t one = 1;
		ssize_t n = write(m->fd, &one, sizeof one);
		(void)n; /* EAGAIN: already readable */
	}
}

void
mailbox_adopt(struct mailbox *m, mailbox_nudge_fn *nudge, void *ctx)
{
	m->owner = pthread_self();
	m->nudge_ctx = ctx;
	atomic_store_explicit(&m->nudge, nudge, memory_order_release);
}

unsigned
mailbox_run(struct mailbox *m, bool drain)
{
	if (drain) {
		uint64_t drained;
		ssize_t got = read(m->fd, &drained, sizeof drained);
		(void)got;
	}
	struct letter *l = atomic_exchange_explicit(&m->head, NULL, memory_order_acquire);
	struct letter *in_order = NULL;
	while (l) {
		struct letter *next = l->next;
		l->next = in_order;
		in_order = l;
		l = next;
	}
	unsigned n = 0;
	while (in_order) {
		struct letter *next = in_order->next;
		in_order->open(in_order);
		in_order = next;
		n++;
	}
	return n;
}
