/* test_study.c - whole logs through all policies: what is known by arithmetic comes out.
 * rooms: simulate serve config cache coding http base filter
 */
#include "config/config.h"
#include "config/load.h"
#include "config/units.h"
#include "proxy/simulate/account.h"
#include "proxy/simulate/advice.h"
#include "proxy/simulate/doubts.h"
#include "proxy/simulate/page.h"
#include "tests/kit/own_clock.h"
#include "tests/kit/tmpdir.h"
#include "tests/kit/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <jansson.h>
#include <lzma.h>

enum { N1 = 740, N2 = 260, BODY = 8192, HOUR = 3600, PATH = 320 };

static char dir[256];
static struct config config;

static void
begin(void)
{
	tmpdir_make(dir, sizeof dir);
	config_init(&config);
}

static void
end(void)
{
	config_fini(&config);
	tmpdir_remove(dir);
}

static const char *
file(const char *name)
{
	static char paths[4][PATH];
	static unsigned next;
	char *path = paths[next++ % 4];
	snprintf(path, PATH, "%s/%s", dir, name);
	return path;
}

static FILE *
create(const char *name)
{
	FILE *f = fopen(file(name), "wb");
	ck_assert_ptr_nonnull(f);
	return f;
}

static struct study_options
options(const char *log)
{
	struct study_options o = {.logs = {log},
				  .logs_n = 1,
				  .source = {.format = FORMAT_AUTO},
				  .screen = {.config = &config},
				  .disks = {1 << 30},
				  .disks_n = 1,
				  .memory = 64 << 20,
				  .policies = {"all", "2"},
				  .policies_n = 2,
				  .threads = 2};
	o.base.sights.memory = (struct twice_filter_options){
		.sightings = 2, .capacity = 100000, .false_positives = 1e-6, .seed = 1};
	twice_seed_init(&o.screen.seed, "0123456789abcdef", 16);
	return o;
}

static void
run(struct study *s, const struct study_options *o)
{
	char err[512] = "";
	ck_assert_msg(study_run(s, o, err, sizeof err) == 0, "%s", err);
}

static const struct policy_facts *
facts_of(const struct study *s, const char *policy)
{
	for (unsigned i = 0; i < s->rows_n; i++)
		if (strcmp(s->rows[i].spec.text, policy) == 0)
			return &s->rows[i].facts;
	ck_abort_msg("no policy %s", policy);
	return NULL;
}

static const char triples[] = "%d %d %d\n";
static const char jsons[] = "{\"time\":%d,\"url\":\"/u/%d\",\"status\":200,\"body_bytes\":%d}\n";

/* N1 URLs once, N2 others three times, of one size. */
static void
write_wonders(FILE *f, bool json)
{
	int t = 0;
	for (int round = 0; round < 3; round++)
		for (int url = 0; url < N1 + N2; url++)
			if (round == 0 || url < N2)
				fprintf(f, json ? jsons : triples, 1795324844 + t++, url, BODY);
	fclose(f);
}

START_TEST(saved_is_exactly_the_one_hit_share)
{
	begin();
	write_wonders(create("log"), _i);
	struct study s;
	struct study_options o = options(file("log"));
	o.policies[2] = "bound";
	o.policies[3] = "3";
	o.policies[4] = "2+filter=exact";
	o.policies_n = 5;
	o.memory = _i ? 1 : 64 << 20; /* second fetches, or writes from RAM: all the same */
	run(&s, &o);
	const struct policy_facts *all = facts_of(&s, "all"), *two = facts_of(&s, "2");
	ck_assert_double_eq(all->written_objects, N1 + N2);
	ck_assert_double_eq(all->fetched, N1 + N2);
	ck_assert_double_eq(two->written_objects, N2);
	ck_assert_double_eq(two->fetched, _i ? N1 + 2 * N2 : N1 + N2);
	ck_assert_double_eq_tol(1 - two->written_bytes / all->written_bytes, (double)N1 / (N1 + N2),
				0.002);
	ck_assert_double_eq_tol(facts_of(&s, "bound")->hit_ratio, all->hit_ratio, 1e-9);
	ck_assert_double_eq(facts_of(&s, "3")->written_objects, N2);
	ck_assert_double_eq(facts_of(&s, "2+filter=exact")->written_objects, N2);
	ck_assert_double_eq(s.log.once_urls, N1);
	ck_assert_double_eq_tol(all->hit_ratio, 2.0 * N2 / (N1 + 3 * N2), 1e-9);
	ck_assert_double_eq(all->hit_ratio_error + all->written_error, 0);
	study_fini(&s);
	end();
}
END_TEST

/* ---- packings, several logs, bad lines --------------------------------------------------------
 */

static const char clf[] = "1.2.3.4 - - [22/Nov/2026:05:%02d:%02d +0000] \"GET /%d HTTP/1.1\" 200 "
			  "%d \"-\" \"-\"\n";

static size_t
make_text(char *to, size_t room, int lines, int from_minute)
{
	size_t n = 0;
	for (int i = 0; i < lines; i++)
		n += (size_t)snprintf(to + n, room - n, clf, from_minute + i / 60, i % 60, i % 7,
				      1000 + i % 7);
	return n;
}

static size_t
packed(int how, const char *text, size_t n, unsigned char *out, size_t room)
{
	uLongf got = room;
	size_t at = 0;
	z_stream z = {0};
	switch (how) {
	case 1:
		deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
		z.next_in = (unsigned char *)(uintptr_t)text;
		z.avail_in = (unsigned)n;
		z.next_out = out;
		z.avail_out = (unsigned)room;
		deflate(&z, Z_FINISH);
		got = z.total_out;
		deflateEnd(&z);
		return got;
	case 2:
		return ZSTD_compress(out, room, text, n, 3);
	case 3:
		lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, (const uint8_t *)text, n, out,
					&at, room);
		return at;
	default:
		memcpy(out, text, n);
		return n;
	}
}

START_TEST(a_packed_log_is_read_like_a_plain_one)
{
	static char text[1 << 20];
	static unsigned char out[1 << 20];
	begin();
	size_t n = make_text(text, sizeof text, 3000, 0), m = packed(_i, text, n, out, sizeof out);
	FILE *f = create("log");
	fwrite(out, 1, m, f);
	fwrite(out, 1, m, f); /* members behind each other are one log */
	fclose(f);
	struct study s;
	struct study_options o = options(file("log"));
	run(&s, &o);
	static const char *const words[] = {"plain", "gzip", "zstd", "xz"};
	ck_assert_str_eq(s.logs[0].packing, words[_i]);
	ck_assert_uint_eq(s.log.visits, 6000);
	ck_assert_double_eq(facts_of(&s, "all")->fetched, 7);
	study_fini(&s);

	f = create("cut");
	fwrite(out, 1, m / 2, f);
	fclose(f);
	char err[512] = "";
	o = options(file("cut"));
	int r = study_run(&s, &o, err, sizeof err);
	ck_assert_msg(_i ? r == -1 && strstr(err, "cut short") : r == 0, "%d: %s", _i, err);
	if (r == 0)
		study_fini(&s);
	end();
}
END_TEST

