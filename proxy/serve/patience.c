/* patience.c - as long as origins usually take, within what is configured (herd.h). */
#include "proxy/serve/patience.h"

#include "proxy/serve/herd.h"

int64_t
patience_ms(const struct txn *t)
{
	return herd_patience_ms(upstream_usual_ms(t->serve->upstream),
				(int64_t)t->settings->config->timeouts.coalesce_ms);
}
