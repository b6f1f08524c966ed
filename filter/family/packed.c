#include "filter/family/packed.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PARAM_N = SEAL_PARAMS - 2, PARAM_WIDTH };

static bool
may(uint64_t n, uint64_t width)
{
	return n >= 1 && n <= PACKED_CELLS_MOST && width >= 1 && width <= PACKED_WIDTH_MOST;
}

uint64_t
packed_bytes(uint64_t n, unsigned width)
{
	return (n * width + 63) / 64 * sizeof(uint64_t);
}

int
packed_init(struct packed *p, uint64_t n, unsigned width)
{
	if (!may(n, width))
		return -1;
	uint64_t *words = calloc(1, (size_t)packed_bytes(n, width));
	if (!words)
		return -1;
	*p = (struct packed){.words = words, .n = n, .width = width};
	return 0;
}

void
packed_fini(struct packed *p)
{
	free(p->words);
	*p = (struct packed){0};
}

uint64_t
packed_used(const struct packed *p)
{
	uint64_t used = 0;
	if (p->width == 1) {
		for (uint64_t w = 0; w < packed_bytes(p->n, 1) / sizeof(uint64_t); w++)
			used += (uint64_t)__builtin_popcountll(p->words[w]);
		return used;
	}
	for (uint64_t i = 0; i < p->n; i++)
		used += packed_get(p, i) != 0;
	return used;
}

int
packed_save(const struct packed *p, const struct seal_sink *to, enum seal_kind kind,
	    const uint64_t params[])
{
	uint64_t all[SEAL_PARAMS];
	memcpy(all, params, sizeof(all));
	all[PARAM_N] = p->n;
	all[PARAM_WIDTH] = p->width;
	return seal_write(to, kind, all, p->words, packed_bytes(p->n, p->width));
}

/* Bits behind the last cell must be zero, or counting ones would count them. */
static bool
tail_is_clear(const struct packed *p)
{
	unsigned used = p->n * p->width & 63;
	return !used || p->words[p->n * p->width >> 6] >> used == 0;
}

int
packed_load(struct packed *p, struct seal_source *from, const struct seal_head *head)
{
	uint64_t n = head->params[PARAM_N], width = head->params[PARAM_WIDTH];
	struct packed fresh = {0};
	if (!may(n, width) || head->payload_bytes != packed_bytes(n, (unsigned)width))
		return seal_refuse(from, SEAL_ABSURD);
	if (packed_init(&fresh, n, (unsigned)width))
		return seal_refuse(from, SEAL_NO_MEMORY);
	if (seal_take(from, head, fresh.words))
		goto out;
	if (!tail_is_clear(&fresh)) {
		seal_refuse(from, SEAL_ABSURD);
		goto out;
	}
	*p = fresh;
	return 0;
out:
	packed_fini(&fresh);
	return -1;
}
