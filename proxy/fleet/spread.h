/* spread.h - purges go to each sibling at once, and again until it has them.
 *
 * A sibling owes an answer for each parcel; SPREAD_AT_ONCE questions to it are under way at most. What it does not
 * take is sent again, with pauses that grow to SPREAD_PAUSE_MS. Of more than SPREAD_OWED_MOST bytes, or of what is
 * older than SPREAD_OWED_S, all becomes one purge of everything. One that is no member any more is kept for as long,
 * unless nobody listens there: it may be on the other side of a partition, and serve. One who is new owes an answer for
 * the parcels of the last SPREAD_LATELY_S too: it may have come before they were made.
 *
 * Threads   one: that of the event loop.
 */
#ifndef FLEET_SPREAD_H
#define FLEET_SPREAD_H

#include "proxy/fleet/parcel.h"
#include "proxy/fleet/peer.h"

struct spread;

enum {
	SPREAD_AT_ONCE = 4,
	SPREAD_LIMIT_MS = 7000, /* more than a purge log may take */
	SPREAD_FIRST_PAUSE_MS = 100,
	SPREAD_PAUSE_MS = 5000,
	SPREAD_DOUBT_MS = 40, /* between two looks whether somebody listens again */
	SPREAD_OWED_MOST = 2 << 20,
	SPREAD_OWED_S = 3600,
	SPREAD_LATELY_S = 10,
	SPREAD_GUEST_MS = 10 * 1000,
	SPREAD_GONE_MOST = 64
};

/* changed: an answer came, or failed to. has_journal: who starts reads it, so that one who refused a connection since a
 * parcel was journaled will have it before he answers anybody. */
struct spread *
spread_create(struct peers *peers, bool has_journal, void (*changed)(void *ctx), void *ctx);
void spread_destroy(struct spread **s);
/* From now on these are the siblings; references are taken. */
void spread_settle(struct spread *s, struct sibling *const *of, unsigned n, int64_t now_ms);
/* Purges go to that node from now on, at the address that it says, whether it is a sibling or not: for as long as to one
 * that is gone. For SPREAD_GUEST_MS spread_settle does not take another address of it. */
void spread_welcome(struct spread *s, const struct member *m, int64_t now_ms);
void spread_put(struct spread *s, struct parcel *p, int64_t now_ms);
/* Often. */
void spread_turn(struct spread *s, int64_t now_ms);

/* How a sibling stands with purges up to a number. */
enum spread_word {
	SPREAD_HAS,	/* it has them on disk */
	SPREAD_REFUSES, /* nobody listens there, and since the journal has them nobody did */
	SPREAD_SILENT
};
struct spread_row {
	char name[MEMBER_NAME];
	enum spread_word word;
};
/* Of all siblings, those that are gone among them: how many. out: NULL, or room for most. */
unsigned
spread_look(const struct spread *s, uint64_t number, struct spread_row *out, unsigned most);
bool spread_all_have(const struct spread *s, uint64_t number);
/* Numbers of purges that it owes an answer for. 0 too for one that is not known. */
unsigned spread_owes(const struct spread *s, uint64_t node);
struct spread_facts {
	uint64_t sent, failed,
		collapsed; /* questions; of them, those in vain; debts that became purges of everything */
};
struct spread_facts spread_facts(const struct spread *s);

#endif
