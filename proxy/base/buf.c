/* buf.c - growing bytes; growth doubles, so adding is amortised constant. */
#include "proxy/base/buf.h"

#include "proxy/base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void
buf_fini(struct buf *b)
{
	free(b->p);
	*b = (struct buf){0};
}

void
buf_empty(struct buf *b, size_t most)
{
	if (b->cap > most)
		buf_fini(b);
	b->n = 0;
}

char *
buf_room(struct buf *b, size_t n)
{
	if (b->cap - b->n < n) {
		size_t cap = b->cap ? b->cap : 256;
		while (cap - b->n < n)
			cap *= 2;
		b->p = mem_realloc(b->p, cap);
		b->cap = cap;
	}
	/* Without a byte to add there may be no memory, and nothing can be added to NULL. */
	return b->p ? b->p + b->n : NULL;
}

void
buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n <= 0)
		return;
	buf_room(b, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(b->p + b->n, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->n += (size_t)n;
}

size_t
buf_put_u64(char to[BUF_U64_BYTES], uint64_t v)
{
	char digits[BUF_U64_BYTES], *p = digits + sizeof digits;
	do {
		*--p = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	size_t n = (size_t)(digits + sizeof digits - p);
	for (size_t i = 0; i < n; i++) /* few: a call of memcpy costs more */
		to[i] = p[i];
	return n;
}

void
buf_add_u64(struct buf *b, uint64_t v)
{
	b->n += buf_put_u64(buf_room(b, BUF_U64_BYTES), v);
}

void
buf_consume(struct buf *b, size_t n)
{
	if (n < b->n)
		memmove(b->p, b->p + n, b->n - n);
	b->n = n < b->n ? b->n - n : 0;
}
