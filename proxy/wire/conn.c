/* conn.c - bytes in, bytes out, and when a connection ends.
 *
 * The loop in conn_drive is the whole life: finish the transaction under way, then look for the
 * next head, then read. It stops when it has to wait, and says for what (conn_wait), so that every
 * wait has a time limit.
 */
#include "proxy/wire/conn.h"

#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/serve/txn.h"
#include "proxy/http/h1_parse.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Requests of one connection answered before others have their turn. */
enum { TURN_MOST = 64 };

/* ---- waiting ------------------------------------------------------------------------------- */

static void
wait_remove(struct conn *c)
{
	struct wait_list *l = &c->worker->waits[c->waiting];
	if (!c->wait_prev)
		return;
	*c->wait_prev = c->wait_next;
	if (c->wait_next)
		c->wait_next->wait_prev = c->wait_prev;
	else
		l->last = c->wait_prev;
	c->wait_prev = NULL;
}

/* Bytes in the socket that the client has not acknowledged. */
static int
unsent(const struct conn *c)
{
	int n = 0;
	return ioctl(c->fd, SIOCOUTQ, &n) == 0 ? n : 0;
}

void
conn_wait(struct conn *c, enum waiting what)
{
	wait_remove(c);
	if (what == WAIT_SEND)
		c->unsent = unsent(c);
	c->waiting = (uint8_t)what;
	if (what == WAIT_NOTHING)
		return;
	struct wait_list *l = &c->worker->waits[what];
	c->wait_since_ms = now_ms();
	c->wait_next = NULL;
	c->wait_prev = l->last;
	*l->last = c;
	l->last = &c->wait_next;
}

/* ---- socket -------------------------------------------------------------------------------- */

static void
free_conn(struct conn *c)
{
	struct worker *w = c->worker;
	wait_remove(c);
	event_del(&c->ev);
	close(c->fd);
	buf_fini(&c->in);
	*c->prev = c->next;
	if (c->next)
		c->next->prev = c->prev;
	w->conn_count--;
	atomic_fetch_sub_explicit(w->connections, 1, memory_order_relaxed);
	metrics_add(&w->metrics, METRIC_CLOSED, 1);
	free(c);
}

void
conn_close(struct conn *c)
{
	if (c->txn)
		txn_abandon(c->txn); /* clears c->txn */
	free_conn(c);
}

/* One read into scratch at p; sets readable, eof, broken. Bytes read, 0 for none. */
static size_t
read_some(struct conn *c, char *p, size_t max)
{
	for (;;) {
		ssize_t n = recv(c->fd, p, max, 0);
		if (n > 0) {
			/* A short read emptied the socket: what comes next is a new edge. But for
			 * the end, if that came with these bytes. */
			c->readable = (size_t)n == max || c->ending;
			return (size_t)n;
		}
		if (n == 0)
			c->eof = true;
		else if (errno == EINTR)
			continue;
		else if (errno != EAGAIN && errno != EWOULDBLOCK)
			c->eof = c->broken = true;
		c->readable = false;
		return 0;
	}
}

/* What still lies in the scratch goes to the connection's own buffer. */
void
conn_keep_view(struct conn *c)
{
	if (c->view.n)
		buf_add_str(&c->in, c->view);
	c->view = (struct str){0};
}

static struct str
waiting_input(const struct conn *c)
{
	return c->view.n ? c->view : (struct str){c->in.p + c->in_at, c->in.n - c->in_at};
}

struct str
conn_input(struct conn *c)
{
	struct str have = waiting_input(c);
	if (have.n)
		return have;
	if (c->readable && !c->eof) {
		size_t n = read_some(c, c->worker->scratch, SCRATCH_BYTES);
		c->view = (struct str){c->worker->scratch, n};
	}
	return c->view;
}

bool
conn_read_more(struct conn *c, size_t most)
{
	conn_keep_view(c);
	size_t have = waiting_input(c).n;
	if (!c->readable || c->eof || have >= most)
		return false;
	size_t want = most - have;
	char *scratch = c->worker->scratch;
	size_t n = read_some(c, scratch, want < SCRATCH_BYTES ? want : SCRATCH_BYTES);
	buf_add(&c->in, scratch, n);
	return n > 0;
}

