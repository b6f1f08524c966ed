/* h2.c - a client by libnghttp2, and frames by hand. */
#include "tests/kit/inside.h"

#include <ctype.h>
#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/socket.h>
#include <strings.h>
#include <unistd.h>

enum { STREAMS = 20000 };

struct stream {
	struct heap head, interim, body, trailers;
	int status, code; /* of RST_STREAM */
	bool has_head, closed, cut, never_ends;
	const char *up; /* what of its body is not sent yet */
	size_t up_n, sent;
};

struct h2_client {
	struct client *socket;
	int fd;
	nghttp2_session *ng;
	struct stream *streams[STREAMS];
	int order[STREAMS];
	unsigned closed;
	int goaway, goaways, pongs;
	bool ended, by_hand;
};

bool
h2_is_asked_for(void)
{
	const char *set = getenv("KIT_H2");
	return set && *set && strcmp(set, "0") != 0;
}

void
by_h1_only(void)
{
	if (h2_is_asked_for())
		skip("by HTTP/2 it has another meaning");
}

/* ---- what libnghttp2 reports ----------------------------------------------------------------- */

static struct stream *
stream_of(struct h2_client *c, int id)
{
	if (id <= 0 || id / 2 >= STREAMS || !c->streams[id / 2])
		fail("no stream %d was opened", id);
	return c->streams[id / 2];
}

static int
on_header(nghttp2_session *ng, const nghttp2_frame *f, const uint8_t *name, size_t name_n,
	  const uint8_t *value, size_t value_n, uint8_t flags, void *ctx)
{
	struct stream *s = stream_of(ctx, f->hd.stream_id);
	(void)ng, (void)flags;
	for (size_t i = 0; i < name_n; i++)
		if (isupper(name[i]))
			fail("an upper-case name: %.*s", (int)name_n, (const char *)name);
	if (name_n == 7 && memcmp(name, ":status", 7) == 0) {
		s->status = atoi((const char *)value);
		heap_text(&s->head, "HTTP/2 %d\r\n", s->status);
		return 0;
	}
	static const char *const never[] = {
		"connection", "keep-alive", "proxy-connection", "transfer-encoding",
		"upgrade",    "te",	    "trailer"};
	for (size_t i = 0; i < sizeof never / sizeof *never; i++)
		if (strlen(never[i]) == name_n && memcmp(never[i], name, name_n) == 0)
			fail("a field that is of one connection: %s", never[i]);
	heap_text(s->has_head ? &s->trailers : &s->head, "%.*s: %.*s\r\n", (int)name_n,
		  (const char *)name, (int)value_n, (const char *)value);
	return 0;
}

static int
on_frame(nghttp2_session *ng, const nghttp2_frame *f, void *ctx)
{
	struct h2_client *c = ctx;
	(void)ng;
	if (f->hd.type == NGHTTP2_GOAWAY) {
		c->goaway = (int)f->goaway.error_code;
		c->goaways++;
	}
	if (f->hd.type == NGHTTP2_PING && f->hd.flags & NGHTTP2_FLAG_ACK)
		c->pongs++;
	if (f->hd.type == NGHTTP2_RST_STREAM)
		stream_of(c, f->hd.stream_id)->code = (int)f->rst_stream.error_code;
	if (f->hd.type != NGHTTP2_HEADERS)
		return 0;
	struct stream *s = stream_of(c, f->hd.stream_id);
	if (s->has_head) {
		if (!(f->hd.flags & NGHTTP2_FLAG_END_STREAM))
			fail("trailers that do not end the answer");
		return 0;
	}
	heap_add(&s->head, "\r\n", 2);
	if (s->status >= 200) {
		s->has_head = true;
		return 0;
	}
	heap_add(&s->interim, s->head.p, s->head.n);
	s->head.n = 0;
	return 0;
}

static int
on_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *p, size_t n, void *ctx)
{
	(void)ng, (void)flags;
	heap_add(&stream_of(ctx, id)->body, (const char *)p, n);
	return 0;
}

