/* coded.c - plain pieces in, coded ones out. */
#include "proxy/serve/coded.h"

#include "proxy/base/mem.h"
#include "proxy/coding/pack.h"

#include <assert.h>
#include <stdlib.h>

enum {
	ROUND_BYTES = 64 << 10, /* plain bytes in a round of the loop: 1.3 ms of gzip 5 */
	OUT_BYTES = 32 << 10,	/* coded bytes with which the client is sent what is here */
	OUT_ROOM = 128 << 10	/* that out may come to, with what an encoder gives at once */
};

struct coded {
	struct letter again; /* first: see on_again */
	struct txn *t;	     /* NULL: it has left */
	struct shelves *shelves;
	struct pack *pack; /* NULL: the body has ended */
	unsigned holder;   /* of the bytes (share.h) */
	uint64_t holds;	   /* that it is counted with */
	struct buf out;	   /* coded bytes, of which the client was given some */
	size_t given;
	size_t taken;	       /* plain bytes in this round */
	bool unflushed;	       /* the encoder may have some of them still */
	bool on_its_way;       /* the letter by which the next round comes */
	enum stream_pull then; /* behind out: SOME: the body goes on */
};

static const struct {
	int level;
	uint64_t holds; /* of an encoder, and of pack.h's own */
} ways[CODINGS] = {
	[CODING_GZIP] = {5, 384 << 10},
	[CODING_BR] = {3, 1 << 20},
	[CODING_ZSTD] = {3, 1792 << 10},
};

static void
drop_pack(struct coded *c)
{
	if (!c->pack)
		return;
	pack_abandon(c->pack);
	pack_destroy(&c->pack);
	share_give(&c->shelves->coding, c->holder, c->holds);
}

static void
free_coded(struct coded *c)
{
	drop_pack(c);
	buf_fini(&c->out);
	free(c);
}

static void
on_again(struct letter *l)
{
	struct coded *c = (struct coded *)l;
	c->on_its_way = false;
	c->taken = 0;
	if (c->t)
		c->t->wake(c->t);
	else
		free_coded(c);
}

bool
coded_begin(struct txn *t, enum coding coding)
{
	struct shelves *s = t->serve->shelves;
	uint64_t holds = ways[coding].holds + OUT_ROOM;
	assert(!t->body.coded && ways[coding].level);
	unsigned holder = share_holder(t);
	if (!share_take(&s->coding, holder, holds, CODED_BYTES_MOST)) {
		metrics_add(t->serve->metrics, METRIC_STREAMED_NOT, 1);
		return false;
	}
	struct pack *p = pack_create();
	if (!p || !pack_begin(p, (struct pack_as){coding, ways[coding].level})) {
		if (p)
			pack_abandon(p);
		pack_destroy(&p);
		share_give(&s->coding, holder, holds);
		return false;
	}
	struct coded *c = NEW(struct coded);
	c->again.open = on_again;
	c->t = t;
	c->shelves = s;
	c->pack = p;
	c->holder = holder;
	c->holds = holds;
	c->then = STREAM_PULL_SOME;
	t->body.coded = c;
	metrics_add(t->serve->metrics, METRIC_STREAMED, 1);
	return true;
}

void
coded_end(struct coded **cc)
{
	struct coded *c = *cc;
	*cc = NULL;
	c->t = NULL;
	drop_pack(c); /* a letter may take its time */
	if (!c->on_its_way)
		free_coded(c);
}

/* Nothing more is taken: the body is whole, or cut. */
static void
stop(struct coded *c, enum stream_pull then)
{
	c->then = then;
	drop_pack(c); /* a client may take its time */
}

static void
flush(struct coded *c)
{
	bool ok = !c->unflushed || pack_flush(c->pack, &c->out);
	c->unflushed = false;
	if (!ok)
		stop(c, STREAM_PULL_ERROR);
}

/* The next plain bytes become coded ones. LATER: there are none now. */
static enum stream_pull
take(struct coded *c, struct body *b)
{
	struct str in[STREAM_PIECES];
	unsigned n = 0;
	bool ok = true;
	enum stream_pull r = body_pull(b, ROUND_BYTES - c->taken, in, &n);
	for (unsigned i = 0; i < n && ok; i++) {
		ok = pack_add(c->pack, in[i], &c->out);
		c->taken += in[i].n;
		c->unflushed = true;
	}
	body_release(b);
	if (ok && r == STREAM_PULL_END)
		ok = pack_end(c->pack, &c->out);
	else if (ok && r != STREAM_PULL_SOME)
		flush(c); /* the client is not to wait for what is here, nor to lose it */
	if (!ok)
		stop(c, STREAM_PULL_ERROR);
	else if (r == STREAM_PULL_END || r == STREAM_PULL_ERROR)
		stop(c, r);
	return r;
}

static void
ask_for_round(struct coded *c)
{
	if (c->on_its_way)
		return;
	c->on_its_way = true;
	mailbox_post(c->t->serve->mailbox, &c->again);
}

enum stream_pull
coded_pull(void *ctx, size_t most, struct str *pieces, unsigned *n)
{
	struct body *b = ctx;
	struct coded *c = b->coded;
	if (c->given == c->out.n)
		c->given = c->out.n = 0;
	while (c->then == STREAM_PULL_SOME && c->out.n < OUT_BYTES && c->taken < ROUND_BYTES)
		if (take(c, b) == STREAM_PULL_LATER)
			break;
	struct str piece = str_from(buf_str(&c->out), c->given);
	if (!piece.n && c->then == STREAM_PULL_SOME) {
		if (c->taken == ROUND_BYTES)
			ask_for_round(c);
		return STREAM_PULL_LATER;
	}
	piece.n = piece.n < most ? piece.n : most;
	c->given += piece.n;
	if (piece.n)
		pieces[(*n)++] = piece;
	bool last = c->given == c->out.n && (c->then == STREAM_PULL_END || !piece.n);
	return last ? c->then : STREAM_PULL_SOME;
}
