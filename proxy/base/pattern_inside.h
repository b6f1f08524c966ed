/* pattern_inside.h - a pattern as its two files know it: steps that pattern.c makes of the text, and
 * pattern_match.c follows.
 */
#ifndef BASE_PATTERN_INSIDE_H
#define BASE_PATTERN_INSIDE_H

#include "proxy/base/pattern.h"

#include <stdint.h>

enum { PATTERN_STEPS = 256, PATTERN_CLASSES = 32 };

enum pattern_op {
	PATTERN_BYTE,  /* this byte, then the next step */
	PATTERN_CLASS, /* one of a class, then the next step */
	PATTERN_ANY,
	PATTERN_SPLIT, /* both: to, which counts first, and other */
	PATTERN_JUMP,  /* to */
	PATTERN_SAVE,  /* notes the place, then the next step */
	PATTERN_BEGIN, /* only at the text's beginning */
	PATTERN_END,
	PATTERN_DONE /* a match */
};

struct pattern_step {
	uint8_t op;
	uint8_t arg;	   /* the byte, the class, or which place is noted */
	int16_t to, other; /* steps, counted from this one */
};

struct pattern {
	unsigned n, classes, captures;
	struct pattern_step steps[PATTERN_STEPS];
	uint8_t class[PATTERN_CLASSES][32]; /* a bit for each byte */
};

#endif
