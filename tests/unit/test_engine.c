/* rooms: fleet origin http base
 *
 * test_engine.c - an engine that says exactly what a test wants, on the same event loop: greetings, where the client
 * goes next, and what it does not believe.
 */
#include "proxy/fleet/engine.h"
#include "proxy/fleet/replies.h"
#include "tests/kit/unit.h"

#include "proxy/base/buf.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <hiredis/hiredis.h>
#include <stdio.h>

/* ---- servers ------------------------------------------------------------------------------- */

enum { SERVERS = 3, LINES = 8 };

/* A line is a command, ">" and its reply, "%1" in it the port of the second server. "" as the reply closes the
 * connection. A command without a line is not answered. */
struct server {
	const char *lines[LINES];
	struct evconnlistener *listener;
	unsigned port, accepted;
	struct buf heard; /* commands, each with ", " behind it */
};

static struct event_base *base;
static struct server servers[SERVERS];
static struct engine *engine;
static unsigned opened, away;
static char why[256];
static struct buf answers;

static void
say(struct bufferevent *b, const char *reply)
{
	struct buf text = {0};
	for (; *reply; reply++)
		if (*reply == '%') {
			buf_printf(&text, "%u", servers[reply[1] - '0'].port);
			reply++;
		} else {
			buf_add(&text, reply, 1);
		}
	bufferevent_write(b, text.p, text.n);
	buf_fini(&text);
}

static void
on_command(struct server *s, struct bufferevent *b, const char *command)
{
	size_t n = strlen(command);
	buf_printf(&s->heard, "%s, ", command);
	for (int i = 0; i < LINES && s->lines[i]; i++)
		if (strncmp(s->lines[i], command, n) == 0 && s->lines[i][n] == '>') {
			if (s->lines[i][n + 1])
				say(b, s->lines[i] + n + 1);
			else
				bufferevent_free(b);
			return;
		}
}

/* A command is a list of strings, as a reply may be. */
static void
on_bytes(struct bufferevent *b, void *ctx)
{
	struct server *s = ctx;
	struct replies *r = replies_create();
	char bytes[4096];
	size_t n = bufferevent_read(b, bytes, sizeof bytes);
	replies_feed(r, bytes, n);
	for (struct redisReply *one; (one = replies_next(r)); freeReplyObject(one)) {
		char command[512] = "";
		for (size_t i = 0; i < one->elements; i++)
			snprintf(command + strlen(command), sizeof command - strlen(command),
				 i ? " %s" : "%s", one->element[i]->str);
		on_command(s, b, command);
	}
	replies_destroy(&r);
}

static void
on_end(struct bufferevent *b, short what, void *ctx)
{
	(void)what;
	(void)ctx;
	bufferevent_free(b);
}

static void
on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *sa, int n, void *ctx)
{
	struct server *s = ctx;
	struct bufferevent *b = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	(void)l;
	(void)sa;
	(void)n;
	s->accepted++;
	bufferevent_setcb(b, on_bytes, NULL, on_end, s);
	bufferevent_enable(b, EV_READ | EV_WRITE);
}

static void
serve(unsigned i, const char *const *lines)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	struct server *s = &servers[i];
	for (int k = 0; k < LINES && lines[k]; k++)
		s->lines[k] = lines[k];
	s->listener = evconnlistener_new_bind(base, on_accept, s, LEV_OPT_CLOSE_ON_FREE, -1,
					      (struct sockaddr *)&a, (int)n);
	ck_assert_ptr_nonnull(s->listener);
	getsockname(evconnlistener_get_fd(s->listener), (struct sockaddr *)&a, &n);
	s->port = ntohs(a.sin_port);
}

/* ---- the client ---------------------------------------------------------------------------- */

static void
on_open(void *ctx)
{
	(void)ctx;
	opened++;
}

static void
on_away(void *ctx, const char *said)
{
	(void)ctx;
	away++;
	snprintf(why, sizeof why, "%s", said);
}

