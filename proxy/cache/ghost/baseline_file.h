/* baseline_file.h - the form of the file "baseline.log" (baseline_log.h).
 *
 * All numbers are in the machine's order:
 *
 *	head    8 "TWbaseL1", 8 sum of the snapshot that it goes on from (0: from an empty baseline), 8 tag of the
 *		keys, 8 XXH3 of these
 *	blocks  4 bytes of rows, 4 zero, 8 XXH3 of the rows plus sum, tag and place of the block; rows
 *		(ghost_journal_take)
 *
 * A block that is torn, damaged or of another file ends it.
 *
 * Pure.
 */
#ifndef CACHE_BASELINE_FILE_H
#define CACHE_BASELINE_FILE_H

#include "proxy/base/buf.h"

enum { BASELINE_FILE_HEAD = 32, BASELINE_BLOCK_HEAD = 16, BASELINE_WHAT_IF_MOST = 4 << 20 };

struct baseline_file {
	uint64_t snapshot, tag;
};

void baseline_file_format(const struct baseline_file *f, char to[BASELINE_FILE_HEAD]);
/* The head of a block of n bytes that is to lie at `at`: in front of its rows, which are there. */
void baseline_block_format(const struct baseline_file *f, uint64_t at, char *block, size_t n);
/* Appends the rows up to the end of the bytes, or to the first fault; returns how many bytes that took, 0 when
 * it goes on from another snapshot. The bytes may be anything at all. */
size_t baseline_file_parse(const struct baseline_file *f, struct str bytes, struct buf *rows);

/* How many bytes the snapshots may have beside a disk: of the baseline, two million objects, or a hundredth of a small
 * disk; and of what-if. */
uint64_t baseline_snapshot_bytes(uint64_t disk_bytes);
uint64_t baseline_what_if_bytes(uint64_t disk_bytes);

#endif
