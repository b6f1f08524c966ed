/* tls.h - TLS between a connection and its socket: what is received is decrypted, what is sent
 * encrypted. OpenSSL does it; the sockets are read and written here.
 *
 *	tls.c           this, and the life of an SSL
 *	tls_bio.c       OpenSSL's reads and writes, as few calls of the system as there can be
 *	tls_kernel      the socket encrypts what is sent, where the kernel can
 *	tls_handshake   a front: from the accepted socket to the front that the client chose
 *	tls_server      what all listeners of a node share: certificates, ticket keys, settings
 *	tls_certs, tls_cert, tls_pem, tls_name   certificates: chosen, matched, read, compared
 *	tls_tickets     keys of session tickets
 *
 * Memory    an idle connection holds OpenSSL's own structs and no buffer; one whose client does not
 *           take what it is sent holds at most TLS_UNSENT_MOST encrypted bytes.
 * Threads   a struct tls and a struct tls_desk belong to one worker.
 */
#ifndef WIRE_TLS_H
#define WIRE_TLS_H

#include "proxy/base/buf.h"

#include <openssl/ssl.h>
#include <sys/uio.h>

struct tls_certs;

/* CHATTER_MOST: messages behind the handshake that carry no data; they cost us more than the client.
 * A renewal of keys counts up to four times, for OpenSSL tells of each step.
 * RAW_BYTES: read from a socket at once. BATCH_BYTES: encrypted and not sent, for the time of one
 * write. RECORD_BYTES: the most a record carries. */
enum {
	TLS_RAW_BYTES = 64 << 10,
	TLS_RECORD_BYTES = 16 << 10,
	TLS_BATCH_RECORDS = 2,
	TLS_BATCH_BYTES = TLS_BATCH_RECORDS * (TLS_RECORD_BYTES + 256),
	TLS_UNSENT_MOST = 64 << 10,
	TLS_CHATTER_MOST = 200
};

struct tls_desk { /* one per worker */
	char *raw;
	struct tls *raw_of; /* whose received bytes lie there */
	struct str view;    /* and which of them are not decrypted */
	char *batch;
	size_t batch_bytes;
	char *gather; /* TLS_RECORD_BYTES: pieces that go into one record */
};
void tls_desk_init(struct tls_desk *d);
void tls_desk_fini(struct tls_desk *d);

enum tls_end {
	TLS_OPEN,
	TLS_ENDED, /* the client sends no more */
	TLS_BROKEN /* a read or write failed, or what came was not TLS */
};

struct tls {
	SSL *ssl;
	struct tls_desk *desk;
	struct tls_certs *certs; /* ref */
	int fd;
	uint8_t end;	   /* enum tls_end, of what is received */
	bool drained;	   /* the last read emptied the socket */
	bool established;  /* the handshake is over */
	bool gathers;	   /* what OpenSSL writes goes to desk->batch */
	bool write_broken; /* the socket takes nothing more */
	bool in_kernel;	   /* the socket encrypts: what goes there is plain, out too */
	uint8_t record;	   /* in_kernel: the next write is a record of this kind; 0: data */
	uint8_t chatter;   /* messages behind the handshake that are no data */
	struct buf in;	   /* received, not decrypted; consumed up to in_at */
	size_t in_at;
	struct buf out; /* encrypted, not sent; sent up to out_at */
	size_t out_at;
	uint64_t asked;	  /* of the name in the ClientHello; 0: none */
	uint64_t covered; /* of the last host that may be asked for here */
};

/* NULL: out of memory. certs: a count is taken. */
struct tls *tls_create(struct tls_desk *d, struct tls_certs *certs, int fd);
/* close_notify, if it can be sent: the client knows that nothing was cut. */
void tls_say_end(struct tls *t);
void tls_destroy(struct tls **t);

enum tls_step { TLS_DONE, TLS_WAITS, TLS_FAILED };
enum tls_step tls_accept(struct tls *t);

/* As recv and send of a non-blocking socket, errno EAGAIN and ECONNRESET. more: there may be
 * something to read without another event. */
ssize_t tls_recv(struct tls *t, char *p, size_t max, bool *more);
/* Reads on to the next data, which stays: true when nothing more comes. */
bool tls_look(struct tls *t);
/* Returns how many bytes it encrypted; tls_flush says whether the kernel has them. */
ssize_t tls_send(struct tls *t, const struct iovec *iov, unsigned n);
/* 1: nothing is left to be sent; 0: the socket is full; -1: it is broken. */
int tls_flush(struct tls *t);

/* The plain name in the ClientHello; "": none. */
void tls_note_asked(struct tls *t, const char *name);
/* Encrypted bytes that the socket did not take yet. */
size_t tls_unsent(const struct tls *t);
/* Whether the client may ask for this host[:port] here (RFC 9110 7.4): the certificate in use has
 * it, or it is what the handshake asked for, or an address, which no handshake can ask for. */
bool tls_is_for(struct tls *t, struct str host);
/* Tells what was agreed on, for the log. */
struct stream_link;
void tls_link(const struct tls *t, struct stream_link *out);
/* The socket encrypts what it is given, also from a file. */
bool tls_is_in_kernel(const struct tls *t);
/* ALPN agreed on this. */
bool tls_speaks(const struct tls *t, struct str protocol);

#endif
