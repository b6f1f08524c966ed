/* Plain text is packed when it is admitted to the disk, and its clients are sent it in the form that they take. */
#include "tests/kit/uncoded.h"

#define FRESH "Cache-Control: max-age=600\r\n"
#define TEXT  FRESH "Content-Type: text/html; charset=utf-8\r\n"
#define BR    "Accept-Encoding: gzip, deflate, br\r\n"
enum { SIZE = 40000 };

static void
expect_packed(struct answer a, const char *p, size_t n)
{
	size_t made = n + 1;
	uint8_t *out = malloc(made);
	expect_status(a, 200);
	expect_field(a, "Content-Encoding", "br");
	expect(a.body_bytes < n / 2);
	expect(BrotliDecoderDecompress(a.body_bytes, (uint8_t *)a.body, &made, out) ==
	       BROTLI_DECODER_RESULT_SUCCESS);
	expect(made == n && memcmp(out, p, n) == 0);
	free(out);
}

/* So often that it is packed. */
static void
ask_until_packed(const char *path)
{
	for (int i = 0; i < 3; i++)
		expect_status(get(path), 200);
	wait_until(field(get_with(path, BR), "Content-Encoding"));
}

SCENARIO("who takes a coding is sent it packed, everybody else as its origin sent it")
{
	char *p = uncoded_page(SIZE);
	origin_says("/x", .fields = TEXT "Accept-Ranges: bytes\r\nContent-MD5: x\r\n", .body = p,
		    .body_bytes = SIZE, .etag = "\"p\"");
	edge_start();
	struct answer a = get_with("/x", BR);
	uncoded_expect_bytes(a, p, SIZE);
	expect_field(a, "Vary", "Accept-Encoding"); /* caches behind us must hear it */
	expect_field(a, "ETag", "\"p\"");
	ask_until_packed("/x");
	a = get_with("/x", BR);
	expect_hit(a);
	expect_packed(a, p, SIZE);
	expect_field(a, "ETag", "W/\"p\"");
	expect_field(a, "Vary", "Accept-Encoding");
	expect_no_field(a, "Accept-Ranges");
	expect_no_field(a, "Content-MD5");
	expect_field(a, "Content-Length", text("%zu", a.body_bytes));
	static const char *const plain[] = {"", "Accept-Encoding: gzip\r\n",
					    BR "Cache-Control: no-transform\r\n"};
	for (int i = 0; i < 3; i++) {
		a = get_with("/x", plain[i]);
		expect_hit(a);
		uncoded_expect_bytes(a, p, SIZE);
		expect_no_field(a, "Content-Encoding");
		expect_field(a, "ETag", "\"p\"");
		expect_field(a, "Vary", "Accept-Encoding");
		expect_field(a, "Accept-Ranges", "bytes");
		expect_field(a, "Content-MD5", "x");
		expect_field(a, "Content-Length", text("%d", SIZE));
	}
	/* Parts are of the origin's bytes, also for who takes a coding. */
	static const int from[] = {0, 7, 20000, SIZE - 10};
	for (int i = 0; i < 4; i++) {
		a = get_with("/x", text(BR "Range: bytes=%d-%d\r\nIf-Range: \"p\"\r\n", from[i],
					from[i] + 9));
		expect_status(a, 206);
		expect(a.body_bytes == 10 && memcmp(a.body, p + from[i], 10) == 0);
		expect_field(a, "ETag", "\"p\"");
		expect_no_field(a, "Content-Encoding");
	}
	uncoded_expect_bytes(get_with("/x", BR "Range: bytes=0-9\r\nIf-Range: W/\"p\"\r\n"), p,
			     SIZE);
	expect_status(get_with("/x", BR "If-None-Match: W/\"p\"\r\n"), 304);
	expect_field(get_with("/x", BR "If-None-Match: \"p\"\r\n"), "ETag", "W/\"p\"");
	a = get_with("/x", "If-None-Match: W/\"p\"\r\n");
	expect_status(a, 304);
	expect_field(a, "ETag", "\"p\"");
	expect_field(a, "Vary", "Accept-Encoding");
	a = ask("HEAD", "/x", BR, NULL);
	expect_field(a, "Content-Encoding", "br");
	expect_field(a, "ETag", "W/\"p\"");
	a = ask("HEAD", "/x", NULL, NULL);
	expect_no_field(a, "Content-Encoding");
	expect_field(a, "Content-Length", text("%d", SIZE));
	origin_expect_requests(1);
}

SCENARIO("a body that becomes a fiftieth is no bomb, for it was packed here")
{
	enum { LARGE = 900000 };
	char *p = malloc(LARGE);
	for (int i = 0; i < LARGE; i++)
		p[i] = "<url><loc>https://www.example.com/</loc></url>\n"[i % 47];
	origin_says("/x", .fields = TEXT, .body = p, .body_bytes = LARGE);
	edge_start();
	ask_until_packed("/x");
	expect(get_with("/x", BR).body_bytes < LARGE / 50);
	for (int i = 0; i < 2; i++) {
		struct answer a = get("/x");
		expect_hit(a);
		uncoded_expect_bytes(a, p, LARGE);
		edge_restart();
	}
	origin_expect_requests(1);
}