static void
on_answer(void *ctx, const struct redisReply *r)
{
	(void)ctx;
	if (!r)
		buf_printf(&answers, "none ");
	else if (r->type == REDIS_REPLY_INTEGER)
		buf_printf(&answers, ":%lld ", r->integer);
	else
		buf_printf(&answers, "%.*s ", STR_ARG(replies_text(r)));
}

/* "redis://127.0.0.1:%0", "sentinel://127.0.0.1:%0/main" */
static void
start(const char *a, const char *b)
{
	const char *from[] = {a, b};
	static char text[2][128];
	char *places[] = {text[0], text[1]}, err[256] = "";
	struct engine_options o = {.base = base,
				   .places = places,
				   .places_n = b ? 2 : 1,
				   .on_open = on_open,
				   .on_away = on_away};
	for (unsigned i = 0; i < o.places_n; i++) {
		const char *at = strchr(from[i], '%');
		snprintf(text[i], sizeof text[i], "%.*s%u%s", (int)(at - from[i]), from[i],
			 servers[at[1] - '0'].port, at + 2);
	}
	engine = engine_create(&o, err, sizeof err);
	ck_assert_msg(engine != NULL, "%s", err);
}

#define run_until(condition)                                \
	do {                                                \
		while (!(condition))                        \
			event_base_loop(base, EVLOOP_ONCE); \
	} while (0)

static void
begin(void)
{
	base = event_base_new();
}

static void
end(void)
{
	engine_destroy(&engine);
	for (unsigned i = 0; i < SERVERS; i++) {
		if (servers[i].listener)
			evconnlistener_free(servers[i].listener);
		buf_fini(&servers[i].heard);
	}
	buf_fini(&answers);
	event_base_loop(base, EVLOOP_NONBLOCK);
	event_base_free(base);
}

#define ROLE_MASTER  "ROLE>*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"
#define ROLE_REPLICA "ROLE>*1\r\n$5\r\nslave\r\n"

static bool
heard(unsigned i, const char *all)
{
	buf_add(&servers[i].heard, "", 1);
	servers[i].heard.n--;
	return strcmp(servers[i].heard.p, all) == 0;
}

/* The words of the first and the second server, and where the client goes: it is open then. */
static const struct {
	const char *says, *places[2], *lines[2][LINES], *heard[2];
	unsigned away;
} greetings[] = {
	/* clang-format off */
	{"a server that takes writes", {"redis://127.0.0.1:%0"}, {{ROLE_MASTER}}, {"ROLE, "}, 0},
	{"user, password and database", {"redis://me:pw@127.0.0.1:%0/3"},
	 {{"AUTH me pw>+OK\r\n", "SELECT 3>+OK\r\n", ROLE_MASTER}}, {"AUTH me pw, SELECT 3, ROLE, "}, 0},
	{"a password alone", {"redis://:pw@127.0.0.1:%0"}, {{"AUTH pw>+OK\r\n", ROLE_MASTER}}, {"AUTH pw, ROLE, "}, 0},
	{"the role may be a secret", {"redis://127.0.0.1:%0"}, {{"ROLE>-NOPERM no\r\n"}}, {"ROLE, "}, 0},
	{"a replica is left for the next", {"redis://127.0.0.1:%0", "redis://127.0.0.1:%1"},
	 {{ROLE_REPLICA}, {ROLE_MASTER}}, {"ROLE, ", "ROLE, "}, 1},
	{"a wrong password too", {"redis://:x@127.0.0.1:%0", "redis://127.0.0.1:%1"},
	 {{"AUTH x>-WRONGPASS no\r\n", ROLE_MASTER}, {ROLE_MASTER}}, {"AUTH x, ROLE, ", "ROLE, "}, 1},
	{"one that wants a password", {"redis://127.0.0.1:%0", "redis://127.0.0.1:%1"},
	 {{"ROLE>-NOAUTH no\r\n"}, {ROLE_MASTER}}, {"ROLE, ", "ROLE, "}, 1},
	{"one that speaks HTTP", {"redis://127.0.0.1:%0", "redis://127.0.0.1:%1"},
	 {{"ROLE>HTTP/1.1 400 Bad Request\r\n\r\n"}, {ROLE_MASTER}}, {"ROLE, ", "ROLE, "}, 1},
	{"one that closes", {"redis://127.0.0.1:%0", "redis://127.0.0.1:%1"},
	 {{"ROLE>"}, {ROLE_MASTER}}, {"ROLE, ", "ROLE, "}, 1},
	{"a Sentinel names it", {"sentinel://:pw@127.0.0.1:%0/main/2"},
	 {{"SENTINEL get-master-addr-by-name main>*2\r\n$9\r\n127.0.0.1\r\n$5\r\n%1\r\n"},
	  {"AUTH pw>+OK\r\n", "SELECT 2>+OK\r\n", ROLE_MASTER}},
	 {"SENTINEL get-master-addr-by-name main, ", "AUTH pw, SELECT 2, ROLE, "}, 0},
	{"a Sentinel that does not know it", {"sentinel://127.0.0.1:%0/main", "redis://127.0.0.1:%1"},
	 {{"SENTINEL get-master-addr-by-name main>*-1\r\n"}, {ROLE_MASTER}},
	 {"SENTINEL get-master-addr-by-name main, ", "ROLE, "}, 1},
	{"a Sentinel that lies", {"sentinel://127.0.0.1:%0/main", "redis://127.0.0.1:%1"},
	 {{"SENTINEL get-master-addr-by-name main>*2\r\n$1\r\n/\r\n$1\r\nx\r\n"}, {ROLE_MASTER}},
	 {"SENTINEL get-master-addr-by-name main, ", "ROLE, "}, 1},
	{"a Sentinel taken for a server", {"redis://127.0.0.1:%0", "redis://127.0.0.1:%1"},
	 {{"ROLE>*1\r\n$8\r\nsentinel\r\n"}, {ROLE_MASTER}}, {"ROLE, ", "ROLE, "}, 1},
	/* clang-format on */
};

