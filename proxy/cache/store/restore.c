/* restore.c - what was kept? Finds the segments and how far they were written; what they list is
 * entered in the index by store_load.c.
 */
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/cache/store/doubled.h"
#include "proxy/cache/store/store_inside.h"

#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FORMAT = 2, MIN_SEGMENTS = 4 };

struct found {
	uint32_t slot, generation; /* generation 0: nothing of use in it */
	int fd;
};

struct restoring {
	struct store *st;
	struct found *found;
	size_t n;
	int error; /* of the last read of the segment that failed */
};

static int
segment_name(char *to, size_t n, uint32_t slot)
{
	return snprintf(to, n, "segment.%05u", slot);
}

/* Reading must not note when it did: that goes through the journal of the file system, and a worker that reads
 * what is in memory would wait for the disk. Only its owner may open a file so. */
static int
open_quietly(const struct store *st, const char *name, int flags)
{
	static _Atomic bool told;
	int fd = openat(st->o.dir_fd, name, flags | O_NOATIME, 0600);
	if (fd >= 0 || errno != EPERM)
		return fd;
	fd = openat(st->o.dir_fd, name, flags, 0600);
	if (fd >= 0 && !atomic_exchange(&told, true))
		log_warning("cache %s: %s belongs to another user, so that reading it updates its "
			    "time of access, and all workers wait for the disk when it hangs: "
			    "chown -R the directory to the user of this process, or mount its "
			    "file system with noatime",
			    st->o.dir, name);
	return fd;
}

int
store_open_segment_file(const struct store *st, uint32_t slot, bool create)
{
	char name[32];
	segment_name(name, sizeof name, slot);
	if (create && st->o.has_lock && !st->o.has_lock(st->o.ctx)) {
		errno = ESTALE;
		return -1;
	}
	int fd = open_quietly(st, name, O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0));
	/* We read what was asked for; reading ahead would fetch what comes next in time, not in
	 * use. */
	if (fd >= 0)
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	return fd;
}

/* ---- the file "format" --------------------------------------------------------------------- */

/* Format 1 wrote this file as bare text. */
static bool
was_written_in_format_1(const struct store *st)
{
	char text[64];
	int fd = openat(st->o.dir_fd, "format", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);
	if (fd >= 0)
		close(fd);
	return n > 0 && str_starts((struct str){text, (size_t)n}, STR("twice cache format 1,"));
}

/* 1: read, 0: nothing of use (the segments go), -1: not ours to use (err says why). */
static int
read_format(const struct store *st, uint64_t *segment_bytes, char *err, size_t err_bytes)
{
	char text[128];
	int mended;
	ssize_t n = doubled_read(st->o.dir_fd, "format", text, sizeof text - 1, &mended);
	if (n < 0 && errno == ENOENT)
		return 0;
	if (n < 0 && was_written_in_format_1(st)) {
		log_warning("cache %s: written by an older twice in cache format 1, which this one "
			    "does not read: starting empty",
			    st->o.dir);
		return 0;
	}
	if (n < 0 && st->o.is_ours) {
		log_warning("cache %s: both copies of the file \"format\" are damaged: starting "
			    "empty",
			    st->o.dir);
		return 0;
	}
	text[n > 0 ? n : 0] = 0;
	unsigned version;
	unsigned long long bytes;
	if (sscanf(text, "twice cache format %u, segments of %llu bytes", &version, &bytes) != 2) {
		snprintf(
			err, err_bytes,
			"%s holds a file named \"format\" that twice did not write: give the cache "
			"a directory of its own",
			st->o.dir);
		return -1;
	}
	if (version != FORMAT) {
		snprintf(err, err_bytes,
			 "%s was written in cache format %u, this twice knows format %d: use the "
			 "version that wrote it, or empty the directory",
			 st->o.dir, version, FORMAT);
		return -1;
	}
	if (mended)
		log_warning("cache %s: a copy of the file \"format\" was damaged and is mended",
			    st->o.dir);
	*segment_bytes = bytes;
	return 1;
}

static int
write_format(const struct store *st)
{
	char text[128];
	int n = snprintf(text, sizeof text, "twice cache format %d, segments of %llu bytes\n",
			 FORMAT, (unsigned long long)st->o.segment_bytes);
	return doubled_write(st->o.dir_fd, "format", text, (size_t)n);
}

static bool
is_usable(uint64_t segment_bytes, uint64_t log_bytes)
{
	return segment_bytes >= 65536 && segment_bytes <= 1 << 30 &&
	       segment_bytes % SEGMENT_PAGE == 0 && log_bytes / segment_bytes >= MIN_SEGMENTS &&
	       log_bytes / segment_bytes < INDEX_MAX_SEGMENTS;
}

/* ---- the files ----------------------------------------------------------------------------- */

