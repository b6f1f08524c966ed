/* test_purges.c - storms of purges of all kinds, hard and soft, while threads store, the disk evicts,
 * and the process is killed at any time: nothing that was purged is there again, and nothing that
 * was purged softly is fresh.
 * rooms: cache http base filter
 */
#include "proxy/base/block.h"
#include "proxy/base/clock.h"
#include "proxy/base/le.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_forget.h"
#include "proxy/cache/cache_write.h"
#include "proxy/cache/forget/forget.h"
#include "tests/kit/ask.h"
#include "tests/kit/own_clock.h"
#include "tests/kit/own_disk.h"
#include "tests/kit/tmpdir.h"
#include "tests/kit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	KEYS = 480,
	HOSTS = 4,
	DIRS = 5,
	TAGS = 7,
	WRITERS = 3,
	READERS = 2,
	LIFETIME = 100000,
	BETWEEN = 12, /* versions at least between two purges, */
	AHEAD = 40,   /* and at most, so that the disk keeps up */
	EACH_MS = 20  /* that pass with each of them, and no others */
};

/* Parent and child know this together. Of each key: all versions up to gone were purged, all up to
 * stale softly, but for what was validated behind that. Written before the purge is acknowledged
 * only in its own words: a purge under way says nothing yet. */
struct model {
	_Atomic uint64_t versions; /* made so far; */
	_Atomic uint64_t allowed;  /* no more until this is raised */
	_Atomic uint64_t gone[KEYS], stale[KEYS], checked[KEYS];
	_Atomic uint64_t purges, stored;
};
static struct model *model;

static char dir[256];
static _Thread_local struct mailbox *home; /* each thread that looks has its own */
static struct cache_options options;

static struct cache *
open_cache(void)
{
	struct cache *c = NULL;
	char err[512] = "";
	ck_assert_msg(cache_open(&c, &options, err, sizeof err) == 0, "%s", err);
	return c;
}

/* ---- keys: 480 of four hosts, five directories, two schemes, with variants and slices ---------- */

static unsigned
host_of(unsigned k)
{
	return k % HOSTS;
}
static unsigned
dir_of(unsigned k)
{
	return k / HOSTS % DIRS;
}
static unsigned
page_of(unsigned k)
{
	return k / HOSTS / DIRS % 8;
}
static unsigned
sort_of(unsigned k)
{
	return k / HOSTS / DIRS / 8;
} /* 0, 1, 2 */
static unsigned
tag_of(unsigned k)
{
	return (k * 5 + k / 11) % TAGS;
}

static struct str
key_of(unsigned k, char to[96])
{
	static const char *const sorts[] = {"", "\n#accept-language:de", "\n%slice 9000000 3 v"};
	int n = snprintf(to, 96, "http%s://h%u.example/d%u/e/%u%s", dir_of(k) == 4 ? "s" : "",
			 host_of(k), dir_of(k), page_of(k), sorts[sort_of(k)]);
	return (struct str){to, (size_t)n};
}

static struct twice_key_hash
hash_of(struct cache *c, struct str key)
{
	return twice_key_hash_of(cache_seed(c), key.p, key.n);
}

/* ---- one purge, and what it covers ----------------------------------------------------------- */

struct order {
	enum forget_kind what;
	bool soft;
	unsigned host, dir, page, tag;
};

static bool
is_covered(const struct order *o, unsigned k)
{
	bool path = host_of(k) == o->host && dir_of(k) == o->dir;
	switch (o->what) {
	case FORGET_URL:
		return path && page_of(k) == o->page;
	case FORGET_HOST:
		return host_of(k) == o->host;
	case FORGET_PREFIX:
		return path;
	case FORGET_TAG:
		return tag_of(k) == o->tag;
	default:
		break;
	}
	return true;
}

static uint64_t
apply(struct cache *c, const struct order *o)
{
	char name[96];
	int n = 0;
	const char *s = o->dir == 4 ? "s" : "";
	switch (o->what) {
	case FORGET_URL:
		n = snprintf(name, sizeof name, "http%s://h%u.example/d%u/e/%u", s, o->host, o->dir,
			     o->page);
		break;
	case FORGET_HOST:
		n = snprintf(name, sizeof name, "h%u.example", o->host);
		break;
	case FORGET_PREFIX:
		n = snprintf(name, sizeof name, "http%s://h%u.example/d%u/%s", s, o->host, o->dir,
			     o->page & 1 ? "" : "e");
		break;
	case FORGET_TAG:
		n = snprintf(name, sizeof name, "tag-%u", o->tag);
		break;
	default:
		break;
	}
	struct str text = {name, (size_t)n};
	return cache_purge(c, o->what, o->soft, hash_of(c, text), text).at;
}

/* ---- the storm ------------------------------------------------------------------------------- */

static _Thread_local uint64_t random_state;

