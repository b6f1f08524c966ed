/* seen.c - chooses the memory, restores it, keeps its snapshot.
 *
 * The pair is asked directly: it is the hot path's one memory access per request.
 */
#include "proxy/edge/seen.h"

#include "proxy/base/log.h"
#include "proxy/base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct seen {
	struct cache *cache;
	bool on_disk;
	struct pair *pair;     /* one of the two */
	struct memory *memory;
	struct pair_options pair_options;
	struct memory_options memory_options;
	int64_t born_s;
	uint64_t saved_keys, saved_number; /* of the last snapshot: nothing new, nothing written */
};

static const char FILE_NAME[] = "filter";

struct memory_sight
seen_test(const struct seen *s, struct key_hash h)
{
	if (!s->pair)
		return memory_test(s->memory, h);
	enum sight was = pair_test(s->pair, h);
	return (struct memory_sight){was, was != SIGHT_FIRST};
}

struct memory_sight
seen_record(struct seen *s, struct key_hash h)
{
	if (!s->pair)
		return memory_record(s->memory, h);
	enum sight was = pair_record(s->pair, h);
	return (struct memory_sight){was, was != SIGHT_FIRST};
}

void
seen_tick(struct seen *s, int64_t now_s)
{
	if (s->pair)
		pair_tick(s->pair, now_s);
	else
		memory_tick(s->memory, now_s);
}

/* ---- snapshot ------------------------------------------------------------------------------ */

static size_t
read_fd(void *ctx, void *p, size_t n)
{
	size_t got = 0;
	while (got < n) {
		ssize_t r = read(*(int *)ctx, (char *)p + got, n - got);
		if (r <= 0)
			break;
		got += (size_t)r;
	}
	return got;
}

static const char *
load(struct seen *s, int fd, int64_t now)
{
	const struct filter_seed *seed = cache_seed(s->cache);
	if (memory_kind_for(&s->memory_options) == MEMORY_PAIR)
		return pair_load(&s->pair, &s->pair_options, seed, now, read_fd, &fd);
	struct stat st;
	struct memory_place here = {seed, now};
	struct seal_source from = {.read = read_fd, .ctx = &fd};
	from.limit = fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
	return memory_load(&s->memory, &s->memory_options, &here, from);
}

static void
restore(struct seen *s, int64_t now)
{
	int fd = s->on_disk ? cache_open_file(s->cache, FILE_NAME) : -1;
	if (fd < 0)
		return;
	const char *why = load(s, fd, now);
	if (why)
		log_warning("the filter's snapshot is ignored (%s): known URLs count as new", why);
	close(fd);
}

struct saving {
	struct seen *s;
	int64_t now;
};

static int
fill(int (*write)(void *, const void *, size_t), void *to, void *ctx)
{
	struct saving *saving = ctx;
	struct seen *s = saving->s;
	const struct filter_seed *seed = cache_seed(s->cache);
	if (s->pair)
		return pair_save(s->pair, seed, saving->now, write, to);
	struct memory_place here = {seed, saving->now};
	return memory_save(s->memory, &here, (struct seal_sink){.write = write, .ctx = to});
}

void
seen_save(struct seen *s, int64_t now)
{
	struct pair_stats is;
	seen_report(s, &is);
	if (!s->on_disk || (is.keys == s->saved_keys && is.number == s->saved_number))
		return;
	struct saving saving = {s, now};
	if (cache_save_file(s->cache, FILE_NAME, fill, &saving)) {
		log_warning("cannot save the filter's snapshot: %s; after a restart known URLs would count "
			    "as new",
		            strerror(errno));
		return;
	}
	s->saved_keys = is.keys;
	s->saved_number = is.number;
}

/* ---- life ---------------------------------------------------------------------------------- */

static enum memory_kind
kind_of(enum config_memory m)
{
	switch (m) {
	case CONFIG_MEMORY_COUNTING:
		return MEMORY_COUNTING;
	case CONFIG_MEMORY_STABLE:
		return MEMORY_STABLE;
	case CONFIG_MEMORY_SCALABLE:
		return MEMORY_SCALABLE;
	case CONFIG_MEMORY_PAIR:
		break;
	}
	return MEMORY_PAIR;
}

static bool
begin_empty(struct seen *s, int64_t now)
{
	if (memory_kind_for(&s->memory_options) == MEMORY_PAIR)
		return pair_create(&s->pair, &s->pair_options, now) == 0;
	s->memory = memory_create(&s->memory_options, now);
	return s->memory != NULL;
}

int
seen_open(struct seen **out, const struct config *c, struct cache *cache, char *err, size_t err_bytes)
{
	struct seen *s = NEW(struct seen);
	int64_t now = (int64_t)time(NULL);
	s->cache = cache;
	s->on_disk = c->cache.dir != NULL;
	s->born_s = now;
	s->pair_options = (struct pair_options){
		.capacity = c->admission.capacity,
		.false_positives = c->admission.false_positives,
		.rotate_after_s = c->admission.rotate_after_s,
	};
	s->memory_options = (struct memory_options){
		.kind = kind_of(c->admission.memory),
		.sightings = c->admission.sightings,
		.capacity = c->admission.capacity,
		.false_positives = c->admission.false_positives,
		.rotate_after_s = c->admission.rotate_after_s,
		.seed = (uint64_t)now,
	};
	const char *why = memory_may(&s->memory_options);
	if (!why) {
		restore(s, now);
		if (!s->pair && !s->memory && !begin_empty(s, now))
			why = "there is not enough memory: lower admission.capacity";
	}
	if (why) {
		snprintf(err, err_bytes, "admission: %s", why);
		seen_close(&s);
		return -1;
	}
	*out = s;
	return 0;
}

void
seen_close(struct seen **sp)
{
	struct seen *s = *sp;
	*sp = NULL;
	if (!s)
		return;
	pair_destroy(&s->pair);
	memory_destroy(&s->memory);
	free(s);
}

void
seen_report(const struct seen *s, struct pair_stats *out)
{
	if (s->pair) {
		pair_stats(s->pair, out);
		return;
	}
	struct memory_stats m;
	memory_stats(s->memory, &m);
	*out = (struct pair_stats){
		.number = m.generation,
		.rotations = m.generation,
		.keys = m.keys,
		.capacity = s->memory_options.capacity,
		.fill_ratio = m.fill_ratio,
		.estimated_fpr = m.estimated_fpr,
		.memory_bytes = (size_t)m.bytes,
		.born_s = s->born_s,
	};
}
