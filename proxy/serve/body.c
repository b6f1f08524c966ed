/* body.c - range after range, and the text between them. */
#include "proxy/serve/body.h"

#include "proxy/base/block.h"

#include <assert.h>
#include <stdio.h>

void
body_is_whole(struct body *b, uint64_t length)
{
	b->ranges[0] = (struct range){0, length};
	b->range_count = 1;
}

void
body_begin(struct body *b, uint64_t length)
{
	b->range_i = 0;
	b->at = b->ranges[0].at;
	b->until = length == UINT64_MAX ? UINT64_MAX : b->at + b->ranges[0].n;
}

uint64_t
body_begin_parts(struct body *b, struct str boundary, struct str type, uint64_t length)
{
	struct body_parts *p = &b->parts;
	uint64_t bytes = 0;
	p->next = BODY_PART_HEAD;
	p->type = type;
	p->total = length;
	p->text.n = 0;
	snprintf(p->boundary, sizeof p->boundary, "%.*s", (int)boundary.n, boundary.p);
	for (unsigned i = 0; i < b->range_count; i++) {
		multipart_part_head(str_of(p->boundary), type, b->ranges[i], length, i == 0,
				    &p->text);
		bytes += b->ranges[i].n;
	}
	multipart_end(str_of(p->boundary), &p->text);
	return bytes + p->text.n;
}

uint64_t
body_taken(const struct body *b)
{
	return b->at - b->ranges[0].at;
}

/* The text before a range of several, or behind the last one. */
static struct str
part_text(struct body *b, bool last)
{
	struct body_parts *p = &b->parts;
	p->text.n = 0;
	if (last)
		multipart_end(str_of(p->boundary), &p->text);
	else
		multipart_part_head(str_of(p->boundary), p->type, b->ranges[b->range_i], p->total,
				    b->range_i == 0, &p->text);
	return buf_str(&p->text);
}

/* To the next range, where there is one. */
static void
leave_range(struct body *b)
{
	assert(b->range_i < b->range_count);
	if (++b->range_i == b->range_count)
		return;
	b->at = b->ranges[b->range_i].at;
	b->until = b->at + b->ranges[b->range_i].n;
	b->parts.next = b->parts.next ? BODY_PART_HEAD : BODY_PART_NONE;
}

/* Whether something else than a range's own bytes comes next: the text between them, or the end. */
static bool
pull_between(struct body *b, size_t most, struct str *pieces, unsigned *n, enum stream_pull *r)
{
	struct str *left = &b->parts.left;
	if (!left->n && b->at == b->until)
		leave_range(b);
	bool last = b->range_i == b->range_count;
	if (!last && b->parts.next != BODY_PART_HEAD)
		return false;
	if (!left->n && b->parts.next)
		*left = part_text(b, last);
	struct str piece = {left->p, left->n < most ? left->n : most};
	*left = str_from(*left, piece.n);
	if (piece.n)
		pieces[(*n)++] = piece;
	*r = last && !left->n ? STREAM_PULL_END : STREAM_PULL_SOME;
	if (!last && !left->n)
		b->parts.next = BODY_PART_BYTES;
	return true;
}

/* There is a range to send, or what stands behind the last one. */
static bool
is_under_way(const struct body *b)
{
	return b->at <= b->until && (b->range_i < b->range_count || b->parts.left.n);
}

enum stream_pull
body_pull(void *ctx, size_t most, struct str *pieces, unsigned *n)
{
	struct body *b = ctx;
	enum stream_pull r;
	assert(b->source && is_under_way(b) && most);
	if (b->read_out)
		return STREAM_PULL_LATER;
	if ((b->at == b->until || b->parts.next == BODY_PART_HEAD) &&
	    pull_between(b, most, pieces, n, &r))
		return r;
	return b->source->read(b, most, pieces, n);
}

bool
body_file(void *ctx, size_t most, struct file_piece *piece)
{
	struct body *b = ctx;
	uint64_t left = b->until - b->at;
	return !b->read_out && left && b->parts.next != BODY_PART_HEAD &&
	       b->source->file(b, left < most ? (size_t)left : most, piece);
}

/* A client that takes nothing holds no bytes of a body that lies on disk: they are read again. */
bool
body_take_back(void *ctx, uint64_t bytes)
{
	struct body *b = ctx;
	if (b->parts.next || b->read_out || b->range_i > 0 || bytes > body_taken(b) ||
	    !b->source->go_back(b, b->at - bytes))
		return false;
	b->at -= bytes;
	return true;
}

void
body_release(struct body *b)
{
	for (unsigned i = 0; i < STREAM_PIECES; i++)
		block_unref(&b->blocks[i]);
}

uint64_t
body_from_cache(const struct body *b, bool hit, uint64_t sent)
{
	enum body_origin counts = b->source ? b->source->counts : BODY_FROM_ORIGIN;
	if (counts == BODY_FROM_ORIGIN || (counts == BODY_FROM_CACHE_IF_HIT && !hit))
		return 0;
	return sent > b->flight_bytes ? sent - b->flight_bytes : 0;
}

/* ---- text that was made here --------------------------------------------------------------- */

static enum stream_pull
read_text(struct body *b, size_t most, struct str *pieces, unsigned *n)
{
	uint64_t left = b->until - b->at;
	struct str piece = {b->said.p + b->at, left < most ? (size_t)left : most};
	b->at += piece.n;
	pieces[(*n)++] = piece;
	return b->at == b->until ? STREAM_PULL_END : STREAM_PULL_SOME;
}

static const struct body_source of_text = {.counts = BODY_FROM_ORIGIN, .read = read_text};

void
body_of_text(struct body *b, struct str text)
{
	b->source = &of_text;
	b->said = text;
	body_is_whole(b, text.n);
	body_begin(b, text.n);
}
