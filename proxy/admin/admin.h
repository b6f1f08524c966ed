/* admin.h - the admin server: its own thread, its own listener, loopback by default.
 *
 * GET /stats /metrics /healthz / and POST /purge. Independent of the workers: a busy proxy still
 * answers here.
 *
 * Beside them, named Bloom filters for other programs on the node (filters.h), in memory until the
 * proxy ends:
 *
 *	PUT    /filters/NAME?capacity=1000&false_positives=1%25[&grow=2]
 *	       made: 201. There with these parameters: 200, its keys kept. With others: 409.
 *	POST   /filters/NAME/add   keys, one per line; a line for each: 1 new, 0 seems there
 *	POST   /filters/NAME/has   keys, one per line; a line for each: 1 seems there, 0 is not
 *	GET    /filters/NAME       JSON: parameters, keys, links, bytes, fill, false positives as
 *	                           estimated now, and their bound with all present links full
 *	GET    /filters            JSON: all of them, and what they take of what they may
 *	DELETE /filters/NAME
 *
 * A name is 1 to 64 letters, digits, "-", "_" and "."; a key any bytes but a newline. A request
 * holds at most 1 MiB, 100,000 keys of 8 KiB. There are at most 64 filters of 256 MiB together: 507
 * beyond. A refusal is one plain sentence, and nothing was done; only an add that runs out of
 * memory has done the lines before the one it names.
 */
#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

#include "proxy/admin/access.h"
#include "proxy/admin/report.h"

struct admin;

struct admin_source { /* called on the admin thread */
	void (*report)(void *ctx, struct report *out);
	bool (*healthy)(void *ctx);		  /* false while draining: /healthz says 503 */
	bool (*purge)(void *ctx, struct str url); /* true if there was such an object */
	void *ctx;
	struct access_rules access; /* loopback is found out here */
};

/* addr "127.0.0.1:9090", port 0 for any. 0, or -1 and a sentence. */
int admin_start(struct admin **out, const char *addr, const struct admin_source *s, char *err,
		size_t err_bytes);
unsigned admin_port(const struct admin *a);
void admin_stop(struct admin **a);

#endif
