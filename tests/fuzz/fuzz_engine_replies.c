/* fuzz_engine_replies.c - the door where replies of the engine come in. The first byte says in what pieces.
 * rooms: fleet origin http base
 *
 * The same bytes make the same replies, in whatever pieces they come; nothing of a reply is beyond its bounds. Each is
 * read as the answer of the fleet's script too, and nobody is a member whose record is not signed.
 */
#include "proxy/fleet/journal.h"
#include "proxy/fleet/replies.h"
#include "proxy/fleet/roster.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

/* A number made of all that a reply holds. */
static uint64_t
sum(const redisReply *r, unsigned depth)
{
	uint64_t h = (uint64_t)r->type * 31 +
		     (uint64_t)(r->type == REDIS_REPLY_INTEGER ? r->integer : 0);
	struct str s = replies_text(r);
	if (depth > 16)
		abort();
	for (size_t i = 0; i < s.n; i++)
		h = h * 1099511628211u + (unsigned char)s.p[i];
	if (r->type != REDIS_REPLY_ARRAY)
		return h;
	if (r->elements > REPLIES_ELEMENTS_MOST)
		abort();
	for (size_t i = 0; i < r->elements; i++)
		h = h * 1099511628211u + sum(r->element[i], depth + 1);
	return h;
}

static void
take(const redisReply *r)
{
	static struct secret s;
	struct roster roster = {0};
	struct str text;
	if (!s.fingerprint[0])
		secret_make(&s, STR("0123456789abcdef0123456789abcdef"));
	if (beat_read(r, &text) == BEAT_MEMBERS && roster_take(&roster, r, &s) == 0 && roster.n)
		abort();
	for (unsigned i = 1; i < roster.settled_n; i++)
		if (roster.settled[i - 1].id >= roster.settled[i].id)
			abort();
	roster_fini(&roster);
	static struct journal_answer journal;
	journal_read(r, &s, &journal);
	for (unsigned i = 0; i < journal.n; i++)
		if (journal.of[i].node || journal_is_before(journal.last, journal.of[i].at))
			abort();
	journal_judge("", (struct journal_place){5, 6}, &journal);
}

static uint64_t
read_all(const char *p, size_t n, size_t step)
{
	struct replies *r = replies_create();
	uint64_t h = 1;
	for (size_t at = 0; at < n; at += step) {
		replies_feed(r, p + at, n - at < step ? n - at : step);
		for (struct redisReply *one; (one = replies_next(r));) {
			h = h * 31 + sum(one, 0);
			take(one);
			freeReplyObject(one);
		}
	}
	if (replies_are_broken(r))
		h = h * 31 + 7;
	replies_destroy(&r);
	return h;
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	if (n < 2)
		return 0;
	const char *p = (const char *)data + 1;
	if (read_all(p, n - 1, n) != read_all(p, n - 1, 1 + data[0] % 16))
		abort();
	return 0;
}
