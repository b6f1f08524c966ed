/* ask.h - one request to the admin server of a running proxy. */
#ifndef CLI_ASK_H
#define CLI_ASK_H

#include "proxy/base/buf.h"

#include <jansson.h>

#define ASK_ADMIN_DEFAULT "127.0.0.1:9090"

/* GET, or with form ("name=value") POST. 0 and the body of a 200 in out, or -1 and a sentence. */
int ask_admin(const char *addr, const char *path, const char *form, struct buf *out, char *err,
	      size_t err_bytes);
/* The body of a 200 as JSON, which has this member, the caller's; NULL: it is no answer of twice, and a
 * sentence. */
json_t *ask_object(const char *addr, const struct buf *answer, const char *member, char *err,
		   size_t err_bytes);
/* The form "name=..." with the value escaped; the caller frees. */
char *ask_form(const char *name, const char *value);

#endif
