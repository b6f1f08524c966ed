/* fuzz_h2.c - frames of a client meet a session, and a serve that does what the path says
 * rooms: wire http base
 * out of the bytes of the input: every request that serve is told of ends once, nothing is left, and
 * what serve is told of is what it may be told of. The first byte says how the rest is cut.
 */
#include "proxy/base/mem.h"
#include "proxy/http/syntax.h"

#include "tests/kit/own_wire.h"

#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STREAMS_MOST = 8, BODY_BYTES = 40000 };

struct say {
	struct stream *s;
	struct say *next;
	unsigned at, how; /* how: the last byte of the path */
	bool has_head, later, done;
};

static struct {
	struct own_wire own;
	struct say *first;
	unsigned under_way;
} all;

static enum stream_pull
pull(void *ctx, size_t most, struct str *pieces, unsigned *n)
{
	static const char bytes[BODY_BYTES];
	struct say *y = ctx;
	assert(!y->done && *n == 0 && most > 0);
	if (y->how & 1 && !y->later) {
		y->later = true;
		return STREAM_PULL_LATER;
	}
	y->later = false;
	size_t left = BODY_BYTES - y->at, size = left < most ? left : most;
	if (y->how & 2 && y->at > BODY_BYTES / 2)
		return STREAM_PULL_ERROR;
	if (left == 0)
		return STREAM_PULL_END;
	pieces[(*n)++] = (struct str){bytes + y->at, size};
	y->at += (unsigned)size;
	return STREAM_PULL_SOME;
}

static bool
give_back(void *ctx, uint64_t bytes)
{
	struct say *y = ctx;
	assert(bytes <= y->at);
	y->at -= (unsigned)bytes;
	return true;
}

static void
answer(struct say *y, int status)
{
	const struct stream_line line = {STR("X-Name"), STR("value")};
	const struct stream_head h = {.status = status,
				      .add = &line,
				      .add_n = 1,
				      .bytes = y->how & 4 ? LENGTH_UNKNOWN : BODY_BYTES};
	const struct stream_source src = {.pull = pull, .ctx = y, .give_back = give_back};
	y->has_head = true;
	if (y->how & 8)
		own_wire_hint(y->s, STR("Link"), STR("</x>"));
	stream_head(y->s, &h, &src);
}

static void
on_body(void *ctx)
{
	struct say *y = ctx;
	for (;;) {
		struct str some;
		const struct fault *why;
		enum stream_body r = stream_body(y->s, &some, &why);
		assert(!y->done && (r != STREAM_BODY_SOME || some.n));
		if (r == STREAM_BODY_WAIT)
			return;
		if (r != STREAM_BODY_SOME) {
			if (!y->has_head)
				answer(y, why ? why->status : 200);
			return;
		}
		stream_took(y->s, some.n > 100 ? some.n / 2 : some.n);
	}
}

/* A request that HTTP/1 refuses must not come this way either. */
static void
check_request(const struct stream_request *r)
{
	for (unsigned i = 0; i < r->rq.fields.n; i++) {
		const struct field *f = &r->rq.fields.v[i];
		assert(str_is_token(f->name));
		assert(!f->value.n || str_is(f->value, BYTE_VALUE));
		assert(f->id == FIELD_TE || !(fields_hop_by_hop & field_bit(f->id)) ||
		       f->id == FIELD_TRAILER || f->id == FIELD_PROXY_AUTHENTICATE ||
		       f->id == FIELD_PROXY_AUTHENTICATION_INFO ||
		       f->id == FIELD_PROXY_AUTHORIZATION);
	}
	if (r->fault)
		return;
	assert(fields_count(&r->rq.fields, FIELD_HOST) == 1);
	assert(str_is(r->rq.path_query, BYTE_TARGET));
	assert(str_is_token(r->rq.method_name) && r->rq.method != METHOD_CONNECT);
	assert(!memchr(r->line.p, '\n', r->line.n));
}

static void *
on_request(void *node, struct stream *s, const struct stream_request *r)
{
	(void)node;
	check_request(r);
	struct say *y = NEW(struct say);
	y->s = s;
	y->next = all.first;
	all.first = y;
	all.under_way++;
	assert(all.under_way <= STREAMS_MOST);
	struct str path = r->rq.path_query;
	y->how = path.n ? (unsigned char)path.p[path.n - 1] : 0;
	if (r->fault)
		answer(y, r->fault->status);
	else if (y->how & 16)
		on_body(y);
	else if (y->how & 32 && y->how & 1)
		stream_reset(s);
	else
		answer(y, y->how & 32 ? 204 : 200);
	return y;
}

static void
on_done(void *ctx, enum stream_end how, uint64_t bytes)
{
	struct say *y = ctx;
	assert(!y->done && bytes <= BODY_BYTES);
	assert(how != STREAM_SENT || y->has_head);
	y->done = true;
	all.under_way--;
}

static void
begin(void)
{
	static const struct stream_up up = {on_request, on_body, on_done, NULL};
	static const struct wire_limits limits = {.head_bytes = 1000,
						  .url_bytes = 200,
						  .body_bytes = 100000,
						  .field_count = 20,
						  .header_ms = 1000,
						  .idle_ms = 5000,
						  .body_ms = 1000,
						  .send_ms = 1000,
						  .half_close_ms = 1000,
						  .h2_streams = STREAMS_MOST,
						  .h2_resets = 20,
						  .h2_frames = 100,
						  .h2_memory = 64 << 10};
	own_wire_begin(&all.own, &up, &all, &limits, 3);
}

/* Everything that can happen now; what comes back is thrown away. */
static void
turn(int fd)
{
	static char back[1 << 16];
	for (int i = 0; i < 3; i++) {
		event_base_loop(all.own.base, EVLOOP_NONBLOCK);
		while (recv(fd, back, sizeof back, MSG_DONTWAIT) > 0)
			;
		for (struct say *y = all.first; y; y = y->next)
			if (y->later && !y->done)
				stream_ready(y->s);
	}
}

static void
forget(void)
{
	while (all.first) {
		struct say *y = all.first;
		assert(y->done);
		all.first = y->next;
		free(y);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct listener listener = {.scheme = STR_INIT("http"), .h2 = true};
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
	int pair[2];
	if (size < 2)
		return 0;
	if (!all.own.wire)
		begin();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair))
		abort();
	struct arrival a = {.fd = pair[1], .listener = &listener};
	a.peer.ss_family = AF_INET;
	wire_accept(all.own.wire, &a);
	ssize_t sent = send(pair[0], preface, sizeof preface - 1, MSG_NOSIGNAL);
	size_t piece = data[0] ? (size_t)data[0] * 8 : size;
	for (size_t at = 1; at < size && sent >= 0; at += piece) {
		size_t n = size - at < piece ? size - at : piece;
		sent = send(pair[0], data + at, n, MSG_NOSIGNAL);
		turn(pair[0]);
	}
	if (data[0] & 1)
		wire_close_all(all.own.wire);
	close(pair[0]);
	for (int i = 0; i < 3; i++)
		event_base_loop(all.own.base, EVLOOP_NONBLOCK);
	wire_close_all(all.own.wire);
	assert(all.under_way == 0 && all.own.arenas.arenas == 0);
	assert(wire_connections(all.own.wire) == 0);
	forget();
	return 0;
}
