/* fuzz_recall.c - a question of a node that cannot read the journal, and its answer.
 * rooms: fleet origin http base
 *
 * What is read is written again, and is the same.
 */
#include "proxy/fleet/recall.h"
#include "proxy/fleet/ring.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

static void
ask(struct str s)
{
	struct recall_question q;
	struct buf again = {0};
	if (recall_take_question(s, &q))
		return;
	recall_put_question(&q, &again);
	if (!str_eq(buf_str(&again), s))
		abort();
	buf_fini(&again);
}

static void
answer(struct str s)
{
	static uint64_t ids[RING_NODES];
	struct recall_answer a;
	struct buf again = {0};
	uint64_t node;
	struct str items;
	if (recall_take(s, &a))
		return;
	for (unsigned i = 0; i < a.members; i++)
		ids[i] = recall_member(&a, i);
	recall_begin(&again, a.word, a.memory, ids, a.members);
	bool ends = a.ends;
	uint64_t behind = a.behind;
	while (recall_next(&a, &node, &items))
		if (!recall_add(&again, node, items))
			abort();
	recall_end(&again, ends, behind);
	if (again.n != s.n || memcmp(again.p + 6, s.p + 6, s.n - 6) != 0)
		abort();
	buf_fini(&again);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	char *p = malloc(n + 1); /* exactly, but for an empty one */
	memcpy(p, data, n);
	ask((struct str){p, n});
	answer((struct str){p, n});
	free(p);
	return 0;
}
