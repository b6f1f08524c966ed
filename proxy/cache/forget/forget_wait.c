/* forget_wait.c - waiting until what was forgotten is durable, and being told that it is not. */
#include "proxy/cache/forget/forget_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"

/* Nothing is served from the directories until they have what was forgotten: which of them hangs? */
static void
warn_of_late(const struct forget *f)
{
	static const char then[] = "Purges hold as long as this process runs; nothing is served "
				   "from the directory until it comes back";
	bool told = false;
	for (unsigned i = 0; i < f->disks_n; i++) {
		const struct forget_disk *d = &f->disks[i];
		int64_t since = atomic_load(&d->since_ms);
		if (!since)
			continue;
		log_warning("cache %s: a write to its purge log has taken %.1f s so far. %s; check "
			    "the disk (dmesg, smartctl)",
			    d->place.dir, (double)(now_ms() - since) / 1000, then);
		told = true;
	}
	if (!told)
		log_warning("cache %s: its purge log is behind by more than %d s, %s. %s", f->o.dir,
			    FORGET_LIMIT_MS / 1000,
			    f->heir ? "for the process that writes it now does not answer"
				    : "though no disk is being written to",
			    then);
}

/* Under the lock: somebody is told that what was forgotten then is not durable, for it still hangs; or
 * because a successor has yet to begin, which is no fault of the disk.
 */
static void
be_late(struct forget *f, uint64_t at)
{
	if (f->resting)
		return;
	f->late_at = at > f->late_at ? at : f->late_at;
	if (!atomic_exchange(&f->late, true))
		warn_of_late(f);
}

/* Under the lock: while the logs rested the disk had nothing to do, and is not late for that. */
static int64_t
waits_since(const struct forget *f, int64_t asked_ms)
{
	return !f->resting && f->works_ms > asked_ms ? f->works_ms : asked_ms;
}

int
forget_wait(struct forget *f, uint64_t at)
{
	int64_t asked_ms = now_ms(), left;
	if (!f->disks_n)
		return f->o.left_out_n ? -1 : 0;
	pthread_mutex_lock(&f->lock);
	while (f->durable < at && f->tried < at &&
	       (left = waits_since(f, asked_ms) + FORGET_LIMIT_MS - now_ms()) > 0) {
		struct timespec until = now_and_ms((unsigned)left);
		pthread_cond_timedwait(&f->done, &f->lock, &until);
	}
	bool durable = f->durable >= at;
	if (!durable && f->tried < at)
		be_late(f, at);
	pthread_mutex_unlock(&f->lock);
	return durable ? 0 : -1;
}

static void
open_letter(struct letter *letter)
{
	struct forget_letter *l = (struct forget_letter *)letter;
	l->done(l);
}

void
forget_tell(struct forget *f, struct forget_letter *l, uint64_t at)
{
	l->letter.open = open_letter;
	l->at = at;
	l->since_ms = now_ms();
	pthread_mutex_lock(&f->lock);
	bool now = !f->disks_n || f->tried >= at;
	l->durable = f->disks_n ? f->durable >= at : f->o.left_out_n == 0;
	if (!now) {
		l->next = f->letters;
		f->letters = l;
	}
	pthread_mutex_unlock(&f->lock);
	if (now)
		mailbox_post(l->home, &l->letter);
}

void
forget_give_up(struct forget *f, int64_t before_ms)
{
	pthread_mutex_lock(&f->lock);
	for (struct forget_letter **p = &f->letters, *l; (l = *p);) {
		if (waits_since(f, l->since_ms) >= before_ms) {
			p = &l->next;
			continue;
		}
		*p = l->next;
		be_late(f, l->at);
		mailbox_post(l->home, &l->letter); /* not durable, as forget_tell found */
	}
	pthread_mutex_unlock(&f->lock);
}
