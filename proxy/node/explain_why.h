/* explain_why.h - reasons as sentences for who runs the proxy: each names the setting, or the field of the origin,
 * that would change it, or says that none does.
 *
 * Threads   pure.
 */
#ifndef NODE_EXPLAIN_WHY_H
#define NODE_EXPLAIN_WHY_H

#include "proxy/cache/admission/admission.h"
#include "proxy/http/policy.h"

/* Why an answer was not kept; NULL: it was. */
const char *explain_not_kept(enum storable s);
/* Why an answer that may be kept is (not) written to disk; NULL: there is no more to say. */
const char *explain_verdict(enum admission verdict);

/* The source of a stored answer's lifetime. */
enum explain_life { EXPLAIN_BY_ORIGIN, EXPLAIN_GUESSED, EXPLAIN_BY_DEFAULT, EXPLAIN_NO_LIFETIME };
enum explain_life explain_life(const struct terms *t, const struct policy_settings *set);
/* "origin", "guessed", "default_ttl", "none". */
const char *explain_life_word(enum explain_life by);

#endif
