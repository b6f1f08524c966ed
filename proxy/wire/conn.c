/* conn.c - bytes in, bytes out, and what a connection waits for. */
#include "proxy/wire/conn.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/base/page_cache.h"
#include "proxy/serve/stream.h"
#include "proxy/wire/clients.h"
#include "proxy/wire/room.h"
#include "proxy/wire/tls_server.h"

#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- waiting ------------------------------------------------------------------------------- */

/* Bytes in the socket that the client has not acknowledged. */
static int
unsent(const struct conn *c)
{
	int n = 0;
	if (ioctl(c->fd, SIOCOUTQ, &n))
		n = 0;
	return c->tls ? n + (int)tls_unsent(c->tls) : n;
}

int
conn_taken(const struct conn *c)
{
	return c->unsent - unsent(c);
}

void
conn_wait(struct conn *c, enum waiting what)
{
	conn_waits_leave(c);
	if (waiting_is_send(what))
		c->unsent = unsent(c);
	conn_waits_enter(c, what);
}

void
conn_wake(struct conn *c)
{
	if (!c->driving)
		event_active(&c->ev, EV_WRITE, 0);
}

/* ---- bytes in ------------------------------------------------------------------------------ */

static void
fail_input(struct conn *c)
{
	c->input = INPUT_OVER;
	c->broken = true;
}

/* As recv. more: there may be more to read, without another event. */
static ssize_t
receive(struct conn *c, char *p, size_t max, bool *more)
{
	if (c->tls && c->waiting != WAIT_LINGER)
		return tls_recv(c->tls, p, max, more);
	ssize_t n = recv(c->fd, p, max, 0);
	/* A short read emptied the socket: what comes next is a new edge. */
	*more = n == (ssize_t)max;
	return n;
}

/* One read; sets readable, input, broken. Bytes read, 0 for none. */
static size_t
read_some(struct conn *c, char *p, size_t max)
{
	for (;;) {
		bool more = false;
		ssize_t n = receive(c, p, max, &more);
		c->news = false;
		if (n > 0) {
			/* The end may have come with these bytes. */
			c->readable = more || c->input == INPUT_ENDING;
			return (size_t)n;
		}
		if (n == 0)
			c->input = INPUT_OVER;
		else if (errno == EINTR)
			continue;
		else if (errno != EAGAIN && errno != EWOULDBLOCK)
			fail_input(c);
		c->readable = false;
		return 0;
	}
}

/* Input of a connection that still lies in the scratch goes to its own buffer. */
static void
keep_view(struct wire *w)
{
	if (w->view_of && w->view.n)
		buf_add_str(&w->view_of->in, w->view);
	w->view_of = NULL;
	w->view = (struct str){0};
}

struct str
conn_input(const struct conn *c)
{
	const struct wire *w = c->wire;
	return w->view_of == c ? w->view : str_from(buf_str(&c->in), c->in_at);
}

bool
conn_read(struct conn *c, size_t most)
{
	struct wire *w = c->wire;
	size_t have = conn_input(c).n;
	if (!c->readable || c->input == INPUT_OVER || have >= most)
		return false;
	keep_view(w);
	size_t want = most - have, n;
	want = want < SCRATCH_BYTES ? want : SCRATCH_BYTES;
	if (have) {
		n = read_some(c, buf_room(&c->in, want), want);
		buf_added(&c->in, n);
		return n > 0;
	}
	n = read_some(c, w->scratch, want);
	w->view_of = n ? c : NULL;
	w->view = (struct str){w->scratch, n};
	return n > 0;
}

void
conn_consume(struct conn *c, size_t n)
{
	struct wire *w = c->wire;
	c->scanned = 0;
	c->line_seen = false;
	if (w->view_of == c) {
		assert(n <= w->view.n);
		w->view = str_from(w->view, n);
		if (w->view.n == 0)
			w->view_of = NULL;
		return;
	}
	c->in_at += n;
	assert(c->in_at <= c->in.n);
	if (c->in_at == c->in.n) {
		buf_fini(&c->in); /* an idle connection holds no buffer */
		c->in_at = 0;
	} else if (c->in_at > 64 << 10) {
		buf_consume(&c->in, c->in_at);
		c->in_at = 0;
	}
}

/* ---- without taking it --------------------------------------------------------------------- */

/* A record that says that the client sends no more is shorter than that; requests seldom are. */
enum { ALERT_MOST = 64 };

