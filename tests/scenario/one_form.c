/* One stored form for clients of any Accept-Encoding (RFC 9110 8.4, 8.8.3.3, 12.5.3, 12.5.5). */
#include "tests/kit/packed.h"
#include "tests/kit/uncoded.h"

#define FRESH "Cache-Control: max-age=600\r\nContent-Type: text/html\r\n"
#define VARY  FRESH "Vary: Accept-Encoding\r\n"
#define GZIP  VARY "Content-Encoding: gzip\r\n"
#define BR    VARY "Content-Encoding: br\r\n"

/* ---- classes ------------------------------------------------------------------------------- */

static const char *const seven[] = {
	"Accept-Encoding: gzip, deflate, br, zstd\r\n",
	"Accept-Encoding: gzip, deflate, br\r\n",
	"Accept-Encoding: br;q=1.0, gzip;q=0.8, *;q=0.1\r\n",
	"Accept-Encoding: gzip, deflate\r\n",
	"Accept-Encoding: gzip\r\n",
	"Accept-Encoding: identity\r\n",
	"",
};

SCENARIO("seven spellings of Accept-Encoding are one fetch and one object, whichever comes first")
{
	enum { SIZE = 40000 };
	char *p = uncoded_page(SIZE);
	struct packed gz = packed_gzip(p, SIZE), br = packed_br(p, SIZE);
	for (int first = 0; first < 5; first++) {
		struct packed b = first < 3 ? br : gz;
		origin_says(text("/%d", first), .fields = first < 3 ? BR : GZIP, .body = b.p,
			    .body_bytes = b.n);
	}
	edge_start();
	for (int first = 0; first < 5; first++) {
		for (int i = 0; i < 7; i++) {
			struct answer a = get_with(text("/%d", first), seven[(first + i) % 7]);
			const char *coding = field(a, "Content-Encoding");
			struct packed b = !coding		      ? (struct packed){p, SIZE}
					  : strcmp(coding, "br") == 0 ? br
								      : gz;
			uncoded_expect_bytes(a, b.p, b.n);
			expect_field(a, "Vary", "Accept-Encoding");
			expect(!coding || strstr(seven[(first + i) % 7], coding));
			if (i)
				expect_hit(a);
		}
		origin_expect_requests_for(text("/%d", first), 1);
		expect_text(heard_field(origin_last(), "Accept-Encoding"),
			    first < 3 ? "br, gzip" : "gzip");
	}
}

SCENARIO(
	"what was asked for in no coding is fetched once more for who takes one, and then is for all")
{
	enum { SIZE = 40000 };
	char *p = uncoded_page(SIZE);
	struct packed br = packed_br(p, SIZE);
	origin_says("/x", .fields = VARY, .body = p, .body_bytes = SIZE);
	origin_says("/x", .fields = BR, .body = br.p, .body_bytes = br.n);
	edge_yaml("compress: { types: [ none ] }\n"); /* else it would be packed */
	edge_start();
	uncoded_expect_bytes(get("/x"), p, SIZE);
	expect(!heard_field(origin_last(), "Accept-Encoding"));
	expect_hit(get("/x"));
	uncoded_expect_bytes(get_with("/x", seven[1]), br.p, br.n);
	struct answer a = get("/x");
	expect_hit(a);
	uncoded_expect_bytes(a, p, SIZE);
	expect_hit(get_with("/x", seven[1]));
	origin_expect_requests(2);
}

SCENARIO("an answer that is not coded for who takes a coding is one for all")
{
	origin_says("/x", .fields = VARY, .body = "plain", .etag = "\"1\"");
	edge_start();
	expect_answer(get_with("/x", seven[0]), 200, "plain");
	for (int i = 0; i < 7; i++) {
		struct answer a = get_with("/x", seven[i]);
		expect_answer(a, 200, "plain");
		expect_hit(a);
		expect_field(a, "ETag", "\"1\"");
	}
	origin_expect_requests(1);
}

SCENARIO("accept_encoding: none leaves the codings to clients and origins")
{
	origin_says("/x", .fields = GZIP, .body = "zipped");
	origin_says("/x", .fields = VARY, .body = "plain");
	edge_yaml("accept_encoding: [ none ]\n");
	edge_start();
	expect_answer(get_with("/x", "Accept-Encoding: gzip, br\r\n"), 200, "zipped");
	expect_text(heard_field(origin_last(), "Accept-Encoding"), "gzip, br");
	expect_answer(get("/x"), 200, "plain");
	expect_answer(get_with("/x", "Accept-Encoding: br, gzip\r\n"), 200, "zipped");
	origin_expect_requests(2);
}

