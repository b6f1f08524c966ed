/* test_scrub.c - what is on disk is read and checked in the background: damage is found before anybody
 * asks for it, and nothing else is forgotten.
 * rooms: cache http base filter
 */
#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/cache/cache_inside.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/cache/cache_write.h"
#include "tests/kit/ask.h"
#include "tests/kit/own_cache.h"

#include <errno.h>
#include <fcntl.h>

enum { MIB = 1 << 20, KEYS = 40, SMALL = 30, BODY = 3000, LARGE = 300000 };

static void
begin(void)
{
	log_set_level(LOG_ERROR);
	begin_with((struct cache_options){.disk_bytes = 16 * MIB});
}

static size_t
bytes_of(int i)
{
	return i < SMALL ? BODY : LARGE;
}

static void
mark(int i, bool at_end, char to[32])
{
	snprintf(to, 32, "this is %s body of %03d", at_end ? "an end, " : "the", i);
}

/* Of each key other bytes, with a mark at both ends. */
static void
fill(int i, char *to)
{
	char text[32];
	for (size_t at = 0; at < bytes_of(i); at++)
		to[at] = (char)('a' + (at * 31 + (size_t)i) % 26);
	mark(i, false, text);
	memcpy(to, text, strlen(text));
	mark(i, true, text);
	memcpy(to + bytes_of(i) - strlen(text), text, strlen(text));
}

static struct str
key_of(int i, char to[64])
{
	return (struct str){to, (size_t)snprintf(to, 64, "http://host/%d", i)};
}

static struct twice_key_hash
hash_of(struct cache *c, struct str key)
{
	return twice_key_hash_of(cache_seed(c), key.p, key.n);
}

static bool
put(struct cache *c, int i)
{
	static char body[LARGE];
	char text[64];
	struct str key = key_of(i, text);
	struct object_write *w = cache_write_begin(
		c, &(struct write_options){.hash = hash_of(c, key),
					   .key = key,
					   .head = STR("HTTP/1.1 200 OK\r\n"),
					   .terms = {.lifetime = 60, .status = 200},
					   .body_bytes = bytes_of(i),
					   .disk = true});
	fill(i, body);
	for (size_t done = 0, n; done < bytes_of(i); done += n) {
		n = bytes_of(i) - done < 16384 ? bytes_of(i) - done : 16384;
		struct block *b = block_create((uint32_t)n);
		memcpy(b->p, body + done, n);
		b->n = (uint32_t)n;
		cache_write_body(w, b, 0, (uint32_t)n);
		block_unref(&b);
	}
	struct object *o = cache_write_commit(&w, true);
	bool yes = o && atomic_load(&o->on_disk);
	object_unref(&o);
	return yes;
}

static bool
has(struct cache *c, int i)
{
	char text[64];
	struct str key = key_of(i, text);
	struct object *o = ask_look_up(c, &home, hash_of(c, key), key);
	bool yes = o;
	if (o)
		object_unref(&o);
	return yes;
}

/* A byte at the beginning or at the end of key i's body. */
static void
flip(int i, bool at_end)
{
	static char segment[MIB];
	char text[32], path[300];
	int flipped = 0;
	mark(i, at_end, text);
	for (int slot = 0; slot < 64; slot++) {
		snprintf(path, sizeof path, "%s/segment.%05d", dir, slot);
		int fd = open(path, O_RDWR);
		ssize_t n = fd < 0 ? 0 : pread(fd, segment, sizeof segment, 0);
		char *at = n > 0 ? memmem(segment, (size_t)n, text, strlen(text)) : NULL;
		if (at) {
			*at ^= 1;
			ck_assert_int_eq(pwrite(fd, at, 1, at - segment), 1);
			flipped++;
		}
		if (fd >= 0)
			close(fd);
	}
	ck_assert_msg(flipped == 1, "%d: %d", i, flipped);
}

static void
store_all(void)
{
	struct cache *c = open_cache();
	for (int i = 0; i < KEYS; i++)
		ck_assert(put(c, i));
	cache_close(&c);
}

/* Until so many bytes were checked. */
static struct cache_stats
await(struct cache *c, uint64_t bytes)
{
	struct cache_stats s;
	unit_wait_until((cache_stats(c, &s), s.scrubbed_bytes >= bytes));
	return s;
}

START_TEST(what_is_right_stays)
{
	begin();
	store_all();
	options.scrub_every_s = 1;
	struct cache *c = open_cache();
	struct cache_stats s;
	cache_stats(c, &s);
	s = await(c, 2 * s.used_bytes);
	ck_assert_uint_eq(s.scrub_damaged, 0);
	ck_assert_uint_eq(s.objects, KEYS);
	for (int i = 0; i < KEYS; i++)
		ck_assert_msg(has(c, i), "%d", i);
	cache_close(&c);
	end();
}
END_TEST

