/* again.h - a slice was refused: is it asked for once more, of whom, and when?
 *
 * Its reader may have the head of the answer already: then nothing but the slice can make the answer
 * whole, and an origin that limits rates, or is busy, often gives it a moment later. Where nothing was
 * sent yet the refusal itself is an honest answer, so that only another server is asked.
 */
#ifndef SERVE_AGAIN_H
#define SERVE_AGAIN_H

#include "proxy/serve/fill_inside.h"

struct again {
	bool begun; /* bytes of the answer were sent */
	bool done;  /* the same server was asked once more */
};
/* rs refused what f asked for; NULL: nobody answered. True: f is to ask anew, at *at_ms (0: now; of
 * another server then). */
bool again_may(struct fill *f, struct again *a, const struct response *rs, int64_t *at_ms);
/* Whether that fetch has failed in a way that another try may mend. */
bool again_helps(enum fetch_end end);

/* Whether the origin of this key has limited how often it is asked, of late: then more slices are asked
 * for at a time. */
bool again_is_limited(const struct shelves *sh, const struct key *key);

#endif
