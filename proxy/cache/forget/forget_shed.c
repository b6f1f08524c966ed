/* forget_shed.c - more than is kept apart: purges of a host become one for the host; the older half goes. */
#include "proxy/cache/forget/forget_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"

#include <stdlib.h>

/* ---- merging -------------------------------------------------------------------------------- */

/* The ordered URLs and prefixes of a host. */
struct share {
	uint32_t host;
	bool is_soft; /* all are */
	uint64_t newest;
	size_t n;
};

static int
by_size(const void *pa, const void *pb)
{
	const struct share *a = pa, *b = pb;
	return a->n > b->n ? -1 : a->n < b->n;
}

/* Of a sorted list of hosts; the caller frees the shares. The largest is first. */
static size_t
count_shares(const struct forget_hosted *list, size_t n, struct share **out)
{
	struct share *v = calloc(n + 1, sizeof *v);
	size_t shares = 0;
	for (size_t i = 0; v && i < n; i++) {
		const struct forget_hosted *one = &list[i];
		if (!shares || v[shares - 1].host != one->host)
			v[shares++] = (struct share){.host = one->host, .is_soft = true};
		struct share *s = &v[shares - 1];
		s->n++;
		s->is_soft &= one->is_soft;
		s->newest = one->at > s->newest ? one->at : s->newest;
	}
	if (shares)
		qsort(v, shares, sizeof *v, by_size);
	*out = v;
	return shares;
}

/* Its time is that of the newest that it stands for: who was found clean as of then asked for them. */
static void
forget_host(struct forget *f, const struct share *s)
{
	struct purge_entry e = {
		.at = s->newest, .kind = FORGET_HOST, .hash = forget_host_key(s->host)};
	if (s->is_soft) {
		e.flags = FORGET_SOFT;
		e.when_s = (uint32_t)now_s();
		e.hash = forget_softly(e.hash);
	}
	pthread_mutex_lock(&f->lock);
	forget_enter(f, &e, 0, true);
	pthread_mutex_unlock(&f->lock);
}

/* Ordered entries become fewer, down to half of their room. False: no host has many of them. */
static bool
merge(struct forget *f)
{
	enum { WORTH = 16 }; /* entries of a host */
	uint64_t upto = forget_now(f);
	struct forget_hosted *list;
	struct share *shares;
	size_t n = forget_table_hosted(f->table, upto, &list), merged = 0, hosts = 0;
	size_t shares_n = count_shares(list, n, &shares);
	uint64_t there = forget_table_count(f->table, FORGET_CLASS_ORDERED);
	uint32_t *gone = calloc(shares_n + 1, sizeof *gone);
	free(list);
	for (size_t i = 0; gone && i < shares_n && shares[i].n >= WORTH; i++) {
		if (there - merged <= f->max_entries / 2)
			break;
		forget_host(f, &shares[i]);
		gone[hosts++] = shares[i].host;
		merged += shares[i].n;
	}
	if (hosts) {
		atomic_fetch_add(&f->merged, merged);
		forget_table_drop_hosts(f->table, upto, gone, hosts);
		forget_build_hints(f);
		/* The logs have all of them still, and a start that reads them does not know their hosts. */
		pthread_mutex_lock(&f->lock);
		f->anew |= f->disks_n && !f->heir && !f->resting;
		pthread_mutex_unlock(&f->lock);
		log_warning(
			"cache %s: more purges than are kept apart: %zu of URLs and prefixes "
			"became %zu of whole hosts; objects of those hosts that were stored before are "
			"fetched anew, or validated where all purges were soft. Purge by prefix, host or tag where many URLs are "
			"meant, or give the cache a larger disk",
			f->o.dir ? f->o.dir : "in memory", merged, hosts);
	}
	free(gone);
	free(shares);
	return hosts;
}

