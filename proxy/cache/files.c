/* files.c - which directories can be used, and their seed. */
#include "proxy/cache/cache_inside.h"

#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/cache/store/doubled.h"
#include "proxy/cache/forget/purge_log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEED_RANDOM = CACHE_SEED_RANDOM };

/* ---- the seed ------------------------------------------------------------------------------ */

static void
fill_random(char *p, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = getrandom(p + done, n - done, 0);
		if (got > 0)
			done += (size_t)got;
	}
}

static bool
read_seed(const struct disk *d, char *random)
{
	int mended;
	ssize_t n = doubled_read(d->dir_fd, "seed", random, SEED_RANDOM, &mended);
	if (n == SEED_RANDOM && mended)
		log_warning("cache %s: a copy of its seed was damaged and is mended", d->dir);
	else if (n != SEED_RANDOM && (n >= 0 || errno != ENOENT))
		log_warning(
			"cache %s: its seed is damaged; the objects that were stored cannot be found again",
			d->dir);
	return n == SEED_RANDOM;
}

/* With another seed all hashes are other ones: the log from before is of no use. */
static int
write_seed(struct disk *d, const char *random, char *err, size_t err_bytes)
{
	d->fresh = true;
	if (doubled_write(d->dir_fd, "seed", random, SEED_RANDOM) == 0)
		return 0;
	snprintf(err, err_bytes, "cannot write to cache directory %s: %s", d->dir, strerror(errno));
	return -1;
}

/* ---- the disks ----------------------------------------------------------------------------- */

/* How the directory of a disk was found. */
struct found {
	struct visit *visit; /* where it stands still, its thread's */
	bool stands;
	int result, error; /* as the visit's */
	char err[DIRECTORY_TEXT];
};

static unsigned
configured(const struct cache *c, struct cache_disk out[CACHE_DISKS_MOST])
{
	out[0] = (struct cache_disk){c->o.dir, c->o.disk_bytes};
	assert(c->o.more_n < CACHE_DISKS_MOST);
	for (unsigned i = 0; i < c->o.more_n; i++)
		out[i + 1] = c->o.more[i];
	return c->o.more_n + 1;
}

/* All are visited at once. */
static void
visit_all(struct cache *c, const struct cache_disk *to, struct found *all, unsigned n)
{
	int64_t still_ms = c->o.still_ms;
	for (unsigned i = 0; i < n; i++)
		all[i].visit = directory_visit_begin(c, &to[i], false);
	for (unsigned i = 0; i < n; i++) {
		struct found *f = &all[i];
		f->stands = !directory_visit_wait(f->visit, still_ms);
		if (f->stands) { /* and the others had as long */
			still_ms = c->o.still_ms / 4;
			f->result = -1;
			f->error = ETIMEDOUT;
			snprintf(f->err, sizeof f->err,
				 "cache directory %s does not answer (the disk hangs)", to[i].dir);
		} else {
			f->result = f->visit->result;
			f->error = f->visit->error;
			snprintf(f->err, sizeof f->err, "%s", f->visit->err);
		}
	}
}

/* The others know that this disk belonged to the cache, but its directory has nothing of it. True: it is on the root
 * file system, where not all of them are. */
static bool
is_unmounted(const struct cache_disk *to, const struct found *all, unsigned n, unsigned at)
{
	const struct disk *d = &all[at].visit->d;
	uint32_t name = 0;
	bool known = false, elsewhere = false;
	for (unsigned i = 0; i < n; i++)
		name += purge_log_name(to[i].dir);
	for (unsigned i = 0; i < n; i++) {
		struct purge_head head;
		if (i == at || all[i].result != 0)
			continue;
		known |= purge_log_look(all[i].visit->d.dir_fd, &head) && head.disks == name;
		elsewhere |= !directory_is_at_root(&all[i].visit->d);
	}
	if (!known || directory_has_seed(d))
		return false;
	if (elsewhere && directory_is_at_root(d))
		return true;
	log_warning(
		"cache %s: it is empty, though a disk of this cache was there. If a file system is to be "
		"mounted there, mount it and restart",
		d->dir);
	return false;
}

/* It is left as it was found. */
static void
leave_unmounted(struct found *f)
{
	const struct disk *d = &f->visit->d;
	f->result = -1;
	f->error = ENODEV;
	snprintf(
		f->err, sizeof f->err,
		"cache directory %s is empty and on the root file system, though a disk of this cache "
		"was there: mount that disk (or put an empty file \"seed\" there to use what is there)",
		d->dir);
	unlinkat(d->dir_fd, "lock", 0);
	rmdir(d->dir);
	directory_close(&f->visit->d);
}

/* The device is dead, or its file system has become read-only. What an operator must mend in the configuration is
 * none of these. */
static bool
may_come_back(int error)
{
	return error == EIO || error == EROFS || error == ENXIO || error == ENODEV ||
	       error == ENOTCONN || error == ESTALE || error == EUCLEAN || error == ETIMEDOUT;
}

/* One of several that cannot be used is left out, but for one that somebody else uses; all of them, if they may come
 * back and are not required. */
static int
judge(const struct cache *c, const struct found *all, unsigned n, char *err, size_t err_bytes)
{
	bool any = false, may = !c->o.required, hangs = false;
	unsigned inherited = 0;
	for (unsigned i = 0; i < n; i++) {
		const struct found *f = &all[i];
		if (f->result != 0)
			snprintf(err, err_bytes, "%s", f->err);
		if (f->result == -2)
			return -1;
		any |= f->result == 0;
		may &= f->result == 0 || may_come_back(f->error);
		hangs |= f->stands;
		inherited += !f->stands && f->visit->inherits;
	}
	/* The process before uses it: this is no time to do without. */
	if (hangs && inherited < c->o.locks_n)
		return -1;
	return any || may ? 0 : -1;
}

