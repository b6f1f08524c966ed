/* fleet_inside.h - the fleet's thread and what it knows, for fleet.c, which makes and ends it, fleet_beat.c, which
 * asks the engine, fleet_list.c, which knows members without one, fleet_adopt.c, which makes rings of members, and
 * fleet_purges.c, fleet_news.c, fleet_wait.c, fleet_journal.c and fleet_recall.c, which take purges to others and from them,
 * fleet_digests.c, which hears what is on disks of other zones, and fleet_survey.c, which asks siblings what they count.
 *
 * All but what is said to be under lock, or atomic, is the thread's own.
 */
#ifndef FLEET_FLEET_INSIDE_H
#define FLEET_FLEET_INSIDE_H

#include "proxy/base/mailbox.h"
#include "proxy/fleet/door.h"
#include "proxy/fleet/engine.h"
#include "proxy/fleet/fleet.h"
#include "proxy/fleet/inquiry.h"
#include "proxy/fleet/journal_state.h"
#include "proxy/fleet/outbox.h"
#include "proxy/fleet/peer.h"
#include "proxy/fleet/settled.h"
#include "proxy/fleet/survey.h"

#include <pthread.h>

struct addresses;
struct event;

enum { FLEET_TICK_MS = 50 };

struct fleet_entry { /* of the list of members */
	char host[MEMBER_ADDRESS], port[8];
	struct addresses *found; /* NULL: host is an address */
};

struct fleet_texts { /* of the options */
	char *listen, *ca_file, *cert_file, *key_file;
	char **engine;
	unsigned engine_n;
	struct network *networks;
	unsigned networks_n;
};

struct fleet_beats {
	struct engine *engine; /* NULL: there is none */
	int64_t due_ms;
	bool under_way, whole;
	int64_t taken_since_ms; /* another instance has the id; 0: none */
	int64_t answered_ms;	/* the last one, or the start */
	int64_t replied_ms;	/* the engine said anything */
	bool answers;		/* within the lease, and does not refuse */
	bool heard;		/* there was one */
	char known[BEAT_KNOWN];
	struct roster held;    /* heard, and not taken yet */
	int64_t held_until_ms; /* 0: nothing is held */
	char why[FLEET_WHY];
	bool refuses;
};

struct fleet_list {
	struct fleet_entry of[FLEET_LIST_MOST];
	unsigned n;
	int64_t due_ms;
	struct settled series;
};

struct digest_reader;

struct fleet_digests {
	struct buf own; /* of this node's disk; under lock, as the next one */
	uint64_t made;	/* its number; 0: there is none */
	struct digest_reader **of;
	unsigned n, reading;
	struct fleet_digest_facts facts;
};

struct fleet_waiter;
struct fleet_asker;

struct fleet_journal {
	struct journal_state *state;
	bool under_way,
		whole; /* a question to the engine; the next one has the text of the script */
	bool said_forgetful;
	bool is_broken;		  /* its answers are, and that was said */
	int64_t due_ms, retry_ms; /* of reading; of anything, after it failed */
	unsigned news;		  /* entries that are being applied */
	bool durable;		  /* those that were */
	char to_id[JOURNAL_ID + 1];
	struct journal_place to; /* when all of them are on disk */
	bool ends;		 /* and that is all there is */
	bool asked_as_member,
		as_member; /* the engine had taken this node when that was asked, and answered */
	bool renews;
	struct journal_place
		own; /* what this node appended last and has not read yet; zeroed: nothing */
	uint64_t again, again_to; /* serial numbers of what is journaled again */
	char members
		[BEAT_KNOWN]; /* as the engine had them when it was appended to last; "": they are those of here */
	uint64_t appending;	/* that of those which is under way */
	struct parcel *appends; /* a reference; NULL: none is under way, or it is one of those */
	int64_t turned_ms;
	struct fleet_journal_facts facts;
};

struct fleet_recall_row;

struct fleet_recall {
	struct fleet_recall_row *rows; /* siblings that are asked; NULL: none is */
	unsigned n, news;	       /* purges of theirs that are being applied */
	bool held;		       /* it was when they were asked first */
	bool on_word; /* the disk is used because they knew, and the journal was not read since */
};

struct fleet_purges {
	struct purge_names *names;
	struct outbox *outbox;
	void (*hear)(void *ctx, struct fleet_news *news);
	void (*hold)(void *ctx, bool holds);
	struct control *control;
	struct spread *spread;
	struct desk *desk;
	struct event *gathered; /* what was gathered may go */
	struct fleet_waiter *waiters;
	int64_t ahead_ms; /* when a sibling had heard of more than this node; 0: none has */
	bool joined;	  /* purges are taken */
	struct fleet_journal journal;
	struct fleet_recall recall;
};

struct fleet_counts {
	struct survey *survey;
	struct fleet_asker *askers;		   /* that wait for it */
	void (*count)(void *ctx, struct buf *out); /* fleet_options.count */
};