static unsigned
dice(unsigned n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % n;
}

static void
raise_to(_Atomic uint64_t *p, uint64_t to)
{
	uint64_t was = atomic_load(p);
	while (was < to && !atomic_compare_exchange_weak(p, &was, to))
		continue;
}

static struct terms
fresh_terms(void)
{
	return (struct terms){
		.response_time = now_s(), .lifetime = LIFETIME, .last_modified = -1, .status = 200};
}

static bool
is_fresh(const struct object *o)
{
	return o->terms.lifetime > terms_age(&o->terms, now_s());
}

/* A new version of a key, which its head tells. */
static void
store_one(struct cache *c, unsigned k)
{
	char text[96], head[32], tags[8], body[1 << 10];
	struct str key = key_of(k, text);
	uint64_t begun = cache_now(c), version = atomic_fetch_add(&model->versions, 1) + 1;
	int n = snprintf(head, sizeof head, "%llu", (unsigned long long)version);
	char tag[32];
	int tag_n = snprintf(tag, sizeof tag, "tag-%u", tag_of(k));
	le_put32(tags, cache_tag(c, STR("another")));
	le_put32(tags + 4, cache_tag(c, (struct str){tag, (size_t)tag_n}));
	struct write_options o = {
		.hash = hash_of(c, key),
		.key = key,
		.head = {head, (size_t)n},
		.tags = {tags, sizeof tags},
		.terms = fresh_terms(),
		.begun = begun,
		.kind = sort_of(k) == 2 ? OBJECT_SLICE : OBJECT_RESPONSE,
		.body_bytes = UINT64_MAX,
		.disk = dice(3) > 0,
	};
	struct object_write *w = cache_write_begin(c, &o);
	memset(body, (int)version, sizeof body);
	for (unsigned left = 1 + dice(20); left; left--) {
		struct block *b = block_create(sizeof body);
		memcpy(b->p, body, sizeof body);
		b->n = sizeof body;
		cache_write_body(w, b, 0, sizeof body);
		block_unref(&b);
	}
	struct object *done = cache_write_commit(&w, dice(2));
	atomic_fetch_add(&model->stored, done != NULL);
	object_unref(&done);
}

static struct object *
look_up(struct cache *c, unsigned k)
{
	char text[96];
	struct str key = key_of(k, text);
	return ask_look_up(c, home, hash_of(c, key), key);
}

static uint64_t
version_of(const struct object *o)
{
	char text[32];
	snprintf(text, sizeof text, "%.*s", STR_ARG(o->head));
	return strtoull(text, NULL, 10);
}

/* gone and stale: as they were before the look. */
static bool
is_wrong(const struct object *o, unsigned k, uint64_t gone, uint64_t stale, uint64_t checked)
{
	uint64_t version = version_of(o);
	bool validated = checked >= version && checked > stale;
	if (version <= gone)
		return true;
	return sort_of(k) != 2 && version <= stale && !validated && is_fresh(o);
}

static bool
look_at(struct cache *c, unsigned k)
{
	uint64_t gone = atomic_load(&model->gone[k]), stale = atomic_load(&model->stale[k]);
	struct object *o = look_up(c, k);
	bool wrong = o && is_wrong(o, k, gone, stale, atomic_load(&model->checked[k]));
	if (wrong)
		fprintf(stderr, "key %u: version %llu is %s (gone %llu, stale %llu)\n", k,
			(unsigned long long)version_of(o), is_fresh(o) ? "fresh" : "there",
			(unsigned long long)gone, (unsigned long long)stale);
	object_unref(&o);
	return !wrong;
}

/* The origin says 304 to what is stored: it is as fresh as what would be made now. */
static void
validate(struct cache *c, unsigned k)
{
	/* In this order: what begins behind a purge has a number behind the purge's. */
	uint64_t begun = cache_now(c), now = atomic_fetch_add(&model->versions, 1) + 1;
	struct object *o = look_up(c, k);
	if (!o)
		return;
	char text[96];
	struct str key = key_of(k, text);
	struct terms terms = fresh_terms();
	uint64_t clean = atomic_load(&o->clean_as_of);
	begun = clean < begun ? clean : begun;
	raise_to(&model->checked[k], now); /* first: it may be seen at once */
	if (cache_is_clean(c, o->hash, key, o->tags, begun)) {
		struct object *fresh = cache_refresh(c, o, o->head, o->tags, &terms, begun);
		object_unref(&fresh);
	}
	object_unref(&o);
}