START_TEST(greeting)
{
	begin();
	for (unsigned i = 0; i < 2; i++)
		serve(i, greetings[_i].lines[i]);
	start(greetings[_i].places[0], greetings[_i].places[1]);
	run_until(opened);
	ck_assert_uint_eq(away, greetings[_i].away);
	ck_assert(engine_is_open(engine));
	for (unsigned i = 0; i < 2 && greetings[_i].heard[i]; i++)
		ck_assert_msg(heard(i, greetings[_i].heard[i]), "%s: %s", greetings[_i].says,
			      servers[i].heard.p);
	end();
}
END_TEST

static bool
ask_one(const char *word)
{
	return engine_ask(engine, &(struct str){word, strlen(word)}, 1, on_answer, NULL);
}

START_TEST(answers_come_in_order)
{
	begin();
	serve(0, (const char *[LINES]){ROLE_MASTER, "A>+a\r\n", "B>:7\r\n", "C>-ERR c\r\n"});
	start("redis://127.0.0.1:%0", NULL);
	ck_assert(!ask_one("A")); /* not yet */
	run_until(opened);
	ck_assert(ask_one("A") && ask_one("B") && ask_one("C"));
	run_until(answers.n >= 10);
	ck_assert(str_eq(buf_str(&answers), STR("a :7 ERR c ")));
	end();
}
END_TEST

START_TEST(so_many_are_under_way_and_no_more)
{
	static char large[ENGINE_OUT_MOST];
	unsigned n = 0;
	begin();
	serve(0, (const char *[LINES]){ROLE_MASTER});
	start("redis://127.0.0.1:%0", NULL);
	run_until(opened);
	ck_assert(!engine_ask(engine, &(struct str){large, sizeof large}, 1, on_answer, NULL));
	while (ask_one("A"))
		n++;
	ck_assert_uint_eq(n, ENGINE_ASKS_MOST);
	engine_destroy(&engine);
	ck_assert_uint_eq(answers.n, strlen("none ") * n);
	end();
}
END_TEST

/* In the middle of questions the server sends the client away: both are answered with nothing, and it is open
 * elsewhere. */
