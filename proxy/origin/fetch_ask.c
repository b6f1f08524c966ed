/* fetch_ask.c - the request goes out: its head, then its body as the caller has it. */
#include "proxy/http/chunked.h"
#include "proxy/origin/fetch_inside.h"
#include "proxy/origin/origin_inside.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* Asked of the caller at once. */
enum { SEND_BYTES = 16 << 10 };

/* A chunk's size goes in front of its data when that is known: "1a2b\r\n" is at most so long. */
enum { CHUNK_SIZE_LINE = 20 };

void
fetch_ask_head(struct fetch *f, const struct fetch_request *r)
{
	const struct origin *o = r->origin;
	struct str host = origin_host(o, r->host);
	struct buf *b = &f->out;
	buf_add_str(b, r->method);
	buf_add_lit(b, " ");
	buf_add_str(b, r->target);
	buf_add_lit(b, " HTTP/1.1\r\nHost: ");
	buf_add_str(b, host);
	buf_add_lit(b, "\r\n");
	buf_add_str(b, r->fields);
	if (r->upgrade.n) {
		buf_add_lit(b, "Connection: upgrade\r\nUpgrade: ");
		buf_add_str(b, r->upgrade);
		buf_add_lit(b, "\r\n");
	}
	if (f->framing == FRAMING_LENGTH) {
		buf_add_lit(b, "Content-Length: ");
		buf_add_u64(b, f->send_left);
		buf_add_lit(b, "\r\n");
	} else if (f->framing == FRAMING_CHUNKED) {
		buf_add_lit(b, "Transfer-Encoding: chunked\r\n");
	}
	buf_add_lit(b, "\r\n");
}

static void
frame_chunk(struct fetch *f, size_t n)
{
	char line[CHUNK_SIZE_LINE];
	size_t line_n = chunked_size_line(line, n);
	f->out_sent = CHUNK_SIZE_LINE - line_n;
	memcpy(f->out.p + f->out_sent, line, line_n);
	f->out.n = CHUNK_SIZE_LINE + n;
	buf_add_lit(&f->out, "\r\n"); /* the chunk's, or that of an empty trailer section */
}

/* The same where protocols were switched: what the caller has, until it has no more. */
static void
refill_tunnel(struct fetch *f)
{
	f->out.n = f->out_sent = 0;
	ptrdiff_t got = f->ev.on_send(f->ctx, buf_room(&f->out, SEND_BYTES), SEND_BYTES);
	if (f->hears == HEAR_CANCELLED)
		return;
	if (got == FETCH_SEND_LATER) {
		buf_fini(&f->out); /* it may take hours */
		fetch_state_move(&f->asks, ASK_LATER);
	} else if (got < 0) {
		fetch_hear_over(f, FETCH_ABORTED, "the client of a tunnel is gone");
	} else if (got > 0) {
		assert((size_t)got <= SEND_BYTES);
		f->out.n = (size_t)got;
	} else {
		lane_end(f->lane);
		fetch_state_move(&f->asks, ASK_SENT);
		if (f->hears == HEAR_ENDED)
			fetch_hear_over(f, FETCH_OK, "");
	}
}

/* The next piece of the body into out, or the end of it. */
static void
refill(struct fetch *f)
{
	if (f->way == TUNNEL) {
		refill_tunnel(f);
		return;
	}
	size_t front = f->framing == FRAMING_CHUNKED ? CHUNK_SIZE_LINE : 0, max = SEND_BYTES;
	if (f->framing == FRAMING_NONE || (f->framing == FRAMING_LENGTH && f->send_left == 0)) {
		fetch_state_move(&f->asks, ASK_SENT);
		return;
	}
	if (!f->replays) {
		f->repeatable = false; /* the body takes the head's place in out */
		f->out.n = f->out_sent = 0;
	}
	if (f->framing == FRAMING_LENGTH && max > f->send_left)
		max = (size_t)f->send_left;
	char *to = buf_room(&f->out, front + max + 2) + front;
	ptrdiff_t got = f->ev.on_send(f->ctx, to, max);
	if (f->hears == HEAR_CANCELLED)
		return;
	if (got == FETCH_SEND_LATER) {
		fetch_state_move(&f->asks, ASK_LATER);
		return;
	}
	if (got < 0 || (got == 0 && f->framing == FRAMING_LENGTH)) {
		fetch_hear_over(f, FETCH_ABORTED, "the request's body ended early");
		return;
	}
	assert((size_t)got <= max);
	f->moved = f->result.body_taken = true;
	if (f->waited_ms) /* what was there before says nothing of its pace */
		f->claim.uploaded += (uint64_t)got;
	if (f->framing == FRAMING_CHUNKED) {
		frame_chunk(f, (size_t)got);
		f->framing = got ? FRAMING_CHUNKED : FRAMING_NONE;
	} else {
		f->out.n += (size_t)got;
		f->send_left -= (uint64_t)got;
	}
}

/* Sends until the request is out, the origin takes no more now, or the caller has no more now. */
void
fetch_ask_push(struct fetch *f)
{
	bool full = false;
	for (int i = 0; i < ROUNDS && f->asks == ASK_WRITING && goes_on(f) && !full; i++) {
		if (f->out_sent == f->out.n) {
			refill(f);
			continue;
		}
		ssize_t n = lane_send(f->lane, f->out.p + f->out_sent, f->out.n - f->out_sent);
		if (n > 0) {
			f->out_sent += (size_t)n;
			f->moved = true;
		} else if (errno == EAGAIN) {
			full = true;
		} else {
			fetch_state_move(&f->asks, ASK_DEAF);
			if (f->way == TUNNEL)
				fetch_hear_over(f, FETCH_TRUNCATED,
						"the origin of a tunnel is gone");
		}
	}
}
