/* questions.h - questions with a query, read and put to the node: what is asked for is JSON, what is malformed a
 * sentence.
 *
 * Threads   the admin server's.
 */
#ifndef ADMIN_QUESTIONS_H
#define ADMIN_QUESTIONS_H

#include "proxy/admin/admin.h"

/* query: what stands behind "?", or NULL. Appends to out; the status. */
int questions_history(const struct admin_source *s, const char *query, struct buf *out);
int questions_explain(const struct admin_source *s, const char *query, struct buf *out);

#endif
