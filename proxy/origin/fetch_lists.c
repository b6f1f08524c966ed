/* fetch_lists.c - the list of the run event, and the structs that come and go. */
#include "proxy/base/mem.h"
#include "proxy/origin/fetch_inside.h"

#include <event2/event.h>
#include <stdlib.h>

/* Ended fetches kept for the next ones, and the bytes each may keep. */
enum { SPARE_MAX = 64, SPARE_BYTES = 40 << 10 };

void
fetch_todo_add(struct fetch *f)
{
	struct fetcher *fr = f->site->fetcher;
	if (f->listed)
		return;
	f->listed = true;
	TAILQ_INSERT_TAIL(&fr->todo, f, todo_link);
	if (fr->todo_count++ == 0)
		event_active(fr->run, 0, 0);
}

void
fetch_todo_remove(struct fetch *f)
{
	if (!f->listed)
		return;
	f->listed = false;
	TAILQ_REMOVE(&f->site->fetcher->todo, f, todo_link);
	f->site->fetcher->todo_count--;
}

struct fetch *
fetch_new(struct fetcher *fr)
{
	struct fetch *f = TAILQ_FIRST(&fr->spare);
	if (f) {
		TAILQ_REMOVE(&fr->spare, f, link);
		fr->spare_count--;
	} else {
		f = NEW(struct fetch);
	}
	struct buf out = f->out, held = f->held;
	struct reply reply = f->reply;
	out.n = held.n = 0;
	*f = (struct fetch){.out = out,
			    .held = held,
			    .reply = reply,
			    .asks = ASK_STARTED,
			    .hears = HEAR_SILENT};
	return f;
}

static void
fetch_free(struct fetch *f)
{
	buf_fini(&f->out);
	buf_fini(&f->held);
	reply_fini(&f->reply);
	free(f);
}

void
fetch_spare(struct fetch *f)
{
	struct fetcher *fr = f->site->fetcher;
	if (fr->spare_count >= SPARE_MAX || f->out.cap + f->held.cap > SPARE_BYTES) {
		fetch_free(f);
		return;
	}
	TAILQ_INSERT_HEAD(&fr->spare, f, link);
	fr->spare_count++;
}

void
fetch_spare_free(struct fetcher *fr)
{
	struct fetch *f;
	while ((f = TAILQ_FIRST(&fr->spare))) {
		TAILQ_REMOVE(&fr->spare, f, link);
		fetch_free(f);
	}
}