SCENARIO("what is packed lies on the disk, and is read from there after a restart")
{
	char *p = uncoded_page(SIZE);
	origin_says("/x", .fields = TEXT, .body = p, .body_bytes = SIZE, .etag = "\"p\"");
	edge_start();
	ask_until_packed("/x");
	expect(edge_stat("packing.saved_bytes") > SIZE / 2);
	edge_restart();
	edge_expect_stat("disk.objects", 1); /* its index is read behind the start */
	struct answer a = get_with("/x", BR);
	expect_hit(a);
	expect_packed(a, p, SIZE);
	a = get("/x");
	expect_hit(a);
	uncoded_expect_bytes(a, p, SIZE);
	a = get_with("/x", "Range: bytes=30000-30099\r\n");
	expect_status(a, 206);
	expect(memcmp(a.body, p + 30000, 100) == 0);
	origin_expect_requests(1);
}

/* It is fetched for the disk, and how long it is shows at its end. */
SCENARIO("a body in chunks is packed as one whose length was said, also when a miss admits it")
{
	enum { LESS = 12000 }; /* a disk of 64 MiB is written to by 16 KiB */
	char *p = uncoded_page(LESS);
	origin_says("/x", .fields = TEXT, .body = p, .body_bytes = LESS, .etag = "\"p\"",
		    .chunked = true);
	origin_says("/small", .fields = TEXT, .body = "hello", .chunked = true);
	edge_start_yaml("admission:\n  sightings: 1\n");
	uncoded_expect_bytes(get("/x"), p, LESS);
	expect_answer(get("/small"), 200, "hello");
	wait_until(field(get_with("/x", BR), "Content-Encoding"));
	edge_restart();
	expect_packed(get_with("/x", BR), p, LESS);
	uncoded_expect_bytes(get("/x"), p, LESS);
	expect_hit(get("/small"));
	edge_expect_stat("disk.objects", 2);
	origin_expect_requests(2);
}

SCENARIO("twice inspect says how much was packed, and finds nothing damaged")
{
	char *p = uncoded_page(SIZE);
	origin_says("/x", .fields = TEXT, .body = p, .body_bytes = SIZE);
	edge_start();
	ask_until_packed("/x");
	edge_stop();
	struct output o = program(edge_binary(), "inspect", edge_cache_dir(), "--json");
	expect_int(o.status, 0);
	char *packed = strstr(o.out, "\"packed\": {");
	expect(packed && strstr(packed, "\"objects\": 1,"));
	expect(strstr(packed, text("\"plain_bytes\": %d", SIZE)));
}

SCENARIO("a validation keeps the packed bytes, and asks by the origin's own tag")
{
	char *p = uncoded_page(SIZE);
	origin_says("/x", .fields = "Cache-Control: max-age=100\r\nContent-Type: text/css\r\n",
		    .body = p, .body_bytes = SIZE, .etag = "\"p\"",
		    .fields_304 = "Cache-Control: max-age=600\r\n");
	clock_hold();
	edge_start();
	ask_until_packed("/x");
	clock_advance(150000);
	struct answer a = get_with("/x", BR);
	expect_packed(a, p, SIZE);
	expect_text(heard_field(origin_last(), "If-None-Match"), "\"p\"");
	a = get("/x");
	expect_hit(a);
	uncoded_expect_bytes(a, p, SIZE);
	expect_field(a, "Vary", "Accept-Encoding");
	origin_expect_requests(2);
}

SCENARIO("a packed answer is purged, invalidated and replaced as any other")
{
	by_http_only();
	char *p = uncoded_page(SIZE), *q = uncoded_page(SIZE);
	q[0] = 'Q';
	origin_says("/x", .fields = TEXT, .body = p, .body_bytes = SIZE);
	edge_start();
	ask_until_packed("/x");
	origin_forget("/x");
	origin_says("/x", .fields = TEXT, .body = q, .body_bytes = SIZE);
	edge_purge(text("url=http://example.com/x"));
	uncoded_expect_bytes(get_with("/x", BR), q, SIZE);
	ask_until_packed("/x");
	expect_packed(get_with("/x", BR), q, SIZE);
	origin_forget("/x");
	origin_says("/x", .fields = TEXT, .body = p, .body_bytes = SIZE);
	expect_status(ask("POST", "/x", NULL, "x"), 200);
	uncoded_expect_bytes(get_with("/x", BR), p, SIZE);
}