START_TEST(several_logs_are_one_by_time)
{
	begin();
	FILE *a = create("a"), *b = create("b");
	for (int i = 0; i < 100; i++)
		fprintf(i % 2 ? a : b, "%d x%d 1000\n", 1000 + i, i / 2);
	fclose(a);
	fclose(b);
	struct study s;
	struct study_options o = options(file("a"));
	o.logs[o.logs_n++] = file("b");
	run(&s, &o);
	ck_assert_double_eq(s.log.urls, 50);
	ck_assert_double_eq(s.log.gap_urls[0], 50); /* each comes again before any other does */
	ck_assert_uint_eq(s.logs[0].late_lines + s.logs[1].late_lines, 0);
	study_fini(&s);
	end();
}
END_TEST

START_TEST(bad_lines_are_counted_and_most_is_too_many)
{
	begin();
	for (int bad_each = 2; bad_each <= 10; bad_each += 8) {
		FILE *f = create("log");
		for (int i = 1; i <= 1000; i++)
			if (i % 10 < bad_each && i > 100)
				fprintf(f, "what is this?\n");
			else
				fprintf(f, clf, i / 60 % 60, i % 60, i, 10);
		fclose(f);
		struct study s;
		char err[512] = "";
		struct study_options o = options(file("log"));
		int r = study_run(&s, &o, err, sizeof err);
		ck_assert_int_eq(r, bad_each == 2 ? 0 : -1);
		if (r == 0) {
			ck_assert_uint_eq(s.logs[0].bad_lines, 180);
			ck_assert_uint_eq(s.logs[0].bad_numbers[0], 101);
			ck_assert_uint_eq(s.logs[0].bad_numbers[1], 110);
			study_fini(&s);
		} else {
			ck_assert_ptr_nonnull(strstr(err, "900 of 1000 lines"));
			ck_assert_ptr_nonnull(strstr(err, "line 101"));
		}
	}
	end();
}
END_TEST

START_TEST(a_line_without_end_is_one_bad_line)
{
	begin();
	FILE *f = create("log");
	for (int i = 0; i < 10; i++)
		fprintf(f, clf, 0, i, i, 10);
	for (int i = 0; i < 5 << 20; i++)
		fputc('x', f);
	fputc('\n', f);
	fprintf(f, clf, 0, 30, 1, 10);
	fclose(f);
	struct study s;
	struct study_options o = options(file("log"));
	run(&s, &o);
	ck_assert_uint_eq(s.log.visits, 11);
	ck_assert_uint_eq(s.logs[0].bad_lines, 1);
	ck_assert_uint_eq(s.logs[0].lines, 12);
	study_fini(&s);
	end();
}
END_TEST

/* ---- what is left out, what expires, what changes ------------------------------------------- */

START_TEST(what_no_cache_stores_is_left_out_and_counted)
{
	static const char *const requests[] = {
		"GET /a HTTP/1.1\" 200",       "POST /a HTTP/1.1\" 200",
		"HEAD /a HTTP/1.1\" 200",      "GET /a HTTP/1.1\" 404",
		"GET /a HTTP/1.1\" 206",       "GET /a HTTP/1.1\" 304",
		"GET /api/x HTTP/1.1\" 200",   "GET /no/x HTTP/1.1\" 200",
		"GET ftp://a/ HTTP/1.1\" 200", "GET /a?utm_source=x HTTP/1.1\" 200",
	};
	static const char yaml[] = "routes:\n  - path: /no\n    pass: on\n"
				   "  - drop_params: [ \"utm_*\" ]\n";
	char err[512];
	begin();
	ck_assert_msg(!config_parse(&config, "t", yaml, sizeof yaml - 1, err, sizeof err), "%s",
		      err);
	FILE *f = create("log");
	for (int i = 0; i < COUNT(requests); i++)
		fprintf(f, "1.2.3.4 - - [22/Nov/2026:05:20:%02d +0000] \"%s 100\n", i, requests[i]);
	fclose(f);
	struct study s;
	struct study_options o = options(file("log"));
	o.screen.skip[o.screen.skip_n++] = "/api/*";
	run(&s, &o);
	ck_assert_uint_eq(s.screen.counts[SCREENING_TAKEN], 4);
	ck_assert_uint_eq(s.screen.counts[SCREENING_METHOD], 2);
	ck_assert_uint_eq(s.screen.counts[SCREENING_STATUS], 1);
	ck_assert_uint_eq(s.screen.counts[SCREENING_PATTERN], 1);
	ck_assert_uint_eq(s.screen.counts[SCREENING_ROUTE], 1);
	ck_assert_uint_eq(s.screen.counts[SCREENING_URL], 1);
	ck_assert_double_eq(s.log.urls, 1);
	study_fini(&s);
	end();
}
END_TEST

START_TEST(what_expired_is_validated_where_the_log_shows_a_304)
{
	begin();
	FILE *f = create("log");
	for (int hour = 0; hour < 10; hour++) {
		fprintf(f, "{\"time\":%d,\"url\":\"/checked.html\",\"status\":%d,\"bytes\":1000}\n",
			hour * HOUR, hour == 3 ? 304 : 200);
		fprintf(f, "{\"time\":%d,\"url\":\"/plain.html\",\"status\":200,\"bytes\":1000}\n",
			hour * HOUR);
		fprintf(f, "{\"time\":%d,\"url\":\"/long.jpg\",\"status\":200,\"bytes\":1000}\n",
			hour * HOUR);
	}
	fclose(f);
	struct study s;
	struct study_options o = options(file("log"));
	o.screen.lifetimes[0] = (struct screen_lifetime){".html", HOUR / 2};
	o.screen.lifetimes[1] = (struct screen_lifetime){"", 100 * HOUR};
	o.screen.lifetimes_n = 2;
	run(&s, &o);
	const struct policy_facts *all = facts_of(&s, "all");
	ck_assert_double_eq(all->validated, 9);
	ck_assert_double_eq(all->fetched, 1 + 10 + 1);
	study_fini(&s);
	end();
}
END_TEST

START_TEST(another_size_is_another_version)
{
	begin();
	FILE *f = create("log");
	for (int i = 0; i < 40; i++)
		fprintf(f, "%d a %d\n", i, i < 20 ? 1000 : 2000);
	fclose(f);
	struct study s;
	struct study_options o = options(file("log"));
	run(&s, &o);
	ck_assert_double_eq(facts_of(&s, "all")->fetched, 2);
	ck_assert_double_eq(facts_of(&s, "all")->written_objects, 2);
	ck_assert_double_eq(facts_of(&s, "2")->written_objects, 2);
	ck_assert_double_eq(s.log.versions, 1);
	study_fini(&s);
	end();
}
END_TEST

/* A player asks for one slice after the other, another one too, and somebody takes the whole. Each slice is
 * fetched once, and they are one object written. In one piece, what a part brought is not kept, unless
 * the URL was asked for before: then the whole is fetched. */
