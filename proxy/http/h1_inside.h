/* h1_inside.h - what the files of h1_parse.h share: h1_parse.c (lines), h1_target.c (what is asked
 * for), h1_framing.c (where it ends); h1_scan.h. For nobody else.
 *
 * Each judges a request whose lines were read, fills its part of it, and answers with the rule that
 * was broken, or NULL. In this order: the latter ones read what the former ones filled in.
 */
#ifndef HTTP_H1_INSIDE_H
#define HTTP_H1_INSIDE_H

#include "proxy/http/fault.h"
#include "proxy/http/message.h"

/* h1_target.c: scheme, authority and path_query; Host. */
const struct fault *h1_target(struct request *r);
const struct fault *h1_target_host(struct request *r);

/* h1_framing.c: framing and content_length; expect_continue; that Connection can be read. */
const struct fault *h1_framing(struct request *r);
const struct fault *h1_framing_expect(struct request *r);
const struct fault *h1_framing_connection(const struct fields *f);
bool h1_framing_keeps_alive(const struct request *r);

#endif
