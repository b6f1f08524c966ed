/* test_upgrade.c - who asks to switch protocols, and who agrees (RFC 9110 7.8).
 * rooms: http base
 */
#include "proxy/http/upgrade.h"

#include "proxy/http/h1_parse.h"
#include "tests/kit/unit.h"

#include <stdio.h>

#define ASKS "Connection: Upgrade\r\nUpgrade: websocket\r\n"

#define OTHERS_10 "a, a, a, a, a, a, a, a, a, a, "
#define OTHERS_30 OTHERS_10 OTHERS_10 OTHERS_10

static const struct str names[] = {STR_INIT("websocket"), STR_INIT("chat")};

static const struct {
	const char *says, *request, *asked; /* asked NULL: nothing */
} requests[] = {
	{"both fields, in HTTP/1.1, of a GET", "GET / HTTP/1.1\r\nHost: a\r\n" ASKS, "websocket"},
	{"names are compared without case, and given as they are configured",
	 "GET / HTTP/1.1\r\nHost: a\r\nconnection: UPGRADE\r\nupgrade: WebSocket\r\n", "websocket"},
	{"upgrade may be one of several options",
	 "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, upgrade\r\nUpgrade: chat\r\n",
	 "chat"},
	{"of a list the first that is allowed",
	 "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c, chat, websocket\r\n",
	 "chat"},
	{"of several lines too",
	 "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\nUpgrade: chat\r\n",
	 "chat"},
	{"the 32nd of a list too",
	 "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: " OTHERS_30 "a, chat\r\n",
	 "chat"},
	{"not what lies behind",
	 "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: " OTHERS_30 "a, a, chat\r\n",
	 NULL},
	{"not without the option: RFC 9110 7.8 says to ignore it",
	 "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n", NULL},
	{"not without a protocol", "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n", NULL},
	{"not another protocol",
	 "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\n", NULL},
	{"a version makes it another protocol",
	 "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket/13\r\n", NULL},
	{"a name that only begins so is another",
	 "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websockets\r\n", NULL},
	{"not in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\n" ASKS, NULL},
	{"not with POST", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n" ASKS, NULL},
	{"not with HEAD", "HEAD / HTTP/1.1\r\nHost: a\r\n" ASKS, NULL},
	{"not with a body, though it be empty",
	 "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n" ASKS, NULL},
	{"not with chunks", "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n" ASKS,
	 NULL},
};

static void
parse(const char *text, struct request *rq, struct field fields[FIELDS_MAX])
{
	static char head[1024];
	const struct h1_limits limits = {.head_bytes = 8192, .url_bytes = 8192, .field_count = 64};
	int n = snprintf(head, sizeof head, "%s\r\n", text);
	*rq = (struct request){.fields = {.v = fields, .cap = FIELDS_MAX}};
	ck_assert_ptr_null(h1_parse_request((struct str){head, (size_t)n}, &limits, rq));
}

START_TEST(asked)
{
	struct field fields[FIELDS_MAX];
	struct request rq;
	parse(requests[_i].request, &rq, fields);
	struct str got = upgrade_asked(&rq, names, 2);
	struct str want = requests[_i].asked ? str_of(requests[_i].asked) : STR("");
	ck_assert_msg(str_eq(got, want), "%s: got \"%.*s\"", requests[_i].says, STR_ARG(got));
	rq.by_h2 = true;
	ck_assert_msg(!upgrade_asked(&rq, names, 2).n, "%s: HTTP/2 has no Upgrade",
		      requests[_i].says);
}
END_TEST

#define S "HTTP/1.1 101 Switching Protocols\r\n"

static const struct {
	const char *says, *head;
	bool agreed;
} answers[] = {
	{"both fields, and the name that was asked for", S ASKS, true},
	{"in any case", S "connection: UPGRADE\r\nupgrade: WEBSOCKET\r\n", true},
	{"not another status", "HTTP/1.1 200 OK\r\n" ASKS, false},
	{"not in HTTP/1.0", "HTTP/1.0 101 Switching\r\n" ASKS, false},
	{"not without the option", S "Upgrade: websocket\r\n", false},
	{"not without the name", S "Connection: upgrade\r\n", false},
	{"not another name, even an allowed one", S "Connection: upgrade\r\nUpgrade: chat\r\n",
	 false},
	{"not two names: what is spoken then?",
	 S "Connection: upgrade\r\nUpgrade: websocket, chat\r\n", false},
	{"not two lines", S ASKS "Upgrade: websocket\r\n", false},
	{"not with a length", S ASKS "Content-Length: 0\r\n", false},
	{"not with chunks", S ASKS "Transfer-Encoding: chunked\r\n", false},
};

START_TEST(agreed)
{
	static char head[1024];
	struct field fields[FIELDS_MAX];
	struct response rs = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	int n = snprintf(head, sizeof head, "%s\r\n", answers[_i].head);
	ck_assert(h1_parse_response((struct str){head, (size_t)n}, &rs));
	ck_assert_msg(upgrade_agreed(&rs, names[0]) == answers[_i].agreed, "%s", answers[_i].says);
}
END_TEST

UNIT("upgrade", LOOP(asked, requests), LOOP(agreed, answers))
