/* test_intake.c - a body that is changed on its way in: its readers, the RAM, the disk, ranges, slices
 * and the rest that is asked for do not know of it.
 * rooms: serve fleet config origin cache coding http base filter filter/family
 */
#include "proxy/serve/body.h"
#include "proxy/serve/intake.h"

#include "proxy/base/block.h"
#include "proxy/base/clock.h"
#include "proxy/cache/cache_lookup.h"
#include "proxy/cache/cache_write.h"
#include "proxy/cache/flight/flight.h"
#include "proxy/cache/slice_bytes.h"
#include "tests/kit/ask.h"
#include "tests/kit/own_cache.h"

#include <ctype.h>

enum { RETAIN = 512 << 10, WINDOW = 256 << 10, TOTAL = 8 << 20 };

static struct cache *cache;
static struct flights *flights;

static void
setup(void)
{
	begin_with((struct cache_options){.disk_bytes = 64 << 20, .memory_bytes = 16 << 20});
	cache = open_cache();
	flights = flights_create(&(struct flights_options){RETAIN, WINDOW, TOTAL, cache});
}

static void
teardown(void)
{
	flights_destroy(&flights);
	cache_close(&cache);
	end();
}

/* ---- what stands between -------------------------------------------------------------------- */

static void
upper(void *ctx, const char *p, size_t n, struct buf *out)
{
	(void)ctx;
	for (size_t i = 0; i < n; i++) {
		char c = (char)toupper((unsigned char)p[i]);
		buf_add(out, &c, 1);
	}
}
static const struct transformer upper_case = {.keeps_places = true, .take = upper};

/* "ab" becomes "A.B.", and "!" stands behind all. */
static void
widen(void *ctx, const char *p, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		upper(ctx, p + i, 1, out);
		buf_add(out, ".", 1);
	}
}
static void
exclaim(void *ctx, struct buf *out)
{
	(void)ctx;
	buf_add(out, "!", 1);
}
static const struct transformer wide = {.take = widen, .end = exclaim};

static char
letter(uint64_t at)
{
	return (char)('a' + (at * 7 + at / 1000) % 26);
}

static char
sent_upper(uint64_t at)
{
	return (char)toupper((unsigned char)letter(at));
}

static void
fill_letters(char *p, uint64_t at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = letter(at + i);
}

static bool
is_upper(const char *p, uint64_t at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != sent_upper(at + i))
			return false;
	return true;
}

/* ---- one that comes -------------------------------------------------------------------------- */

static void
on_news(void *ctx)
{
	(void)ctx;
}

static struct flight_reader *
enter(uint64_t length)
{
	struct flight_reader *r = flights_enter_alone(flights, 0, &home, on_news, NULL, now_ms());
	struct flight_head h = {.status = 200, .storable = true, .body_bytes = length};
	flight_publish(flight_of(r), &h);
	return r;
}

static struct object_write *
write_of(const char *key, enum object_kind kind, uint64_t body, uint64_t whole, bool disk)
{
	struct write_options o = {
		.hash = twice_key_hash_of(cache_seed(cache), key, strlen(key)),
		.key = str_of(key),
		.head = kind == OBJECT_SLICE ? STR("") : STR("the head of it"),
		.terms = {.lifetime = 600, .last_modified = -1, .status = 200},
		.kind = kind,
		.body_bytes = body,
		.whole_bytes = whole,
		.disk = disk,
	};
	return cache_write_begin(cache, &o);
}

/* Letters [at, at + n) of the exchange come; the reader takes what there is whenever the window is full. */
static void
let_come(struct intake *in, struct flight_reader *r, uint64_t at, size_t n, struct buf *read)
{
	enum { PIECE = 16000 };
	char piece[PIECE];
	for (size_t done = 0; done < n;) {
		size_t most = n - done < PIECE ? n - done : PIECE;
		fill_letters(piece, at + done, most);
		size_t took = intake_add(in, flight_of(r), piece, most, now_ms());
		done += took;
		const char *p;
		size_t got;
		struct block *block = NULL;
		while (took < most && flight_read(r, read->n, &p, &got, &block) == FLIGHT_READY) {
			buf_add(read, p, got);
			block_unref(&block);
			flight_done_until(r, read->n);
		}
	}
}

static void
read_to_end(struct flight_reader *r, struct buf *read)
{
	const char *p;
	size_t got;
	struct block *block = NULL;
	enum flight_step step;
	while ((step = flight_read(r, read->n, &p, &got, &block)) == FLIGHT_READY) {
		buf_add(read, p, got);
		block_unref(&block);
		flight_done_until(r, read->n);
	}
	ck_assert_int_eq(step, FLIGHT_OVER);
}

