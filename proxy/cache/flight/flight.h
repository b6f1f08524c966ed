/* flight.h - one origin answer on its way to many readers: it is fetched once, by its leader, and
 * read by everybody who asked for the same key while it arrives.
 *
 *	leader (one worker)                     readers (any worker)
 *	flights_enter -> true
 *	flight_publish ------- head -------->   flight_state, flight_head
 *	flight_append  ------- blocks ------>   flight_read ... flight_done_until
 *	flight_end / flight_fail ---------->    BODY end / cut
 *
 * Memory    a flight keeps its whole body while that is small (retain_bytes per flight, total_bytes
 *           over all flights); beyond, only a window (window_bytes) between its slowest reader and
 *           its leader, who is told to pause. When all flights together hold three quarters of
 *           total_bytes, the window is 64 KiB, and 16 KiB beyond total_bytes. So the bound is about
 *           total_bytes + flights * 16 KiB, whatever the size of the bodies or the slowness of the
 *           readers.
 * Pace      a reader that has read everything waits for a slower one at most 250 ms and an eighth
 *           of the flight's time, all together; then the slowest are left behind (FLIGHT_LOST).
 * Units     ms of one monotonic clock, which is an argument.
 * Threads   any; one mutex per flight, one per table shard. Wakes arrive as letters at home.
 */
#ifndef CACHE_FLIGHT_H
#define CACHE_FLIGHT_H

#include "filter/hash.h"
#include "proxy/base/buf.h"
#include "proxy/cache/admission/admission.h"
#include "proxy/http/policy.h"

#include <stdbool.h>

struct block;
struct cache;
struct flight;
struct flights;
struct mailbox;
struct object;

struct flights_options {
	/* window_bytes: at least 256 KiB. */
	uint64_t retain_bytes, window_bytes, total_bytes;
	struct cache *cache; /* says what was forgotten; NULL: nothing ever is */
};
struct flights *flights_create(const struct flights_options *o);
void flights_destroy(struct flights **f);
uint64_t flights_retain_bytes(const struct flights *f);
void flights_count(struct flights *f, uint64_t *flights, uint64_t *bytes);

/* These are known when the origin's head is here; constant once published. */
struct flight_head {
	struct buf head;  /* as stored (http/head.h); owned by the flight once published */
	struct buf asker; /* what the leader's client is sent instead, if not empty: with the fields
			   * that no-cache="..." and private="..." keep out of the store */
	struct buf vary;  /* names the answer varies on (vary_names); empty: none */
	struct buf variant;    /* outgoing_variant of the leader's request */
	struct buf tags;       /* by which what comes may be purged; owned */
	struct terms terms;    /* when storable */
	struct object *object; /* to answer with; a reference: the one that a 304 refreshed, or the
				* head of a body whose slices come (sliced) */
	int status;	       /* of the origin's answer */
	bool storable;
	bool sliced; /* the body lies in slices, under a head of its own */
	bool stored; /* being written to disk */
	bool kept;   /* being stored, in RAM or on disk: it can be read from there at the end */
	enum storable judged; /* why it is not storable; OVERTAKEN: what was stored is for all */
	enum admission verdict;
	bool of_owner; /* the leader's request has credentials: why it is not storable, perhaps */
	bool narrow;   /* a tunnel, or events: for its leader alone, without end, so that little of
		      * it is held */
	bool may_be_coded; /* its body may go to clients in a coding that is made here; or the whole of a 206,
			    * or what a 304 is about, may */
	bool has_age;  /* the origin's answer had an Age: it came from a cache itself */
	bool had; /* another node of the fleet had it in its cache: no origin was asked */
	uint64_t body_bytes; /* UINT64_MAX: not known */
	int64_t delay_s;     /* from the request to this head */
	uint64_t blame;	     /* of an error: see flight_fail */
};

enum flight_state {
	FLIGHT_WAITING,	 /* for the origin's head */
	FLIGHT_ARRIVING, /* the head is published, the body is on its way */
	FLIGHT_WHOLE,	 /* everything is here */
	FLIGHT_FAILED	 /* cut short; before or after the head */
};

