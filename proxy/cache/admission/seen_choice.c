/* seen_choice.c - `sightings: auto`: the choice (choice.h) of a filter that counts to three, and its file.
 */
#include "proxy/cache/admission/seen_inside.h"

#include "proxy/base/buf.h"
#include "proxy/base/log.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_files.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static const char FILE_NAME[] = "choice";

static void
apply(struct seen *s, unsigned sightings, unsigned large_sightings)
{
	atomic_store_explicit(&s->choice.asked, sightings, memory_order_relaxed);
	atomic_store_explicit(&s->choice.asked_large, large_sightings, memory_order_relaxed);
}

static void
apply_choice(struct seen *s)
{
	apply(s, CHOICE_FEW, s->choice.is.sightings == CHOICE_MANY ? CHOICE_MANY : 0);
}

/* One that nobody can read is made anew. */
static void
restore(struct seen *s)
{
	struct buf bytes = {0};
	const char *why;
	choice_init(&s->choice.is);
	s->choice.restored = s->choice.saved = true;
	if (!s->on_disk || !cache_read_file(s->cache, FILE_NAME, CHOICE_FILE, &bytes, &why))
		return;
	if (!why)
		why = choice_parse(&s->choice.is, buf_str(&bytes));
	if (why)
		log_warning("cache %s: the choice of sightings is ignored (%s): it begins anew",
			    cache_directory(s->cache), why);
	buf_fini(&bytes);
}

/* Under the lock. */
static void
begin(struct seen *s)
{
	char text[CHOICE_TEXT];
	if (!s->choice.restored)
		restore(s);
	s->choice.judged = seen_generation(s->pair, s->memory);
	s->choice.on = true;
	apply_choice(s);
	log_info("admission: sightings: auto asks for %s", choice_say(&s->choice.is, text));
}

void
seen_choice_open(struct seen *s)
{
	pthread_mutex_lock(&s->choice.lock);
	if (!atomic_load(&s->choice.asked))
		begin(s);
	pthread_mutex_unlock(&s->choice.lock);
}

static unsigned
most_sightings(const struct seen *s)
{
	enum { PAIR = 2 };
	return s->pair ? PAIR : s->memory_options.sightings;
}

void
seen_choice_settle(struct seen *s, unsigned sightings)
{
	struct seen_choice *c = &s->choice;
	assert(sightings <= most_sightings(s) && (sightings || !s->pair));
	pthread_mutex_lock(&c->lock);
	bool was_on = c->on;
	c->on = !sightings;
	if (sightings)
		apply(s, sightings, 0);
	else if (!was_on)
		begin(s);
	pthread_mutex_unlock(&c->lock);
	if (was_on && sightings)
		log_info(
			"admission: %u sightings are asked for, and none are chosen any more; until a "
			"restart the filter stays one that counts to %u",
			sightings, most_sightings(s));
}

static bool
take(const struct seen *s, struct choice *out, uint64_t *judged, bool *saved)
{
	struct seen_choice *c = (struct seen_choice *)(uintptr_t)&s->choice;
	pthread_mutex_lock(&c->lock);
	bool on = c->on;
	*out = c->is;
	*judged = c->judged;
	*saved = c->saved;
	pthread_mutex_unlock(&c->lock);
	return on;
}

bool
seen_choice(const struct seen *s, struct choice *out)
{
	struct choice is;
	uint64_t judged;
	bool saved, on = take(s, &is, &judged, &saved);
	if (on)
		*out = is;
	return on;
}

/* ---- by the keeper ------------------------------------------------------------------------- */

bool
seen_choice_is_due(const struct seen *s)
{
	struct choice is;
	uint64_t judged;
	bool saved;
	return take(s, &is, &judged, &saved) && seen_generation(s->pair, s->memory) != judged;
}

static int
fill(int (*write)(void *, const void *, size_t), void *to, void *ctx)
{
	char bytes[CHOICE_FILE];
	choice_format(ctx, bytes);
	return write(to, bytes, sizeof bytes);
}

void
seen_choice_save(struct seen *s)
{
	struct choice is;
	uint64_t judged;
	bool saved;
	if (!s->on_disk || !take(s, &is, &judged, &saved) || saved)
		return;
	saved = cache_save_file(s->cache, FILE_NAME, fill, &is) == 0;
	if (!saved)
		log_warning(
			"cache %s: cannot save the choice of sightings: %s; a restart begins with "
			"the one before",
			cache_directory(s->cache), strerror(errno));
	pthread_mutex_lock(&s->choice.lock);
	s->choice.saved = saved;
	pthread_mutex_unlock(&s->choice.lock);
}

bool
seen_choose(struct seen *s, const struct choice_period *p, int64_t now_s)
{
	struct seen_choice *c = &s->choice;
	char text[CHOICE_TEXT];
	pthread_mutex_lock(&c->lock);
	unsigned before = c->is.sightings;
	bool used = c->on && p && choice_turn(&c->is, p, now_s),
	     changes = c->is.sightings != before;
	c->judged = seen_generation(s->pair, s->memory);
	c->saved = c->saved && !used;
	if (changes)
		apply_choice(s);
	struct choice is = c->is;
	pthread_mutex_unlock(&c->lock);
	if (changes) {
		log_info("admission: sightings: auto asks for %s", choice_say(&is, text));
		seen_choice_save(s);
	}
	return used;
}
