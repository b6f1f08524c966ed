/* A body that is coded on its way (compress.stream): as it comes, cut, resumed, and to slow clients. */
#include "tests/kit/uncoded.h"

#define STREAM "compress: { stream: on }\n"
#define FRESH  "Cache-Control: max-age=600\r\n"
#define TEXT   FRESH "Content-Type: text/html; charset=utf-8\r\n"
#define BR     "Accept-Encoding: gzip, deflate, br\r\n"
#define GZIP   "Accept-Encoding: gzip\r\n"
enum { SIZE = 200000, HALF = 70000 };

/* Chunks of a body in HTTP/1.1, until they expand to n bytes; the coded ones so far are in *so_far. */
static struct uncoded
read_until(struct client *c, const char *coding, size_t n, struct answer *so_far)
{
	struct uncoded out = {0};
	while (out.n < n && !out.whole) {
		char line[32];
		size_t at = 0;
		do
			expect(at < sizeof line && client_read_body(c, line + at, 1) == 1);
		while (line[at++] != '\n');
		size_t bytes = strtoul(line, NULL, 16);
		expect(bytes);
		so_far->body = realloc(so_far->body, so_far->body_bytes + bytes + 2);
		expect(client_read_body(c, so_far->body + so_far->body_bytes, bytes + 2) ==
		       bytes + 2);
		so_far->body_bytes += bytes;
		free(out.p);
		out = uncoded(coding, so_far->body, so_far->body_bytes);
	}
	return out;
}

SCENARIO("when the origin pauses, its client has all that came, in any coding")
{
	by_h1_only();
	static const char *const says[] = {"br", "gzip", "zstd"};
	enum { PAUSES = 3 };
	static const size_t at[PAUSES] = {1, 5000, HALF};
	char *p = uncoded_page(SIZE);
	struct barrier *go[6 * PAUSES];
	for (int i = 0; i < 6 * PAUSES; i++) {
		go[i] = barrier_new();
		origin_says(text("/%d/%d", i % 3, i), .fields = TEXT, .body = p, .body_bytes = SIZE,
			    .hold_body = go[i], .hold_at = at[i % PAUSES], .chunked = i % 2);
	}
	edge_start_yaml(STREAM "routes:\n- { path: /0/, accept_encoding: [ br ] }\n"
			       "- { path: /1/, accept_encoding: [ gzip ], pass: on }\n"
			       "- { path: /2/, accept_encoding: [ zstd ] }\n");
	for (int i = 0; i < 6 * PAUSES; i++) {
		struct client *c = client_open();
		client_request(c, "GET", text("/%d/%d", i % 3, i),
			       "Accept-Encoding: br, gzip, zstd\r\n");
		struct answer a = client_read_head(c);
		a.body_bytes = 0;
		a.body = NULL;
		expect_field(a, "Content-Encoding", says[i % 3]);
		struct uncoded half = read_until(c, says[i % 3], at[i % PAUSES], &a);
		expect(half.n == at[i % PAUSES] && memcmp(half.p, p, half.n) == 0);
		barrier_open(go[i]);
		struct uncoded all = read_until(c, says[i % 3], SIZE + 1, &a);
		expect(all.whole && all.n == SIZE && memcmp(all.p, p, SIZE) == 0);
		char last[5];
		expect(client_read_body(c, last, 5) == 5 && memcmp(last, "0\r\n\r\n", 5) == 0);
		client_quiet(c);
	}
}

SCENARIO("the same by HTTP/2")
{
	char *p = uncoded_page(SIZE);
	struct barrier *go = barrier_new();
	origin_says("/x", .fields = TEXT, .body = p, .body_bytes = SIZE, .hold_body = go,
		    .hold_at = 1000);
	edge_yaml(STREAM);
	edge_start(H2_LISTEN);
	struct h2_client *c = h2_open();
	int s = h2_request(c, "GET", "/x", BR, NULL);
	h2_wait_body(c, s, 50); /* nothing comes of 1000 bytes that are not flushed */
	barrier_open(go);
	uncoded_expect_streamed(h2_read(c, s), "br", p, SIZE);
	h2_close(c);
}