static void
leave_out(struct cache *c, const struct cache_disk *to, struct found *f, bool alone)
{
	struct away *a = &c->lost.away[c->lost.away_n++];
	*a = (struct away){.dir = mem_strdup(to->dir), .bytes = to->bytes};
	if (alone)
		log_error(
			"%s. The cache is in RAM only, and purges are not durable, until the directory can be "
			"used again; with cache.required: true nothing starts without it",
			f->err);
	else
		log_warning("%s. The other disks are used without it", f->err);
	if (f->stands) {
		a->visit = f->visit;
		f->visit = NULL;
	}
}

static int
open_disks(struct cache *c, char *err, size_t err_bytes)
{
	struct cache_disk to[CACHE_DISKS_MOST];
	struct found *all = mem_zalloc(CACHE_DISKS_MOST * sizeof *all);
	unsigned n = configured(c, to), used = 0;
	visit_all(c, to, all, n);
	for (unsigned i = 0; i < n; i++)
		if (all[i].result == 0 && is_unmounted(to, all, n, i))
			leave_unmounted(&all[i]);
	int r = judge(c, all, n, err, err_bytes);
	for (unsigned i = 0; i < n && r == 0; i++)
		used += all[i].result == 0;
	for (unsigned i = 0; i < n; i++) {
		if (r == 0 && all[i].result == 0) {
			c->disks[c->disks_n++] = all[i].visit->d;
			all[i].visit->d = (struct disk){.dir_fd = -1, .lock_fd = -1};
		} else if (r == 0) {
			leave_out(c, &to[i], &all[i], used == 0);
		}
		directory_visit_end(&all[i].visit);
	}
	atomic_store(&c->lost.left_out, c->lost.away_n);
	free(all);
	return r;
}

/* From here on nobody trusts what lies there. */
static void
distrust(const struct disk *d)
{
	struct purge_log log = {.ops = &diskio_system, .dir_fd = d->dir_fd, .fd = -1};
	purge_log_remove(&log);
}

/* A process that takes the directory over must not empty it: the other one still uses it. */
static int
refuse_other_seed(const struct cache *c, const char *dir, char *err, size_t err_bytes)
{
	if (!c->o.seed || !c->o.rests)
		return 0;
	snprintf(
		err, err_bytes,
		"cache directory %s has another seed than that of the fleet's secret; restart, which "
		"empties it",
		dir);
	return -1;
}

/* All disks have the seed that is given, or that of the first one that has any. */
static int
share_seed(struct cache *c, char *random, char *err, size_t err_bytes)
{
	char own[SEED_RANDOM];
	bool has[CACHE_DISKS_MOST], any = c->o.seed != NULL;
	if (any)
		memcpy(random, c->o.seed, SEED_RANDOM);
	for (unsigned i = 0; i < c->disks_n; i++) {
		has[i] = read_seed(&c->disks[i], own);
		if (has[i] && any && memcmp(own, random, sizeof own) != 0) {
			if (refuse_other_seed(c, c->disks[i].dir, err, err_bytes))
				return -1;
			log_warning("cache %s: it belonged to another %s: starting empty",
				    c->disks[i].dir,
				    c->o.seed ? "cache than that of this fleet" : "cache");
			has[i] = false;
			distrust(&c->disks[i]);
		}
		if (has[i] && !any)
			memcpy(random, own, sizeof own);
		any |= has[i];
	}
	if (!any)
		fill_random(random, SEED_RANDOM);
	for (unsigned i = 0; i < c->disks_n; i++)
		if (!has[i] && write_seed(&c->disks[i], random, err, err_bytes) != 0)
			return -1;
	return 0;
}

/* The small files lie there. */
static void
use_first(struct cache *c)
{
	c->dir_fd = c->disks[0].dir_fd;
	atomic_store(&c->dir, c->disks[0].dir);
}

int
files_open(struct cache *c, char *err, size_t err_bytes)
{
	char *random = c->lost.random;
	static_assert(sizeof c->lost.random == SEED_RANDOM, "all of it");
	if (c->o.dir && open_disks(c, err, err_bytes) != 0)
		return -1;
	c->o.locks_n = 0; /* whoever sent them had them for this alone */
	if (c->disks_n)
		use_first(c);
	if (share_seed(c, random, err, err_bytes) != 0)
		return -1;
	c->o.seed = NULL; /* it was lent for this alone */
	twice_seed_init(&c->seed, random, SEED_RANDOM);
	return 0;
}

bool
cache_has_lock(const struct cache *c, unsigned disk)
{
	struct stat st;
	return fstat(c->disks[disk].lock_fd, &st) != 0 || st.st_nlink > 0;
}

int
files_join(struct cache *c, struct disk *d)
{
	char err[DIRECTORY_TEXT];
	distrust(d);
	d->must_empty = true;
	if (write_seed(d, c->lost.random, err, sizeof err) == 0)
		return 0;
	log_warning("%s", err);
	return -1;
}

void
files_joined(struct cache *c)
{
	if (c->disks_n == 1)
		use_first(c);
}

void
files_close(struct cache *c)
{
	for (unsigned i = 0; i < c->lost.away_n; i++) {
		directory_visit_end(&c->lost.away[i].visit);
		free(c->lost.away[i].dir);
	}
	c->lost.away_n = 0;
	for (unsigned i = 0; i < c->disks_n; i++)
		directory_close(&c->disks[i]);
}
