/* An origin answers with a part that nobody asked for, or says of a whole that it is a part. No client may
 * take the one for the other, and nothing wrong is kept. */
#include "tests/kit/kit.h"

#define FRESH	 "Cache-Control: max-age=600\r\n"
#define STALE	 "Cache-Control: max-age=10, stale-if-error=600\r\nAge: 20\r\n"
#define DIGITS	 "0123456789"
#define CR(what) "Content-Range: bytes " what "\r\n"

/* Later clients get the right bytes. */
static void
then_all_is_well(const char *path)
{
	expect_answer(get(path), 200, DIGITS);
	expect_answer(get_with(path, "Range: bytes=2-4\r\n"), 206, "234");
}

static void
is_refused(const char *range, const struct say *odd)
{
	origin_script("/x", odd);
	origin_says("/x", .fields = FRESH, .etag = "\"1\"", .body = DIGITS, .ranges = true,
		    .times = 9);
	edge_start();
	struct answer a = get_with("/x", range);
	expect_status(a, 502);
	expect_verdict(a, "detail=unasked-range");
	expect_no_field(a, "Content-Range");
	then_all_is_well("/x");
}

SCENARIO("a part that nobody asked for is no answer")
{
	is_refused("", &(struct say){.status = 206, .fields = FRESH CR("0-2/10"), .body = "012"});
}

SCENARIO("another part than was asked for is no answer")
{
	is_refused("Range: bytes=2-4\r\n",
		   &(struct say){.status = 206, .fields = FRESH CR("3-5/10"), .body = "345"});
}

SCENARIO("parts in one message that nobody asked for are no answer")
{
	is_refused("", &(struct say){.status = 206,
				     .fields = FRESH
				     "Content-Type: multipart/byteranges; boundary=b\r\n",
				     .body = "--b\r\n" CR("0-0/10") "\r\n0\r\n--b--\r\n"});
}

SCENARIO("that a range lies behind the end is no answer to who asked for none")
{
	is_refused("", &(struct say){.status = 416, .fields = FRESH CR("*/10"), .body = "no"});
}

SCENARIO("a 206 that is the whole is a 200, and kept as that")
{
	origin_says("/x", .status = 206, .fields = FRESH CR("0-9/10"), .body = DIGITS);
	edge_start();
	struct answer a = get("/x");
	expect_answer(a, 200, DIGITS);
	expect_no_field(a, "Content-Range");
	expect_hit(get("/x"));
	then_all_is_well("/x");
	origin_expect_requests(1);
}

SCENARIO("a 206 that is the whole, to who asked for a range, is a 200")
{
	origin_says("/x", .status = 206, .fields = FRESH CR("0-9/10"), .body = DIGITS);
	edge_start();
	struct answer a = get_with("/x", "Range: bytes=2-4\r\n");
	expect_that((a.status == 200 && strcmp(a.body, DIGITS) == 0) ||
			    (a.status == 206 && strcmp(a.body, "234") == 0),
		    "%d %s", a.status, a.body);
	then_all_is_well("/x");
}

SCENARIO("a part for HEAD, POST or PUT is no answer, and the whole is a 200")
{
	static const char *const methods[] = {"HEAD", "POST", "PUT"};
	edge_start();
	for (int i = 0; i < 3; i++) {
		const char *body = i ? "x" : NULL;
		char *odd = text("/odd%d", i), *whole = text("/whole%d", i);
		origin_says(odd, .status = 206, .fields = CR("0-2/10"), .body = "012");
		origin_says(whole, .status = 206, .fields = CR("0-9/10"), .body = DIGITS);
		expect_status(ask(methods[i], odd, NULL, body), 502);
		struct answer a = ask(methods[i], whole, NULL, body);
		expect_answer(a, 200, i ? DIGITS : "");
		expect_no_field(a, "Content-Range");
	}
}

SCENARIO("what changed by a POST that is answered with a part is forgotten all the same")
{
	origin_says("/x", .fields = FRESH, .body = "old");
	origin_says("/x", .status = 206, .fields = CR("0-2/10"), .body = "012");
	origin_says("/x", .fields = FRESH, .body = "new");
	edge_start();
	expect_answer(get("/x"), 200, "old");
	expect_status(ask("POST", "/x", NULL, "x"), 502);
	expect_answer(get("/x"), 200, "new");
}

SCENARIO("a stale copy stands in for a part that nobody asked for")
{
	origin_says("/x", .fields = STALE, .etag = "\"1\"", .body = DIGITS);
	origin_says("/x", .status = 206, .fields = FRESH CR("0-2/10"), .body = "012", .times = 9);
	edge_start();
	expect_answer(get("/x"), 200, DIGITS);
	struct answer a = get("/x");
	expect_answer(a, 200, DIGITS);
	expect_verdict(a, "detail=stale-if-error");
}

SCENARIO("ranges of other units are between the client and the origin")
{
	origin_says("/x", .status = 206, .fields = "Content-Range: 0-24/3573\r\n", .body = "[]");
	origin_says("/y", .status = 416, .fields = "Content-Range: */0\r\n", .body = "{}");
	edge_start();
	expect_answer(get("/x"), 206, "[]");
	expect_answer(get("/y"), 416, "{}");
}
