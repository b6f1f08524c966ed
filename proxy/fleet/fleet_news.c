/* fleet_news.c - purges of others go to whoever applies them, and come back when they are applied. */
#include "proxy/fleet/fleet_inside.h"

#include "proxy/base/mem.h"

#include <stdlib.h>

/* Where news are answered, as long as there is a fleet; whoever has news has a reference. */
struct desk {
	pthread_mutex_t lock;
	struct fleet *fleet; /* NULL: it has ended */
	unsigned users;
};

/* News on their way there and back. */
struct news {
	struct fleet_news news; /* first */
	struct letter letter;
	struct desk *desk;
	struct fleet *fleet; /* while the desk has it */
	fleet_applied_fn *done;
	void *ctx;
	bool durable;
};

static void
unref_desk(struct desk **pd)
{
	struct desk *d = *pd;
	*pd = NULL;
	pthread_mutex_lock(&d->lock);
	unsigned left = --d->users;
	pthread_mutex_unlock(&d->lock);
	if (left)
		return;
	pthread_mutex_destroy(&d->lock);
	free(d);
}

static void
end_news(struct news *n)
{
	unref_desk(&n->desk);
	buf_fini(&n->news.items);
	free(n);
}

static void
on_news_done(struct letter *l)
{
	struct news *n = (struct news *)((char *)l - offsetof(struct news, letter));
	n->done(n->fleet, n->ctx, n->durable);
	end_news(n);
}

void
fleet_news_done(struct fleet_news *news, bool durable)
{
	struct news *n = (struct news *)news;
	struct desk *d = n->desk;
	n->durable = durable;
	n->letter.open = on_news_done;
	pthread_mutex_lock(&d->lock);
	bool open = d->fleet != NULL;
	if (open)
		mailbox_post(&d->fleet->mailbox, &n->letter);
	pthread_mutex_unlock(&d->lock);
	if (!open)
		end_news(n);
}

void
fleet_news_tell(struct fleet *f, uint64_t from, struct str items, fleet_applied_fn *done, void *ctx)
{
	struct fleet_purges *p = &f->purges;
	struct news *n = NEW(struct news);
	*n = (struct news){
		.news.from = from, .desk = p->desk, .fleet = f, .done = done, .ctx = ctx};
	buf_add_str(&n->news.items, items);
	pthread_mutex_lock(&p->desk->lock);
	p->desk->users++;
	pthread_mutex_unlock(&p->desk->lock);
	p->hear(f->keep_ctx, &n->news);
}

void
fleet_news_open(struct fleet *f)
{
	struct desk *d = NEW(struct desk);
	*d = (struct desk){.fleet = f, .users = 1};
	pthread_mutex_init(&d->lock, NULL);
	f->purges.desk = d;
}

void
fleet_news_leave(struct fleet *f)
{
	struct desk *d = f->purges.desk;
	pthread_mutex_lock(&d->lock);
	d->fleet = NULL;
	pthread_mutex_unlock(&d->lock);
	unref_desk(&f->purges.desk);
}
