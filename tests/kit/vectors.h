/* vectors.h - tables of rows in tests/vectors/wire: "[a sentence]" begins a row, each other line is a
 * word of it; "#" begins a remark. TWICE_VECTORS names another folder.
 *
 * Memory    nothing is freed; the process ends.
 */
#ifndef KIT_VECTORS_H
#define KIT_VECTORS_H

#include <stdbool.h>
#include <stddef.h>

enum { VECTORS_MOST = 400 };

typedef void vector_begin_fn(void *row, char *name); /* row: zeroed */
typedef void vector_word_fn(void *row, const char *line);
/* All rows of a file, each of row_bytes; fails when it cannot be read. */
void *vectors_read(const char *file, size_t row_bytes, vector_begin_fn *begin, vector_word_fn *word,
		   int *count);

/* The bytes that are written with \r \n \t \\ \xHH; out has room for as many as text, and a NUL. */
size_t vector_unescape(const char *text, char *out);

/* A row was tried: notes what was wrong, if anything, and fails when the proxy has ended. True when
 * something was wrong. */
bool vector_is_wrong(const char *row, const char *wrong);

#endif
