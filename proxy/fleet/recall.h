/* recall.h - a node that cannot read the journal asks its siblings for the purges that it may have missed, as they tell
 * them to each other: bytes that whoever sends them signs.
 *
 *	question   u32 magic "TWR1"   32 digits: the journal's identity   u64 u64 the asker's place in it
 *	           u64 memory   u64 behind   the record of the asker (member.h), to the end
 *	answer     u32 magic "TWR1"   u8 word   u8 ends   u16 members   u64 memory   u64 behind   u64 of each member: its id
 *	           then of each message of purges: u64 node   u32 bytes   purge_items.h
 *
 * All little-endian. Memory is a number of the process that is asked, and behind one of what it has heard of: an answer is a
 * piece, and the next question asks for what comes behind it. A process with another memory begins anew. Ends: there is
 * nothing behind this piece yet.
 *
 * Such a node uses its disk when each member that it knew has said KNOWS, of the members that it knows itself, and has told
 * all, and that is applied and on disk (fleet_recall.c). Why no purge is missed then, of whatever node Z, and no clock is
 * asked. The asker has all that the journal has up to its place P. Z lies behind P, or not in the journal.
 *
 *	- Z is in the journal, and a member has read that far: it says KNOWS only if its memory reaches to P or before, so Z is
 *	  told.
 *	- Z is in the journal, and no member has read so far, for the engine went away within a second: whoever ordered Z
 *	  remembers it, and is asked; so does each node that has it on disk, and where somebody ordered it with success, all
 *	  members have.
 *	- Z is not in the journal: so it was not ordered with success. Whoever ordered it remembers it and is asked, or is no
 *	  member that is known: then whoever it could tell of it remembers it.
 *	- Z is ordered later: a node that is asked tells its purges to the asker from that moment on (spread_welcome),
 *	  and is asked again each second until the journal is read, so that what it hears from others comes too.
 *
 * While the engine is away the others ask each other as well, some each second: a node that started with an old file of
 * members tells its purges to those alone that it knows.
 *
 * A member that is not known here (it came when this node was away) might be the only one that knows: then the journal is
 * waited for. So it is where nobody else is a member. A node that is held itself says so, for it may lack what this one
 * lacks: two that start at once wait for the journal both. A node whose place is of another identity compares nothing.
 *
 * Pure. Answers: bytes are right to the last one, or they are none; items may be a newer version's.
 */
#ifndef FLEET_RECALL_H
#define FLEET_RECALL_H

#include "proxy/fleet/journal.h"

enum { RECALL_MOST = 64 << 10 };

struct recall_question {
	char known[JOURNAL_ID + 1];
	struct journal_place from;
	uint64_t memory, behind; /* as the last answer had them; 0: there was none */
	struct str record;
};
void recall_put_question(const struct recall_question *q, struct buf *out);
/* -1: it is none. The record is a view. */
int recall_take_question(struct str bytes, struct recall_question *out);

enum recall_word {
	RECALL_KNOWS, /* all behind the place that was asked for is told */
	RECALL_HELD,  /* that one may have missed purges itself */
	RECALL_OTHER, /* it follows another journal */
	RECALL_YOUNG, /* it has not remembered for long enough */
	RECALL_WORDS
};
/* A sentence about who says it: "its memory does not reach back far enough". */
const char *recall_say(enum recall_word word);

/* An answer is begun in an empty buf, messages are added while there is room, and then it is ended. */
void recall_begin(struct buf *out, enum recall_word word, uint64_t memory, const uint64_t *members,
		  unsigned n);
bool recall_add(struct buf *out, uint64_t node, struct str items);
void recall_end(struct buf *out, bool ends, uint64_t behind);

struct recall_answer { /* views */
	enum recall_word word;
	bool ends;
	uint64_t memory, behind;
	unsigned members;
	struct str ids, messages;
};
int recall_take(struct str bytes, struct recall_answer *out);
uint64_t recall_member(const struct recall_answer *a, unsigned i);
/* The next message, which is taken off; false: there is none. */
bool recall_next(struct recall_answer *a, uint64_t *node, struct str *items);

#endif