START_TEST(a_large_object_lies_in_slices)
{
	enum { SLICES = 3, SLICE = 1 << 20 };
	begin();
	FILE *f = create("log");
	for (int i = 0; i < 2 * SLICES + 1; i++)
		fprintf(f,
			"192.0.2.%d - - [22/Nov/2026:05:00:%02d +0000] \"GET /film HTTP/1.1\" %d %d "
			"\"-\" \"-\"\n",
			i / SLICES, i, i < 2 * SLICES ? 206 : 200,
			i < 2 * SLICES ? SLICE : SLICES * SLICE);
	fclose(f);
	struct study s;
	struct study_options o = options(file("log"));
	o.policies[1] = "all+slices=off";
	run(&s, &o);
	const struct policy_facts *in_slices = facts_of(&s, "all"),
				  *whole = facts_of(&s, "all+slices=off");
	ck_assert_double_eq(in_slices->missed, SLICES);
	ck_assert_double_eq(in_slices->origin_requests, SLICES);
	ck_assert_double_eq(in_slices->origin_bytes, SLICES * SLICE);
	ck_assert_double_eq(in_slices->ram_hits + in_slices->disk_hits, SLICES + 1);
	ck_assert_double_eq(in_slices->written_objects, 1);
	ck_assert_double_ge(in_slices->written_bytes, SLICES * SLICE);
	ck_assert_double_lt(in_slices->written_bytes, SLICES * SLICE * 1.01);
	ck_assert_double_gt(whole->origin_bytes, SLICES * SLICE);
	study_fini(&s);
	end();
}
END_TEST

static const struct {
	const char *name, *before, *behind;
	unsigned placed;
	double missed;
} told_ranges[] = {
	{"range", "bytes=", "", 32, 2 + 1},
	{"content_range", "bytes ", "/8388608", 32, 2 + 1},
	{"another", "", "", 0, 8}, /* not told */
};

/* Two slices of eight are asked for, again and again, and then all. Where the log does not say which
 * ones, they are taken as one behind the other. */
START_TEST(parts_lie_where_their_ranges_are)
{
	enum { ASKED = 32, SLICE = 1 << 20 };
	begin();
	FILE *f = create("log");
	for (int i = 0; i < ASKED; i++) {
		int at = (i % 2 ? 1 : 5) * SLICE;
		fprintf(f,
			"{\"time\":%d,\"url\":\"/film\",\"status\":206,\"body_bytes\":%d,\"%s\":\"%s%d-%d%s\"}\n",
			1795324800 + 100 * i, SLICE, told_ranges[_i].name, told_ranges[_i].before,
			at, at + SLICE - 1, told_ranges[_i].behind);
	}
	fprintf(f, "{\"time\":1795328900,\"url\":\"/film\",\"status\":200,\"body_bytes\":%d}\n",
		8 * SLICE);
	fclose(f);
	struct study s;
	struct study_options o = options(file("log"));
	run(&s, &o);
	ck_assert_uint_eq(s.screen.parts, ASKED);
	ck_assert_uint_eq(s.screen.placed, told_ranges[_i].placed);
	ck_assert_double_eq(facts_of(&s, "all")->missed, told_ranges[_i].missed);
	study_fini(&s);
	end();
}
END_TEST

static const struct {
	struct {
		unsigned from, to; /* slices; to: not among them */
	} asked[3];
	unsigned written;
} ranges_behind[] = {
	{{{3, 4}, {7, 8}, {3, 4}}, 1},	  /* the third one alone was asked for before */
	{{{3, 7}, {6, 7}, {0, 0}}, 1},	  /* each slice of the first one counts */
	{{{3, 40}, {39, 40}, {0, 0}}, 1}, /* of many, too */
	{{{3, 7}, {6, 9}, {0, 0}}, 3},	  /* where the head goes to the disk, all is wanted */
	{{{3, 4}, {2, 5}, {0, 0}}, 1},	  /* refused, written, refused */
	{{{3, 4}, {7, 8}, {9, 10}}, 0}, /* the URL was asked for three times, and no slice twice */
};

/* A range behind the first byte is a sighting of the slices that it touches, not of the URL. */
START_TEST(ranges_behind_the_first_byte_count_for_their_slices)
{
	enum { ALL = 48, SLICE = 1 << 20 };
	begin();
	FILE *f = create("log");
	for (int i = 0; i < 3; i++) {
		unsigned from = ranges_behind[_i].asked[i].from, to = ranges_behind[_i].asked[i].to;
		if (to)
			fprintf(f,
				"{\"time\":%d,\"url\":\"/film\",\"status\":206,\"body_bytes\":%u,"
				"\"range\":\"bytes %u-%u/%d\"}\n",
				1795324800 + 100 * i, (to - from) * SLICE, from * SLICE,
				to * SLICE - 1, ALL * SLICE);
	}
	fclose(f);
	struct study s;
	struct study_options o = options(file("log"));
	run(&s, &o);
	double written = facts_of(&s, "2")->written_bytes;
	ck_assert_double_ge(written, (double)ranges_behind[_i].written * SLICE);
	ck_assert_double_le(written, (double)(ranges_behind[_i].written * (SLICE + 8192) + 8192));
	study_fini(&s);
	end();
}
END_TEST

/* A 206 tells the length of what it brings, whatever the field is called. */
START_TEST(parts_of_many_lengths_are_one_version)
{
	begin();
	FILE *f = create("log");
	for (int i = 0; i < 40; i++)
		fprintf(f, "{\"time\":%d,\"url\":\"/film\",\"status\":206,\"content_length\":%d}\n",
			1795324844 + i, 1000 + i % 4 * 100);
	fclose(f);
	struct study s;
	struct study_options o = options(file("log"));
	run(&s, &o);
	ck_assert_uint_eq(s.log.visits, 40);
	ck_assert_double_eq(s.log.versions, 0);
	ck_assert_double_eq(facts_of(&s, "all")->written_objects, 1);
	study_fini(&s);
	end();
}
END_TEST

/* A client left before the first byte: nothing was sent, so nothing that was sent was missed. */
START_TEST(an_answer_of_no_bytes_is_no_byte_missed)
{
	enum { LARGE = 10 << 20 };
	begin();
	FILE *f = create("log");
	for (int i = 0; i < 3; i++)
		fprintf(f, "{\"time\":%d,\"url\":\"/big\",\"status\":200,\"body_bytes\":%d}\n",
			1795324844 + i, i == 1 ? 0 : LARGE);
	fclose(f);
	struct study s;
	struct study_options o = options(file("log"));
	run(&s, &o);
	ck_assert_uint_eq(facts_of(&s, "2")->sent_bytes, 2 * LARGE);
	ck_assert_double_eq(facts_of(&s, "2")->missed_sent_bytes, LARGE);
	study_fini(&s);
	end();
}
END_TEST

