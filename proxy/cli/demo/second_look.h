/* second_look.h - the requests of an access log once more, simulated with other settings. */
#ifndef CLI_SECOND_LOOK_H
#define CLI_SECOND_LOOK_H

#include <stdio.h>

struct config;

/* Prints a table for the disk, the memory and the filter of this configuration; nothing when the
 * log cannot be read. */
void second_look_print(FILE *to, const struct config *c, const char *log);

#endif
