/* origin.c - the scripted origin: a listener thread, a thread per connection, one lock. */
#include "tests/kit/inside.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 4096, BODY_KEPT = 64 << 20, DOORS = 6 };

struct script {
	struct script *next;
	char *path;
	struct say *steps;
	int n, at, left;
};

struct link { /* one connection */
	int fd;
	unsigned number, door;
	SSL *tls;
	struct heap wire; /* all it received */
	size_t at;	  /* how much of it is consumed */
	bool ended, closed;
	bool sips; /* say.sips of the request under way */
};

static struct {
	pthread_mutex_t lock;
	pthread_once_t once;
	struct door {
		int fd;	    /* -1: it refuses */
		int holder; /* keeps the port meanwhile; 0: there is none */
		unsigned port;
		in_addr_t address; /* 0: 127.0.0.1 */
		char *url;
		pthread_t thread; /* accepts at fd */
	} doors[DOORS];
	struct script *scripts;
	struct heard **heard;
	int heard_n, heard_cap;
	struct link *links[CONNECTIONS_MAX];
	unsigned link_n;
	struct heap all; /* every byte of all connections, as they came */
	SSL_CTX *tls;
} origin = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

#define LOCKED(code)                                \
	do {                                        \
		pthread_mutex_lock(&origin.lock);   \
		code;                               \
		pthread_mutex_unlock(&origin.lock); \
	} while (0)

/* ---- bytes ----------------------------------------------------------------------------------- */

/* More bytes into the wire buffer; false when the peer has ended. */
static bool
more(struct link *l)
{
	char buf[65536];
	size_t most = l->sips ? sizeof buf / 4 : sizeof buf;
	if (l->sips)
		poll(NULL, 0, 1);
	ssize_t n = l->tls ? SSL_read(l->tls, buf, (int)most) : recv(l->fd, buf, most, 0);
	if (n <= 0) {
		LOCKED(l->ended = true);
		return false;
	}
	LOCKED(heap_add(&l->wire, buf, (size_t)n); heap_add(&origin.all, buf, (size_t)n));
	return true;
}