SCENARIO("a route has codings of its own")
{
	origin_says("/z/x", .fields = VARY, .body = "x");
	origin_says("/x", .fields = VARY, .body = "x");
	edge_yaml(
		"accept_encoding: [ gzip ]\nroutes:\n- path: /z/\n  accept_encoding: [ zstd, br ]\n");
	edge_start();
	get_with("/z/x", seven[0]);
	expect_text(heard_field(origin_last(), "Accept-Encoding"), "zstd, br");
	get_with("/x", seven[0]);
	expect_text(heard_field(origin_last(), "Accept-Encoding"), "gzip");
}

SCENARIO("a client of gzip alone is not sent plain bytes for ever where br lies here")
{
	enum { SIZE = 40000 };
	char *p = uncoded_page(SIZE);
	struct packed gz = packed_gzip(p, SIZE), br = packed_br(p, SIZE);
	origin_says("/x", .fields = BR, .body = br.p, .body_bytes = br.n);
	origin_says("/x", .fields = GZIP, .body = gz.p, .body_bytes = gz.n);
	edge_start();
	get_with("/x", seven[0]);
	for (int i = 0; i < 2; i++)
		uncoded_expect_bytes(get_with("/x", "Accept-Encoding: gzip\r\n"), p, SIZE);
	for (int i = 0; i < 9; i++)
		uncoded_expect_bytes(get_with("/x", "Accept-Encoding: gzip\r\n"), gz.p, gz.n);
	uncoded_expect_bytes(get_with("/x", seven[0]), gz.p, gz.n); /* which others take, too */
	uncoded_expect_bytes(get("/x"), p, SIZE);
	origin_expect_requests(2);
}

SCENARIO("where the origin fails, the form that is here does for everybody who takes it")
{
	enum { SIZE = 40000 };
	char *p = uncoded_page(SIZE);
	struct packed br = packed_br(p, SIZE);
	origin_says("/x", .fields = BR, .body = br.p, .body_bytes = br.n);
	origin_says("/x", .status = 503, .body = "no", .times = 99);
	origin_says("/y", .fields = VARY, .body = p, .body_bytes = SIZE);
	origin_says("/y", .status = 503, .body = "no", .times = 99);
	edge_yaml("compress: { types: [ none ] }\n");
	edge_start();
	get_with("/x", seven[0]);
	for (int i = 0; i < 4; i++)
		uncoded_expect_bytes(get_with("/x", "Accept-Encoding: gzip\r\n"), p, SIZE);
	get("/y");
	uncoded_expect_bytes(get_with("/y", seven[0]), p, SIZE);
	uncoded_expect_bytes(get_with("/y", text("%sCache-Control: only-if-cached\r\n", seven[0])),
			     p, SIZE);
	origin_dies();
	uncoded_expect_bytes(get_with("/y", seven[0]), p, SIZE);
	uncoded_expect_bytes(get_with("/x", "Accept-Encoding: gzip\r\n"), p, SIZE);
}

/* ---- heads --------------------------------------------------------------------------------- */

#define OTHER "Accept-Ranges: bytes\r\nContent-MD5: x\r\nRepr-Digest: sha-256=:x:\r\n"

