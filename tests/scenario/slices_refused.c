/* The client has the head of its answer, some of the body was sent, and the origin refuses a slice of
 * it: a limit of rates, a moment of trouble, one server of several that lacks the file. It is asked
 * once more, and if that does not help the answer is cut where the right bytes end. */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=600\r\n"
#define MIB   (1 << 20)

enum { BYTES = 6 * MIB + 123, SEED = 7, FOUND_MS = 250, LIMITED_MS = 1000, SLICES = 7 };

#define FILM .fields = FRESH, .etag = "\"v1\"", .pattern_bytes = BYTES, .seed = SEED, .ranges = true

static void
expect_film(struct answer a)
{
	expect_status(a, 200);
	expect_int((long long)a.body_bytes, BYTES);
	expect(is_pattern(a.body, SEED, 0, BYTES));
}

static void
expect_cut_at(struct answer a, size_t n)
{
	expect_int(a.status, 200);
	expect(a.cut);
	expect_int((long long)a.body_bytes, (long long)n);
	expect(is_pattern(a.body, SEED, 0, n));
}

static struct answer
try_film(struct client *c)
{
	struct answer a = client_try(c, "GET");
	client_close(c);
	return a;
}

/* The first slice is here, the second one comes, and what says why not is the answer to the question for
 * the third, `times` times. It has been said, for the time until the next question counts from there. */
static struct client *
begin_film(const struct say *refusal, int times)
{
	struct say r = *refusal;
	r.times = times;
	origin_says("/film", FILM, .times = 2);
	origin_script("/film", &r);
	origin_says("/film", FILM, .times = 99);
	clock_hold();
	edge_start("--memory", "64MiB");
	expect_status(get_with("/film", text("Range: bytes=0-%d\r\n", MIB - 1)), 206);
	struct client *c = client_open();
	client_request(c, "GET", "/film", NULL);
	origin_wait_requests(3);
	wait_until(origin_request(2)->answered &&
		   (!r.raw || origin_has_closed(origin_request(2)->connection)));
	return c;
}

/* All of it is kept, and right: whoever asks is answered with the film. */
static void
nothing_wrong_is_kept(void)
{
	expect_film(get("/film"));
	for (int i = 0; i < SLICES; i++) {
		size_t at = (size_t)i * MIB, n = i < SLICES - 1 ? MIB : BYTES % MIB;
		struct answer a =
			get_with("/film", text("Range: bytes=%zu-%zu\r\n", at, at + n - 1));
		expect_status(a, 206);
		expect(a.body_bytes == n && is_pattern(a.body, SEED, at, n));
	}
}

/* A refused slice is asked for again, once, after so many ms, and the answer is whole. */
static void
is_mended(const struct say *refusal, int64_t after_ms)
{
	struct client *c = begin_film(refusal, 1);
	clock_advance(after_ms - 10);
	origin_expect_requests(3);
	clock_advance(60);
	expect_film(try_film(c));
	expect_text(heard_field(origin_request(3), "Range"),
		    heard_field(origin_request(2), "Range"));
	nothing_wrong_is_kept();
}

SCENARIO("a slice that is refused for now is asked for again after its Retry-After")
{
	is_mended(&(struct say){.status = 503, .fields = "Retry-After: 2\r\n"}, 2000);
}

SCENARIO("a slice that is refused by a limit of rates is asked for again after a second")
{
	is_mended(&(struct say){.status = 429, .body = "slowly"}, LIMITED_MS);
}

SCENARIO("one error among the slices of an answer cuts nothing: 500")
{
	is_mended(&(struct say){.status = 500}, FOUND_MS);
}

SCENARIO("one error among the slices of an answer cuts nothing: 502")
{
	is_mended(&(struct say){.status = 502}, FOUND_MS);
}

SCENARIO("one error among the slices of an answer cuts nothing: 504")
{
	is_mended(&(struct say){.status = 504, .fields = "Retry-After: 0\r\n"}, FOUND_MS);
}

SCENARIO("one missing page among the slices of an answer cuts nothing")
{
	is_mended(&(struct say){.status = 404, .fields = FRESH, .body = "no"}, FOUND_MS);
}

SCENARIO("one refusal of a slice by who guards it cuts nothing: 401")
{
	is_mended(&(struct say){.status = 401, .fields = "WWW-Authenticate: Basic\r\n"}, FOUND_MS);
}

SCENARIO("one refusal of a slice by who guards it cuts nothing: 403")
{
	is_mended(&(struct say){.status = 403, .body = "not you"}, FOUND_MS);
}

SCENARIO("one slice that is said to be elsewhere cuts nothing: 301")
{
	is_mended(&(struct say){.status = 301, .fields = FRESH "Location: /y\r\n"}, FOUND_MS);
}

