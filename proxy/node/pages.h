/* pages.h - the files that routes answer with, as they were when the configuration was read.
 *
 * Memory    each file once, however many routes name it; at most PAGES_BYTES_MOST bytes of each.
 * Threads   constant after pages_open.
 */
#ifndef NODE_PAGES_H
#define NODE_PAGES_H

#include "config/name.h"
#include "proxy/base/str.h"

struct config;

enum { PAGES_BYTES_MOST = 1 << 20 };

struct pages {
	struct str *of; /* by route; p is NULL where it names none. NULL: no route does */
	unsigned count;
};

/* -1 and a sentence: one cannot be read, which setting ("routes.2.answer.file") then names. lenient: its
 * p is NULL then, and the others are there. */
int pages_open(const struct config *c, bool lenient, struct pages *out,
	       char setting[CONFIG_NAME_BYTES], char *err, size_t err_bytes);
/* The same of one route alone, of which nothing is kept. */
int pages_try(const struct config *c, unsigned route, char setting[CONFIG_NAME_BYTES], char *err,
	      size_t err_bytes);
void pages_close(struct pages *p);

#endif