static bool
put(struct link *l, const char *p, size_t n)
{
	while (n) {
		ssize_t k = l->tls ? SSL_write(l->tls, p, (int)(n > 65536 ? 65536 : n))
				   : send(l->fd, p, n, MSG_NOSIGNAL);
		if (k <= 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

static void
hang_up(struct link *l, bool reset)
{
	if (reset) {
		struct linger now = {.l_onoff = 1, .l_linger = 0};
		setsockopt(l->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	} else if (l->tls) {
		SSL_shutdown(l->tls);
	} else {
		/* Bytes that the peer sent meanwhile are read away, or closing would be a RST. */
		shutdown(l->fd, SHUT_WR);
		struct pollfd p = {.fd = l->fd, .events = POLLIN};
		char buf[65536];
		while (poll(&p, 1, KIT_FOREVER) > 0 && recv(l->fd, buf, sizeof buf, 0) > 0)
			;
	}
	LOCKED(l->closed = true; close(l->fd); l->fd = -1);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* NULL: it did not show one. */
static const char *
name_of_client(const struct link *l)
{
	char name[256] = "";
	X509 *shown = l->tls ? SSL_get1_peer_certificate(l->tls) : NULL;
	if (!shown)
		return NULL;
	X509_NAME_get_text_by_NID(X509_get_subject_name(shown), NID_commonName, name, sizeof name);
	X509_free(shown);
	return kit_dup(name, strlen(name));
}

static struct heard *
note_heard(struct link *l, size_t head_bytes)
{
	struct heard *h = kit_alloc(sizeof *h);
	pthread_mutex_lock(&origin.lock);
	h->head = kit_dup(l->wire.p + l->at, head_bytes);
	h->head_bytes = head_bytes;
	h->body = kit_dup("", 0);
	h->connection = l->number;
	h->client = name_of_client(l);
	size_t m = strcspn(h->head, " \r"), t = 0;
	if (h->head[m] == ' ')
		t = strcspn(h->head + m + 1, " \r");
	h->method = kit_dup(h->head, m);
	h->target = kit_dup(h->head + m + (h->head[m] == ' '), t);
	if (l->door)
		h->target = text("@%u%s", l->door, h->target);
	if (origin.heard_n == origin.heard_cap) {
		origin.heard_cap = origin.heard_cap ? 2 * origin.heard_cap : 64;
		origin.heard =
			realloc(origin.heard, (size_t)origin.heard_cap * sizeof *origin.heard);
		if (!origin.heard)
			abort();
	}
	origin.heard[origin.heard_n++] = h;
	pthread_mutex_unlock(&origin.lock);
	return h;
}

static void
keep_body(struct heard *h, struct heap *body, bool whole)
{
	LOCKED(h->body = body->p ? body->p : h->body; h->body_bytes = body->n; h->whole = whole);
}

/* n bytes of body; false: the peer ended. */
static bool
take(struct link *l, struct heap *body, uint64_t n)
{
	while (n) {
		if (l->at == l->wire.n && !more(l))
			return false;
		size_t k = l->wire.n - l->at;
		k = k > n ? (size_t)n : k;
		if (body->n < BODY_KEPT)
			heap_add(body, l->wire.p + l->at, k);
		l->at += k;
		n -= k;
	}
	return true;
}

/* The next line, without its end; NULL: the peer ended. */
static char *
take_line(struct link *l)
{
	char *end;
	while (!(end = memmem(l->wire.p + l->at, l->wire.n - l->at, "\r\n", 2)))
		if (!more(l))
			return NULL;
	char *line = kit_dup(l->wire.p + l->at, (size_t)(end - (l->wire.p + l->at)));
	l->at = (size_t)(end + 2 - l->wire.p);
	return line;
}

static bool
take_chunks(struct link *l, struct heap *body)
{
	for (;;) {
		char *line = take_line(l);
		if (!line)
			return false;
		uint64_t n = strtoull(line, NULL, 16);
		if (!n)
			break;
		if (!take(l, body, n) || !take_line(l))
			return false;
	}
	for (char *line; (line = take_line(l));)
		if (!*line)
			return true;
	return false;
}

static bool
take_body(struct link *l, struct heard *h)
{
	int lines;
	struct heap body = {0};
	char *te = head_field(h->head, "Transfer-Encoding", &lines);
	char *cl = head_field(h->head, "Content-Length", &lines);
	char *expects = head_field(h->head, "Expect", &lines);
	if (expects && strcasecmp(expects, "100-continue") == 0 && (te || cl))
		put(l, "HTTP/1.1 100 Continue\r\n\r\n", 25);
	bool whole = te	  ? take_chunks(l, &body)
		     : cl ? take(l, &body, strtoull(cl, NULL, 10))
			  : true;
	keep_body(h, &body, whole);
	return whole;
}

/* ---- answers --------------------------------------------------------------------------------- */

static struct say
next_say(const char *target)
{
	struct say none = {.status = 404, .body = "no script for this path\n"};
	pthread_mutex_lock(&origin.lock);
	struct script *s = origin.scripts, *any = NULL;
	char all[8] = "*"; /* of its door: "@2*" */
	if (*target == '@')
		snprintf(all, sizeof all, "%.2s*", target);
	for (; s && strcmp(s->path, target) != 0; s = s->next)
		if (strcmp(s->path, all) == 0)
			any = s;
	if (!s)
		s = any;
	struct say *say = s ? &s->steps[s->at] : &none;
	if (s && --s->left <= 0 && s->at + 1 < s->n) {
		s->at++;
		s->left = s->steps[s->at].times ? s->steps[s->at].times : 1;
	}
	struct say copy = *say;
	pthread_mutex_unlock(&origin.lock);
	return copy;
}

static const char *
reason_of(int status)
{
	static const struct {
		int status;
		const char *reason;
	} rows[] = {{200, "OK"},
		    {204, "No Content"},
		    {206, "Partial Content"},
		    {301, "Moved Permanently"},
		    {302, "Found"},
		    {304, "Not Modified"},
		    {404, "Not Found"},
		    {410, "Gone"},
		    {416, "Range Not Satisfiable"},
		    {500, "Internal Server Error"},
		    {503, "Service Unavailable"}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].status == status)
			return rows[i].reason;
	return "Whatever";
}

static void
add_date(struct heap *h)
{
	char buf[64];
	time_t now = clock_s();
	struct tm tm;
	strftime(buf, sizeof buf, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", gmtime_r(&now, &tm));
	heap_add(h, buf, strlen(buf));
}

static bool
validates(const struct heard *h, const struct say *s)
{
	int lines;
	char *inm = head_field(h->head, "If-None-Match", &lines);
	if (inm)
		return s->etag && strstr(inm, s->etag);
	char *ims = head_field(h->head, "If-Modified-Since", &lines);
	return ims && s->last_modified && strcmp(ims, s->last_modified) == 0;
}

struct part { /* of the body, as a Range asked */
	bool is;
	size_t first, n, total;
};

/* The client has a part of another version. */
static bool
wants_all(const struct heard *h, const struct say *s)
{
	int lines;
	char *v = s->if_range ? head_field(h->head, "If-Range", &lines) : NULL;
	return v && !(s->etag && strcmp(v, s->etag) == 0) &&
	       !(s->last_modified && strcmp(v, s->last_modified) == 0);
}

static struct part
wanted(const struct heard *h, const struct say *s, size_t total)
{
	int lines;
	char *range = s->ranges ? head_field(h->head, "Range", &lines) : NULL, *dash;
	struct part p = {.n = total, .total = total};
	if (wants_all(h, s))
		return p;
	if (!range || strncmp(range, "bytes=", 6) != 0 || strchr(range, ',') ||
	    !(dash = strchr(range, '-')))
		return p;
	if (range + 6 == dash) {
		size_t tail = strtoull(dash + 1, NULL, 10);
		p.first = tail > total ? 0 : total - tail;
		p.n = total - p.first;
	} else {
		p.first = strtoull(range + 6, NULL, 10);
		size_t last = dash[1] ? strtoull(dash + 1, NULL, 10) : total - 1;
		last = last >= total ? total - 1 : last;
		if (p.first >= total || last < p.first)
			return (struct part){.n = total, .total = total};
		p.n = last - p.first + 1;
	}
	p.is = true;
	return p;
}

/* How many of the bytes at at go in one piece: none goes across the place of a barrier or a cut. */
static size_t
piece_at(const struct say *s, size_t at, size_t left)
{
	size_t most = s->drip ? s->drip : s->chunked ? 16384 : left;
	size_t k = left > most ? most : left;
	if (s->hold_body && at < s->hold_at && at + k > s->hold_at)
		k = s->hold_at - at;
	if (s->cut && at + k > s->cut_at)
		k = s->cut_at - at;
	return k;
}

static bool
put_piece(struct link *l, const struct say *s, const char *p, size_t n)
{
	char size[32];
	if (!s->chunked)
		return put(l, p, n);
	return put(l, size, (size_t)snprintf(size, sizeof size, "%zx\r\n", n)) && put(l, p, n) &&
	       put(l, "\r\n", 2);
}

static bool
put_body(struct link *l, const struct say *s, const char *p, size_t n)
{
	for (size_t at = 0, k; at < n; at += k) {
		if (s->hold_body && at == s->hold_at)
			barrier_pass(s->hold_body);
		if (s->cut && at == s->cut_at)
			return false;
		k = piece_at(s, at, n - at);
		if (!put_piece(l, s, p + at, k))
			return false;
	}
	if (s->hold_body && s->hold_at >= n)
		barrier_pass(s->hold_body);
	if (s->cut)
		return false;
	if (s->chunked)
		return put(l, "0\r\n", 3) &&
		       (!s->trailers || put(l, s->trailers, strlen(s->trailers))) &&
		       put(l, "\r\n", 2);
	return true;
}

static void
add_head(struct heap *out, const struct say *s, int status, const struct part *part)
{
	const char *fields = status == 304 && s->fields_304 ? s->fields_304
			     : s->fields		    ? s->fields
							    : "";
	heap_text(out, "HTTP/1.1 %d %s\r\n", status, s->reason ? s->reason : reason_of(status));
	if (!s->no_date && !strcasestr(fields, "\nDate:") && strncasecmp(fields, "Date:", 5) != 0)
		add_date(out);
	heap_add(out, fields, strlen(fields));
	if (s->etag)
		heap_text(out, "ETag: %s\r\n", s->etag);
	if (s->last_modified)
		heap_text(out, "Last-Modified: %s\r\n", s->last_modified);
	if (s->ranges)
		heap_text(out, "Accept-Ranges: bytes\r\n");
	if (part->is && status != 304)
		heap_text(out, "Content-Range: bytes %zu-%zu/%zu\r\n", part->first,
			  part->first + part->n - 1, part->total);
	if (status != 204 && status != 304 && s->chunked)
		heap_text(out, "Transfer-Encoding: chunked\r\n");
	else if (status != 204 && status != 304 && !s->until_close)
		heap_text(out, "Content-Length: %zu\r\n", s->promise ? s->promise : part->n);
	heap_text(out, "\r\n");
}

static size_t
body_of(const struct say *s, const char **body)
{
	*body = s->pattern_bytes ? pattern(s->seed, s->pattern_bytes) : s->body ? s->body : "";
	return s->pattern_bytes ? s->pattern_bytes : s->body_bytes ? s->body_bytes : strlen(*body);
}

/* True when the connection may go on. */
static bool
put_answer(struct link *l, const struct heard *h, const struct say *s)
{
	if (s->interim && !put(l, s->interim, strlen(s->interim)))
		return false;
	if (s->hold_head)
		barrier_pass(s->hold_head);
	if (s->mute) {
		while (more(l))
			;
		return false;
	}
	if (s->raw)
		return put(l, s->raw, s->raw_bytes ? s->raw_bytes : strlen(s->raw)) && s->raw_keeps;

	const char *body;
	struct part part = wanted(h, s, body_of(s, &body));
	int status = validates(h, s) ? 304 : part.is ? 206 : s->status ? s->status : 200;
	bool bodiless = status == 204 || status == 304 || strcmp(h->method, "HEAD") == 0;
	struct heap out = {0};
	add_head(&out, s, status, &part);
	bool ok = put(l, out.p, out.n) && (bodiless || put_body(l, s, body + part.first, part.n));
	free(out.p);
	if (s->pattern_bytes)
		free((char *)(uintptr_t)body);
	return ok && !s->until_close && !s->close;
}

static bool
answer(struct link *l, struct heard *h, const struct say *s)
{
	bool goes_on = put_answer(l, h, s);
	LOCKED(h->answered = true);
	return goes_on;
}

/* ---- connections
 * ---------------------------------------------------------------------------------- */

static bool
serve_one(struct link *l, bool *reset)
{
	char *end;
	while (!(end = memmem(l->wire.p + l->at, l->wire.n - l->at, "\r\n\r\n", 4)))
		if (!more(l))
			return false;
	struct heard *h = note_heard(l, (size_t)(end + 4 - (l->wire.p + l->at)));
	l->at = (size_t)(end + 4 - l->wire.p);
	struct say s = next_say(h->target);
	*reset = s.reset;
	l->sips = s.sips;
	if (s.hold_for && !memmem(h->head, h->head_bytes, s.hold_for, strlen(s.hold_for)))
		s.hold_head = s.hold_body = NULL;
	if (s.early)
		return answer(l, h, &s) && take_body(l, h);
	if (s.slow_reader && s.hold_head)
		barrier_pass(s.hold_head);
	return take_body(l, h) && answer(l, h, &s);
}

static void *
serve(void *ctx)
{
	struct link *l = ctx;
	bool reset = false;
	if (origin.tls) {
		l->tls = SSL_new(origin.tls);
		SSL_set_fd(l->tls, l->fd);
		if (SSL_accept(l->tls) != 1) {
			hang_up(l, false);
			return NULL;
		}
	}
	heap_add(&l->wire, "", 0);
	while (serve_one(l, &reset))
		;
	hang_up(l, reset);
	return NULL;
}

struct listener {
	int fd;
	unsigned door;
};

static void *
listen_on(void *ctx)
{
	struct listener at = *(struct listener *)ctx;
	for (;;) {
		int peer = accept4(at.fd, NULL, NULL, SOCK_CLOEXEC);
		if (peer < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (peer < 0)
			return NULL;
		int one = 1;
		setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		struct link *l = kit_alloc(sizeof *l);
		l->fd = peer;
		l->door = at.door;
		pthread_mutex_lock(&origin.lock);
		l->number = origin.link_n;
		if (origin.link_n == CONNECTIONS_MAX)
			abort();
		origin.links[origin.link_n++] = l;
		pthread_mutex_unlock(&origin.lock);
		pthread_t t;
		pthread_attr_t small;
		pthread_attr_init(&small);
		pthread_attr_setstacksize(&small, 512 << 10);
		pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
		if (pthread_create(&t, &small, serve, l) != 0)
			abort();
	}
}

static void
listen_at(struct door *d, int fd)
{
	d->fd = fd;
	struct listener *at = kit_alloc(sizeof *at);
	*at = (struct listener){fd, (unsigned)(d - origin.doors)};
	if (pthread_create(&d->thread, NULL, listen_on, at) != 0)
		fail("no thread");
}

/* A socket with the address and port of the door, which is told what it is if it had none; -1: errno says why not. */
static int
bound(struct door *d)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)d->port),
				.sin_addr.s_addr =
					d->address ? d->address : htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, (struct sockaddr *)&a, sizeof a) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &n) < 0) {
		close(fd);
		return -1;
	}
	d->port = ntohs(a.sin_port);
	d->address = a.sin_addr.s_addr;
	return fd;
}

