/* test_unasked.c - does an answer about ranges fit what was asked?
 * rooms: serve coding http base
 */
#include "proxy/serve/rules/unasked.h"

#include "tests/kit/heads.h"

#define PART	 "HTTP/1.1 206 Partial Content\n"
#define OF_BYTES PART "Content-Range: bytes "
#define MULTI	 PART "Content-Type: multipart/byteranges; boundary=x\n"
#define NOT_OK	 "HTTP/1.1 416 Range Not Satisfiable\n"

enum { UNKNOWN = -1 };

static const struct {
	const char *says;
	enum method method;
	const char *range, *head;
	int64_t bytes;
	enum unasked want;
} answers[] = {
	/* clang-format off */
	{"the range that was asked for", METHOD_GET, "bytes=2-4", OF_BYTES "2-4/10", 3, UNASKED_NOT},
	{"of a body of unknown length", METHOD_GET, "bytes=2-4", OF_BYTES "2-4/*", 3, UNASKED_NOT},
	{"in chunks", METHOD_GET, "bytes=2-4", OF_BYTES "2-4/10", UNKNOWN, UNASKED_NOT},
	{"shorter than asked for", METHOD_GET, "bytes=2-8", OF_BYTES "2-4/10", 3, UNASKED_NOT},
	{"to the end", METHOD_GET, "bytes=2-", OF_BYTES "2-9/10", 8, UNASKED_NOT},
	{"up to the end, and asked for beyond", METHOD_GET, "bytes=2-99", OF_BYTES "2-9/10", 8, UNASKED_NOT},
	{"the last ones", METHOD_GET, "bytes=-3", OF_BYTES "7-9/10", 3, UNASKED_NOT},
	{"the last ones of who knows what", METHOD_GET, "bytes=-3", OF_BYTES "7-9/*", 3, UNASKED_NOT},
	{"all of it, as asked for", METHOD_GET, "bytes=0-", OF_BYTES "0-9/10", 10, UNASKED_NOT},
	{"others than the last ones, which Content-Range says", METHOD_GET, "bytes=-3", OF_BYTES "0-2/10", 3, UNASKED_NOT},
	{"the range, and other bytes than it says: passed on, and not kept", METHOD_GET, "bytes=2-4", OF_BYTES "2-4/10", 2, UNASKED_NOT},
	{"one of several", METHOD_GET, "bytes=0-1,4-5", OF_BYTES "4-5/10", 2, UNASKED_NOT},
	{"several of several", METHOD_GET, "bytes=0-1,4-5", MULTI, 200, UNASKED_NOT},
	{"another status", METHOD_GET, "", "HTTP/1.1 200 OK\nContent-Range: bytes 0-1/10", 2, UNASKED_NOT},
	{"another unit, asked for", METHOD_GET, "items=0-1", PART "Content-Range: items 0-1/10", 99, UNASKED_NOT},
	{"another unit, not asked for", METHOD_GET, "", PART "Content-Range: 0-24/3573", 99, UNASKED_NOT},
	{"a range for HEAD", METHOD_HEAD, "bytes=2-4", OF_BYTES "2-4/10", 3, UNASKED_NOT},
	{"behind the end", METHOD_GET, "bytes=99-", NOT_OK "Content-Range: bytes */10", 0, UNASKED_NOT},
	{"behind the end of items", METHOD_GET, "", NOT_OK "Content-Range: */10", 0, UNASKED_NOT},

	{"the whole, not asked for as a range", METHOD_GET, "", OF_BYTES "0-9/10", 10, UNASKED_WHOLE},
	{"the whole instead of a range", METHOD_GET, "bytes=2-4", OF_BYTES "0-9/10", 10, UNASKED_WHOLE},
	{"the whole for HEAD", METHOD_HEAD, "", OF_BYTES "0-9/10", 10, UNASKED_WHOLE},
	{"the same without a length", METHOD_HEAD, "", OF_BYTES "0-9/10", UNKNOWN, UNASKED_WHOLE},
	{"the whole for POST", METHOD_POST, "", OF_BYTES "0-9/10", 10, UNASKED_WHOLE},

	{"a part, not asked for", METHOD_GET, "", OF_BYTES "0-2/10", 3, UNASKED_ODD},
	{"what says to be the whole, in chunks", METHOD_GET, "", OF_BYTES "0-9/10", UNKNOWN, UNASKED_ODD},
	{"what says to be the whole, and is shorter", METHOD_GET, "", OF_BYTES "0-9/10", 5, UNASKED_ODD},
	{"what may be the whole", METHOD_GET, "", OF_BYTES "0-9/*", 10, UNASKED_ODD},
	{"another part", METHOD_GET, "bytes=2-4", OF_BYTES "3-5/10", 3, UNASKED_ODD},
	{"more than asked for", METHOD_GET, "bytes=2-4", OF_BYTES "2-5/10", 4, UNASKED_ODD},
	{"a part of what has no such range", METHOD_GET, "bytes=50-", OF_BYTES "2-4/10", 3, UNASKED_ODD},
	{"several, not asked for", METHOD_GET, "", MULTI, 200, UNASKED_ODD},
	{"several of one", METHOD_GET, "bytes=2-4", MULTI, 200, UNASKED_ODD},
	{"a part that does not say which", METHOD_GET, "bytes=2-4", PART, 3, UNASKED_ODD},
	{"a part that says nonsense", METHOD_GET, "bytes=2-4", OF_BYTES "4-2/10", 3, UNASKED_ODD},
	{"a part in two minds", METHOD_GET, "bytes=2-4", OF_BYTES "2-4/10\nContent-Range: bytes 3-5/10", 3, UNASKED_ODD},
	{"a part for HEAD", METHOD_HEAD, "", OF_BYTES "0-2/10", 3, UNASKED_ODD},
	{"a part for POST", METHOD_POST, "", OF_BYTES "0-2/10", 3, UNASKED_ODD},
	{"a part for PUT with a range", METHOD_PUT, "bytes=0-2", OF_BYTES "0-2/10", 3, UNASKED_ODD},
	{"behind the end of what was asked for whole", METHOD_GET, "", NOT_OK "Content-Range: bytes */10", 0, UNASKED_ODD},
	{"the same without a word", METHOD_GET, "", NOT_OK, 0, UNASKED_ODD},
	/* clang-format on */
};

START_TEST(answers_about_ranges)
{
	uint64_t bytes = answers[_i].bytes == UNKNOWN ? UINT64_MAX : (uint64_t)answers[_i].bytes;
	enum unasked u = unasked_decide(answers[_i].method, str_of(answers[_i].range),
					response_of(answers[_i].head), bytes);
	ck_assert_msg(u == answers[_i].want, "%s: %d", answers[_i].says, (int)u);
}
END_TEST

UNIT("unasked", LOOP(answers_about_ranges, answers))