SCENARIO("the form that is not the origin's own has its tag weak, no ranges and no digest")
{
	enum { SIZE = 20000 };
	char *p = uncoded_page(SIZE);
	struct packed gz = packed_gzip(p, SIZE);
	origin_says("/x", .fields = GZIP OTHER, .body = gz.p, .body_bytes = gz.n, .etag = "\"g\"");
	edge_start();
	struct answer own = get_with("/x", "Accept-Encoding: gzip\r\n");
	own = get_with("/x", "Accept-Encoding: gzip\r\n");
	expect_hit(own);
	expect_field(own, "ETag", "\"g\"");
	expect_field(own, "Accept-Ranges", "bytes");
	expect_field(own, "Repr-Digest", "sha-256=:x:");
	struct answer a = get("/x");
	uncoded_expect_bytes(a, p, SIZE);
	expect_field(a, "ETag", "W/\"g\"");
	expect_no_field(a, "Content-Encoding");
	expect_no_field(a, "Accept-Ranges");
	expect_no_field(a, "Content-MD5");
	expect_no_field(a, "Repr-Digest");
	expect_field(a, "Vary", "Accept-Encoding");
	/* A part of it is all of it; of the origin's own form it is a part. */
	a = get_with("/x", "Range: bytes=0-9\r\n");
	uncoded_expect_bytes(a, p, SIZE);
	a = get_with("/x", "Range: bytes=0-9\r\nAccept-Encoding: gzip\r\n");
	expect_status(a, 206);
	expect(a.body_bytes == 10 && memcmp(a.body, gz.p, 10) == 0);
	a = get_with("/x", "Range: bytes=0-9\r\nIf-Range: W/\"g\"\r\n");
	uncoded_expect_bytes(a, p, SIZE);
	/* Conditions compare weakly, and 304 has the fields of the 200. */
	static const char *const tags[] = {"\"g\"", "W/\"g\"", "\"other\", W/\"g\""};
	for (int i = 0; i < 3; i++) {
		a = get_with("/x", text("If-None-Match: %s\r\n", tags[i]));
		expect_status(a, 304);
		expect_field(a, "ETag", "W/\"g\"");
		expect_field(a, "Vary", "Accept-Encoding");
		expect_no_field(a, "Content-Encoding");
	}
	expect_status(get_with("/x", "If-None-Match: \"h\"\r\n"), 200);
	/* HEAD has what GET has; the length is known by now. */
	a = ask("HEAD", "/x", NULL, NULL);
	expect_status(a, 200);
	expect_field(a, "ETag", "W/\"g\"");
	expect_field(a, "Content-Length", text("%d", SIZE));
	expect_no_field(a, "Content-Encoding");
	a = ask("HEAD", "/x", "Accept-Encoding: gzip\r\n", NULL);
	expect_field(a, "ETag", "\"g\"");
	expect_field(a, "Content-Encoding", "gzip");
	expect_field(a, "Content-Length", text("%zu", gz.n));
	origin_expect_requests(1);
}

SCENARIO("a body of more than a piece is expanded as it is sent")
{
	enum { SIZE = 3000000 };
	char *p = uncoded_page(SIZE);
	struct packed br = packed_br(p, SIZE);
	expect(br.n < 1 << 20);
	origin_says("/x", .fields = BR, .body = br.p, .body_bytes = br.n, .etag = "\"b\"");
	edge_start();
	get_with("/x", seven[0]);
	expect_no_field(ask("HEAD", "/x", NULL, NULL), "Content-Length"); /* nobody knows it yet */
	struct answer a = get("/x");
	uncoded_expect_bytes(a, p, SIZE);
	a = get("/x");
	expect_field(a, "Content-Length", text("%d", SIZE));
	uncoded_expect_bytes(a, p, SIZE);
	origin_expect_requests(1);
}

SCENARIO("from the disk, over a restart, and by many clients at once")
{
	enum { SIZE = 500000 };
	char *p = uncoded_page(SIZE);
	struct packed br = packed_br(p, SIZE);
	origin_says("/x", .fields = BR, .body = br.p, .body_bytes = br.n, .etag = "\"b\"");
	edge_yaml("admission:\n  sightings: 1\n");
	edge_start();
	get_with("/x", seven[0]);
	edge_restart();
	struct call *calls[8];
	for (int i = 0; i < 8; i++)
		calls[i] = call_with("GET", "/x", seven[i % 2 ? 0 : 6], NULL);
	for (int i = 0; i < 8; i++) {
		struct answer a = call_wait(calls[i]);
		expect_hit(a);
		uncoded_expect_bytes(a, i % 2 ? br.p : p, i % 2 ? br.n : SIZE);
	}
	origin_expect_requests(1);
}

/* ---- asking the origin again --------------------------------------------------------------- */

SCENARIO("what is stored is validated in the coding that it was asked for, whoever asks")
{
	enum { SIZE = 20000 };
	char *p = uncoded_page(SIZE);
	struct packed gz = packed_gzip(p, SIZE);
	origin_says("/x",
		    .fields = "Cache-Control: max-age=10\r\nAge: 20\r\nVary: Accept-Encoding\r\n"
			      "Content-Encoding: gzip\r\n",
		    .body = gz.p, .body_bytes = gz.n, .etag = "\"g\"",
		    .fields_304 = "Cache-Control: max-age=600\r\nVary: Accept-Encoding\r\n");
	edge_start();
	get_with("/x", "Accept-Encoding: gzip\r\n");
	struct answer a = get("/x");
	uncoded_expect_bytes(a, p, SIZE);
	expect_text(heard_field(origin_last(), "Accept-Encoding"), "gzip");
	expect_text(heard_field(origin_last(), "If-None-Match"), "\"g\"");
	a = get_with("/x", seven[0]);
	expect_hit(a);
	uncoded_expect_bytes(a, gz.p, gz.n);
	origin_expect_requests(2);
}