static void
land(struct flight_reader **r, struct object *o)
{
	flight_end(flight_of(*r), o);
	flight_drop_leader(flight_of(*r));
	flight_leave(r);
}

static struct object *
store(const char *key, uint64_t length, bool disk)
{
	struct intake in = {.by = &upper_case,
			    .write = write_of(key, OBJECT_RESPONSE, length, 0, disk)};
	struct buf read = {0};
	intake_begin(&in, length);
	ck_assert_uint_eq(in.stores, length);
	struct flight_reader *r = enter(in.stores);
	let_come(&in, r, 0, length, &read);
	ck_assert(intake_is_whole(&in));
	intake_end(&in, flight_of(r));
	struct object *o = cache_write_commit(&in.write, false);
	ck_assert_ptr_nonnull(o);
	flight_end(flight_of(r), NULL);
	read_to_end(r, &read);
	ck_assert_uint_eq(read.n, length);
	ck_assert(is_upper(read.p, 0, read.n));
	flight_leave(&r);
	intake_fini(&in);
	buf_fini(&read);
	return o;
}

/* The bytes [at, at + n) of an object, by whatever piece. */
static bool
holds(struct object *o, uint64_t at, uint64_t n)
{
	struct ask_body a = ASK_BODY(&home);
	bool right = true;
	while (right && n) {
		right = ask_read(cache, o, &a, at, n) == BODY_READY && is_upper(a.r.p, at, a.r.n);
		at += a.r.n;
		n -= a.r.n;
	}
	body_done(&a.r);
	return right;
}

START_TEST(readers_the_ram_and_the_disk_have_what_was_made)
{
	setup();
	enum { BYTES = 700001 };
	struct object *o = store("in RAM", BYTES, false);
	ck_assert(o->place == OBJECT_IN_RAM);
	ck_assert(holds(o, 0, BYTES));
	object_unref(&o);
	o = store("k", BYTES, true);
	object_unref(&o);
	flights_destroy(&flights);
	cache_stop(cache);
	cache_close(&cache);
	cache = open_cache();
	flights = flights_create(&(struct flights_options){RETAIN, WINDOW, TOTAL, cache});
	o = ask_look_up(cache, &home, twice_key_hash_of(cache_seed(cache), "k", 1), STR("k"));
	ck_assert_ptr_nonnull(o);
	ck_assert(o->place == OBJECT_ON_DISK);
	ck_assert(holds(o, 0, BYTES)); /* and its checksums are right */
	object_unref(&o);
	teardown();
}
END_TEST

START_TEST(ranges_are_of_what_was_made)
{
	setup();
	struct object *o = store("k", 9000, true);
	struct body b = {0};
	struct buf sent = {0}, right = {0};
	struct str piece;
	unsigned n;
	enum stream_pull step = STREAM_PULL_SOME;
	body_of_object(&b, cache, &home, o);
	b.ranges[0] = (struct range){5, 10};
	b.ranges[1] = (struct range){4000, 3};
	b.range_count = 2;
	body_begin_parts(&b, STR("edge"), STR("text/plain"), o->body_bytes);
	body_begin(&b, o->body_bytes);
	for (unsigned i = 0; i < 2; i++) {
		multipart_part_head(STR("edge"), STR("text/plain"), b.ranges[i], 9000, i == 0,
				    &right);
		for (uint64_t at = 0; at < b.ranges[i].n; at++)
			buf_add(&right, &(char){sent_upper(b.ranges[i].at + at)}, 1);
	}
	multipart_end(STR("edge"), &right);
	while (step == STREAM_PULL_SOME) {
		n = 0;
		step = body_pull(&b, 7, &piece, &n);
		ck_assert(step == STREAM_PULL_SOME || step == STREAM_PULL_END);
		if (n)
			buf_add_str(&sent, piece);
	}
	ck_assert(str_eq(buf_str(&sent), buf_str(&right)));
	body_end(&b);
	object_unref(&o);
	buf_fini(&sent);
	buf_fini(&right);
	teardown();
}
END_TEST