/* Once in a while: the room goes to its end. */
static void
warn_before(struct forget *f)
{
	pthread_mutex_lock(&f->lock);
	bool half = forget_is_beyond(f, FORGET_CLASS_ORDERED, 2), warns = half && !f->warned;
	if (half || !forget_is_beyond(f, FORGET_CLASS_ORDERED, 1))
		f->warned = half;
	pthread_mutex_unlock(&f->lock);
	if (warns)
		log_warning(
			"cache %s: %llu of %llu purges that can be kept apart are. Beyond three "
			"quarters, all purges of URLs of a host become one of the host. Purge by "
			"prefix, host or tag where many URLs are meant, or give the cache a "
			"larger disk",
			f->o.dir ? f->o.dir : "in memory",
			(unsigned long long)forget_table_count(f->table, FORGET_CLASS_ORDERED),
			(unsigned long long)f->max_entries);
}

/* ---- the older half ------------------------------------------------------------------------- */

/* The time of the middle one of so many entries. */
static uint64_t
median(struct purge_entry *list, size_t n)
{
	qsort(list, n, sizeof *list, forget_by_time);
	return n ? list[n / 2].at : 0;
}

/* Are all up to a time soft? They are in order. *since_s: of the earliest one. */
static bool
are_soft(const struct purge_entry *list, size_t n, uint64_t upto, uint32_t *since_s)
{
	*since_s = UINT32_MAX;
	for (size_t i = 0; i < n && list[i].at <= upto; i++) {
		if (!(list[i].flags & FORGET_SOFT))
			return false;
		*since_s = list[i].when_s < *since_s ? list[i].when_s : *since_s;
	}
	return true;
}

/* All that is not clean as of then is stale: instead of all entries up to then. The entry's own time is one
 * later, so that it outlives them. */
static void
everything_is_stale(struct forget *f, uint64_t upto, uint32_t since_s)
{
	struct purge_entry e = forget_all_softly(upto + 1, since_s);
	pthread_mutex_lock(&f->lock);
	forget_enter(f, &e, 0, true);
	pthread_mutex_unlock(&f->lock);
}

/* The older half of a class goes. */
static void
shed_half(struct forget *f, enum forget_class class)
{
	struct purge_entry *list;
	size_t n = forget_table_list(f->table, class, &list);
	uint64_t upto = median(list, n);
	uint64_t up_to[FORGET_CLASSES] = {[FORGET_CLASS_PASSING] = upto};
	uint32_t since_s = (uint32_t)now_s();
	bool soft = upto < forget_now(f) &&
		    (class == FORGET_CLASS_UNORDERED || are_soft(list, n, upto, &since_s));
	free(list);
	forget_raise_fetch_floor(f, upto);
	if (class != FORGET_CLASS_PASSING) {
		if (soft)
			everything_is_stale(f, upto, since_s);
		else
			forget_raise_floor(f, upto);
		atomic_fetch_add(&f->shed, n / 2);
		log_warning("cache %s: more %s than are kept apart: objects that were stored "
			    "before the newest %zu of them are %s",
			    f->o.dir ? f->o.dir : "in memory",
			    class == FORGET_CLASS_ORDERED ? "purges"
							  : "requests that changed stored pages",
			    n - n / 2, soft ? "validated" : "fetched anew");
	}
	up_to[class] = upto;
	forget_table_drop(f->table, up_to);
	forget_build_hints(f);
}

/* Outlived entries go first, then the older half of each class of which there are too many. */
void
forget_shed(struct forget *f)
{
	uint64_t floor, fetch_floor;
	warn_before(f);
	if (!forget_is_crowded(f, 3))
		return;
	if (forget_is_beyond(f, FORGET_CLASS_UNORDERED, 2) ||
	    forget_is_beyond(f, FORGET_CLASS_ORDERED, 2)) /* else it was forgotten for fetches */
		forget_drop_outlived(f);
	floor = atomic_load(&f->floor);
	fetch_floor = atomic_load(&f->fetch_floor);
	forget_table_drop(f->table, (uint64_t[FORGET_CLASSES]){fetch_floor, floor, floor});
	while (forget_is_beyond(f, FORGET_CLASS_ORDERED, 3) && merge(f))
		continue;
	for (int class = 0; class < FORGET_CLASSES; class ++)
		if (forget_is_beyond(f, class, 3))
			shed_half(f, class);
}