/* An answer fresh for ever is so beyond the last second that a clock of 32 bits has, too. */
START_TEST(times_beyond_32_bits_are_times)
{
	begin();
	FILE *f = create("log");
	for (int i = 0; i < 10; i++)
		fprintf(f, "%lld a 1000\n", i ? 5000000000LL + i : 0);
	fclose(f);
	struct study s;
	struct study_options o = options(file("log"));
	run(&s, &o);
	ck_assert_double_eq(facts_of(&s, "all")->fetched, 1);
	study_fini(&s);
	end();
}
END_TEST

START_TEST(a_lifetime_for_all_is_for_those_without_their_own)
{
	begin();
	FILE *f = create("log");
	for (int i = 0; i < 4; i++)
		fprintf(f, "{\"time\":%d,\"url\":\"/a.%s\",\"status\":200,\"body_bytes\":9}\n",
			1795324844 + 100 * i, i % 2 ? "html" : "css");
	fclose(f);
	struct study s;
	struct study_options o = options(file("log"));
	o.screen.lifetimes_n = 2;
	o.screen.lifetimes[_i] = (struct screen_lifetime){"", 86400};
	o.screen.lifetimes[1 - _i] = (struct screen_lifetime){".html", 60};
	run(&s, &o);
	ck_assert_double_eq(facts_of(&s, "all")->fetched, 1 + 2);
	study_fini(&s);
	end();
}
END_TEST

/* ---- samples, LRU, ends --------------------------------------------------------------------- */

static void
write_mix(const char *name, unsigned requests)
{
	FILE *f = create(name);
	uint64_t x = 1;
	for (unsigned i = 0; i < requests; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		unsigned url = (unsigned)(x >> 33) % ((x >> 61) ? 100000 : 3000);
		fprintf(f, "%u %u %u\n", i / 100, url, 500 + url * 7919 % 20000);
	}
	fclose(f);
}

/* Requests, of which ThreadSanitizer makes each ten times as long. */
enum { SAMPLED = THREAD_SANITIZED ? 150000 : 300000 };

/* The errors that are stated hold: both differences are within three of them, and small. */
START_TEST(a_sample_tells_its_error)
{
	begin();
	write_mix("log", SAMPLED);
	struct study whole, part;
	struct study_options o = options(file("log"));
	o.disks[0] = UNITS_ROOM_SHARE | 300000;
	o.memory = 8 << 20;
	run(&whole, &o);
	o.halvings = 3;
	run(&part, &o);
	for (unsigned i = 0; i < whole.rows_n; i++) {
		const struct policy_facts *a = &whole.rows[i].facts, *b = &part.rows[i].facts;
		ck_assert_double_eq(a->hit_ratio_error, 0);
		ck_assert_double_le(b->sample_share, 0.125);
		ck_assert_double_gt(b->hit_ratio_error, 0);
		ck_assert_double_lt(b->hit_ratio_error, 0.01);
		ck_assert_double_eq_tol(b->hit_ratio, a->hit_ratio, 3 * b->hit_ratio_error + 0.005);
		ck_assert_double_eq_tol(b->written_bytes, a->written_bytes,
					3 * b->written_error + 0.02 * a->written_bytes);
	}
	study_fini(&whole);
	study_fini(&part);
	end();
}
END_TEST

/* One URL in forty is up to ten thousand times as large as the others. */
static void
write_tail(const char *name, unsigned requests)
{
	FILE *f = create(name);
	uint64_t x = 1;
	for (unsigned i = 0; i < requests; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		unsigned url = (unsigned)(x >> 33) % ((x >> 61) ? 60000 : 3000);
		unsigned bytes = url % 40 ? 500 + url % 1000 : 50000 + url * 7919 % 900000;
		fprintf(f, "%u %u %u\n", i / 100, url, bytes);
	}
	fclose(f);
}

/* Few URLs have most of the bytes. A sample by key alone has one more or less of them and is off by 27
 * points of hits and a third of the bytes written. With all of them in it up to four points and 4% remain:
 * what the large ones share a segment with is fewer things, each as often as it counts. */
START_TEST(a_sample_holds_all_that_is_large)
{
	begin();
	write_tail("log", SAMPLED * 2 / 3);
	struct study whole, part;
	struct study_options o = options(file("log"));
	o.disks[0] = UNITS_ROOM_SHARE | 300000;
	o.memory = 8 << 20;
	run(&whole, &o);
	o.halvings = 4;
	run(&part, &o);
	ck_assert_double_le(part.log.sample_share, 1 / 16.0);
	ck_assert_double_gt(part.log.large_urls, 500);
	for (unsigned i = 0; i < whole.rows_n; i++) {
		const struct policy_facts *a = &whole.rows[i].facts, *b = &part.rows[i].facts;
		ck_assert_double_eq_tol(b->hit_ratio, a->hit_ratio, 0.05);
		ck_assert_double_eq_tol(b->written_bytes, a->written_bytes,
					0.04 * a->written_bytes);
		ck_assert_double_lt(b->written_error, 0.01 * a->written_bytes);
	}
	study_fini(&whole);
	study_fini(&part);
	end();
}
END_TEST

START_TEST(memory_is_bounded_by_sampling)
{
	begin();
	write_mix("log", 300000);
	struct study s;
	struct study_options o = options(file("log"));
	o.use_bytes = 14 << 20;
	run(&s, &o);
	ck_assert_double_lt(s.log.sample_share, 1);
	ck_assert_double_eq_tol(s.log.urls, 93000, 6000);
	ck_assert_double_le(s.memory_bytes, (double)o.use_bytes);
	study_fini(&s);
	o.base.sights.memory.capacity = 10000000; /* filters count too */
	char err[512] = "";
	ck_assert_int_eq(study_run(&s, &o, err, sizeof err), -1);
	ck_assert_msg(strstr(err, "the filters of these policies take") != NULL, "%s", err);
	end();
}
END_TEST

/* Less than the table begins with: it is full, and says so or samples, but it ends. */
START_TEST(too_little_memory_is_no_endless_loop)
{
	begin();
	write_mix("log", 300000);
	struct study s;
	struct study_options o = options(file("log"));
	char err[512] = "";
	o.use_bytes = 1 << 20;
	o.base.sights.memory.capacity = 1000;
	o.policies[1] = "all";
	if (study_run(&s, &o, err, sizeof err) == 0) {
		ck_assert_double_lt(s.log.sample_share, 1);
		study_fini(&s);
	} else {
		ck_assert_msg(strstr(err, "--use-memory") != NULL, "%s", err);
	}
	end();
}
END_TEST

enum {
	MANY = 100000, /* several batches in each pass */
	TELLS_MS = 250 /* progress is told as seldom */
};

static atomic_uint stops;

static void
stop_now(void *ctx, const struct study_progress *p)
{
	if (p->pass == *(unsigned *)ctx)
		atomic_store(&stops, 1);
}

START_TEST(told_to_stop_it_says_what_it_has)
{
	unsigned pass = (unsigned)_i + 1;
	begin();
	own_clock_look_ms = TELLS_MS;
	write_mix("log", MANY);
	struct study s;
	struct study_options o = options(file("log"));
	o.tell = stop_now;
	o.ctx = &pass;
	o.stop = &stops;
	run(&s, &o);
	uint64_t requests = s.rows[0].facts.requests;
	ck_assert(s.stopped);
	ck_assert_uint_gt(requests, 0);
	ck_assert_uint_lt(requests, MANY);
	ck_assert_uint_eq(s.log.visits, pass == 1 ? requests : MANY);
	ck_assert_uint_eq(s.run_s, (requests - 1) / 100); /* what the policies have written in */
	study_fini(&s);
	end();
}
END_TEST

