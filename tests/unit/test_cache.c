/* test_cache.c - the door of the shelves, with a real directory under it.
 * rooms: cache http base filter
 */
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_files.h"
#include "proxy/cache/cache_forget.h"
#include "proxy/cache/cache_inside.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/cache/cache_write.h"
#include "proxy/cache/store/doubled.h"
#include "proxy/cache/store/store_inside.h"
#include "tests/kit/ask.h"
#include "tests/kit/own_cache.h"
#include "tests/kit/own_store.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>

static void
begin(void)
{
	begin_with((struct cache_options){.disk_bytes = 64 << 20, .memory_bytes = 8 << 20});
}

/* ---- what a key's object looks like: everything follows from key and size -------------------- */

/* Eight bytes at once: under ThreadSanitizer one by one is half of what this file costs. */
static void
body_of(const char *key, uint64_t at, char *to, size_t n)
{
	uint64_t x = 0;
	for (const char *p = key; *p; p++)
		x = x * 131 + (unsigned char)*p;
	for (size_t i = 0; i < n; i += 8) {
		uint64_t eight = 0;
		for (unsigned k = 0; k < 8; k++)
			eight |= ((x + (at + i + k) * 2654435761u) >> 7 & 0xff) << 8 * k;
		eight = htole64(eight);
		if (n - i >= 8)
			memcpy(to + i, &eight, 8);
		else
			memcpy(to + i, &eight, n - i);
	}
}

static struct terms
some_terms(void)
{
	return (struct terms){.response_time = 1000,
			      .lifetime = 60,
			      .last_modified = -1,
			      .status = 200,
			      .etag_at = 3,
			      .etag_bytes = 4,
			      .flags = TERMS_VARY};
}

static struct twice_key_hash
hash_of(struct cache *c, const char *key)
{
	return twice_key_hash_of(cache_seed(c), key, strlen(key));
}

struct purge {
	uint64_t at;
	bool had, durable;
};

static struct purge
purge(struct cache *c, enum forget_kind what, bool soft, struct twice_key_hash hash,
      struct str name)
{
	struct purged p = cache_purge(c, what, soft, hash, name);
	return (struct purge){p.at, p.had, cache_purge_wait(c, p.at)};
}

static struct object_write *
start_counted(struct cache *c, const char *key, uint64_t announced, bool disk, uint64_t *written)
{
	return cache_write_begin(c, &(struct write_options){
					    .hash = hash_of(c, key),
					    .key = str_of(key),
					    .head = str_of("HTTP/1.1 200 OK\r\n"),
					    .terms = some_terms(),
					    .body_bytes = announced,
					    .disk = disk,
					    .written = written,
				    });
}

static struct object_write *
start(struct cache *c, const char *key, uint64_t announced, bool disk)
{
	return start_counted(c, key, announced, disk, NULL);
}

static void
feed(struct object_write *w, const char *key, uint64_t from, uint64_t n)
{
	while (n) {
		uint32_t part = n < 30000 ? (uint32_t)n : 30000;
		struct block *b = block_create(part + 7);
		body_of(key, from, b->p + 7, part);
		b->n = part + 7;
		cache_write_body(w, b, 7, part);
		block_unref(&b);
		from += part;
		n -= part;
	}
}

static bool
store_key(struct cache *c, const char *key, uint64_t n, bool known, bool disk, bool admit)
{
	struct object_write *w = start(c, key, known ? n : UINT64_MAX, disk);
	feed(w, key, 0, n);
	struct object *o = cache_write_commit(&w, admit);
	bool yes = o;
	object_unref(&o);
	return yes;
}

/* ---- asking -------------------------------------------------------------------------------- */

static struct object *
look_up(struct cache *c, const char *key)
{
	return ask_look_up(c, &home, hash_of(c, key), str_of(key));
}

/* True when all of the body came and was right; a wrong byte fails the test. */
static bool
read_right(struct cache *c, struct object *o, const char *key)
{
	struct ask_body a = ASK_BODY(&home);
	char want[4096];
	uint64_t at = 0;
	while (at < o->body_bytes && ask_read(c, o, &a, at, sizeof want) == BODY_READY) {
		ck_assert(a.r.n > 0 && a.r.n <= sizeof want);
		body_of(key, at, want, a.r.n);
		ck_assert_mem_eq(a.r.p, want, a.r.n);
		at += a.r.n;
	}
	body_done(&a.r);
	return at == o->body_bytes;
}

static bool
has(struct cache *c, const char *key, uint64_t n)
{
	struct object *o = look_up(c, key);
	if (!o)
		return false;
	ck_assert(str_eq(o->key, str_of(key)));
	ck_assert_uint_eq(o->body_bytes, n);
	ck_assert(str_starts(o->head, str_of("HTTP/1.1 200 OK\r\n")));
	ck_assert_int_eq(o->terms.status, 200);
	ck_assert_int_eq(o->terms.last_modified, -1);
	bool right = read_right(c, o, key);
	object_unref(&o);
	return right;
}

/* ---- tests --------------------------------------------------------------------------------- */

static const struct {
	const char *says;
	uint64_t n;
	bool known, disk, admit, want;
} writes[] = {
	{"a first sighting lives in RAM", 8000, true, false, false, true},
	{"of unknown length too", 8000, false, false, false, true},
	{"no body at all", 0, true, false, false, true},
	{"no body, on disk", 0, true, true, false, true},
	{"small, on disk", 8000, true, true, false, true},
	{"small, of unknown length, on disk", 8000, false, true, false, true},
	{"admitted when it was whole", 8000, true, false, true, true},
	{"exactly one block", 126976, true, true, false, true},
	{"a byte more than one block", 126977, true, true, false, true},
	{"large, on disk", 3000000, true, true, false, true},
	{"large, of unknown length, on disk", 3000000, false, true, false, true},
	{"large in RAM, then admitted", 1000000, true, false, true, true},
	{"too large for RAM and not admitted", 7000000, true, false, false, false},
	{"larger than the disk takes", 40000000, true, true, false, false},
	{"larger than the disk takes, found out late", 40000000, false, true, false, false},
};

START_TEST(written_is_visible_at_once_and_after_a_restart)
{
	begin();
	struct cache *c = open_cache();
	bool disk = writes[_i].disk || writes[_i].admit;
	uint64_t n = writes[_i].n;
	ck_assert_msg(store_key(c, "k", n, writes[_i].known, writes[_i].disk, writes[_i].admit) ==
			      writes[_i].want,
		      "%s", writes[_i].says);
	ck_assert_msg(has(c, "k", n) == writes[_i].want, "%s", writes[_i].says);
	if (c->disks[0].store)
		store_flush(c->disks[0].store);
	ck_assert_msg(has(c, "k", n) == writes[_i].want, "%s", writes[_i].says);
	ck_assert(!has(c, "other", n));
	cache_close(&c);
	c = open_cache();
	ck_assert_msg(has(c, "k", n) == (writes[_i].want && disk), "%s", writes[_i].says);
	struct cache_stats s;
	cache_stats(c, &s);
	ck_assert_uint_eq(s.damaged_records, 0);
	cache_close(&c);
	end();
}
END_TEST

START_TEST(cut_short_is_never_stored)
{
	begin();
	struct cache *c = open_cache();
	for (int disk = 0; disk < 2; disk++) {
		struct object_write *w = start(c, "short", 500000, disk);
		feed(w, "short", 0, 499999);
		ck_assert_ptr_null(cache_write_commit(&w, true));
		w = start(c, "long", 500, disk);
		feed(w, "long", 0, 501);
		ck_assert_ptr_null(cache_write_commit(&w, true));
		w = start(c, "left", 500, disk);
		feed(w, "left", 0, 200);
		cache_write_abandon(&w);
		ck_assert_ptr_null(w);
	}
	ck_assert(!has(c, "short", 500000) && !has(c, "long", 500) && !has(c, "left", 500));
	cache_close(&c);
	end();
}
END_TEST

/* Not when it is begun, and not twice. */
START_TEST(what_goes_to_the_disk_is_counted_when_it_does)
{
	enum { LARGE = 20 << 20, SMALL = 9000 };
	uint64_t n = 0;
	begin();
	options.memory_bytes = 32 << 20;
	struct cache *c = open_cache();
	struct object_write *w = start_counted(c, "large", LARGE, true, &n);
	ck_assert_uint_eq(n, 0);
	feed(w, "large", 0, LARGE / 2);
	ck_assert_uint_le(n, LARGE / 2);
	ck_assert_uint_ge(n, LARGE / 2 - 2 * c->block_bytes);
	uint64_t half = n;
	cache_write_abandon(&w);
	ck_assert_uint_eq(n, half); /* that was written, if in vain */
	n = 0;
	w = start_counted(c, "large", LARGE, true, &n);
	feed(w, "large", 0, LARGE);
	struct object *o = cache_write_commit(&w, false);
	ck_assert_uint_eq(n, cache_record_bytes(5, 17, LARGE));
	object_unref(&o);
	n = 0;
	w = start_counted(c, "k", SMALL, true, &n);
	feed(w, "k", 0, SMALL);
	ck_assert_uint_eq(n, 0);
	o = cache_write_commit(&w, false);
	ck_assert_uint_eq(n, cache_record_bytes(1, 17, SMALL));
	object_unref(&o);
	for (int i = 0; i < 4; i++) /* read into RAM */
		ck_assert(has(c, "k", SMALL));
	n = 0;
	w = start_counted(c, "k", SMALL, false, &n);
	feed(w, "k", 0, SMALL);
	o = cache_write_commit(&w, false);
	ck_assert_int_eq(o->on_disk, 1); /* the same again: as it was */
	ck_assert_uint_eq(n, 0);
	object_unref(&o);
	cache_close(&c);
	end();
}
END_TEST

