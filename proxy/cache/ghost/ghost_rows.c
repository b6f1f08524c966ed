/* ghost_rows.c - what the ghost holds as rows, and a journal of them. */
#include "proxy/cache/ghost/ghost_inside.h"

struct ghost_row
ghost_row(const struct shade *s, uint32_t span)
{
	return (struct ghost_row){s->key,
				  s->bytes | (uint64_t)span << ROW_BYTES_BITS |
					  (s->bodiless ? ROW_BODILESS : 0) |
					  (s->in_pieces ? ROW_IN_PIECES : 0) |
					  (s->large ? ROW_LARGE : 0),
				  s->fresh_until,
				  s->validator,
				  s->url,
				  s->host | 1};
}

void
ghost_journal_begin(struct ghost *g)
{
	g->journal.is_on = true;
	g->journal.is_lost = false;
	g->journal.rows.n = 0;
}

static void
note(struct ghost *g, const struct ghost_row *row)
{
	enum { MOST_BYTES = 1 << 20 };
	struct ghost_journal *j = &g->journal;
	j->is_lost = j->is_lost || j->rows.n >= MOST_BYTES;
	if (j->is_on && !j->is_lost)
		buf_add(&j->rows, (const char *)row, sizeof *row);
}

void
ghost_note(struct ghost *g, const struct shade *s, enum ghost_change what)
{
	uint32_t span = s->last - s->first, back = g->ledger.generation - s->last;
	struct ghost_row row = ghost_row(s, what == GHOST_PUT ? span : 0);
	if (what != GHOST_PUT)
		back = 0;
	else if (back > ROW_MOST_BACK || span > ROW_MOST_SPAN || s->bytes >> ROW_CHANGE_BITS)
		g->journal.is_lost = true;
	row.bytes |= (uint64_t)what << ROW_CHANGE_BITS | (uint64_t)back << ROW_BACK_BITS;
	note(g, &row);
}

void
ghost_note_segment(struct ghost *g, uint32_t generation, bool opened)
{
	note(g, &(struct ghost_row){.fresh_until = generation, .validator = opened});
}

bool
ghost_journal_take(struct ghost *g, struct buf *out)
{
	if (g->journal.is_lost)
		return false;
	buf_add_str(out, buf_str(&g->journal.rows));
	g->journal.rows.n = 0;
	return true;
}
