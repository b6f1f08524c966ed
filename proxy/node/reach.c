/* reach.c - looks at paths, and reads them. */
#include "proxy/node/reach.h"

#include "proxy/base/aside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- directories ---------------------------------------------------------------------------- */

struct looking {
	char dir[REACH_PATH];
	struct reach_dir found;
};

void
reach_cut_name(char *path)
{
	char *slash = strrchr(path, '/');
	if (slash == path)
		slash++;
	if (slash)
		*slash = '\0';
	else
		strcpy(path, ".");
}

static void
look(void *ctx)
{
	struct looking *l = ctx;
	struct reach_dir *f = &l->found;
	struct stat st;
	struct statvfs fs;
	memcpy(f->at, l->dir, sizeof f->at);
	while (stat(f->at, &st) && errno == ENOENT && strcmp(f->at, ".") != 0 &&
	       strcmp(f->at, "/") != 0)
		reach_cut_name(f->at);
	f->error = stat(f->at, &st) ? errno : 0;
	f->is_dir = !f->error && S_ISDIR(st.st_mode);
	f->writing = access(f->at, W_OK | X_OK) ? errno : 0;
	if (statvfs(f->at, &fs))
		return;
	f->all_bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
}

void
reach_dir(const char *dir, struct reach_dir *out)
{
	void *ctx = aside_new(sizeof(struct looking));
	struct looking *l = ctx;
	snprintf(l->dir, sizeof l->dir, "%s", dir);
	*out = (struct reach_dir){.hangs = true};
	if (!aside_run(look, &ctx, REACH_MS))
		return;
	*out = l->found;
	aside_free(&ctx);
}

/* ---- files ---------------------------------------------------------------------------------- */

struct reading {
	unsigned n;
	char paths[]; /* each ends with a NUL; empty: none */
};

static void
read_file(int dir_fd, const char *path)
{
	enum { PIECE = 64 << 10, MOST = 16 << 20 };
	struct stat st;
	char piece[PIECE];
	int fd = openat(dir_fd, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		for (off_t at = 0; at < MOST; at += PIECE)
			if (pread(fd, piece, PIECE, at) < PIECE)
				break;
	if (fd >= 0)
		close(fd);
}

static void
read_path(const char *path)
{
	DIR *all = opendir(path);
	if (!all)
		read_file(AT_FDCWD, path);
	for (struct dirent *e; all && (e = readdir(all));)
		read_file(dirfd(all), e->d_name);
	if (all)
		closedir(all);
}

static void
read_paths(void *ctx)
{
	struct reading *r = ctx;
	const char *path = r->paths;
	for (unsigned i = 0; i < r->n; i++) {
		if (*path)
			read_path(path);
		path += strlen(path) + 1;
	}
}

static bool
can_read(const char *const *paths, unsigned n)
{
	size_t bytes = sizeof(struct reading);
	for (unsigned i = 0; i < n; i++)
		bytes += (paths[i] ? strlen(paths[i]) : 0) + 1;
	void *ctx = aside_new(bytes);
	struct reading *r = ctx;
	char *to = r->paths;
	for (r->n = 0; r->n < n; r->n++)
		to = stpcpy(to, paths[r->n] ? paths[r->n] : "") + 1;
	bool yes = aside_run(read_paths, &ctx, REACH_MS);
	aside_free(&ctx);
	return yes;
}

unsigned
reach_files(const char *const *paths, unsigned n)
{
	unsigned i = 0;
	if (can_read(paths, n))
		return n;
	while (i < n && can_read(&paths[i], 1))
		i++;
	return i;
}
