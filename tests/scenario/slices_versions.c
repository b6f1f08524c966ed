/* Large bodies that change while they are read: another version is published, or purged, or two servers
 * of a group call the same file by two names. An answer that has begun is of one version, and whole where
 * that can be. */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=600\r\nCache-Tag: film\r\n"
#define MIB   (1 << 20)

/* More than the kernel takes for a client that reads nothing. */
enum { BYTES = 12 * MIB + 5 };

static void
origin_says_version(const char *path, unsigned version)
{
	origin_forget(path);
	origin_says(path, .fields = FRESH, .etag = text("\"v%u\"", version), .pattern_bytes = BYTES,
		    .seed = version, .ranges = true, .times = 99);
}

static void
expect_version(struct answer a, unsigned version, size_t at, size_t n)
{
	expect_int((long long)a.body_bytes, (long long)n);
	expect_that(is_pattern(a.body, version, at, n), "other bytes than those of version %u",
		    version);
}

static struct answer
get_piece(const char *path, size_t at, size_t n)
{
	struct answer a = get_with(path, text("Range: bytes=%zu-%zu\r\n", at, at + n - 1));
	expect_status(a, 206);
	return a;
}

/* A client that has the head of an answer to GET, and reads no more for now. */
static struct client *
begin_to_read(const char *path)
{
	struct client *c = client_open_narrow();
	client_request(c, "GET", path, NULL);
	expect_status(client_read_head(c), 200);
	return c;
}

static void
expect_rest(struct client *c, unsigned version)
{
	char *body = malloc(BYTES);
	size_t n = client_read_body(c, body, BYTES);
	expect_that(n == BYTES, "it is cut at %zu of %d bytes", n, BYTES);
	expect(is_pattern(body, version, 0, n));
	free(body);
	client_close(c);
}

/* ---- a version that goes ----------------------------------------------------------------------- */

static void
purge(const char *query)
{
	expect_status(edge_purge(query), 200);
}

/* Somebody is in the middle of what is wholly stored. */
static void
read_over_a_purge(const char *query)
{
	origin_says_version("/film", 1);
	expect_version(get("/film"), 1, 0, BYTES);
	expect_hit(get("/film"));
	struct client *c = begin_to_read("/film");
	int before = origin_requests();
	origin_says_version("/film", 2);
	purge(query);
	expect_version(get_piece("/film", 2 * MIB, 100), 2, 2 * MIB, 100);
	expect_rest(c, 1);
	origin_expect_requests(before + 1); /* nothing for who has begun */
	expect_version(get("/film"), 2, 0, BYTES);
	purge(query);
}

static const char *const purges[] = {"url=http://example.com/film", "tag=film",
				     "prefix=http://example.com/fi", "host=example.com", "all=1"};

SCENARIO("who has begun to read what is stored gets the rest of it after a purge; nobody else does")
{
	by_http_only();
	edge_start_yaml("admission:\n  sightings: 1\n");
	for (unsigned i = 0; i < sizeof purges / sizeof *purges; i++) {
		note("%s", purges[i]);
		read_over_a_purge(purges[i]);
	}
}

SCENARIO("so it is where all lies in RAM")
{
	by_http_only();
	edge_start("--memory", "128MiB");
	for (unsigned i = 0; i < sizeof purges / sizeof *purges; i++) {
		note("%s", purges[i]);
		read_over_a_purge(purges[i]);
	}
}

/* The second purge comes before a byte more was read. */
SCENARIO("so it is where the file is purged twice, and fetched anew in between")
{
	by_http_only();
	edge_start_yaml("admission:\n  sightings: 1\n");
	origin_says_version("/film", 1);
	expect_version(get("/film"), 1, 0, BYTES);
	struct client *c = begin_to_read("/film");
	for (unsigned version = 2; version < 4; version++) {
		origin_says_version("/film", version);
		purge("url=http://example.com/film");
		expect_version(get("/film"), version, 0, BYTES);
	}
	expect_rest(c, 1);
	expect_version(get("/film"), 3, 0, BYTES);
}