/* Once, when the second pass has begun: URLs that nobody asked for before. */
static void
grow(void *ctx, const struct study_progress *p)
{
	bool *grown = ctx;
	if (p->pass != 2 || *grown)
		return;
	FILE *f = fopen(file("log"), "ab");
	ck_assert_ptr_nonnull(f);
	for (int i = 0; i < 1000; i++)
		fprintf(f, "40000 %d 100\n", 1000000 + i);
	fclose(f);
	*grown = true;
}

START_TEST(a_log_that_grows_meanwhile_is_what_it_was)
{
	bool grown = false;
	begin();
	own_clock_look_ms = TELLS_MS;
	write_mix("log", MANY);
	struct study s;
	struct study_options o = options(file("log"));
	o.tell = grow;
	o.ctx = &grown;
	run(&s, &o);
	ck_assert(grown);
	ck_assert_uint_eq(s.rows[0].facts.requests, MANY);
	study_fini(&s);
	end();
}
END_TEST

/* clang-format off */
static const struct { const char *policy, *why; } wrong[] = {
	{ "", "no policy" }, { "5x", "no policy" }, { "0", "no policy" }, { "16", "no policy" },
	{ "2+", NULL }, { "2+capacity", "not understood" }, { "2+capacity=0", "capacity" },
	{ "2+filter=cuckoo", "not understood" }, { "2+colour=red", "not understood" },
	{ "2+fpr=200%", "not understood" }, { "2+large=3", NULL }, { "all+large=3", "not understood" },
	{ "2+large=16", "not understood" }, { "auto", NULL }, { "auto+large=3", "not understood" },
	{ "auto+filter=counting", "only for the filter pair" }, { "auto+filter=exact", "only for the filter pair" },
};
/* clang-format on */

START_TEST(wrong_policies_are_refused_with_a_sentence)
{
	begin();
	FILE *f = create("log");
	fprintf(f, "1 a 10\n");
	fclose(f);
	struct study s;
	char err[512] = "";
	struct study_options o = options(file("log"));
	o.policies[1] = wrong[_i].policy;
	int r = study_run(&s, &o, err, sizeof err);
	ck_assert_msg(wrong[_i].why ? r == -1 && strstr(err, wrong[_i].why) : r == 0, "%s: %s",
		      wrong[_i].policy, err);
	if (r == 0)
		study_fini(&s);
	end();
}
END_TEST

static void
ask_for(FILE *f, int second, int from, int to)
{
	for (int url = from; url < to; url++)
		fprintf(f, triples, second, url, BODY);
}

static const int seconds[] = {0, 1795324844};

/* A disk of 16 MiB is written four times over by URLs that are asked for twice at once; then the
 * first ones come back, which were forgotten long ago. All within a second. */
START_TEST(a_generation_is_a_tenth_of_a_turn)
{
	enum { N = 8000, BACK = 100 };
	begin();
	FILE *f = create("log");
	for (int url = 0; url < N; url++) {
		ask_for(f, seconds[_i], url, url + 1);
		ask_for(f, seconds[_i], url, url + 1);
	}
	ask_for(f, seconds[_i], 0, BACK);
	fclose(f);
	struct study s;
	struct study_options o = options(file("log"));
	o.disks[0] = 16 << 20;
	o.memory = 1 << 20;
	o.policies[2] = "2+rotate=24h";
	o.policies[3] = "3";
	o.policies[4] = "2+rotate=auto";
	o.policies_n = 5;
	run(&s, &o);
	ck_assert_double_eq(facts_of(&s, "2")->written_objects, N);
	ck_assert_double_eq(facts_of(&s, "2+rotate=auto")->written_objects, N);
	ck_assert_double_eq(facts_of(&s, "2+rotate=24h")->written_objects, N + BACK);
	/* Once when the log is full, then ten times a turn: three turns and some. */
	ck_assert_uint_ge(s.rows[1].sights.rotations, 31);
	ck_assert_uint_le(s.rows[1].sights.rotations, 41);
	study_fini(&s);
	/* The simulated policy is suggested. */
	struct advice a;
	o.policies[0] = _i ? "2" : "2+rotate=24h";
	o.policies_n = 1;
	run(&s, &o);
	advice_find(&a, &s, &o);
	ck_assert_ptr_nonnull(strstr(a.yaml, _i ? "rotate_after: auto\n" : "rotate_after: 1d\n"));
	study_fini(&s);
	/* No configuration says the second one. */
	o.policies[0] = "auto";
	o.policies[1] = "2+large=3";
	o.policies_n = 2;
	run(&s, &o);
	advice_find(&a, &s, &o);
	ck_assert_ptr_nonnull(strstr(a.yaml, "  sightings: auto\n"));
	for (unsigned i = 0; i < a.reasons_n; i++)
		ck_assert_ptr_null(strstr(a.reasons[i], "everything is admitted"));
	study_fini(&s);
	end();
}
END_TEST

/* Bodies that come twice and never again, with RAM for the second time: a third sighting of large ones writes none. */
START_TEST(auto_asks_for_three_of_large_bodies_where_that_pays)
{
	enum { N = 4000, LARGE = 80000 };
	begin();
	FILE *f = create("log");
	for (int url = 0; url < N; url++)
		for (int i = 0; i < 2; i++) {
			fprintf(f, triples, url / 10, url, _i ? LARGE : BODY);
			fprintf(f, triples, url / 10, N + url % 20, 100); /* all the time */
		}
	fclose(f);
	struct study s;
	struct study_options o = options(file("log"));
	o.disks[0] = _i ? 16 << 20 : 8 << 20;
	o.memory = 512 << 20;
	o.policies[0] = "auto";
	o.policies[2] = "2+large=3";
	o.policies_n = 3;
	run(&s, &o);
	const struct policy_facts *two = facts_of(&s, "2"), *is = facts_of(&s, "auto");
	ck_assert(is->chooses && !two->chooses);
	ck_assert_double_ge(two->written_objects, N);
	ck_assert_uint_eq(is->choice.sightings, _i ? CHOICE_MANY : CHOICE_FEW);
	ck_assert_uint_eq(is->choice.changes, (unsigned)_i);
	ck_assert_double_eq_tol(is->hit_ratio, two->hit_ratio, 0.005);
	if (_i) {
		ck_assert_double_le(facts_of(&s, "2+large=3")->written_objects, 20);
		ck_assert_double_lt(is->written_bytes, 0.5 * two->written_bytes);
	} else {
		ck_assert_double_eq(is->written_bytes, two->written_bytes);
	}
	study_fini(&s);
	end();
}
END_TEST

