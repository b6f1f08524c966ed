/* journal_state.h - where this node stands in the journal, and what it has heard of lately: kept over reloads, and the
 * place over restarts.
 *
 * Held: the node may lack purges of others, and nothing is answered from its disk until it has read the journal to its
 * end. So it begins; a process that takes another one's place goes on as that one stood.
 *
 * Lately: all purges of the last JOURNAL_LATELY_S, of whatever node, and those that the journal does not have yet of the
 * last JOURNAL_OPEN_S, of JOURNAL_LATELY_MOST bytes at most; of more, the oldest become one purge of everything. They are
 * journaled again where the journal has lost some, and told to nodes that cannot read it (recall.h). For those it matters
 * how far they reach: from a place on they have all that this node has heard of and all that the journal has up to where
 * this node has read. That place goes up when one is dropped; there is none after a start and after this node stood still,
 * until it has read the journal to its end, nor where one was heard of that could not be kept or has another identity.
 *
 * Threads   the fleet's, or who has none; journal_state_write: any.
 */
#ifndef FLEET_JOURNAL_STATE_H
#define FLEET_JOURNAL_STATE_H

#include "proxy/fleet/journal.h"

struct journal_state;

enum {
	JOURNAL_LATELY_S = 3600,
	JOURNAL_OPEN_S = 24 * 3600,
	JOURNAL_LATELY_MOST = 4 << 20,
	JOURNAL_FILE_MOST = 256
};

struct journal_state *journal_state_create(void);
void journal_state_destroy(struct journal_state **j);

const char *journal_state_known(const struct journal_state *j); /* the identity; "": none yet */
struct journal_place journal_state_place(const struct journal_state *j);
void journal_state_move(struct journal_state *j, const char *known, struct journal_place to);
bool journal_state_holds(const struct journal_state *j);
void journal_state_hold(struct journal_state *j, bool holds);

/* These were heard of. */
void journal_state_note(struct journal_state *j, uint64_t node, struct str items, int64_t now_s);
/* The same, and the journal has them at that place. */
void journal_state_note_at(struct journal_state *j, uint64_t node, struct str items,
			   struct journal_place at, int64_t now_s);
/* The journal has these, whoever they were heard from. False: no message that waited for that has the first and the last
 * of them. */
bool journal_state_place_those(struct journal_state *j, uint64_t node, struct str items,
			       struct journal_place at);
/* Messages of lately have the first and the last of these; and one of them is the same to the last byte. */
bool journal_state_covers(const struct journal_state *j, uint64_t node, struct str items);
bool journal_state_has(const struct journal_state *j, uint64_t node, struct str items);
/* The first one behind a serial number (0: of all) that was heard of since then, with its own; false: there is none. */
struct journal_lately {
	uint64_t serial, node;
	int64_t at_s;
	struct str items;
};
bool journal_state_lately(const struct journal_state *j, uint64_t behind, int64_t since_s,
			  struct journal_lately *out);

/* Each one behind a serial number, in the order in which they were heard of, until visit says false. */
struct journal_lately_visit {
	struct journal_lately of;
	bool has_place; /* the journal has it, there: */
	struct journal_place at;
};
void journal_state_each(const struct journal_state *j, uint64_t behind,
			bool (*visit)(void *ctx, const struct journal_lately_visit *v), void *ctx);

/* How far lately reaches: to that place; from there on, from now on; only to behind that place, if the journal had there
 * what is not kept; and nowhere. */
bool journal_state_reaches(const struct journal_state *j, struct journal_place from);
bool journal_state_reaches_any(const struct journal_state *j);
void journal_state_remember(struct journal_state *j, struct journal_place from);
void journal_state_pass(struct journal_state *j, struct journal_place at);
void journal_state_blur(struct journal_state *j);

/* For a file, with whether it is held; and of one. -1: it is damaged, and none. goes_on: of a process whose place this one
 * takes, so that it need not be held where that one was not. */
void journal_state_write(struct journal_state *j, struct buf *out);
int journal_state_read(struct journal_state *j, struct str file, bool goes_on);
uint64_t journal_state_changes(struct journal_state *j);

#endif