SCENARIO(
	"so it is behind a client's own change, and where the next version was found by a validation")
{
	by_http_only();
	edge_start("--memory", "128MiB");
	origin_says_version("/film", 1);
	expect_version(get("/film"), 1, 0, BYTES);
	struct client *c = begin_to_read("/film");
	origin_forget("/film");
	origin_says("/film", .status = 204);
	origin_says("/film", .fields = "Cache-Control: max-age=0\r\n", .etag = "\"v2\"",
		    .pattern_bytes = BYTES, .seed = 2, .ranges = true, .times = 99);
	expect_status(ask("POST", "/film", NULL, "x"), 204);
	expect_version(get("/film"), 2, 0, BYTES);
	struct client *second = begin_to_read("/film");
	origin_says_version("/film", 3);
	expect_version(get("/film"), 3, 0, BYTES);
	expect_rest(c, 1);
	expect_rest(second, 2);
}

/* Takes n bytes; false: the answer was cut before. */
static bool
takes(struct client *c, char *to, size_t n)
{
	return client_read_body(c, to, n) == n;
}

/* And no second longer, however late this one has its turn. */
static void
pass_until(int64_t ms)
{
	clock_hold();
	while (clock_ms() < ms)
		clock_advance(ms - clock_ms() < 60000 ? ms - clock_ms() : 60000);
	clock_run(1);
}

/* A client that takes its time has what it began with for an hour behind the purge, and no longer. */
SCENARIO("a client that reads on for more than an hour behind a purge is cut")
{
	enum { MINUTE = 60 * 1000, REST = BYTES - 5 * MIB };
	static char body[BYTES];
	by_h1_only();
	by_http_only();
	clock_run(1);
	edge_start_yaml("admission:\n  sightings: 1\ntimeouts:\n  send: 3h\n");
	origin_says_version("/film", 1);
	expect_version(get("/film"), 1, 0, BYTES);
	struct client *in_time = begin_to_read("/film"), *late = begin_to_read("/film");
	origin_says_version("/film", 2);
	purge("url=http://example.com/film");
	/* The next slices are from before the purge: from here the hour counts. */
	expect(takes(in_time, body, 5 * MIB));
	expect(takes(late, body, 5 * MIB));
	expect(is_pattern(body, 1, 0, 5 * MIB));
	int64_t begun = clock_ms();
	pass_until(begun + 50 * MINUTE);
	expect(takes(in_time, body, REST));
	expect(is_pattern(body, 1, 5 * MIB, REST));
	pass_until(begun + 70 * MINUTE);
	size_t n = client_read_body(late, body, REST);
	expect_that(n < REST, "it had all of it");
	expect(is_pattern(body, 1, 5 * MIB, n));
	expect_version(get("/film"), 2, 0, BYTES);
}

/* A slice that was purged before a client begins is not for that client. */
SCENARIO("slices from before a purge are not joined with a head from behind it")
{
	by_http_only();
	edge_start_yaml("admission:\n  sightings: 1\n");
	origin_says_version("/film", 1);
	expect_version(get("/film"), 1, 0, BYTES);
	purge("url=http://example.com/film");
	/* The same name, other bytes. */
	origin_forget("/film");
	origin_says("/film", .fields = FRESH, .etag = "\"v1\"", .pattern_bytes = BYTES, .seed = 9,
		    .ranges = true, .times = 99);
	expect_version(get_piece("/film", 0, 2 * MIB), 9, 0, 2 * MIB);
	struct client *c = begin_to_read("/film");
	purge("url=http://example.com/film");
	expect_rest(c, 9);
}

/* ---- two servers that call one file by two names ----------------------------------------------- */

#define WRITTEN "Thu, 01 Oct 2020 10:00:00 GMT"

