/* lane.c - libcurl's socket and timer wishes carried out by libevent, with as few system calls as
 * they can be: what libcurl asks for between two requests of one connection cancels out. */
#include "proxy/origin/lane.h"

#include "proxy/base/mem.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

int64_t
lane_now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* -- time ------------------------------------------------------------------------------------- */

/* The event is only ever moved to an earlier time; when it fires too early it is set again. Most
 * deadlines move on before they come, so most requests do not touch it. */
static void
arm(struct lane *l)
{
	int64_t at = l->wake_at_ms;
	if (l->curl_at_ms && (!at || l->curl_at_ms < at))
		at = l->curl_at_ms;
	if (!at || (l->timer_at_ms && l->timer_at_ms <= at))
		return;
	int64_t ms = at - lane_now_ms();
	if (ms < 0)
		ms = 0;
	struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
	evtimer_add(&l->timer, &tv);
	l->timer_at_ms = at;
}

static int
on_curl_timer(CURLM *multi, long ms, void *arg)
{
	struct lane *l = arg;
	(void)multi;
	l->curl_at_ms = ms < 0 ? 0 : lane_now_ms() + ms;
	return 0;
}

void
lane_wake_at(struct lane *l, int64_t at_ms)
{
	l->wake_at_ms = at_ms;
	arm(l);
}

/* -- turns ------------------------------------------------------------------------------------ */

static void
stop(struct lane *l)
{
	l->inside = true;
	curl_multi_remove_handle(l->multi, l->easy);
	l->inside = false;
	l->busy = false;
}

/* What libcurl has to say after it has worked. The last thing done: the owner may destroy l. */
static void
end_turn(struct lane *l, int running)
{
	l->inside = false;
	if (!l->busy)
		return;
	CURLcode code = CURLE_OK;
	bool done = running == 0;
	if (done) {
		int left;
		CURLMsg *m = curl_multi_info_read(l->multi, &left);
		code = m ? m->data.result : CURLE_ABORTED_BY_CALLBACK;
		stop(l);
	}
	arm(l);
	l->owner->on_turn(l, done, code);
}

static void
turn(struct lane *l, int fd, int bits)
{
	int running = 0;
	l->inside = true;
	if (fd == (int)CURL_SOCKET_TIMEOUT)
		l->curl_at_ms = 0; /* libcurl sets it anew, or has nothing to wait for */
	curl_multi_socket_action(l->multi, fd, bits, &running);
	end_turn(l, running);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct lane *l = arg;
	(void)fd;
	(void)what;
	l->timer_at_ms = 0;
	int64_t now = lane_now_ms();
	if (l->wake_at_ms && l->wake_at_ms <= now) {
		l->wake_at_ms = 0;
		arm(l);
		l->owner->on_wake(l);
	} else if (l->curl_at_ms && l->curl_at_ms <= now) {
		turn(l, CURL_SOCKET_TIMEOUT, 0);
	} else {
		arm(l);
	}
}

/* -- sockets ---------------------------------------------------------------------------------- */

static void
watch_read(struct lane_socket *s, bool on)
{
	if (s->watch_read == on)
		return;
	s->watch_read = on;
	if (on)
		event_add(&s->readable, NULL);
	else
		event_del(&s->readable);
}

static void
watch_write(struct lane_socket *s, bool on)
{
	if (s->watch_write == on)
		return;
	s->watch_write = on;
	if (on)
		event_add(&s->writable, NULL);
	else
		event_del(&s->writable);
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct lane_socket *s = arg;
	(void)what;
	if (s->may_read) {
		turn(s->lane, fd, CURL_CSELECT_IN);
		return;
	}
	/* Paused, or idle: nobody wants to know again. */
	watch_read(s, false);
	if (!s->lane->busy)
		s->lane->owner->on_lost(s->lane);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct lane_socket *s = arg;
	(void)what;
	turn(s->lane, fd, CURL_CSELECT_OUT);
}

static struct lane_socket *
find(struct lane *l, int fd)
{
	for (int i = 0; i < LANE_SOCKETS; i++)
		if (l->sockets[i].fd == fd)
			return &l->sockets[i];
	return NULL;
}

static struct lane_socket *
take(struct lane *l, int fd, bool ours)
{
	struct lane_socket *s = find(l, -1);
	if (!s)
		return NULL;
	struct event_base *base = event_get_base(&l->timer);
	*s = (struct lane_socket){.lane = l, .fd = fd, .ours = ours};
	event_assign(&s->readable, base, fd, EV_READ | EV_PERSIST, on_readable, s);
	event_assign(&s->writable, base, fd, EV_WRITE | EV_PERSIST, on_writable, s);
	return s;
}