/* The port stays the door's while nobody listens there: the kernel gives it to nobody who asks for any as long as
 * a socket is bound to it that never listens. */
static bool
hold_port(struct door *d)
{
	int fd = d->holder ? d->holder : bound(d);
	d->holder = fd < 0 ? 0 : fd;
	return d->holder;
}

static void
let_port_go(struct door *d)
{
	if (d->holder)
		close(d->holder);
	d->holder = 0;
	d->port = 0;
}

/* False: its port is taken, or something else is wrong (errno). */
static bool
try_door(struct door *d)
{
	int fd = hold_port(d) ? bound(d) : -1;
	if (fd < 0)
		return false;
	if (listen(fd, 1024) < 0) {
		close(fd);
		return false;
	}
	d->url = text("%s://%s:%u", origin.tls ? "https" : "http",
		      inet_ntoa((struct in_addr){d->address}), d->port);
	listen_at(d, fd);
	return true;
}

static void
open_door(struct door *d)
{
	if (!try_door(d))
		fail("the origin cannot listen: %s", strerror(errno));
}

static void
open_port(void)
{
	open_door(&origin.doors[0]);
}

static void
there(void)
{
	pthread_once(&origin.once, open_port);
}

static struct door *
door_at(unsigned i)
{
	there();
	if (i >= DOORS)
		fail("an origin has %d doors", DOORS);
	if (!origin.doors[i].url)
		open_door(&origin.doors[i]);
	return &origin.doors[i];
}

