/* front_bare.c - the least a server with TLS can do: the yardstick of bench/front.sh.
 *
 *	front_bare PORT PEM [BODY_BYTES]
 *
 * One thread, one epoll, OpenSSL, and libnghttp2 for clients that choose h2: answers every request
 * with the fields that a cached hit of twice carries and a fixed body. PEM: a certificate and its
 * key. A socket is read once for each event (a short read emptied it), frames of all streams that
 * are ready are gathered into records of 16 KiB, and a handshake sends one ticket.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BODY_MOST = 64 << 10, HEAD_MOST = 4096, RECORD = 16 << 10, FRAME = 16393 };

struct conn {
	int fd;
	bool emptied; /* the last read brought less than was asked for */
	SSL *ssl;
	nghttp2_session *h2; /* NULL: HTTP/1.1, or the handshake is under way */
	size_t n;	     /* of a head that is coming */
	char head[HEAD_MOST];
};

static char body[BODY_MOST], answer[BODY_MOST + 1024], length_text[16];
static size_t body_bytes, answer_n;
static SSL_CTX *tls;
static BIO_METHOD *socket_method;
static nghttp2_session_callbacks *callbacks;

#define FIELDS(F)                                           \
	F("date", "Sun, 06 Nov 1994 08:49:37 GMT")          \
	F("content-type", "application/octet-stream")       \
	F("cache-control", "public, max-age=86400")         \
	F("etag", "\"0123456789abcdef\"")                   \
	F("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT") \
	F("accept-ranges", "bytes")                         \
	F("age", "12")                                      \
	F("via", "1.1 bare")                                \
	F("cache-status", "bare; hit; ttl=86388; detail=ram")

static void
make_answer(void)
{
#define LINE(name, value) name ": " value "\r\n"
	memset(body, 'x', sizeof body);
	snprintf(length_text, sizeof length_text, "%zu", body_bytes);
	answer_n = (size_t)snprintf(
		answer, 1024, "HTTP/1.1 200 OK\r\n" FIELDS(LINE) "content-length: %zu\r\n\r\n",
		body_bytes);
	memcpy(answer + answer_n, body, body_bytes);
	answer_n += body_bytes;
}

/* ---- OpenSSL over a socket ------------------------------------------------------------------- */

static int
bio_read(BIO *b, char *to, int n)
{
	struct conn *c = BIO_get_data(b);
	BIO_clear_retry_flags(b);
	ssize_t got = -1;
	if (!c->emptied) {
		got = recv(c->fd, to, (size_t)n, 0);
		c->emptied = got < n;
	} else {
		errno = EAGAIN;
	}
	if (got < 0 && errno == EAGAIN)
		BIO_set_retry_read(b);
	return (int)got;
}

static int
bio_write(BIO *b, const char *p, int n)
{
	struct conn *c = BIO_get_data(b);
	BIO_clear_retry_flags(b);
	ssize_t sent = send(c->fd, p, (size_t)n, MSG_NOSIGNAL);
	if (sent < 0 && errno == EAGAIN)
		BIO_set_retry_write(b);
	return (int)sent;
}

static long
bio_ctrl(BIO *b, int what, long n, void *p)
{
	(void)b, (void)n, (void)p;
	return what == BIO_CTRL_FLUSH;
}

static int
choose_protocol(SSL *s, const unsigned char **out, unsigned char *n, const unsigned char *in,
		unsigned in_n, void *ctx)
{
	static const unsigned char ours[] = "\2h2\10http/1.1";
	(void)s, (void)ctx;
	return SSL_select_next_proto((unsigned char **)(uintptr_t)out, n, ours, sizeof ours - 1, in,
				     in_n) == OPENSSL_NPN_NEGOTIATED
		       ? SSL_TLSEXT_ERR_OK
		       : SSL_TLSEXT_ERR_NOACK;
}

static void
make_tls(const char *pem)
{
	tls = SSL_CTX_new(TLS_server_method());
	SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
	SSL_CTX_set_num_tickets(tls, 1);
	SSL_CTX_set_ciphersuites(tls,
				 "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384"); /* as twice */
	SSL_CTX_set_read_ahead(tls, 1);
	SSL_CTX_set_mode(tls, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_alpn_select_cb(tls, choose_protocol, NULL);
	if (SSL_CTX_use_certificate_chain_file(tls, pem) != 1 ||
	    SSL_CTX_use_PrivateKey_file(tls, pem, SSL_FILETYPE_PEM) != 1) {
		fprintf(stderr, "front_bare: cannot use %s\n", pem);
		exit(1);
	}
	socket_method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "socket");
	BIO_meth_set_read(socket_method, bio_read);
	BIO_meth_set_write(socket_method, bio_write);
	BIO_meth_set_ctrl(socket_method, bio_ctrl);
}

/* ---- HTTP/2 ---------------------------------------------------------------------------------- */

