/* test_eio.c - a disk that fails: every call to the system, of every kind, on every file of the cache
 * directory is made to fail with EIO, once or from then on, while a cache is opened, used, purged and
 * ended, well or by kill -9. Then it is opened again on a disk that works.
 * rooms: cache http base filter
 *
 * What must be true, then and before: no wrong byte, no older version than one that was seen, nothing that was
 * purged and answered as durable; a saved file is the old or the new one; who cannot begin says so.
 */
#undef _FORTIFY_SOURCE /* read and pread are ours here */
#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/cache/ghost/baseline.h"
#include "proxy/cache/cache_files.h"
#include "proxy/cache/cache_forget.h"
#include "proxy/cache/cache_inside.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/cache/cache_write.h"
#include "proxy/cache/admission/seen.h"
#include "tests/kit/ask.h"
#include "tests/kit/tmpdir.h"
#include "tests/kit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

/* ---- the system's calls, some of which fail ------------------------------------------------ */

enum call {
	CALL_OPEN,
	CALL_READ,
	CALL_WRITE,
	CALL_SYNC,
	CALL_RENAME,
	CALL_REMOVE,
	CALL_LENGTH,
	CALL_LOCK
};

static char dir[256];

static struct {
	atomic_bool armed;
	enum call call;
	const char *file; /* how its name begins; "" is the directory itself */
	int from, to;	  /* which ones fail, counted from 1 */
	const char *also; /* NULL, or files of which none can be removed */
} fault;

/* Of all processes of a test. */
static struct seen {
	atomic_int calls; /* that might have failed */
	atomic_int failed;
	int durable; /* a bit for each purge that was answered so */
	int saved;   /* a file was */
	int opened;
	char version[64]; /* the newest that was seen, of each key */
	char settled[64]; /* the same when all of it was on disk, or lost for good */
} * seen;

static bool
is_file(const char *path, const char *begins)
{
	size_t n = strlen(dir);
	if (strncmp(path, dir, n) != 0)
		return false;
	path += n + (path[n] == '/');
	return *begins ? strncmp(path, begins, strlen(begins)) == 0 : !*path;
}

/* Shall this call fail? errno is set then. */
static bool
fails(enum call call, const char *path)
{
	if (call == CALL_REMOVE && fault.also && is_file(path, fault.also)) {
		errno = EIO;
		return true;
	}
	if (call != fault.call || !is_file(path, fault.file))
		return false;
	int n = atomic_fetch_add(&seen->calls, 1) + 1;
	if (n < fault.from || n > fault.to)
		return false;
	atomic_fetch_add(&seen->failed, 1);
	errno = EIO;
	return true;
}

static bool
fails_at(enum call call, int at, const char *name)
{
	char link[64], path[PATH_MAX] = "";
	if (!atomic_load(&fault.armed))
		return false;
	snprintf(link, sizeof link, "/proc/self/fd/%d", at);
	ssize_t n = *name == '/' ? 0 : readlink(link, path, sizeof path - 1);
	if (n < 0)
		return false;
	path[n] = 0;
	if (*name)
		snprintf(path + n, sizeof path - (size_t)n, "%s%s", n ? "/" : "", name);
	return fails(call, path);
}

static bool
fails_fd(enum call call, int fd)
{
	return fails_at(call, fd, "");
}

int
openat(int at, const char *name, int flags, ...)
{
	va_list v;
	va_start(v, flags);
	mode_t mode = flags & O_CREAT ? va_arg(v, mode_t) : 0;
	va_end(v);
	if (fails_at(CALL_OPEN, at, name))
		return -1;
	return (int)syscall(SYS_openat, at, name, flags, mode);
}

