/* forget.c - forgetting; how the tables are made, from the log, and ended. */
#include "proxy/cache/forget/forget_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/cache/store/diskio.h"
#include "proxy/cache/store/segment.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const uint64_t READ_MOST = 256 << 20, MEMORY_ENTRIES = 1 << 18;

/* ---- forgetting ---------------------------------------------------------------------------- */

/* Under the lock. Who takes the directory over, or has it, is told at once. */
static void
add(struct forget *f, const struct purge_entry *e, uint32_t host, enum forget_cause cause)
{
	forget_enter(f, e, host, cause != FORGET_PASSING);
	if (cause == FORGET_PASSING || !(f->disks_n || f->resting || f->heir))
		return;
	if (cause == FORGET_GATHERED && !f->resting && !f->heir) {
		if (f->queue.gathered.n == 0)
			f->queue.gathered_ms = now_ms() + FORGET_GATHER_MS;
		if (f->queue.gathered.n < forget_unordered_room(f))
			forget_pend(&f->queue.gathered, e);
		else
			f->queue.beyond = true;
		return;
	}
	forget_pend(&f->queue.pending, e);
	f->lasting_at = e->at;
}

/* The entry, and the host of what is a URL or a prefix; 0: it is none. */
struct wish {
	struct purge_entry e;
	uint32_t host;
	enum forget_cause cause;
};

static struct wish
wish_of(const struct forget *f, enum forget_kind kind, struct twice_key_hash hash, struct str key,
	enum forget_cause cause, bool soft)
{
	struct wish w = {.cause = cause};
	struct purge_entry e = {.kind = (uint8_t)kind, .hash = forget_name(f, kind, hash, key)};
	bool unordered = cause == FORGET_GATHERED || cause == FORGET_AT_ONCE;
	assert(kind != FORGET_PREFIX || (key.n && key.n < PURGE_PREFIX_MOST));
	if (kind == FORGET_PREFIX)
		e.prefix_bytes = (uint16_t)key.n;
	if (unordered && (kind == FORGET_URL || kind == FORGET_KEY))
		e.flags = FORGET_UNORDERED;
	else if (kind == FORGET_URL || kind == FORGET_PREFIX)
		w.host = e.host = forget_host_of(f, key);
	if (soft) {
		e.flags = FORGET_SOFT;
		e.when_s = (uint32_t)now_s();
		e.hash = forget_softly(e.hash);
	}
	w.e = e;
	return w;
}

/* Before the prefix itself, so that whoever finds the prefix in the log has its host too. */
static void
add_prefix_host(struct forget *f, const struct wish *prefix, struct str url)
{
	struct purge_entry host = prefix->e;
	host.kind = FORGET_PREFIX_HOST;
	host.prefix_bytes = 0;
	host.hash = forget_prefix_host(f, url);
	if (host.flags & FORGET_SOFT)
		host.hash = forget_softly(host.hash);
	add(f, &host, prefix->host, prefix->cause);
}

/* Under the lock. The thread that has begun to gather looks at the clock by itself. */
static void
signal_work(struct forget *f)
{
	if (f->queue.pending.n || f->queue.gathered.n == 1 || f->crowded)
		pthread_cond_signal(&f->work);
}

uint64_t
forget_inherit(struct forget *f, const struct purge_entry *list, size_t n)
{
	pthread_mutex_lock(&f->lock);
	uint64_t at = forget_now(f);
	for (size_t i = 0; i < n; i++) {
		struct purge_entry e = forget_of_now(&list[i]);
		e.at = at + 1;
		add(f, &e, e.flags & FORGET_SOFT ? 0 : e.host, FORGET_ORDERED);
		if (e.kind == FORGET_PREFIX_HOST)
			continue; /* of one time with the prefix behind it, and not known without that */
		atomic_store_explicit(&f->newest, ++at, memory_order_release);
		forget_mind_the_bound(f, at);
	}
	signal_work(f);
	forget_check(f);
	pthread_mutex_unlock(&f->lock);
	return at;
}

