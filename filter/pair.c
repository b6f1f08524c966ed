/* pair.c - makes a pair, and answers for one key at a time.
 *
 *	pair_line.h	one line of memory: its layout, and the rules for changing it
 *	pair_key.h	where a key lives, how it is looked for and added exactly once
 *	pair_batch.c	many keys at once
 *	pair_rotate.c	when a generation ends, and how stale lines are tidied up
 *	pair_count.c	how many keys there are, and what that says
 *	pair_snapshot.c	the pair as a stream of bytes, and back
 *	pair_pack.c	a key in 64 bits
 */
#include "filter/pair_key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	HUGE_PAGE = 2 << 20,
};

/* Zeroed lines; on huge pages when they are large enough, for a random access misses
 * the TLB as surely as the cache. */
static struct line *
lines_new(uint64_t count)
{
	size_t bytes = count * sizeof(struct line);
	size_t unit = bytes >= HUGE_PAGE ? HUGE_PAGE : LINE_BYTES;
	void *lines;

	if (posix_memalign(&lines, unit, bytes) != 0)
		return NULL;
	if (unit == HUGE_PAGE)
		madvise(lines, bytes, MADV_HUGEPAGE);
	memset(lines, 0, bytes);
	return lines;
}

struct twice_pair *
twice_pair_new(const struct twice_pair_options *o, int64_t now_s)
{
	struct twice_sizing_plan plan;

	if (!twice_sizing_plan_lines(&plan, LINE_COLUMNS, WORD_BITS, 2, o->capacity,
				     o->false_positives)) {
		errno = EINVAL;
		return NULL;
	}
	struct twice_pair *p = aligned_alloc(LINE_BYTES, sizeof(*p));
	struct line *lines = p ? lines_new(plan.lines) : NULL;
	if (!lines) {
		free(p);
		errno = ENOMEM;
		return NULL;
	}
	memset((void *)p, 0, sizeof(*p));
	p->lines = lines;
	p->line_count = plan.lines;
	p->options = *o;
	p->plan = plan;
	twice_pattern_fill(p->pattern, WORD_BITS, plan.line.per_word);
	atomic_store(&p->born_s, now_s);
	atomic_store(&p->clock_s, now_s);
	twice_pair_expect(p, 0, (struct twice_pair_count){0});
	return p;
}

int
twice_pair_create(struct twice_pair **out, const struct twice_pair_options *o, int64_t now_s)
{
	struct twice_pair *p = twice_pair_new(o, now_s);

	if (!p)
		return -1;
	*out = p;
	return 0;
}

void
twice_pair_destroy(struct twice_pair **p)
{
	if (!*p)
		return;
	free((*p)->lines);
	free(*p);
	*p = NULL;
}

enum twice_sight
twice_pair_test(const struct twice_pair *p, struct twice_key_hash h)
{
	struct spot s = spot_of(p, h);
	struct view v = view_of(now_at(p));

	return test_spot(p, &s, &v);
}

enum twice_sight
twice_pair_record(struct twice_pair *p, struct twice_key_hash h)
{
	struct spot s = spot_of(p, h);

	prefetch_to_write(s.a.column);
	struct view v = view_of(now_at(p));
	return record_spot(p, &s, &v, NULL);
}

void
twice_pair_prefetch(const struct twice_pair *p, struct twice_key_hash h)
{
	prefetch_to_write(spot_of(p, h).a.column);
}
