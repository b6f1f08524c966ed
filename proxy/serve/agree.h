/* agree.h - do two codings of one version hold the same bytes? One form for all (http/form.h) takes it for granted; an
 * origin whose gzip is of another day than its br, or of another page, would have clients be sent the wrong bytes.
 *
 * Both are at hand when the origin was asked for another coding than the one that lies here, mostly for a client of gzip
 * alone where br lies. Then the packer's thread expands both and compares them up to 1 MiB: at most one pair at a time, and
 * one in a minute of a route. Bytes that cannot be expanded tell nothing. After a difference the route keeps codings
 * apart, as variants, until the configuration changes (settings_keeps_apart).
 *
 * Memory    the two objects, of at most 1 MiB, and two expanders are held while it waits and works.
 * Threads   a worker's; its letters come to it.
 */
#ifndef SERVE_AGREE_H
#define SERVE_AGREE_H

#include "proxy/cache/store/object_facts.h"
#include "proxy/serve/serve.h"

/* now takes the place of before, which was kept under the same key. Compares them if they may be, and there is time. */
void agree_look(struct serve *s, struct settings *under, const struct route *r,
		struct object *before, struct object *now);

#endif
