/* head.h - heads on their way back: what we keep of a response, what a 304 changes in it, what we
 * tell the client about it.
 *
 * A stored head is a field_block: status line and end-to-end field lines, without Age,
 * Content-Length, Transfer-Encoding, Connection and what it lists, X-Request-ID (of the one request
 * that fetched it), and fields named in no-cache="..." / private="...". It is what a client gets, before the fields made fresh per answer
 * (Age, Content-Length, Via, Cache-Status, Connection).
 */
#ifndef HTTP_HEAD_H
#define HTTP_HEAD_H

#include "proxy/base/buf.h"
#include "proxy/http/date.h"
#include "proxy/http/policy.h"

/* Appends the stored head of r to out; adds Date (at now) when missing or no date. Sets
 * terms->etag_at and etag_bytes relative to the start of the appended head. terms may be NULL: a
 * passed answer, which keeps its Age and the fields that only a store must not hold.
 *
 * True when the head lacks a field because of no-cache="...", private="..." or the terms: then the
 * client that asked is sent head_store(..., NULL) instead, which has it (5.2.2.4, 5.2.2.7). */
bool head_store(const struct response *r, int64_t now, struct buf *out, struct terms *terms);

/* Content-MD5, Content-Digest: they speak of the bytes that one very answer has, so they go with no
 * part of what they came with, and with no whole of which that was a part (RFC 9530 2). */
bool head_is_of_bytes(struct str name);

/* A stored head as a response (out->fields.v and cap set by the caller): views into it. False: it
 * is none. */
bool head_read(struct str stored, struct response *out);

/* RFC 9111 3.2: the stored response with a 304's (or a HEAD 200's) fields: all of the new
 * response's fields replace stored ones of the same name, except what speaks of the stored bytes
 * or files them: Content-Length, Content-Encoding, Content-Range, Content-MD5, Content-Digest, ETag
 * and Vary where the stored head has them, and Set-Cookie. now, written to date, becomes the Date
 * of a fresh without one. Ask policy_304_is_of first. An Age of fresh is in it, for the storing
 * facts that give the new terms; head_store drops it. out->fields.v and cap are the caller's; the
 * result is views into stored, fresh and date. False: more fields than cap. */
bool head_update(const struct response *stored, const struct response *fresh, int64_t now,
		 char date[DATE_BYTES], struct response *out);

/* The parts of a Cache-Status member (RFC 9211), written "twice; hit; ttl=60; detail=ram". */
struct cache_status {
	const char *name; /* the cache's: "twice" */
	bool hit;
	/* "uri-miss", "vary-miss", "stale", "bypass", "request", "method", "partial", "miss" */
	const char *fwd;
	int fwd_status; /* 0: not said */
	bool has_ttl, stored, collapsed;
	int64_t ttl;
	const char *detail;
	struct str key; /* empty: not said */
};
void cache_status_format(const struct cache_status *s, struct buf *out); /* value only */

#endif
