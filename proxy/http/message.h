/* message.h - a request and a response as plain facts: what the parsers fill in and every policy
 * reads.
 *
 * Memory    views into the bytes parsed; field arrays are the caller's.
 */
#ifndef HTTP_MESSAGE_H
#define HTTP_MESSAGE_H

#include "proxy/http/field.h"

enum method {
	METHOD_OTHER,
	METHOD_GET,
	METHOD_HEAD,
	METHOD_POST,
	METHOD_PUT,
	METHOD_DELETE,
	METHOD_OPTIONS,
	METHOD_TRACE,
	METHOD_CONNECT,
	METHOD_PATCH,
	METHOD_OTHER_SAFE,	/* PROPFIND and others, as the IANA registry of methods has them */
	METHOD_OTHER_IDEMPOTENT /* MKCOL and others */
};

/* One of the METHOD_OTHER when it is none of ours; names are case-sensitive (RFC 9110 9.1). */
enum method method_of(struct str name);
/* Those that are answered or forwarded: the value of Allow (RFC 9110 10.2.1). */
extern const struct str method_allow;
/* GET HEAD OPTIONS TRACE are safe (RFC 9110 9.2.1), and what is registered so; an unknown method is not. */
bool method_is_safe(enum method m);
/* Safe methods, PUT, DELETE, and what is registered so, are idempotent (9.2.2). */
bool method_is_idempotent(enum method m);

enum framing {
	FRAMING_NONE,	 /* no body */
	FRAMING_LENGTH,	 /* Content-Length */
	FRAMING_CHUNKED, /* Transfer-Encoding: chunked */
	FRAMING_CLOSE	 /* response until the connection closes */
};

struct request {
	enum method method;
	struct str method_name;
	struct str target; /* as received */
	struct str scheme; /* of an absolute-form target; else the listener's (set by edge) */
	/* host[:port]: from an absolute-form target (which beats Host, RFC 9112 3.2.2), else Host;
	 * may be empty in HTTP/1.0 */
	struct str authority;
	struct str path_query; /* origin form: begins with '/', or "*" */
	int minor;	       /* HTTP/1.minor */
	bool by_h2;	       /* it came as HTTP/2; minor is 1, as what is said to origins */
	struct fields fields;
	enum framing framing;
	uint64_t content_length; /* with FRAMING_LENGTH */
	bool keep_alive;	 /* the client wants this connection kept (RFC 9112 9.3) */
	bool expect_continue;
};

struct response {
	int status;
	struct str reason;
	int minor;
	struct fields fields;
};

#endif