enum { DAY = 24 * HOUR, EARLY = 100 };
static const struct {
	int back_s;
	double written;
} times[] = {{DAY - 10, EARLY}, {DAY + 10, EARLY}, {2 * DAY + 2 * HOUR, 0}};

START_TEST(while_the_log_grows_a_generation_is_a_day)
{
	begin();
	FILE *f = create("log");
	ask_for(f, 5, 0, EARLY);
	for (int t = HOUR; t < times[_i].back_s; t += HOUR)
		ask_for(f, t, EARLY + t, EARLY + t + 1);
	ask_for(f, times[_i].back_s, 0, EARLY);
	fclose(f);
	struct study s;
	struct study_options o = options(file("log"));
	o.policies[2] = "2+filter=counting";
	o.policies_n = 3;
	run(&s, &o);
	ck_assert_double_eq(facts_of(&s, "2")->written_objects, times[_i].written);
	ck_assert_double_eq(facts_of(&s, "2+filter=counting")->written_objects, times[_i].written);
	study_fini(&s);
	end();
}
END_TEST

START_TEST(the_advice_is_the_best_of_what_was_tried)
{
	begin();
	write_mix("log", SAMPLED / 3);
	struct study s;
	struct advice a;
	struct study_options o = options(file("log"));
	static const char *const policies[] = {"all",	   "2",		"3",	 "2+capacity=1%",
					       "2+ram=5%", "2+ram=30%", "bound", "2+exp=1KiB"};
	static const uint64_t disks[] = {100000, 50000, 200000, 400000};
	o.policies_n = COUNT(policies);
	memcpy(o.policies, policies, sizeof policies);
	o.disks_n = COUNT(disks);
	for (unsigned i = 0; i < o.disks_n; i++)
		o.disks[i] = UNITS_ROOM_SHARE | disks[i];
	o.memory = 16 << 20;
	o.curves[o.curves_n++] = "all";
	o.curves[o.curves_n++] = "2";
	o.tbw = UINT64_C(600) << 40;
	run(&s, &o);
	advice_find(&a, &s, &o);
	ck_assert_ptr_nonnull(a.row);
	ck_assert(!a.row->spec.bound && !a.row->spec.exp_bytes);
	for (unsigned i = 0; i < s.rows_n; i++) {
		const struct study_row *r = &s.rows[i];
		bool possible = !r->spec.bound && !r->spec.exp_bytes;
		ck_assert_msg(!possible ||
				      fabs(r->facts.hit_ratio - a.row->facts.hit_ratio) > 0.002 ||
				      r->facts.written_bytes > 0.95 * a.row->facts.written_bytes,
			      "%s is better than %s", r->spec.text, a.row->spec.text);
		ck_assert_msg(!possible || r->spec.disk_bytes > a.row->spec.disk_bytes ||
				      r->spec.memory_bytes > a.row->spec.memory_bytes ||
				      r->facts.hit_ratio <= a.row->facts.hit_ratio ||
				      r->facts.written_bytes > a.row->facts.written_bytes,
			      "%s hits more than %s, and writes no more", r->spec.text,
			      a.row->spec.text);
	}
	ck_assert_uint_ge(a.reasons_n, 3);
	ck_assert_double_gt(a.years, 0);
	ck_assert_double_ge(a.years, a.years_all);
	struct config again;
	char err[256];
	config_init(&again); /* the settings can be pasted */
	ck_assert_msg(!config_parse(&again, "t", a.yaml, strlen(a.yaml), err, sizeof err), "%s\n%s",
		      err, a.yaml);
	ck_assert_uint_eq(again.admission.sightings, a.row->spec.sightings);
	ck_assert_double_eq_tol((double)again.cache.disk_bytes, (double)a.row->spec.disk_bytes,
				1 << 20);
	config_fini(&again);
	study_fini(&s);
	end();
}
END_TEST

/* Ranges, 304s, versions and large objects among them. */
static void
write_motley(const char *name, unsigned requests)
{
	static const int statuses[] = {200, 200, 200, 200, 206, 200, 304, 200};
	FILE *f = create(name);
	uint64_t x = 1;
	for (unsigned i = 0; i < requests; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		unsigned url = (unsigned)(x >> 33) % ((x >> 61) ? 20000 : 600);
		unsigned size = 500 + url * 7919 % 20000 * (url % 97 ? 1 : 400);
		int status = statuses[x >> 40 & 7];
		fprintf(f,
			"{\"time\":%u,\"url\":\"/%u\",\"status\":%d,\"body_bytes\":%u,\"ttl\":%u}\n",
			1795324844 + i / 20, url, status,
			status == 304	 ? 0
			: (x >> 50 & 15) ? size
					 : size / 3,
			url % 5 ? 4000 : 300);
	}
	fclose(f);
}

static const struct {
	void (*write)(const char *name, unsigned requests);
	unsigned requests, halvings;
	uint64_t disk, memory;
} bounded[] = {
	{write_mix, 60000, 0, 16 << 20, 1 << 20},     {write_mix, 60000, 0, 64 << 20, 16 << 20},
	{write_mix, 60000, 2, 64 << 20, 1 << 20},     {write_motley, 60000, 0, 16 << 20, 1 << 20},
	{write_motley, 60000, 0, 100 << 20, 1 << 20}, {write_motley, 60000, 0, 400 << 20, 64 << 20},
};

/* And where the disk is small, it is clearly less than all that comes back. */
START_TEST(no_policy_hits_more_than_the_bound)
{
	static const char *const policies[] = {
		"bound", "all", "all+eviction=lru", "2", "3", "all+slices=off", "2+filter=exact"};
	begin();
	bounded[_i].write("log", bounded[_i].requests);
	struct study s;
	struct study_options o = options(file("log"));
	o.policies_n = COUNT(policies);
	memcpy(o.policies, policies, sizeof policies);
	o.disks[0] = bounded[_i].disk;
	o.memory = bounded[_i].memory;
	o.halvings = bounded[_i].halvings;
	run(&s, &o);
	for (unsigned i = 1; i < s.rows_n; i++) {
		const struct policy_facts *f = &s.rows[i].facts, *most = &s.rows[0].facts;
		double doubt = 3 * f->hit_ratio_error + 1e-9;
		ck_assert_msg(f->hit_ratio <= most->hit_ratio + doubt,
			      "%s hits %.4f, the bound %.4f", s.rows[i].spec.text, f->hit_ratio,
			      most->hit_ratio);
		ck_assert_msg(f->byte_hit_ratio <= most->byte_hit_ratio + doubt,
			      "%s: %.4f of bytes, the bound %.4f", s.rows[i].spec.text,
			      f->byte_hit_ratio, most->byte_hit_ratio);
	}
	if (o.disks[0] < s.log.bytes / 8)
		ck_assert_double_lt(s.rows[0].facts.hit_ratio,
				    0.9 * (1 - s.log.urls / (double)s.log.visits));
	study_fini(&s);
	end();
}
END_TEST

