/* Named filters on the admin port of a real proxy: PUT /filters/NAME, add, has, GET, DELETE. */
#include "tests/kit/kit.h"

/* A request on a connection that stays open. */
static struct answer
say_to(struct client *c, const char *method, const char *target, const char *body, size_t n)
{
	char head[256];
	snprintf(head, sizeof(head),
		 "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %zu\r\n\r\n", method, target,
		 n);
	client_send(c, head);
	client_send_bytes(c, body, n);
	return client_read(c, method);
}

static struct answer
tell(struct client *c, const char *method, const char *target, const char *body)
{
	return say_to(c, method, target, body, strlen(body));
}

static struct client *
admin_open(void)
{
	edge_start();
	return client_open_to(edge_admin_port());
}

SCENARIO("a filter is made, filled, asked and deleted over one connection")
{
	struct client *c = admin_open();
	struct answer made = tell(c, "PUT", "/filters/seen?capacity=100&false_positives=1%25", "");
	expect_answer(made, 201, NULL);
	expect_field(made, "Content-Type", "application/json");
	expect_answer(tell(c, "POST", "/filters/seen/add", "http://a/1\nhttp://a/2\n"), 200,
		      "1\n1\n");
	expect_answer(tell(c, "POST", "/filters/seen/add", "http://a/2\nhttp://a/3\n"), 200,
		      "0\n1\n");
	expect_answer(tell(c, "POST", "/filters/seen/has", "http://a/1\nhttp://a/9\n"), 200,
		      "1\n0\n");
	struct answer shown = tell(c, "GET", "/filters/seen", "");
	expect_that(shown.status == 200 && strstr(shown.body, "\"keys\": 3"), "%s", shown.body);
	struct answer other = tell(c, "PUT", "/filters/seen?capacity=5&false_positives=1%25", "");
	expect_status(other, 409);
	struct answer list = tell(c, "GET", "/filters", "");
	expect_that(list.status == 200 && strstr(list.body, "\"seen\""), "%s", list.body);
	expect_status(tell(c, "DELETE", "/filters/seen", ""), 200);
	expect_status(tell(c, "GET", "/filters/seen", ""), 404);
	client_quiet(c);
	client_close(c);
}

SCENARIO("a filter made for 100 keys grows to 20,000 and keeps its 1%")
{
	enum { KEYS = 20000, BATCH = 1000 };
	static char body[BATCH * 16];
	struct client *c = admin_open();
	int wrong = 0, lost = KEYS;
	expect_status(tell(c, "PUT", "/filters/f?capacity=100&false_positives=1%25", ""), 201);
	for (int turn = 0; turn < 3; turn++) /* add; ask for them; ask for others */
		for (int i = 0; i < KEYS; i += BATCH) {
			size_t n = 0;
			for (int k = i; k < i + BATCH; k++)
				n += (size_t)sprintf(body + n, "%c%d\n", turn < 2 ? 'k' : 'x', k);
			const char *target = turn ? "/filters/f/has" : "/filters/f/add";
			struct answer a = say_to(c, "POST", target, body, n);
			expect_int(a.status, 200);
			expect_int((int)a.body_bytes, 2 * BATCH);
			for (size_t k = 0; k < a.body_bytes; k += 2)
				if (a.body[k] == '1') {
					lost -= turn == 1;
					wrong += turn == 2;
				}
		}
	expect_int(lost, 0);
	expect_between(wrong, 20, 200 + 4 * 14); /* 1%, and four standard errors */
	client_close(c);
}

SCENARIO("what is too much or badly asked is refused, and the server goes on")
{
	enum { MIB = 1 << 20 };
	char *body = malloc(MIB + 1);
	memset(body, 'x', MIB + 1);
	for (int i = 0; i < MIB; i += 1024)
		body[i + 1023] = '\n';
	struct client *c = admin_open();
	expect_status(tell(c, "PUT", "/filters/f?capacity=none&false_positives=1%25", ""), 400);
	expect_status(tell(c, "PUT", "/filters/f?capacity=999999999999&false_positives=1%25", ""),
		      507);
	expect_status(tell(c, "PUT", "/filters/f?capacity=100&false_positives=1%", ""), 201);
	expect_status(say_to(c, "POST", "/filters/f/has", body, MIB), 200);
	expect_status(tell(c, "POST", "/filters/f/has", ""), 400);
	struct answer wrong = tell(c, "PATCH", "/filters/f", "");
	expect_status(wrong, 405);
	expect_field(wrong, "Allow", "GET, HEAD, PUT, DELETE");
	client_close(c);
	c = client_open_to(edge_admin_port());
	client_send(c, "POST /filters/f/has HTTP/1.1\r\nHost: 127.0.0.1\r\n"
		       "Content-Length: 1048577\r\n\r\n");
	expect_int(client_try(c, "POST").status, 413);
	client_close(c);
	c = client_open_to(edge_admin_port());
	expect_status(tell(c, "GET", "/filters/f", ""), 200);
	client_close(c);
}