/* Under the lock. */
static uint64_t
add_now(struct forget *f, struct wish *w, struct str key)
{
	w->e.at = forget_now(f) + 1;
	if (w->e.kind == FORGET_PREFIX)
		add_prefix_host(f, w, key);
	add(f, &w->e, w->host, w->cause);
	atomic_store_explicit(&f->newest, w->e.at, memory_order_release);
	forget_mind_the_bound(f, w->e.at);
	signal_work(f);
	forget_check(f);
	return w->e.at;
}

uint64_t
forget_add_own(struct forget *f, enum forget_kind kind, const struct forget_thing *o,
	       enum forget_cause cause, uint64_t since, bool *was_clean)
{
	struct wish w = wish_of(f, kind, o->hash, o->key, cause, false);
	uint64_t now;
	pthread_mutex_lock(&f->lock);
	*was_clean = !forget_covers_fetch(f, o, since, &now);
	uint64_t at = add_now(f, &w, o->key);
	pthread_mutex_unlock(&f->lock);
	return at;
}

uint64_t
forget_add(struct forget *f, enum forget_kind kind, struct twice_key_hash hash, struct str key,
	   enum forget_cause cause)
{
	struct forget_thing o = {.hash = hash, .key = key};
	bool ignored;
	return forget_add_own(f, kind, &o, cause, UINT64_MAX, &ignored);
}

uint64_t
forget_add_softly(struct forget *f, enum forget_kind kind, struct str key)
{
	struct wish w = wish_of(f, kind, (struct twice_key_hash){0}, key, FORGET_ORDERED, true);
	assert(kind != FORGET_KEY);
	pthread_mutex_lock(&f->lock);
	uint64_t at = add_now(f, &w, key);
	pthread_mutex_unlock(&f->lock);
	return at;
}

/* ---- life ---------------------------------------------------------------------------------- */

static void
on_kept(void *ctx, const struct purge_entry *e)
{
	struct purge_entry now = forget_of_now(e);
	forget_enter(ctx, &now, now.flags & FORGET_SOFT ? 0 : now.host, true);
}

/* When the entries of a log were made, as it says. */
struct times {
	bool never; /* of one at least */
	uint64_t newest;
};

static void
note_time(void *ctx, const struct purge_entry *e)
{
	struct times *t = ctx;
	t->never |= !e->at;
	t->newest = e->at > t->newest ? e->at : t->newest;
}

/* Entries later than the start of this process would be in force for good, and a floor that is made
 * of one would lie ahead of the time. */
static bool
is_past(const struct times *t, const struct purge_head *head)
{
	return !t->never && t->newest >> FORGET_STARTS_SHIFT <= head->starts;
}

/* The bytes of a disk's log, which are the caller's to free, and what its head says. */
struct kept {
	char *p;
	size_t n;
	struct purge_head head; /* of a damaged one too, if its first page is right */
	bool is_read;
};