static void
purge_one(struct cache *c)
{
	static const enum forget_kind often[] = {FORGET_URL,	FORGET_URL, FORGET_PREFIX,
						 FORGET_PREFIX, FORGET_TAG, FORGET_TAG,
						 FORGET_HOST};
	struct order o = {often[dice(7)], dice(2), dice(HOSTS), dice(DIRS), dice(8), dice(TAGS)};
	if (dice(40) == 0)
		o.what = FORGET_ALL;
	uint64_t versions = atomic_load(&model->versions), at = apply(c, &o);
	if (!cache_purge_wait(c, at)) { /* its five seconds do not pass while it waits */
		fprintf(stderr, "a purge is not durable\n");
		abort();
	}
	/* Acknowledged. */
	for (unsigned k = 0; k < KEYS; k++)
		if (is_covered(&o, k))
			raise_to(o.soft ? &model->stale[k] : &model->gone[k], versions);
	atomic_fetch_add(&model->purges, 1);
}

static void *
write_for_ever(void *arg)
{
	struct cache *c = arg;
	random_state = (uint64_t)now_us() * 77 + (uintptr_t)pthread_self();
	for (;;) {
		while (atomic_load(&model->versions) >= atomic_load(&model->allowed))
			sched_yield();
		store_one(c, dice(KEYS));
		own_clock_pass_ms(EACH_MS);
	}
	return NULL;
}

static void
look_around(struct cache *c)
{
	if (!look_at(c, dice(KEYS)))
		abort();
	if (dice(4) == 0)
		validate(c, dice(KEYS));
}

static void *
read_for_ever(void *arg)
{
	struct mailbox box;
	home = &box;
	if (mailbox_init(&box) != 0)
		abort();
	random_state = (uint64_t)now_us() * 79 + (uintptr_t)pthread_self();
	for (;;)
		look_around(arg);
	return NULL;
}

static void
storm(uint64_t rounds)
{
	own_clock_hold();
	struct cache *c = open_cache();
	pthread_t t;
	random_state = (uint64_t)now_us();
	for (int i = 0; i < WRITERS; i++)
		pthread_create(&t, NULL, write_for_ever, c);
	for (int i = 0; i < READERS; i++)
		pthread_create(&t, NULL, read_for_ever, c);
	while (rounds--) {
		/* However the threads share the processor, something is there to be purged. */
		uint64_t enough = atomic_load(&model->versions) + BETWEEN;
		atomic_store(&model->allowed, enough + AHEAD);
		while (atomic_load(&model->versions) < enough)
			sched_yield();
		purge_one(c);
		for (int i = 0; i < 20; i++)
			look_around(c);
	}
	_exit(0);
}

static struct mailbox mine;

static void
begin(void)
{
	tmpdir_make(dir, sizeof dir);
	ck_assert_int_eq(mailbox_init(&mine), 0);
	home = &mine;
	/* A log that turns over fast, and RAM for a part of it. */
	options = (struct cache_options){.dir = dir,
					 .disk_bytes = 12 << 20,
					 .memory_bytes = 1 << 20,
					 .ops = unsynced_disk()};
	model = mmap(NULL, sizeof *model, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	ck_assert_ptr_ne(model, MAP_FAILED);
}

static void
end(void)
{
	munmap(model, sizeof *model);
	mailbox_fini(&mine);
	tmpdir_remove(dir);
}

/* TWICE_LONG=1: 100 kills behind 1,000 purges each, two at a time; else six, behind a few. */
START_TEST(killed_in_a_storm_of_all_kinds)
{
	bool is_long = getenv("TWICE_LONG");
	int rounds = is_long ? 2 : 6;
	uint64_t each = is_long ? 1000 : 3;
	unsigned there = 0;
	if (_i && !is_long)
		return;
	begin();
	for (int round = 0; round < rounds; round++) {
		int status;
		uint64_t purges = atomic_load(&model->purges) + each,
			 stored = atomic_load(&model->stored) + 150;
		pid_t child = fork();
		if (child == 0)
			storm(UINT64_MAX);
		while ((atomic_load(&model->purges) < purges ||
			atomic_load(&model->stored) < stored) &&
		       waitpid(child, &status, WNOHANG) == 0)
			usleep(500);
		usleep(3000u << round % 7); /* one moment or another: all are right */
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
			      "the storm found something wrong");
		struct cache *c = open_cache();
		for (unsigned k = 0; k < KEYS; k++) {
			struct object *o = look_up(c, k);
			there += o != NULL;
			object_unref(&o);
			ck_assert_msg(look_at(c, k), "round %d: key %u", round, k);
		}
		cache_close(&c);
	}
	/* Else this would say nothing; but two kills alone may both come right behind a purge of all. */
	if (!is_long)
		ck_assert_uint_gt(there, KEYS / 10);
	ck_assert_uint_gt(atomic_load(&model->stored), (unsigned)rounds * 100);
	printf("%llu purges, %llu answers stored, %u found behind %d kills\n",
	       (unsigned long long)atomic_load(&model->purges),
	       (unsigned long long)atomic_load(&model->stored), there, rounds);
	end();
}
END_TEST

UNIT("purges", TIMES(killed_in_a_storm_of_all_kinds, 50))
