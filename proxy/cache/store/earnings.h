/* earnings.h - what the segments have earned (ledger.h), as bytes, and back: so that a restart does
 * not evict by age alone.
 *
 *	head    8 "TWearn01", 8 tag: of the directory, 4 rows,
 *		4 bytes up to which records are small; 0: not known
 *	rows    16 each: 4 slot, 4 generation, 8 earned
 *	sum     8 XXH3 of all before
 *
 * All numbers are little-endian. A row counts where its slot holds that generation still; segments
 * without one have earned nothing, and go by age.
 *
 * Threads   save: under the owner's lock. load: before anybody else uses the ledger.
 */
#ifndef CACHE_EARNINGS_H
#define CACHE_EARNINGS_H

#include "proxy/base/buf.h"
#include "proxy/base/str.h"
#include "proxy/cache/store/ledger.h"

/* Appends what all segments that are open or sealed have earned. */
void earnings_save(const struct ledger *l, uint64_t tag, struct buf *out);
/* NULL, or why not, and nothing has changed. The bytes may be anything at all. */
const char *earnings_load(struct ledger *l, uint64_t tag, struct str bytes);

#endif
