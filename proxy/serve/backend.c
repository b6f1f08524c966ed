/* backend.c - servers of an origin group. */
#include "proxy/serve/backend.h"

#include <assert.h>

static bool
begin(struct backend *b, int64_t now_ms)
{
	return upstream_begin(b->group, &b->try, now_ms);
}

static bool
another(struct backend *b, int64_t now_ms)
{
	return upstream_retry(b->group, &b->try, now_ms);
}

static void
end(struct backend *b)
{
	upstream_end(b->group, &b->try);
}

static const struct origin *
origin(const struct backend *b)
{
	return upstream_origin(b->group, &b->try);
}

static uint16_t
mark(const struct backend *b)
{
	return upstream_mark(b->group, &b->try);
}

static struct origin_measures *
measures(const struct backend *b, struct measures *m)
{
	return &m->origins[upstream_number(b->group, &b->try)];
}

static void
answered(struct backend *b, int status, int64_t wait_us, int64_t now_ms)
{
	upstream_answered(b->group, &b->try, status, wait_us, now_ms);
}

static void
failed(struct backend *b, const struct fetch_result *r, int64_t now_ms)
{
	upstream_failed(b->group, &b->try, r, now_ms);
}

static void
apart(struct backend *b)
{
	upstream_apart(b->group, &b->try);
}

static int64_t
usual_ms(const struct backend *b, bool *several)
{
	return upstream_usual_ms(b->group, several);
}

static void
queue(const struct backend *b, struct fetch_request *r)
{
	r->share = upstream_share(b->group);
	r->group = b->group;
}

static const struct backend_kind of_servers = {
	.begin = begin,
	.another = another,
	.end = end,
	.origin = origin,
	.mark = mark,
	.measures = measures,
	.answered = answered,
	.failed = failed,
	.apart = apart,
	.usual_ms = usual_ms,
	.queue = queue,
};

void
backend_of_group(struct backend *b, struct upstream *group, uint64_t key, struct source from)
{
	assert(group && (!b->kind || b->group == group));
	b->kind = &of_servers;
	b->group = group;
	b->try.key = key;
	b->try.from = from;
}
