/* hand_on.c - messages with what was forgotten, and the answers to them. */
#include "proxy/node/hand_on.h"

#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/node/handover.h"
#include "proxy/node/server_inside.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum {
	SLICE_MS = 50,	 /* between two looks for an answer */
	FORGET_MS = 4000 /* less than a purge waits (FORGET_LIMIT_MS) */
};

const struct purge_entry hand_on_everything = {.kind = FORGET_ALL};

/* One answer, of which there is one to each message, in their order: of what was sent before *others go
 * first, for they may have been waited for in vain. */
static enum handover_got
hear(struct server *s, struct handover_message *m, int limit_ms, size_t *others, bool *durable)
{
	enum handover_got got = handover_receive(s->heir_end, m, limit_ms);
	assert(*others <= s->heir_owes);
	if (got != HANDOVER_GOT)
		return got;
	handover_drop(m);
	if (m->kind != HANDOVER_DURABLE || s->heir_owes == 0)
		return got;
	s->heir_owes--;
	if (*others)
		--*others;
	else
		*durable = *durable && m->n == 1 && m->bytes[0] == 1;
	return got;
}

size_t
hand_on_forgets(void *ctx, const struct purge_entry *list, size_t n, bool *durable)
{
	struct server *s = ctx;
	struct handover_message *m = NEW(struct handover_message);
	int64_t until = now_ms() + FORGET_MS;
	size_t others = s->heir_owes, at = 0;
	bool taken = true, gone = false;
	assert(s->heir_end >= 0);
	*durable = true;
	while (at < n && taken) {
		size_t part = handover_at_once(list + at, n - at);
		int64_t left = until - now_ms();
		taken = handover_send_forgets(s->heir_end, list + at, part,
					      left > 0 ? (int)left : 0) == 0;
		gone = !taken && errno != EAGAIN;
		at += taken ? part : 0;
		s->heir_owes += taken;
		while (hear(s, m, 0, &others, durable) ==
		       HANDOVER_GOT) /* it may wait for room as well */
			continue;
	}
	while (s->heir_owes && !gone && now_ms() < until)
		gone = hear(s, m, SLICE_MS, &others, durable) == HANDOVER_END;
	*durable = *durable && s->heir_owes == 0 && at == n;
	free(m);
	return gone ? n : at;
}

size_t
hand_on_any(void *ctx, const struct purge_entry *list, size_t n, bool *durable)
{
	(void)list;
	return hand_on_forgets(ctx, &hand_on_everything, 1, durable) ? n : 0;
}
