/* script.h - a script that runs on the engine, by the sum of its text where the engine has it.
 *
 * Threads   script_sum: any; the text is constant.
 */
#ifndef FLEET_SCRIPT_H
#define FLEET_SCRIPT_H

#include "proxy/base/str.h"

enum { SCRIPT_SUM = 40 };

/* SHA-1 in hexadecimal digits, NUL-terminated; returns out. */
const char *script_sum(struct str text, char out[SCRIPT_SUM + 1]);

#endif