const char *
origin_door(unsigned i)
{
	return door_at(i)->url;
}

const char *
origin_door_unix(unsigned i)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct door *d = &origin.doors[i];
	snprintf(a.sun_path, sizeof a.sun_path, "%s/door-%u.sock", kit_dir(), i);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (d->url || bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, 1024) < 0)
		fail("the origin cannot listen at %s: %s", a.sun_path, strerror(errno));
	d->url = text("unix:%s", a.sun_path);
	listen_at(d, fd);
	return d->url;
}

void
origin_door_at(unsigned i, const char *address)
{
	there();
	struct door *d = &origin.doors[i];
	d->address = inet_addr(address);
	d->port = origin.doors[0].port;
	/* The port may be somebody's there: another one for both, then. */
	for (int tries = 0; !try_door(d); tries++) {
		if (tries == 20)
			fail("the origin cannot listen at %s: %s", address, strerror(errno));
		origin_door_dies(0);
		let_port_go(&origin.doors[0]);
		let_port_go(d);
		open_door(&origin.doors[0]);
		d->port = origin.doors[0].port;
	}
}

void
origin_door_dies(unsigned i)
{
	struct door *d = door_at(i);
	/* Its thread may not have come to accept yet, and the number of fd is another's once it is closed. */
	shutdown(d->fd, SHUT_RDWR);
	pthread_join(d->thread, NULL);
	close(d->fd);
	d->fd = -1;
	LOCKED(for (unsigned k = 0; k < origin.link_n;
		    k++) if (!origin.links[k]->closed && origin.links[k]->door == i)
		       shutdown(origin.links[k]->fd, SHUT_RDWR));
}