struct fleet {
	struct fleet_texts texts;
	void (*keep_id)(void *ctx, uint64_t id);
	void (*keep_members)(void *ctx, struct str members);
	void *keep_ctx;
	struct secret secret;
	struct member me; /* id: 0 while a list of members does not name this node */
	struct event_base *base;
	struct event *tick, *mail;
	struct mailbox mailbox;
	struct door *door;
	struct peers *peers;
	struct inquiry *inquiry;
	struct fleet_counts counts;
	struct fleet_purges purges;
	struct fleet_digests digests;
	pthread_t thread;
	bool runs;

	struct roster roster;	   /* in force */
	struct sibling **siblings; /* its members; references */
	struct chart *chart;	   /* of them; a reference */
	struct charts *charts;	   /* where others find it while the thread runs */

	struct fleet_beats beats;
	struct fleet_list list;

	bool leaves;	  /* it was told to */
	int64_t shown_ms; /* when state and rows were made last */
	pthread_mutex_t lock;
	struct fleet_state state; /* under lock, as the next two */
	struct fleet_row *rows;
	unsigned rows_n;
};

/* fleet_adopt.c. These members are in force from now on; r is taken. */
void fleet_adopt(struct fleet *f, struct roster *r);
/* Makes anew what others may ask for. */
void fleet_show(struct fleet *f, int64_t now_ms);
void fleet_end_charts(struct fleet *f);

/* fleet_beat.c */
int fleet_open_engine(struct fleet *f, struct resolver *r, char *err, size_t err_bytes);
void fleet_beat_turn(struct fleet *f, int64_t now_ms);
/* done(ctx, NULL), or a sentence, when the engine has answered. */
typedef void fleet_done_fn(void *ctx, const char *why);
void fleet_order(struct fleet *f, enum beat_order order, const struct member *about,
		 fleet_done_fn *done, void *ctx);

/* fleet_news.c. Purges of that node are to be applied: done is called, later, unless the fleet ends before. */
typedef void fleet_applied_fn(struct fleet *f, void *ctx, bool durable);
void fleet_news_tell(struct fleet *f, uint64_t from, struct str items, fleet_applied_fn *done,
		     void *ctx);
void fleet_news_open(struct fleet *f);
void fleet_news_leave(struct fleet *f);

/* fleet_wait.c. Those who wait look again; the last time. */
void fleet_wait_turn(struct fleet *f, int64_t now_ms, bool last);

/* fleet_survey.c */
void fleet_survey_open(struct fleet *f);
void fleet_survey_close(struct fleet *f);

/* fleet_purges.c */
void fleet_purges_open(struct fleet *f, const struct fleet_options *o);
/* Before the thread begins. */
void fleet_purges_begin(struct fleet *f);
/* The members, or this node's id, are other ones. */
void fleet_purges_settle(struct fleet *f, int64_t now_ms);
/* The state that a sibling has answered with. */
void
fleet_purges_hear_state(struct fleet *f, const struct sibling *s, struct str state, int64_t now_ms);
bool fleet_purges_behind(const struct fleet *f, int64_t now_ms);
void fleet_purges_turn(struct fleet *f, int64_t now_ms);
/* No more news are answered, and nothing is taken; before the mailbox is run for the last time. */
void fleet_purges_leave(struct fleet *f);
void fleet_purges_close(struct fleet *f);

/* fleet_journal.c */
void fleet_journal_open(struct fleet *f, const struct fleet_options *o);
/* The engine takes questions now. */
void fleet_journal_begin(struct fleet *f);
void fleet_journal_turn(struct fleet *f, int64_t now_ms);
void fleet_journal_close(struct fleet *f);
/* Members have told all purges that this node has missed: it is not held any more. */
void fleet_journal_trust(struct fleet *f, unsigned members);

/* fleet_recall.c. A node that is not held, of a fleet or a process of before, goes by the word of others until it has read
 * the journal itself. */
void
fleet_recall_begin(struct fleet *f); /* the one before has ended, whose state is this one's now */
void fleet_recall_turn(struct fleet *f, int64_t now_ms);
/* control_options.recall */
void fleet_recall_answer(void *ctx, struct control_question *q, uint64_t from, struct str body);
void fleet_recall_close(struct fleet *f);

/* fleet_digests.c. The members are other ones. */
void fleet_digests_settle(struct fleet *f);
/* The sibling says that it has the digest of that number. */
void fleet_digests_hear_state(struct fleet *f, const struct sibling *s, uint64_t number);
void fleet_digests_turn(struct fleet *f, int64_t now_ms);
/* A part of this node's, for that target; false: it asks for none. */
bool fleet_answer_digest(struct fleet *f, struct str target, struct buf *out);
uint64_t fleet_digest_number(struct fleet *f);
void fleet_digests_close(struct fleet *f);

/* fleet_list.c */
int fleet_open_list(struct fleet *f, char *const *members, unsigned n, struct resolver *r,
		    char *err, size_t err_bytes);
void fleet_list_turn(struct fleet *f, int64_t now_ms);
void fleet_close_list(struct fleet *f);

#endif
