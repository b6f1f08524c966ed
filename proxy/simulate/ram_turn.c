/* ram_turn.c - a rate that fades within ten seconds. */
#include "proxy/simulate/ram_turn.h"

enum { LATELY_S = 10, EVER_S = 1 << 30 };

static void
tick(struct ram_turn *r, uint32_t now_s)
{
	double passed = r->at_s ? (double)(now_s - r->at_s) : 1;
	double share = passed < LATELY_S ? passed / LATELY_S : 1;
	bool was_full = r->is_full;
	r->all += r->got;
	r->is_full = was_full || r->all > (double)r->memory_bytes;
	r->rate += ((was_full ? r->got / passed : 0) - r->rate) * share;
	r->got = 0;
	r->at_s = now_s;
}

int64_t
ram_turn_find(struct ram_turn *r, uint32_t now_s)
{
	if (now_s > r->at_s)
		tick(r, now_s);
	double turn = r->rate > 0 ? (double)r->memory_bytes / r->rate : EVER_S;
	if (!r->memory_bytes)
		return 0;
	return turn < EVER_S ? (int64_t)turn : EVER_S;
}
