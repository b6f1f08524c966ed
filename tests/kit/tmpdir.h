/* tmpdir.h - a directory of the test's own, under $TMPDIR or /tmp, removed with all in it. */
#ifndef KIT_TMPDIR_H
#define KIT_TMPDIR_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static inline void
tmpdir_make(char *path, size_t n)
{
	const char *under = getenv("TMPDIR");
	snprintf(path, n, "%s/twice-test-XXXXXX", under && *under ? under : "/tmp");
	if (!mkdtemp(path)) {
		perror(path);
		abort();
	}
}

static inline int
tmpdir_remove_one(const char *path, const struct stat *s, int what, struct FTW *at)
{
	(void)s, (void)what, (void)at;
	return remove(path);
}

static inline void
tmpdir_remove(const char *path)
{
	nftw(path, tmpdir_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline int tmpdir_add_one(const char *path, const struct stat *s, int what, struct FTW *at);

static unsigned long long tmpdir_sum;

static inline int
tmpdir_add_one(const char *path, const struct stat *s, int what, struct FTW *at)
{
	(void)path, (void)what, (void)at;
	tmpdir_sum += (unsigned long long)s->st_blocks * 512;
	return 0;
}

/* Bytes on disk, as du counts them. */
static inline unsigned long long
tmpdir_bytes(const char *path)
{
	tmpdir_sum = 0;
	nftw(path, tmpdir_add_one, 16, FTW_PHYS);
	return tmpdir_sum;
}

#endif