/* Made of the number of the file, or of a time that is the server's own. */
static struct say
at_door(unsigned door, const char *fields)
{
	return (struct say){.fields = fields,
			    .etag = text("\"door-%u\"", door),
			    .pattern_bytes = BYTES,
			    .seed = 7,
			    .ranges = true,
			    .if_range = true,
			    .times = 99};
}

static void
doors_say(const char *fields)
{
	for (unsigned door = 1; door <= 2; door++) {
		struct say s = at_door(door, fields);
		origin_script(text("@%u*", door), &s);
	}
}

static void
start_with_doors(const char *balance, const char *more)
{
	edge_yaml(text("origins:\n  - name: g\n    balance: %s\n    servers: [ { url: %s }, "
		       "{ url: %s } ]\n%s",
		       balance, origin_door(1), origin_door(2), more));
	edge_start("--memory", "64MiB");
}

static double
fetched_mib(void)
{
	return edge_stat("bytes.from_origin") / MIB;
}

static void
seek_about(const char *balance)
{
	enum { SEEKS = 16, PIECE = 3 * MIB };
	doors_say(FRESH);
	start_with_doors(balance, "");
	for (int i = 0; i < SEEKS; i++) {
		client_from(text("127.0.0.%d", i + 2));
		size_t at = (size_t)i * 5 * MIB / 2 % (BYTES - PIECE);
		expect_version(get_piece("/film", at, PIECE), 7, at, PIECE);
	}
	expect_between(fetched_mib(), 3, 1.3 * BYTES / MIB);
}

SCENARIO("two servers with two tags for one file: who seeks gets all, and it is fetched once")
{
	seek_about("least");
}

SCENARIO("so it is where they are asked in turn")
{
	seek_about("round-robin");
}

SCENARIO("the head of what lies in slices is validated where it came from, over restarts too")
{
	doors_say("Cache-Control: max-age=10\r\nAge: 20\r\n");
	start_with_doors("round-robin", "admission: { sightings: 1 }\n");
	expect_version(get("/film"), 7, 0, BYTES);
	for (int i = 0; i < 5; i++)
		expect_version(get("/film"), 7, 0, BYTES);
	edge_restart();
	for (int i = 0; i < 5; i++)
		expect_version(get("/film"), 7, 0, BYTES);
	expect_between(fetched_mib(), 0, 0.1);
	origin_expect_requests(11);
}

/* The first one is asked as soon as it is back: for whoever comes then. */
SCENARIO("an answer that has begun stays with its server, also where they are asked in order")
{
	struct barrier *go = barrier_new();
	struct say first = at_door(2, FRESH);
	doors_say(FRESH);
	first.hold_body = go;
	first.hold_at = first.cut_at = 2 * MIB + 5;
	first.cut = true;
	first.times = 1;
	origin_script("@2/film", &first);
	first = at_door(2, FRESH);
	origin_script("@2/film", &first);
	origin_door(1);
	origin_door_dies(1);
	start_with_doors("order", "");
	struct client *c = begin_to_read("/film");
	edge_wait_stat("bytes.from_origin", 2 * MIB);
	origin_door_returns(1);
	barrier_open(go);
	expect_rest(c, 7);
}

/* The door that was asked first for the path. */
static unsigned
home_of(const char *path)
{
	return origin_requests_for(text("@1%s", path)) ? 1 : 2;
}

/* The beginning is kept, and the server that it came from goes while somebody reads on. */
static void
lose_the_home(const char *modified, int *other, struct answer *rest)
{
	struct barrier *go = barrier_new();
	for (unsigned door = 1; door <= 2; door++) {
		struct say s = at_door(door, FRESH);
		s.last_modified = modified;
		s.hold_body = go;
		s.hold_at = 2 * MIB + 5;
		origin_script(text("@%u/film", door), &s);
	}
	start_with_doors("least", "");
	struct client *c = client_open();
	client_request(c, "GET", "/film", NULL);
	edge_wait_stat("bytes.from_origin", 2 * MIB + 5);
	unsigned home = home_of("/film");
	*other = (int)(3 - home);
	origin_forget(text("@%d/film", *other));
	struct say s = at_door(3 - home, FRESH);
	s.last_modified = modified;
	origin_script(text("@%d/film", *other), &s);
	origin_door_dies(home);
	barrier_open(go);
	*rest = client_try(c, "GET");
}