SCENARIO("events reach their client as they come, with everything on")
{
	by_h1_only();
	struct barrier *go = barrier_new();
	origin_says("/x", .fields = "Content-Type: text/event-stream\r\n", .pattern_bytes = 4000,
		    .until_close = true, .hold_body = go, .hold_at = 2000);
	edge_start_yaml("compress: { stream: on, types: [ \"*\" ] }\n"
			"routes: [ { path: /, compress: any } ]\n");
	struct client *c = client_open();
	client_request(c, "GET", "/x", BR);
	struct answer a = client_read_head(c);
	expect_no_field(a, "Content-Encoding");
	expect_no_field(a, "Vary");
	char got[2000 + 64];
	expect(client_read_body(c, got, 2000) == 2000);
	barrier_open(go);
}

SCENARIO("trailers go behind a coded body, but for those that speak of the origin's bytes")
{
	char *p = uncoded_page(SIZE);
	origin_says("/x", .fields = "Content-Type: text/css\r\n", .body = p, .body_bytes = SIZE,
		    .chunked = true,
		    .trailers = "Server-Timing: a;dur=1\r\nETag: \"p\"\r\nDigest: x\r\n"
				"Repr-Digest: y\r\n");
	edge_start_yaml(STREAM "routes: [ { path: /, pass: on } ]\n");
	struct answer a = get_with("/x", BR "TE: trailers\r\n");
	uncoded_expect_streamed(a, "br", p, SIZE);
	expect(strcasestr(a.trailers, "server-timing: a;dur=1"));
	expect(!strcasestr(a.trailers, "etag") && !strcasestr(a.trailers, "digest"));
	a = get_with("/x", "TE: trailers\r\n");
	uncoded_expect_plain(a, p, SIZE);
	expect(strcasestr(a.trailers, "etag") && strcasestr(a.trailers, "repr-digest"));
}

/* ---- what goes wrong ----------------------------------------------------------------------------- */

SCENARIO("a body that is cut ends cut, and all that came is there")
{
	char *p = uncoded_page(SIZE);
	for (int i = 0; i < 12; i++)
		origin_says(text("/%s%d", i < 6 ? "own/" : "", i), .fields = TEXT, .body = p,
			    .body_bytes = SIZE, .chunked = i % 2, .cut = true,
			    .cut_at = i % 3 == 0   ? 100
				      : i % 3 == 1 ? HALF
						   : SIZE - 1);
	edge_start_yaml(STREAM "routes: [ { path: /own/, pass: on } ]\n");
	for (int i = 0; i < 12; i++) {
		size_t cut_at = i % 3 == 0 ? 100 : i % 3 == 1 ? HALF : SIZE - 1;
		const char *coding = i % 2 ? "br" : "gzip";
		struct answer a = try_ask("GET", text("/%s%d", i < 6 ? "own/" : "", i),
					  i % 2 ? BR : GZIP, NULL);
		expect_int(a.status, 200);
		expect_field(a, "Content-Encoding", coding);
		struct uncoded got = uncoded(coding, a.body, a.body_bytes);
		expect(a.cut && !got.whole);
		expect_int((long long)got.n, (long long)cut_at);
		expect(memcmp(got.p, p, got.n) == 0);
	}
}

SCENARIO("the rest of a body that broke off is asked for, and its client sees nothing of it")
{
	char *p = uncoded_page(SIZE);
	origin_says("/x", .fields = TEXT "ETag: \"p\"\r\n", .body = p, .body_bytes = SIZE,
		    .cut = true, .cut_at = HALF);
	origin_says("/x", .fields = TEXT, .etag = "\"p\"", .body = p, .body_bytes = SIZE,
		    .ranges = true);
	edge_start_yaml(STREAM);
	uncoded_expect_streamed(get_with("/x", BR), "br", p, SIZE);
	origin_expect_requests(2);
	struct answer a = get("/x");
	expect_hit(a);
	uncoded_expect_plain(a, p, SIZE);
}

