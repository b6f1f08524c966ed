/* structured.h - dictionaries and items of RFC 8941, parsed strictly: one error and the whole field is void.
 *
 * Enough for targeted cache control (RFC 9213), which reads keys with integers and booleans, and for items with
 * parameters: all else is checked to the last byte and handed out as what it is.
 *
 * Memory    views into what was handed in.
 */
#ifndef HTTP_STRUCTURED_H
#define HTTP_STRUCTURED_H

#include "proxy/base/str.h"

enum sf_type { SF_INTEGER, SF_DECIMAL, SF_STRING, SF_TOKEN, SF_BYTES, SF_BOOLEAN, SF_INNER_LIST };

struct sf_member {
	struct str key;
	enum sf_type type;
	int64_t integer; /* SF_INTEGER; SF_BOOLEAN: 0 or 1 */
	struct str text; /* of the item as written, without its parameters */
};

enum sf_step { SF_MEMBER, SF_END, SF_ERROR };

/* Next member from the front of *rest, which begins as a whole field line. Of equal keys the last
 * counts (RFC 8941 4.2.2), which is the caller's to see to. */
enum sf_step sf_dictionary_next(struct str *rest, struct sf_member *out);
/* The item at the front of *rest, which begins as a whole field line; its key is empty. False: it is none. */
bool sf_item(struct str *rest, struct sf_member *out);
/* The next parameter of that item. Of equal keys the last counts (RFC 8941 4.2.3.2). */
enum sf_step sf_parameter_next(struct str *rest, struct sf_member *out);

#endif