static int
each_segment_file(struct store *st, void (*tell)(void *ctx, uint32_t slot), void *ctx)
{
	int fd = openat(st->o.dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	int error = 0;
	for (struct dirent *e; errno = 0, e = readdir(d), error = errno, e;) {
		uint32_t slot;
		char name[32];
		if (sscanf(e->d_name, "segment.%5u", &slot) != 1 || slot >= INDEX_MAX_SEGMENTS)
			continue;
		segment_name(name, sizeof name, slot);
		if (strcmp(name, e->d_name) == 0)
			tell(ctx, slot);
	}
	closedir(d);
	errno = error;
	return error ? -1 : 0;
}

struct removing {
	const struct store *st;
	int error; /* why one is still there */
};

static void
unlink_segment(void *ctx, uint32_t slot)
{
	struct removing *r = ctx;
	char name[32];
	segment_name(name, sizeof name, slot);
	if (unlinkat(r->st->o.dir_fd, name, 0) != 0 && errno != ENOENT)
		r->error = errno;
}

/* All of them, or none may be believed: what was purged could be among them. */
static int
unlink_segments(struct store *st)
{
	struct removing r = {.st = st};
	if (each_segment_file(st, unlink_segment, &r) != 0)
		return -1;
	errno = r.error;
	return r.error ? -1 : 0;
}

/* An error is told once for each segment. */
static bool
look_at_header(struct restoring *r, int fd, uint64_t at, struct batch_header *out)
{
	errno = 0;
	bool yes = store_read_header(r->st, fd, at, out);
	r->error = yes || errno == 0 ? r->error : errno;
	return yes;
}

static void
tell_error(struct restoring *r, uint32_t slot)
{
	if (r->error)
		store_cannot_restore(r->st, slot, r->error);
	r->error = 0;
}

static void
look_at(void *ctx, uint32_t slot)
{
	struct restoring *r = ctx;
	int fd = store_open_segment_file(r->st, slot, false);
	if (fd < 0) {
		store_cannot_restore(r->st, slot, errno);
		return;
	}
	struct batch_header h;
	bool right = look_at_header(r, fd, 0, &h) && store_is_batch_at(r->st, &h, slot, 0);
	if (!right) /* its first batch could not be written: its footer knows the others */
		right = look_at_header(r, fd, r->st->o.segment_bytes - SEGMENT_HEADER_BYTES, &h) &&
			h.is_footer && h.segment == slot;
	tell_error(r, slot);
	r->found = mem_realloc(r->found, (r->n + 1) * sizeof *r->found);
	r->found[r->n++] = (struct found){slot, right ? h.generation : 0, fd};
}

static int
by_generation(const void *pa, const void *pb)
{
	const struct found *a = pa, *b = pb;
	if (a->generation != b->generation)
		return a->generation < b->generation ? -1 : 1;
	return a->slot < b->slot ? -1 : a->slot > b->slot;
}

/* More files than the limit allows: the oldest go. */
static void
shrink(struct restoring *r)
{
	uint64_t limit = r->st->o.log_bytes / r->st->o.segment_bytes;
	size_t over = r->n > limit ? r->n - limit : 0;
	struct removing gone = {.st = r->st};
	for (size_t i = 0; i < over; i++) {
		close(r->found[i].fd);
		unlink_segment(&gone, r->found[i].slot);
	}
	if (!over)
		return;
	if (gone.error)
		store_may_return(r->st);
	memmove(r->found, r->found + over, (r->n - over) * sizeof *r->found);
	r->n -= over;
	log_info("cache %s: the limit is lower than it was, %zu oldest segments dropped",
		 r->st->o.dir, over);
}

/* ---- what is in them ------------------------------------------------------------------------ */

static bool
has_footer(struct restoring *r, const struct found *f, struct batch_header *h)
{
	uint64_t segment = r->st->o.segment_bytes;
	return look_at_header(r, f->fd, segment - SEGMENT_HEADER_BYTES, h) && h->is_footer &&
	       h->segment == f->slot && h->generation == f->generation && h->bytes <= segment &&
	       (uint64_t)h->page * SEGMENT_PAGE <= segment;
}

/* A segment without a footer, of which one may go on being written. */
static void
restore_by_walking(struct restoring *r, const struct found *f, bool is_last)
{
	struct store *st = r->st;
	struct store_walk w = {.slot = f->slot, .generation = f->generation};
	store_walk(st, &w, is_last ? &st->table : NULL);
	r->error = w.error ? w.error : r->error;
	if (is_last)
		st->link = w.link;
	st->clean_as_of[f->slot] = w.clean_as_of;
	ledger_restore(&st->ledger, f->slot, is_last ? SEGMENT_OPEN : SEGMENT_SEALED, f->generation,
		       w.end, w.replaced);
	atomic_store(&st->slots.written[f->slot], is_last ? w.end : st->o.segment_bytes);
}

/* All but the records of a sealed segment, which come later (store_load.c). */
static void
restore_segment(struct restoring *r, const struct found *f, bool is_last)
{
	struct store *st = r->st;
	struct batch_header h;
	atomic_store(&st->slots.written[f->slot], st->o.segment_bytes);
	if (!f->generation) {
		ledger_restore(&st->ledger, f->slot, SEGMENT_FREE, 0, 0, 0);
	} else if (has_footer(r, f, &h)) {
		st->clean_as_of[f->slot] = h.clean_as_of;
		ledger_restore(&st->ledger, f->slot, SEGMENT_SEALED, f->generation,
			       (uint64_t)h.page * SEGMENT_PAGE, 0);
		store_load_later(st, f->slot, f->generation, h.entries);
	} else {
		restore_by_walking(r, f, is_last);
	}
	tell_error(r, f->slot);
}

/* A file cut short (a copy, a crash while it was made) gets its length back. */
static void
adopt(struct store *st, const struct found *f)
{
	struct stat s;
	if (fstat(f->fd, &s) == 0 && (uint64_t)s.st_size < st->o.segment_bytes)
		(void)!ftruncate(f->fd, (off_t)st->o.segment_bytes);
	atomic_store(&st->slots.fds[f->slot], f->fd);
	store_set_life(st, f->slot, f->generation);
	st->holds[f->slot] = f->generation;
}

static void
make_slots(struct store *st, const struct restoring *r)
{
	uint32_t limit = (uint32_t)(st->o.log_bytes / st->o.segment_bytes), slots_n = limit;
	for (size_t i = 0; i < r->n; i++)
		if (r->found[i].slot >= slots_n)
			slots_n = r->found[i].slot + 1;
	ledger_init(&st->ledger, limit, slots_n, st->o.segment_bytes);
	st->slots.lives = mem_zalloc(slots_n * sizeof *st->slots.lives);
	st->codes = mem_zalloc(slots_n);
	st->holds = mem_zalloc(slots_n * sizeof *st->holds);
	st->losses.holes = mem_zalloc(slots_n * sizeof *st->losses.holes);
	st->clean_as_of = mem_zalloc(slots_n * sizeof *st->clean_as_of);
	st->slots.written = mem_zalloc(slots_n * sizeof *st->slots.written);
	st->slots.fds = mem_zalloc(slots_n * sizeof *st->slots.fds);
	for (uint32_t i = 0; i < slots_n; i++)
		atomic_store(&st->slots.fds[i], -1);
}

/* The size of segments is as found, unless it does not suit the limit or the caller's wish. */
static int
settle_format(struct store *st, char *err, size_t err_bytes)
{
	uint64_t found = 0, wish = st->o.segment_bytes;
	int r = read_format(st, &found, err, err_bytes);
	if (r < 0)
		return -1;
	if (r == 1 && !st->o.fresh && is_usable(found, st->o.log_bytes) &&
	    (!wish || wish == found)) {
		st->o.segment_bytes = found;
		return 0;
	}
	st->o.segment_bytes = wish ? wish : ledger_segment_bytes(st->o.log_bytes);
	if (!is_usable(st->o.segment_bytes, st->o.log_bytes)) {
		snprintf(err, err_bytes,
			 "cache %s: %llu bytes are too few for a disk cache: give it 8MiB or more",
			 st->o.dir, (unsigned long long)st->o.log_bytes);
		return -1;
	}
	if (r == 1 && !st->o.fresh)
		log_info("cache %s: its segments do not suit the new limit, starting empty",
			 st->o.dir);
	if (unlink_segments(st) == 0 && write_format(st) == 0)
		return 0;
	snprintf(err, err_bytes, "cannot write to cache directory %s: %s", st->o.dir,
		 strerror(errno));
	return -1;
}

int
store_restore(struct store *st, char *err, size_t err_bytes)
{
	if (settle_format(st, err, err_bytes) != 0)
		return -1;
	struct restoring r = {.st = st};
	if (each_segment_file(st, look_at, &r) != 0) {
		snprintf(err, err_bytes, "cannot read cache directory %s: %s", st->o.dir,
			 strerror(errno));
		return -1;
	}
	if (r.n)
		qsort(r.found, r.n, sizeof *r.found, by_generation);
	shrink(&r);
	make_slots(st, &r);
	for (size_t i = 0; i < r.n; i++)
		adopt(st, &r.found[i]);
	for (size_t i = 0; i < r.n; i++)
		restore_segment(&r, &r.found[i], i + 1 == r.n);
	free(r.found);
	if (st->unread.may_return) /* what could not be read may be newer than all that could */
		st->ledger.generation += 2 * st->ledger.slots_n;
	store_load_begin(st);
	return 0;
}
