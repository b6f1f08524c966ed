/* lane.c - a socket on the event loop, touched as seldom as can be. */
#include "proxy/origin/lane.h"

#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/origin/origin_inside.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* These must hold between two events. O(1). */
static void
check(const struct lane *l)
{
	assert(l->owner && (l->fd >= 0 || l->dial));
	assert(l->fd >= 0 || (!l->reads && !l->writes));
	assert(l->fd < 0 || l->tls == (l->dial != NULL));
	assert(l->wake_at_ms >= 0 && l->timer_at_ms >= 0);
}

/* -- time -------------------------------------------------------------------------------------- */

/* The event is only ever moved to an earlier time; when it fires too early it is set again. Most
 * deadlines move on before they come, so most requests do not touch it. */
static void
arm(struct lane *l)
{
	if (!l->wake_at_ms || (l->timer_at_ms && l->timer_at_ms <= l->wake_at_ms))
		return;
	int64_t ms = l->wake_at_ms - lane_now_ms();
	if (ms < 0)
		ms = 0;
	struct timeval tv = {ms / 1000, ms % 1000 * 1000};
	evtimer_add(&l->timer, &tv);
	l->timer_at_ms = l->wake_at_ms;
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct lane *l = arg;
	(void)fd;
	(void)what;
	check(l);
	l->timer_at_ms = 0;
	if (l->wake_at_ms && l->wake_at_ms <= lane_now_ms()) {
		l->wake_at_ms = 0;
		l->owner->on_wake(l);
	} else {
		arm(l);
	}
}

void
lane_wake_at(struct lane *l, int64_t at_ms)
{
	l->wake_at_ms = at_ms;
	arm(l);
}

/* -- bytes ------------------------------------------------------------------------------------- */

ssize_t
lane_send(struct lane *l, const char *p, size_t n)
{
	return l->dial ? dial_send(l->dial, p, n) : send(l->fd, p, n, MSG_NOSIGNAL);
}

ssize_t
lane_recv(struct lane *l, char *p, size_t n)
{
	return l->dial ? dial_recv(l->dial, p, n) : recv(l->fd, p, n, 0);
}

void
lane_end(struct lane *l)
{
	if (l->dial)
		dial_end(l->dial);
	shutdown(l->fd, SHUT_WR);
}

/* TLS may have a record in hand that the socket knows nothing of. */
bool
lane_may_have_more(const struct lane *l, size_t got, size_t room)
{
	return l->dial || got == room;
}

bool
lane_is_clean(const struct lane *l)
{
	char c;
	return recv(l->fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

bool
lane_ended_well(const struct lane *l)
{
	return !l->dial || dial_farewell(l->dial);
}

const char *
lane_alert(const struct lane *l)
{
	return l->dial ? dial_alert(l->dial) : NULL;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct lane *l = arg;
	(void)fd;
	(void)what;
	check(l);
	clock_begin_event();
	l->owner->on_readable(l);
	clock_end_event();
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct lane *l = arg;
	(void)fd;
	(void)what;
	check(l);
	l->owner->on_writable(l);
}

static void
set(struct event *e, bool *is, bool want)
{
	if (*is == want)
		return;
	assert(event_initialized(e));
	*is = want;
	if (want)
		event_add(e, NULL);
	else
		event_del(e);
}

void
lane_watch(struct lane *l, bool read, bool write)
{
	set(&l->readable, &l->reads, read);
	set(&l->writable, &l->writes, write);
}

void
lane_read_now(struct lane *l)
{
	set(&l->readable, &l->reads, true); /* first: libevent does not add an active event */
	event_active(&l->readable, EV_READ, 0);
}

/* -- life -------------------------------------------------------------------------------------- */

static void
on_dialed(void *ctx, CURLcode code, int fd, const char *sentence)
{
	struct lane *l = ctx;
	if (code == CURLE_OK) {
		struct event_base *base = event_get_base(&l->timer);
		l->fd = fd;
		l->peer = *dial_peer(l->dial);
		event_assign(&l->readable, base, fd, EV_READ | EV_PERSIST, on_readable, l);
		event_assign(&l->writable, base, fd, EV_WRITE | EV_PERSIST, on_writable, l);
		if (!l->tls)
			dial_destroy(&l->dial);
		lane_watch(l, true, false);
	}
	l->owner->on_open(l, code, sentence);
}

struct lane *
lane_open(struct dials *dials, const struct lane_owner *owner)
{
	struct lane *l = NEW(struct lane);
	l->owner = owner;
	l->fd = -1;
	l->tls = dials->origin->tls;
	evtimer_assign(&l->timer, dials->base, on_timer, l);
	l->dial = dial_create(dials, on_dialed, l);
	return l;
}

void
lane_close(struct lane **pl)
{
	struct lane *l = *pl;
	if (l->fd >= 0) {
		event_del(&l->readable);
		event_del(&l->writable);
	}
	evtimer_del(&l->timer);
	if (l->fd >= 0 && !l->dial)
		close(l->fd);
	dial_destroy(&l->dial);
	free(l);
	*pl = NULL;
}