void
conn_consume(struct conn *c, size_t n)
{
	c->scanned = 0;
	if (c->view.n) {
		assert(n <= c->view.n);
		c->view = str_from(c->view, n);
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

ssize_t
conn_write(struct conn *c, const struct iovec *iov, int n)
{
	if (c->broken)
		return -1;
	for (;;) {
		struct msghdr m = {.msg_iov = (struct iovec *)(uintptr_t)iov,
				   .msg_iovlen = (size_t)n};
		ssize_t sent = sendmsg(c->fd, &m, MSG_NOSIGNAL);
		if (sent >= 0) {
			metrics_add(&c->worker->metrics, METRIC_BYTES_TO_CLIENTS, (uint64_t)sent);
			return sent;
		}
		if (errno == EINTR)
			continue;
		if (errno == EAGAIN || errno == EWOULDBLOCK)
			return 0;
		c->broken = true;
		return -1;
	}
}

void
conn_peer(const struct conn *c, char *out)
{
	if (!inet_ntop(c->family, &c->peer, out, INET6_ADDRSTRLEN))
		strcpy(out, "unknown");
}

/* ---- life ---------------------------------------------------------------------------------- */

/* A complete head at the front of the input becomes a transaction; false: there is none yet. */
static bool
begin_txn(struct conn *c)
{
	const struct config *cf = c->worker->serve.settings->config;
	struct str in = conn_input(c);
	size_t skip = h1_skip_empty_lines(in.p, in.n);
	if (skip) {
		conn_consume(c, skip);
		in = waiting_input(c);
	}
	if (in.n == 0)
		return false;
	size_t head = h1_head_bytes(in.p, in.n, &c->scanned);
	if (head == 0 && in.n <= cf->limits.head_bytes)
		return false;
	bool over = head == 0 || head > cf->limits.head_bytes;
	conn_wait(c, WAIT_NOTHING); /* for the client: its head is here */
	c->txn = txn_begin(c, (struct str){in.p, over ? in.n : head}, over);
	conn_consume(c, over ? in.n : head);
	conn_keep_view(c);
	return true;
}

/* Nothing to do but wait for the client's next bytes; may free c. */
static void
wait_for_head(struct conn *c)
{
	bool begun = waiting_input(c).n > 0;
	if (c->eof || (c->worker->serve.draining && !begun)) {
		free_conn(c);
		return;
	}
	conn_keep_view(c);
	/* The head's limit runs from its first byte: a drip does not extend it. */
	if (!begun)
		conn_wait(c, WAIT_IDLE);
	else if (c->waiting != WAIT_HEADER)
		conn_wait(c, WAIT_HEADER);
}

/* Throws away what a client still sends to a connection already answered; may free it. */
static void
linger_on(struct conn *c)
{
	for (int i = 0; i < 16 && c->readable && !c->eof; i++)
		read_some(c, c->worker->scratch, SCRATCH_BYTES);
	if (c->eof)
		free_conn(c);
}

/* Closing right away with unread input would reset the connection and could destroy the answer on
 * its way (RFC 9112 9.6): shut down our side, throw away what comes, for a bounded while. */
static void
linger(struct conn *c)
{
	if (c->broken || c->eof || shutdown(c->fd, SHUT_WR)) {
		free_conn(c);
		return;
	}
	c->lingering = true;
	c->view = (struct str){0};
	buf_fini(&c->in);
	conn_wait(c, WAIT_HEADER);
	linger_on(c);
}

/* One step of the transaction under way. False: conn_drive has nothing more to do, or c is gone. */
static bool
drive_txn(struct conn *c)
{
	enum txn_next next = txn_run(c->txn);
	if (next == TXN_WAITS) {
		conn_keep_view(c);
		return false;
	}
	txn_finish(c->txn); /* clears c->txn */
	if (next == TXN_LINGER) {
		linger(c);
		return false;
	}
	if (next == TXN_RESET) {
		struct linger at_once = {.l_onoff = 1};
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
	}
	if (next != TXN_KEEP || c->broken) {
		free_conn(c);
		return false;
	}
	conn_wait(c, WAIT_NOTHING);
	return true;
}

void
conn_drive(struct conn *c)
{
	size_t most = c->worker->serve.settings->config->limits.head_bytes + 1;
	if (c->lingering) {
		linger_on(c);
		return;
	}
	for (int requests = 0;;) {
		if (c->txn && !drive_txn(c))
			return;
		if (requests++ == TURN_MOST) {
			conn_keep_view(c);
			event_active(&c->ev, EV_WRITE, 0);
			return;
		}
		if (begin_txn(c))
			continue;
		if (!conn_read_more(c, most) && !(c->readable && !c->eof)) {
			wait_for_head(c);
			return;
		}
	}
}

static void
on_event(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	struct conn *c = arg;
	if (what & EV_CLOSED)
		c->ending = true;
	if (what & (EV_READ | EV_CLOSED))
		c->readable = true;
	conn_drive(c);
}

void
conn_accept(struct worker *w, int fd, const struct sockaddr *peer)
{
	struct conn *c = NEW(struct conn);
	int one = 1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	c->worker = w;
	c->fd = fd;
	c->family = (uint8_t)peer->sa_family;
	if (peer->sa_family == AF_INET6)
		c->peer.v6 = ((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr;
	else
		c->peer.v4 = ((const struct sockaddr_in *)(const void *)peer)->sin_addr;
	c->next = w->conns;
	c->prev = &w->conns;
	if (c->next)
		c->next->prev = &c->next;
	w->conns = c;
	w->conn_count++;
	event_assign(&c->ev, w->base, fd, EV_READ | EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST,
		     on_event, c);
	if (event_add(&c->ev, NULL)) {
		log_error("cannot watch a new connection: out of memory or descriptors");
		free_conn(c);
		return;
	}
	conn_wait(c, WAIT_HEADER); /* the first head is due, unlike between requests */
}

void
conn_timeout(struct conn *c)
{
	/* The kernel wakes us when much of the socket's buffer is free: a client that takes little
	 * by little is slow, not gone. */
	if (c->waiting == WAIT_SEND && unsent(c) < c->unsent) {
		conn_wait(c, WAIT_SEND);
		return;
	}
	if (c->lingering || c->waiting == WAIT_IDLE || c->waiting == WAIT_SEND ||
	    (!c->txn && waiting_input(c).n == 0)) {
		conn_close(c);
		return;
	}
	if (!c->txn) { /* a head begun and not finished */
		c->txn = txn_begin_fault(c, &fault_HEADER_TIMEOUT);
		conn_drive(c);
		return;
	}
	enum waiting was = (enum waiting)c->waiting;
	conn_wait(c, WAIT_NOTHING);
	txn_timeout(c->txn, was);
	conn_drive(c);
}

void
conn_begin_drain(struct conn *c)
{
	if (c->txn)
		return;
	c->readable = true; /* what came and was not looked at yet is still answered */
	conn_drive(c);
}