struct flight_reader;
typedef void flight_wake_fn(void *ctx);

/* Joins the flight of the key, unless the key was forgotten since that began, or begins one: true
 * when the caller leads it (and must fetch). Either way *reader is the caller's place in it. wake
 * is called on home's thread when there is news. */
bool
flights_enter(struct flights *fs, struct twice_key_hash hash, struct str key, struct mailbox *home,
	      flight_wake_fn *wake, void *ctx, int64_t now_ms, struct flight_reader **reader);
/* Whether one is in the air that might be joined. */
bool flights_has(struct flights *fs, struct twice_key_hash hash, struct str key);
/* A place to wait for the end of the key's flight, whose beginning is gone: what it brings is kept
 * and will be found in the cache. wake is called once, when it has ended. NULL: there is no such
 * flight, or at the pace of the bytes so far it takes longer than most_ms. A slow reader does not
 * hold up those who wait. */
struct flight_reader *
flights_wait(struct flights *fs, struct twice_key_hash hash, struct str key, struct mailbox *home,
	     flight_wake_fn *wake, void *ctx, int64_t now_ms, int64_t most_ms);
/* The same of a flight that the caller reads, however long it takes and wherever its beginning is. NULL: what it
 * brings is not kept, or it has ended. */
struct flight_reader *
flight_wait(struct flight *f, struct mailbox *home, flight_wake_fn *wake, void *ctx);
/* The leader takes its time to the head, or its body drips: *reader's owner, who follows, leads a
 * second fetch of the same key instead, and whoever comes joins that one. *reader is then its place
 * there. False when others are to try first. One follower may do so when a patience is over and one more
 * after the next; then two after each of two patiences, four after each of two more, and eight after each
 * further one. For each such fetch that fails, another may begin at once. Those who stay are told when such
 * a fetch has an answer to share, and its body comes (flight_is_overtaken). */
bool flights_overtake(struct flights *fs, struct flight_reader **reader, int64_t now_ms,
		      int64_t patience_ms);
/* The same; but it keeps its place where it was. Its place in the second fetch, or NULL. */
struct flight_reader *flights_try_beside(struct flights *fs, const struct flight_reader *old,
					 int64_t now_ms, int64_t patience_ms);
/* As the leader of a key nobody reads yet (background refresh); NULL when one is in the air. */
struct flight *
flights_lead(struct flights *fs, struct twice_key_hash hash, struct str key, int64_t now_ms);
/* A flight of one: nobody can join it. Its body begins at offset at. */
struct flight_reader *flights_enter_alone(struct flights *fs, uint64_t at, struct mailbox *home,
					  flight_wake_fn *wake, void *ctx, int64_t now_ms);
/* This reader's client may be gone: it waits, but nothing is to be spent on it. */
void flight_doubt(struct flight_reader *r);
/* No more wakes; *reader becomes NULL. */
void flight_leave(struct flight_reader **reader);

struct flight *flight_of(const struct flight_reader *r);
struct flight *flight_ref(struct flight *f);
void flight_unref(struct flight **f);

/* ---- the leader's side --------------------------------------------------------------------- */

/* wake is called on home's thread when the window has room again, or the last reader has left or may
 * be gone. */
void flight_set_leader(struct flight *f, struct mailbox *home, flight_wake_fn *wake, void *ctx);
/* The leader goes: no more wakes. Call before its ctx dies. */
void flight_drop_leader(struct flight *f);
/* A 1xx for who is here from the start, as a field_block. */
void flight_interim(struct flight *f, struct str head);
/* Memory of an earlier flight's head, for this one's:
 * an empty buf, the caller's. Before publish. */
struct buf flight_lend_head(struct flight *f);
void flight_publish(struct flight *f, struct flight_head *head); /* takes what head owns */
/* Adds body bytes; false when the window is full: nothing was taken, pause until woken. *filled is
 * set to a block (borrowed) that holds the bytes at *at, to hand to a cache write. Ask again after
 * FLIGHT_ASK_MS too: who is too slow is then left behind. */
