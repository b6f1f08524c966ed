/* test_object_file.c - how much of a body goes from its file at a time.
 * rooms: cache http base filter
 */
#include "proxy/base/block.h"
#include "proxy/base/file_piece.h"
#include "proxy/cache/cache_inside.h"
#include "proxy/cache/cache_write.h"
#include "tests/kit/ask.h"
#include "tests/kit/own_cache.h"

#include <unistd.h>

enum { BODY = 900000, MOST = 1 << 20 };

static struct cache *c;
static char body[BODY];

static void
begin(void)
{
	static struct diskio_ops ops;
	begin_with((struct cache_options){
		.disk_bytes = 64 << 20, .segment_bytes = 4 << 20, .memory_bytes = 1 << 20});
	ops = *options.ops;
	ops.touch = NULL; /* else its answer is waited for */
	options.ops = &ops;
	c = open_cache();
	for (unsigned i = 0; i < BODY; i++)
		body[i] = (char)(i * 2654435761u >> 13);
	struct object_write *w = cache_write_begin(
		c, &(struct write_options){.hash = twice_key_hash_of(cache_seed(c), "k", 1),
					   .key = str_of("k"),
					   .head = str_of("HTTP/1.1 200 OK\r\n"),
					   .terms = {.status = 200, .lifetime = 60},
					   .body_bytes = BODY,
					   .disk = true});
	struct block *b = block_create(BODY);
	memcpy(b->p, body, BODY);
	b->n = BODY;
	cache_write_body(w, b, 0, BODY);
	block_unref(&b);
	struct object *o = cache_write_commit(&w, false);
	ck_assert_ptr_nonnull(o);
	object_unref(&o);
	cache_close(&c); /* all is in the files */
	c = open_cache();
}

static struct object *
look_up(void)
{
	struct object *o =
		ask_look_up(c, &home, twice_key_hash_of(cache_seed(c), "k", 1), str_of("k"));
	ck_assert_ptr_nonnull(o);
	ck_assert_uint_gt(stored_of(o)->placement.fragments_n, 3);
	return o;
}

/* Reading checks what is read. */
static void
read_until(struct object *o, uint64_t until)
{
	struct ask_body a = ASK_BODY(&home);
	for (uint64_t at = 0; at < until; at += a.r.n)
		ck_assert_int_eq(ask_read(c, o, &a, at, until - at), BODY_READY);
	body_done(&a.r);
}

/* So many bytes go from there at once; they are those of the body. */
static uint64_t
goes(struct object *o, uint64_t at, uint64_t most)
{
	static char got[BODY];
	struct body_read none = {0};
	struct file_piece piece;
	if (!object_file(o, &none, at, most, &piece))
		return 0;
	ck_assert_uint_le(piece.n, most);
	ck_assert_uint_le(at + piece.n, BODY);
	ck_assert_int_eq(pread(piece.fd, got, piece.n, (off_t)piece.at), (ssize_t)piece.n);
	ck_assert_mem_eq(got, body + at, piece.n);
	return piece.n;
}

static void
finish(struct object *o)
{
	object_unref(&o);
	cache_close(&c);
	end();
}

START_TEST(fragments_side_by_side_go_at_once)
{
	begin();
	struct object *o = look_up();
	uint64_t each = c->block_bytes;
	read_until(o, BODY);
	object_unref(&o);
	o = look_up(); /* the first one that is read ahead is in memory */
	read_until(o, 1);
	ck_assert_uint_gt(goes(o, 0, MOST), 2 * each);
	static const uint64_t from[] = {1, 70000, 200000, 500001};
	for (int i = 0; i < 4; i++) {
		uint64_t n = goes(o, from[i], MOST);
		ck_assert_uint_gt(n, each);
		ck_assert_uint_eq(goes(o, from[i], n - 1), n - 1);
		ck_assert_uint_eq(goes(o, from[i], 5), 5);
	}
	finish(o);
}
END_TEST

/* All bytes go in the end, whatever lies between. */
START_TEST(pieces_make_up_the_body)
{
	begin();
	struct object *o = look_up();
	read_until(o, BODY);
	object_unref(&o);
	o = look_up();
	read_until(o, 1);
	uint64_t at = 0;
	for (uint64_t n; at < BODY; at += n) {
		n = goes(o, at, 100003);
		ck_assert_uint_gt(n, 0);
	}
	finish(o);
}
END_TEST

START_TEST(what_was_not_checked_ends_a_piece)
{
	begin();
	struct object *o = look_up();
	uint64_t each = c->block_bytes;
	read_until(o, 2 * each);
	ck_assert_uint_eq(goes(o, each + 1, MOST), each - 1);
	ck_assert_uint_eq(goes(o, 2 * each, MOST), 0);
	read_until(o, 3 * each);
	ck_assert_uint_eq(goes(o, each + 1, MOST), 2 * each - 1);
	finish(o);
}
END_TEST

UNIT("object_file", TEST(fragments_side_by_side_go_at_once), TEST(pieces_make_up_the_body),
     TEST(what_was_not_checked_ends_a_piece))