START_TEST(second_sighting_is_written_from_ram)
{
	begin();
	options.segment_bytes = 1 << 20;
	struct cache *c = open_cache();
	ck_assert(store_key(c, "a", 9000, true, false, false));
	ck_assert(store_key(c, "big", 900000, true, false, false));
	struct object *a = look_up(c, "a"), *big = look_up(c, "big");
	ck_assert_int_eq(a->on_disk, 0);
	ck_assert_int_eq(a->place, OBJECT_IN_RAM);
	cache_admit(c, a);
	cache_admit(c, a); /* once is enough */
	cache_admit(c, big);
	ck_assert_int_eq(a->on_disk, 1);
	object_unref(&a);
	object_unref(&big);
	store_flush(c->disks[0].store);
	struct cache_stats s;
	cache_stats(c, &s);
	ck_assert_uint_eq(s.objects, 2);
	ck_assert_uint_ge(s.written_bytes, 909000);
	ck_assert_uint_le(s.written_bytes, 909000 + 8192 + 16384);
	cache_close(&c);
	c = open_cache();
	ck_assert(has(c, "a", 9000) && has(c, "big", 900000));
	cache_close(&c);
	end();
}
END_TEST

START_TEST(removed_is_gone_also_after_a_restart)
{
	begin();
	struct cache *c = open_cache();
	ck_assert(store_key(c, "ram", 900, true, false, false));
	ck_assert(store_key(c, "disk", 900, true, true, false));
	ck_assert(store_key(c, "both", 900, true, false, true));
	ck_assert(cache_remove(c, hash_of(c, "ram"), str_of("ram")));
	ck_assert(cache_remove(c, hash_of(c, "disk"), str_of("disk")));
	ck_assert(cache_remove(c, hash_of(c, "both"), str_of("both")));
	ck_assert(!cache_remove(c, hash_of(c, "both"), str_of("both")));
	for (int again = 0; again < 2; again++) {
		ck_assert(!has(c, "ram", 900) && !has(c, "disk", 900) && !has(c, "both", 900));
		cache_close(&c);
		c = open_cache();
	}
	cache_close(&c);
	end();
}
END_TEST

START_TEST(newer_replaces_older_wherever_it_was)
{
	begin();
	struct cache *c = open_cache();
	for (int first = 0; first < 4; first++)
		for (int second = 0; second < 4; second++) {
			ck_assert(store_key(c, "k", 100, true, first & 1, first >> 1));
			ck_assert(store_key(c, "k", 200, true, second & 1, second >> 1));
			ck_assert(has(c, "k", 200));
		}
	/* The last was on disk; one that lives in RAM only drops it from there too. */
	ck_assert(store_key(c, "k", 300, true, false, false));
	cache_close(&c);
	c = open_cache();
	ck_assert(!look_up(c, "k"));
	cache_close(&c);
	end();
}
END_TEST

static void
refresh_and_check(struct cache *c, uint64_t n, const char *head)
{
	struct object *o = look_up(c, "k");
	ck_assert_ptr_nonnull(o);
	struct terms t = o->terms;
	t.response_time += 100;
	struct object *new = cache_refresh(c, o, str_of(head), STR(""), &t, cache_now(c));
	object_unref(&o);
	ck_assert(read_right(c, new, "k"));
	object_unref(&new);
	o = look_up(c, "k");
	ck_assert_ptr_nonnull(o);
	ck_assert(str_eq(o->head, str_of(head)));
	ck_assert_int_eq(o->terms.response_time, t.response_time);
	ck_assert_uint_eq(o->body_bytes, n);
	ck_assert(read_right(c, o, "k"));
	object_unref(&o);
}

static const struct {
	uint64_t n;
	bool disk, admit;
} refreshed[] = {{0, true, false},   {900, false, false},   {900, true, false},
		 {900, false, true}, {900000, true, false}, {900000, false, true}};

START_TEST(refresh_keeps_the_body)
{
	begin();
	struct cache *c = open_cache();
	uint64_t n = refreshed[_i].n;
	bool disk = refreshed[_i].disk || refreshed[_i].admit;
	ck_assert(store_key(c, "k", n, true, refreshed[_i].disk, refreshed[_i].admit));
	store_flush(c->disks[0].store);
	struct cache_stats before, after;
	cache_stats(c, &before);
	refresh_and_check(c, n, "HTTP/1.1 200 OK\r\nX: 1\r\n");
	refresh_and_check(c, n, "HTTP/1.1 200 OK\r\nX: 22\r\n");
	store_flush(c->disks[0].store);
	cache_stats(c, &after);
	ck_assert_uint_le(after.written_bytes - before.written_bytes, disk ? 8192 : 0);
	cache_close(&c);
	c = open_cache();
	if (disk) {
		ck_assert(has(c, "k", n));
		refresh_and_check(c, n, "HTTP/1.1 200 OK\r\nX: 333\r\n");
		cache_close(&c);
		c = open_cache();
	}
	ck_assert(has(c, "k", n) == disk);
	cache_close(&c);
	end();
}
END_TEST

/* A popular object that is validated all the time: the disk hears of it when RAM lets go of it, or
 * at the end. A crash leaves the older head, and what was purged stays purged. */
enum ending { RAM_LETS_GO, STOPPED, KILLED, PURGED, ENDINGS };

static void
validate_often(struct cache *c, enum ending how)
{
	struct cache_stats before, after;
	ck_assert(store_key(c, "k", 900, true, true, false));
	for (int i = 0; i < 3; i++)
		ck_assert(has(c, "k", 900)); /* into RAM */
	store_flush(c->disks[0].store);
	cache_stats(c, &before);
	for (int i = 0; i < 1000; i++) {
		char head[64];
		snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nX: %d\r\n", i);
		refresh_and_check(c, 900, head);
	}
	store_flush(c->disks[0].store);
	cache_stats(c, &after);
	ck_assert_uint_eq(after.written_bytes, before.written_bytes);
	ck_assert_uint_eq(after.refused_writes, 0);
	if (how == PURGED) /* and then let go */
		ck_assert(purge(c, FORGET_ALL, false, (struct twice_key_hash){0}, STR("")).durable);
	for (int i = 0; how != STOPPED && i < 5000; i++) {
		char key[32];
		snprintf(key, sizeof key, "other-%d", i);
		store_key(c, key, 500, true, false, false);
		if (how == KILLED)
			break;
	}
	store_flush(c->disks[0].store);
	if (how == KILLED)
		_exit(0);
}

START_TEST(a_refreshed_head_is_written_when_ram_lets_go)
{
	static const char *const want[] = {"X: 999\r\n", "X: 999\r\n", "OK\r\n", NULL};
	begin();
	options.memory_bytes = 1 << 20;
	pid_t child = fork();
	if (child == 0) {
		struct cache *c = open_cache();
		validate_often(c, (enum ending)_i);
		struct object *o = look_up(c, "k"); /* also before the end */
		ck_assert(_i == STOPPED || !o || o->place == OBJECT_ON_DISK);
		object_unref(&o);
		cache_close(&c);
		_exit(0);
	}
	int status;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	struct cache *c = open_cache();
	struct object *o = look_up(c, "k");
	ck_assert_int_eq(o != NULL, want[_i] != NULL);
	if (o) {
		struct str tail = str_from(o->head, o->head.n - strlen(want[_i]));
		ck_assert(str_eq(tail, str_of(want[_i])));
		ck_assert(read_right(c, o, "k"));
		object_unref(&o);
	}
	cache_close(&c);
	end();
}
END_TEST

/* Fetched again without being written (a client's reload), then hit, and so on: the same body is
 * not written again; another one is, once. */
START_TEST(the_same_body_again_is_not_written_again)
{
	static const uint64_t sizes_of[] = {9000, 400000};
	uint64_t n = sizes_of[_i];
	begin();
	options.memory_bytes = 32 << 20;
	struct cache *c = open_cache();
	struct cache_stats before, after;
	struct object *o;
	ck_assert(store_key(c, "k", n, true, false, true)); /* in RAM and on disk */
	ck_assert(has(c, "k", n));
	store_flush(c->disks[0].store);
	cache_stats(c, &before);
	for (int i = 0; i < 100; i++) {
		ck_assert(store_key(c, "k", n, true, false, false));
		o = look_up(c, "k");
		ck_assert_int_eq(o->on_disk, 1);
		ck_assert(!cache_admit(c, o));
		ck_assert(read_right(c, o, "k"));
		object_unref(&o);
	}
	store_flush(c->disks[0].store);
	cache_stats(c, &after);
	ck_assert_uint_eq(after.written_bytes, before.written_bytes);
	ck_assert_uint_eq(after.refused_writes, 0);
	cache_close(&c);
	c = open_cache();
	ck_assert(has(c, "k", n));
	ck_assert(has(c, "k", n) && has(c, "k", n));
	ck_assert(store_key(c, "k", n - 1, true, false, false)); /* another body */
	o = look_up(c, "k");
	ck_assert_uint_eq(o->body_bytes, n - 1);
	ck_assert_int_eq(o->on_disk, 0);
	ck_assert(cache_admit(c, o));
	object_unref(&o);
	cache_close(&c);
	end();
}
END_TEST

START_TEST(refresh_of_what_was_removed_brings_nothing_back)
{
	begin();
	struct cache *c = open_cache();
	for (int disk = 0; disk < 2; disk++) {
		ck_assert(store_key(c, "k", 900, true, disk, false));
		struct object *o = look_up(c, "k");
		cache_remove(c, o->hash, o->key);
		struct object *new = cache_refresh(c, o, o->head, o->tags, &o->terms, cache_now(c));
		ck_assert(read_right(c, new, "k"));
		cache_admit(c, o);
		object_unref(&o);
		object_unref(&new);
		ck_assert_ptr_null(look_up(c, "k"));
	}
	cache_close(&c);
	end();
}
END_TEST

