/* keep.h - what stays of an origin's answer: is it stored, under which key, what does it replace,
 * when does it count? Called by the trip (fill.c) and by what is learnt without a body (learn.c).
 */
#ifndef SERVE_KEEP_H
#define SERVE_KEEP_H

#include "proxy/serve/fill_inside.h"
#include "proxy/serve/rules/news.h"

struct txn;

/* Judges the origin's answer, begins to store it if it may be, and makes the head for the flight.
 * length: of the body, UINT64_MAX when not known. */
void keep_answer(struct fill *f, const struct response *rs, uint64_t length, struct flight_head *h);
/* Reads the words by which it may be purged (f->tags). True: the answer says some. */
bool keep_tags(struct fill *f, const struct response *rs);
/* Forgets what an unsafe method changed (RFC 9111 4.4). */
void keep_invalidated(struct fill *f, const struct response *rs);
/* The body is whole. What it has become, a reference, or NULL. */
struct object *keep_commit(struct fill *f);
/* f's Range touches this slice too, which counts for itself: f->sighting. */
void keep_sight_slice(struct fill *f, uint64_t number);
/* In what the address that asks may have written, the write of so many bytes that has begun has room set aside;
 * UINT64_MAX: of a length that is not known, as they come (keep_progress). */
void keep_set_aside(struct fill *f, uint64_t bytes);
/* It is over. Turns and the write budget are charged for what was written, never for what is only begun: a
 * client may begin what it will not take. */
void keep_settle(struct fill *f);
void keep_no_write(struct fill *f); /* nothing is stored of what came so far */
/* Bytes have come. Nothing is stored where that is more than the route writes: a body may not say how
 * large it is. */
void keep_progress(struct fill *f);
/* From now on: while no byte of a large body comes, for its client takes none or its origin sends none, the
 * write under way holds nothing that others could use, and is given up where they have too little. */
void keep_watch(struct fill *f);
void keep_end_turn(struct fill *f); /* another fill may write the same large body */

/* Content-Length, or UINT64_MAX when it says nothing usable. */
uint64_t keep_length(const struct response *rs);
/* May it be stored? On yes f->terms says how it may be used. updated: it is a stored head with the
 * fields of a 304 or HEAD. */
enum storable keep_judge(struct fill *f, const struct response *rs, bool updated, int64_t now);
/* The same of what a GET would be answered, as an answer to HEAD says it (RFC 9110 9.3.2). */
enum storable keep_judge_as_get(const struct fill *f, const struct response *rs, int64_t now);
struct news_facts keep_news(const struct fill *f, int status, enum storable storable);
/* The copy is to be validated before its next use; and, if the origin contradicts it, it stands in for
 * nothing till then. */
void keep_outdate(struct fill *f, int64_t now);
void keep_contradict(struct fill *f, int64_t now);
/* A newer answer for all, which is kept nowhere (too large), contradicts the copy that it would replace. */
void keep_nowhere(struct fill *f);
/* Appends what the URL's variants differ on, with what these fields name. one_form: but for Accept-Encoding. False:
 * never alike. */
bool
keep_names(const struct fill *f, const struct fields *fields, bool one_form, struct buf *out);
/* The address of whom the request is from, as the forwarders say that are trusted. */
struct str keep_client(const struct fill *f);
/* Was anything that covers the key forgotten since the request left? */
bool keep_is_forgotten(const struct fill *f);
/* A variant has gone to disk, and what leads to it does as well: else nobody would know behind a restart
 * that there is something of this URL. */
void keep_admit_marker(struct shelves *sh, const struct key *key);
/* t->object, which answers a GET, has had enough sightings, though the disk refused it: it is written from
 * RAM, without a second fetch. */
void keep_admit(struct txn *t);
/* Remembers whether requests for the key can share an answer. */
void keep_sharing(struct fill *f, const struct news_facts *news);
/* A validation was answered so, or it has failed (status: what clients are told): the key rests, or it
 * does not any more. Before anybody hears of it. */
void keep_rest(struct fill *f, int status, bool blameless);
/* Something is stored under the key: who looked before looks again (keep_landed). */
void keep_count_landed(const struct fill *f);

#endif
