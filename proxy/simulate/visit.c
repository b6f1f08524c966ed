/* visit.c - numbers made of those of a visit. */
#include "proxy/simulate/visit.h"

uint64_t
visit_slice_key(const struct visit *v, uint64_t number)
{
	uint64_t x = v->key.lo + (uint64_t)v->version * UINT64_C(0x9e3779b97f4a7c15) + number + 1;
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (v->key.hi & ~(uint64_t)UINT32_MAX) | (uint32_t)(x ^ x >> 31);
}

void
visit_range(const struct visit *v, uint64_t *from, uint64_t *until)
{
	*from = v->kind == VISIT_PART ? v->at : 0;
	uint64_t sent = v->kind == VISIT_CHECKED ? 0 : v->sent ? v->sent : v->bytes;
	*until = sent < v->bytes - *from ? *from + sent : v->bytes;
}

double
visit_draw(const struct visit *v, uint64_t nth)
{
	uint64_t x = v->key.lo ^ nth * UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}