static int
on_close(nghttp2_session *ng, int32_t id, uint32_t code, void *ctx)
{
	struct h2_client *c = ctx;
	struct stream *s = stream_of(c, id);
	(void)ng;
	s->closed = true;
	s->cut = code != NGHTTP2_NO_ERROR || !s->has_head;
	c->order[c->closed++] = id;
	return 0;
}

static ssize_t
on_upload(nghttp2_session *ng, int32_t id, uint8_t *buf, size_t length, uint32_t *flags,
	  nghttp2_data_source *source, void *ctx)
{
	struct stream *s = source->ptr;
	(void)ng, (void)id, (void)ctx;
	size_t n = s->up_n < length ? s->up_n : length;
	if (n == 0 && s->never_ends)
		return NGHTTP2_ERR_DEFERRED;
	memcpy(buf, s->up, n);
	s->up += n;
	s->up_n -= n;
	s->sent += n;
	if (s->up_n == 0 && !s->never_ends)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static void
flush(struct h2_client *c)
{
	const uint8_t *p;
	ssize_t n;
	while ((n = nghttp2_session_mem_send(c->ng, &p)) > 0)
		client_send_bytes(c->socket, (const char *)p, (size_t)n);
}

/* Sends what may be sent and reads what comes, or the end, within so long. False: nothing came. */
static bool
turn(struct h2_client *c, int wait_ms)
{
	char buf[16384];
	flush(c);
	struct pollfd p = {c->fd, POLLIN, 0};
	if (poll(&p, 1, wait_ms) <= 0)
		return false;
	ssize_t n = recv(c->fd, buf, sizeof buf, 0);
	if (n <= 0) {
		c->ended = true;
		return true;
	}
	ssize_t r = nghttp2_session_mem_recv(c->ng, (const uint8_t *)buf, (size_t)n);
	if (r < 0)
		fail("bad HTTP/2 came: %s", nghttp2_strerror((int)r));
	flush(c);
	return true;
}

static void
step(struct h2_client *c)
{
	struct kit_wait w = kit_wait_begin(NULL, 0, "frames of HTTP/2");
	kit_wait_goes_on(&w);
	if (!turn(c, KIT_FOREVER))
		fail("an HTTP/2 client cannot wait: %s", strerror(errno));
	kit_wait_end(&w);
}

/* ---- a connection ---------------------------------------------------------------------------- */

static struct h2_client *
open_with(unsigned window)
{
	struct h2_client *c = kit_alloc(sizeof *c);
	nghttp2_session_callbacks *cb;
	nghttp2_option *o;
	nghttp2_session_callbacks_new(&cb);
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
	nghttp2_option_new(&o);
	nghttp2_option_set_no_auto_window_update(o, window > 0);
	c->by_hand = window > 0;
	nghttp2_session_client_new2(&c->ng, cb, c, o);
	nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window ? window : 65535}};
	nghttp2_submit_settings(c->ng, 0, settings, 2);
	c->socket = client_open_to(edge_h2_port());
	c->fd = client_fd(c->socket);
	c->goaway = -1;
	return c;
}

struct h2_client *
h2_open(void)
{
	return open_with(0);
}

struct h2_client *
h2_open_window(unsigned bytes)
{
	return open_with(bytes);
}

void
h2_close(struct h2_client *c)
{
	client_close(c->socket);
	c->ended = true;
}

