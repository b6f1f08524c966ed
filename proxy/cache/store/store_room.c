/* store_room.c - the job that keeps free segments at hand, on a reading thread. */
#include "proxy/cache/store/store_inside.h"

#include <sys/stat.h>
#include <unistd.h>

static bool
wants_free(struct store *st)
{
	pthread_mutex_lock(&st->lock);
	bool yes = store_wants_segment(st);
	st->preparing = yes;
	pthread_mutex_unlock(&st->lock);
	return yes;
}

/* Earnings have faded: so do the hits that pay them. */
static void
fade(struct store *st)
{
	pthread_mutex_lock(&st->lock);
	bool yes = st->faded != ledger_fades(&st->ledger);
	st->faded = ledger_fades(&st->ledger);
	pthread_mutex_unlock(&st->lock);
	if (yes)
		index_fade(st->index);
}

void
store_prepare(struct diskio_job *j)
{
	struct store *st = (struct store *)((char *)j - offsetof(struct store, prepare));
	fade(st);
	while (wants_free(st)) {
		if (store_free_one(st))
			continue;
		pthread_mutex_lock(&st->lock);
		st->preparing = false; /* tick asks again */
		pthread_mutex_unlock(&st->lock);
		return;
	}
}

/* A deleted file takes room for as long as it is open. The descriptor stays: a worker may be sending from it. */
void
store_give_back(struct store *st)
{
	struct stat is;
	for (uint32_t i = 0; i < st->ledger.slots_n; i++) {
		int fd = atomic_load(&st->slots.fds[i]);
		if (fd >= 0 && fstat(fd, &is) == 0 && is.st_nlink == 0)
			(void)!ftruncate(fd, 0);
	}
}
