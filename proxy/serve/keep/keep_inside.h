/* keep_inside.h - what the files of keep share: keep.c (the judgement and the write), keep_rule.c
 * (what all of them ask), keep_file.c (keys and markers), keep_range.c, keep_slices.c, keep_turn.c,
 * keep_undo.c. For nobody else.
 */
#ifndef SERVE_KEEP_INSIDE_H
#define SERVE_KEEP_INSIDE_H

#include "proxy/serve/keep/keep.h"
#include "proxy/serve/keep/keep_turn.h"

/* keep_rule.c: the rule of admission, asked once, under the key of the variant. bytes: of the whole. */
void keep_sight(struct fill *f, int status, uint64_t bytes, struct str variant);

void keep_hear(struct fill *f, struct news_facts *news); /* sets news->heard */

/* keep_file.c: whether one form may be for clients of any Accept-Encoding, as far as its Vary says so. Not where the
 * URL's variants were told apart by that before: they may lie here still. */
bool keep_may_be_one(const struct fill *f, const struct fields *fields);
/* keep_pack.c: of a kind that origins code. */
bool keep_is_of_text(const struct response *rs);
/* Whether it may be packed when it is admitted to the disk; its terms say so. */
bool keep_may_pack(const struct fill *f, const struct response *rs);
void keep_say_packable(struct fill *f, const struct response *rs);
/* Whether it may be coded on its way to clients (coded.h), or is a part of what may, or a 304 of it; its terms say so. */
bool keep_may_code(const struct fill *f, const struct response *rs);
void keep_say_codable(struct fill *f, const struct response *rs);
/* keep_file.c: the names under which an answer is filed, or why it cannot be. */
enum storable keep_file(struct fill *f, const struct response *rs, struct buf *names);
/* Another answer for the URL may have been stored since this request looked, with a marker: what it
 * says counts too, or this answer would hide the variants that are there. False: it may, but lies
 * on disk. */
bool keep_meet_marker(struct fill *f);
/* keep_marker.c: a marker under the primary key with these names, unless the one that was met says the same. */
void keep_marker(struct fill *f, struct str names);
/* The key that the answer is stored under; its marker is written. */
void keep_key(struct fill *f, const struct flight_head *h, struct key *key);

/* keep_range.c: true if rs is a 206 that passes, of a whole that may be stored: it was counted for that. */
bool keep_range(struct fill *f, const struct response *rs, struct flight_head *h, int64_t now);

/* keep_slices.c: the answer, which may be stored, is large and of a version that can be told: its
 * head is stored, and f->run brings slices. False: it is to be stored whole. */
bool keep_sliced(struct fill *f, const struct response *rs, struct flight_head *h);
/* The same of a 206 that goes to its client as it came: what slices it holds are kept. */
bool keep_tapped(struct fill *f, const struct response *rs, struct flight_head *h, int64_t now);

/* keep_turn.c: may this fill write what it brings? */
bool keep_takes_turn(struct fill *f);

#endif