static double
fetched_by(int door)
{
	return origin_requests_for(text("@%d/film", door));
}

SCENARIO(
	"a server that goes is stood in for by one that has the file of the same time by another tag")
{
	struct answer a;
	int other;
	lose_the_home(WRITTEN, &other, &a);
	expect_status(a, 200);
	expect_version(a, 7, 0, BYTES);
	expect_text(heard_field(origin_last(), "If-Range"), WRITTEN);
	double before = fetched_by(other);
	expect_hit(get("/film"));
	expect_version(get_piece("/film", 3 * MIB, MIB), 7, 3 * MIB, MIB);
	expect(fetched_by(other) == before);
	expect_between(fetched_mib(), 0, 1.5 * BYTES / MIB);
}

/* Nothing tells that it is the same. */
SCENARIO(
	"where only tags tell, who reads is cut, and the other server's is fetched once for the others")
{
	struct answer a;
	int other;
	lose_the_home(NULL, &other, &a);
	expect_int(a.status, 200);
	expect(a.cut && is_pattern(a.body, 7, 0, a.body_bytes));
	for (int i = 0; i < 3; i++)
		expect_version(get("/film"), 7, 0, BYTES);
	expect_hit(get_piece("/film", 3 * MIB, MIB));
	expect_between(fetched_mib(), 0, 1.5 * BYTES / MIB);
}

/* A client in the middle of the old version goes on with it from the one that has it still; one that comes now
 * gets the new one. */
SCENARIO(
	"where two servers get a new version one after the other, who reads the old one is not cut")
{
	struct barrier *go = barrier_new();
	struct say s = {.fields = FRESH,
			.etag = "\"v1\"",
			.pattern_bytes = BYTES,
			.seed = 1,
			.ranges = true,
			.if_range = true,
			.hold_body = go,
			.hold_at = 2 * MIB + 5,
			.cut = true,
			.cut_at = 2 * MIB + 5};
	struct say old = s, new = s;
	old.hold_body = new.hold_body = NULL;
	old.cut = new.cut = false;
	old.times = new.times = 99;
	new.etag = "\"v2\"";
	new.seed = 2;
	for (unsigned door = 1; door <= 2; door++)
		origin_script(text("@%u/film", door), &s);
	start_with_doors("least", "");
	struct client *c = client_open();
	client_request(c, "GET", "/film", NULL);
	edge_wait_stat("bytes.from_origin", 2 * MIB + 5);
	unsigned home = home_of("/film");
	origin_forget(text("@%u/film", home));
	origin_forget(text("@%u/film", 3 - home));
	origin_script(text("@%u/film", home), &new);
	origin_script(text("@%u/film", 3 - home), &old);
	barrier_open(go);
	struct answer a = client_try(c, "GET");
	expect_int(a.status, 200);
	expect_version(a, 1, 0, BYTES);
	expect_version(get("/film"), 2, 0, BYTES);
	expect_version(get_piece("/film", 7 * MIB, MIB), 2, 7 * MIB, MIB);
}

/* ---- a tag that tells nothing ------------------------------------------------------------------- */

/* Made of time and length: two files that are built the same way have the same. */
static void
origin_says_undated(const char *path, const char *fields, const char *modified, unsigned version)
{
	origin_forget(path);
	origin_says(path, .fields = fields, .etag = "\"1-c00005\"", .last_modified = modified,
		    .pattern_bytes = BYTES, .seed = version, .ranges = true, .if_range = true,
		    .times = 99);
}

