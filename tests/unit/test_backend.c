/* test_backend.c - a second kind of who is asked: a trip that knows no more than struct backend asks it
 * first, and then the servers of the group.
 * rooms: serve fleet config origin cache coding http base filter filter/family
 */
#include "proxy/serve/backend.h"

#include "proxy/base/log.h"
#include "tests/kit/unit.h"

#include <string.h>

enum { SERVERS = 2 };

/* ---- a neighbour that may have it: it is asked once, and passes the trip on ------------------- */

static struct {
	struct origin *origin;
	struct origin_measures measures;
	unsigned begun, ended, answered, failed;
} neighbour;

static bool
neighbour_begin(struct backend *b, int64_t now_ms)
{
	(void)b, (void)now_ms;
	neighbour.begun++;
	return true;
}

static void
neighbour_end(struct backend *b)
{
	(void)b;
	neighbour.ended++;
}

static bool
neighbour_passes_on(struct backend *b, int64_t now_ms)
{
	neighbour_end(b);
	backend_of_group(b, b->group, b->try.key, b->try.from);
	return backend_begin(b, now_ms);
}

static const struct origin *
neighbour_origin(const struct backend *b)
{
	(void)b;
	return neighbour.origin;
}

static uint16_t
neighbour_mark(const struct backend *b)
{
	(void)b;
	return 4711;
}

static struct origin_measures *
neighbour_measures(const struct backend *b, struct measures *m)
{
	(void)b, (void)m;
	return &neighbour.measures;
}

static void
neighbour_answered(struct backend *b, int status, int64_t wait_us, int64_t now_ms)
{
	(void)b, (void)status, (void)wait_us, (void)now_ms;
	neighbour.answered++;
}

static void
neighbour_failed(struct backend *b, const struct fetch_result *r, int64_t now_ms)
{
	(void)b, (void)r, (void)now_ms;
	neighbour.failed++;
}

static const struct backend_kind of_neighbour = {
	.begin = neighbour_begin,
	.another = neighbour_passes_on,
	.end = neighbour_end,
	.origin = neighbour_origin,
	.mark = neighbour_mark,
	.measures = neighbour_measures,
	.answered = neighbour_answered,
	.failed = neighbour_failed,
	.elsewhere = true,
};

/* ---- a trip, as fill makes it ----------------------------------------------------------------- */

static struct origin *
origin_at(const char *url)
{
	char err[200] = "";
	struct origin_options o = {.url = url};
	struct origin *made = origin_create(&o, err, sizeof err);
	ck_assert_msg(made != NULL, "%s", err);
	return made;
}

static struct upstream *
group(void)
{
	struct upstream_server servers[SERVERS] = {
		{.origin = origin_at("http://192.0.2.1"), .number = 0},
		{.origin = origin_at("http://192.0.2.2"), .number = 1},
	};
	struct upstream_options o = {.name = "g", .retries = SERVERS};
	log_set_level(LOG_ERROR);
	return upstream_create(&o, servers, SERVERS);
}

static const struct fetch_result refused = {.end = FETCH_CONNECT, .word = "connect-failed"};

/* All that are asked refuse, but the last: at whom, in order. Returns how many. */
static unsigned
trip(struct backend *b, struct measures *m, unsigned refusals, const struct origin **asked)
{
	unsigned n = 0;
	ck_assert(backend_begin(b, 0));
	for (;;) {
		asked[n++] = backend_origin(b);
		backend_measures(b, m)->requests++;
		if (n > refusals)
			break;
		backend_failed(b, &refused, 0);
		if (!backend_another(b, 0))
			break;
	}
	backend_answered(b, 200, 1000, 0);
	backend_end(b);
	return n;
}

START_TEST(a_trip_goes_from_one_kind_to_the_other)
{
	struct upstream *u = group();
	struct measures *m = calloc(1, sizeof *m + SERVERS * sizeof *m->origins);
	struct origin_measures of_origins[SERVERS] = {{0}};
	const struct origin *asked[4];
	m->origins = of_origins;
	memset(&neighbour, 0, sizeof neighbour);
	neighbour.origin = origin_at("http://192.0.2.77");
	struct backend b = {.kind = &of_neighbour, .group = u, .try = {.key = 1}};

	ck_assert_uint_eq(trip(&b, m, 0, asked), 1); /* it has it */
	ck_assert_ptr_eq(asked[0], neighbour.origin);
	ck_assert_uint_eq(neighbour.answered, 1);
	ck_assert_uint_eq(of_origins[0].requests + of_origins[1].requests, 0);

	b = (struct backend){.kind = &of_neighbour, .group = u, .try = {.key = 1}};
	ck_assert_uint_eq(backend_mark(&b), 4711);
	ck_assert(backend_is_elsewhere(&b));
	ck_assert_uint_eq(trip(&b, m, 2, asked), 3); /* it refuses, and so does a server */
	ck_assert_ptr_eq(asked[0], neighbour.origin);
	ck_assert(!backend_is_elsewhere(&b)); /* what a server of ours sends is ours to judge */
	ck_assert_ptr_ne(asked[1], asked[2]);
	ck_assert(asked[1] == upstream_server_origin(u, 0) ||
		  asked[1] == upstream_server_origin(u, 1));
	ck_assert_uint_eq(neighbour.failed, 1);
	ck_assert_uint_eq(neighbour.begun, 2);
	ck_assert_uint_eq(neighbour.ended, 2);
	ck_assert_uint_eq(neighbour.measures.requests, 2);
	ck_assert_uint_eq(of_origins[0].requests, 1);
	ck_assert_uint_eq(of_origins[1].requests, 1);
	for (unsigned i = 0; i < SERVERS; i++) /* nothing is left of it */
		ck_assert_uint_eq(upstream_state(u, i, 0).active, 0);
	upstream_destroy(&u);
	origin_destroy(&neighbour.origin);
	free(m);
}
END_TEST

UNIT("backend", TEST(a_trip_goes_from_one_kind_to_the_other))