SCENARIO("one slice that is said to be elsewhere cuts nothing: 302")
{
	is_mended(&(struct say){.status = 302, .fields = "Location: /y\r\n"}, FOUND_MS);
}

SCENARIO("one range that is said to lie behind the end cuts nothing")
{
	is_mended(&(struct say){.status = 416, .fields = "Content-Range: bytes */99\r\n"},
		  FOUND_MS);
}

SCENARIO("one answer with other bytes of the same version than were asked for cuts nothing")
{
	is_mended(&(struct say){.status = 206,
				.fields = FRESH "Content-Range: bytes 0-9/6291579\r\n",
				.etag = "\"v1\"",
				.body = "0123456789"},
		  FOUND_MS);
}

SCENARIO("one connection that closes before the head of a slice cuts nothing")
{
	is_mended(&(struct say){.raw = "HTTP/1.1 2", .reset = true}, FOUND_MS);
}

SCENARIO("what is not HTTP among the slices of an answer cuts nothing")
{
	is_mended(&(struct say){.raw = "SSH-2.0-what\r\n\r\n"}, FOUND_MS);
}

SCENARIO("a slice that is refused twice cuts the answer where the right bytes end")
{
	struct client *c =
		begin_film(&(struct say){.status = 404, .fields = FRESH, .body = "no"}, 2);
	clock_advance(FOUND_MS + 50);
	expect_cut_at(try_film(c), 2 * MIB);
	origin_expect_requests(4);
	clock_run(1);
	nothing_wrong_is_kept();
}

SCENARIO("nobody waits in the middle of an answer for a long Retry-After")
{
	struct client *c =
		begin_film(&(struct say){.status = 503, .fields = "Retry-After: 600\r\n"}, 1);
	expect_cut_at(try_film(c), 2 * MIB);
	origin_expect_requests(3);
	nothing_wrong_is_kept();
}

SCENARIO("a whole of another version among the slices cuts the answer at once: it is never mixed")
{
	struct client *c = begin_film(&(struct say){.fields = FRESH,
						    .etag = "\"v2\"",
						    .pattern_bytes = BYTES,
						    .seed = SEED + 1,
						    .ranges = true,
						    .times = 99},
				      99);
	expect_cut_at(try_film(c), 2 * MIB);
	origin_expect_requests(3);
	struct answer a = get("/film");
	expect_status(a, 200);
	expect(a.body_bytes == BYTES && is_pattern(a.body, SEED + 1, 0, BYTES));
}

SCENARIO("whoever has been sent nothing yet is told of the refusal at once")
{
	origin_says("/film", FILM);
	origin_says("/film", .status = 503, .fields = "Retry-After: 1\r\n");
	clock_hold();
	edge_start("--memory", "64MiB");
	expect_status(get_with("/film", text("Range: bytes=0-%d\r\n", MIB - 1)), 206);
	struct answer a = get_with("/film", text("Range: bytes=%d-%d\r\n", 3 * MIB, 3 * MIB + 9));
	expect_status(a, 503);
	origin_expect_requests(2);
}

SCENARIO("a client that leaves while a refused slice is waited for has no more asked")
{
	struct client *c =
		begin_film(&(struct say){.status = 503, .fields = "Retry-After: 2\r\n"}, 1);
	clock_settle();
	client_reset(c);
	edge_wait_stat("connections.closed", 2);
	clock_advance(5000);
	origin_expect_requests(3);
	edge_expect_stat("flights.active", 0);
}

SCENARIO("an origin that limits rates is asked for many slices at once from then on")
{
	struct client *c = begin_film(&(struct say){.status = 429, .body = "slowly"}, 1);
	clock_advance(LIMITED_MS + 50);
	expect_film(try_film(c));
	/* Of seven slices: the first; the second; the third, which is refused, and comes; the rest. */
	origin_expect_requests(5);
	expect_text(heard_field(origin_last(), "Range"), text("bytes=%d-%d", 3 * MIB, BYTES - 1));
}

SCENARIO("a slice that one server refuses is asked for of another one at once")
{
	origin_says("@1/film", FILM);
	origin_says("@1/film", .status = 404, .fields = FRESH, .body = "no", .times = 99);
	origin_says("@2/film", FILM, .times = 99);
	clock_hold();
	edge_start_yaml(text("origins:\n  - name: web\n    balance: round-robin\n    servers:\n"
			     "      - url: %s\n      - url: %s\n",
			     origin_door(1), origin_door(2)));
	expect_status(get_with("/film", text("Range: bytes=0-%d\r\n", MIB - 1)), 206);
	expect_film(get("/film")); /* by a clock that stands still */
}
