/* origin.h - an origin that says what the script says and remembers all it heard.
 *
 * It listens from the first word on (ephemeral port of 127.0.0.1) and answers each path with its
 * answers in order; the last one again and again. A path without a script is answered by the
 * script of "*", else with 404. A query belongs to the path.
 */
#ifndef KIT_ORIGIN_H
#define KIT_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct barrier;

struct say { /* zeroed means: 200, Date and Content-Length added, the connection is kept */
	int status;
	const char *reason;
	const char *fields; /* lines, each ended by \r\n */
	const char *body;
	size_t body_bytes;    /* 0: strlen(body) */
	size_t pattern_bytes; /* instead of body: pattern(seed, n) */
	uint64_t seed;
	bool no_date;
	bool chunked;		   /* Transfer-Encoding: chunked, in pieces */
	const char *trailers;	   /* lines after the last chunk */
	bool until_close;	   /* no framing: the body ends with the connection */
	size_t promise;		   /* Content-Length says this, whatever the body is */
	const char *etag;	   /* ETag; a request with this If-None-Match is answered 304 */
	const char *last_modified; /* Last-Modified, likewise with If-Modified-Since */
	const char *fields_304;	   /* fields of that 304 (default: fields) */
	bool ranges;		   /* answers a single Range with 206 (and Accept-Ranges) */
	bool if_range; /* ... but with the whole where If-Range is neither etag nor last_modified */

	const char *raw;  /* instead of all the above: these exact bytes, then close */
	size_t raw_bytes; /* 0: strlen(raw) */
	bool raw_keeps;	  /* ... and do not close */

	const char *interim;	   /* exact bytes before the answer: "HTTP/1.1 103 ...\r\n\r\n" */
	struct barrier *hold_head; /* it waits here before the head */
	struct barrier *hold_body; /* it waits here when hold_at bytes of the body are out */
	size_t hold_at;
	const char *hold_for; /* holds only requests with these bytes in their heads */
	size_t drip;	      /* bytes per write; 0: as many as go */
	bool cut;	      /* closes when cut_at bytes of the body are out */
	size_t cut_at;
	bool reset;	  /* closing is a RST */
	bool close;	  /* closes after the answer, without saying so in the head */
	bool mute;	  /* never answers; waits until the peer closes */
	bool early;	  /* answers before the request's body was read */
	bool sips;	  /* reads the request's body a little at a time: its client is ahead */
	bool slow_reader; /* reads nothing of the request's body until hold_head opens */
	int times;	  /* how often before the next answer is due; 0: once */
};
#define origin_says(path, ...) origin_script(path, &(struct say){__VA_ARGS__})
void origin_script(const char *path, const struct say *s);
void origin_forget(const char *path); /* its script; what was heard stays */

struct heard {	    /* a request as it arrived */
	char *head; /* verbatim, with its empty line */
	size_t head_bytes;
	char *body; /* decoded */
	size_t body_bytes;
	bool whole;    /* the body has ended */
	bool answered; /* all that the script says is out */
	char *method, *target;
	unsigned connection; /* the how-manieth it came on, from 0 */
	const char *client;  /* the name in the client's certificate; NULL: there was none */
};
int origin_requests(void);
int origin_requests_for(const char *target);
int origin_answers_for(const char *target); /* of those requests, how many are answered */
const struct heard *origin_request(int i);  /* from 0; fails if there was none */
const struct heard *origin_last(void);
const char *
heard_field(const struct heard *h, const char *name); /* NULL: not there; lines joined by ", " */
int heard_field_lines(const struct heard *h, const char *name);
char *origin_wire(unsigned connection, size_t *n); /* every byte of a connection */
unsigned origin_connections(void);		   /* so far */
size_t origin_mark(void);			   /* a place in all it received so far */
char *origin_since(size_t mark, size_t *n);	   /* every byte since, of all connections */
bool origin_heard_bytes(const char *needle);	   /* on any connection */

#define origin_expect_requests(n)	      origin_expect(__FILE__, __LINE__, NULL, n)
#define origin_expect_requests_for(target, n) origin_expect(__FILE__, __LINE__, target, n)
void origin_expect(const char *file, int line, const char *target, int n);
void origin_wait_requests(int n);	      /* until it has heard n heads */
bool origin_has_closed(unsigned connection);  /* it was there, and the peer closed it or it did */
void origin_wait_closed(unsigned connection); /* until the peer closed it */

unsigned origin_port(void);
const char *origin_url(void);
void origin_dies(void);	   /* refuses connections, ends those it has */
void origin_returns(void); /* the same port again */
/* The same origin at further ports, its doors 1 to 5, as if it were several: what is asked at door 2
 * for "/x" is heard, and scripted, as "@2/x", and "@2*" is the script of all that has none there. */
const char *origin_door(unsigned i);	  /* its URL; opened at the first word */
const char *origin_door_unix(unsigned i); /* the same by a Unix socket; its first word */
/* The same at the port of the origin itself, by another address of 127.0.0.0/8; its first word, and
 * before anybody was told that port, which is another one from then on if somebody has it there. */
void origin_door_at(unsigned i, const char *address);
void origin_door_dies(unsigned i);
void origin_door_returns(unsigned i);
/* Speaks TLS from now on, with PEM files; call before the first other word. */
void origin_tls(const char *cert, const char *key);
/* Behind it: only clients with a certificate that this file's authority issued are answered. */
void origin_tls_asks(const char *ca);

#endif
