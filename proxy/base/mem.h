/* mem.h - allocation that cannot fail: small, bounded requests abort with one line instead.
 *
 * They are not for sizes that a peer or a setting can choose without a bound of ours.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t n) __attribute__((malloc, returns_nonnull));
void *mem_zalloc(size_t n) __attribute__((malloc, returns_nonnull)); /* zeroed */
void *mem_realloc(void *p, size_t n) __attribute__((returns_nonnull));
char *mem_strdup(const char *z) __attribute__((returns_nonnull));
char *
mem_strndup(const char *p, size_t n) __attribute__((returns_nonnull)); /* NUL-terminated copy */

#define NEW(type) ((type *)mem_zalloc(sizeof(type)))

#endif