static const struct {
	const char *says, *fields, *asks;
	int bytes;
} rows[] = {
	{"an image", FRESH "Content-Type: image/png\r\n", "", SIZE},
	{"no type", FRESH, "", SIZE},
	{"events", FRESH "Content-Type: text/event-stream\r\n", "", SIZE},
	{"a small one", TEXT, "", 1000},
	{"a large one", TEXT, "", (1 << 20) + 1},
	{"no-transform", "Cache-Control: max-age=600, no-transform\r\nContent-Type: text/css\r\n",
	 "", SIZE},
	{"coded already", TEXT "Content-Encoding: compress\r\n", "", SIZE},
	{"for one with a cookie", TEXT, "Cookie: a=b\r\n", SIZE},
	{"for one with credentials",
	 "Cache-Control: public, max-age=600\r\nContent-Type: text/css\r\n",
	 "Authorization: x\r\nAccept-Encoding: br\r\n", SIZE},
};

SCENARIO("only text of a middling size, that nobody can have secrets in, is packed")
{
	enum { N = sizeof rows / sizeof *rows };
	for (int i = 0; i < N; i++) {
		char *p = uncoded_page((size_t)rows[i].bytes);
		origin_says(text("/%d", i), .fields = rows[i].fields, .body = p,
			    .body_bytes = (size_t)rows[i].bytes);
	}
	char *p = uncoded_page(SIZE);
	origin_says("/yes", .fields = TEXT, .body = p, .body_bytes = SIZE);
	edge_start();
	for (int i = 0; i < N; i++)
		for (int k = 0; k < 4; k++) {
			struct answer a = get_with(text("/%d", i), rows[i].asks);
			expect_that(a.status == 200 && a.body_bytes == (size_t)rows[i].bytes, "%s",
				    rows[i].says);
			expect_that(!field(a, "Vary"), "%s", rows[i].says);
		}
	ask_until_packed("/yes");
	expect_int(edge_stat("packing.packed"), 1);
}

SCENARIO("a route packs nothing, or also what answers those who may be somebody")
{
	char *p = uncoded_page(SIZE);
	origin_says("/off/x", .fields = TEXT, .body = p, .body_bytes = SIZE);
	origin_says("/any/x", .fields = TEXT, .body = p, .body_bytes = SIZE);
	edge_yaml("routes:\n- { path: /off/, compress: off }\n- { path: /any/, compress: any }\n");
	edge_start();
	for (int i = 0; i < 4; i++) {
		expect_no_field(get_with("/off/x", BR), "Vary");
		expect_status(get_with("/any/x", BR "Cookie: a=b\r\n"), 200);
	}
	wait_until(field(get_with("/any/x", BR), "Content-Encoding"));
	expect_packed(get_with("/any/x", BR), p, SIZE);
	uncoded_expect_bytes(get_with("/off/x", BR), p, SIZE);
}

static void
reload(void)
{
	char *admin = text("127.0.0.1:%u", edge_admin_port());
	expect_int(program(edge_binary(), "reload", "--admin", admin).status, 0);
}

SCENARIO(
	"without a share of a processor nothing is packed, and all is written as it came, until a reload gives it one")
{
	char *p = uncoded_page(SIZE);
	origin_says("/x", .fields = TEXT, .body = p, .body_bytes = SIZE);
	origin_says("/y", .fields = TEXT, .body = p, .body_bytes = SIZE);
	origin_says("/z", .fields = TEXT, .body = p, .body_bytes = SIZE);
	edge_yaml("compress: { cpu: 0% }\n");
	edge_start();
	for (int i = 0; i < 4; i++)
		expect_no_field(get_with("/x", BR), "Vary");
	expect_int(edge_stat("disk.objects"), 1);
	edge_rewrite("compress: { cpu: 5% }\n");
	reload();
	ask_until_packed("/y");
	edge_rewrite("compress: { cpu: 0% }\n");
	reload();
	for (int i = 0; i < 4; i++)
		expect_no_field(get_with("/z", BR), "Content-Encoding");
	expect_packed(get_with("/y", BR), p, SIZE);
}

SCENARIO("a body that packing hardly makes smaller is written as it came")
{
	origin_says("/x", .fields = TEXT, .pattern_bytes = SIZE, .seed = 3);
	edge_start();
	for (int i = 0; i < 3; i++)
		expect_status(get("/x"), 200);
	wait_until(edge_stat("disk.objects") == 1);
	struct answer a = get_with("/x", BR);
	expect_hit(a);
	expect_no_field(a, "Content-Encoding");
	expect(is_pattern(a.body, 3, 0, SIZE));
}

SCENARIO("killed while it packs: what is on the disk is right, and the rest is fetched again")
{
	enum { N = 60 };
	char *p = uncoded_page(SIZE);
	for (int i = 0; i < N; i++)
		origin_says(text("/%d", i), .fields = TEXT, .body = p, .body_bytes = SIZE);
	edge_start();
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < N; i++)
			get(text("/%d", i));
	wait_until(edge_stat("packing.packed") > 2);
	edge_kill9();
	edge_start();
	for (int i = 0; i < N; i++) {
		struct answer a = get_with(text("/%d", i), i % 2 ? BR : "");
		if (field(a, "Content-Encoding"))
			expect_packed(a, p, SIZE);
		else
			uncoded_expect_bytes(a, p, SIZE);
	}
}
