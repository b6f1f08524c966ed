/* lately.c - reads what the worker notes. */
#include "proxy/serve/lately.h"

bool
lately_find(const struct lately *l, struct twice_key_hash key, struct lately_found *out)
{
	unsigned i = key.lo % LATELY_SLOTS;
	uint64_t check = atomic_load_explicit(&l->slots[i].check, memory_order_relaxed);
	uint64_t word = atomic_load_explicit(&l->slots[i].word, memory_order_relaxed);
	if (!word || (check ^ word) != key.hi)
		return false;
	*out = (struct lately_found){
		.at_s = (int64_t)(word >> 32),
		.judged = word >> 26 & 0x3f,
		.status = (int)(word >> 16 & 0x3ff),
		.verdict = word >> 8 & 0xff,
		.answer = word & 0xff,
	};
	return true;
}
