/* client.c - exact bytes out, answers parsed by the letter of RFC 9112. */
#include "tests/kit/inside.h"
#include "tests/kit/tls_inside.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct client {
	int fd;
	SSL *ssl;	/* NULL: not by TLS */
	struct heap in; /* received */
	size_t at;	/* how much of it was read */
	bool ended;
	bool failed; /* ended by a reset or by our patience; by TLS also without close_notify */
	bool reset;  /* ours to be */
	bool told;   /* by close_notify that it ended */
};

/* ---- the connection ------------------------------------------------------------------------- */

static const char *own_address;

void
client_from(const char *address)
{
	own_address = address;
}

static void
take_address(int fd)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	if (own_address && (inet_pton(AF_INET, own_address, &a.sin_addr) != 1 ||
			    bind(fd, (struct sockaddr *)&a, sizeof a) < 0))
		fail("cannot be %s: %s", own_address, strerror(errno));
}

static struct client *
open_to(unsigned port, int receive_buffer, int segment)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct client *c = kit_alloc(sizeof *c);
	heap_add(&c->in, "", 0);
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (receive_buffer)
		setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
	if (segment)
		setsockopt(c->fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment);
	take_address(c->fd);
	if (connect(c->fd, (struct sockaddr *)&a, sizeof a) < 0)
		fail("cannot connect to port %u: %s", port, strerror(errno));
	return c;
}

/* A handshake, if clients of this port have one. */
static struct client *
secured(struct client *c, unsigned port)
{
	if (edge_is_tls() && port == edge_port()) {
		c->ssl = kit_tls_connect(c->fd, &(struct client_tls){.name = "example.com"}, NULL);
		c->ended = c->failed = !c->ssl;
	}
	return c;
}

struct client *
client_open_tls_as(const struct client_tls *how)
{
	struct client *c = open_to(how->port ? how->port : edge_port(), 0, 0);
	if (how->before)
		client_send_bytes(c, how->before, how->before_bytes);
	SSL_SESSION *session =
		how->resume && how->resume->ssl ? SSL_get1_session(how->resume->ssl) : NULL;
	c->ssl = kit_tls_connect(c->fd, how, session);
	c->ended = c->failed = !c->ssl;
	return c;
}

bool
client_is_in(struct client *c)
{
	return c->ssl != NULL;
}

bool
client_was_resumed(struct client *c)
{
	return c->ssl && SSL_session_reused(c->ssl);
}

const char *
client_saw(struct client *c)
{
	char name[256] = "";
	X509 *x = c->ssl ? SSL_get0_peer_certificate(c->ssl) : NULL;
	if (x)
		X509_NAME_get_text_by_NID(X509_get_subject_name(x), NID_commonName, name,
					  sizeof name);
	return text("%s", name);
}

bool
client_saw_rsa(struct client *c)
{
	X509 *x = c->ssl ? SSL_get0_peer_certificate(c->ssl) : NULL;
	return x && EVP_PKEY_get_base_id(X509_get0_pubkey(x)) == EVP_PKEY_RSA;
}

const char *
client_alpn(struct client *c)
{
	const unsigned char *p = NULL;
	unsigned n = 0;
	if (c->ssl)
		SSL_get0_alpn_selected(c->ssl, &p, &n);
	return kit_dup(n ? (const char *)p : "", n);
}

void
client_renew_keys(struct client *c)
{
	if (c->ssl && SSL_key_update(c->ssl, SSL_KEY_UPDATE_REQUESTED))
		SSL_do_handshake(c->ssl);
}

void
client_says_end(struct client *c)
{
	kit_tls_end(c->ssl);
}

bool
client_was_told(struct client *c)
{
	return c->told;
}

struct client *
client_open_to(unsigned port)
{
	return secured(open_to(port, 0, 0), port);
}

struct client *
client_open(void)
{
	return secured(open_to(edge_port(), 0, 0), edge_port());
}

/* By TLS it reads records of 16 KiB in their parts. With the least buffer its window may come to be two
 * bytes less than a segment, and the sender waits for its persist timer before each of them. */
struct client *
client_open_narrow(void)
{
	return secured(open_to(edge_port(), edge_is_tls() ? 16384 : 2048, 0), edge_port());
}

struct client *
client_open_far(void)
{
	return secured(open_to(edge_port(), 2048, 1400), edge_port());
}

