/* manual.h - the settings as a manual page, twice.yaml(5), from the rows that read and check them. */
#ifndef CONFIG_MANUAL_H
#define CONFIG_MANUAL_H

#include <stdio.h>

/* In the macros of man(7). version: for the foot of the page. */
void manual_print(FILE *to, const char *version);
/* The settings as JSON Schema, for editors. 0, or -1: it was not written. */
int manual_print_schema(FILE *to);
/* Text as roff reads it: nothing in it is a command. */
void manual_text(FILE *to, const char *z);

#endif
