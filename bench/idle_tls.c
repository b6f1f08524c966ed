/* idle_tls.c - clients that mostly wait, by TLS: the load of bench/idle_tls.sh.
 *
 *	idle_tls PORT COUNT tls|h2
 *
 * Opens COUNT connections of TLS 1.3, gets one answer on each, by HTTP/1.1 or HTTP/2, and says
 * "idle". When standard input ends it asks once more on each and says how many still work.
 */
#include "proxy/cli/demo/mix.h"

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { NAMES = 100, ASKED_BYTES = 100, FRAME_HEAD = 9 };
enum { DATA = 0, HEADERS = 1, SETTINGS = 4, END_STREAM = 1, END_HEADERS = 4, ACK = 1 };

struct waiting {
	SSL *ssl;
	unsigned stream; /* of its next request, by HTTP/2 */
};

static SSL_CTX *context;
static bool by_h2;

static void
open_one(struct waiting *w, const struct sockaddr_in *proxy)
{
	struct timeval patience = {.tv_sec = 20};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	w->stream = 1;
	if (connect(fd, (const struct sockaddr *)proxy, sizeof *proxy)) {
		close(fd);
		return;
	}
	w->ssl = SSL_new(context);
	SSL_set_fd(w->ssl, fd);
	if (SSL_connect(w->ssl) != 1) {
		SSL_free(w->ssl);
		w->ssl = NULL;
		close(fd);
	}
}

static bool
put(struct waiting *w, const void *p, size_t n)
{
	return SSL_write(w->ssl, p, (int)n) == (int)n;
}

static bool
take(struct waiting *w, void *p, size_t n)
{
	for (size_t at = 0; at < n;) {
		int got = SSL_read(w->ssl, (char *)p + at, (int)(n - at));
		if (got <= 0)
			return false;
		at += (size_t)got;
	}
	return true;
}

/* ---- HTTP/1.1 -------------------------------------------------------------------------------- */

static bool
ask_h1(struct waiting *w, const char *path)
{
	char text[4096];
	int n = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: idle\r\n\r\n", path);
	if (!put(w, text, (size_t)n))
		return false;
	for (size_t at = 0; at < sizeof text;) {
		int got = SSL_read(w->ssl, text + at, (int)(sizeof text - at));
		if (got <= 0)
			return false;
		at += (size_t)got;
		const char *end = memmem(text, at, "\r\n\r\n", 4);
		if (end && at - (size_t)(end - text) == 4 + ASKED_BYTES)
			return memcmp(text, "HTTP/1.1 200", 12) == 0;
	}
	return false;
}

/* ---- HTTP/2 ---------------------------------------------------------------------------------- */

static size_t
frame(unsigned char *to, size_t bytes, int type, int flags, unsigned stream)
{
	const unsigned char head[FRAME_HEAD] = {
		(unsigned char)(bytes >> 16),  (unsigned char)(bytes >> 8),
		(unsigned char)bytes,	       (unsigned char)type,
		(unsigned char)flags,	       (unsigned char)(stream >> 24),
		(unsigned char)(stream >> 16), (unsigned char)(stream >> 8),
		(unsigned char)stream};
	memcpy(to, head, sizeof head);
	return sizeof head;
}

/* Until the stream has ended: the bytes of its body, or -1. */
static int
hear_h2(struct waiting *w, unsigned stream)
{
	static unsigned char in[1 << 16];
	for (int body = 0;;) {
		unsigned char head[FRAME_HEAD], ack[FRAME_HEAD];
		if (!take(w, head, sizeof head))
			return -1;
		size_t n = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
		unsigned of = (unsigned)head[5] << 24 | (unsigned)head[6] << 16 |
			      (unsigned)head[7] << 8 | head[8];
		if (n > sizeof in || !take(w, in, n))
			return -1;
		if (head[3] == SETTINGS && !(head[4] & ACK) &&
		    !put(w, ack, frame(ack, 0, SETTINGS, ACK, 0)))
			return -1;
		if (of != stream)
			continue;
		if (head[3] != DATA && head[3] != HEADERS)
			return -1;
		body += head[3] == DATA ? (int)n : 0;
		if (head[4] & END_STREAM)
			return body;
	}
}

/* ":method: GET", ":scheme: https" by their numbers, then path and authority as texts (RFC 7541). */
static bool
ask_h2(struct waiting *w, const char *path)
{
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", host[] = "\1\4idle";
	unsigned char out[256];
	size_t n = 0, length = strlen(path), block = 4 + length + sizeof host - 1;
	if (w->stream == 1) {
		memcpy(out, preface, n = sizeof preface - 1);
		n += frame(out + n, 0, SETTINGS, 0, 0);
	}
	n += frame(out + n, block, HEADERS, END_STREAM | END_HEADERS, w->stream);
	out[n++] = 0x82;
	out[n++] = 0x87;
	out[n++] = 0x04;
	out[n++] = (unsigned char)length;
	memcpy(out + n, path, length);
	memcpy(out + n + length, host, sizeof host - 1);
	n += length + sizeof host - 1;
	bool well = put(w, out, n) && hear_h2(w, w->stream) == ASKED_BYTES;
	w->stream += 2;
	return well;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int
ask_all(struct waiting *all, int count)
{
	int well = 0;
	for (int i = 0; i < count; i++) {
		struct mix_object o = {(uint64_t)i % NAMES, ASKED_BYTES};
		char path[MIX_PATH_BYTES];
		mix_path(&o, path);
		well += all[i].ssl && (by_h2 ? ask_h2(&all[i], path) : ask_h1(&all[i], path));
	}
	return well;
}

static void
say(const char *what, int n, int of)
{
	printf("%s=%d of=%d\n", what, n, of);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	static const unsigned char h1[] = "\10http/1.1", h2[] = "\2h2";
	if (argc < 4) {
		fprintf(stderr, "usage: idle_tls PORT COUNT tls|h2\n");
		return 2;
	}
	struct sockaddr_in proxy = {.sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				    .sin_port = htons((uint16_t)atoi(argv[1]))};
	int count = atoi(argv[2]);
	by_h2 = strcmp(argv[3], "h2") == 0;
	context = SSL_CTX_new(TLS_client_method());
	SSL_CTX_set_alpn_protos(context, by_h2 ? h2 : h1, by_h2 ? sizeof h2 - 1 : sizeof h1 - 1);
	struct waiting *all = calloc((size_t)count, sizeof *all);
	for (int i = 0; i < count; i++)
		open_one(&all[i], &proxy);
	say("idle", ask_all(all, count), count);
	while (getchar() != EOF)
		continue;
	say("idle_well", ask_all(all, count), count);
	return 0;
}
