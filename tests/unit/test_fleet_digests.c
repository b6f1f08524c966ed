/* rooms: fleet origin http base filter
 *
 * test_fleet_digests.c - two nodes of two zones on one event loop: one says what it has on its disk, rightly, wrongly or
 * not at all, and the other one hears it.
 */
#include "filter/family/digest.h"
#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/fleet/control.h"
#include "proxy/fleet/digest_parts.h"
#include "proxy/fleet/fleet_inside.h"
#include "proxy/fleet/hop.h"
#include "tests/kit/unit.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEYS = 100000, TICK_US = 2000 };

/* ---- the node that is asked ----------------------------------------------------------------- */

static struct {
	struct fleet fleet;
	struct control *control;
	struct mailbox mailbox;
	struct evhttp *http;
	unsigned port, asked;
	bool lies;     /* its answers are no digest */
	bool is_other; /* it does not have the secret */
} there;

static uint64_t
self(void *ctx)
{
	(void)ctx;
	return 2;
}

static void
state(void *ctx, struct buf *out)
{
	(void)ctx;
	buf_add_lit(out, "{}");
}

static void
on_purges(void *ctx, struct control_question *q, uint64_t from, struct str body)
{
	(void)ctx, (void)from, (void)body;
	control_answer(q, 503, STR(""));
}

static void
on_digest(void *ctx, struct control_question *q, struct str target)
{
	struct buf out = {0};
	(void)ctx;
	there.asked++;
	bool is_one = fleet_answer_digest(&there.fleet, target, &out);
	for (size_t i = 0; there.lies && i < out.n; i += 1000)
		out.p[i + out.n % 1000 / 2] ^= 1;
	control_answer(q, is_one ? 200 : 503, buf_str(&out));
	buf_fini(&out);
}

static void
on_answer(void *ctx, const struct control_answer *a)
{
	struct evhttp_request *rq = ctx;
	char field[HOP_FIELD_MOST + 1];
	snprintf(field, sizeof field, "%.*s", STR_ARG(a->field));
	if (a->field.n)
		evhttp_add_header(evhttp_request_get_output_headers(rq), HOP_FIELD, field);
	evbuffer_add(evhttp_request_get_output_buffer(rq), a->content.p, a->content.n);
	evhttp_send_reply(rq, a->status, "x", NULL);
}

static void
on_request(struct evhttp_request *rq, void *ctx)
{
	const char *field = evhttp_find_header(evhttp_request_get_input_headers(rq), HOP_FIELD);
	(void)ctx;
	control_ask(there.control,
		    &(struct control_request){.method = STR("GET"),
					      .target = str_of(evhttp_request_get_uri(rq)),
					      .field = str_of(field ? field : ""),
					      .body = STR("")},
		    on_answer, rq);
	mailbox_run(&there.mailbox, true);
}

/* ---- the node that asks --------------------------------------------------------------------- */

static struct fleet *here;
static struct secret secret, other;
static bool (*until)(void);

static void
on_tick(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd, (void)what, (void)ctx;
	fleet_digests_turn(here, now_ms());
	peers_sweep(here->peers);
	if (until())
		event_base_loopbreak(here->base);
}

static void
run_until(bool (*is)(void))
{
	until = is;
	event_base_dispatch(here->base);
}

/* The sibling, as the engine would have named it. */
static void
meet(uint64_t instance)
{
	struct member m = {.id = 2,
			   .instance = instance,
			   .weight = 1,
			   .name = "b",
			   .zone = "ams",
			   .version = "1"};
	struct sibling *s = NEW(struct sibling);
	snprintf(m.address, sizeof m.address, "127.0.0.1:%u", there.port);
	*s = (struct sibling){.m = m, .users = 1};
	replica_init(&s->replica);
	roster_put(&here->roster, &m);
	struct sibling *before = here->siblings[0];
	here->siblings[0] = s;
	fleet_digests_settle(here);
	if (before)
		chart_unref_sibling(&before);
}

static void
begin(void)
{
	struct timeval every = {0, TICK_US};
	log_set_level(LOG_ERROR);
	there.asked = 0;
	there.fleet.digests.facts.told = 0;
	ck_assert_int_eq(secret_make(&secret, STR("0123456789abcdef0123456789abcdef")), 0);
	ck_assert_int_eq(secret_make(&other, STR("another secret of more than 32 bytes")), 0);
	here = NEW(struct fleet);
	here->base = event_base_new();
	here->secret = secret;
	here->me = (struct member){.id = 1, .instance = 1, .zone = "fra"};
	here->siblings = mem_zalloc(2 * sizeof(struct sibling *));
	here->peers = peers_create(&(struct peers_options){
		.base = here->base, .secret = &here->secret, .self = &here->me.id});
	here->tick = event_new(here->base, -1, EV_PERSIST, on_tick, NULL);
	event_add(here->tick, &every);
	ck_assert_int_eq(mailbox_init(&there.mailbox), 0);
	there.control = control_create(
		&(struct control_options){.mailbox = &there.mailbox,
					  .secret = there.is_other ? &other : &secret,
					  .self = self,
					  .state = state,
					  .purges = on_purges,
					  .digest = on_digest});
	there.http = evhttp_new(here->base);
	struct evhttp_bound_socket *bound =
		evhttp_bind_socket_with_handle(there.http, "127.0.0.1", 0);
	struct sockaddr_in at;
	socklen_t n = sizeof at;
	ck_assert(bound &&
		  getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&at, &n) == 0);
	there.port = ntohs(at.sin_port);
	evhttp_set_gencb(there.http, on_request, NULL);
	meet(1);
}

