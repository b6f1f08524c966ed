/* h2.h - clients that speak HTTP/2: one by libnghttp2's client session, which is strict; and frames by
 * hand, for what no such client would send.
 *
 * The proxy needs a listener for it: edge_start(H2_LISTEN), or KIT_H2=1 in the environment, which
 * gives every proxy one and has get(), ask() and the calls of client.h use it.
 */
#ifndef KIT_H2_H
#define KIT_H2_H

#include "tests/kit/client.h"

#include <stdint.h>

#define H2_LISTEN "--listen", "127.0.0.1:0", "--listen", "h2c://127.0.0.1:0"

bool h2_is_asked_for(void); /* KIT_H2 */

/* ---- a strict client ------------------------------------------------------------------------- */

struct h2_client;
struct h2_client *h2_open(void);
struct h2_client *h2_open_window(unsigned bytes); /* of each stream, for answers */
void h2_close(struct h2_client *c);
/* A request; the number of its stream. fields: "Name: value\r\n"..., of which ":name: value" replaces
 * a pseudo-field. body: NULL: none; it is sent by h2_read and h2_pump. */
int h2_request(struct h2_client *c, const char *method, const char *target, const char *fields,
	       const char *body);
/* The same, and its body of n bytes is never finished. */
int h2_request_open(struct h2_client *c, const char *method, const char *target, const char *fields,
		    const char *body, size_t n);
size_t h2_sent(struct h2_client *c, int stream); /* of such a body */
void h2_reset(struct h2_client *c, int stream);
/* The answer when the stream is closed; cut: by RST_STREAM or the connection's end. Its head begins
 * with "HTTP/2 200". */
struct answer h2_read(struct h2_client *c, int stream);
void h2_wait_head(struct h2_client *c, int stream);
void h2_wait_body(struct h2_client *c, int stream, size_t bytes); /* at least */
/* The code of the RST_STREAM that closed it; -1: none. */
int h2_reset_code(struct h2_client *c, int stream);
/* Streams in the order in which they were closed: the i-th, or 0. */
int h2_closed(struct h2_client *c, unsigned i);
/* The code of GOAWAY; -1: there was none. */
int h2_goaway(struct h2_client *c);
void h2_wait_goaway(struct h2_client *c, int times);
void h2_wait_end(struct h2_client *c); /* of the connection */
void h2_ping(struct h2_client *c);     /* and its answer */
/* Sends and reads for a moment: while something else is waited for. */
void h2_turn(struct h2_client *c);
void h2_window(struct h2_client *c, int stream, unsigned bytes); /* more of it, in h2_open_window */
struct answer h2_ask(const char *method, const char *target, const char *fields, const char *body);

/* ---- frames by hand -------------------------------------------------------------------------- */

enum {
	H2_DATA,
	H2_HEADERS,
	H2_PRIORITY,
	H2_RST_STREAM,
	H2_SETTINGS,
	H2_PUSH_PROMISE,
	H2_PING,
	H2_GOAWAY,
	H2_WINDOW_UPDATE,
	H2_CONTINUATION
};
enum { H2_END_STREAM = 1, H2_ACK = 1, H2_END_HEADERS = 4 };

struct client *h2_raw_open(void); /* preface and SETTINGS are sent */
void h2_raw_frame(struct client *c, int type, int flags, int stream, const void *p, size_t n);
#define H2_GET(target)                                                                          \
	(const char *const[])                                                                   \
	{                                                                                       \
		":method", "GET", ":scheme", "http", ":authority", "a", ":path", (target), NULL \
	}
/* Literal fields, in pairs, without compression; NULL ends them. */
void h2_raw_headers(struct client *c, int flags, int stream, const char *const *pairs);
/* Counts frames by kind, to the end of the connection; code: GOAWAY's, or -1. */
struct h2_end {
	unsigned frames[16];
	int code;
};
struct h2_end h2_raw_end(struct client *c);
/* The next frame of that kind of that stream (0: of any); its first bytes. False: the end came. */
bool h2_raw_wait(struct client *c, int type, int stream, uint8_t *p, size_t n);

#endif