static void
drop(struct lane_socket *s)
{
	watch_read(s, false);
	watch_write(s, false);
	s->fd = -1;
}

static int
on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *unused)
{
	struct lane *l = arg;
	struct lane_socket *s = find(l, fd);
	(void)easy;
	(void)unused;
	if (!s && what == CURL_POLL_REMOVE)
		return 0;
	if (!s && !(s = take(l, fd, false)))
		return -1;
	s->may_read = what == CURL_POLL_IN || what == CURL_POLL_INOUT;
	s->may_write = what == CURL_POLL_OUT || what == CURL_POLL_INOUT;
	watch_write(s, s->may_write);
	if (s->may_read)
		watch_read(s, true);
	if (what == CURL_POLL_REMOVE && !s->ours)
		drop(s);
	return 0;
}

static curl_socket_t
on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *a)
{
	struct lane *l = arg;
	(void)purpose;
	l->opened = true;
	int fd = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
	if (fd < 0)
		return CURL_SOCKET_BAD;
	if (!take(l, fd, true)) {
		close(fd);
		return CURL_SOCKET_BAD;
	}
	return fd;
}

static int
on_close(void *arg, curl_socket_t fd)
{
	struct lane_socket *s = find(arg, fd);
	if (s)
		drop(s);
	return close(fd);
}

static struct lane_socket *
kept(const struct lane *l)
{
	for (int i = 0; i < LANE_SOCKETS; i++)
		if (l->sockets[i].fd >= 0 && l->sockets[i].ours)
			return (struct lane_socket *)(uintptr_t)&l->sockets[i];
	return NULL;
}

bool
lane_has_connection(const struct lane *l)
{
	return kept(l) != NULL;
}

/* Bytes of nobody's response would be read as the next one's; libcurl 7.88 takes a readable
 * connection for a live one. */
bool
lane_is_clean(const struct lane *l)
{
	char c;
	struct lane_socket *s = kept(l);
	return s && recv(s->fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

bool
lane_has_read_all(const struct lane *l)
{
	struct lane_socket *s = kept(l);
	return s && !s->may_read;
}

/* -- life ------------------------------------------------------------------------------------- */

static void
set_common(struct lane *l)
{
	CURL *e = l->easy;
	curl_easy_setopt(e, CURLOPT_PRIVATE, l);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, l->error);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, on_open);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, l);
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETFUNCTION, on_close);
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETDATA, l);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_multi_setopt(l->multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
	curl_multi_setopt(l->multi, CURLMOPT_SOCKETDATA, l);
	curl_multi_setopt(l->multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
	curl_multi_setopt(l->multi, CURLMOPT_TIMERDATA, l);
	curl_multi_setopt(l->multi, CURLMOPT_MAXCONNECTS, 1L);
	curl_multi_setopt(l->multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
}

struct lane *
lane_create(struct event_base *base, const struct lane_owner *owner)
{
	struct lane *l = NEW(struct lane);
	l->owner = owner;
	l->multi = curl_multi_init();
	l->easy = curl_easy_init();
	assert(l->multi && l->easy);
	for (int i = 0; i < LANE_SOCKETS; i++)
		l->sockets[i].fd = -1;
	evtimer_assign(&l->timer, base, on_timer, l);
	set_common(l);
	return l;
}

void
lane_destroy(struct lane **pl)
{
	struct lane *l = *pl;
	if (!l)
		return;
	assert(!l->inside);
	if (l->busy)
		stop(l);
	curl_multi_cleanup(l->multi);
	curl_easy_cleanup(l->easy);
	for (int i = 0; i < LANE_SOCKETS; i++)
		if (l->sockets[i].fd >= 0)
			drop(&l->sockets[i]);
	evtimer_del(&l->timer);
	free(l);
	*pl = NULL;
}

void
lane_start(struct lane *l)
{
	assert(!l->busy && !l->inside);
	l->busy = true;
	l->opened = false;
	l->error[0] = 0;
	l->inside = true;
	CURLMcode r = curl_multi_add_handle(l->multi, l->easy);
	l->inside = false;
	assert(r == CURLM_OK);
	turn(l, CURL_SOCKET_TIMEOUT, 0);
}

void
lane_stop(struct lane *l)
{
	assert(!l->inside);
	if (l->busy)
		stop(l);
}

void
lane_pause(struct lane *l, int bits)
{
	assert(l->busy && !l->inside);
	l->inside = true;
	CURLcode r = curl_easy_pause(l->easy, bits);
	l->inside = false;
	if (r != CURLE_OK) {
		stop(l);
		l->owner->on_turn(l, true, r);
		return;
	}
	turn(l, CURL_SOCKET_TIMEOUT, 0);
}