ssize_t
conn_peek(const struct conn *c, char *p, size_t max)
{
	ssize_t n;
	do
		n = recv(c->fd, p, max, MSG_PEEK | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	return n;
}

bool
conn_take(const struct conn *c, char *p, size_t n)
{
	return recv(c->fd, p, n, 0) == (ssize_t)n;
}

bool
conn_has_come(const struct conn *c)
{
	char byte;
	return conn_peek(c, &byte, 1) == 1;
}

/* Behind bytes that nobody has read yet. */
static bool
was_reset(const struct conn *c)
{
	int error = 0;
	socklen_t n = sizeof error;
	return getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0 && error;
}

void
conn_look(struct conn *c)
{
	char bytes[ALERT_MOST];
	if (!c->news)
		return;
	c->news = false;
	ssize_t n = conn_peek(c, bytes, sizeof bytes);
	if (n == 0 && c->input == INPUT_OPEN)
		c->input = INPUT_ENDING;
	else if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
		fail_input(c);
	else if (n > 0 && was_reset(c))
		fail_input(c);
	else if (n > 0 && n < ALERT_MOST && c->input == INPUT_OPEN && c->tls && tls_look(c->tls))
		c->input = INPUT_ENDING;
}

/* ---- bytes out ----------------------------------------------------------------------------- */

/* A copy of so little costs less than what the kernel does for a second piece. */
static ssize_t
send_gathered(struct conn *c, const struct iovec *iov, unsigned n, int flags)
{
	char *text = c->wire->gather;
	size_t bytes = 0;
	for (unsigned i = 0; i < n; i++) {
		memcpy(text + bytes, iov[i].iov_base, iov[i].iov_len);
		bytes += iov[i].iov_len;
	}
	return send(c->fd, text, bytes, flags);
}

static ssize_t
send_pieces(struct conn *c, const struct iovec *iov, unsigned n, bool more)
{
	size_t bytes = 0;
	int flags = MSG_NOSIGNAL | (more ? MSG_MORE : 0);
	if (c->tls)
		return tls_send(c->tls, iov, n);
	if (n == 1)
		return send(c->fd, iov->iov_base, iov->iov_len, flags);
	for (unsigned i = 0; i < n; i++)
		bytes += iov[i].iov_len;
	if (bytes <= GATHER_MOST)
		return send_gathered(c, iov, n, flags);
	struct msghdr m = {.msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = n};
	return sendmsg(c->fd, &m, flags);
}

/* Says what came of a send as conn_write says it. */
static ssize_t
note_sent(struct conn *c, ssize_t sent)
{
	if (sent >= 0) {
		metrics_add(c->wire->o.metrics,
			    c->listener->sibling ? METRIC_BYTES_TO_SIBLINGS
						 : METRIC_BYTES_TO_CLIENTS,
			    (uint64_t)sent);
		return sent;
	}
	if (errno == EAGAIN || errno == EWOULDBLOCK) {
		c->writable = false;
		return 0;
	}
	c->broken = true;
	return -1;
}

ssize_t
conn_write(struct conn *c, const struct iovec *iov, unsigned n, bool more)
{
	ssize_t sent;
	if (c->broken)
		return -1;
	do
		sent = send_pieces(c, iov, n, more);
	while (sent < 0 && errno == EINTR);
	return note_sent(c, sent);
}

static bool
is_here(const struct file_piece *piece)
{
	return (!piece->until_ms || now_ms() < atomic_load(piece->until_ms)) &&
	       page_cache_has(piece->fd, piece->view, piece->at, piece->n);
}

ssize_t
conn_write_file(struct conn *c, const struct file_piece *piece)
{
	ssize_t sent;
	assert(conn_sends_files(c));
	int flushed = conn_flush(c);
	if (flushed <= 0)
		return flushed;
	if (!piece->is_here && !is_here(piece))
		return CONN_FILE_NOT_NOW;
	do {
		off_t at = (off_t)piece->at;
		sent = sendfile(c->fd, piece->fd, &at, piece->n);
	} while (sent < 0 && errno == EINTR);
	bool unread = sent == 0 || (sent < 0 && (errno == EIO || errno == EINVAL ||
						 errno == ENOSYS || errno == EOVERFLOW));
	if (unread)
		return CONN_FILE_UNREAD;
	if (sent > 0)
		metrics_add(c->wire->o.metrics, METRIC_BYTES_FROM_FILES, (uint64_t)sent);
	return note_sent(c, sent);
}

int
conn_flush(struct conn *c)
{
	int done = c->broken ? -1 : c->tls ? tls_flush(c->tls) : 1;
	if (done == 0)
		c->writable = false;
	else if (done < 0)
		c->broken = true;
	return done;
}

void
conn_say(const struct conn *c, struct str text)
{
	ssize_t n = send(c->fd, text.p, text.n, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)n;
}

bool
conn_encrypt(struct conn *c, struct tls_certs *certs)
{
	assert(!c->tls);
	c->tls = tls_create(&c->wire->desk, certs, c->fd);
	return c->tls != NULL;
}

bool
conn_is_for(const struct conn *c, struct str authority)
{
	return !c->tls || !tls_server_is_strict(c->listener->tls) || tls_is_for(c->tls, authority);
}

void
conn_link(const struct conn *c, struct stream_link *out)
{
	*out = (struct stream_link){0};
	if (c->tls)
		tls_link(c->tls, out);
}

/* ---- life ---------------------------------------------------------------------------------- */

struct conn *
conn_open(struct wire *w, const struct arrival *a, const struct front *front,
	  event_callback_fn on_event)
{
	struct conn *c = NEW(struct conn);
	int one = 1;
	setsockopt(a->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	c->wire = w;
	c->fd = a->fd;
	c->listener = a->listener;
	c->front = front;
	conn_set_peer(c, (const struct sockaddr *)&a->peer);
	c->next = w->conns;
	c->prev = &w->conns;
	if (c->next)
		c->next->prev = &c->next;
	w->conns = c;
	w->conn_count++;
	event_assign(&c->ev, w->o.base, c->fd, EV_READ | EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST,
		     on_event, c);
	if (event_add(&c->ev, NULL)) {
		log_error("cannot watch a new connection: out of memory or descriptors");
		conn_free(c);
		return NULL;
	}
	conn_wait(c, WAIT_IDLE);
	return c;
}

void
conn_end_handshake(struct conn *c)
{
	struct sockaddr_storage peer;
	if (!c->shaking)
		return;
	c->shaking = false;
	conn_peer_address(c, &peer);
	clients_leave(tls_server_handshakes(c->listener->tls), (struct sockaddr *)&peer);
}

void
conn_spoil(struct conn *c)
{
	if (c->tls)
		c->tls->write_broken = true;
}

void
conn_free(struct conn *c)
{
	struct wire *w = c->wire;
	struct sockaddr_storage peer;
	assert(!c->session);
	conn_end_handshake(c);
	conn_waits_leave(c);
	event_del(&c->ev);
	if (c->tls && !c->broken)
		tls_say_end(c->tls);
	tls_destroy(&c->tls);
	close(c->fd);
	if (w->view_of == c)
		w->view_of = NULL;
	buf_fini(&c->in);
	places_forget(w->places, c);
	if (w->next_conn == c)
		w->next_conn = c->next;
	*c->prev = c->next;
	if (c->next)
		c->next->prev = c->prev;
	assert(w->conn_count > 0);
	w->conn_count--;
	conn_peer_address(c, &peer);
	clients_leave(conn_clients(w, c->listener), (struct sockaddr *)&peer);
	if (!c->listener->sibling) /* nobody of those was counted as accepted */
		metrics_add(w->o.metrics, METRIC_CLOSED, 1);
	free(c);
}

void
conn_free_reset(struct conn *c)
{
	struct linger at_once = {.l_onoff = 1};
	conn_spoil(c);
	setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
	conn_free(c);
}

void
conn_end_output(struct conn *c)
{
	if (c->tls && !c->broken)
		tls_say_end(c->tls);
	if (!c->broken)
		shutdown(c->fd, SHUT_WR);
}

/* Closing right away with unread input would reset the connection and could destroy the answer on
 * its way (RFC 9112 9.6): shut down our side, throw away what comes, for a bounded while. */
void
conn_linger(struct conn *c)
{
	struct wire *w = c->wire;
	bool lingers = c->waiting == WAIT_LINGER;
	if (!lingers && c->tls && !c->broken)
		tls_say_end(c->tls);
	if (!lingers && (c->broken || c->input == INPUT_OVER || shutdown(c->fd, SHUT_WR))) {
		conn_free(c);
		return;
	}
	if (!lingers) {
		if (w->view_of == c)
			w->view_of = NULL;
		buf_fini(&c->in);
		c->in_at = 0;
		conn_wait(c, WAIT_LINGER);
	}
	if (c->readable && c->input != INPUT_OVER)
		keep_view(w);
	for (int i = 0; i < 16 && c->readable && c->input != INPUT_OVER; i++)
		read_some(c, w->scratch, SCRATCH_BYTES);
	if (c->input == INPUT_OVER)
		conn_free(c);
	else if (c->readable) /* no event tells of what is there already */
		conn_wake(c);
}