static const struct {
	unsigned requests;
	uint64_t memory;
	const char *none;
} needless[] = {
	{ADVICE_LEAST_VISITS - 1, 1 << 20,
	 "Nothing is suggested from 9999 requests: it takes 10000 at least."},
	{2 * ADVICE_LEAST_VISITS, UNITS_ROOM_SHARE | 100000, " of memory: no disk is needed."},
	{2 * ADVICE_LEAST_VISITS, UINT64_C(1) << 29, " of memory: no disk is needed."},
	{2 * ADVICE_LEAST_VISITS, 16 << 20, NULL},
};

START_TEST(nothing_is_suggested_where_little_is_known_or_needed)
{
	begin();
	write_mix("log", needless[_i].requests);
	struct study s;
	struct advice a;
	struct study_options o = options(file("log"));
	o.memory = needless[_i].memory;
	run(&s, &o);
	advice_find(&a, &s, &o);
	ck_assert((a.row == NULL) == (needless[_i].none != NULL));
	ck_assert_msg(a.row || strstr(a.none, needless[_i].none), "%s", a.none);
	study_fini(&s);
	end();
}
END_TEST

/* The disk is never full, so that one generation holds all URLs of the log, and no more is asked of
 * the settings than twice that. */
START_TEST(the_capacity_suggested_is_of_the_log)
{
	enum { URLS = 6000 };
	begin();
	FILE *f = create("log");
	for (int round = 0; round < 3; round++)
		ask_for(f, 1795324844, 0, URLS);
	fclose(f);
	struct study s;
	struct advice a;
	struct study_options o = options(file("log"));
	o.memory = 1 << 20;
	o.policies[0] = "2";
	o.policies_n = 1;
	run(&s, &o);
	advice_find(&a, &s, &o);
	ck_assert_uint_ge(a.capacity, 2 * URLS);
	ck_assert_uint_le(a.capacity, 2 * URLS + 1000);
	ck_assert_msg(strstr(a.yaml, "capacity: 13k") || strstr(a.yaml, "capacity: 13000"), "%s",
		      a.yaml);
	study_fini(&s);
	end();
}
END_TEST

/* clang-format off */
static const struct { const char *says, *line, *doubt; } doubtful[] = {
	{ "no status", "{\"time\":@t,\"host\":\"a\",\"url\":\"/@u\",\"size\":@s}\n", "No request has a status that is known" },
	{ "no size", "{\"time\":@t,\"host\":\"a\",\"url\":\"/@u\",\"status\":200,\"x\":@s}\n", "No request has a size" },
	{ "no status of 200", "{\"time\":@t,\"url\":\"/@u\",\"status\":500,\"size\":@s}\n", "all are left out" },
	{ "nothing", "{\"time\":@t,\"host\":\"a\",\"url\":\"/@u\",\"status\":200,\"size\":@s}\n", NULL },
	{ "nothing of a trace", "@t @u @s\n", NULL },
	{ "each once", "{\"time\":@t,\"host\":\"a\",\"url\":\"/@u-@t\",\"status\":200,\"size\":@s}\n", "No URL is asked for twice" },
	{ "one size", "{\"time\":@t,\"host\":\"a\",\"url\":\"/@u\",\"status\":200,\"size\":7,\"x\":@s}\n", "All objects have the same size" },
	{ "two sites", "{\"time\":@t,\"url\":\"/@u\",\"status\":200,\"bytes\":@s}\n{\"time\":@t,\"url\":\"/@u\",\"status\":200,\"bytes\":5@s}\n", "the log names no site" },
	{ "two sites, whole sizes", "{\"time\":@t,\"url\":\"/@u\",\"status\":200,\"object_size\":@s}\n{\"time\":@t,\"url\":\"/@u\",\"status\":200,\"object_size\":5@s}\n", "the log names no site" },
};
/* clang-format on */

/* @t, @u, @s: time, URL, size. */
static void
put_line(FILE *f, const char *pattern, const int values[3])
{
	static const char names[] = "tus";
	for (; *pattern; pattern++)
		if (*pattern == '@')
			fprintf(f, "%d", values[strchr(names, *++pattern) - names]);
		else
			fputc(*pattern, f);
}

static unsigned doubts_n;
static char doubt[512];

static void
note_doubt(void *ctx, const char *sentence)
{
	(void)ctx;
	doubts_n++;
	snprintf(doubt, sizeof doubt, "%s", sentence);
}

START_TEST(what_is_unlikely_of_requests_is_told)
{
	enum { URLS = 200 };
	begin();
	FILE *f = create("log");
	for (int i = 0; i < 4 * URLS; i++)
		put_line(f, doubtful[_i].line,
			 (const int[]){1795324844 + i, i % URLS, 100 + i % URLS});
	fclose(f);
	struct study s;
	struct study_options o = options(file("log"));
	run(&s, &o);
	doubts_n = 0;
	doubts_tell(&s, note_doubt, NULL);
	ck_assert_msg(doubts_n == (doubtful[_i].doubt != NULL), "%s: %u, %s", doubtful[_i].says,
		      doubts_n, doubt);
	ck_assert_msg(!doubtful[_i].doubt || strstr(doubt, doubtful[_i].doubt), "%s: %s",
		      doubtful[_i].says, doubt);
	study_fini(&s);
	end();
}
END_TEST

START_TEST(an_empty_log_is_told)
{
	struct study s;
	char err[512] = "";
	begin();
	fclose(create("log"));
	struct study_options o = options(file("log"));
	ck_assert_int_eq(study_run(&s, &o, err, sizeof err), -1);
	ck_assert_str_eq(err, "the log is empty: there are no lines in it");
	study_fini(&s);
	end();
}
END_TEST

START_TEST(a_disk_that_the_proxy_cannot_have_is_refused)
{
	begin();
	write_mix("log", 1000);
	struct study s;
	char err[512] = "";
	struct study_options o = options(file("log"));
	o.disks[0] = 500000;
	ck_assert_int_eq(study_run(&s, &o, err, sizeof err), -1);
	ck_assert_ptr_nonnull(strstr(err, "8MiB at least"));
	o.base.lru = true;
	run(&s, &o);
	ck_assert_double_gt(facts_of(&s, "all")->fetched, 0);
	study_fini(&s);
	o.base.lru = false;
	o.disks[0] = UNITS_ROOM_SHARE | 1000; /* of a small log: the least there is */
	run(&s, &o);
	ck_assert_uint_eq(s.rows[0].spec.disk_bytes, 8 << 20);
	study_fini(&s);
	end();
}
END_TEST

static char *
slurp(const char *name, void (*write)(FILE *, const struct study *, const struct study_options *),
      const struct study *s, const struct study_options *o)
{
	FILE *f = create(name);
	write(f, s, o);
	long n = ftell(f);
	fclose(f);
	f = fopen(file(name), "rb");
	char *text = calloc(1, (size_t)n + 1);
	ck_assert_uint_eq(fread(text, 1, (size_t)n, f), n);
	fclose(f);
	return text;
}

static unsigned
times_in(const char *text, const char *word)
{
	unsigned n = 0;
	while ((text = strstr(text, word))) {
		text += strlen(word);
		n++;
	}
	return n;
}