static void
end(void)
{
	fleet_digests_close(here);
	fleet_put_digest(&there.fleet, NULL, 0);
	peers_destroy(&here->peers);
	evhttp_free(there.http);
	control_destroy(&there.control);
	mailbox_fini(&there.mailbox);
	event_free(here->tick);
	event_base_free(here->base);
	chart_unref_sibling(&here->siblings[0]);
	free(here->siblings);
	roster_fini(&here->roster);
	free(here);
}

/* The digest of so many keys is there, and its number known here. */
static void
tell(uint64_t first, uint64_t number)
{
	struct twice_digest *d = twice_digest_create(KEYS, DIGEST_PARTS_BITS);
	for (uint64_t i = first; i < first + KEYS; i++)
		twice_digest_add(d, i << 18);
	fleet_put_digest(&there.fleet, d, number);
	twice_digest_destroy(&d);
	ck_assert_uint_eq(fleet_digest_number(&there.fleet), number);
	fleet_digests_hear_state(here, here->siblings[0], number);
}

static bool
has(uint64_t key)
{
	return replica_has(&here->siblings[0]->replica, key << 18, now_ms());
}

static bool
heard_one(void)
{
	return here->digests.facts.heard == 1;
}

static bool
heard_two(void)
{
	return here->digests.facts.heard == 2;
}

static bool
failed(void)
{
	return here->digests.facts.failed == 1;
}

/* ---- tests --------------------------------------------------------------------------------- */

START_TEST(a_digest_is_heard_and_heard_again_when_it_is_made_anew)
{
	begin();
	ck_assert(!has(5));
	tell(0, 7);
	run_until(heard_one);
	for (uint64_t i = 0; i < KEYS; i++)
		ck_assert(has(i));
	ck_assert_uint_eq(here->digests.facts.held, 1);
	ck_assert_uint_gt(here->digests.facts.bytes, KEYS * 5 / 8);
	ck_assert_uint_gt(there.fleet.digests.facts.told, KEYS * 5 / 8);
	unsigned parts = there.asked;
	ck_assert_uint_gt(parts, 1);
	/* The same one is not asked for again. */
	fleet_digests_hear_state(here, here->siblings[0], 7);
	tell(KEYS, 8);
	run_until(heard_two);
	ck_assert_uint_eq(there.asked, 2 * parts);
	for (uint64_t i = KEYS; i < 2 * KEYS; i++)
		ck_assert(has(i));
	ck_assert_uint_eq(here->digests.facts.failed, 0);
	end();
}
END_TEST

START_TEST(another_process_there_is_another_digest)
{
	begin();
	tell(0, 7);
	run_until(heard_one);
	meet(2);
	ck_assert(!has(5));
	tell(0, 7); /* it counts anew */
	run_until(heard_two);
	ck_assert(has(5));
	end();
}
END_TEST

START_TEST(what_is_no_digest_is_ignored_and_said)
{
	begin();
	tell(0, 7);
	run_until(heard_one);
	there.lies = true;
	tell(KEYS, 8);
	run_until(failed);
	ck_assert(!has(5) && !has(KEYS + 5));
	ck_assert_uint_eq(here->digests.facts.wrong, 1);
	ck_assert(!here->digests.reading);
	there.lies = false;
	end();
}
END_TEST

START_TEST(what_nobody_signed_is_ignored)
{
	there.is_other = true;
	begin();
	tell(0, 7);
	run_until(failed);
	ck_assert(!has(5));
	ck_assert_uint_eq(there.asked, 0); /* and is not told either */
	end();
	there.is_other = false;
}
END_TEST

START_TEST(a_node_that_has_none_any_more_is_asked_again_later)
{
	begin();
	tell(0, 7);
	fleet_put_digest(&there.fleet, NULL, 0);
	run_until(failed);
	ck_assert_uint_eq(here->digests.facts.wrong, 0);
	ck_assert_uint_eq(there.asked, 1);
	end();
}
END_TEST

UNIT("fleet_digests", TEST(a_digest_is_heard_and_heard_again_when_it_is_made_anew),
     TEST(another_process_there_is_another_digest), TEST(what_is_no_digest_is_ignored_and_said),
     TEST(what_nobody_signed_is_ignored), TEST(a_node_that_has_none_any_more_is_asked_again_later))
