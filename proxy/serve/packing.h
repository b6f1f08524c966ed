/* packing.h - an object that is admitted to the disk goes there packed, if it may be (TERMS_MAY_PACK) and there is
 * time for it: it lies in RAM, the packer's thread makes the bytes, and its worker puts them in the place
 * of the plain ones, in RAM and on disk. A request never waits for that.
 *
 * Should the object have gone meanwhile, purged or replaced, nothing is written. Where packing wins nothing, and
 * where nobody has time, it is written as it is.
 *
 * Memory    an object is held while its job waits (packer.h has the bounds).
 * Threads   a worker's; its letters come to it.
 */
#ifndef SERVE_PACKING_H
#define SERVE_PACKING_H

#include "proxy/cache/admission/sighting.h"
#include "proxy/cache/store/object_facts.h"
#include "proxy/serve/serve.h"

struct cache;

enum { PACKING_LEAST_BYTES = 1 << 10, PACKING_MOST_BYTES = 1 << 20, PACKING_RUNS_MOST = 64 };

/* The pieces of memory in which a body lies. */
struct packing_runs {
	struct str at[PACKING_RUNS_MOST];
	size_t n;
};
/* Of an object in RAM, for as long as it is held. False: it lies in too many. */
bool packing_find_runs(struct cache *c, struct object *o, struct packing_runs *out);

/* Whether anything is packed now. */
bool packing_is_on(const struct serve *s);
/* Whether an object with these terms, of so many bytes, would be packed if there is time: then it goes to RAM first. */
bool packing_is_meant(const struct serve *s, const struct terms *t, uint64_t body_bytes);
/* o, which lies in RAM, is admitted by who's sighting. marker: the key of its URL if what leads to it is to go to disk
 * too; or NULL. True: it will be written, packed or not. False: nothing was done. */
bool packing_takes(struct serve *s, struct object *o, const struct sighting *who,
		   const struct key *marker);

#endif
