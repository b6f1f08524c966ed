/* input.h - the bytes of a log: a file or standard input, plain or packed (gzip, zstd, xz), known
 * by its first bytes, not by its name. Members behind each other are one log.
 *
 * Threads   one at a time; input_taken from any.
 * Errors    a sentence that names the file.
 */
#ifndef SIMULATE_INPUT_H
#define SIMULATE_INPUT_H

#include "proxy/base/str.h"

#include <stdatomic.h>

struct input;

/* name "-": standard input. stop: borrowed, or NULL. Once it is not 0, what is no file is not waited
 * for any more: it ends there. */
struct input *input_open(const char *name, const atomic_uint *stop, char *err, size_t err_bytes);
void input_close(struct input **in);

/* Up to n unpacked bytes; 0: the end; -1: it cannot be read on, and input_trouble says why. */
long input_read(struct input *in, char *to, size_t n);
const char *input_trouble(const struct input *in);

/* Packed bytes taken so far, and of how many; 0: not known. */
uint64_t input_taken(const struct input *in);
uint64_t input_size(const struct input *in);
const char *input_packing(const struct input *in); /* "plain", "gzip", "zstd", "xz" */

#endif