static const struct {
	const char *says, *reply, *places[2];
	unsigned away;
} ends[] = {
	{"moved", "A>-MOVED 7 127.0.0.1:%1\r\n", {"redis://127.0.0.1:%0"}, 0},
	{"became a replica",
	 "A>-READONLY no\r\n",
	 {"redis://127.0.0.1:%0", "redis://127.0.0.1:%1"},
	 1},
	{"closed", "A>", {"redis://127.0.0.1:%0", "redis://127.0.0.1:%1"}, 1},
	{"nonsense", "A>!\r\n", {"redis://127.0.0.1:%0", "redis://127.0.0.1:%1"}, 1},
};

START_TEST(end_of_a_connection)
{
	begin();
	serve(0, (const char *[LINES]){ROLE_MASTER, ends[_i].reply});
	serve(1, (const char *[LINES]){ROLE_MASTER, "A>+a\r\n"});
	start(ends[_i].places[0], ends[_i].places[1]);
	run_until(opened == 1);
	ck_assert(ask_one("A") && ask_one("B"));
	run_until(opened == 2);
	ck_assert(str_eq(buf_str(&answers), STR("none none ")));
	ck_assert_uint_eq(away, ends[_i].away);
	ck_assert(ask_one("A"));
	run_until(answers.n > 10);
	ck_assert(str_eq(buf_str(&answers), STR("none none a ")));
	end();
}
END_TEST

START_TEST(a_circle_of_moves_ends)
{
	begin();
	serve(0, (const char *[LINES]){"ROLE>-MOVED 7 127.0.0.1:%1\r\n"});
	serve(1, (const char *[LINES]){"ROLE>-MOVED 7 127.0.0.1:%0\r\n"});
	start("redis://127.0.0.1:%0", NULL);
	run_until(away == 1);
	ck_assert_str_eq(why, "it was moved twice in a row");
	ck_assert(servers[0].accepted == 1 && servers[1].accepted == 1);
	end();
}
END_TEST

START_TEST(a_circle_of_moves_ends_behind_greetings_too)
{
	begin();
	serve(0, (const char *[LINES]){ROLE_MASTER, "A>-MOVED 7 127.0.0.1:%1\r\n", "B>+b\r\n"});
	serve(1, (const char *[LINES]){ROLE_MASTER, "A>-MOVED 7 127.0.0.1:%0\r\n", "B>+b\r\n"});
	start("redis://127.0.0.1:%0", NULL);
	for (unsigned n = 1; n <= 2; n++) {
		run_until(opened == n);
		ck_assert(ask_one("A"));
	}
	run_until(away == 1);
	ck_assert_str_eq(why, "it was moved twice in a row");
	for (unsigned n = 3; n <= 6; n++) { /* with answers in between it is followed each time */
		run_until(opened == n);
		ck_assert(ask_one("B") && ask_one("A"));
	}
	run_until(opened == 7);
	ck_assert_uint_eq(away, 1);
	end();
}
END_TEST

START_TEST(an_answer_to_nothing_ends_it)
{
	begin();
	serve(0, (const char *[LINES]){ROLE_MASTER "+more\r\n"});
	start("redis://127.0.0.1:%0", NULL);
	run_until(away == 1);
	ck_assert_str_eq(why, "it answered what nobody had asked");
	end();
}
END_TEST

START_TEST(a_place_that_is_none_is_refused)
{
	char place[] = "http://x", *places[] = {place}, err[256] = "";
	begin();
	struct engine_options o = {.base = base, .places = places, .places_n = 1};
	ck_assert_ptr_null(engine_create(&o, err, sizeof err));
	ck_assert_ptr_nonnull(strstr(err, "redis://HOST:PORT"));
	end();
}
END_TEST

UNIT("engine", LOOP(greeting, greetings), TEST(answers_come_in_order),
     TEST(so_many_are_under_way_and_no_more), LOOP(end_of_a_connection, ends),
     TEST(a_circle_of_moves_ends), TEST(a_circle_of_moves_ends_behind_greetings_too),
     TEST(an_answer_to_nothing_ends_it), TEST(a_place_that_is_none_is_refused))
