/* cache_files.h - small files beside the log, which count as written bytes too: snapshots of filters
 * and the like.
 *
 * Threads   any; they wait for the disk, and are not for workers.
 */
#ifndef CACHE_CACHE_FILES_H
#define CACHE_CACHE_FILES_H

#include "proxy/base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct cache;
struct diskio_job;

/* Writes name in dir atomically (temporary file, fsync, rename); data comes from fill(ctx, write).
 * 0 or -1 (errno). */
int cache_save_file(struct cache *c, const char *name,
		    int (*fill)(int (*write)(void *, const void *, size_t), void *to, void *ctx),
		    void *ctx);
/* Bytes behind the first at bytes of such a file, in place of what follows there. Durable when it returns: 0, or -1
 * (errno; ENOENT: the file is not there, or shorter). */
int cache_append_file(struct cache *c, const char *name, uint64_t at, struct str bytes);
void cache_remove_file(struct cache *c, const char *name);
/* Runs the job on a thread that may wait for the disk of these files, of a cache with a directory. */
void cache_post(struct cache *c, struct diskio_job *j);
/* Opens name in dir for reading: a file descriptor, or -1 with errno; ENOENT: there is none. */
int cache_open_file(struct cache *c, const char *name);
/* Appends all of it to *to; of more than most bytes, the beginning, which is longer than that.
 * False: there is none. *why: NULL, or why it cannot be read to its end. */
bool
cache_read_file(struct cache *c, const char *name, uint64_t most, struct buf *to, const char **why);

#endif