int
open(const char *path, int flags, ...)
{
	va_list v;
	va_start(v, flags);
	mode_t mode = flags & O_CREAT ? va_arg(v, mode_t) : 0;
	va_end(v);
	if (atomic_load(&fault.armed) && fails(CALL_OPEN, path))
		return -1;
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

ssize_t
read(int fd, void *p, size_t n)
{
	return fails_fd(CALL_READ, fd) ? -1 : syscall(SYS_read, fd, p, n);
}

ssize_t
pread(int fd, void *p, size_t n, off_t at)
{
	return fails_fd(CALL_READ, fd) ? -1 : syscall(SYS_pread64, fd, p, n, at);
}

/* Fortified code calls these. */
ssize_t __read_chk(int fd, void *p, size_t n, size_t room);
ssize_t __pread_chk(int fd, void *p, size_t n, off_t at, size_t room);

ssize_t
__read_chk(int fd, void *p, size_t n, size_t room)
{
	ck_assert_uint_le(n, room);
	return read(fd, p, n);
}

ssize_t
__pread_chk(int fd, void *p, size_t n, off_t at, size_t room)
{
	ck_assert_uint_le(n, room);
	return pread(fd, p, n, at);
}

ssize_t
preadv2(int fd, const struct iovec *v, int n, off_t at, int flags)
{
	(void)fd, (void)v, (void)n, (void)at, (void)flags;
	errno = EAGAIN; /* so that all reads come by the one way that may fail */
	return -1;
}

ssize_t
pwrite(int fd, const void *p, size_t n, off_t at)
{
	return fails_fd(CALL_WRITE, fd) ? -1 : syscall(SYS_pwrite64, fd, p, n, at);
}

int
fsync(int fd)
{
	return fails_fd(CALL_SYNC, fd) ? -1 : 0; /* no power is cut here */
}

int
fdatasync(int fd)
{
	return fsync(fd);
}

int
renameat(int from_at, const char *from, int to_at, const char *to)
{
	return fails_at(CALL_RENAME, to_at, to)
		       ? -1
		       : (int)syscall(SYS_renameat2, from_at, from, to_at, to, 0);
}

int
unlinkat(int at, const char *name, int flags)
{
	return fails_at(CALL_REMOVE, at, name) ? -1 : (int)syscall(SYS_unlinkat, at, name, flags);
}

int
ftruncate(int fd, off_t n)
{
	return fails_fd(CALL_LENGTH, fd) ? -1 : (int)syscall(SYS_ftruncate, fd, n);
}

int
flock(int fd, int what)
{
	return fails_fd(CALL_LOCK, fd) ? -1 : (int)syscall(SYS_flock, fd, what);
}

int
fallocate(int fd, int mode, off_t at, off_t n)
{
	return fails_fd(CALL_LENGTH, fd) ? -1 : (int)syscall(SYS_fallocate, fd, mode, at, n);
}

/* ---- what is done with the cache ----------------------------------------------------------- */

enum {
	MIB = 1 << 20,
	KEYS = 30,
	BODY = 3000,
	LARGE = 200000, /* of the keys from FIRST_LARGE on: several pieces */
	FIRST_LARGE = 26,
	FILLERS = 30, /* these turn the log over */
	FILLER = 120000,
	REMEMBERED = 100,  /* of each version */
	SAVED = 300000,	   /* more than a chunk of the file that is saved */
	PURGED_BEFORE = 6, /* keys 0 to 5, in peace */
	REPLACED = 12,	   /* from PURGED_BEFORE on */
	LIFETIME = 10000,
	PURGES = 6, /* keys from REPLACED on: URLs, a tag, a prefix, softly */
};

static struct mailbox home;
static struct cache_options options;
static char err[512];

static bool
open_cache(struct cache **c)
{
	*err = 0;
	return cache_open(c, &options, err, sizeof err) == 0;
}

static struct str
key_of(int i, char to[64])
{
	const char *under = i == REPLACED + 4 ? "under/" : "";
	return (struct str){to, (size_t)snprintf(to, 64, "http://host/%s%d", under, i)};
}

static struct twice_key_hash
hash_of(struct cache *c, struct str key)
{
	return twice_key_hash_of(cache_seed(c), key.p, key.n);
}

static size_t
bytes_of(int i)
{
	return i >= 1000 ? FILLER : i >= FIRST_LARGE ? LARGE : BODY;
}

/* All bytes of the body are the version. */
static void
put(struct cache *c, int i, char version)
{
	char text[64], tags[4];
	struct str key = key_of(i, text);
	uint32_t tag = cache_tag(c, STR("tag"));
	memcpy(tags, &tag, sizeof tags);
	bool tagged = i == REPLACED + 3;
	struct object_write *w = cache_write_begin(
		c, &(struct write_options){.hash = hash_of(c, key),
					   .key = key,
					   .head = STR("HTTP/1.1 200 OK\r\n"),
					   .tags = {tags, tagged ? sizeof tags : 0},
					   .terms = {.response_time = now_s() - 100,
						     .lifetime = LIFETIME,
						     .status = 200},
					   .body_bytes = bytes_of(i),
					   .disk = true});
	for (size_t done = 0, n; done < bytes_of(i); done += n) {
		n = bytes_of(i) - done < 16384 ? bytes_of(i) - done : 16384;
		struct block *b = block_create((uint32_t)n);
		memset(b->p, version, n);
		b->n = (uint32_t)n;
		cache_write_body(w, b, 0, (uint32_t)n);
		block_unref(&b);
	}
	struct object *o = cache_write_commit(&w, true);
	if (o)
		object_unref(&o);
	if (o && i < KEYS)
		seen->version[i] = version;
}

/* The version that is found, or 0. */
static char
get(struct cache *c, int i)
{
	char text[64], version = 0;
	struct str key = key_of(i, text);
	struct object *o = ask_look_up(c, &home, hash_of(c, key), key);
	if (!o)
		return 0;
	ck_assert_uint_eq(o->body_bytes, bytes_of(i));
	for (uint64_t at = 0; at < o->body_bytes;) {
		struct ask_body a = ASK_BODY(&home);
		if (ask_read(c, o, &a, at, o->body_bytes) != BODY_READY) {
			body_done(&a.r);
			version = 0; /* cut */
			break;
		}
		version = at ? version : a.r.p[0];
		bool right = a.r.p[0] == version && !memcmp(a.r.p, a.r.p + 1, a.r.n - 1);
		ck_assert_msg(right, "%d: a wrong byte", i);
		at += a.r.n;
		body_done(&a.r);
	}
	/* An object purged softly is there, and stale. */
	if (version && i == REPLACED + 5 && seen->durable >> 5 & 1)
		ck_assert_int_lt(o->terms.lifetime, LIFETIME);
	object_unref(&o);
	return version;
}

static void
look_at_all(struct cache *c)
{
	for (int i = 0; i < KEYS; i++) {
		char version = get(c, i);
		ck_assert_msg(!version || i >= PURGED_BEFORE, "%d was purged", i);
		ck_assert_msg(!version || version >= seen->version[i], "%d: %d for %d", i, version,
			      seen->version[i]);
		if (version)
			seen->version[i] = version;
		int purge = i - REPLACED;
		if (purge >= 0 && purge < PURGES - 1 && seen->durable >> purge & 1)
			ck_assert_msg(!version, "%d was purged", i);
	}
}

static int
fill_saved(int (*write)(void *, const void *, size_t), void *to, void *ctx)
{
	char bytes[1000];
	memset(bytes, *(char *)ctx, sizeof bytes);
	for (int i = 0; i < SAVED / 1000; i++)
		if (write(to, bytes, sizeof bytes) != 0)
			return -1;
	return 0;
}

/* As the history of a node is kept. */
static bool
save(struct cache *c, char version)
{
	return cache_save_file(c, "history", fill_saved, &version) == 0;
}

/* The version of the saved file; 0: it could not be read. */
static char
load(struct cache *c)
{
	struct buf b = {0};
	const char *why;
	char version = 0;
	if (cache_read_file(c, "history", MIB, &b, &why) && !why) {
		ck_assert_uint_eq(b.n, SAVED);
		version = b.p[0];
		ck_assert(version && memcmp(b.p, b.p + 1, SAVED - 1) == 0);
	}
	buf_fini(&b);
	return version;
}

/* ---- what is remembered of URLs that are not on disk ---------------------------------------- */

struct memories {
	struct seen *seen;
	struct baseline *baseline;
};

static void
open_memories(struct memories *m, struct cache *c)
{
	/* So few of so many that none is taken for known by chance. */
	struct twice_filter_options memory = {
		.sightings = 2, .capacity = 4000, .false_positives = 1e-2, .rotate_after_s = 86400};
	struct seen_options s = {
		.cache = c, .saved = true, .memory = memory, .rule = {.sightings = 2}};
	struct baseline_options b = {.ghost = {.disk_bytes = options.disk_bytes},
				     .memory = memory,
				     .rings = 1,
				     .cache = c};
	ck_assert_int_eq(seen_open(&m->seen, &s, err, sizeof err), 0);
	ck_assert_int_eq(baseline_create(&m->baseline, &b), 0);
}

static void
close_memories(struct memories *m)
{
	seen_close(&m->seen);
	baseline_destroy(&m->baseline);
}

static struct twice_key_hash
hash_of_number(uint64_t i)
{
	return (struct twice_key_hash){i * 0x9e3779b97f4a7c15u, i * 0xd6e8feb86659fd93u};
}

/* Those of one version are asked for: how many of them were known, by the filter and by the ghost? */
static void
remember(struct memories *m, int version, unsigned *known, unsigned *held)
{
	struct baseline_stats before, after;
	*known = 0;
	baseline_stats(m->baseline, &before);
	for (int i = 0; i < REMEMBERED; i++) {
		struct twice_key_hash h = hash_of_number((uint64_t)(version * REMEMBERED + i));
		struct sighting_facts f = {.storable = true, .status = 200, .body_bytes = 1};
		*known += seen_judge(m->seen, h, &f).verdict != ADMISSION_FIRST_SIGHT;
		baseline_note(baseline_ring(m->baseline, 0),
			      &(struct ghost_event){.key = h.hi,
						    .url = h.hi,
						    .record_bytes = 1000,
						    .body_bytes = 500,
						    .now_s = 1000,
						    .fresh_s = LIFETIME,
						    .deed = GHOST_FETCHED,
						    .whole = true});
	}
	baseline_stats(m->baseline, &after);
	*held = (unsigned)(after.ghost.hits - before.ghost.hits);
}

/* Sightings are appended to a log, and then all is saved. */
static void
save_memories(struct memories *m)
{
	const struct cache_stats none = {0};
	seen_tick(m->seen, now_s(), now_ms(), &none);
	seen_tick(m->seen, now_s(), now_ms() + 60000, &none);
	seen_save(m->seen, now_s());
	baseline_save(m->baseline);
}

/* All or nothing of each version, and only what was said: the filter and the ghost begin empty, or go on
 * where a snapshot ended. */
static void
look_at_memories(struct cache *c, bool in_peace)
{
	struct memories m;
	unsigned known[3], held[3];
	open_memories(&m, c);
	for (int v = 1; v <= 2; v++) {
		remember(&m, v, &known[v], &held[v]);
		ck_assert_msg(known[v] == 0 || known[v] == REMEMBERED, "%u known", known[v]);
		ck_assert_msg(held[v] == 0 || held[v] == REMEMBERED, "%u held", held[v]);
	}
	/* On a disk that works there is a snapshot, of then or of now. */
	ck_assert(!in_peace || (known[1] + known[2] && held[1] + held[2]));
	if (!in_peace)
		save_memories(&m);
	close_memories(&m);
}

static struct purged
purge_one(struct cache *c, int purge)
{
	char text[64];
	struct str key = key_of(REPLACED + purge, text);
	struct twice_key_hash none = {0};
	switch (purge) {
	case 3:
		return cache_purge(c, FORGET_TAG, false, none, STR("tag"));
	case 4:
		return cache_purge(c, FORGET_PREFIX, false, none, STR("http://host/under/"));
	default:
		return cache_purge(c, FORGET_URL, purge == 5, hash_of(c, key), key);
	}
}

static void
purge_some(struct cache *c)
{
	for (int i = 0; i < PURGES; i++) {
		bool durable = cache_purge_wait(c, purge_one(c, i).at);
		seen->durable |= durable << i;
		ck_assert_msg(i == PURGES - 1 || !get(c, REPLACED + i), "%d was purged", i);
	}
}

/* Before anything fails. */
static void
prepare(void)
{
	struct cache *c;
	char text[64];
	ck_assert_msg(open_cache(&c), "%s", err);
	for (int i = 0; i < KEYS; i++)
		put(c, i, 1);
	for (int i = 0; i < PURGED_BEFORE; i++) {
		struct str key = key_of(i, text);
		cache_purge(c, FORGET_URL, false, hash_of(c, key), key);
	}
	ck_assert(save(c, 1));
	struct memories m;
	unsigned known, held;
	open_memories(&m, c);
	remember(&m, 1, &known, &held);
	ck_assert(known == 0 && held == 0);
	save_memories(&m);
	close_memories(&m);
	cache_close(&c);
}

/* An object on disk by now, or known to be lost, does not come back as it was. */
static void
settle(struct cache *c)
{
	store_flush(c->disks[0].store);
	forget_wait(c->forget, forget_now(c->forget));
	memcpy(seen->settled, seen->version, sizeof seen->settled);
}

/* While it fails. */
static void
use(bool killed)
{
	struct cache *c;
	seen->opened = open_cache(&c);
	if (!seen->opened) {
		ck_assert_msg(strstr(err, dir), "it does not say where: %s", err);
		log_warning("%s", err);
		return;
	}
	load(c);
	look_at_all(c);
	for (int i = PURGED_BEFORE; i < REPLACED; i++)
		put(c, i, 2);
	put(c, FIRST_LARGE, 2);
	purge_some(c);
	if (save(c, 2))
		seen->saved = 1;
	look_at_memories(c, false);
	cache_save_earnings(c);
	for (int i = 0; i < FILLERS; i++)
		put(c, 1000 + i, 1);
	look_at_all(c);
	if (killed) {
		settle(c);
		_exit(0);
	}
	cache_close(&c);
	memcpy(seen->settled, seen->version, sizeof seen->settled);
}

static void
check_after(void)
{
	struct cache *c;
	memcpy(seen->version, seen->settled, sizeof seen->settled);
	ck_assert_msg(open_cache(&c), "%s", err);
	look_at_all(c);
	char saved = load(c);
	ck_assert_msg(saved == 2 || (saved == 1 && !seen->saved), "saved: %d", saved);
	look_at_memories(c, true);
	cache_close(&c);
}

/* ---- each call of each kind ---------------------------------------------------------------- */

static const struct {
	const char *file;
	enum call call;
	const char *says; /* the log, when all of them fail; NULL: nothing must be said */
	const char *also;
} faults[] = {
	{"", CALL_OPEN, "cannot use cache directory", NULL},
	{"", CALL_SYNC, "its purge log cannot be written", NULL},
	{"lock", CALL_OPEN, "cannot write to cache directory", NULL},
	{"lock", CALL_WRITE, "cannot write to cache directory", NULL},
	{"lock", CALL_LENGTH, "cannot write to cache directory", NULL},
	{"lock", CALL_LOCK, "cannot lock cache directory", NULL},
	{"seed", CALL_OPEN, "its seed is damaged", NULL},
	{"seed", CALL_READ, "its seed is damaged", NULL},
	{"format", CALL_OPEN, "both copies of the file \"format\" are damaged", NULL},
	{"format", CALL_READ, "both copies of the file \"format\" are damaged", NULL},
	{"purges", CALL_OPEN, "its purge log is damaged", NULL},
	{"purges", CALL_READ, "its purge log is damaged", NULL},
	{"purges", CALL_READ, "cannot write to cache directory", "segment"},
	{"purges", CALL_WRITE, "its purge log cannot be written", NULL},
	{"purges", CALL_SYNC, "its purge log cannot be written", NULL},
	{"purges", CALL_SYNC, "its purge log cannot be written", "purges"},
	{"purges", CALL_RENAME, "its purge log cannot be written", NULL},
	{"purges", CALL_LENGTH, "its purge log cannot be written", NULL},
	{"segment", CALL_OPEN, "cannot read segment.0", NULL},
	{"segment", CALL_READ, "cannot read segment.0", NULL},
	{"segment", CALL_WRITE, "cannot write", NULL},
	{"segment", CALL_LENGTH, "no room for all of its", NULL},
	{"history", CALL_OPEN, NULL, NULL},
	{"history", CALL_READ, NULL, NULL},
	{"history", CALL_WRITE, NULL, NULL},
	{"history", CALL_SYNC, NULL, NULL},
	{"history", CALL_RENAME, NULL, NULL},
	{"filter", CALL_OPEN, "the filter's snapshot is ignored", NULL},
	{"filter", CALL_READ, "the filter's snapshot is ignored", NULL},
	{"filter", CALL_WRITE, "cannot save the filter's snapshot", NULL},
	{"filter", CALL_SYNC, "cannot save the filter's snapshot", NULL},
	{"filter", CALL_RENAME, "cannot save the filter's snapshot", NULL},
	{"sightings", CALL_OPEN, "the log of sightings counts up to byte 0", NULL},
	{"sightings", CALL_READ, "the log of sightings counts up to byte 0", NULL},
	{"sightings", CALL_WRITE, "cannot write the log of sightings", NULL},
	{"sightings", CALL_SYNC, "cannot write the log of sightings", NULL},
	{"sightings", CALL_RENAME, "cannot write the log of sightings", NULL},
	{"baseline", CALL_OPEN, "the snapshot of the simulated ordinary cache is ignored", NULL},
	{"baseline", CALL_READ, "the snapshot of the simulated ordinary cache is ignored", NULL},
	{"baseline", CALL_WRITE, "cannot save the simulated ordinary cache", NULL},
	{"baseline", CALL_SYNC, "cannot save the simulated ordinary cache", NULL},
	{"baseline", CALL_RENAME, "cannot save the simulated ordinary cache", NULL},
	{"whatif", CALL_OPEN, "the snapshot of what-if is ignored", NULL},
	{"whatif", CALL_READ, "the snapshot of what-if is ignored", NULL},
	{"whatif", CALL_WRITE, "cannot save", NULL},
	{"whatif", CALL_SYNC, "cannot save", NULL},
	{"whatif", CALL_RENAME, "cannot save", NULL},
	{"earned", CALL_OPEN, "the earnings of its segments cannot be saved", NULL},
	{"earned", CALL_READ, "the earnings of its segments is ignored", NULL},
	{"earned", CALL_WRITE, "the earnings of its segments cannot be saved", NULL},
	{"earned", CALL_SYNC, "the earnings of its segments cannot be saved", NULL},
	{"earned", CALL_RENAME, "the earnings of its segments cannot be saved", NULL},
};

/* Their output goes to a file: a line of the log must come where somebody must know. */
static int
in_child(void (*f)(bool), bool arg, const char *log)
{
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		dup2(fd, 2);
		close(fd);
		f(arg);
		_exit(0);
	}
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static void
use_in_peril(bool killed)
{
	ck_assert_int_eq(mailbox_init(&home), 0);
	atomic_store(&fault.armed, true);
	use(killed);
	atomic_store(&fault.armed, false);
	mailbox_fini(&home);
}

static void
check_in_peace(bool unused)
{
	(void)unused;
	ck_assert_int_eq(mailbox_init(&home), 0);
	check_after();
	mailbox_fini(&home);
}

static void
prepare_in_peace(bool unused)
{
	(void)unused;
	ck_assert_int_eq(mailbox_init(&home), 0);
	prepare();
	mailbox_fini(&home);
}

static void
copy_tree(const char *from, const char *to)
{
	char command[600];
	snprintf(command, sizeof command, "rm -rf '%s' && cp -r --sparse=always '%s' '%s'", to,
		 from, to);
	ck_assert_int_eq(system(command), 0);
}

static char base[256], good[300], log_file[300];
static bool in_full; /* every call, and a log of purges is tried again as seldom as in earnest */

static void
begin(void)
{
	log_set_level(LOG_WARNING);
	in_full = getenv("TWICE_LONG");
	/* Nothing here is synced, and a file system in memory makes and removes files at a fifth of
	 * the price. */
	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", false);
	tmpdir_make(base, sizeof base);
	snprintf(dir, sizeof dir, "%s/cache", base);
	snprintf(good, sizeof good, "%s/good", base);
	snprintf(log_file, sizeof log_file, "%s/log", base);
	options = (struct cache_options){.dir = dir,
					 .required = true, /* scenario/hung_disk tries the other */
					 .disk_bytes = 6 * MIB,
					 .reserve_bytes = MIB,
					 .scrub_every_s = 1,
					 .purge_retry_ms = in_full ? 0 : 10,
					 .io_threads = 2};
	seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(seen, MAP_FAILED);
	ck_assert_int_eq(in_child(prepare_in_peace, false, log_file), 0);
	copy_tree(dir, good);
}

/* Returns what the child said, or NULL. */
static char *
log_text(void)
{
	struct buf b = {0};
	int fd = open(log_file, O_RDONLY);
	for (ssize_t n; (n = read(fd, buf_room(&b, 4096), 4095)) > 0;)
		buf_added(&b, (size_t)n);
	close(fd);
	buf_add(&b, "", 1);
	return b.p;
}

static void
run(void (*f)(bool), bool arg, const char *what)
{
	int status = in_child(f, arg, log_file);
	char *log = log_text();
	ck_assert_msg(status == 0, "%s: calls %d to %d: %d\n%s", what, fault.from, fault.to, status,
		      log);
	free(log);
}

/* The calls of this kind from number n on, so many of them; true if there was such a call. */
static bool
attempt(int n, int times, bool killed, const char *says)
{
	copy_tree(good, dir);
	*seen = (struct seen){0};
	memset(seen->version + PURGED_BEFORE, 1, KEYS - PURGED_BEFORE);
	memcpy(seen->settled, seen->version, sizeof seen->settled);
	fault.from = n;
	fault.to = times > INT_MAX - n ? INT_MAX : n + times - 1;
	run(use_in_peril, killed, killed ? "used, then killed" : "used");
	if (says && n == 1 && times == INT_MAX) {
		char *log = log_text();
		ck_assert_msg(strstr(log, says) && strstr(log, dir), "not \"%s\" but: %s", says,
			      log);
		free(log);
	}
	bool any = atomic_load(&seen->failed) > 0;
	run(check_in_peace, false, "checked");
	return any;
}

/* Each of the first calls, then fewer and fewer of them. */
START_TEST(a_call_fails)
{
	begin();
	fault.file = faults[_i].file;
	fault.call = faults[_i].call;
	fault.also = faults[_i].also;
	int n = 1, rounds = 0, longer = in_full ? INT_MAX : SANITIZED ? 1 : 2;
	for (; attempt(n, 1, n % 2, NULL) && attempt(n, INT_MAX, n % 2 == 0, faults[_i].says);
	     n += 1 + n / longer)
		rounds++;
	ck_assert_int_gt(rounds, 0); /* else this row says nothing */
	munmap(seen, sizeof *seen);
	tmpdir_remove(base);
}
END_TEST

UNIT("eio", LOOP(a_call_fails, faults))