enum { FLIGHT_ASK_MS = 100 };
bool flight_append(struct flight *f, const char *p, size_t n, int64_t now_ms, struct block **filled,
		   uint32_t *at, uint32_t *got);
/* The same for bytes that are at hand and few: never refused. */
void flight_append_now(struct flight *f, const char *p, size_t n, struct block **filled,
		       uint32_t *at, uint32_t *got);
/* Lines behind the body, as they came. Before flight_end. */
void flight_set_trailers(struct flight *f, struct str lines);
/* stored: what it has become in the cache, a reference that is taken over, or NULL. */
void flight_end(struct flight *f, struct object *stored);
/* status and word: what a client without a head is told (static strings); status 0: the leader left
 * without asking to the end. blame: what tells the leader's request from others, where the failure
 * may be that request's own; 0: it was nobody's. */
void flight_fail(struct flight *f, int status, const char *word, uint64_t blame);
/* The fetch is worth going on with when nobody reads it. */
void flight_want(struct flight *f);
/* Nobody new joins from here on: the answer cannot be shared, or (after flight_end) is now found in
 * the cache. */
void flights_close(struct flight *f);
unsigned flight_readers(struct flight *f);
/* Somebody reads it, but all of them may be gone. */
bool flight_is_doubted(struct flight *f);
/* Whether somebody reads it; if not, the leader is woken when somebody comes. */
bool flight_awaits_reader(struct flight *f);
bool flight_is_wanted(struct flight *f);
int64_t flight_begun_ms(const struct flight *f);
/* Nothing that covers what it brings, as far as that is known by now, was forgotten since it began. */
bool flights_is_clean(const struct flight *f);
/* This reader's request, which joined behind the leader, is a sighting of its own. */
void flight_count(struct flight_reader *r);
/* How many of those there were. */
unsigned flight_followers(struct flight *f);

/* ---- the reader's side --------------------------------------------------------------------- */

enum flight_state flight_state(struct flight *f);
const struct flight_head *flight_head(struct flight *f); /* from FLIGHT_ARRIVING on */
void flight_failure(struct flight *f, int *status, const char **word, uint64_t *blame);
/* True: there are so many bytes, or nothing more comes. Else r is woken when some does. */
bool flight_awaits(struct flight_reader *r, uint64_t bytes);
/* Whether its body comes by so little, for as long as for_ms, that whoever reads it waits without
 * an end; the request that leads it may be the reason. Not while the leader waits for readers.
 * Counted from when this was asked first. */
bool flight_drips(struct flight *f, int64_t now_ms, int64_t for_ms);
/* Whether its body, of unknown length, has come steadily so far: not all of it at once, and since then
 * no slower than what drips. */
bool flight_is_steady(struct flight *f, int64_t now_ms);
/* A second fetch of the key has an answer: ask again. */
bool flight_is_overtaken(struct flight *f);
/* r's own place in that second fetch, from its beginning; r keeps the one it has. NULL: it is gone,
 * or so is its beginning, or it drips too. */
struct flight_reader *
flight_join_after(const struct flight_reader *r, int64_t now_ms, int64_t patience_ms);
/* Interim heads not read yet, one behind the other (field_block_take), appended to out. */
void flight_read_interim(struct flight_reader *r, struct buf *out);

enum flight_step {
	FLIGHT_READY,  /* *p, *n: bytes at the asked offset, kept alive by *block (a reference) */
	FLIGHT_LATER,  /* a wake will come */
	FLIGHT_OVER,   /* at is the end of a whole body */
	FLIGHT_STORED, /* left behind; flight_stored has the whole */
	FLIGHT_LOST,   /* left behind, and it is nowhere else */
	FLIGHT_CUT     /* the body ended early */
};
enum flight_step
flight_read(struct flight_reader *r, uint64_t at, const char **p, size_t *n, struct block **block);
/* The object of FLIGHT_STORED; borrowed, as long as the flight. */
struct object *flight_stored(struct flight *f);
/* Of one that is whole; a view as long as the flight. */
struct str flight_trailers(struct flight *f);
/* Bytes before at are of no more use to this reader. */
void flight_done_until(struct flight_reader *r, uint64_t at);

#endif
