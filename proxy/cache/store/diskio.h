/* diskio.h - where threads wait for the disk so that no worker does: one writer, some readers.
 *
 * The seam for tests: every byte that the store reads or writes passes through struct diskio_ops,
 * so a test can put a slow, torn, full or failing disk under it.
 *
 * Threads   diskio_post from any; a job runs on one of ours. Writes run one at a time, in order.
 * Memory    jobs are embedded in the poster's struct and are the poster's again once they run.
 */
#ifndef CACHE_DISKIO_H
#define CACHE_DISKIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct diskio;

enum { DISKIO_KEPT = -2 };

struct diskio_ops {
	ssize_t (*read)(int fd, void *p, size_t n, off_t at);
	/* Only what needs no waiting; -1 EAGAIN otherwise; EOPNOTSUPP or ENOSYS: never here. */
	ssize_t (*read_now)(int fd, void *p, size_t n, off_t at);
	ssize_t (*write)(int fd, const void *p, size_t n, off_t at);
	/* Makes the file so long, its bytes of no meaning, its room on the disk taken; 0, or -1
	 * with errno and an empty file, or DISKIO_KEPT with errno: its bytes may still be there. */
	int (*renew)(int fd, off_t bytes);
	/* Bytes that we may still take on the file system, and all it has. */
	int (*room)(int dir_fd, uint64_t *free_bytes, uint64_t *all_bytes);
	/* The purge log needs these to be durable. A new, empty file: a descriptor, or -1. */
	int (*create)(int dir_fd, const char *name);
	int (*rename)(int dir_fd, const char *from, const char *to);
	int (*remove)(int dir_fd, const char *name);
	/* Grows whenever anybody writes to the file. 0: it is not known. */
	uint64_t (*stamp)(int fd);
	/* The file in memory, never looked into: only is_cached is asked about it. NULL: it cannot
	 * be asked. All four may be NULL. */
	void *(*map)(int fd, size_t bytes);
	void (*unmap)(void *view, size_t bytes);
	/* Would nobody wait for the device who reads these bytes now? (page_cache.h) */
	bool (*is_cached)(int fd, const void *view, uint64_t at, size_t n);
	/* The page cache need not keep these bytes. */
	void (*let_go)(int fd, off_t at, off_t n);
	/* Has the device read a block of the file, past the page cache, and returns. NULL: it cannot be asked. */
	void (*touch)(int fd, off_t at);
	int (*sync)(int fd);	     /* a file's bytes */
	int (*sync_dir)(int dir_fd); /* what create, rename and remove did */
};
extern const struct diskio_ops diskio_system;

struct diskio_job {
	struct diskio_job *next;
	void (*run)(struct diskio_job *j);
};

enum diskio_queue { DISKIO_READS, DISKIO_WRITES };

struct diskio_options {
	unsigned readers;
	void (*tick)(void *ctx); /* on the writer's thread, every tick_ms or so */
	void *ctx;
	unsigned tick_ms;
};

/* -1: there are not as many threads to be had. */
int diskio_start(struct diskio **out, const struct diskio_options *o);
/* Runs what is queued, then returns when all threads are gone. */
void diskio_stop(struct diskio **d);
void diskio_post(struct diskio *d, enum diskio_queue q, struct diskio_job *j);

/* Has the device just answered, so that it is not taken to hang? It is asked by a reading thread while somebody
 * wants to know: a block of the file at that place, which was written. Until when the answer holds is in
 * *until_ms, and moves on with the next one. Any thread, while the file is open, up to diskio_stop. */
enum { DISKIO_ANSWER_MS = 150 };
bool diskio_answers(struct diskio *d, const struct diskio_ops *ops, int fd, uint64_t at,
		    const _Atomic int64_t **until_ms);

/* All n bytes, or -1 with errno (a read past the end: errno 0). */
int diskio_read_all(const struct diskio_ops *ops, int fd, void *p, size_t n, uint64_t at);
int diskio_write_all(const struct diskio_ops *ops, int fd, const void *p, size_t n, uint64_t at);

#endif
