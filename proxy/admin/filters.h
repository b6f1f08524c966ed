/* filters.h - named Bloom filters for operators and other programs on the node.
 *
 * A filter is made for so many keys at so many false positives, and grows beyond them without
 * breaking that promise (filter/scalable.h). The requests are told in admin.h; here they are
 * answered, without sockets: path, query and body in, status and text out.
 *
 * Lifetime  in memory only: gone with the process.
 * Threads   one: the admin server's.
 * Errors    bad input is a status and one sentence; a request that breaks a rule of its form does
 *           nothing. Only running out of room stops an add halfway, and says at which line.
 */
#ifndef ADMIN_FILTERS_H
#define ADMIN_FILTERS_H

#include "proxy/base/buf.h"

#include <event2/http.h>

enum {
	FILTERS_BODY_MOST = 1 << 20,
	FILTERS_KEYS_MOST = 100000, /* of a request */
	FILTERS_KEY_BYTES_MOST = 8192,
	FILTERS_NAME_MOST = 64,
};

struct filters;

struct filters_limits {
	size_t filters, bytes; /* together */
};
#define FILTERS_LIMITS ((struct filters_limits){.filters = 64, .bytes = (size_t)256 << 20})

struct filters *filters_create(const struct filters_limits *limits);
void filters_destroy(struct filters **f);

struct filters_request {
	enum evhttp_cmd_type method;
	const char *path, *query; /* query: NULL for none */
	struct str body;
};

struct filters_answer {
	int status;
	const char *type;  /* Content-Type */
	const char *allow; /* with 405; else NULL */
	struct buf text;   /* the caller's: empty before, to be ended by it */
};

/* Is this path ours: /filters, or below it? */
bool filters_own(const char *path);

void
filters_answer(struct filters *all, const struct filters_request *q, struct filters_answer *out);

#endif
