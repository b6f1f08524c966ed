/* A body without an end that comes as it is made: those who join it hear it soon. */
#include "tests/kit/kit.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STEP_MS = 100, STEP = 800 /* 64 kbit/s */ };

/* An origin by hand, of which each byte is the scenario's. */
struct studio {
	int door, link;
};

static void
studio_open(struct studio *s)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	s->door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	expect(bind(s->door, (struct sockaddr *)&a, n) == 0 && listen(s->door, 8) == 0);
	expect(getsockname(s->door, (struct sockaddr *)&a, &n) == 0);
	edge_start_yaml(text("origins: [ { url: http://127.0.0.1:%u } ]\n", ntohs(a.sin_port)));
}

static void
say(const struct studio *s, const char *p, size_t n)
{
	expect(write(s->link, p, n) == (ssize_t)n);
}

/* The first request is here; its answer begins. */
static void
on_air(struct studio *s, const char *fields)
{
	char head[4096];
	size_t n = 0;
	s->link = accept4(s->door, NULL, NULL, SOCK_CLOEXEC);
	expect(s->link >= 0);
	while (n < 4 || memcmp(head + n - 4, "\r\n\r\n", 4) != 0)
		expect(read(s->link, head + n++, 1) == 1);
	const char *answer = text("HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\n%s"
				  "Transfer-Encoding: chunked\r\n\r\n",
				  fields);
	say(s, answer, strlen(answer));
}

static void
play(const struct studio *s, size_t bytes)
{
	const char *line = text("%zx\r\n", bytes);
	char *sound = pattern(0, bytes);
	say(s, line, strlen(line));
	say(s, sound, bytes);
	say(s, "\r\n", 2);
	free(sound);
	clock_settle();
}

static struct client *
listener(void)
{
	struct client *c = client_open();
	client_request(c, "GET", "/radio", NULL);
	return c;
}

static bool
hears(struct client *c)
{
	char byte;
	clock_settle();
	return recv(client_fd(c), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

static void
off_air(struct studio *s, struct client **c, int n)
{
	say(s, "0\r\n\r\n", 5);
	for (int i = 0; i < n; i++)
		expect_status(client_read(c[i], "GET"), 200);
	close(s->link);
	close(s->door);
}

SCENARIO("who joins live audio hears it within 300 ms, by the fetch that is there")
{
	by_http_only();
	enum { FIRST = 3, LATE = 2 };
	struct studio s;
	struct client *c[FIRST + LATE];
	clock_hold();
	studio_open(&s);
	c[0] = listener();
	on_air(&s, "Cache-Control: max-age=60\r\nETag: W/\"1\"\r\n");
	play(&s, STEP);
	expect(hears(c[0]));
	for (int i = 1; i < FIRST; i++)
		c[i] = listener();
	edge_wait_requests(FIRST);
	for (int i = 0; i < 2; i++) {
		clock_advance(STEP_MS);
		play(&s, STEP);
	}
	for (int i = 1; i < FIRST; i++)
		expect(hears(c[i]));
	for (int i = 0; i < 20; i++) {
		clock_advance(STEP_MS);
		play(&s, STEP);
	}
	clock_advance(STEP_MS / 2);
	for (int i = FIRST; i < FIRST + LATE; i++)
		c[i] = listener();
	edge_wait_requests(FIRST + LATE);
	for (int i = FIRST; i < FIRST + LATE; i++)
		expect(hears(c[i])); /* at once */
	expect_int((long long)edge_stat("requests.beside"), 0);
	expect_int((long long)edge_stat("origin.requests"), 1);
	off_air(&s, c, FIRST + LATE);
}

SCENARIO("who joins a body that came at once and then hangs is sent none of it")
{
	by_http_only();
	struct studio s;
	struct client *c[2];
	clock_hold();
	studio_open(&s);
	c[0] = listener();
	on_air(&s, "Cache-Control: max-age=60\r\n");
	play(&s, 9999);
	c[1] = listener();
	edge_wait_requests(2);
	for (int i = 0; i < 9; i++)
		clock_advance(STEP_MS);
	expect(hears(c[0]) && !hears(c[1]));
	client_reset(c[1]);
	off_air(&s, c, 1);
}
