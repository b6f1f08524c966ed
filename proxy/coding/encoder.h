/* encoder.h - the encoders of three libraries as one, for pack.c: one body after another.
 *
 * Memory    zlib's and libzstd's state is kept for the next body; brotli's cannot be, and is freed when a
 *           body has ended.
 * Errors    there is no memory: false or ENCODER_FAILED, and the body is to be ended.
 * Threads   one at a time.
 */
#ifndef CODING_ENCODER_H
#define CODING_ENCODER_H

#include "proxy/base/buf.h"
#include "proxy/http/coding.h"

#include <limits.h>

struct encoder; /* NULL where there is no memory for one */
struct encoder *encoder_create(void);
void encoder_destroy(struct encoder **e);

/* A body begins. bytes: as many as it has; 0: not known, windows are small then. */
bool encoder_begin(struct encoder *e, enum coding c, int level, size_t bytes);

enum encoder_order { ENCODER_GO, ENCODER_FLUSH, ENCODER_END };
enum encoded { ENCODER_OK, ENCODER_FULL, ENCODER_FAILED };
/* Takes all of in, and appends what there is to out, which may come to have most bytes in all: FULL, it would
 * have more. After FLUSH a decoder has all bytes so far. After END the body has ended. */
enum encoded encoder_take(struct encoder *e, struct str in, enum encoder_order order,
			  struct buf *out, size_t most);

/* The body has ended, whole or not. */
void encoder_end(struct encoder *e);

#endif