SCENARIO("a new version that comes in a coding its client does not take is expanded for it")
{
	enum { SIZE = 20000 };
	char *p = uncoded_page(SIZE);
	struct packed gz = packed_gzip("old", 3), fresh = packed_gzip(p, SIZE);
	origin_says("/x",
		    .fields = "Cache-Control: max-age=10\r\nAge: 20\r\nVary: Accept-Encoding\r\n"
			      "Content-Encoding: gzip\r\n",
		    .body = gz.p, .body_bytes = gz.n, .etag = "\"1\"");
	origin_says("/x", .fields = GZIP, .body = fresh.p, .body_bytes = fresh.n, .etag = "\"2\"");
	edge_start();
	get_with("/x", "Accept-Encoding: gzip\r\n");
	struct answer a = get("/x");
	uncoded_expect_bytes(a, p, SIZE);
	expect_no_field(a, "Content-Encoding");
	expect_field(a, "ETag", "W/\"2\"");
	origin_expect_requests(2);
}

SCENARIO(
	"who does not take the coding of a fetch under way waits for its end, and is not fetched for")
{
	enum { SIZE = 60000 };
	char *p = uncoded_page(SIZE);
	struct packed gz = packed_gzip(p, SIZE);
	struct barrier *go = barrier_new();
	origin_says("/x", .fields = GZIP, .body = gz.p, .body_bytes = gz.n, .hold_body = go,
		    .hold_at = 100);
	clock_hold(); /* a follower asks for itself after a second or two */
	edge_start();
	struct call *first = call_with("GET", "/x", "Accept-Encoding: gzip\r\n", NULL);
	origin_wait_requests(1);
	struct call *second = call_get("/x");
	edge_wait_requests(2);
	barrier_open(go);
	uncoded_expect_bytes(call_wait(first), gz.p, gz.n);
	uncoded_expect_bytes(call_wait(second), p, SIZE);
	origin_expect_requests(1);
}

SCENARIO("HEAD from a client of another coding says nothing of what is stored")
{
	enum { SIZE = 20000 };
	char *p = uncoded_page(SIZE);
	struct packed gz = packed_gzip(p, SIZE);
	origin_says("/x",
		    .fields = "Cache-Control: max-age=60\r\nAge: 90\r\nVary: Accept-Encoding\r\n"
			      "Content-Encoding: gzip\r\n",
		    .body = gz.p, .body_bytes = gz.n, .etag = "\"g\"");
	origin_says("/x", .fields = VARY, .body = p, .body_bytes = SIZE, .etag = "\"p\"");
	origin_says("/x", .fields = GZIP, .body = gz.p, .body_bytes = gz.n, .etag = "\"g\"");
	edge_start();
	get_with("/x", "Accept-Encoding: gzip\r\n");
	expect_field(ask("HEAD", "/x", NULL, NULL), "ETag", "\"p\"");
	get_with("/x", "Accept-Encoding: gzip\r\n");
	expect_text(heard_field(origin_last(), "If-None-Match"), "\"g\"");
	origin_expect_requests(3);
}

/* ---- bad input ----------------------------------------------------------------------------- */

/* The bytes that the origin sends under "gzip". */
static struct packed
bad(int i, const char *p, size_t n)
{
	static char zeros[4 << 20];
	struct packed b = i == 0 ? packed_gzip(zeros, sizeof zeros) : packed_gzip(p, n);
	switch (i) {
	case 1: /* cut */
		b.n -= 9;
		break;
	case 2: /* garbage behind it */
		memcpy(b.p + b.n, "garbage", 7);
		b.n += 7;
		break;
	case 3: /* not coded at all */
		memcpy(b.p, p, b.n);
		break;
	case 4: /* coded twice */
		b = packed_gzip(b.p, b.n);
		break;
	case 5: /* a wrong checksum */
		b.p[b.n - 6] ^= 1;
		break;
	default:
		break;
	}
	return b;
}

