/* packing.h - how records fill batches, and batches a segment. Pure: numbers only, so that the
 * store and the ghost of the baseline waste the same.
 *
 * Bytes come in units of SEGMENT_ALIGN, batches end at a page, and a segment keeps room for its
 * footer (segment.h).
 */
#ifndef CACHE_PACKING_H
#define CACHE_PACKING_H

#include <stdbool.h>
#include <stdint.h>

/* How the parts of a log follow from the size of its segments. */
uint32_t packing_batch_bytes(uint64_t segment_bytes);
/* Of one fragment of a large body; smaller bodies are kept inside their record. */
uint32_t packing_fragment_bytes(uint64_t segment_bytes);
/* The largest body: three eighths of the log, and no more fragments than a record can name. What is
 * carried over meanwhile lies in between, a quarter of each victim: so it takes up to half of the
 * segments, as many as its readers may lease. */
uint64_t packing_max_body(uint64_t log_bytes, uint64_t segment_bytes);

struct packing {
	uint64_t batch_bytes;
	uint64_t used;	  /* of the open batch, its header included; 0: none is open */
	uint64_t entries; /* in it */
	uint64_t sealed;  /* entries of the segment's closed batches */
};

/* Would the open batch, or a new one, take so many bytes and an entry more, and still leave room
 * for the table of the batch and the footer of the segment? room: what the segment has left. */
bool packing_fits(const struct packing *p, uint64_t room, uint64_t bytes);
void packing_add(struct packing *p, uint64_t bytes);
/* The open batch takes so much of the segment if it is closed now: its table and padding too. */
uint64_t packing_closed_bytes(const struct packing *p);

#endif
