/* mem.c - out of memory on a small request is the end, said in one line. */
#include "proxy/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *
or_die(void *p, size_t n)
{
	if (!p) {
		fprintf(stderr, "twice: out of memory (%zu bytes)\n", n);
		abort();
	}
	return p;
}

void *
mem_alloc(size_t n)
{
	return or_die(malloc(n ? n : 1), n);
}

/* glibc's calloc does not use the thread's own cache of small pieces; malloc does. */
enum { SMALL = 1024 };

void *
mem_zalloc(size_t n)
{
	return n - 1 < SMALL ? memset(mem_alloc(n), 0, n) : or_die(calloc(1, n ? n : 1), n);
}

void *
mem_realloc(void *p, size_t n)
{
	return or_die(realloc(p, n ? n : 1), n);
}

char *
mem_strdup(const char *z)
{
	return mem_strndup(z, strlen(z));
}

char *
mem_strndup(const char *p, size_t n)
{
	char *z = mem_alloc(n + 1);
	if (n)
		memcpy(z, p, n);
	z[n] = 0;
	return z;
}
