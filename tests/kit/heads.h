/* heads.h - requests and responses written down in tests as text, one line each, "\n" between.
 *
 *	struct request *r = request_of("GET /a HTTP/1.1\nHost: h");
 *	struct response *a = response_of("HTTP/1.1 200 OK\nETag: \"x\"");
 *	struct fields *f = fields_of("Vary: a\nVary: b");
 *
 * Their results are valid until the next call of the same function. Needs rooms http and base.
 */
#ifndef KIT_HEADS_H
#define KIT_HEADS_H

#include "proxy/base/buf.h"
#include "proxy/http/h1_parse.h"
#include "tests/kit/unit.h"

#include <stdio.h>

struct head_text {
	char text[4096];
	size_t n;
	struct field v[32];
};

/* "\n" becomes CR LF, one at the end is dropped, an empty line is put behind. */
static inline struct str
head_text_set(struct head_text *h, const char *lines)
{
	h->n = 0;
	for (const char *p = lines; *p && strcmp(p, "\n"); p++) {
		ck_assert_uint_lt(h->n + 6, sizeof h->text);
		if (*p == '\n')
			h->text[h->n++] = '\r';
		h->text[h->n++] = *p;
	}
	memcpy(h->text + h->n, "\r\n\r\n", 4);
	h->n += 4;
	return (struct str){h->text, h->n};
}

static inline struct request *
request_of(const char *lines)
{
	static struct head_text h;
	static struct request r;
	static const struct h1_limits limits = {sizeof h.text, sizeof h.text, 32};
	r = (struct request){.fields = {.v = h.v, .cap = 32}};
	const struct fault *fault = h1_parse_request(head_text_set(&h, lines), &limits, &r);
	ck_assert_msg(!fault, "%s: %s", lines, fault ? fault->rule : "");
	if (!r.scheme.n)
		r.scheme = STR("http");
	return &r;
}

static inline struct response *
response_of(const char *lines)
{
	static struct head_text h;
	static struct response r;
	r = (struct response){.fields = {.v = h.v, .cap = 32}};
	ck_assert_msg(h1_parse_response(head_text_set(&h, lines), &r), "%s", lines);
	return &r;
}

static inline struct fields *
fields_of(const char *lines)
{
	static struct head_text h;
	static struct response r;
	char text[4096];
	snprintf(text, sizeof text, "HTTP/1.1 200 OK%s%s", *lines ? "\n" : "", lines);
	r = (struct response){.fields = {.v = h.v, .cap = 32}};
	ck_assert_msg(h1_parse_response(head_text_set(&h, text), &r), "%s", lines);
	return &r.fields;
}

/* The bytes with "\n" for CR LF, to compare with what a test says. */
static inline const char *
text_of(const struct buf *b)
{
	static char text[4096];
	size_t n = 0;
	for (size_t i = 0; i < b->n; i++)
		if (b->p[i] != '\r')
			text[n++] = b->p[i];
	text[n] = '\0';
	return text;
}

#endif
