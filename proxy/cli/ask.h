/* ask.h - one request to the admin server of a running proxy. */
#ifndef CLI_ASK_H
#define CLI_ASK_H

#include "proxy/base/buf.h"

#include <jansson.h>

/* The address where none is given. If nobody listens there, ASK_ADMIN_BEFORE is asked, the default of builds before
 * 0.3.0; that goes with 0.5.0. */
#define ASK_ADMIN_DEFAULT "127.0.0.1:9180"
#define ASK_ADMIN_BEFORE  "127.0.0.1:9090"
extern const char ask_admin_default[];

/* GET, or with form ("name=value") POST. addr: of --admin, or ask_admin_default. ASK_FINE and the body of a 200 in
 * out; else a sentence: the proxy finds the question malformed, or it failed. */
enum asked { ASK_FINE, ASK_FAILED, ASK_MALFORMED };
enum asked ask_admin(const char *addr, const char *path, const char *form, struct buf *out,
		     char *err, size_t err_bytes);
/* The body of a 200 as JSON, which has this member, the caller's; NULL: it is no answer of twice, and a
 * sentence. */
json_t *ask_object(const char *addr, const struct buf *answer, const char *member, char *err,
		   size_t err_bytes);
/* The form "name=..." with the value escaped; the caller frees. */
char *ask_form(const char *name, const char *value);

/* CLI_FINE, CLI_FAILED or CLI_USAGE. */
int ask_exit_code(enum asked a);

#endif
