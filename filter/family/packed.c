#include "filter/family/packed.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PARAM_N = TWICE_SNAPSHOT_PARAMS - 2, PARAM_WIDTH };

static bool
may(uint64_t n, uint64_t width)
{
	return n >= 1 && n <= TWICE_PACKED_CELLS_MOST && width >= 1 &&
	       width <= TWICE_PACKED_WIDTH_MOST;
}

uint64_t
twice_packed_bytes(uint64_t n, unsigned width)
{
	return (n * width + 63) / 64 * sizeof(uint64_t);
}

int
twice_packed_init(struct twice_packed *p, uint64_t n, unsigned width)
{
	if (!may(n, width))
		return -1;
	uint64_t *words = calloc(1, (size_t)twice_packed_bytes(n, width));
	if (!words)
		return -1;
	*p = (struct twice_packed){.words = words, .n = n, .width = width};
	return 0;
}

void
twice_packed_fini(struct twice_packed *p)
{
	free(p->words);
	*p = (struct twice_packed){0};
}

uint64_t
twice_packed_used(const struct twice_packed *p)
{
	uint64_t used = 0;
	if (p->width == 1) {
		for (uint64_t w = 0; w < twice_packed_bytes(p->n, 1) / sizeof(uint64_t); w++)
			used += (uint64_t)__builtin_popcountll(p->words[w]);
		return used;
	}
	for (uint64_t i = 0; i < p->n; i++)
		used += twice_packed_get(p, i) != 0;
	return used;
}

int
twice_packed_save(const struct twice_packed *p, const struct twice_snapshot_sink *to,
		  enum twice_snapshot_kind kind, const uint64_t params[])
{
	uint64_t all[TWICE_SNAPSHOT_PARAMS];
	memcpy(all, params, sizeof(all));
	all[PARAM_N] = p->n;
	all[PARAM_WIDTH] = p->width;
	return twice_snapshot_write(to, kind, all, p->words, twice_packed_bytes(p->n, p->width));
}

/* Bits behind the last cell must be zero, or counting ones would count them. */
static bool
tail_is_clear(const struct twice_packed *p)
{
	unsigned used = p->n * p->width & 63;
	return !used || p->words[p->n * p->width >> 6] >> used == 0;
}

int
twice_packed_load(struct twice_packed *p, struct twice_snapshot_source *from,
		  const struct twice_snapshot_head *head)
{
	uint64_t n = head->params[PARAM_N], width = head->params[PARAM_WIDTH];
	struct twice_packed fresh = {0};
	if (!may(n, width) || head->payload_bytes != twice_packed_bytes(n, (unsigned)width))
		return twice_snapshot_refuse(from, TWICE_SNAPSHOT_ABSURD);
	if (twice_packed_init(&fresh, n, (unsigned)width))
		return twice_snapshot_refuse(from, TWICE_SNAPSHOT_NO_MEMORY);
	if (twice_snapshot_take(from, head, fresh.words))
		goto out;
	if (!tail_is_clear(&fresh)) {
		twice_snapshot_refuse(from, TWICE_SNAPSHOT_ABSURD);
		goto out;
	}
	*p = fresh;
	return 0;
out:
	twice_packed_fini(&fresh);
	return -1;
}
