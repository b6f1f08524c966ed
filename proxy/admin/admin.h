/* admin.h - the admin server: its own thread, its own listener, loopback by default.
 *
 * GET /stats /metrics /healthz / and POST /purge. Independent of the workers: a busy proxy still
 * answers here.
 */
#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

#include "proxy/admin/report.h"

struct admin;

struct admin_source { /* called on the admin thread */
	void (*report)(void *ctx, struct report *out);
	bool (*healthy)(void *ctx);		  /* false while draining: /healthz says 503 */
	bool (*purge)(void *ctx, struct str url); /* true if there was such an object */
	void *ctx;
};

/* addr "127.0.0.1:9090", port 0 for any. 0, or -1 and a sentence. */
int admin_start(struct admin **out, const char *addr, const struct admin_source *s, char *err,
		size_t err_bytes);
unsigned admin_port(const struct admin *a);
void admin_stop(struct admin **a);

#endif
