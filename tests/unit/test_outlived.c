/* test_outlived.c - who has begun with the head of a body in slices finds its slices when all is purged;
 * nobody else does, and nobody finds those that were gone before.
 * rooms: cache http base filter
 */
#include "proxy/base/block.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_forget.h"
#include "proxy/cache/cache_lookup.h"
#include "proxy/cache/cache_write.h"
#include "tests/kit/ask.h"
#include "tests/kit/own_cache.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define URL   "http://a.example/film"
#define SLICE URL "\n%slice 3000000 1 \"v\""

enum { SLICE_LENGTH = 20000 };

static struct cache *cache;

static struct twice_key_hash
hash_of(const char *key)
{
	return twice_key_hash_of(cache_seed(cache), key, strlen(key));
}

static uint32_t
tag(const char *name)
{
	return htole32(cache_tag(cache, str_of(name)));
}

static void
store(const char *key, enum object_kind kind, bool disk, const char *tag_name)
{
	uint32_t number = tag_name ? tag(tag_name) : 0;
	struct object_write *w = cache_write_begin(
		cache, &(struct write_options){
			       .hash = hash_of(key),
			       .key = str_of(key),
			       .head = str_of(kind == OBJECT_SLICED ? "HTTP/1.1 200 OK\r\n" : ""),
			       .tags = {(const char *)&number, tag_name ? 4 : 0},
			       .terms = {.lifetime = 600, .last_modified = -1, .status = 200},
			       .kind = kind,
			       .whole_bytes = 3000000,
			       .body_bytes = kind == OBJECT_SLICE ? SLICE_LENGTH : 0,
			       .disk = disk,
		       });
	if (kind == OBJECT_SLICE) {
		struct block *b = block_create(SLICE_LENGTH);
		memset(b->p, 's', b->n = SLICE_LENGTH);
		cache_write_body(w, b, 0, b->n);
		block_unref(&b);
	}
	struct object *o = cache_write_commit(&w, disk);
	ck_assert_ptr_nonnull(o);
	object_unref(&o);
}

static struct object *
find(const char *key, const struct object *head)
{
	struct ask_object a = {.l = {.home = &home, .done = ask_on_object, .head = head}};
	if (cache_lookup(cache, &a.l, hash_of(key), str_of(key), &a.came) == FOUND_LATER)
		ask_await(&home, &a.is_done);
	return a.came;
}

static bool
is_there(const struct object *head)
{
	struct object *o = find(SLICE, head);
	bool yes = o != NULL;
	if (o)
		ck_assert_uint_eq(o->body_bytes, SLICE_LENGTH);
	object_unref(&o);
	return yes;
}

static void
purge(enum forget_kind what, bool soft, const char *name)
{
	cache_purge(cache, what, soft, hash_of(URL), str_of(name));
}

static void
reopen(void)
{
	cache_stop(cache);
	cache_close(&cache);
	cache = open_cache();
}

/* Never at once: what is on disk is read on a thread. */
static ssize_t
not_now(int fd, void *p, size_t n, off_t at)
{
	(void)fd, (void)p, (void)n, (void)at;
	errno = EAGAIN;
	return -1;
}

enum step { NOTHING, PURGE_BEFORE, HEAD_ANEW, OTHER_TAG, RESTART, SLICE_ANEW, SLICE_GONE };
enum shelf { RAM, DISK, SLOW_DISK };

