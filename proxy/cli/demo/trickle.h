/* trickle.h - a little traffic for a demo that stays: some ten requests a second, most of them for
 * popular URLs, some for new ones, so that the dashboard has something to show.
 *
 * Threads   the caller's; trickle_one waits for its answer, for a second at most.
 */
#ifndef CLI_TRICKLE_H
#define CLI_TRICKLE_H

#include "proxy/cli/demo/mix.h"

struct trickle;

/* The mix is borrowed; port: of 127.0.0.1. NULL when libcurl has no handle to give. */
struct trickle *trickle_create(const struct mix *mix, unsigned port);
void trickle_one(struct trickle *t); /* what goes wrong shows in the proxy's own numbers */
void trickle_destroy(struct trickle **t);

#endif