/* One exchange brings three slices, each a flight and an object of its own. */
START_TEST(slices_hold_what_was_made_of_their_own_bytes)
{
	setup();
	enum { WHOLE = 2 * SLICE_BYTES + 12345 };
	struct intake in = {.by = &upper_case};
	char key[8];
	intake_begin(&in, WHOLE);
	ck_assert_uint_eq(in.stores, WHOLE); /* it keeps places: it may lie in slices */
	for (uint64_t i = 0; i < 3; i++) {
		struct buf read = {0};
		uint64_t n = i < 2 ? SLICE_BYTES : 12345;
		snprintf(key, sizeof key, "k%d", (int)i);
		in.write = write_of(key, OBJECT_SLICE, n, WHOLE, true);
		in.stored = 0;
		in.stores = n;
		struct flight_reader *r = enter(n);
		let_come(&in, r, i * SLICE_BYTES, n, &read);
		ck_assert_uint_eq(in.stored, n);
		struct object *o = cache_write_commit(&in.write, false);
		flight_end(flight_of(r), NULL);
		read_to_end(r, &read);
		ck_assert(read.n == n && is_upper(read.p, i * SLICE_BYTES, n));
		buf_fini(&read);
		flight_leave(&r);
		ck_assert_ptr_nonnull(o);
		struct ask_body a = ASK_BODY(&home);
		for (uint64_t at = 0; at < n; at += a.r.n) {
			ck_assert_int_eq(ask_read(cache, o, &a, at, n - at), BODY_READY);
			ck_assert(is_upper(a.r.p, i * SLICE_BYTES + at, a.r.n));
		}
		body_done(&a.r);
		object_unref(&o);
	}
	ck_assert(intake_is_whole(&in));
	intake_fini(&in);
	teardown();
}
END_TEST

/* The exchange breaks off at odd places, and another one goes on behind the bytes of the origin's body
 * that have come, whatever was made of them. */
START_TEST(what_breaks_off_goes_on_by_the_bytes_that_came)
{
	setup();
	enum { BYTES = 400000 };
	static const size_t breaks[] = {1, 70001, 333333, BYTES};
	struct intake in = {.by = &wide,
			    .write = write_of("k", OBJECT_RESPONSE, UINT64_MAX, 0, true)};
	struct buf read = {0};
	intake_begin(&in, BYTES);
	ck_assert_uint_eq(in.stores, UINT64_MAX); /* nobody knows yet how much that is */
	struct flight_reader *r = enter(in.stores);
	for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++) {
		ck_assert_uint_eq(in.came, i ? breaks[i - 1] : 0);
		let_come(&in, r, in.came, breaks[i] - in.came, &read);
	}
	ck_assert(intake_is_whole(&in));
	intake_end(&in, flight_of(r));
	ck_assert_uint_eq(in.stored, 2 * BYTES + 1);
	ck_assert_uint_eq(in.stores, in.stored);
	struct object *o = cache_write_commit(&in.write, false);
	ck_assert_ptr_nonnull(o);
	ck_assert_uint_eq(o->body_bytes, 2 * BYTES + 1);
	flight_end(flight_of(r), NULL);
	read_to_end(r, &read);
	ck_assert_uint_eq(read.n, 2 * BYTES + 1);
	for (size_t i = 0; i < BYTES; i++)
		ck_assert(read.p[2 * i] == sent_upper(i) && read.p[2 * i + 1] == '.');
	ck_assert(read.p[2 * BYTES] == '!');
	flight_leave(&r);
	object_unref(&o);
	buf_fini(&read);
	intake_fini(&in);
	teardown();
}
END_TEST

/* Of bytes that were taken nothing is lost where the flight has no room for all that was made of them;
 * the next ones are not taken until it has. */
START_TEST(what_was_made_waits_for_room)
{
	setup();
	enum { PIECE = 100000 };
	char *piece = malloc(PIECE);
	struct intake in = {.by = &wide};
	struct buf read = {0};
	size_t took = PIECE, all = 0;
	intake_begin(&in, UINT64_MAX);
	struct flight_reader *r = enter(in.stores);
	while (took == PIECE) {
		fill_letters(piece, all, PIECE);
		took = intake_add(&in, flight_of(r), piece, PIECE, now_ms());
		all += took;
	}
	ck_assert_uint_eq(took, 0);
	ck_assert_uint_eq(in.came, all);
	ck_assert_uint_lt(in.stored, 2 * all);
	intake_end(&in, flight_of(r)); /* at the end it goes, whether there is room or not */
	ck_assert_uint_eq(in.stored, 2 * all + 1);
	land(&r, NULL);
	intake_fini(&in);
	buf_fini(&read);
	free(piece);
	teardown();
}
END_TEST

UNIT("intake", TEST(readers_the_ram_and_the_disk_have_what_was_made),
     TEST(ranges_are_of_what_was_made), TEST(slices_hold_what_was_made_of_their_own_bytes),
     TEST(what_breaks_off_goes_on_by_the_bytes_that_came), TEST(what_was_made_waits_for_room))
