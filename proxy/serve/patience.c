/* patience.c - as long as origins usually take, within what is configured (herd.h). */
#include "proxy/serve/patience.h"

#include "config/config.h"
#include "proxy/serve/rules/herd.h"

int64_t
patience_most_ms(const struct txn *t)
{
	return (int64_t)t->settings->config->timeouts.coalesce_ms;
}

int64_t
patience_ms(const struct txn *t)
{
	bool several;
	int64_t usual = upstream_usual_ms(t->settings->groups[t->route->group], &several);
	return herd_patience_ms(usual, several, patience_most_ms(t));
}

bool
patience_is_none(const struct txn *t)
{
	return flight_state(flight_of(t->reader)) == FLIGHT_WAITING &&
	       str_ieq(fields_get(&t->rq.fields, FIELD_ACCEPT), STR("text/event-stream"));
}

bool
patience_is_own_fault(const struct txn *t, uint64_t blame)
{
	char ip[STREAM_PEER_BYTES];
	txn_peer(t, ip);
	return blame && blame == herd_blame(t->serve->shelves->seed, &t->rq, str_of(ip));
}