static ssize_t
read_body(nghttp2_session *h2, int32_t id, uint8_t *to, size_t n, uint32_t *flags,
	  nghttp2_data_source *source, void *ctx)
{
	(void)ctx, (void)source;
	size_t at = (size_t)(uintptr_t)nghttp2_session_get_stream_user_data(h2, id);
	n = n < body_bytes - at ? n : body_bytes - at;
	memcpy(to, body + at, n);
	at += n;
	nghttp2_session_set_stream_user_data(h2, id, (void *)at);
	if (at == body_bytes)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

static int
on_frame(nghttp2_session *h2, const nghttp2_frame *f, void *ctx)
{
#define NV(name, value)                                                                            \
	{(uint8_t *)(uintptr_t)(name), (uint8_t *)(uintptr_t)(value), strlen(name), strlen(value), \
	 NGHTTP2_NV_FLAG_NONE},
	(void)ctx;
	if (f->hd.type != NGHTTP2_HEADERS || !(f->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return 0;
	const nghttp2_nv lines[] = {NV(":status", "200") FIELDS(NV)
					    NV("content-length", length_text)};
	nghttp2_data_provider provider = {.read_callback = read_body};
	return nghttp2_submit_response(h2, f->hd.stream_id, lines, sizeof lines / sizeof lines[0],
				       &provider);
}

static void
begin_h2(struct conn *c)
{
	static const nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 100}};
	nghttp2_session_server_new(&c->h2, callbacks, c);
	nghttp2_submit_settings(c->h2, NGHTTP2_FLAG_NONE, settings, 1);
}

/* False: it cannot go on. */
static bool
send_frames(struct conn *c)
{
	static char record[RECORD + FRAME];
	for (;;) {
		size_t n = 0;
		const uint8_t *p;
		ssize_t got = 0;
		while (n < RECORD && (got = nghttp2_session_mem_send(c->h2, &p)) > 0) {
			memcpy(record + n, p, (size_t)got);
			n += (size_t)got;
		}
		if (n && SSL_write(c->ssl, record, (int)n) != (int)n)
			return false;
		if (got <= 0)
			return got == 0;
	}
}

/* ---- connections ----------------------------------------------------------------------------- */

static void
drop(struct conn *c)
{
	nghttp2_session_del(c->h2);
	SSL_free(c->ssl);
	close(c->fd);
	free(c);
}

static void
welcome(int epoll, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
	if (fd < 0)
		return;
	struct conn *c = calloc(1, sizeof *c);
	BIO *b = BIO_new(socket_method);
	c->fd = fd;
	c->ssl = SSL_new(tls);
	BIO_set_data(b, c);
	BIO_set_init(b, 1);
	SSL_set_bio(c->ssl, b, b);
	SSL_set_accept_state(c->ssl);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd,
		  &(struct epoll_event){.events = EPOLLIN | EPOLLET, .data.ptr = c});
}

/* A closed loop without pipelining: when a head is complete, nothing follows it. */
static bool
take(struct conn *c, const char *p, size_t n)
{
	if (c->h2)
		return nghttp2_session_mem_recv(c->h2, (const uint8_t *)p, n) >= 0;
	if (n > HEAD_MOST - c->n)
		return false;
	memcpy(c->head + c->n, p, n);
	c->n += n;
	if (!memmem(c->head, c->n, "\r\n\r\n", 4))
		return true;
	c->n = 0;
	for (size_t at = 0; at < answer_n; at += RECORD) {
		int part = (int)(answer_n - at < RECORD ? answer_n - at : RECORD);
		if (SSL_write(c->ssl, answer + at, part) != part)
			return false;
	}
	return true;
}

static bool
serve(struct conn *c)
{
	static char in[RECORD];
	int n;
	c->emptied = false;
	ERR_clear_error();
	if (!SSL_is_init_finished(c->ssl)) {
		int r = SSL_do_handshake(c->ssl);
		const unsigned char *name;
		unsigned name_n;
		if (r != 1)
			return SSL_get_error(c->ssl, r) == SSL_ERROR_WANT_READ;
		SSL_get0_alpn_selected(c->ssl, &name, &name_n);
		if (name_n == 2)
			begin_h2(c);
	}
	while ((n = SSL_read(c->ssl, in, sizeof in)) > 0)
		if (!take(c, in, (size_t)n))
			return false;
	if (SSL_get_error(c->ssl, n) != SSL_ERROR_WANT_READ)
		return false;
	return !c->h2 || send_frames(c);
}

int
main(int argc, char **argv)
{
	body_bytes = argc > 3 ? strtoul(argv[3], NULL, 10) : 1024;
	if (argc < 3 || body_bytes == 0 || body_bytes > BODY_MOST) {
		fprintf(stderr, "usage: front_bare PORT PEM [BODY_BYTES up to 65536]\n");
		return 2;
	}
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				.sin_port = htons((unsigned short)atoi(argv[1]))};
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), epoll = epoll_create1(0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	if (bind(listener, (struct sockaddr *)&a, sizeof a) || listen(listener, 4096)) {
		perror("front_bare: cannot listen");
		return 1;
	}
	make_answer();
	make_tls(argv[2]);
	nghttp2_session_callbacks_new(&callbacks);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &(struct epoll_event){.events = EPOLLIN});
	for (;;) {
		struct epoll_event events[64];
		int n = epoll_wait(epoll, events, 64, -1);
		for (int i = 0; i < n; i++) {
			struct conn *c = events[i].data.ptr;
			if (!c)
				welcome(epoll, listener);
			else if (!serve(c))
				drop(c);
		}
	}
}
