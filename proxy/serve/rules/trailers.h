/* trailers.h - which trailer fields of an answer its client gets (RFC 9110 6.5).
 *
 * Only of answers that are for one client alone: what is stored or shared has none (RFC 9111 3 lets a
 * cache discard them). Fields that mean something to those who handle a message have no meaning
 * behind it (6.5.1), and may be there to deceive: they are dropped. So are those that response_headers take
 * away, and tags that are for us.
 *
 * Threads   pure.
 */
#ifndef SERVE_TRAILERS_H
#define SERVE_TRAILERS_H

#include "proxy/base/buf.h"
#include "proxy/serve/outgoing/header_rules.h"
#include "proxy/serve/rules/tags.h"

/* Whether the client takes them: TE of its request says so (10.1.4). */
bool trailers_are_wanted(const struct fields *request);
/* Of lines as a fetch brought them, those that go on, appended to out: "Name: value" CR LF each.
 * rules, tags: NULL: none. other_form: behind other bytes than the origin's (form.h). */
void trailers_pass(struct str lines, const struct header_rules *rules,
		   const struct tag_settings *tags, bool other_form, struct buf *out);

#endif