void
origin_door_returns(unsigned i)
{
	open_door(&origin.doors[i]);
}

unsigned
origin_port(void)
{
	there();
	return origin.doors[0].port;
}

const char *
origin_url(void)
{
	there();
	return origin.doors[0].url;
}

void
origin_tls(const char *cert, const char *key)
{
	origin.tls = SSL_CTX_new(TLS_server_method());
	if (SSL_CTX_use_certificate_chain_file(origin.tls, cert) != 1 ||
	    SSL_CTX_use_PrivateKey_file(origin.tls, key, SSL_FILETYPE_PEM) != 1)
		fail("cannot use %s and %s", cert, key);
}

void
origin_tls_asks(const char *ca)
{
	static const unsigned char here[] = "kit";
	SSL_CTX_set_verify(origin.tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	SSL_CTX_set_session_id_context(origin.tls, here, sizeof here);
	if (SSL_CTX_load_verify_locations(origin.tls, ca, NULL) != 1)
		fail("cannot read %s", ca);
}

void
origin_dies(void)
{
	origin_door_dies(0);
}

void
origin_returns(void)
{
	origin_door_returns(0);
}

/* ---- the script
 * ------------------------------------------------------------------------------------- */

static const char *
kept(const char *s, size_t n)
{
	return s ? kit_dup(s, n ? n : strlen(s)) : NULL;
}

void
origin_script(const char *path, const struct say *say)
{
	there();
	pthread_mutex_lock(&origin.lock);
	struct script *s = origin.scripts;
	while (s && strcmp(s->path, path) != 0)
		s = s->next;
	if (!s) {
		s = kit_alloc(sizeof *s);
		s->path = strdup(path);
		s->next = origin.scripts;
		s->left = say->times ? say->times : 1;
		origin.scripts = s;
	}
	s->steps = realloc(s->steps, (size_t)(s->n + 1) * sizeof *s->steps);
	if (!s->steps)
		abort();
	struct say *to = &s->steps[s->n++];
	*to = *say;
	to->fields = kept(say->fields, 0);
	to->fields_304 = kept(say->fields_304, 0);
	to->body = kept(say->body, say->body_bytes);
	to->raw = kept(say->raw, say->raw_bytes);
	to->trailers = kept(say->trailers, 0);
	to->interim = kept(say->interim, 0);
	to->etag = kept(say->etag, 0);
	to->last_modified = kept(say->last_modified, 0);
	/* The last answer was being repeated: a new one is due now. */
	if (s->left <= 0) {
		s->at = s->n - 1;
		s->left = say->times ? say->times : 1;
	}
	pthread_mutex_unlock(&origin.lock);
}

void
origin_forget(const char *path)
{
	LOCKED(for (struct script *s = origin.scripts; s;
		    s = s->next) if (strcmp(s->path, path) == 0) s->path = strdup("\n"));
}

/* ---- what it heard
 * ------------------------------------------------------------------------------------ */

int
origin_requests_for(const char *target)
{
	int n = 0;
	LOCKED(for (int i = 0; i < origin.heard_n; i++) n +=
	       !target || strcmp(origin.heard[i]->target, target) == 0);
	return n;
}

int
origin_answers_for(const char *target)
{
	int n = 0;
	LOCKED(for (int i = 0; i < origin.heard_n; i++) n +=
	       origin.heard[i]->answered && strcmp(origin.heard[i]->target, target) == 0);
	return n;
}

int
origin_requests(void)
{
	return origin_requests_for(NULL);
}

const struct heard *
origin_request(int i)
{
	struct heard *h = NULL;
	/* A copy: its body may still be on its way. */
	LOCKED(if (i >= 0 && i < origin.heard_n) {
		h = kit_alloc(sizeof *h);
		*h = *origin.heard[i];
	});
	if (!h)
		fail("the origin heard no request number %d", i);
	return h;
}

const struct heard *
origin_last(void)
{
	return origin_request(origin_requests() - 1);
}

const char *
heard_field(const struct heard *h, const char *name)
{
	int lines;
	return head_field(h->head, name, &lines);
}

int
heard_field_lines(const struct heard *h, const char *name)
{
	int lines;
	head_field(h->head, name, &lines);
	return lines;
}

char *
origin_wire(unsigned connection, size_t *n)
{
	char *s = NULL;
	LOCKED(if (connection < origin.link_n) {
		struct link *l = origin.links[connection];
		*n = l->wire.n;
		s = kit_dup(l->wire.p ? l->wire.p : "", l->wire.n);
	});
	if (!s)
		fail("the origin has had no connection number %u", connection);
	return s;
}

size_t
origin_mark(void)
{
	size_t n;
	LOCKED(n = origin.all.n);
	return n;
}

char *
origin_since(size_t mark, size_t *n)
{
	char *s;
	LOCKED(*n = origin.all.n - mark; s = kit_dup(origin.all.p ? origin.all.p + mark : "", *n));
	return s;
}

unsigned
origin_connections(void)
{
	unsigned n;
	LOCKED(n = origin.link_n);
	return n;
}

bool
origin_heard_bytes(const char *needle)
{
	bool found = false;
	LOCKED(for (unsigned i = 0; i < origin.link_n && !found; i++) {
		struct heap *w = &origin.links[i]->wire;
		found = w->n && memmem(w->p, w->n, needle, strlen(needle));
	});
	return found;
}

void
origin_expect(const char *file, int line, const char *target, int n)
{
	int got = origin_requests_for(target);
	if (got != n)
		kit_fail(file, line, "expected %d requests at the origin%s%s, there were %d", n,
			 target ? " for " : "", target ? target : "", got);
}

void
origin_wait_requests(int n)
{
	wait_until(origin_requests() >= n);
}

bool
origin_has_closed(unsigned connection)
{
	bool ended;
	LOCKED(ended = connection < origin.link_n &&
		       (origin.links[connection]->ended || origin.links[connection]->closed));
	return ended;
}

void
origin_wait_closed(unsigned connection)
{
	wait_until(origin_has_closed(connection));
}

void
origin_on_fail(void (*line)(const char *))
{
	if (!origin.doors[0].url)
		return;
	line(text("-- the origin heard %d requests on %u connections", origin.heard_n,
		  origin.link_n));
	for (int i = 0; i < origin.heard_n && i < 12; i++) {
		char *save, *head = strdup(origin.heard[i]->head);
		line(text("  request %d, connection %u:", i, origin.heard[i]->connection));
		for (char *l = strtok_r(head, "\r\n", &save); l; l = strtok_r(NULL, "\r\n", &save))
			line(text("    %s", l));
	}
}

void
origin_on_end(void)
{
	for (int i = 0; i < DOORS; i++)
		if (origin.doors[i].url && origin.doors[i].fd >= 0)
			close(origin.doors[i].fd);
}
