/* body_stored.c - bodies that are stored: of one object, or of slices (walk.h). */
#include "proxy/serve/body.h"

#include "proxy/base/file_piece.h"
#include "proxy/serve/coded.h"
#include "proxy/serve/plain.h"
#include "proxy/serve/walk.h"

/* ---- one object ---------------------------------------------------------------------------- */

static enum stream_pull
read_object(struct body *b, size_t most, struct str *pieces, unsigned *n)
{
	uint64_t left = b->until - b->at;
	switch (object_read(b->cache, b->object, &b->read, b->at, left < most ? left : most)) {
	case BODY_READY:
		pieces[(*n)++] = (struct str){b->read.p, b->read.n};
		b->at += b->read.n;
		return STREAM_PULL_SOME;
	case BODY_LATER:
		b->read_out = true;
		return STREAM_PULL_LATER;
	case BODY_BAD:
		break;
	}
	return STREAM_PULL_ERROR;
}

static bool
object_from_file(struct body *b, size_t most, struct file_piece *piece)
{
	if (!object_file(b->object, &b->read, b->at, most, piece))
		return false;
	b->at += piece->n;
	return true;
}

static bool
object_go_back(struct body *b, uint64_t at)
{
	(void)at; /* the next read says where */
	body_give_back(&b->read, b->object);
	return true;
}

static const struct body_source of_object = {
	.counts = BODY_FROM_CACHE,
	.read = read_object,
	.file = object_from_file,
	.go_back = object_go_back,
};

void
body_of_object(struct body *b, struct cache *c, struct mailbox *home, struct object *o)
{
	b->source = &of_object;
	b->cache = c;
	b->object = o;
	b->read.home = home;
}

/* ---- slices -------------------------------------------------------------------------------- */

static enum stream_pull
read_slices(struct body *b, size_t most, struct str *pieces, unsigned *n)
{
	uint64_t left = b->until - b->at;
	body_release(b);
	switch (walk_read(b->walk, b->at, b->until, left < most ? (size_t)left : most, &pieces[0],
			  &b->blocks[0])) {
	case WALK_READY:
		b->at += pieces[0].n;
		*n = 1;
		return STREAM_PULL_SOME;
	case WALK_LATER:
		return STREAM_PULL_LATER;
	case WALK_CHANGED: /* what was sent is of another version: it is cut, never mixed */
	case WALK_FAILED:
	case WALK_REFUSED:
		break;
	}
	return STREAM_PULL_ERROR;
}

static bool
slices_from_file(struct body *b, size_t most, struct file_piece *piece)
{
	body_release(b);
	if (!walk_file(b->walk, b->at, most, piece))
		return false;
	b->at += piece->n;
	return true;
}

static bool
slices_go_back(struct body *b, uint64_t at)
{
	return walk_give_back(b->walk, at);
}

static const struct body_source of_slices = {
	.counts = BODY_FROM_CACHE_IF_HIT,
	.read = read_slices,
	.file = slices_from_file,
	.go_back = slices_go_back,
};

void
body_of_slices(struct body *b)
{
	b->source = &of_slices;
}

/* ---- one object in another form ------------------------------------------------------------ */

static enum stream_pull
read_plain(struct body *b, size_t most, struct str *pieces, unsigned *n)
{
	uint64_t left = b->until - b->at;
	switch (plain_read(b->plain, b->at, left < most ? (size_t)left : most, &pieces[0])) {
	case PLAIN_READY:
		*n = pieces[0].n > 0;
		b->at += pieces[0].n;
		return *n ? STREAM_PULL_SOME : STREAM_PULL_END;
	case PLAIN_LATER:
		return STREAM_PULL_LATER;
	case PLAIN_FAILED:
		break;
	}
	return STREAM_PULL_ERROR;
}

static const struct body_source of_plain = {.counts = BODY_FROM_CACHE, .read = read_plain};

void
body_of_plain(struct body *b)
{
	b->source = &of_plain;
}

/* ---- the end of any ------------------------------------------------------------------------ */

void
body_end(struct body *b)
{
	body_release(b); /* before the flight, which uses again what nobody else holds */
	if (b->reader)	 /* mostly not: a call for each of these was seen in a hit's price */
		flight_leave(&b->reader);
	if (b->second)
		flight_leave(&b->second);
	if (b->coded)
		coded_end(&b->coded);
	walk_end(&b->walk);
	plain_end(&b->plain);
	buf_fini(&b->parts.text);
	if (!b->read_out)
		body_done(&b->read);
}