struct client *
client_open_address(const struct sockaddr *to, unsigned bytes)
{
	struct client *c = kit_alloc(sizeof *c);
	heap_add(&c->in, "", 0);
	c->fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(c->fd, to, bytes) < 0)
		fail("cannot connect: %s", strerror(errno));
	return c;
}

struct client *
client_open_path(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
	return client_open_address((const struct sockaddr *)&at, sizeof at);
}

int
client_fd(struct client *c)
{
	return c->fd;
}

void
client_send_bytes(struct client *c, const char *p, size_t n)
{
	while (n) {
		ssize_t k = c->ssl ? kit_tls_send(c->ssl, c->fd, p, n, true)
				   : send(c->fd, p, n, MSG_NOSIGNAL);
		if (k < 0) /* the peer has had enough: its answer, if any, is still to be read */
			return;
		p += k;
		n -= (size_t)k;
	}
}

size_t
client_send_some(struct client *c, const char *p, size_t n)
{
	ssize_t k = c->ssl ? kit_tls_send(c->ssl, c->fd, p, n, false)
			   : send(c->fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	return k > 0 ? (size_t)k : 0;
}

void
client_send(struct client *c, const char *s)
{
	client_send_bytes(c, s, strlen(s));
}

void
client_request(struct client *c, const char *method, const char *target, const char *fields)
{
	client_send(c, text("%s %s HTTP/1.1\r\nHost: example.com\r\n%s\r\n", method, target,
			    fields ? fields : ""));
}

void
client_half_close(struct client *c)
{
	if (c->ssl)
		kit_tls_end(c->ssl);
	shutdown(c->fd, SHUT_WR);
}

void
client_close(struct client *c)
{
	if (c->fd >= 0 && c->ssl && !c->reset)
		kit_tls_end(c->ssl);
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

void
client_reset(struct client *c)
{
	struct linger now = {.l_onoff = 1, .l_linger = 0};
	setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	c->reset = true;
	client_close(c);
}

static bool
more_by_tls(struct client *c, int64_t ms)
{
	char buf[65536];
	bool late;
	struct kit_wait w = kit_wait_begin(NULL, 0, "bytes by TLS");
	if (ms)
		kit_wait_goes_on(&w);
	ssize_t n = kit_tls_recv(c->ssl, c->fd, buf, sizeof buf, ms, &late);
	kit_wait_end(&w);
	if (n > 0)
		heap_add(&c->in, buf, (size_t)n);
	c->ended = n <= 0 && !late;
	c->told = n == 0;
	c->failed = n < 0;
	return n > 0;
}

/* Waits for bytes; false when the connection has ended or nothing came for ms. */
static bool
more(struct client *c, int64_t ms)
{
	char buf[65536];
	struct pollfd p = {.fd = c->fd, .events = POLLIN};
	if (c->ended)
		return false;
	if (c->ssl)
		return more_by_tls(c, ms);
	struct kit_wait w = kit_wait_begin(NULL, 0, "bytes");
	if (ms)
		kit_wait_goes_on(&w);
	int r = poll(&p, 1, (int)ms);
	kit_wait_end(&w);
	if (r == 0) {
		c->failed = true;
		return false;
	}
	ssize_t n = recv(c->fd, buf, sizeof buf, 0);
	if (n <= 0) {
		c->ended = true;
		c->failed = n < 0;
		return false;
	}
	heap_add(&c->in, buf, (size_t)n);
	return true;
}

/* ---- reading an answer ----------------------------------------------------------------------- */

/* flat: each line is a rule of RFC 9112 that is broken. */
static const char *
fault_of_head(const char *head, size_t n)
{
	if (n < 17 || memcmp(head, "HTTP/1.1 ", 9) != 0)
		return "the status line does not begin with HTTP/1.1";
	for (int i = 9; i < 12; i++)
		if (!isdigit((unsigned char)head[i]))
			return "the status is not three digits";
	if (head[12] != ' ')
		return "no space after the status";
	const char *p = strstr(head, "\r\n") + 2;
	for (const char *c = head; c < head + n; c++) {
		if (*c == '\n' && (c == head || c[-1] != '\r'))
			return "a bare LF in the head";
		if (*c == '\r' && c[1] != '\n')
			return "a bare CR in the head";
		if (((unsigned char)*c < 32 && *c != '\r' && *c != '\n' && *c != '\t') || *c == 127)
			return "a control byte in the head";
	}
	while (*p != '\r') {
		const char *name = p;
		while (isalnum((unsigned char)*p) || (*p && strchr("!#$%&'*+-.^_`|~", *p)))
			p++;
		if (p == name || *p != ':')
			return "a field line without a proper name";
		p = strstr(p, "\r\n") + 2;
	}
	return NULL;
}

static char *
read_line(struct client *c)
{
	char *end;
	while (!(end = memmem(c->in.p + c->at, c->in.n - c->at, "\r\n", 2)))
		if (!more(c, KIT_FOREVER))
			return NULL;
	char *line = kit_dup(c->in.p + c->at, (size_t)(end - (c->in.p + c->at)));
	c->at = (size_t)(end + 2 - c->in.p);
	return line;
}

/* n bytes into body; false when there were fewer. */
static bool
read_bytes(struct client *c, struct heap *body, uint64_t n)
{
	while (n) {
		if (c->at == c->in.n) {
			c->at = c->in.n = 0; /* what was read need not be kept */
			if (!more(c, KIT_FOREVER))
				return false;
		}
		size_t k = c->in.n - c->at;
		k = k > n ? (size_t)n : k;
		heap_add(body, c->in.p + c->at, k);
		c->at += k;
		n -= k;
	}
	return true;
}

static const char *
read_chunks(struct client *c, struct answer *a, struct heap *body)
{
	struct heap trailers = {0};
	heap_add(&trailers, "", 0);
	for (;;) {
		char *line = read_line(c), *end;
		if (!line)
			return a->cut = true, "ended before the last chunk";
		if (!isxdigit((unsigned char)*line))
			return "a chunk size that is not hexadecimal";
		uint64_t n = strtoull(line, &end, 16);
		if (*end && *end != ';')
			return "a chunk size with something behind it";
		if (!n)
			break;
		if (!read_bytes(c, body, n))
			return a->cut = true, "ended inside of a chunk";
		line = read_line(c);
		if (!line)
			return a->cut = true, "ended after a chunk";
		if (*line)
			return "a chunk longer than its size";
	}
	for (;;) {
		char *line = read_line(c);
		if (!line)
			return a->cut = true, "ended in the trailers";
		if (!*line)
			break;
		heap_text(&trailers, "%s\r\n", line);
	}
	a->trailers = trailers.p;
	return NULL;
}

static const char *
read_body(struct client *c, const char *method, struct answer *a)
{
	struct heap body = {0};
	heap_add(&body, "", 0);
	int te_lines, cl_lines;
	char *te = head_field(a->head, "Transfer-Encoding", &te_lines);
	char *cl = head_field(a->head, "Content-Length", &cl_lines);
	const char *fault = NULL;
	if (te && cl)
		return "both Transfer-Encoding and Content-Length";
	if (cl_lines > 1)
		return "several Content-Length lines";
	if (strcmp(method, "HEAD") == 0 || a->status == 204 || a->status == 304) {
		if (te && a->status == 204)
			return "Transfer-Encoding in a 204";
	} else if (te) {
		if (strcasecmp(te, "chunked") != 0)
			return "a transfer coding other than chunked";
		a->chunked = true;
		fault = read_chunks(c, a, &body);
	} else if (cl) {
		char *end;
		uint64_t n = strtoull(cl, &end, 10);
		if (!isdigit((unsigned char)*cl) || *end)
			return "a Content-Length that is no number";
		if (!read_bytes(c, &body, n)) {
			a->cut = true;
			fault = "shorter than its Content-Length";
		}
	} else {
		read_bytes(c, &body, UINT64_MAX);
		if (c->failed)
			fault = "a body until close whose close did not come";
	}
	a->body = body.p;
	a->body_bytes = body.n;
	return fault;
}

/* The next head, interim ones put aside; a 101 is none: no other follows. */
static const char *
read_head(struct client *c, struct answer *a)
{
	struct heap interim = {0};
	heap_add(&interim, "", 0);
	*a = (struct answer){
		.head = kit_dup("", 0), .body = kit_dup("", 0), .trailers = kit_dup("", 0)};
	for (;;) {
		char *end;
		a->interim = interim.p;
		while (!(end = memmem(c->in.p + c->at, c->in.n - c->at, "\r\n\r\n", 4)))
			if (!more(c, KIT_FOREVER)) {
				a->cut = true;
				return c->at == c->in.n ? "no answer" : "ended inside of the head";
			}
		a->head_bytes = (size_t)(end + 4 - (c->in.p + c->at));
		a->head = kit_dup(c->in.p + c->at, a->head_bytes);
		c->at += a->head_bytes;
		const char *fault = fault_of_head(a->head, a->head_bytes);
		if (fault)
			return fault;
		a->status = atoi(a->head + 9);
		if (a->status >= 200 || a->status == 101)
			return NULL;
		heap_add(&interim, a->head, a->head_bytes);
	}
}

struct answer
client_try(struct client *c, const char *method)
{
	struct answer a;
	a.fault = read_head(c, &a);
	if (!a.fault)
		a.fault = read_body(c, method, &a);
	return a;
}

struct answer
client_read(struct client *c, const char *method)
{
	struct answer a = client_try(c, method);
	if (a.fault)
		fail("a bad answer: %s\n%.2000s%.500s", a.fault, a.head, a.body);
	return a;
}

struct answer
client_read_head(struct client *c)
{
	struct answer a;
	a.fault = read_head(c, &a);
	if (a.fault)
		fail("a bad answer: %s\n%.2000s", a.fault, a.head);
	return a;
}

size_t
client_read_body(struct client *c, char *p, size_t n)
{
	struct heap body = {0};
	read_bytes(c, &body, n);
	if (body.n)
		memcpy(p, body.p, body.n);
	free(body.p);
	return body.n;
}

bool
client_try_closed(struct client *c, int wait_ms, size_t *extra_bytes)
{
	while (more(c, wait_ms))
		;
	*extra_bytes = c->in.n - c->at;
	return c->ended;
}

bool
client_closed(struct client *c)
{
	size_t extra;
	return client_try_closed(c, KIT_FOREVER, &extra) && extra == 0;
}

bool
client_has_ended(struct client *c)
{
	bool failed = c->failed;
	while (more(c, 0))
		;
	c->failed = c->ended ? c->failed : failed;
	return c->ended;
}

bool
client_hears(struct client *c)
{
	if (c->at == c->in.n && !c->ended) {
		bool failed = c->failed;
		more(c, 0);
		c->failed = c->ended ? c->failed : failed;
	}
	return c->at < c->in.n || c->ended;
}

void
client_expect_closed(struct client *c)
{
	size_t extra;
	bool closed = client_try_closed(c, KIT_FOREVER, &extra);
	if (extra)
		fail("expected the connection to be closed, there came:\n%.1000s", c->in.p + c->at);
	if (!closed)
		fail("expected the connection to be closed, it stays open");
	client_close(c); /* else the proxy lingers for it when it is asked to stop */
}

void
client_quiet(struct client *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};
	if (c->at == c->in.n && poll(&p, 1, 0) > 0)
		more(c, 0);
	if (c->at != c->in.n)
		fail("expected nothing after the answer, there came:\n%.1000s", c->in.p + c->at);
}

/* ---- one request ----------------------------------------------------------------------------- */

static void
send_request(struct client *c, const char *method, const char *target, const char *fields,
	     const char *body)
{
	struct heap h = {0};
	fields = fields ? fields : "";
	heap_text(&h, "%s %s HTTP/1.1\r\n", method, target);
	if (strncasecmp(fields, "Host:", 5) != 0 && !strcasestr(fields, "\nHost:"))
		heap_text(&h, "Host: example.com\r\n");
	heap_text(&h, "%s", fields);
	if (body && !strcasestr(fields, "Transfer-Encoding:"))
		heap_text(&h, "Content-Length: %zu\r\n", strlen(body));
	heap_text(&h, "\r\n%s", body ? body : "");
	client_send_bytes(c, h.p, h.n);
	free(h.p);
}

struct answer
try_ask(const char *method, const char *target, const char *fields, const char *body)
{
	struct client *c = client_open();
	send_request(c, method, target, fields, body);
	struct answer a = client_try(c, method);
	client_close(c);
	return a;
}

struct answer
ask(const char *method, const char *target, const char *fields, const char *body)
{
	if (h2_is_asked_for() && edge_h2_port())
		return h2_ask(method, target, fields, body);
	struct client *c = client_open();
	send_request(c, method, target, fields, body);
	struct answer a = client_read(c, method);
	client_quiet(c);
	client_close(c);
	return a;
}

struct answer
get_with(const char *target, const char *fields)
{
	return ask("GET", target, fields, NULL);
}

struct answer
get(const char *target)
{
	return ask("GET", target, NULL, NULL);
}

struct call {
	pthread_t thread;
	const char *file, *word; /* where it was begun */
	int line;
	char *method, *target, *fields, *body;
	struct answer answer;
	_Atomic bool done;
};

static void *
do_call(void *ctx)
{
	struct call *c = ctx;
	kit_at(c->file, c->line, c->word);
	c->answer = ask(c->method, c->target, c->fields, c->body);
	c->done = true;
	return NULL;
}

struct call *
call_with(const char *method, const char *target, const char *fields, const char *body)
{
	struct call *c = kit_alloc(sizeof *c);
	kit_place(&c->file, &c->line, &c->word);
	c->method = strdup(method);
	c->target = strdup(target);
	c->fields = fields ? strdup(fields) : NULL;
	c->body = body ? strdup(body) : NULL;
	if (pthread_create(&c->thread, NULL, do_call, c) != 0)
		fail("no thread");
	return c;
}

struct call *
call_get(const char *target)
{
	return call_with("GET", target, NULL, NULL);
}

struct answer
call_wait(struct call *c)
{
	struct kit_wait w = kit_wait_begin(NULL, 0, "the end of a call");
	kit_wait_goes_on(&w);
	pthread_join(c->thread, NULL);
	kit_wait_end(&w);
	return c->answer;
}

bool
call_is_done(struct call *c)
{
	return c->done;
}

/* ---- reading --------------------------------------------------------------------------------- */

const char *
field(struct answer a, const char *name)
{
	int lines;
	return head_field(a.head, name, &lines);
}

int
field_lines(struct answer a, const char *name)
{
	int lines;
	head_field(a.head, name, &lines);
	return lines;
}

void
answer_expect(const char *file, int line, struct answer a, int status, const char *body)
{
	if (a.fault)
		kit_fail(file, line, "a bad answer: %s\n%.2000s", a.fault, a.head);
	if (a.status != status)
		kit_fail(file, line, "expected status %d, there came\n%.2000s%.300s", status,
			 a.head, a.body);
	if (body && (a.body_bytes != strlen(body) || memcmp(a.body, body, a.body_bytes) != 0))
		kit_fail(
			file, line,
			"expected the body\n  \"%.300s\"\nthere came (%zu bytes)\n  \"%.300s\"\n%.1500s",
			body, a.body_bytes, a.body, a.head);
}

void
answer_expect_field(const char *file, int line, struct answer a, const char *name,
		    const char *value)
{
	const char *got = field(a, name);
	if (!got != !value || (got && strcmp(got, value) != 0))
		kit_fail(file, line, "expected %s: %s, there came\n%.2000s", name,
			 value ? value : "(not there)", a.head);
}

const char *
verdict(struct answer a)
{
	const char *all = field(a, "Cache-Status"), *ours = NULL;
	/* Each cache appends its own member, so ours, the nearest, is the last. */
	for (const char *p = all; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
		while (*p == ' ')
			p++;
		if (strncmp(p, "twice", 5) == 0 && !isalnum((unsigned char)p[5]))
			ours = p;
	}
	return ours ? kit_dup(ours, strcspn(ours, ",")) : "";
}

bool
verdict_has(struct answer a, const char *word)
{
	char *save, *v = strdup(verdict(a));
	for (char *p = strtok_r(v, ";", &save); p; p = strtok_r(NULL, ";", &save)) {
		while (*p == ' ')
			p++;
		size_t n = strlen(p);
		while (n && p[n - 1] == ' ')
			n--;
		if (n == strlen(word) && memcmp(p, word, n) == 0)
			return true;
	}
	return false;
}

int
hits_of(const char *prefix, int n, size_t bytes)
{
	int hits = 0;
	for (int i = 0; i < n; i++) {
		struct answer a = get(text("%s%d", prefix, i));
		expect_status(a, 200);
		expect(a.body_bytes == bytes && is_pattern(a.body, (uint64_t)i, 0, bytes));
		hits += verdict_has(a, "hit");
	}
	return hits;
}

void
answer_expect_verdict(const char *file, int line, struct answer a, const char *word, bool has)
{
	if (verdict_has(a, word) != has)
		kit_fail(file, line, "expected Cache-Status %s \"%s\", there came\n%.2000s",
			 has ? "with" : "without", word, a.head);
}
