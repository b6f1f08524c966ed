/* rest.h - nobody reads a fetch any more: is the rest worth fetching? Pure.
 *
 * A client may leave when it has what it wants, or at once, and the next client does the same. So it
 * must not make us fetch much more than what has come for it.
 *
 * Units     bytes.
 */
#ifndef SERVE_REST_H
#define SERVE_REST_H

#include <stdbool.h>
#include <stdint.h>

struct rest_facts {
	bool wanted; /* by somebody besides those who left, or by a copy that is to be refreshed */
	bool stored; /* what comes is being stored */
	uint64_t here, all; /* of the body; all: UINT64_MAX: not known */
};

/* A few, or no more than what is here, and not many. */
bool rest_is_little(uint64_t here, uint64_t missing);
bool rest_is_worth(const struct rest_facts *f);

#endif