START_TEST(second_disk_hit_moves_into_ram)
{
	begin();
	struct cache *c = open_cache();
	ck_assert(store_key(c, "k", 9000, true, true, false));
	enum object_place want[] = {OBJECT_ON_DISK, OBJECT_ON_DISK, OBJECT_IN_RAM};
	for (int i = 0; i < 3; i++) {
		struct object *o = look_up(c, "k");
		ck_assert_int_eq(o->place, want[i]);
		ck_assert_int_eq(o->on_disk, 1);
		ck_assert(read_right(c, o, "k"));
		object_unref(&o);
	}
	cache_close(&c);
	end();
}
END_TEST

START_TEST(works_without_a_disk)
{
	begin();
	options.dir = NULL;
	struct cache *c = open_cache();
	ck_assert(store_key(c, "k", 9000, true, true, true));
	ck_assert(has(c, "k", 9000));
	struct object *o = look_up(c, "k");
	cache_admit(c, o);
	object_unref(&o);
	refresh_and_check(c, 9000, "HTTP/1.1 200 OK\r\nX: 1\r\n");
	ck_assert(cache_remove(c, hash_of(c, "k"), str_of("k")));
	ck_assert(!has(c, "k", 9000));
	ck_assert_int_eq(cache_open_file(c, "x"), -1);
	cache_close(&c);
	end();
}
END_TEST

static void
expect_refused(const char *words)
{
	struct cache *c = NULL;
	char err[512] = "";
	ck_assert_int_eq(cache_open(&c, &options, err, sizeof err), -1);
	ck_assert_msg(strstr(err, words), "\"%s\" does not say \"%s\"", err, words);
}

static void
put_file(const char *name, const char *text)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

