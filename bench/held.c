/* held.c - the load of bench/held.sh: clients of HTTP/2 that have much kept in memory.
 *
 *	held PORT COUNT KIND
 *
 * Opens COUNT connections without TLS, each with REQUESTS requests of a kind, and says "held". It ends
 * when standard input does.
 *
 *	mute        no client, but an origin that answers nothing; says "port"
 *	heads       27 KiB each by HPACK's table: seven bytes that name a field of 3,900
 *	uploads     bodies that do not end, of as many bytes as windows let in, 48,000 at most
 *	windowless  of 200,000 bytes each, that nobody asked for before; the client gives no window
 *	plain       as windowless, of 100 bytes: what any request costs that waits to be sent
 */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { REQUESTS = 98, FIELD = 3900, REFERENCES = 7, PIECE = 16000, UPLOAD = 48000 };
enum { FRAME_HEAD = 9, WINDOW = 65535 };
enum { DATA, HEADERS, SETTINGS = 4, WINDOW_UPDATE = 8, END_STREAM = 1, END_HEADERS = 4 };

static unsigned char text[1 << 16];

static void
put(int fd, int type, int flags, unsigned stream, const void *p, size_t n)
{
	const unsigned char head[FRAME_HEAD] = {(unsigned char)(n >> 16),
						(unsigned char)(n >> 8),
						(unsigned char)n,
						(unsigned char)type,
						(unsigned char)flags,
						(unsigned char)(stream >> 24),
						(unsigned char)(stream >> 16),
						(unsigned char)(stream >> 8),
						(unsigned char)stream};
	memcpy(text, head, sizeof head);
	if (n)
		memcpy(text + sizeof head, p, n);
	if (send(fd, text, sizeof head + n, MSG_NOSIGNAL) < 0)
		return; /* it was ended; the figures show it */
}

static bool
take(int fd, void *p, size_t n)
{
	return recv(fd, p, n, MSG_WAITALL) == (ssize_t)n;
}

/* So many bytes more may be sent; 0: nothing was heard for a while. */
static long
hear_window(int fd)
{
	static unsigned char in[1 << 16];
	unsigned char h[FRAME_HEAD];
	while (take(fd, h, sizeof h)) {
		size_t n = (size_t)h[0] << 16 | (size_t)h[1] << 8 | h[2];
		if (n > sizeof in || !take(fd, in, n))
			break;
		if (h[3] == WINDOW_UPDATE && !h[5] && !h[6] && !h[7] && !h[8])
			return (long)in[0] << 24 | in[1] << 16 | in[2] << 8 | in[3];
	}
	return 0;
}

static void
ask(int fd, unsigned i, bool post, const char *path, const void *more, size_t n)
{
	unsigned char block[8192] = {post ? 0x83 : 0x82, 0x86, 0x04, (unsigned char)strlen(path)};
	size_t at = 4 + strlen(path);
	memcpy(block + 4, path, strlen(path));
	memcpy(block + at, "\1\1a", 3);
	if (n)
		memcpy(block + at + 3, more, n);
	put(fd, HEADERS, END_HEADERS | (post ? 0 : END_STREAM), 2 * i + 1, block, at + 3 + n);
}

static void
ask_heads(int fd)
{
	char path[32];
	unsigned char more[FIELD + 16] = "\x40\1x\x7f";
	more[4] = ((FIELD - 127) & 127) | 128;
	more[5] = (FIELD - 127) >> 7;
	memset(more + 6, 'y', FIELD);
	for (unsigned i = 0; i < REQUESTS; i++) {
		snprintf(path, sizeof path, "/held/%d/%u", fd, i);
		ask(fd, i, false, path, more, i == 0 ? 6 + FIELD : REFERENCES);
		memset(more, 0xbe, REFERENCES);
	}
}

static void
ask_uploads(int fd)
{
	static const char piece[PIECE];
	long window = WINDOW;
	for (unsigned i = 0; i < REQUESTS; i++)
		ask(fd, i, true, "/held", NULL, 0);
	for (unsigned i = 0; i < REQUESTS; i++)
		for (int sent = 0; sent < UPLOAD; sent += PIECE) {
			for (long more; window < PIECE; window += more)
				if (!(more = hear_window(fd)))
					return;
			put(fd, DATA, 0, 2 * i + 1, piece, PIECE);
			window -= PIECE;
		}
}

static void
ask_bodies(int fd, unsigned bytes)
{
	static uint64_t unique = 1;
	char path[64];
	for (unsigned i = 0; i < REQUESTS; i++) {
		snprintf(path, sizeof path, "/cdn/%016llx/%u",
			 (unsigned long long)(unique++ * UINT64_C(0x9e3779b97f4a7c15)), bytes);
		ask(fd, i, false, path, NULL, 0);
	}
	(void)hear_window(fd);
}

/* Connections are made to it, and nobody answers. */
static void
be_mute(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(fd, (struct sockaddr *)&at, n) || listen(fd, 4096) ||
	    getsockname(fd, (struct sockaddr *)&at, &n)) {
		perror("listen");
		exit(1);
	}
	printf("port=%d\n", ntohs(at.sin_port));
	fflush(stdout);
}

static int
open_to(int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				 .sin_port = htons((uint16_t)port)};
	struct timeval patience = {.tv_usec = 200000};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	if (connect(fd, (const struct sockaddr *)&to, sizeof to)) {
		perror("connect");
		exit(1);
	}
	return fd;
}

int
main(int argc, char **argv)
{
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	if (argc != 4) {
		fprintf(stderr, "usage: held PORT COUNT mute|heads|uploads|windowless|plain\n");
		return 2;
	}
	const char *kind = argv[3];
	int port = atoi(argv[1]), count = atoi(argv[2]);
	bool asks = !strcmp(kind, "windowless") || !strcmp(kind, "plain");
	if (!strcmp(kind, "mute"))
		be_mute();
	for (int i = 0; i < count; i++) {
		int fd = open_to(port);
		send(fd, preface, sizeof preface - 1, MSG_NOSIGNAL);
		put(fd, SETTINGS, 0, 0, "\0\4\0\0\0\0", asks ? 6 : 0);
		if (asks)
			ask_bodies(fd, kind[0] == 'p' ? 100 : 200000);
		else if (!strcmp(kind, "uploads"))
			ask_uploads(fd);
		else
			ask_heads(fd);
	}
	printf("held=%d\n", count);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