static const struct row {
	const char *says;
	enum step before; /* between the slice and the one who begins with the head */
	enum forget_kind what;
	bool soft;
	const char *name;
	enum step behind; /* the purge */
	bool mine, others;
	bool ram_too; /* it can be tried without a disk */
} purges[] = {
	{"a URL is purged", NOTHING, FORGET_URL, false, URL, NOTHING, true, false, true},
	{"a host", NOTHING, FORGET_HOST, false, "a.example", NOTHING, true, false, true},
	{"a prefix", NOTHING, FORGET_PREFIX, false, "http://a.example/f", NOTHING, true, false,
	 true},
	{"a tag", NOTHING, FORGET_TAG, false, "film", NOTHING, true, false, true},
	{"all", NOTHING, FORGET_ALL, false, "", NOTHING, true, false, true},
	{"softly: it is as it was", NOTHING, FORGET_URL, true, URL, NOTHING, true, true, true},
	{"another URL", NOTHING, FORGET_HOST, false, "b.example", NOTHING, true, true, true},
	{"behind a restart", RESTART, FORGET_URL, false, URL, NOTHING, true, false, false},
	{"it was purged before, and the head came anew", PURGE_BEFORE, FORGET_URL, false, URL,
	 NOTHING, false, false, true},
	{"the head came anew, and nobody knows whether the slice was purged before that", HEAD_ANEW,
	 FORGET_URL, false, URL, NOTHING, false, false, true},
	{"a slice with a tag that its head has not: by that it may have been purged", OTHER_TAG,
	 FORGET_TAG, false, "other", NOTHING, false, false, true},
	{"the slice was fetched again: it is everybody's", NOTHING, FORGET_URL, false, URL,
	 SLICE_ANEW, true, true, true},
	{"the slice itself was removed", NOTHING, FORGET_URL, false, URL, SLICE_GONE, false, false,
	 true},
};

static void
do_step(enum step s, bool disk)
{
	switch (s) {
	case NOTHING:
		break;
	case PURGE_BEFORE:
		purge(FORGET_URL, false, URL);
		store(URL, OBJECT_SLICED, disk, "film");
		break;
	case HEAD_ANEW:
		purge(FORGET_HOST, false, "b.example"); /* so that time has passed */
		store(URL, OBJECT_SLICED, disk, "film");
		break;
	case OTHER_TAG:
		store(SLICE, OBJECT_SLICE, disk, "other");
		break;
	case RESTART:
		reopen();
		break;
	case SLICE_ANEW:
		store(SLICE, OBJECT_SLICE, disk, "film");
		break;
	case SLICE_GONE:
		cache_remove(cache, hash_of(SLICE), str_of(SLICE));
		break;
	}
}

static void
try_row(const struct row *r, enum shelf shelf)
{
	bool disk = shelf != RAM;
	struct diskio_ops slow = *unsynced_disk();
	if (!disk && !r->ram_too)
		return;
	begin_with((struct cache_options){.disk_bytes = 64 << 20,
					  .memory_bytes = disk ? 64 << 10 : 8 << 20});
	slow.read_now = not_now;
	if (shelf == SLOW_DISK)
		options.ops = &slow;
	if (!disk)
		options.dir = NULL;
	cache = open_cache();
	store(URL, OBJECT_SLICED, disk, "film");
	store(SLICE, OBJECT_SLICE, disk, "film");
	do_step(r->before, disk);
	if (disk && r->before != RESTART && shelf == SLOW_DISK)
		reopen(); /* what waits to be written is in memory */
	struct object *head = find(URL, NULL);
	ck_assert_ptr_nonnull(head);
	purge(r->what, r->soft, r->name);
	do_step(r->behind, disk);
	ck_assert_msg(is_there(head) == r->mine, "%s (%d): mine", r->says, shelf);
	ck_assert_msg(is_there(NULL) == r->others, "%s (%d): others'", r->says, shelf);
	if (!r->others) /* who looked has cleared it away */
		ck_assert_msg(!is_there(head), "%s (%d): mine again", r->says, shelf);
	object_unref(&head);
	cache_stop(cache);
	cache_close(&cache);
	end();
}

START_TEST(who_has_begun_finds_what_was_its_own)
{
	for (enum shelf s = RAM; s <= SLOW_DISK; s++)
		try_row(&purges[_i], s);
}
END_TEST

UNIT("outlived", LOOP(who_has_begun_finds_what_was_its_own, purges))
