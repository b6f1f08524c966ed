/* suggest.h - which of these words was probably meant? For settings and for commands. */
#ifndef CONFIG_SUGGEST_H
#define CONFIG_SUGGEST_H

#include <stddef.h>

/* How many single letters must be added, dropped, changed or swapped with their neighbour to make
 * b of a. Words longer than 63 letters count as far away. */
unsigned suggest_distance(const char *a, const char *b);

/* Near enough to ask "did you mean"? One slip in three letters. */
int suggest_is_near(const char *a, const char *b);

/* The way out for a setting of other programs, in a group ("routes", "" at the top): the rest of a
 * sentence; NULL: none is known. */
const char *suggest_hint(const char *group, const char *setting);

#endif
