/* access_line.h - one line of the access log from plain facts, in two forms.
 *
 * combined: what most tools read, then what they skip:
 *
 *	192.0.2.1 - - [20/Nov/2026:15:04:05 +0000] "GET /a HTTP/1.1" 200 1024 "-" "curl/7.88"
 *	  host="example.com" cache="hit; ttl=60; detail=ram" head_us=38 total_us=41
 *
 * (on one line), and then what there is of: range="bytes=0-99", which a 206 answers; life=600, the seconds for which an
 * answer that an origin gave, or confirmed, for this request may be used without asking again (0: none; nothing: it may not be
 * stored); var=1b2c3d4e, where the URL has several answers, which one it was: of the key's hash, whose seed nobody outside
 * knows; purge="url", of a PURGE and of a purge by the administrator: url, prefix, host, tag or all, with "soft-" in front
 * where what it covers is stale and not gone;
 * "received=1024", what the client of a tunnel (101) sent; "cut"; origin_host="...", the Host that the
 * origin was asked for, with an error that was not made from the cache, and origin_target="...", where a route made
 * another path of the client's; "reused", for a request that is not the first of its
 * connection; tls="TLSv1.3" cipher="..." sni="..." alpn="h2", and "resumed" for a TLS session that was;
 * id="...", which the origin and the reader of an error page were told as X-Request-ID;
 * trace="..." where the client sent a traceparent. In a quoted field each byte that is not printable ASCII, each quote and each
 * backslash is written \xHH, so that neither a reader that knows escapes nor one that looks for
 * the next quote can be led astray by a client.
 *
 * json: one object per line, with the same facts by name. Bytes above 0x7f are written as the
 * Unicode characters U+0080 to U+00FF, for a client may send what is not UTF-8.
 */
#ifndef SERVE_ACCESS_LINE_H
#define SERVE_ACCESS_LINE_H

#include "proxy/base/buf.h"

/* Of an origin's answer that may be stored. */
struct access_life {
	bool is_known;
	int64_t s;
};
/* Of a URL's answers, which one it was. */
struct access_variant {
	bool is_known;
	uint32_t hash;
};
struct access_purge {
	struct str kind; /* "url"; empty: it purges nothing */
	bool soft;
};

struct access_line {
	int64_t now_s;
	struct str client;	 /* address, by a trusted forwarder where there is one */
	struct str request_line; /* as received */
	struct str host;
	int status;
	uint64_t body_bytes; /* sent */
	struct str referer, agent;
	struct str origin_host;	  /* that it was asked for; empty: no matter */
	struct str origin_target; /* the same; empty: the client's */
	struct str cache;	  /* value of Cache-Status */
	struct str range;	  /* that was asked for and answered with 206; empty: none */
	struct access_life life;
	struct access_variant variant;
	struct access_purge purge;
	int64_t head_us, total_us; /* from the request's head to that of the answer, to its end */
	bool tunnel;		   /* its connection switched protocols */
	uint64_t received;	   /* bytes that the client sent then */
	bool cut;		   /* the answer could not be sent whole */
	bool reused;		   /* not the first request of its connection */
	bool resumed;		   /* its TLS session was */
	struct str tls, cipher;	   /* "TLSv1.3"; empty: none */
	struct str sni, alpn;	   /* what the handshake asked for, and agreed on */
	struct str id;		   /* what the request is called; empty: nothing */
	struct str trace;	   /* traceparent, as the client sent it; empty: none */
};

/* Each appends a line with its end. */
void access_line_combined(const struct access_line *l, struct buf *out);
void access_line_json(const struct access_line *l, struct buf *out);

#endif
