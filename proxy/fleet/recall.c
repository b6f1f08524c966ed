/* recall.c - there and back. */
#include "proxy/fleet/recall.h"

#include "proxy/base/le.h"
#include "proxy/fleet/member.h"
#include "proxy/fleet/parcel.h"
#include "proxy/fleet/ring.h"

#include <assert.h>

enum { PLACE = 16, QUESTION = 4 + JOURNAL_ID + PLACE + 16, ANSWER = 24, MESSAGE = 12 };
_Static_assert((int)ANSWER + 8 * (int)RING_NODES + (int)MESSAGE + (int)PARCEL_BYTES_MOST <
		       (int)RECALL_MOST,
	       "an answer has room for one message at least");

static const uint32_t MAGIC = 0x31525754; /* "TWR1" */

/* ---- questions ----------------------------------------------------------------------------- */

void
recall_put_question(const struct recall_question *q, struct buf *out)
{
	char head[QUESTION];
	char *p = head + 4 + JOURNAL_ID;
	le_put32(head, MAGIC);
	memcpy(head + 4, q->known, JOURNAL_ID);
	le_put64(p, q->from.ms);
	le_put64(p + 8, q->from.n);
	le_put64(p + 16, q->memory);
	le_put64(p + 24, q->behind);
	buf_add(out, head, sizeof head);
	buf_add_str(out, q->record);
}

int
recall_take_question(struct str bytes, struct recall_question *out)
{
	const char *p = bytes.p + 4 + JOURNAL_ID;
	if (bytes.n < QUESTION || bytes.n - QUESTION > MEMBER_RECORD_MOST ||
	    le_get32(bytes.p) != MAGIC || memchr(bytes.p + 4, '\0', JOURNAL_ID))
		return -1;
	*out = (struct recall_question){.from = {le_get64(p), le_get64(p + 8)},
					.memory = le_get64(p + 16),
					.behind = le_get64(p + 24),
					.record = str_from(bytes, QUESTION)};
	memcpy(out->known, bytes.p + 4, JOURNAL_ID);
	return 0;
}

/* ---- answers ------------------------------------------------------------------------------- */

const char *
recall_say(enum recall_word word)
{
	switch (word) {
	case RECALL_HELD:
		return "it may have missed purges itself";
	case RECALL_OTHER:
		return "it follows another journal";
	case RECALL_YOUNG:
		return "its memory does not reach back far enough";
	default:
		return "it knows";
	}
}

void
recall_begin(struct buf *out, enum recall_word word, uint64_t memory, const uint64_t *members,
	     unsigned n)
{
	char head[ANSWER] = {0}, id[8];
	assert(out->n == 0 && n <= RING_NODES);
	le_put32(head, MAGIC);
	head[4] = (char)word;
	le_put16(head + 6, (uint16_t)n);
	le_put64(head + 8, memory);
	buf_add(out, head, sizeof head);
	for (unsigned i = 0; i < n; i++) {
		le_put64(id, members[i]);
		buf_add(out, id, sizeof id);
	}
}

bool
recall_add(struct buf *out, uint64_t node, struct str items)
{
	char head[MESSAGE];
	if (out->n + MESSAGE + items.n > RECALL_MOST)
		return false;
	le_put64(head, node);
	le_put32(head + 8, (uint32_t)items.n);
	buf_add(out, head, sizeof head);
	buf_add_str(out, items);
	return true;
}

void
recall_end(struct buf *out, bool ends, uint64_t behind)
{
	out->p[5] = ends;
	le_put64(out->p + 16, behind);
}

bool
recall_next(struct recall_answer *a, uint64_t *node, struct str *items)
{
	struct str s = a->messages;
	if (s.n < MESSAGE)
		return false;
	size_t n = le_get32(s.p + 8);
	if (s.n - MESSAGE < n)
		return false;
	*node = le_get64(s.p);
	*items = (struct str){s.p + MESSAGE, n};
	a->messages = str_from(s, MESSAGE + n);
	return true;
}

int
recall_take(struct str bytes, struct recall_answer *out)
{
	uint64_t node;
	struct str items;
	if (bytes.n < ANSWER || bytes.n > RECALL_MOST || le_get32(bytes.p) != MAGIC)
		return -1;
	unsigned members = le_get16(bytes.p + 6), word = (unsigned char)bytes.p[4];
	struct str rest = str_from(bytes, ANSWER);
	if (word >= RECALL_WORDS || members > RING_NODES || rest.n < 8 * (size_t)members)
		return -1;
	struct recall_answer a = {.word = (enum recall_word)word,
				  .ends = bytes.p[5] != 0,
				  .memory = le_get64(bytes.p + 8),
				  .behind = le_get64(bytes.p + 16),
				  .members = members,
				  .ids = {rest.p, 8 * (size_t)members},
				  .messages = str_from(rest, 8 * (size_t)members)};
	struct recall_answer all = a;
	while (recall_next(&all, &node, &items))
		continue;
	if (all.messages.n)
		return -1;
	*out = a;
	return 0;
}

uint64_t
recall_member(const struct recall_answer *a, unsigned i)
{
	return le_get64(a->ids.p + 8 * (size_t)i);
}
