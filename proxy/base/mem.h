/* mem.h - allocation that cannot fail: small, bounded requests abort with one line instead.
 *
 * They are not for sizes that a peer or a setting can choose without a bound of ours.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>

void *mem_alloc(size_t n) __attribute__((malloc, returns_nonnull));
void *mem_zalloc(size_t n) __attribute__((malloc, returns_nonnull)); /* zeroed */
void *mem_realloc(void *p, size_t n) __attribute__((returns_nonnull));
char *mem_strdup(const char *z) __attribute__((returns_nonnull));
char *
mem_strndup(const char *p, size_t n) __attribute__((returns_nonnull)); /* NUL-terminated copy */

#define NEW(type) ((type *)mem_zalloc(sizeof(type)))

/* Of a size that a peer chose; NULL: there is no memory, or it is short, and p is as it was. */
void *mem_realloc_try(void *p, size_t n);

/* Memory that is kept back for small requests at the time when the system has no more to give: with it they go
 * on, and from then on memory is short until the reserve is whole again. Any thread, all of them.
 */
void mem_reserve(size_t bytes); /* at the start; 0: none, as before */
void mem_refill(void);		/* now and then */
bool mem_is_short(void);

#endif
