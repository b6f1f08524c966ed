/* chronicle.c - a report a second; a file in, a file out. */
#include "proxy/node/chronicle.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_files.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct chronicle {
	struct history *history;
	struct judge *judge;
	struct cache *cache;
	void (*report)(void *ctx, struct report *out); /* NULL: it has not begun */
	void *ctx;
	struct report last;
	bool fails; /* the last save did, and a warning was written */
};

static const char FILE_NAME[] = "history";

static void
restore(struct history *h, struct cache *c)
{
	struct buf bytes = {0};
	const char *why;
	if (!cache_read_file(c, FILE_NAME, HISTORY_SNAPSHOT_MOST, &bytes, &why))
		return;
	if (!why)
		why = history_load(h, twice_seed_fingerprint(cache_seed(c)), buf_str(&bytes));
	if (why)
		log_warning("cache %s: the history of this node is ignored (%s): its lines and its "
			    "totals begin anew",
			    cache_directory(c), why);
	buf_fini(&bytes);
}

struct chronicle *
chronicle_create(struct cache *c)
{
	struct chronicle *ch = NEW(struct chronicle);
	ch->history = history_create(now_s());
	ch->judge = judge_create(now_s());
	ch->cache = c;
	restore(ch->history, c);
	return ch;
}

void
chronicle_destroy(struct chronicle **ch)
{
	if (!*ch)
		return;
	history_destroy(&(*ch)->history);
	judge_destroy(&(*ch)->judge);
	free(*ch);
	*ch = NULL;
}

struct history *
chronicle_history(struct chronicle *ch)
{
	return ch->history;
}

struct judge *
chronicle_judge(struct chronicle *ch)
{
	return ch->judge;
}

void
chronicle_begin(struct chronicle *ch, void (*report)(void *ctx, struct report *out), void *ctx)
{
	assert(!ch->report && report);
	ch->report = report;
	ch->ctx = ctx;
	chronicle_tick(ch);
}

void
chronicle_tick(struct chronicle *ch)
{
	assert(ch->report); /* chronicle_begin was called */
	ch->report(ch->ctx, &ch->last);
	history_add(ch->history, &ch->last, now_s(), now_us());
}

static int
fill(int (*write)(void *, const void *, size_t), void *to, void *ctx)
{
	const struct buf *bytes = ctx;
	return write(to, bytes->p, bytes->n);
}

/* error: 0, or why it was not. Said when that changes; what could not be saved is saved next time. */
static void
on_saved(struct chronicle *ch, int error)
{
	if (error == ENOTDIR) /* RAM alone */
		return;
	if (error)
		history_unsaved(ch->history);
	if (error && !ch->fails)
		log_warning(
			"cache %s: cannot save the history of this node: %s; after a restart its "
			"lines and totals end where they were saved last",
			cache_directory(ch->cache), strerror(error));
	if (!error && ch->fails)
		log_info("cache %s: the history of this node is saved again",
			 cache_directory(ch->cache));
	ch->fails = error != 0;
}

void
chronicle_save(struct chronicle *ch)
{
	struct buf bytes = {0};
	if (!ch->report)
		return;
	chronicle_tick(ch);
	if (history_save(ch->history, twice_seed_fingerprint(cache_seed(ch->cache)), &bytes))
		on_saved(ch, cache_save_file(ch->cache, FILE_NAME, fill, &bytes) == 0 ? 0 : errno);
	else if (errno)
		on_saved(ch, errno);
	buf_fini(&bytes);
}
