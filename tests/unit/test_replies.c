/* rooms: fleet origin http base
 *
 * test_replies.c - replies in pieces, several at once, and what is beyond bounds. */
#include "proxy/fleet/replies.h"
#include "tests/kit/unit.h"

#include <hiredis/hiredis.h>
#include <stdio.h>

static void
print(const struct redisReply *r, char **to)
{
	struct str s = replies_text(r);
	if (r->type == REDIS_REPLY_INTEGER)
		*to += sprintf(*to, ":%lld ", r->integer);
	else if (r->type == REDIS_REPLY_NIL)
		*to += sprintf(*to, "nil ");
	else if (r->type == REDIS_REPLY_ARRAY) {
		*to += sprintf(*to, "[ ");
		for (size_t i = 0; i < r->elements; i++)
			print(r->element[i], to);
		*to += sprintf(*to, "] ");
	} else
		*to += sprintf(*to, "%.*s ", STR_ARG(s));
}

static const struct {
	const char *says, *wire, *reads;
} streams[] = {
	/* clang-format off */
	{"a status",              "+OK\r\n", "OK "},
	{"an error",              "-ERR no\r\n", "ERR no "},
	{"a number",              ":-7\r\n", ":-7 "},
	{"a string",              "$5\r\na\r\nbc\r\n", "a\r\nbc "},
	{"nothing",               "$-1\r\n*-1\r\n", "nil nil "},
	{"a list",                "*3\r\n$1\r\na\r\n*2\r\n:1\r\n:2\r\n$0\r\n\r\n", "[ a [ :1 :2 ]  ] "},
	{"several",               "+a\r\n+b\r\n*0\r\n", "a b [ ] "},
	{"one that is not whole", "+a\r\n$5\r\nab", "a "},
	{"HTTP",                  "HTTP/1.1 400 Bad Request\r\n\r\n", "broken"},
	{"one and then nonsense", "+a\r\n%\r\n", "a broken"},
	{"a list of too many",    "*100000\r\n", "broken"},
	{"a list of very many",   "*2147483647\r\n", "broken"},
	{"too many inside",       "*1\r\n*100000\r\n", "broken"},
	{"as many as may be",     "*8192\r\n:1\r\n", ""},
	{"a negative length",     "*-5\r\n", "broken"},
	/* clang-format on */
};

/* Whole and byte by byte. */
START_TEST(stream)
{
	for (size_t step = 1; step <= 64; step += 63) {
		struct replies *r = replies_create();
		char reads[512] = "", *to = reads;
		const char *p = streams[_i].wire, *end = p + strlen(p);
		for (; p < end; p += step) {
			replies_feed(r, p, (size_t)(end - p) < step ? (size_t)(end - p) : step);
			for (struct redisReply *one; (one = replies_next(r));) {
				print(one, &to);
				freeReplyObject(one);
			}
		}
		if (replies_are_broken(r))
			strcpy(to, "broken");
		ck_assert_msg(strcmp(reads, streams[_i].reads) == 0, "%s, %zu: %s",
			      streams[_i].says, step, reads);
		replies_destroy(&r);
		ck_assert_ptr_null(r);
	}
}
END_TEST

START_TEST(a_reply_is_bounded)
{
	static char block[1 << 16];
	struct replies *r = replies_create();
	size_t sent = 0;
	memset(block, 'x', sizeof block);
	replies_feed(r, "$1000000000\r\n", 13);
	while (!replies_next(r) && !replies_are_broken(r)) {
		replies_feed(r, block, sizeof block);
		sent += sizeof block;
		ck_assert_uint_le(sent, REPLIES_BYTES_MOST + sizeof block);
	}
	ck_assert(replies_are_broken(r));
	replies_destroy(&r);
}
END_TEST

START_TEST(bounds_are_of_one_reply)
{
	static char block[1 << 20];
	struct replies *r = replies_create();
	memset(block, 'x', sizeof block);
	for (int i = 0; i < 8; i++) {
		replies_feed(r, "$1048576\r\n", 10);
		replies_feed(r, block, sizeof block);
		replies_feed(r, "\r\n", 2);
		struct redisReply *one = replies_next(r);
		ck_assert_ptr_nonnull(one);
		freeReplyObject(one);
	}
	replies_destroy(&r);
}
END_TEST

UNIT("replies", LOOP(stream, streams), TEST(a_reply_is_bounded), TEST(bounds_are_of_one_reply))
