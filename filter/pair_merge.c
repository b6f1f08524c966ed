/* pair_merge.c - what another process saw meanwhile is added, generation by generation.
 *
 * The snapshot is restored beside the pair, with all that is checked there, so that nothing of a
 * damaged one gets in. Then both are brought to the later of the two generations, and their bits
 * are OR-ed: current with current, previous with previous.
 */
#include "filter/pair_inner.h"

/* Rotates p to where the other one is, by so many numbers. After two nothing of it is left. */
static void
follow(struct twice_pair *p, uint64_t by)
{
	uint64_t want = twice_pair_number(p) + by;

	for (unsigned i = 0; i < 2 && twice_pair_number(p) < want; i++)
		twice_pair_rotate_from(p, now_at(p), true);
	atomic_fetch_add(&p->idle, want - twice_pair_number(p));
}

static void
add_bits(struct twice_pair *p, const struct twice_pair *q)
{
	struct view to = view_of(now_at(p)), from = view_of(now_at(q));

	for (uint64_t i = 0; i < p->line_count; i++)
		for (unsigned c = 0; c < LINE_COLUMNS; c++) {
			struct column *at = &p->lines[i].column[c];
			struct halves h;

			column_untouched(&q->lines[i].column[c], &from, &h);
			column_turn(at, to.generation);
			atomic_fetch_or(&at->word[to.half], h.now);
			atomic_fetch_or(&at->word[to.half ^ 1], h.then);
		}
}

static void
count_more(struct twice_pair *p, unsigned half, struct twice_pair_count other)
{
	struct twice_pair_count mine = twice_pair_counted(p, half);

	twice_pair_expect(p, half, mine.keys > other.keys ? mine : other);
}

const char *
twice_pair_merge(struct twice_pair *p, const struct twice_seed *seed, int64_t now_s,
		 twice_pair_read_fn *read, void *ctx)
{
	struct twice_pair *q = NULL;
	const char *why = twice_pair_load(&q, &p->options, seed, now_s, read, ctx);

	if (why)
		return why;
	uint64_t mine = twice_pair_number(p), other = twice_pair_number(q);
	int64_t mine_s = atomic_load(&p->born_s), other_s = atomic_load(&q->born_s);
	bool first_is_mine = mine > other || (mine == other && mine_s < other_s);

	follow(p, other > mine ? other - mine : 0);
	follow(q, mine > other ? mine - other : 0);
	add_bits(p, q);
	for (unsigned i = 0; i < 2; i++)
		count_more(p, parity(now_at(p)) ^ i, twice_pair_counted(q, parity(now_at(q)) ^ i));
	atomic_store(&p->born_s, first_is_mine ? mine_s : other_s);
	twice_pair_destroy(&q);
	return NULL;
}
