/* choosing.h - the policy `auto`: what-if beside a policy, and the choice that the proxy makes of it
 * (cache/admission/choice.h) whenever a generation of the filter ends.
 *
 * Threads   none.
 */
#ifndef SIMULATE_CHOOSING_H
#define SIMULATE_CHOOSING_H

#include "proxy/cache/admission/sighting.h"
#include "proxy/cache/ghost/whatif.h"
#include "proxy/simulate/policy.h"

struct choosing;

/* NULL: there is no memory for it. */
struct choosing *choosing_create(const struct policy_spec *o, const struct ghost_options *ghost);
void choosing_destroy(struct choosing **c);

/* The policy's cache did this with the event. */
void choosing_see(struct choosing *c, const struct ghost_event *e, const struct ghost_did *did);
void choosing_forget(struct choosing *c, uint64_t url);
/* As of the policy's own cache (ghost_thin). */
void choosing_thin(struct choosing *c, unsigned halvings, uint64_t large_bytes);
/* The filter's generation is this one: if another one has ended, *rule is what is chosen from now on. */
void choosing_turn(struct choosing *c, uint64_t generation, uint32_t now_s,
		   struct sighting_settings *rule);
const struct choice *choosing_choice(const struct choosing *c);

#endif