static unsigned
add_nv(nghttp2_nv *nv, unsigned n, const char *name, const char *value)
{
	char *lower = strdup(name);
	for (char *p = lower; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	for (unsigned i = 0; i < n && *name == ':'; i++)
		if (strcmp((char *)nv[i].name, lower) == 0) {
			nv[i].value = (uint8_t *)strdup(value);
			nv[i].valuelen = strlen(value);
			return n;
		}
	nv[n] = (nghttp2_nv){(uint8_t *)lower, (uint8_t *)strdup(value), strlen(lower),
			     strlen(value), NGHTTP2_NV_FLAG_NONE};
	return n + 1;
}

/* "Name: value\r\n"...; what HTTP/1 needs and HTTP/2 forbids is left out. */
static unsigned
add_fields(nghttp2_nv *nv, unsigned n, const char *fields)
{
	char *all = strdup(fields ? fields : ""), *save;
	for (char *line = strtok_r(all, "\r\n", &save); line;
	     line = strtok_r(NULL, "\r\n", &save)) {
		char *colon = strchr(line + 1, ':');
		if (!colon || n == 400)
			fail("not a field, or too many of them: %s", line);
		*colon = 0;
		char *value = colon + 1 + strspn(colon + 1, " \t");
		if (strcasecmp(line, "host") == 0)
			n = add_nv(nv, n, ":authority", value);
		else if (strcasecmp(line, "connection") && strcasecmp(line, "transfer-encoding"))
			n = add_nv(nv, n, line, value);
	}
	return n;
}

static int
request(struct h2_client *c, const char *method, const char *target, const char *fields,
	struct stream *s)
{
	nghttp2_nv *nv = kit_alloc(404 * sizeof *nv);
	unsigned n = add_nv(nv, 0, ":method", method);
	n = add_nv(nv, n, ":scheme", "http");
	n = add_nv(nv, n, ":authority", "example.com");
	n = add_nv(nv, n, ":path", target);
	n = add_fields(nv, n, fields);
	nghttp2_data_provider up = {.source.ptr = s, .read_callback = on_upload};
	s->code = -1;
	heap_add(&s->head, "", 0);
	heap_add(&s->body, "", 0);
	heap_add(&s->interim, "", 0);
	int id = nghttp2_submit_request(c->ng, NULL, nv, n, s->up ? &up : NULL, NULL);
	if (id < 0 || id / 2 >= STREAMS)
		fail("cannot ask: %s", nghttp2_strerror(id));
	c->streams[id / 2] = s;
	flush(c);
	return id;
}

int
h2_request_open(struct h2_client *c, const char *method, const char *target, const char *fields,
		const char *body, size_t n)
{
	struct stream *s = kit_alloc(sizeof *s);
	s->up = body;
	s->up_n = n;
	s->never_ends = true;
	return request(c, method, target, fields, s);
}

int
h2_request(struct h2_client *c, const char *method, const char *target, const char *fields,
	   const char *body)
{
	struct stream *s = kit_alloc(sizeof *s);
	s->up = body;
	s->up_n = body ? strlen(body) : 0;
	if (body)
		fields = text("Content-Length: %zu\r\n%s", s->up_n, fields ? fields : "");
	return request(c, method, target, fields, s);
}

size_t
h2_sent(struct h2_client *c, int stream)
{
	return stream_of(c, stream)->sent;
}

void
h2_reset(struct h2_client *c, int stream)
{
	nghttp2_submit_rst_stream(c->ng, 0, stream, NGHTTP2_CANCEL);
	flush(c);
}

struct answer
h2_read(struct h2_client *c, int stream)
{
	struct stream *s = stream_of(c, stream);
	while (!s->closed && !c->ended)
		step(c);
	return (struct answer){.status = s->has_head ? s->status : 0,
			       .head = s->head.p,
			       .head_bytes = s->head.n,
			       .body = s->body.p,
			       .body_bytes = s->body.n,
			       .interim = s->interim.p,
			       .trailers =
				       kit_dup(s->trailers.n ? s->trailers.p : "", s->trailers.n),
			       .cut = s->cut || !s->closed,
			       .fault = s->cut || !s->closed ? "it was cut" : NULL};
}

void
h2_wait_head(struct h2_client *c, int stream)
{
	struct stream *s = stream_of(c, stream);
	while (!s->has_head && !s->closed && !c->ended)
		step(c);
}

void
h2_wait_body(struct h2_client *c, int stream, size_t bytes)
{
	struct stream *s = stream_of(c, stream);
	while (s->body.n < bytes && !s->closed && !c->ended)
		step(c);
	if (s->body.n < bytes)
		fail("a body ended after %zu bytes", s->body.n);
}

int
h2_reset_code(struct h2_client *c, int stream)
{
	return stream_of(c, stream)->code;
}

int
h2_closed(struct h2_client *c, unsigned i)
{
	return i < c->closed ? c->order[i] : 0;
}

int
h2_goaway(struct h2_client *c)
{
	return c->goaway;
}

void
h2_wait_goaway(struct h2_client *c, int times)
{
	while (c->goaways < times && !c->ended)
		step(c);
	if (c->goaways < times)
		fail("the connection ended after %d GOAWAY", c->goaways);
}

void
h2_wait_end(struct h2_client *c)
{
	while (!c->ended)
		step(c);
}

void
h2_ping(struct h2_client *c)
{
	int pongs = c->pongs;
	nghttp2_submit_ping(c->ng, 0, NULL);
	while (c->pongs == pongs && !c->ended)
		step(c);
	if (c->pongs == pongs)
		fail("the connection ended instead of an answer to PING");
}

void
h2_turn(struct h2_client *c)
{
	enum { MOMENT_MS = 2 };
	turn(c, MOMENT_MS);
	if (c->ended)
		fail("the connection ended");
}

void
h2_window(struct h2_client *c, int stream, unsigned bytes)
{
	nghttp2_submit_window_update(c->ng, 0, stream, (int32_t)bytes);
	nghttp2_submit_window_update(c->ng, 0, 0, (int32_t)bytes);
	flush(c);
}

struct answer
h2_ask(const char *method, const char *target, const char *fields, const char *body)
{
	struct h2_client *c = h2_open();
	struct answer a = h2_read(c, h2_request(c, method, target, fields, body));
	h2_close(c);
	return a;
}

/* ---- frames by hand -------------------------------------------------------------------------- */

void
h2_raw_frame(struct client *c, int type, int flags, int stream, const void *p, size_t n)
{
	char *frame = kit_alloc(9 + n);
	const unsigned char head[9] = {(unsigned char)(n >> 16),
				       (unsigned char)(n >> 8),
				       (unsigned char)n,
				       (unsigned char)type,
				       (unsigned char)flags,
				       (unsigned char)(stream >> 24),
				       (unsigned char)(stream >> 16),
				       (unsigned char)(stream >> 8),
				       (unsigned char)stream};
	memcpy(frame, head, 9);
	if (n)
		memcpy(frame + 9, p, n);
	client_send_bytes(c, frame, 9 + n);
	free(frame);
}

struct client *
h2_raw_open(void)
{
	struct client *c = client_open_to(edge_h2_port());
	client_send(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	h2_raw_frame(c, H2_SETTINGS, 0, 0, NULL, 0);
	return c;
}

void
h2_raw_headers(struct client *c, int flags, int stream, const char *const *pairs)
{
	char block[4096], *at = block;
	for (; pairs[0]; pairs += 2) {
		*at++ = 0; /* a literal with a new name, not indexed (RFC 7541 6.2.2) */
		for (int i = 0; i < 2; i++) {
			size_t n = strlen(pairs[i]);
			if (n > 126 || (size_t)(at - block) + n + 2 > sizeof block)
				fail("too long to be written by hand: %s", pairs[i]);
			*at++ = (char)n;
			memcpy(at, pairs[i], n);
			at += n;
		}
	}
	h2_raw_frame(c, H2_HEADERS, flags, stream, block, (size_t)(at - block));
}

/* A frame; its payload's first bytes. -1: the end. */
static int
next_frame(struct client *c, uint8_t head[9], uint8_t *p, size_t n)
{
	char rest[1 << 14];
	if (client_read_body(c, (char *)head, 9) < 9)
		return -1;
	size_t all = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
	if (all > sizeof rest || client_read_body(c, rest, all) < all)
		return -1;
	memcpy(p, rest, all < n ? all : n);
	return head[3];
}

struct h2_end
h2_raw_end(struct client *c)
{
	struct h2_end e = {.code = -1};
	uint8_t head[9], p[8] = {0};
	int type;
	while ((type = next_frame(c, head, p, sizeof p)) >= 0) {
		e.frames[type & 15]++;
		if (type == H2_GOAWAY)
			e.code = p[7];
	}
	return e;
}

bool
h2_raw_wait(struct client *c, int type, int stream, uint8_t *p, size_t n)
{
	uint8_t head[9];
	int got;
	while ((got = next_frame(c, head, p, n)) >= 0)
		if (got == type && (stream == 0 || (head[7] << 8 | head[8]) == stream))
			return true;
	return false;
}
