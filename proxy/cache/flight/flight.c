/* flight.c - what the leader says of its fetch, and what readers see of it. */
#include "proxy/cache/flight/flight_inside.h"

#include <assert.h>

void
flight_interim(struct flight *f, struct str head)
{
	pthread_mutex_lock(&f->lock);
	if (f->interim.n + head.n <= 16 << 10) { /* more hints than that help nobody */
		buf_add_str(&f->interim, head);
		atomic_store_explicit(&f->interim_bytes, f->interim.n, memory_order_release);
		flight_wake_readers(f);
	}
	flight_unlock(f);
}

struct buf
flight_lend_head(struct flight *f)
{
	struct buf b = f->head_memory;
	f->head_memory = (struct buf){0};
	return b;
}

/* Something that others may have. */
static bool
is_good(const struct flight_head *h)
{
	return h->status < 400 || h->storable;
}

/* Under g's lock. Returns a reference that is to be let go without it, or NULL. */
static struct flight *
hear_of(struct flight *g, struct flight *f, enum flight_news news)
{
	struct flight *gone = NULL;
	if (news != FLIGHT_NEWS_GOOD) {
		bool sent_there = g->rival.after == f; /* if not, another try was given for it by now */
		if (sent_there) {
			gone = g->rival.after;
			g->rival.after = NULL;
			g->rival.overtaken = false;
		}
		g->rival.tries_left += news == FLIGHT_NEWS_NONE || sent_there;
	} else {
		g->rival.overtaken = true;
		/* All of it is better than a beginning: the rest of that may drip as well. */
		if (g->rival.after && flight_state(f) == FLIGHT_WHOLE &&
		    flight_state(g->rival.after) != FLIGHT_WHOLE) {
			gone = g->rival.after;
			g->rival.after = NULL;
		}
		if (!g->rival.after && g->reader_count > 1) /* besides who leads it */
			g->rival.after = flight_ref(f);
	}
	flight_wake_readers(g);
	return gone;
}

void
flight_tell(struct flight *f, struct flight *g, enum flight_news news)
{
	while (g) { /* a reference */
		pthread_mutex_lock(&g->lock);
		struct flight *gone = hear_of(g, f, news);
		struct flight *next = g->rival.before ? flight_ref(g->rival.before) : NULL;
		flight_unlock(g);
		flight_unref(&gone);
		flight_unref(&g);
		g = next;
	}
}

void
flight_publish(struct flight *f, struct flight_head *head)
{
	bool good = is_good(head);
	pthread_mutex_lock(&f->lock);
	assert(atomic_load(&f->state) == FLIGHT_WAITING);
	f->head = *head;
	*head = (struct flight_head){0};
	f->rival.unproven = good && f->rival.before && !f->head.object && f->head.body_bytes;
	atomic_store_explicit(&f->state, FLIGHT_ARRIVING, memory_order_release);
	flight_wake_readers(f);
	struct flight *before = f->rival.before && !f->rival.unproven ? flight_ref(f->rival.before) : NULL;
	flight_unlock(f);
	flight_tell(f, before, good ? FLIGHT_NEWS_GOOD : FLIGHT_NEWS_NONE);
}

/* The end of f, under its lock, has *news for readers of flights that it overtook. False: nothing
 * that they have not heard. */
static bool
has_news(const struct flight *f, int before_that, enum flight_state state, enum flight_news *news)
{
	bool good = before_that == FLIGHT_ARRIVING && is_good(&f->head);
	bool heard = before_that == FLIGHT_ARRIVING && !f->rival.unproven; /* of its head, or its body */
	if (state == FLIGHT_WHOLE)
		*news = FLIGHT_NEWS_GOOD;
	else
		*news = heard ? FLIGHT_NEWS_BROKEN : FLIGHT_NEWS_NONE;
	return good || !heard;
}

static void
finish(struct flight *f, enum flight_state state, int status, const char *word, uint64_t blame)
{
	pthread_mutex_lock(&f->lock);
	/* It ends once, and whole only when it had a head. */
	int before_that = atomic_load(&f->state);
	assert(before_that == FLIGHT_ARRIVING ||
	       (before_that == FLIGHT_WAITING && state == FLIGHT_FAILED));
	f->fail_blame = blame;
	enum flight_news news;
	bool tells = has_news(f, before_that, state, &news);
	struct flight *before = f->rival.before;
	f->rival.before = NULL;
	f->rival.unproven = false;
	f->fail_status = status;
	f->fail_word = word;
	atomic_store_explicit(&f->state, (int)state, memory_order_release);
	flight_wake_readers(f);
	if (f->late_count)
		flight_wake_late(f);
	flight_unlock(f);
	if (tells)
		flight_tell(f, before, news);
	else
		flight_unref(&before);
}

void
flight_set_trailers(struct flight *f, struct str lines)
{
	assert(flight_state(f) == FLIGHT_ARRIVING);
	buf_add_str(&f->trailers, lines); /* read only once the state says that it is whole */
}

struct str
flight_trailers(struct flight *f)
{
	return flight_state(f) == FLIGHT_WHOLE ? buf_str(&f->trailers) : STR("");
}

void
flight_end(struct flight *f, struct object *stored)
{
	f->stored = stored; /* read only once the state says so */
	finish(f, FLIGHT_WHOLE, 0, NULL, 0);
}

struct object *
flight_stored(struct flight *f)
{
	assert(flight_state(f) == FLIGHT_WHOLE);
	return f->stored;
}

void
flight_fail(struct flight *f, int status, const char *word, uint64_t blame)
{
	finish(f, FLIGHT_FAILED, status, word, blame);
}

void
flight_want(struct flight *f)
{
	pthread_mutex_lock(&f->lock);
	f->wanted = true;
	pthread_mutex_unlock(&f->lock);
}

bool
flight_is_wanted(struct flight *f)
{
	return atomic_load(&f->wanted);
}

bool
flight_awaits_reader(struct flight *f)
{
	pthread_mutex_lock(&f->lock);
	bool here = f->reader_count > 0;
	f->awaits_reader = !here;
	flight_unlock(f);
	return here;
}

int64_t
flight_begun_ms(const struct flight *f)
{
	return f->begun_ms;
}

unsigned
flight_readers(struct flight *f)
{
	return atomic_load(&f->reader_count);
}

void
flight_count(struct flight_reader *r)
{
	atomic_fetch_add(&r->flight->follower_count, 1);
}

unsigned
flight_followers(struct flight *f)
{
	return atomic_load(&f->follower_count);
}

/* ---- readers' view ------------------------------------------------------------------------- */

const struct flight_head *
flight_head(struct flight *f)
{
	return &f->head;
}

void
flight_failure(struct flight *f, int *status, const char **word, uint64_t *blame)
{
	pthread_mutex_lock(&f->lock);
	*blame = f->fail_blame;
	*status = f->fail_status;
	*word = f->fail_word;
	pthread_mutex_unlock(&f->lock);
}

bool
flight_is_overtaken(struct flight *f)
{
	return atomic_load(&f->rival.overtaken);
}

void
flight_read_interim(struct flight_reader *r, struct buf *out)
{
	struct flight *f = r->flight;
	if (atomic_load_explicit(&f->interim_bytes, memory_order_acquire) == r->interim_at)
		return; /* nearly always */
	pthread_mutex_lock(&f->lock);
	buf_add(out, f->interim.p + r->interim_at, f->interim.n - r->interim_at);
	r->interim_at = f->interim.n;
	pthread_mutex_unlock(&f->lock);
}
