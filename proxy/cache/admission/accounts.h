/* accounts.h - how many bytes were written within the last hour for each address, of what it alone asked
 * for.
 *
 * An hour is the step of five minutes under way and the twelve before it, so that within any hour an
 * address has at most what it may have. Bytes that are to be written are set aside in its own account
 * alone, so that many writes at once do not all find room there.
 *
 * Memory    700 KiB: 4096 accounts, by sets of eight, which the hash of an asker tells. Where a set is full, the one with the fewest bytes
 *           goes: an address that had much written stays.
 * Units     bytes; seconds of a monotonic clock, handed in.
 * Threads   any; a lock for each set, which is taken where something is to be written, and nowhere else.
 */
#ifndef CACHE_ACCOUNTS_H
#define CACHE_ACCOUNTS_H

#include "proxy/cache/admission/askers.h"

struct accounts;
struct accounts *accounts_create(void);
void accounts_destroy(struct accounts **a);

/* Whether this address may have so many bytes more written, of most in an hour. */
bool
accounts_may(struct accounts *a, struct asker who, uint64_t bytes, uint64_t most, int64_t now_s);
void accounts_set_aside(struct accounts *a, struct asker who, uint64_t bytes, int64_t now_s);
/* So many were written, and so many are set aside no longer. */
void accounts_charge(struct accounts *a, struct asker who, uint64_t written, uint64_t freed,
		     int64_t now_s);

/* The address that had most written; false: none had anything. */
bool accounts_most(struct accounts *a, int64_t now_s, struct asker *who, uint64_t *bytes);

#endif
