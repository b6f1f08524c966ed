/* steps.c - steps twice as wide when there are too many. */
#include "proxy/simulate/steps.h"

uint64_t
steps_note(struct catalogue_facts *n, uint32_t now_s, double urls, double once)
{
	if (n->steps == CATALOGUE_STEPS) {
		for (unsigned i = 0; i < CATALOGUE_STEPS / 2; i++)
			n->step[i] = n->step[2 * i + 1];
		n->steps = CATALOGUE_STEPS / 2;
	}
	n->step[n->steps].visits = n->visits;
	n->step[n->steps].now_s = now_s;
	n->step[n->steps].urls = urls;
	n->step[n->steps++].once = once;
	uint64_t width = n->steps > 1 ? n->step[1].visits - n->step[0].visits : 1;
	return n->visits + (n->steps == CATALOGUE_STEPS ? 2 * width : width);
}