START_TEST(what_is_damaged_is_forgotten_before_it_is_asked_for)
{
	begin();
	store_all();
	flip(3, false);	       /* a record with its body */
	flip(SMALL, false);    /* the first piece of a body */
	flip(SMALL + 1, true); /* its last one */
	options.scrub_every_s = 1;
	struct cache *c = open_cache();
	struct cache_stats s;
	unit_wait_until((cache_stats(c, &s), s.scrub_damaged >= 3));
	s = await(c, s.scrubbed_bytes + 2 * s.used_bytes);
	ck_assert_uint_eq(s.scrub_damaged, 3);
	ck_assert_uint_eq(s.damaged_records, 3);
	ck_assert_uint_eq(s.objects, KEYS - 3);
	for (int i = 0; i < KEYS; i++)
		ck_assert_int_eq(has(c, i), i != 3 && i != SMALL && i != SMALL + 1);
	cache_stats(c, &s);
	ck_assert_uint_eq(s.damaged_records, 3); /* nobody came across one */
	ck_assert(put(c, 3) && has(c, 3));
	cache_close(&c);
	end();
}
END_TEST

static _Atomic unsigned let_go;
static bool is_here;

static ssize_t
never_now(int fd, void *p, size_t n, off_t at)
{
	(void)fd, (void)p, (void)n, (void)at;
	errno = EAGAIN;
	return -1;
}

static bool
says_here(int fd, const void *view, uint64_t at, size_t n)
{
	(void)fd, (void)view, (void)at, (void)n;
	return is_here;
}

static void
count_let_go(int fd, off_t at, off_t n)
{
	(void)fd, (void)at, (void)n;
	let_go++;
}

/* A read that will not wait may fail though the page cache has everything: pages are locked for a moment. */
START_TEST(pages_that_were_in_memory_stay_there)
{
	struct diskio_ops ops = diskio_system;
	struct cache_stats s;
	ops.read_now = never_now;
	ops.is_cached = says_here;
	ops.let_go = count_let_go;
	begin();
	store_all();
	options.scrub_every_s = 1;
	options.ops = &ops;
	for (int here = 1; here >= 0; here--) {
		is_here = here;
		let_go = 0;
		struct cache *c = open_cache();
		cache_stats(c, &s);
		await(c, s.used_bytes);
		cache_close(&c);
		if (here)
			ck_assert_uint_eq(let_go, 0);
		else
			ck_assert_uint_ge(let_go, KEYS);
	}
	end();
}
END_TEST

/* At most as much as the time allows, and what was saved up. */
START_TEST(the_rate_is_bounded)
{
	begin();
	store_all();
	int64_t start = now_ms();
	options.scrub_every_s = 20;
	struct cache *c = open_cache();
	struct cache_stats s = await(c, 200000);
	double seconds = (double)(now_ms() - start + 1) / 1000;
	ck_assert_uint_le(s.scrubbed_bytes,
			  (uint64_t)((double)s.used_bytes / 20 * seconds) + 2 * MIB);
	cache_close(&c);
	options.scrub_every_s = 0;
	c = open_cache();
	for (int i = 0; i < KEYS; i++)
		ck_assert(put(c, i));
	cache_stats(c, &s);
	ck_assert_uint_eq(s.scrubbed_bytes, 0);
	cache_close(&c);
	end();
}
END_TEST

/* Meanwhile the log turns over, and everything else goes on. */
START_TEST(beside_writers_that_turn_the_log_over)
{
	begin();
	options.scrub_every_s = 1;
	struct cache *c = open_cache();
	struct cache_stats s = {0};
	for (int i = 0; s.written_bytes < 40 * MIB || s.scrubbed_bytes < 2 * MIB; i++) {
		char text[64];
		put(c, i % KEYS); /* it may be refused, or gone at once */
		has(c, i % KEYS);
		if (i % 10 == 0) /* a disk that is never idle is not checked */
			store_flush(c->disks[0].store);
		if (i % 7 == 0) {
			struct str key = key_of(i % KEYS, text);
			cache_remove(c, hash_of(c, key), key);
		}
		cache_stats(c, &s);
	}
	ck_assert_uint_eq(s.damaged_records, 0);
	cache_close(&c);
	end();
}
END_TEST

UNIT("scrub", TEST(what_is_right_stays), TEST(what_is_damaged_is_forgotten_before_it_is_asked_for),
     TEST(pages_that_were_in_memory_stay_there), TEST(the_rate_is_bounded),
     TEST(beside_writers_that_turn_the_log_over))