static void
expect_one_version(struct answer a, size_t at, size_t n)
{
	expect_int((long long)a.body_bytes, (long long)n);
	expect_that(is_pattern(a.body, 1, at, n) || is_pattern(a.body, 2, at, n),
		    "it holds bytes of two versions");
}

/* Pieces first, then another file under the same tag, then other pieces and all. */
static void
read_undated(const char *fields, const char *modified)
{
	const char *path = text("/%.4s", modified + 12);
	origin_says_undated(path, fields, modified, 1);
	expect_version(get_piece(path, 0, 100), 1, 0, 100);
	expect_version(get_piece(path, 0, 2 * MIB), 1, 0, 2 * MIB);
	expect_version(get_piece(path, 5 * MIB, MIB), 1, 5 * MIB, MIB);
	origin_says_undated(path, fields, modified, 2);
	expect_one_version(get_piece(path, MIB, 6 * MIB), MIB, 6 * MIB);
	expect_one_version(get(path), 0, BYTES);
	expect_one_version(get_piece(path, 3 * MIB, 3 * MIB), 3 * MIB, 3 * MIB);
	origin_forget(path);
}

static const char *const no_times[] = {"Thu, 01 Jan 1970 00:00:01 GMT",
				       "Tue, 01 Jan 1980 00:00:00 GMT",
				       "Sat, 26 Oct 1985 08:15:00 GMT"};

static void
read_all_undated(const char *fields)
{
	for (unsigned i = 0; i < sizeof no_times / sizeof *no_times; i++)
		read_undated(fields, no_times[i]);
}

SCENARIO("a file whose time is one that all files have is of one version in each answer")
{
	edge_start_yaml("admission:\n  sightings: 1\n");
	read_all_undated(FRESH);
}

SCENARIO("so it is where its head is validated in between")
{
	edge_start_yaml("admission:\n  sightings: 1\n");
	read_all_undated("Cache-Control: max-age=10\r\nAge: 20\r\n");
}

SCENARIO("so it is in RAM")
{
	edge_start("--memory", "64MiB");
	read_all_undated(FRESH);
}

SCENARIO("a file without a time does not go on with the rest of another when it breaks off")
{
	struct barrier *go = barrier_new();
	origin_says("/film", .fields = FRESH, .etag = "\"1-c00005\"", .last_modified = no_times[0],
		    .pattern_bytes = BYTES, .seed = 1, .ranges = true, .hold_body = go,
		    .hold_at = 2 * MIB + 5, .cut = true, .cut_at = 2 * MIB + 5);
	edge_start("--memory", "64MiB");
	struct client *c = client_open();
	client_request(c, "GET", "/film", NULL);
	edge_wait_stat("bytes.from_origin", 2 * MIB + 5);
	origin_says_undated("/film", FRESH, no_times[0], 2);
	barrier_open(go);
	struct answer a = client_try(c, "GET");
	expect_int(a.status, 200);
	expect(a.cut && a.body_bytes <= 2 * MIB + 5);
	expect(is_pattern(a.body, 1, 0, a.body_bytes));
	expect_version(get("/film"), 2, 0, BYTES);
}

/* A 304 may say of a file that lies in slices already that its time tells nothing. */
SCENARIO("a file that loses its time is fetched anew, and lies in slices no more")
{
	origin_says("/film", .fields = "Cache-Control: max-age=10\r\nAge: 20\r\n",
		    .etag = "\"1-c00005\"", .pattern_bytes = BYTES, .seed = 1, .ranges = true,
		    .times = 9);
	edge_start("--memory", "64MiB");
	expect_version(get_piece("/film", 0, 100), 1, 0, 100);
	expect_version(get_piece("/film", 0, 2 * MIB), 1, 0, 2 * MIB);
	origin_says_undated("/film", "Cache-Control: max-age=600\r\n", no_times[0], 2);
	for (int i = 0; i < 3; i++)
		expect_one_version(get("/film"), 0, BYTES);
	expect_hit(get("/film"));
}