/* The page asks for nothing from outside, and the name of a log is no markup. */
START_TEST(the_page_is_whole_and_foreign_words_are_escaped)
{
	begin();
	write_mix("<script>alert(1)&'\"", 50000);
	struct study s;
	struct study_options o = options(file("<script>alert(1)&'\""));
	o.disks[1] = 64 << 20;
	o.disks_n = 2;
	o.curves[o.curves_n++] = "all";
	o.curves[o.curves_n++] = "2";
	run(&s, &o);
	char *page = slurp("page.html", page_write, &s, &o);
	ck_assert_uint_eq(times_in(page, "<svg"), 9);
	ck_assert_uint_eq(times_in(page, "</figure>"), 9);
	ck_assert_uint_eq(times_in(page, "<details>"), 9);
	ck_assert_uint_eq(times_in(page, "<script") + times_in(page, "http://") +
				  times_in(page, "https://") + times_in(page, "src=") +
				  times_in(page, "nan") + times_in(page, "inf "),
			  0);
	ck_assert_uint_eq(times_in(page, "&#60;script&#62;alert(1)&#38;&#39;&#34;"), 1);
	ck_assert_ptr_nonnull(strstr(page, "</html>"));
	free(page);
	char *json = slurp("r.json", account_json, &s, &o);
	json_error_t why;
	json_t *top = json_loads(json, 0, &why);
	ck_assert_msg(top != NULL, "%s", why.text);
	ck_assert_uint_eq(json_array_size(json_object_get(top, "policies")), 4);
	ck_assert(json_is_object(json_object_get(top, "suggestion")));
	ck_assert_double_eq_tol(
		json_number_value(json_object_get(
			json_array_get(json_object_get(top, "policies"), 0), "written_bytes")),
		s.rows[0].facts.written_bytes, 1);
	json_decref(top);
	free(json);
	study_fini(&s);
	end();
}
END_TEST

/* clang-format off */
static const struct { const char *policy; double least, most; } kinds[] = {
	{ "2+filter=counting", N2, N2 },
	{ "2+filter=scalable", N2, N2 },
	{ "2+filter=stable", N2 * 0.9, N2 }, /* it forgets at random */
	{ "2+filter=exact", N2, N2 },
	{ "4", 0, 0 },
	{ "2+capacity=1%+fpr=1%", N2, N2 + 20 }, /* 1,000 at least */
	{ "2+max=1KiB", 0, 0 },
	{ "2+max=1MiB", N2, N2 },
	{ "all+exp=8KiB", (N1 + N2) * 0.37, (N1 + 3 * N2) * 0.37 }, /* 1/e of all requests, at most */
	{ "all+budget=4KiB", 200, 700 }, /* a request a second of 8 KiB: some half of what comes */
	{ "all", N1 + N2, N1 + N2 },
};
/* clang-format on */

START_TEST(each_kind_of_rule_writes_what_it_should)
{
	begin();
	write_wonders(create("log"), false);
	struct study s;
	struct study_options o = options(file("log"));
	o.policies[0] = kinds[_i].policy;
	o.policies_n = 1;
	o.base.sights.memory.false_positives = 0.01;
	run(&s, &o);
	double written = s.rows[0].facts.written_objects;
	ck_assert_msg(written >= kinds[_i].least - 1 && written <= kinds[_i].most + 1, "%s: %f",
		      kinds[_i].policy, written);
	study_fini(&s);
	end();
}
END_TEST

/* libCacheSim's binary form of the same requests. */
START_TEST(a_binary_trace_is_the_same_as_its_text)
{
	begin();
	FILE *text = create("text"), *binary = create("binary");
	for (uint32_t i = 0; i < 5000; i++) {
		uint32_t t = 1000 + i / 10, size = 100 + i % 37;
		uint64_t id = i * i % 997;
		int64_t next = -1;
		fprintf(text, "%u %llu %u\n", t, (unsigned long long)id, size);
		fwrite(&t, 4, 1, binary);
		fwrite(&id, 8, 1, binary);
		fwrite(&size, 4, 1, binary);
		fwrite(&next, 8, 1, binary);
	}
	fclose(text);
	fclose(binary);
	struct study a, b;
	struct study_options o = options(file("text"));
	run(&a, &o);
	o.logs[0] = file("binary");
	run(&b, &o);
	ck_assert_int_eq(a.logs[0].format, FORMAT_TRIPLE);
	ck_assert_int_eq(b.logs[0].format, FORMAT_ORACLE);
	ck_assert_uint_eq(b.log.visits, 5000);
	for (unsigned i = 0; i < a.rows_n; i++)
		ck_assert(memcmp(&a.rows[i].facts, &b.rows[i].facts, sizeof a.rows[i].facts) == 0);
	study_fini(&a);
	study_fini(&b);
	end();
}
END_TEST

UNIT("study", TIMES(auto_asks_for_three_of_large_bodies_where_that_pays, 2),
     LOOP(each_kind_of_rule_writes_what_it_should, kinds),
     TEST(a_binary_trace_is_the_same_as_its_text),
     TEST(the_page_is_whole_and_foreign_words_are_escaped),
     LOOP(a_generation_is_a_tenth_of_a_turn, seconds),
     LOOP(while_the_log_grows_a_generation_is_a_day, times),
     TEST(the_advice_is_the_best_of_what_was_tried),
     LOOP(parts_lie_where_their_ranges_are, told_ranges),
     LOOP(ranges_behind_the_first_byte_count_for_their_slices, ranges_behind),
     LOOP(no_policy_hits_more_than_the_bound, bounded),
     LOOP(nothing_is_suggested_where_little_is_known_or_needed, needless),
     TEST(the_capacity_suggested_is_of_the_log),
     LOOP(what_is_unlikely_of_requests_is_told, doubtful), TEST(an_empty_log_is_told),
     TEST(a_disk_that_the_proxy_cannot_have_is_refused),
     TIMES(saved_is_exactly_the_one_hit_share, 2), TIMES(a_packed_log_is_read_like_a_plain_one, 4),
     TEST(several_logs_are_one_by_time), TEST(bad_lines_are_counted_and_most_is_too_many),
     TEST(a_line_without_end_is_one_bad_line), TEST(what_no_cache_stores_is_left_out_and_counted),
     TEST(what_expired_is_validated_where_the_log_shows_a_304),
     TEST(another_size_is_another_version), TEST(a_sample_tells_its_error),
     TEST(a_sample_holds_all_that_is_large), TEST(a_large_object_lies_in_slices),
     TEST(memory_is_bounded_by_sampling), TEST(too_little_memory_is_no_endless_loop),
     TIMES(told_to_stop_it_says_what_it_has, 2), TEST(a_log_that_grows_meanwhile_is_what_it_was),
     TEST(parts_of_many_lengths_are_one_version), TEST(an_answer_of_no_bytes_is_no_byte_missed),
     TEST(times_beyond_32_bits_are_times),
     TIMES(a_lifetime_for_all_is_for_those_without_their_own, 2),
     LOOP(wrong_policies_are_refused_with_a_sentence, wrong))
