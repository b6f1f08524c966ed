/* digest.h - what another machine has: a Bloom filter of a whole set as it was at one moment, made there, sent, and
 * asked here until the next one comes.
 *
 * [Fan, Cao, Almeida, Broder: Summary Cache, IEEE/ACM Transactions on Networking 8(3), 2000; Squid's cache digests
 * are of that kind.] A cache that lacks something asks another one only where that one's digest has it.
 *
 * The model. A digest is wrong in two ways, and the second one grows with its age [Zhu, Jiang: False Rate Analysis of
 * Bloom Filter Replicas in Distributed Systems, ICPP 2006]:
 *
 *	by its bits	a key that never was there is found with f = (1 - e^(-k/b))^k, for b bits per key and k places
 *			(sizing.h): 5 bits 9.2%, 8 bits 2.2%, 10 bits 0.8%
 *	by its age	r of what is asked for came after it was made: that is missed, but for what f finds by chance.
 *			And what has gone since is still found
 *
 *	false negatives, of the questions for what is there:		r (1 - f)
 *	false positives, of those for what is not, g of it gone since:	f + g (1 - f)
 *
 * r and g are shares of questions. Where all keys are asked for alike, r is the share of the set that was replaced;
 * what is new is asked for more often than that in a cache, so its digest misses more.
 *
 * Answers   "not there" was certain when it was made; see the model.
 * Lifetime  create / destroy; load instead of create restores one that was sent.
 * Threads   one writer; any readers when it is filled.
 * Errors    create: NULL for a size out of range or when memory is out. load: as snapshot.h says.
 */
#ifndef TWICE_DIGEST_H
#define TWICE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/family/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

struct twice_digest;

/* Of so many keys at so many bits each; of none it is one that has nothing. bits_per_key: 1 to 64. */
struct twice_digest *twice_digest_create(uint64_t keys, double bits_per_key);
void twice_digest_destroy(struct twice_digest **d);

/* key: at most 64 bits of its hash, the same wherever it is asked for; they need not be spread evenly. */
void twice_digest_add(struct twice_digest *d, uint64_t key);
bool twice_digest_has(const struct twice_digest *d, uint64_t key);

uint64_t twice_digest_count(const struct twice_digest *d); /* keys that seemed new when added */
double twice_digest_fpr(const struct twice_digest *d);	   /* at its fill: f of the model */
size_t twice_digest_memory(const struct twice_digest *d);
/* Bytes that save writes of one that was created like that. */
size_t twice_digest_save_bytes(uint64_t keys, double bits_per_key);

int twice_digest_save(const struct twice_digest *d, const struct twice_snapshot_sink *to);
struct twice_digest *twice_digest_load(struct twice_snapshot_source *from);

/* ---- the model ---- */

/* Places per key at which so many bits have the lowest rate; of equal ones the fewest. */
unsigned twice_digest_places(double bits_per_key);
/* f, when all keys are in. */
double twice_digest_full_fpr(double bits_per_key);
/* Of the questions for what is there, the share that it says no to, when `newer` of them are for what came since. */
double twice_digest_false_negatives(double fpr, double newer);
/* Of the questions for what is not there, the share that it says yes to, when `gone` of them are for what was. */
double twice_digest_false_positives(double fpr, double gone);

#ifdef __cplusplus
}
#endif

#endif
