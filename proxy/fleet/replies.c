/* replies.c - redisReader, with a limit where it has none. */
#include "proxy/fleet/replies.h"

#include "proxy/base/mem.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdlib.h>

#if HIREDIS_MAJOR >= 1
typedef size_t element_count;
#else
typedef int element_count;
#endif

struct replies {
	redisReader *reader;
	redisReplyObjectFunctions makers; /* of the reader's objects: its own, and a limit */
	void *(*make_array)(const redisReadTask *task, element_count n);
	size_t bytes; /* since the last whole reply */
	bool broken;
};

/* The reader hands a maker the task alone, whose topmost parent knows us. */
static void *
make_array(const redisReadTask *task, element_count n)
{
	const redisReadTask *top = task;
	while (top->parent)
		top = top->parent;
	const struct replies *r = top->privdata;
	return n > REPLIES_ELEMENTS_MOST ? NULL : r->make_array(task, n);
}

struct replies *
replies_create(void)
{
	struct replies *r = NEW(struct replies);
	r->reader = redisReaderCreate();
	if (!r->reader)
		abort();
	r->makers = *r->reader->fn;
	r->make_array = r->makers.createArray;
	r->makers.createArray = make_array;
	r->reader->fn = &r->makers;
	r->reader->privdata = r;
	return r;
}

void
replies_destroy(struct replies **pr)
{
	struct replies *r = *pr;
	*pr = NULL;
	if (!r)
		return;
	redisReaderFree(r->reader);
	free(r);
}

void
replies_feed(struct replies *r, const char *p, size_t n)
{
	r->bytes += n;
	r->broken |= redisReaderFeed(r->reader, p, n) != REDIS_OK;
}

struct redisReply *
replies_next(struct replies *r)
{
	void *reply = NULL;
	if (r->broken)
		return NULL;
	if (redisReaderGetReply(r->reader, &reply) != REDIS_OK) {
		r->broken = true;
		return NULL;
	}
	if (reply)
		r->bytes = 0;
	r->broken = !reply && r->bytes > REPLIES_BYTES_MOST;
	return reply;
}

bool
replies_are_broken(const struct replies *r)
{
	return r->broken;
}

struct str
replies_text(const struct redisReply *r)
{
	bool is_text = r && (r->type == REDIS_REPLY_STRING || r->type == REDIS_REPLY_STATUS ||
			     r->type == REDIS_REPLY_ERROR);
	return is_text ? (struct str){r->str, (size_t)r->len} : (struct str){"", 0};
}
