/* An origin that speaks HTTP/1.0 reads no chunks (RFC 9112 6.1): what has no length is sent with one where all of
 * it was gathered, and refused where it was not. */
#include "tests/kit/kit.h"

#define OLD "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nold"

enum { GATHERED = 64 << 10 };

/* A body of n bytes in chunks; no answer is read. */
static struct client *
upload(const char *method, const char *path, size_t n)
{
	struct client *c = client_open();
	char *body = pattern(3, n ? n : 1);
	client_request(c, method, path, "Transfer-Encoding: chunked\r\n");
	for (size_t at = 0, some; at < n; at += some) {
		some = n - at < 10000 ? n - at : 10000;
		client_send(c, text("%zx\r\n", some));
		client_send_bytes(c, body + at, some);
		client_send(c, "\r\n");
	}
	client_send(c, "0\r\n\r\n");
	free(body);
	return c;
}

static void
learns_that_it_is_old(void)
{
	origin_says("/old", .raw = OLD, .times = 99);
	edge_start();
	expect_answer(get("/old"), 200, "old");
}

static void
expect_heard(size_t n, const char *length, const char *coding)
{
	const struct heard *h = origin_last();
	const char *has = heard_field(h, "Content-Length");
	expect_that(!has == !length && (!has || strcmp(has, length) == 0), "Content-Length: %s",
		    has);
	has = heard_field(h, "Transfer-Encoding");
	expect_that(!has == !coding && (!has || strcmp(has, coding) == 0), "coding: %s", has);
	expect_int((long long)h->body_bytes, (long long)n);
	expect(is_pattern(h->body, 3, 0, n));
}

SCENARIO(
	"an upload without a length has one for an origin that speaks HTTP/1.0, if all of it is here")
{
	static const size_t sizes[] = {5, 0, 20000, GATHERED - 1};
	learns_that_it_is_old();
	for (int i = 0; i < 4; i++) {
		struct client *c = upload(i % 2 ? "PUT" : "POST", "/old", sizes[i]);
		expect_answer(client_read(c, "POST"), 200, "old");
		expect_heard(sizes[i], text("%zu", sizes[i]), NULL);
	}
}

SCENARIO("one that is larger is told to say its length, and the origin hears nothing of it")
{
	learns_that_it_is_old();
	struct client *c = upload("POST", "/old", GATHERED + 1);
	struct answer a = client_try(c, "POST");
	expect_int(a.status, 411);
	expect_verdict(a, "detail=length-required");
	origin_expect_requests(1);
	expect_int((long long)edge_stat("origin.errors"), 0);
	client_close(c);
	expect_answer(ask("POST", "/old", NULL, "with a length"), 200, "old");
}

SCENARIO("an origin that is not known to speak HTTP/1.0, or speaks HTTP/1.1 by now, is sent chunks")
{
	origin_says("/x", .body = "new", .times = 99);
	learns_that_it_is_old();
	expect_answer(get("/x"), 200, "new");
	struct client *c = upload("POST", "/x", 5);
	expect_answer(client_read(c, "POST"), 200, "new");
	expect_heard(5, NULL, "chunked");
}

SCENARIO("an error by what stands before an origin says nothing of the origin")
{
	origin_says("/busy", .raw = "HTTP/1.0 503 Busy\r\nContent-Length: 4\r\n\r\nbusy");
	origin_says("/x", .body = "new", .times = 99);
	edge_start();
	expect_answer(get("/busy"), 503, "busy");
	struct client *c = upload("POST", "/x", 5);
	expect_answer(client_read(c, "POST"), 200, "new");
	expect_heard(5, NULL, "chunked");
}

SCENARIO("where one server of a group speaks HTTP/1.0, another one takes what has no length")
{
	origin_says("@1*", .raw = OLD, .times = 99);
	origin_says("@2*", .body = "new", .times = 99);
	edge_start_yaml(text("origins:\n  - name: web\n    balance: order\n    servers:\n"
			     "      - url: %s\n      - url: %s\n",
			     origin_door(1), origin_door(2)));
	expect_answer(get("/x"), 200, "old");
	struct client *c = upload("POST", "/x", GATHERED + 1);
	expect_answer(client_read(c, "POST"), 200, "new");
	expect_heard(GATHERED + 1, NULL, "chunked");
}