START_TEST(unusable_directories_are_named)
{
	begin();
	char path[512];
	put_file("plain", "x");
	snprintf(path, sizeof path, "%s/plain", dir);
	options.dir = path;
	expect_refused("plain");
	snprintf(path, sizeof path, "%s/plain/below", dir);
	expect_refused("plain/below");
	options.dir = dir;
	options.disk_bytes = 1 << 20;
	expect_refused("too few");
	options.disk_bytes = 64 << 20;
	static const char newer[] = "twice cache format 3, segments of 1048576 bytes\n";
	int fd = open(dir, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(doubled_write(fd, "format", newer, sizeof newer - 1), 0);
	expect_refused("format 3");
	unlinkat(fd, "seed", 0); /* nothing says that this directory is ours */
	unlinkat(fd, "seed.copy", 0);
	unlinkat(fd, "format.copy", 0);
	put_file("format", "shopping list\n");
	expect_refused("did not write");
	close(fd);
	end();
}
END_TEST

START_TEST(one_process_per_directory)
{
	begin();
	struct cache *c = open_cache();
	char pid[32];
	snprintf(pid, sizeof pid, "process %d", (int)getpid());
	expect_refused(pid);
	cache_close(&c);
	c = open_cache();
	cache_close(&c);
	end();
}
END_TEST

static int
fill(int (*write_more)(void *, const void *, size_t), void *to, void *ctx)
{
	static const char some[100000] = {1};
	for (int i = 0; i < *(int *)ctx; i++)
		if (write_more(to, some, sizeof some) != 0)
			return -1;
	return 0;
}

START_TEST(files_beside_the_log_have_a_limit)
{
	begin();
	struct cache *c = open_cache();
	int n = 5;
	ck_assert_int_eq(cache_open_file(c, "filter"), -1);
	ck_assert_int_eq(cache_save_file(c, "filter", fill, &n), 0);
	ck_assert_int_eq(cache_save_file(c, "filter", fill, &n), 0);
	int fd = cache_open_file(c, "filter");
	ck_assert_int_eq(lseek(fd, 0, SEEK_END), 500000);
	n = 50; /* a thirty-second of 64 MiB is 2 MiB, for old and new */
	ck_assert_int_eq(cache_save_file(c, "filter", fill, &n), -1);
	ck_assert_int_eq(lseek(fd, 0, SEEK_END), 500000);
	close(fd);
	cache_close(&c);
	end();
}
END_TEST

static int
fill_and_ask(int (*write_more)(void *, const void *, size_t), void *to, void *ctx)
{
	struct cache_stats s;
	cache_stats(ctx, &s); /* as another thread may, while this write hangs */
	return write_more(to, "x", 1);
}

START_TEST(a_file_that_is_being_saved_holds_up_nobody_who_asks)
{
	begin();
	struct cache *c = open_cache();
	struct cache_stats before, after;
	cache_stats(c, &before);
	ck_assert_int_eq(cache_save_file(c, "filter", fill_and_ask, c), 0);
	cache_stats(c, &after);
	ck_assert_uint_eq(after.used_bytes, before.used_bytes + 1);
	cache_close(&c);
	end();
}
END_TEST

/* The log turns over many times; sizes of all kinds; the limit holds at every look. */
START_TEST(limit_is_never_exceeded_but_used)
{
	begin();
	options.disk_bytes = 32 << 20;
	options.memory_bytes = 0; /* what the disk refuses is stored nowhere */
	struct cache *c = open_cache();
	struct cache_stats s;
	uint64_t most = 0;
	for (int i = 0; i < 1600; i++) {
		char key[32];
		snprintf(key, sizeof key, "key-%d", i);
		uint64_t n = i % 50 ? (uint64_t)(i * 7919) % 60000 : 1500000;
		/* faster than the disk: more than 64 MiB wait */
		unit_wait_until(store_key(c, key, n, i & 1, true, false));
		if (i % 20 == 0) {
			unsigned long long bytes = tmpdir_bytes(dir);
			ck_assert_msg(bytes <= options.disk_bytes, "%llu at %d", bytes, i);
			cache_stats(c, &s);
			most = s.used_bytes > most ? s.used_bytes : most;
		}
	}
	cache_stop(c); /* what waits to be written has evicted nothing yet */
	cache_stats(c, &s);
	ck_assert_uint_eq(s.evicted_objects + s.objects, 1600);
	ck_assert_uint_le(s.objects, 800); /* of three times what the log takes */
	ck_assert_uint_ge(most, options.disk_bytes * 89 / 100); /* test_ledger: 9 tenths */
	ck_assert_uint_le(tmpdir_bytes(dir), options.disk_bytes);
	cache_close(&c);
	ck_assert_uint_le(tmpdir_bytes(dir), options.disk_bytes);
	end();
}
END_TEST

static uint64_t
os_written(void)
{
	FILE *f = fopen("/proc/self/io", "r");
	char line[128];
	unsigned long long n = 0;
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "write_bytes: %llu", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

START_TEST(written_bytes_are_what_the_system_counts)
{
	begin();
	struct cache *c = open_cache();
	uint64_t before = os_written();
	struct cache_stats s;
	for (int i = 0; i < 4000; i++) {
		char key[32];
		snprintf(key, sizeof key, "key-%d", i);
		ck_assert(store_key(c, key, (uint64_t)(i * 7919) % 60000, true, true, false));
		if (i % 16 == 0) { /* as fast as segments are emptied, not faster */
			store_flush(c->disks[0].store);
			await_room(c->disks[0].store);
		}
	}
	store_flush(c->disks[0].store);
	uint64_t os = os_written() - before;
	cache_stats(c, &s);
	if (os) { /* else a memory file system, or no accounting */
		ck_assert_uint_le(s.written_bytes, os * 102 / 100);
		ck_assert_uint_ge(s.written_bytes, os * 98 / 100);
	}
	cache_close(&c);
	end();
}
END_TEST

/* ---- a disk whose pages are never in memory: everything comes home by letter ----------------- */

static ssize_t
never_now(int fd, void *p, size_t n, off_t at)
{
	(void)fd, (void)p, (void)n, (void)at;
	errno = EAGAIN;
	return -1;
}

static _Atomic unsigned damage; /* flips a bit in every so many reads */

static ssize_t
read_damaged(int fd, void *p, size_t n, off_t at)
{
	static _Atomic unsigned reads;
	ssize_t got = pread(fd, p, n, at);
	if (got > 0 && damage && ++reads % damage == 0)
		((char *)p)[(size_t)(reads * 7919) % (size_t)got] ^= 4;
	return got;
}

static struct diskio_ops cold_disk;

static void
use_cold_disk(void)
{
	cold_disk = *unsynced_disk();
	cold_disk.read_now = never_now;
	cold_disk.read = read_damaged;
	options.ops = &cold_disk;
}

/* ---- a disk that hangs until the gate is opened ---------------------------------------------- */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_moved = PTHREAD_COND_INITIALIZER;
static bool gate_open;
static unsigned gate_reads; /* that came to it */

static ssize_t
read_at_gate(int fd, void *p, size_t n, off_t at)
{
	pthread_mutex_lock(&gate);
	gate_reads++;
	pthread_cond_broadcast(&gate_moved);
	while (!gate_open)
		pthread_cond_wait(&gate_moved, &gate);
	pthread_mutex_unlock(&gate);
	return pread(fd, p, n, at);
}

static void
open_gate(bool open)
{
	pthread_mutex_lock(&gate);
	gate_open = open;
	gate_reads = open ? gate_reads : 0;
	pthread_cond_broadcast(&gate_moved);
	pthread_mutex_unlock(&gate);
}

static void
await_reads(unsigned n)
{
	pthread_mutex_lock(&gate);
	while (gate_reads < n)
		pthread_cond_wait(&gate_moved, &gate);
	pthread_mutex_unlock(&gate);
}

static void
use_gated_disk(void)
{
	use_cold_disk();
	cold_disk.read = read_at_gate;
	open_gate(true);
}

/* A crowd of lookups, each with a reader of the body that begins when its object is here. */
enum { CROWD = 100 };

static struct caller {
	struct cache_lookup l; /* first */
	struct body_read r;
	struct object *o;
	bool done;
} crowd[CROWD];

static unsigned crowd_done;

static void
on_caller(struct cache_lookup *l, struct object *o)
{
	struct caller *who = (struct caller *)l;
	who->o = o;
	who->done = true;
	crowd_done++;
}

static void
on_caller_body(struct body_read *r)
{
	struct caller *who = (struct caller *)((char *)r - offsetof(struct caller, r));
	who->done = true;
	crowd_done++;
}

static void
run_home(unsigned until)
{
	while (crowd_done < until) {
		struct pollfd p = {home.fd, POLLIN, 0};
		poll(&p, 1, 1000);
		mailbox_run(&home, true);
	}
}

static void
crowd_looks_up(struct cache *c)
{
	crowd_done = 0;
	for (int i = 0; i < CROWD; i++) {
		crowd[i] = (struct caller){.l = {.home = &home, .done = on_caller},
					   .r = {.home = &home, .done = on_caller_body}};
		ck_assert_int_eq(
			cache_lookup(c, &crowd[i].l, hash_of(c, "k"), str_of("k"), &crowd[i].o),
			FOUND_LATER);
	}
}

static const struct {
	uint64_t n;
	unsigned reads; /* of the record, and early of the body's beginning */
} sizes[] = {{9000, 1}, {900000, 2}};

/* A hundred clients that ask for one cold object cost its reads once, and so does each piece. */
START_TEST(a_crowd_reads_once)
{
	begin();
	options.memory_bytes = 0;
	use_gated_disk();
	struct cache *c = open_cache();
	ck_assert(store_key(c, "k", sizes[_i].n, true, true, false));
	store_flush(c->disks[0].store);
	open_gate(false);
	crowd_looks_up(c);
	await_reads(1);
	open_gate(true);
	run_home(CROWD);
	ck_assert_uint_eq(gate_reads, sizes[_i].reads);
	open_gate(false);
	crowd_done = 0;
	unsigned later = 0;
	for (int i = 0; i < CROWD; i++) { /* all ask for the third piece */
		ck_assert_ptr_nonnull(crowd[i].o);
		later += sizes[_i].reads > 1 &&
			 object_read(c, crowd[i].o, &crowd[i].r, 300000, 1000) == BODY_LATER;
	}
	ck_assert_uint_eq(later, sizes[_i].reads > 1 ? CROWD : 0);
	open_gate(true);
	run_home(later);
	ck_assert_uint_eq(gate_reads, later ? 1 : 0);
	for (int i = 0; i < CROWD; i++) {
		body_done(&crowd[i].r);
		ck_assert(i % 10 || read_right(c, crowd[i].o, "k"));
		object_unref(&crowd[i].o);
	}
	cache_close(&c);
	end();
}
END_TEST

struct racer {
	pthread_t thread;
	pthread_barrier_t *begin;
	struct cache *c;
	struct object *o;
};

static void *
read_its_beginning(void *ctx)
{
	struct racer *r = ctx;
	struct mailbox own;
	char want[1000];
	mailbox_init(&own);
	struct ask_body a = ASK_BODY(&own);
	pthread_barrier_wait(r->begin);
	ck_assert_int_eq(ask_read(r->c, r->o, &a, 0, sizeof want), BODY_READY);
	body_of("k", 0, want, a.r.n);
	ck_assert_mem_eq(a.r.p, want, a.r.n);
	body_done(&a.r);
	mailbox_fini(&own);
	return NULL;
}

/* An object that a lookup brought, with the beginning of its body, may become that of several: the origin
 * said that it is good, and it is handed on as it is (serve/learn.c). */
START_TEST(what_a_lookup_read_early_is_taken_once)
{
	enum { RACERS = 4, ROUNDS = 300 };
	struct racer all[RACERS];
	pthread_barrier_t begin_now;
	begin();
	options.memory_bytes = 0;
	options.verify_always = true;
	struct cache *c = open_cache();
	pthread_barrier_init(&begin_now, NULL, RACERS);
	ck_assert(store_key(c, "k", 900000, true, true, false));
	store_flush(c->disks[0].store);
	for (int round = 0; round < ROUNDS; round++) {
		struct object *o = look_up(c, "k");
		ck_assert_ptr_nonnull(o);
		for (int i = 0; i < RACERS; i++) {
			all[i] = (struct racer){.begin = &begin_now, .c = c, .o = o};
			pthread_create(&all[i].thread, NULL, read_its_beginning, &all[i]);
		}
		for (int i = 0; i < RACERS; i++)
			pthread_join(all[i].thread, NULL);
		object_unref(&o);
	}
	pthread_barrier_destroy(&begin_now);
	cache_close(&c);
	end();
}
END_TEST

static void *
stop(void *cache)
{
	cache_stop(cache);
	return NULL;
}

/* The server stops while reads hang in I/O threads: they end, their letters come home, and are
 * opened when the threads are gone; then what they brought is given back (node/server.c). */
START_TEST(a_read_outlasts_the_drain)
{
	begin();
	options.memory_bytes = 1 << 20;
	use_gated_disk();
	struct cache *c = open_cache();
	pthread_t stopper;
	ck_assert(store_key(c, "k", 900000, true, true, false));
	ck_assert(store_key(c, "other", 900000, true, true, false));
	store_flush(c->disks[0].store);
	struct object *o = look_up(c, "other");
	struct ask_body a = ASK_BODY(&home);
	open_gate(false);
	ck_assert_int_eq(object_read(c, o, &a.r, 300000, 1000), BODY_LATER);
	crowd_looks_up(c);
	await_reads(2);
	object_unref(&o); /* its reader's client is gone; the read is not */
	pthread_create(&stopper, NULL, stop, c);
	open_gate(true);
	pthread_join(stopper, NULL);
	ck_assert(!a.is_done);
	ck_assert_uint_eq(crowd_done, 0);
	mailbox_run(&home, true);
	ck_assert(a.is_done);
	ck_assert_uint_eq(crowd_done, CROWD);
	body_done(&a.r);
	for (int i = 0; i < CROWD; i++)
		object_unref(&crowd[i].o);
	cache_close(&c);
	end();
}
END_TEST

/* Lookups and bodies that the disk does not read in time are misses, and while it hangs nobody else
 * waits for it; what comes back late is dropped. */
START_TEST(a_disk_that_hangs_is_passed_by)
{
	begin();
	options.memory_bytes = 1 << 20;
	options.read_limit_ms = 40;
	use_gated_disk();
	struct cache *c = open_cache();
	struct cache_stats s;
	ck_assert(store_key(c, "k", 900000, true, true, false));
	ck_assert(store_key(c, "other", 900000, true, true, false));
	store_flush(c->disks[0].store);
	struct object *o, *none;
	while (!(o = look_up(c, "other"))) /* a busy machine may be late as well */
		continue;
	struct ask_body a = ASK_BODY(&home);
	open_gate(false);
	ck_assert_int_eq(ask_read(c, o, &a, 300000, 1000), BODY_BAD);
	body_done(&a.r);
	do /* the body's read was late first */
		cache_stats(c, &s);
	while (!s.failing);
	struct cache_lookup l = {.home = &home};
	ck_assert_int_eq(cache_lookup(c, &l, hash_of(c, "k"), str_of("k"), &none), FOUND_NOT);
	open_gate(true);
	do
		cache_stats(c, &s);
	while (s.failing);
	while (!has(c, "k", 900000)) /* a busy machine may be late as well */
		continue;
	open_gate(false);
	crowd_looks_up(c); /* one reads, the others wait for it */
	run_home(CROWD);
	for (int i = 0; i < CROWD; i++)
		ck_assert_ptr_null(crowd[i].o);
	open_gate(true);
	do
		cache_stats(c, &s);
	while (s.failing);
	while (!has(c, "k", 900000)) /* a busy machine may be late as well */
		continue;
	ck_assert_uint_eq(s.damaged_records, 0);
	object_unref(&o);
	cache_close(&c);
	end();
}
END_TEST

START_TEST(cold_reads_come_home_by_letter)
{
	begin();
	use_cold_disk();
	struct cache *c = open_cache();
	ck_assert(store_key(c, "small", 9000, true, true, false));
	ck_assert(store_key(c, "large", 2000000, true, true, false));
	store_flush(c->disks[0].store);
	for (int i = 0; i < 3; i++)
		ck_assert(has(c, "small", 9000) && has(c, "large", 2000000) && !has(c, "none", 1));
	cache_close(&c);
	end();
}
END_TEST

START_TEST(damaged_reads_are_misses_and_counted)
{
	begin();
	use_cold_disk();
	options.memory_bytes = 0;
	struct cache *c = open_cache();
	char key[32];
	damage = 3;
	unsigned right = 0;
	for (int i = 0; i < 300; i++) {
		snprintf(key, sizeof key, "key-%d", i);
		ck_assert(store_key(c, key, i % 10 ? 3000 : 300000, true, true, false));
		store_flush(c->disks[0].store);
		right += has(c, key, i % 10 ? 3000 : 300000); /* every byte that comes is right */
	}
	damage = 0;
	struct cache_stats s;
	cache_stats(c, &s);
	ck_assert_uint_gt(right, 100);
	ck_assert_uint_gt(s.damaged_records, 50);
	cache_close(&c);
	end();
}
END_TEST

/* One flipped byte in a large body: at most one reader is cut, the next one has a miss. */
START_TEST(a_damaged_piece_is_a_miss_or_makes_the_next_one_a_miss)
{
	begin();
	if (_i & 1)
		use_cold_disk();
	options.memory_bytes = 0;
	struct cache *c = open_cache();
	ck_assert(store_key(c, "k", 600000, true, true, false));
	struct object *o = look_up(c, "k");
	struct locator at = stored_of(o)->placement.fragments[_i >> 1].at;
	object_unref(&o);
	store_flush(c->disks[0].store);
	char path[512], byte;
	snprintf(path, sizeof path, "%s/segment.%05u", dir, at.segment);
	int fd = open(path, O_RDWR);
	off_t where = (off_t)at.offset * SEGMENT_ALIGN + 100;
	ck_assert_int_eq(pread(fd, &byte, 1, where), 1);
	byte ^= 1;
	ck_assert_int_eq(pwrite(fd, &byte, 1, where), 1);
	close(fd);
	o = look_up(c, "k");
	if (_i >> 1 == 0) {
		ck_assert_ptr_null(o); /* nothing was sent: a miss */
	} else {
		ck_assert(!read_right(c, o, "k"));
		object_unref(&o);
	}
	ck_assert_ptr_null(look_up(c, "k"));
	struct cache_stats s;
	cache_stats(c, &s);
	ck_assert_uint_eq(s.damaged_records, 1);
	ck_assert(store_key(c, "k", 600000, true, true, false));
	ck_assert(has(c, "k", 600000));
	cache_close(&c);
	end();
}
END_TEST

/* A read failed once, and the record is where it was: what is invalidated then stays so. */
START_TEST(what_the_index_lost_is_forgotten_behind_a_restart_too)
{
	begin();
	struct cache *c = open_cache();
	ck_assert(store_key(c, "http://h/k", 3000, true, true, false));
	struct object *o = look_up(c, "http://h/k");
	struct locator at = stored_of(o)->placement.at;
	object_unref(&o);
	store_flush(c->disks[0].store);
	ram_empty(c->ram);
	store_forget(c->disks[0].store, hash_of(c, "http://h/k"), &at);
	cache_forget(c, hash_of(c, "http://h/k"), STR("http://h/k"), STR(""), UINT64_MAX);
	cache_close(&c);
	c = open_cache();
	ck_assert_ptr_null(look_up(c, "http://h/k"));
	cache_close(&c);
	end();
}
END_TEST

/* Older programs kept a 206 so, in RAM alone. Were it on a disk, it would stand for nothing but itself. */
START_TEST(what_lies_under_a_key_that_nobody_makes_harms_nothing)
{
	static const char url[] = "http://h/k", left[] = "http://h/k\n%part";
	begin();
	struct cache *c = open_cache();
	struct write_options odd = {
		.hash = hash_of(c, left),
		.key = STR(left),
		.head = STR("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-8/9000\r\n"),
		.terms = some_terms(),
		.kind = OBJECT_RESPONSE,
		.body_bytes = 9,
		.disk = true,
	};
	odd.terms.status = 206;
	struct object_write *w = cache_write_begin(c, &odd);
	feed(w, left, 0, 9);
	struct object *o = cache_write_commit(&w, false);
	ck_assert_ptr_nonnull(o);
	object_unref(&o);
	cache_close(&c);
	c = open_cache();
	ck_assert_ptr_null(look_up(c, url));
	ck_assert(store_key(c, url, 9000, true, true, false));
	ck_assert(has(c, url, 9000));
	o = look_up(c, left);
	ck_assert(o && o->body_bytes == 9);
	object_unref(&o);
	purge(c, FORGET_URL, false, hash_of(c, url), STR(url)); /* it goes with its URL */
	ck_assert_ptr_null(look_up(c, left));
	ck_assert_ptr_null(look_up(c, url));
	struct cache_stats s;
	cache_stats(c, &s);
	ck_assert_uint_eq(s.damaged_records, 0);
	cache_close(&c);
	end();
}
END_TEST

/* All is written, and there are as many free segments as there should be. */
static void
settle(struct cache *c)
{
	store_flush(c->disks[0].store);
	for (bool busy = true; busy;) {
		pthread_mutex_lock(&c->disks[0].store->lock);
		busy = c->disks[0].store->preparing;
		pthread_mutex_unlock(&c->disks[0].store->lock);
		sched_yield();
	}
}

/* Hot bodies of many pieces stay while cold ones stream by, like small ones. */
/* Its client takes nothing: it goes on when it does, and others are not kept from memory meanwhile. */
START_TEST(a_write_that_rests_leaves_to_others_what_it_does_not_use)
{
	enum { N = 600, LARGE = 1500000 };
	begin();
	options.disk_bytes = 1 << 30;
	options.memory_bytes = 256 << 20;
	struct cache *c = open_cache();
	struct object_write *w[N];
	char key[32];
	unsigned alive = 0, gave_up = 0;
	for (int i = 0; i < N; i++) {
		snprintf(key, sizeof key, "large-%d", i);
		w[i] = start(c, key, LARGE, true);
		feed(w[i], key, 0, i < 20 ? 1000 : 300000);
		alive += cache_write_is_alive(w[i]);
	}
	ck_assert_uint_gt(alive, 150);
	ck_assert_uint_lt(alive, N);
	ck_assert(!store_key(c, "other", LARGE, true, true, false));
	for (int i = 0; i < N; i++) {
		bool dead = !cache_write_is_alive(w[i]);
		if (cache_write_rest(w[i]))
			continue;
		ck_assert(!dead);
		cache_write_abandon(&w[i]);
		gave_up++;
	}
	ck_assert_uint_lt(gave_up, alive); /* no more than it takes */
	ck_assert_uint_lt(atomic_load(&c->building_bytes), 32 << 20);
	ck_assert(store_key(c, "other", LARGE, true, true, false));
	ck_assert(has(c, "other", LARGE));
	for (int i = 0; i < N; i++) {
		if (!w[i])
			continue;
		snprintf(key, sizeof key, "large-%d", i);
		uint64_t from = i < 20 ? 1000 : 300000;
		bool goes_on = cache_write_is_alive(w[i]);
		feed(w[i], key, from, LARGE - from);
		struct object *o = cache_write_commit(&w[i], false);
		ck_assert_int_eq(o != NULL, goes_on);
		if (o)
			ck_assert(read_right(c, o, key));
		object_unref(&o);
	}
	ck_assert_uint_eq(atomic_load(&c->building_bytes), 0);
	cache_close(&c);
	end();
}
END_TEST

START_TEST(hot_bodies_in_pieces_are_carried)
{
	begin();
	options.disk_bytes = 32 << 20;
	options.memory_bytes = 0;
	struct cache *c = open_cache();
	struct cache_stats s;
	unsigned lost = 0, cold = 0;
	ck_assert(store_key(c, "hot", 1000000, true, true, false));
	for (int i = 0; i < 900; i++) { /* the log turns over three times */
		char key[32];
		snprintf(key, sizeof key, "cold-%d", i);
		ck_assert(store_key(c, key, 100000, true, true, false));
		settle(c); /* as fast as segments are emptied, not faster */
		if (i % 5)
			continue;
		if (!has(c, "hot", 1000000)) {
			lost++;
			ck_assert(store_key(c, "hot", 1000000, true, true, false));
		}
	}
	cold = has(c, "cold-100", 100000);
	cache_stats(c, &s);
	ck_assert_uint_le(lost, 1);
	ck_assert_uint_eq(cold, 0); /* it did turn over */
	ck_assert_uint_ge(s.carried_bytes, 2000000);
	ck_assert_uint_eq(s.damaged_records, 0);
	cache_close(&c);
	end();
}
END_TEST

/* An object that is hot in RAM keeps its copy on disk warm; the copy moves with each turn of the
 * log, and the object in RAM goes on knowing it: nothing is written from RAM again, or in vain. */
START_TEST(an_object_in_ram_knows_its_carried_copy)
{
	begin();
	options.disk_bytes = 16 << 20;
	struct cache *c = open_cache();
	struct cache_stats s;
	ck_assert(store_key(c, "hot", 9000, true, true, false));
	ck_assert(has(c, "hot", 9000) && has(c, "hot", 9000)); /* into RAM */
	struct placement first, last;
	struct object *o = look_up(c, "hot");
	ck_assert_int_eq(o->place, OBJECT_IN_RAM);
	ck_assert(stored_placement(stored_of(o), &first));
	object_unref(&o);
	for (int i = 0; i < 900; i++) {
		char key[32];
		snprintf(key, sizeof key, "cold-%d", i);
		ck_assert(store_key(c, key, 50000, true, true, false));
		settle(c);
		o = look_up(c, "hot");
		ck_assert_int_eq(o->place, OBJECT_IN_RAM);
		ck_assert_int_eq(o->on_disk, 1);
		ck_assert(!cache_admit(c, o));
		object_unref(&o);
	}
	o = look_up(c, "hot");
	ck_assert(stored_placement(stored_of(o), &last));
	ck_assert_uint_ge(last.at.generation, first.at.generation + 20);
	ck_assert(store_lies_at(c->disks[0].store, o->hash, &last.at));
	ck_assert(read_right(c, o, "hot"));
	object_unref(&o);
	ck_assert(ram_remove(c->ram, hash_of(c, "hot"), str_of("hot")));
	ck_assert(has(c, "hot", 9000)); /* from where RAM said it is */
	cache_stats(c, &s);
	ck_assert_uint_eq(s.refused_writes, 0);
	placement_fini(&first);
	placement_fini(&last);
	cache_close(&c);
	end();
}
END_TEST

/* The small record of a refreshed object outlives the segment where its body is: hot, it is carried
 * with its body; cold, it is a miss, and no damage. */
START_TEST(the_segment_of_a_refreshed_body_goes)
{
	begin();
	options.disk_bytes = 16 << 20;
	options.memory_bytes = 0;
	struct cache *c = open_cache();
	struct cache_stats s;
	unsigned lost = 0;
	for (int i = 0; i < 700; i++) {
		char key[32];
		if (i == 0 || i == 30) {
			ck_assert(i || store_key(c, "k", 9000, true, true, false));
			if (i)
				refresh_and_check(c, 9000, "HTTP/1.1 200 OK\r\nX: 1\r\n");
		}
		snprintf(key, sizeof key, "cold-%d", i);
		unit_wait_until(store_key(c, key, 50000, true, true, false));
		if (i % 5 == 0) {
			store_flush(c->disks[0].store);
			await_room(c->disks[0].store);
		}
		if (_i == 1 && i % 5 == 0 && !has(c, "k", 9000)) {
			lost++;
			ck_assert(store_key(c, "k", 9000, true, true, false));
		}
	}
	ck_assert_uint_le(lost, 1);
	if (_i == 0)
		ck_assert(!has(c, "k", 9000));
	cache_stats(c, &s);
	ck_assert_uint_eq(s.damaged_records, 0);
	cache_close(&c);
	end();
}
END_TEST

/* An object in RAM whose refreshed record points to a body in an older segment: when that goes, RAM
 * knows that it holds the only copy, and writes it anew over the record that is left. */
START_TEST(ram_knows_when_a_refreshed_body_is_gone)
{
	begin();
	options.disk_bytes = 16 << 20;
	struct cache *c = open_cache();
	struct object *o = NULL;
	struct placement p;
	ck_assert(store_key(c, "k", 9000, true, true, false));
	for (int i = 0; i < 700; i++) {
		char key[32];
		snprintf(key, sizeof key, "cold-%d", i);
		ck_assert(store_key(c, key, 50000, true, true, false));
		settle(c);
		if (i == 30) {
			refresh_and_check(c, 9000, "HTTP/1.1 200 OK\r\nX: 1\r\n");
			ck_assert(has(c, "k", 9000));
		}
		pthread_mutex_lock(&c->disks[0].store->lock);
		c->disks[0].store->ledger.large_credit = 0; /* the body is not carried */
		pthread_mutex_unlock(&c->disks[0].store->lock);
		if (i <= 30)
			continue;
		object_unref(&o);
		o = look_up(c, "k");
		ck_assert_ptr_nonnull(o);
		ck_assert_int_eq(o->place, OBJECT_IN_RAM);
		if (!o->on_disk)
			break;
	}
	ck_assert_int_eq(o->on_disk, 0);
	stored_placement(stored_of(o), &p);
	ck_assert(
		store_lies_at(c->disks[0].store, o->hash, &p.at)); /* the record is there, alone */
	ck_assert(cache_admit(c, o));
	object_unref(&o);
	ck_assert(ram_remove(c->ram, hash_of(c, "k"), str_of("k")));
	ck_assert(has(c, "k", 9000));
	placement_fini(&p);
	cache_close(&c);
	end();
}
END_TEST

static pthread_t newer;

static void *
store_newer(void *ctx)
{
	struct cache *c = ctx;
	ck_assert(store_key(c, "k", 900000, true, false, true));
	return NULL;
}

static void
begin_newer(void *ctx)
{
	struct cache *c = ctx;
	c->o.window = NULL;
	ck_assert_int_eq(pthread_create(&newer, NULL, store_newer, c), 0);
}

/* A 304 for a body in pieces, which lies on disk alone, comes while a newer answer is stored: RAM
 * holds that one, and never an object without its body. */
START_TEST(ram_holds_no_object_without_its_body)
{
	begin();
	options.memory_bytes = 64 << 20;
	options.shards = 1;
	struct cache *c = open_cache();
	ck_assert(store_key(c, "k", 900000, true, false, true));
	store_flush(c->disks[0].store);
	ck_assert(ram_remove(c->ram, hash_of(c, "k"), str_of("k")));
	struct object *o = look_up(c, "k");
	ck_assert(o && !stored_has_body(stored_of(o)));
	c->o.window = begin_newer;
	c->o.window_ctx = c;
	struct object *new = cache_refresh(c, o, str_of("HTTP/1.1 200 OK\r\nX: 1\r\n"), STR(""),
					   &o->terms, cache_now(c));
	object_unref(&o);
	ck_assert(!c->o.window && read_right(c, new, "k"));
	object_unref(&new);
	pthread_join(newer, NULL);
	o = look_up(c, "k");
	ck_assert(o && o->place == OBJECT_IN_RAM && stored_has_body(stored_of(o)));
	ck_assert(read_right(c, o, "k"));
	object_unref(&o);
	cache_close(&c);
	end();
}
END_TEST

/* A body that was written when pieces were larger, in one piece, moved into RAM, and left the disk: it
 * is written as it is. */
START_TEST(a_body_in_one_piece_larger_than_a_piece_is_written_again)
{
	begin();
	struct cache *c = open_cache();
	ck_assert(store_key(c, "k", 9000, true, true, false));
	store_flush(c->disks[0].store);
	ram_remove(c->ram, hash_of(c, "k"), str_of("k"));
	for (int i = 0; i < 4; i++)
		ck_assert(has(c, "k", 9000));
	struct object *o = look_up(c, "k");
	ck_assert_ptr_nonnull(o);
	ck_assert_int_eq(o->place, OBJECT_IN_RAM);
	ck_assert_ptr_nonnull(stored_of(o)->whole);
	c->block_bytes = 4096; /* as of a small disk that was added */
	struct placement p;
	ck_assert(stored_placement(stored_of(o), &p));
	p.at.generation++;
	stored_place(stored_of(o), &p);
	cache_disks_drop(c, o->hash);
	placement_fini(&p);
	ck_assert(!stored_lies_there(stored_of(o)) && cache_admit(c, o));
	object_unref(&o);
	store_flush(c->disks[0].store);
	ck_assert(ram_remove(c->ram, hash_of(c, "k"), str_of("k")));
	ck_assert(has(c, "k", 9000));
	cache_close(&c);
	end();
}
END_TEST

/* An object in RAM is purged softly while its copy on disk is gone: as often as may be, and no
 * memory is lost. */
START_TEST(stale_in_ram_and_gone_from_disk_costs_no_memory)
{
	begin();
	options.memory_bytes = 64 << 20;
	options.shards = 1;
	struct cache *c = open_cache();
	ck_assert(store_key(c, "k", 900000, true, false, true));
	struct object *o = look_up(c, "k");
	ck_assert(o && stored_has_body(stored_of(o)));
	struct placement p;
	ck_assert(stored_placement(stored_of(o), &p));
	ck_assert_uint_gt(p.fragments_n, 1);
	p.at.generation++; /* of a segment that is another one by now */
	stored_place(stored_of(o), &p);
	placement_fini(&p);
	struct judged j = {.word = FORGET_STALE, .stale_s = 1, .now = cache_now(c)};
	size_t most = mallinfo2().uordblks + (64 << 10);
	for (int i = 0; i < 10000; i++) {
		struct stored *stale = cache_outdate(c, stored_of(o), &j);
		stored_unref(&stale);
	}
	ck_assert_uint_le(mallinfo2().uordblks, most);
	object_unref(&o);
	cache_close(&c);
	end();
}
END_TEST

/* Readers of large bodies while everything is evicted around them: whoever found one reads it to
 * its end. Beyond the bound there is a miss, not a cut. */
START_TEST(a_body_that_was_found_is_read_to_its_end)
{
	enum { N = 32, BYTES = 1500000 };
	begin();
	options.disk_bytes = 64 << 20;
	options.memory_bytes = 0;
	struct cache *c = open_cache();
	struct object *o[N];
	char key[32];
	int found = 0;
	for (int i = 0; i < N; i++) {
		snprintf(key, sizeof key, "large-%d", i);
		unit_wait_until(store_key(c, key, BYTES, true, true, false));
	}
	store_flush(c->disks[0].store);
	for (int i = 0; i < N; i++) {
		snprintf(key, sizeof key, "large-%d", i);
		o[i] = look_up(c, key);
		found += o[i] != NULL;
	}
	ck_assert_int_ge(found, 8);
	ck_assert_int_lt(found, N); /* half of the segments may be held */
	for (int i = 0; i < 1500; i++) {
		snprintf(key, sizeof key, "other-%d", i);
		unit_wait_until(store_key(c, key, 100000, true, true, false));
	}
	for (int i = 0; i < N; i++) {
		snprintf(key, sizeof key, "large-%d", i);
		if (o[i])
			ck_assert(read_right(c, o[i], key));
		object_unref(&o[i]);
	}
	struct cache_stats s;
	settle(c); /* evictions are counted behind the writes that caused them */
	cache_stats(c, &s);
	ck_assert_uint_gt(s.evicted_objects, 1000);
	check_store(c->disks[0].store);
	ck_assert_uint_eq(c->disks[0].store->ledger.leased, 0);
	cache_close(&c);
	end();
}
END_TEST

/* A purge, an admission, a refresh and a commit of the same key, in any order: what was there
 * before the purge is gone when it has returned. */
struct race {
	struct cache *c;
	struct object *o;
	char key[32];
	pthread_barrier_t gate;
	_Atomic bool stop;
	int kind;
};

static void *
race_other(void *arg)
{
	struct race *r = arg;
	for (;;) {
		pthread_barrier_wait(&r->gate);
		if (r->stop)
			return NULL;
		if (r->kind == 0) {
			cache_admit(r->c, r->o);
		} else if (r->kind == 1) {
			struct object *new =
				cache_refresh(r->c, r->o, r->o->head, r->o->tags, &r->o->terms,
					      atomic_load(&r->o->clean_as_of));
			object_unref(&new);
		} else {
			struct object_write *w = start(r->c, r->key, 2000, r->kind == 2);
			pthread_barrier_wait(&r->gate); /* fetched before the purge */
			feed(w, r->key, 0, 2000);
			struct object *new = cache_write_commit(&w, false);
			object_unref(&new);
		}
		pthread_barrier_wait(&r->gate);
	}
}

START_TEST(no_race_undoes_a_purge)
{
	begin();
	struct race r = {.c = open_cache(), .kind = _i % 4};
	pthread_t t;
	pthread_barrier_init(&r.gate, NULL, 2);
	pthread_create(&t, NULL, race_other, &r);
	for (unsigned i = 0; i < 700; i++) {
		snprintf(r.key, sizeof r.key, "http://a/%u", i);
		ck_assert(store_key(r.c, r.key, 2000, true, r.kind == 1 && (i & 1), false));
		r.o = look_up(r.c, r.key);
		ck_assert_ptr_nonnull(r.o);
		pthread_barrier_wait(&r.gate);
		if (r.kind >= 2)
			pthread_barrier_wait(&r.gate);
		for (volatile unsigned spin = 0; spin < (i * 7919) % 2500; spin++)
			continue;
		struct twice_key_hash hash = hash_of(r.c, r.key);
		if (_i >= 4)
			cache_remove(r.c, hash, str_of(r.key));
		else
			cache_forget(r.c, hash, str_of(r.key), STR(""), UINT64_MAX);
		pthread_barrier_wait(&r.gate);
		if (_i < 4 || r.kind < 2) /* a removal does not reach what is fetched */
			ck_assert_ptr_null(look_up(r.c, r.key));
		object_unref(&r.o);
	}
	r.stop = true;
	pthread_barrier_wait(&r.gate);
	pthread_join(t, NULL);
	/* Nor does a restart bring any of them back. */
	cache_close(&r.c);
	r.c = open_cache();
	for (unsigned i = 0; i < 700 && (_i < 4 || r.kind < 2); i++) {
		snprintf(r.key, sizeof r.key, "http://a/%u", i);
		ck_assert_ptr_null(look_up(r.c, r.key));
	}
	cache_close(&r.c);
	pthread_barrier_destroy(&r.gate);
	end();
}
END_TEST

/* Threads store and purge while the process is killed: nothing that was acknowledged is back. */
static void *
purge_and_tell(void *arg)
{
	struct race *r = arg;
	for (unsigned i = 0;; i++) {
		char key[32];
		snprintf(key, sizeof key, "http://a/%u", i % 4000);
		store_key(r->c, key, 1000, true, true, false);
		if (i % 3 == 0)
			store_flush(r->c->disks[0].store);
		struct purge p = purge(r->c, FORGET_URL, false, hash_of(r->c, key), str_of(key));
		unsigned n = i % 4000;
		if (!p.durable || write(r->kind, &n, sizeof n) != sizeof n)
			abort();
	}
	return NULL;
}

/* TWICE_LONG=1: 100 times instead of 8. */
START_TEST(killed_in_a_storm_of_purges)
{
	begin();
	int rounds = getenv("TWICE_LONG") ? 100 : 8;
	for (int round = 0; round < rounds; round++) {
		int told[2];
		ck_assert_int_eq(pipe(told), 0);
		pid_t child = fork();
		if (child == 0) {
			struct race r = {.c = open_cache(), .kind = told[1]};
			purge_and_tell(&r);
		}
		close(told[1]);
		unsigned n, purged[4096], count = 0, enough = 3u << round % 5;
		while (count < enough && read(told[0], &n, sizeof n) == sizeof n)
			purged[count++ % 4096] = n;
		ck_assert_uint_eq(count, enough);
		usleep(1000u * (unsigned)(round % 5)); /* one moment or another: all are right */
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		while (read(told[0], &n, sizeof n) == sizeof n)
			purged[count++ % 4096] = n;
		close(told[0]);
		struct cache *c = open_cache();
		for (unsigned i = 0; i < (count < 4000 ? count : 4000); i++) {
			char key[32];
			snprintf(key, sizeof key, "http://a/%u", purged[i]);
			struct object *o = look_up(c, key);
			/* The last one may have been stored again already. */
			ck_assert_msg(!o || i + 1 >= count || count > 3900, "%s is back", key);
			object_unref(&o);
		}
		cache_close(&c);
	}
	end();
}
END_TEST

/* While a purge is not durable, nothing is answered from the directory, nor written to it. */
static _Atomic bool sync_fails;

static int
maybe_sync(int fd)
{
	errno = EIO;
	return sync_fails ? -1 : fdatasync(fd);
}

START_TEST(a_purge_that_is_not_durable_closes_the_directory)
{
	begin();
	static struct diskio_ops ops;
	ops = diskio_system;
	ops.sync = maybe_sync;
	options.ops = &ops;
	struct cache *c = open_cache();
	ck_assert(store_key(c, "http://a/disk", 900, true, true, false));
	ck_assert(store_key(c, "http://a/gone", 900, true, true, false));
	sync_fails = true;
	struct purge p =
		purge(c, FORGET_URL, false, hash_of(c, "http://a/gone"), str_of("http://a/gone"));
	ck_assert(p.had && !p.durable);
	struct cache_stats s;
	cache_stats(c, &s);
	ck_assert(!s.purges.durable);
	ck_assert(!has(c, "http://a/disk", 900) && !has(c, "http://a/gone", 900));
	ck_assert(!store_key(c, "http://a/new", 7000000, true, true, false));
	ck_assert(store_key(c, "http://a/ram", 900, true, false, false));
	ck_assert(has(c, "http://a/ram", 900)); /* memory needs no directory */
	if (_i == 0) {
		sync_fails = false;
		unit_wait_until(forget_is_sound_at(c->forget, 0));
		ck_assert(has(c, "http://a/disk", 900) && !has(c, "http://a/gone", 900));
		cache_close(&c);
		c = open_cache();
		ck_assert(has(c, "http://a/disk", 900) && !has(c, "http://a/gone", 900));
	} else { /* and nothing comes back when it never became durable */
		cache_close(&c);
		sync_fails = false;
		c = open_cache();
		ck_assert(!has(c, "http://a/gone", 900));
	}
	cache_close(&c);
	end();
}
END_TEST

/* Many large writes under way use up their budget: small ones are stored all the same, and when
 * the large ones are gone, large ones again. */
START_TEST(large_writes_never_stop_small_ones)
{
	enum { N = 600 };
	begin();
	options.disk_bytes = 1 << 30;
	options.memory_bytes = 256 << 20;
	struct cache *c = open_cache();
	struct object_write *w[N];
	char key[32];
	int alive = 0;
	for (int i = 0; i < N; i++) {
		snprintf(key, sizeof key, "large-%d", i);
		w[i] = start(c, key, 1500000, i & 1);
		alive += cache_write_is_alive(w[i]);
		feed(w[i], key, 0, 1000);
	}
	ck_assert_int_gt(alive, 20);
	ck_assert_int_lt(alive, N);
	for (int i = 0; i < 50; i++) {
		snprintf(key, sizeof key, "small-%d", i);
		ck_assert(store_key(c, key, 20000, i & 1, i & 2, false));
		ck_assert(has(c, key, 20000));
	}
	for (int i = 0; i < N; i++)
		cache_write_abandon(&w[i]);
	ck_assert_uint_eq(atomic_load(&c->building_bytes), 0);
	ck_assert(store_key(c, "large", 1500000, true, true, false));
	ck_assert(store_key(c, "long", 1500000, false, true, false));
	ck_assert_uint_eq(atomic_load(&c->building_bytes), 0);
	/* Writes that died on their way gave back what they had. */
	struct object_write *dead = start(c, "dead", 500000, false);
	feed(dead, "dead", 0, 500001);
	ck_assert(!cache_write_is_alive(dead));
	ck_assert_uint_eq(atomic_load(&c->building_bytes), 0);
	cache_write_abandon(&dead);
	cache_close(&c);
	end();
}
END_TEST

/* A reader of a large body is slower than the log turns over: whole, or cut off; never wrong. */
START_TEST(slow_reader_sees_no_wrong_byte)
{
	begin();
	options.disk_bytes = 16 << 20;
	struct cache *c = open_cache();
	ck_assert(store_key(c, "slow", 1500000, true, true, false));
	struct object *o = look_up(c, "slow");
	struct ask_body a = ASK_BODY(&home);
	char want[4096];
	uint64_t at = 0;
	enum body_step step = BODY_READY;
	for (int i = 0; at < o->body_bytes && step != BODY_BAD; i++) {
		char key[32];
		snprintf(key, sizeof key, "other-%d", i);
		store_key(c, key, 100000, true, true, false);
		step = ask_read(c, o, &a, at, sizeof want);
		if (step != BODY_READY)
			continue;
		body_of("slow", at, want, a.r.n);
		ck_assert_mem_eq(a.r.p, want, a.r.n);
		at += a.r.n;
	}
	ck_assert_uint_eq(at, o->body_bytes); /* its lease held: few segments are leased */
	body_done(&a.r);
	object_unref(&o);
	cache_close(&c);
	end();
}
END_TEST

/* A client that takes nothing does not hold a body that lies on disk, if nobody else reads it and it
 * can be found again. */
static void
write_others(struct cache *c, int n)
{
	for (int i = 0; i < n; i++) {
		char key[32];
		snprintf(key, sizeof key, "other-%d", i);
		store_key(c, key, 100000, true, true, false);
		if (i % 100 == 99) /* no faster than the disk takes them, or some are refused */
			store_flush(c->disks[0].store);
	}
	store_flush(c->disks[0].store);
}

static struct object *
on_disk(struct cache *c, const char *key)
{
	struct object *o = look_up(c, key);
	ck_assert_ptr_nonnull(o);
	ck_assert_int_eq(o->place, OBJECT_ON_DISK);
	ck_assert(stored_has_body(stored_of(o)));
	return o;
}

START_TEST(a_body_that_nobody_takes_is_read_again)
{
	begin();
	options.memory_bytes = 128 << 10;
	struct cache *c = open_cache();
	ck_assert(store_key(c, "gone", 15000, true, true, false));
	write_others(c, 50); /* in other segments */
	ck_assert(store_key(c, "k", 15000 /* one record */, true, true, false));
	store_flush(c->disks[0].store);
	struct object *o = on_disk(c, "k"), *gone = on_disk(c, "gone"), *other = object_ref(o);
	struct body_read r = {.home = &home};
	body_give_back(&r, o);
	ck_assert(stored_has_body(stored_of(o))); /* somebody else may be reading it */
	object_unref(&other);
	body_give_back(&r, o);
	ck_assert(!stored_has_body(stored_of(o)));
	cache_remove(c, hash_of(c, "k"), STR("k"));
	write_others(c, 1500);		  /* more than twice the log */
	ck_assert(read_right(c, o, "k")); /* its segment stays */
	body_give_back(&r, gone);
	ck_assert(stored_has_body(stored_of(gone))); /* it would not be found again */
	ck_assert(read_right(c, gone, "gone"));
	object_unref(&o);
	object_unref(&gone);
	cache_close(&c);
	end();
}
END_TEST

/* However hot the other half is, and whatever comes next: its first pieces are not what goes while
 * its last ones come, and its reader finds all of them. */
START_TEST(an_object_may_take_half_the_log)
{
	begin();
	options.memory_bytes = 0;
	options.disk_bytes = 24 << 20;
	struct cache *c = open_cache();
	char key[32];
	for (int i = 0; i < 1200; i++) {
		snprintf(key, sizeof key, "k-%d", i);
		while (!store_key(c, key, 30000, true, true, false))
			store_flush(c->disks[0].store);
		for (int k = i - i % 300; k < i; k += 7) {
			snprintf(key, sizeof key, "k-%d", k);
			struct object *o = look_up(c, key);
			if (o)
				cache_pay(c, o, 30000);
			object_unref(&o);
		}
	}
	store_flush(c->disks[0].store);
	uint64_t most = store_max_body(c->disks[0].store);
	ck_assert_uint_ge(most, options.disk_bytes / 3);
	ck_assert(!store_key(c, "larger", most + 1, true, true, false));
	for (int again = 0; again < 3; again++) {
		snprintf(key, sizeof key, "large-%d", again);
		struct object_write *w = start(c, key, most, true);
		feed(w, key, 0, most);
		struct object *stored = cache_write_commit(&w, false);
		ck_assert_ptr_nonnull(stored);
		/* Served, as what is stored always is; what earns nothing may go at once. */
		struct object *o = look_up(c, key);
		ck_assert_ptr_nonnull(o);
		cache_pay(c, o, most);
		object_unref(&o);
		object_unref(&stored);
		ck_assert(has(c, key, most));
		store_flush(c->disks[0].store);
		ck_assert(has(c, key, most));
	}
	cache_close(&c);
	c = open_cache();
	ck_assert(has(c, key, most));
	cache_close(&c);
	end();
}
END_TEST

/* Batches, tables, footers and small files are one byte in twenty at most. */
START_TEST(little_is_written_beside_what_comes_in)
{
	begin();
	struct cache *c = open_cache();
	struct cache_stats s;
	uint64_t in = 0;
	for (int i = 0; i < 600; i++) {
		char key[32];
		snprintf(key, sizeof key, "key-%d", i);
		uint64_t n = i % 50 ? (uint64_t)(i * 7919) % 60000 : 1000000;
		ck_assert(store_key(c, key, n, i & 1, true, false));
		in += n;
		if (i % 20 == 0)
			store_flush(c->disks[0].store);
	}
	store_flush(c->disks[0].store);
	cache_stats(c, &s);
	ck_assert_uint_eq(s.carried_bytes + s.evicted_objects, 0);
	ck_assert_uint_ge(s.admitted_bytes, in + 600 * RECORD_HEADER_BYTES);
	ck_assert_uint_le(s.admitted_bytes, in + 600 * 400);
	ck_assert_uint_gt(s.written_bytes, s.admitted_bytes);
	ck_assert_uint_le(s.written_bytes, s.admitted_bytes / 100 * 105);
	cache_close(&c);
	end();
}
END_TEST

/* An answer that was validated takes its bytes from where the body lies, as any other. */
START_TEST(what_is_validated_pays_for_its_place)
{
	begin();
	options.memory_bytes = _i ? 8 << 20 : 0; /* from RAM, or from disk */
	struct cache *c = open_cache();
	ck_assert(store_key(c, "k", 100000, true, !_i, false));
	struct object *o = look_up(c, "k");
	if (_i) {
		ck_assert(cache_admit(c, o));
		object_unref(&o);
		o = look_up(c, "k");
	}
	struct placement p;
	ck_assert(stored_placement(stored_of(o), &p));
	_Atomic uint64_t *earned = &c->disks[0].store->ledger.earned[p.at.segment];
	struct object *fresh = cache_refresh(c, o, o->head, o->tags, &o->terms, cache_now(c));
	ck_assert_uint_eq(atomic_load(earned), 0);
	cache_pay(c, fresh, 100000);
	uint64_t once = atomic_load(earned);
	ck_assert_uint_gt(once, 0);
	cache_pay(c, o, 100000); /* one lookup, one payment */
	cache_pay(c, fresh, 100000);
	ck_assert_uint_eq(atomic_load(earned), once);
	placement_fini(&p);
	object_unref(&o);
	object_unref(&fresh);
	cache_close(&c);
	end();
}
END_TEST

/* ---- several workers ------------------------------------------------------------------------- */

struct worker {
	struct cache *c;
	struct mailbox home;
	unsigned number;
	pthread_t thread;
};

static struct object *
worker_looks_up(struct worker *w, const char *key)
{
	return ask_look_up(w->c, &w->home, hash_of(w->c, key), str_of(key));
}

static void
worker_reads(struct worker *w, struct object *o, const char *key)
{
	struct ask_body a = ASK_BODY(&w->home);
	char want[4096];
	uint64_t at = 0;
	while (at < o->body_bytes && ask_read(w->c, o, &a, at, sizeof want) == BODY_READY) {
		body_of(key, at, want, a.r.n);
		if (memcmp(a.r.p, want, a.r.n) != 0)
			abort();
		at += a.r.n;
	}
	body_done(&a.r);
}

static void
worker_changes(struct worker *w, struct object *o, uint64_t how)
{
	if (how % 5 == 0)
		cache_admit(w->c, o);
	if (how % 11 == 0) {
		struct object *new =
			cache_refresh(w->c, o, o->head, o->tags, &o->terms, cache_now(w->c));
		object_unref(&new);
	}
	if (how % 17 == 0)
		cache_remove(w->c, o->hash, o->key);
}

static void *
work(void *arg)
{
	struct worker *w = arg;
	uint64_t x = w->number + 1;
	for (int i = 0; i < 1200; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		unsigned k = (unsigned)(x >> 33) % 150;
		char key[32];
		snprintf(key, sizeof key, "key-%u", k);
		struct object *o = worker_looks_up(w, key);
		if (!o) {
			store_key(w->c, key, k % 20 ? k * 331 : 600000, k & 1, x >> 62 & 1, false);
			continue;
		}
		worker_reads(w, o, key);
		worker_changes(w, o, x >> 40);
		object_unref(&o);
	}
	return NULL;
}

START_TEST(workers_share_a_cache)
{
	begin();
	options.disk_bytes = 16 << 20;
	options.memory_bytes = 1 << 20;
	if (_i)
		use_cold_disk();
	struct cache *c = open_cache();
	struct worker w[4] = {0};
	for (unsigned i = 0; i < 4; i++) {
		w[i].c = c;
		w[i].number = i;
		mailbox_init(&w[i].home);
		pthread_create(&w[i].thread, NULL, work, &w[i]);
	}
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(w[i].thread, NULL);
		mailbox_fini(&w[i].home);
	}
	struct cache_stats s;
	cache_stats(c, &s);
	ck_assert_uint_eq(s.damaged_records, 0);
	ck_assert_uint_le(s.ram_used_bytes, options.memory_bytes);
	cache_close(&c);
	end();
}
END_TEST

UNIT("cache", LOOP(written_is_visible_at_once_and_after_a_restart, writes),
     TEST(cut_short_is_never_stored), TEST(what_the_index_lost_is_forgotten_behind_a_restart_too),
     TEST(what_goes_to_the_disk_is_counted_when_it_does), TEST(second_sighting_is_written_from_ram),
     TEST(removed_is_gone_also_after_a_restart), TEST(newer_replaces_older_wherever_it_was),
     LOOP(refresh_keeps_the_body, refreshed),
     TIMES(a_refreshed_head_is_written_when_ram_lets_go, ENDINGS),
     TIMES(the_same_body_again_is_not_written_again, 2),
     TEST(refresh_of_what_was_removed_brings_nothing_back), TEST(second_disk_hit_moves_into_ram),
     TEST(works_without_a_disk), TEST(unusable_directories_are_named),
     TEST(one_process_per_directory), TEST(files_beside_the_log_have_a_limit),
     TEST(a_file_that_is_being_saved_holds_up_nobody_who_asks),
     TEST(limit_is_never_exceeded_but_used), TEST(written_bytes_are_what_the_system_counts),
     LOOP(a_crowd_reads_once, sizes), TEST(what_a_lookup_read_early_is_taken_once),
     TEST(a_read_outlasts_the_drain), TEST(a_disk_that_hangs_is_passed_by),
     TEST(cold_reads_come_home_by_letter), TEST(damaged_reads_are_misses_and_counted),
     TIMES(a_damaged_piece_is_a_miss_or_makes_the_next_one_a_miss, 6),
     TEST(what_lies_under_a_key_that_nobody_makes_harms_nothing),
     TEST(large_writes_never_stop_small_ones),
     TEST(a_write_that_rests_leaves_to_others_what_it_does_not_use),
     TEST(hot_bodies_in_pieces_are_carried), TEST(ram_holds_no_object_without_its_body),
     TEST(a_body_in_one_piece_larger_than_a_piece_is_written_again),
     TEST(stale_in_ram_and_gone_from_disk_costs_no_memory),
     TEST(ram_knows_when_a_refreshed_body_is_gone), TEST(an_object_in_ram_knows_its_carried_copy),
     TIMES(the_segment_of_a_refreshed_body_goes, 2), TEST(a_body_that_was_found_is_read_to_its_end),
     TIMES(no_race_undoes_a_purge, 8), TEST(killed_in_a_storm_of_purges),
     TIMES(a_purge_that_is_not_durable_closes_the_directory, 2),
     TEST(an_object_may_take_half_the_log), TEST(little_is_written_beside_what_comes_in),
     TIMES(what_is_validated_pays_for_its_place, 2), TEST(slow_reader_sees_no_wrong_byte),
     TEST(a_body_that_nobody_takes_is_read_again), TIMES(workers_share_a_cache, 2))
