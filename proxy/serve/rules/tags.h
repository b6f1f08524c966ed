/* tags.h - the words in an answer by which it may be purged: Surrogate-Key, Cache-Tag, or whatever
 * the settings name.
 *
 * Words are separated by spaces, tabs and commas. Capital letters are as small ones.
 *
 * Threads   pure, but for the cache's seed.
 */
#ifndef SERVE_TAGS_H
#define SERVE_TAGS_H

#include "proxy/base/buf.h"
#include "proxy/http/field.h"

struct cache;

struct tag_settings {
	const struct str *names; /* of fields; in whatever case */
	unsigned names_n;
	bool strip; /* these fields are for us alone */
	/* A bit for each id and for each length (63: that and more) that a name has: most fields are
	 * none of ours by these. */
	uint64_t ids, lengths;
};
/* Sets the bits. */
void tags_prepare(struct tag_settings *s);

/* Appends cache_tag of each word, 4 bytes little-endian. False: there is no such field. */
bool tags_read(const struct tag_settings *s, const struct cache *c, const struct fields *fields,
	       struct buf *out);
/* Whether this field is one of them. */
bool tags_is_field(const struct tag_settings *s, const struct field *f);
/* The fields without those; to->v and cap are the caller's, the same cap at least. */
void tags_strip(const struct tag_settings *s, const struct fields *fields, struct fields *to);
/* Takes the next word off a list. False: there is none. */
bool tags_next(struct str *list, struct str *word);
/* Is it one word? */
bool tags_is_one(struct str tag);

#endif