SCENARIO(
	"a bomb, a cut body, garbage behind it, a wrong label: each is for who takes it, as it came")
{
	enum { SIZE = 30000, KINDS = 6 };
	char *p = uncoded_page(SIZE);
	struct packed b[KINDS];
	for (int i = 0; i < KINDS; i++) {
		b[i] = bad(i, p, SIZE);
		origin_says(text("/%d", i),
			    .fields = i == 4 ? VARY "Content-Encoding: gzip, gzip\r\n" : GZIP,
			    .body = b[i].p, .body_bytes = b[i].n, .hold_for = "");
	}
	edge_start();
	for (int i = 0; i < KINDS; i++) {
		char *path = text("/%d", i);
		uncoded_expect_bytes(get_with(path, "Accept-Encoding: gzip\r\n"), b[i].p, b[i].n);
		origin_forget(path);
		origin_says(path, .fields = VARY, .body = "its own");
		expect_answer(get(path), 200, "its own");
		origin_forget(path);
		origin_says(path, .fields = GZIP, .body = b[i].p, .body_bytes = b[i].n);
		uncoded_expect_bytes(get_with(path, "Accept-Encoding: gzip\r\n"), b[i].p, b[i].n);
		/* Both are there by now, each for its own clients. */
		for (int k = 0; k < 3; k++) {
			struct answer a = get_with(path, "Accept-Encoding: gzip\r\n");
			expect_hit(a);
			uncoded_expect_bytes(a, b[i].p, b[i].n);
			a = get(path);
			expect_hit(a);
			expect_answer(a, 200, "its own");
		}
		expect_between(origin_requests_for(path), 2, 3);
	}
}

SCENARIO("a large body that is cut, or has a wrong sum, is found out before any of it is sent")
{
	enum { LARGE = 2000000 };
	char *p = uncoded_page(LARGE);
	static const int kinds[] = {1, 2, 5};
	for (int i = 0; i < 3; i++) {
		struct packed b = bad(kinds[i], p, LARGE);
		char *path = text("/%d", i);
		origin_says(path, .fields = GZIP, .body = b.p, .body_bytes = b.n);
		origin_says(path, .fields = VARY, .body = "its own");
	}
	edge_start();
	for (int i = 0; i < 3; i++) {
		char *path = text("/%d", i);
		expect_status(get_with(path, "Accept-Encoding: gzip\r\n"), 200);
		expect_answer(get(path), 200, "its own");
		origin_expect_requests_for(path, 2);
	}
}

static int
warnings(void)
{
	int n = 0;
	for (const char *at = edge_stderr(); (at = strstr(at, "cannot be expanded")); at++)
		n++;
	return n;
}

SCENARIO("an operator hears of a body that is not in the coding it is said to be, once a minute")
{
	by_http_only();
	enum { SIZE = 30000 };
	char *p = uncoded_page(SIZE);
	for (int i = 0; i < 3; i++)
		origin_says(text("/%d", i), .fields = GZIP, .body = p, .body_bytes = SIZE);
	clock_hold();
	edge_start();
	for (int i = 0; i < 3; i++) {
		uncoded_expect_bytes(get_with(text("/%d", i), "Accept-Encoding: gzip\r\n"), p,
				     SIZE);
		expect_int(warnings(), i > 0);
		if (i == 1)
			clock_advance(59000);
		expect_status(get(text("/%d", i)), 200);
		wait_until(edge_said("http://example.com/0 came as gzip and cannot be expanded "
				     "(wrong-coding)"));
		if (i == 1)
			clock_advance(2000);
	}
	wait_until(edge_said("http://example.com/2 came as gzip"));
	expect_int(warnings(), 2);
}

SCENARIO("no-transform: who says so, and what says so, is not expanded")
{
	enum { SIZE = 30000 };
	char *p = uncoded_page(SIZE);
	struct packed gz = packed_gzip(p, SIZE);
	origin_says("/said",
		    .fields =
			    "Cache-Control: max-age=600, no-transform\r\nVary: Accept-Encoding\r\n"
			    "Content-Encoding: gzip\r\n",
		    .body = gz.p, .body_bytes = gz.n);
	origin_says("/said", .fields = VARY, .body = "its own");
	origin_says("/asked", .fields = GZIP, .body = gz.p, .body_bytes = gz.n);
	origin_says("/asked", .fields = VARY, .body = "its own");
	edge_start();
	get_with("/said", "Accept-Encoding: gzip\r\n");
	expect_answer(get("/said"), 200, "its own");
	get_with("/asked", "Accept-Encoding: gzip\r\n");
	uncoded_expect_bytes(get("/asked"), p, SIZE);
	expect_answer(get_with("/asked", "Cache-Control: no-transform\r\n"), 200, "its own");
	/* It was sent to its client alone: the others have what they had. */
	struct answer a = get_with("/asked", "Accept-Encoding: gzip\r\n");
	expect_hit(a);
	uncoded_expect_bytes(a, gz.p, gz.n);
	a = get("/asked");
	expect_hit(a);
	uncoded_expect_bytes(a, p, SIZE);
}