SCENARIO("followers of one fetch are sent each their own form")
{
	enum { N = 12 };
	static const char *const asks[] = {BR, GZIP, "", BR "Range: bytes=0-9\r\n"};
	char *p = uncoded_page(SIZE);
	struct barrier *go = barrier_new();
	origin_says("/x", .fields = TEXT, .body = p, .body_bytes = SIZE, .hold_head = go,
		    .etag = "\"p\"");
	clock_hold(); /* a follower asks for itself after a second or two */
	edge_start_yaml(STREAM "accept_encoding: [ none ]\nroutes:\n- path: /\n"
			       "  accept_encoding: [ br, gzip ]\n");
	struct call *c[N];
	for (int i = 0; i < N; i++)
		c[i] = call_with("GET", "/x", asks[i % 4], NULL);
	edge_wait_requests(N);
	barrier_open(go);
	for (int i = 0; i < N; i++) {
		struct answer a = call_wait(c[i]);
		if (i % 4 < 2)
			uncoded_expect_streamed(a, i % 4 ? "gzip" : "br", p, SIZE);
		else if (i % 4 == 2)
			uncoded_expect_plain(a, p, SIZE);
		else
			expect_no_field(a, "Content-Encoding");
	}
}

SCENARIO("who is left behind by the others goes on from what was stored")
{
	enum { LARGE = 12 << 20 };
	by_h1_only();
	char *p = uncoded_page(LARGE);
	origin_says("/x", .fields = TEXT, .body = p, .body_bytes = LARGE);
	edge_start_yaml(STREAM);
	struct client *slow = client_open_narrow();
	client_request(slow, "GET", "/x", GZIP);
	struct answer a = client_read_head(slow);
	expect_field(a, "Content-Encoding", "gzip");
	uncoded_expect_plain(get("/x"), p, LARGE); /* it does not wait for the slow one */
	a.body = NULL;
	a.body_bytes = 0;
	struct uncoded all = read_until(slow, "gzip", LARGE, &a);
	expect(all.n == LARGE && memcmp(all.p, p, LARGE) == 0);
}

/* Text that hardly becomes smaller: so many bytes go to a client that takes none. */
SCENARIO("many slow clients hold no more than their bound, and the next ones are sent it plain")
{
	enum { N = 220, BYTES = 4 << 20 };
	clock_hold(); /* on a slow machine the first ones would be too slow before the last ones come */
	by_h1_only();
	origin_says("/x", .fields = "Content-Type: text/css\r\n", .pattern_bytes = BYTES,
		    .seed = 3);
	edge_start_yaml(STREAM "routes: [ { path: /, pass: on } ]\n");
	struct client *c[N];
	int coded = 0;
	client_from("127.0.0.2");
	for (int i = 0; i < N; i++) {
		c[i] = client_open_narrow();
		client_request(c[i], "GET", "/x", BR);
		struct answer a = client_read_head(c[i]);
		expect_field(a, "Vary", "Accept-Encoding");
		coded += field(a, "Content-Encoding") != NULL;
		expect(field(a, "Content-Encoding") || field(a, "Content-Length"));
	}
	note("%d of %d were coded, %.1f MiB", coded, N, (double)edge_rss_bytes() / 1048576);
	expect_between(coded, 80, 96); /* three quarters of what all have */
	expect_no_field(get_with("/x", BR), "Content-Encoding");
	client_from("127.0.0.3");
	expect_field(get_with("/x", BR), "Content-Encoding", "br");
	client_from(NULL);
	expect(edge_stat("packing.streamed") == coded + 1 &&
	       edge_stat("packing.streamed_not") > N - coded);
	if (!edge_is_sanitized())
		expect_between((double)edge_peak_bytes(), 0, 400 << 20);
	for (int i = 0; i < N; i++)
		client_reset(c[i]);
	clock_run(1);
	wait_until(field(get_with("/x", BR), "Content-Encoding"));
}

SCENARIO("who goes away in the middle costs nothing that stays")
{
	enum { N = 100 };
	char *p = uncoded_page(3 << 20);
	origin_says("/x", .fields = "Content-Type: text/css\r\n", .body = p, .body_bytes = 3 << 20);
	edge_start_yaml(STREAM "routes: [ { path: /, pass: on } ]\n");
	for (int round = 0; round < 3; round++) {
		struct client *c[N];
		for (int i = 0; i < N; i++) {
			c[i] = client_open_narrow();
			client_request(c[i], "GET", "/x", i % 2 ? BR : GZIP);
		}
		for (int i = 0; i < N; i++) {
			if (i % 3)
				client_read_head(c[i]);
			client_reset(c[i]);
		}
	}
	wait_until(field(get_with("/x", BR), "Content-Encoding"));
	uncoded_expect(get_with("/x", BR), "br", p, 3 << 20);
}
