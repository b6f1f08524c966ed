/* complete.h - a stored part becomes the whole: what is missing of it is fetched.
 */
#ifndef SERVE_COMPLETE_H
#define SERVE_COMPLETE_H

#include "proxy/http/date.h"
#include "proxy/serve/fill_inside.h"

bool complete_may(const struct object *part);  /* what is missing can be fetched */
uint64_t complete_bytes(const struct fill *f); /* of the whole that f->part.object is of */

/* The origin was asked for the rest of f->part.object, and this is its head. */
enum completion {
	COMPLETE_IT,	  /* *merged is the 200 of the whole */
	COMPLETE_NOT,	  /* the whole, or an error: as if never asked for less */
	COMPLETE_ASK_ANEW /* of no use: the whole is to be asked for */
};
enum completion complete_with(struct fill *f, const struct response *rs, char date[DATE_BYTES],
			      struct response *merged);
/* The part's bytes, when everything before them is here. -1: they are lost. */
int complete_add_part(struct fill *f);

#endif