static enum forget_found
read_log(const struct forget *f, const struct forget_place *place, struct kept *k)
{
	struct stat s;
	struct times times = {0};
	int fd = openat(place->dir_fd, "purges", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? FORGET_MISSING : FORGET_LOST;
	k->is_read = fstat(fd, &s) == 0 && (uint64_t)s.st_size < READ_MOST &&
		     (k->p = malloc((size_t)s.st_size + 1)) &&
		     diskio_read_all(f->o.ops, fd, k->p, k->n = (size_t)s.st_size, 0) == 0;
	bool right = k->is_read && purge_log_parse(k->p, k->n, &k->head, note_time, &times) &&
		     k->head.fingerprint == twice_seed_fingerprint(f->o.seed) &&
		     k->head.starts > 0 && k->head.starts + 1 < FORGET_STARTS_MOST &&
		     is_past(&times, &k->head);
	close(fd);
	return right ? FORGET_KEPT : FORGET_LOST;
}

/* The entries of a log that is right and not behind are in force: each such log has all there is,
 * but for its last ones. False: they contradict themselves. */
static bool
take_over(struct forget *f, const struct kept *k)
{
	struct purge_head head;
	purge_log_parse(k->p, k->n, &head, on_kept, f);
	forget_raise_floor(f, head.floor);
	f->starts = head.starts > f->starts ? head.starts : f->starts;
	return atomic_load(&f->floor) >> FORGET_STARTS_SHIFT <= f->starts;
}

/* The newest epoch, also of a damaged log. False: one is so damaged that it says no epoch, and the
 * others may be behind it. */
static bool
find_epoch(struct forget *f, const struct kept *kept)
{
	bool yes = true;
	for (unsigned i = 0; i < f->disks_n; i++) {
		if (kept[i].head.epoch > f->epoch)
			f->epoch = kept[i].head.epoch;
		if (kept[i].is_read && !kept[i].head.starts)
			yes = false;
	}
	return yes;
}

static enum forget_found
read_logs(struct forget *f)
{
	struct kept kept[FORGET_PLACES_MOST] = {{0}};
	bool sane = true, any = false, same = f->o.left_out_n == 0;
	for (unsigned i = 0; i < f->disks_n; i++)
		f->disks[i].found = read_log(f, &f->disks[i].place, &kept[i]);
	sane = find_epoch(f, kept);
	for (unsigned i = 0; i < f->disks_n; i++) {
		struct forget_disk *d = &f->disks[i];
		if (d->found == FORGET_KEPT && kept[i].head.epoch < f->epoch)
			d->found = FORGET_BEHIND;
		if (d->found != FORGET_KEPT)
			continue;
		any = true;
		same = same && kept[i].head.disks == f->name;
		sane = sane && take_over(f, &kept[i]);
	}
	for (unsigned i = 0; i < f->disks_n; i++) {
		free(kept[i].p);
		if (!sane)
			f->disks[i].found = FORGET_LOST;
	}
	/* A disk that is not here now is behind when it comes back. */
	if (!same)
		f->epoch++;
	return any && sane ? FORGET_KEPT : f->disks[0].found;
}

static void
add_disk(struct forget *f, struct forget_place place)
{
	struct forget_disk *d = &f->disks[f->disks_n++];
	d->place = place;
	d->log = (struct purge_log){.ops = f->o.ops, .dir_fd = place.dir_fd, .fd = -1};
	if (place.dir) /* in whatever order they are given */
		f->name += purge_log_name(place.dir);
}

/* Half-read logs say nothing. */
static void
start_anew(struct forget *f)
{
	forget_table_destroy(&f->table);
	forget_table_create(&f->table);
	forget_hints_fini(&f->hints);
	forget_hints_init(&f->hints, f->max_entries);
	atomic_store(&f->floor, 0);
	atomic_store(&f->fetch_floor, 0);
	f->starts = 0;
}

static void
init_conditions(struct forget *f)
{
	clock_condition_init(&f->work);
	clock_condition_init(&f->done);
	pthread_mutex_init(&f->lock, NULL);
}

enum forget_found
forget_open(struct forget **out, const struct forget_options *o)
{
	struct forget *f = aligned_alloc(64, (sizeof *f + 63) / 64 * 64);
	if (!f)
		abort();
	memset(f, 0, sizeof *f);
	f->o = *o;
	if (!f->o.ops)
		f->o.ops = &diskio_system;
	f->max_entries = MEMORY_ENTRIES;
	if (o->log_bytes)
		f->max_entries = o->log_bytes / (2 * PURGE_PAGE) * PURGE_PER_PAGE / 4 * 3;
	for (unsigned i = 0; i < o->left_out_n; i++)
		f->name += purge_log_name(o->left_out[i]);
	if (o->dir_fd >= 0) {
		assert(o->more_n < FORGET_PLACES_MOST);
		add_disk(f, (struct forget_place){o->dir_fd, o->dir});
		for (unsigned i = 0; i < o->more_n; i++)
			add_disk(f, o->more[i]);
	}
	init_conditions(f);
	forget_table_create(&f->table);
	forget_hints_init(&f->hints, f->max_entries);
	enum forget_found found = f->disks_n ? read_logs(f) : FORGET_KEPT;
	if (found != FORGET_KEPT)
		start_anew(f);
	f->starts++;
	f->durable = f->tried = f->starts << FORGET_STARTS_SHIFT;
	atomic_store(&f->newest, f->durable);
	atomic_store(&f->sound, f->disks_n == 0);
	atomic_store(&f->disks[0].sound, f->disks_n == 0);
	*out = f;
	return found;
}

enum forget_found
forget_found_at(const struct forget *f, unsigned disk)
{
	return f->disks[disk].found;
}

int
forget_begin(struct forget *f, uint64_t (*oldest)(void *ctx), void *ctx)
{
	f->oldest = oldest;
	f->oldest_ctx = ctx;
	if (f->disks_n) {
		forget_drop_outlived(f);
		if (forget_is_crowded(f, 3))
			forget_shed(f);
		atomic_store(&f->sound, true); /* so that a failure is told */
		for (unsigned i = 0; i < f->disks_n; i++)
			atomic_store(&f->disks[i].sound, true);
		forget_write_anew(f);
	}
	f->has_thread = pthread_create(&f->thread, NULL, forget_run, f) == 0;
	return f->has_thread ? 0 : -1;
}

void
forget_join(struct forget *f, const struct forget_place *place)
{
	pthread_mutex_lock(&f->lock);
	unsigned n = f->disks_n;
	assert(n < FORGET_PLACES_MOST && !f->resting && !f->heir && f->o.log_bytes);
	struct forget_disk *d = &f->disks[n];
	/* Its store is open already, and asks whether it is sound. */
	atomic_store(&d->sound, false);
	d->place = *place;
	d->log = (struct purge_log){.ops = f->o.ops, .dir_fd = place->dir_fd, .fd = -1};
	if (n == 0) {
		f->o.dir = place->dir;
		atomic_store(&f->sound, false);
	}
	atomic_store(&f->disks_n, n + 1);
	pthread_cond_signal(&f->work);
	pthread_mutex_unlock(&f->lock);
}

void
forget_stop(struct forget *f)
{
	if (!f || !f->has_thread)
		return;
	pthread_mutex_lock(&f->lock);
	f->stopping = true;
	pthread_cond_broadcast(&f->work);
	pthread_mutex_unlock(&f->lock);
	pthread_join(f->thread, NULL);
	f->has_thread = false;
}

void
forget_close(struct forget **pf)
{
	struct forget *f = *pf;
	*pf = NULL;
	if (!f)
		return;
	forget_stop(f);
	for (unsigned i = 0; i < f->disks_n; i++)
		purge_log_close(&f->disks[i].log);
	forget_table_destroy(&f->table);
	forget_hints_fini(&f->hints);
	pthread_cond_destroy(&f->work);
	pthread_cond_destroy(&f->done);
	pthread_mutex_destroy(&f->lock);
	free(f->queue.pending.of);
	free(f->queue.gathered.of);
	free(f);
}

uint64_t
forget_most(const struct forget *f)
{
	return f->max_entries;
}

bool
forget_is_sound_at(const struct forget *f, unsigned disk)
{
	return atomic_load_explicit(&f->disks[disk].sound, memory_order_relaxed) &&
	       !atomic_load_explicit(&f->late, memory_order_relaxed);
}

void
forget_stats(struct forget *f, struct forget_stats *out)
{
	*out = (struct forget_stats){
		.now = forget_now(f),
		.shed = atomic_load(&f->shed),
		.written_bytes = atomic_load(&f->written),
		.sound = atomic_load(&f->sound) && !atomic_load(&f->late),
	};
	for (unsigned i = 0; i < f->disks_n; i++)
		out->log_bytes += atomic_load(&f->disks[i].log_bytes);
	uint64_t ordered = forget_table_count(f->table, FORGET_CLASS_ORDERED);
	out->lasting = ordered + forget_table_count(f->table, FORGET_CLASS_UNORDERED);
	out->passing = forget_table_count(f->table, FORGET_CLASS_PASSING);
	out->room = f->max_entries > ordered ? f->max_entries - ordered : 0;
	out->merged = atomic_load(&f->merged);
}
