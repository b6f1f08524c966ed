/* rooms: fleet origin http base filter
 * test_survey.c - siblings are asked what they have counted: those who ask share a round, and nobody holds it up for long.
 */
#include "proxy/fleet/survey.h"

#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/fleet/peer.h"
#include "tests/kit/unit.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static struct {
	unsigned times;
	struct survey_result *last; /* a reference */
} heard;

static void
on_over(void *ctx, struct survey_result *found)
{
	(void)ctx;
	heard.times++;
	survey_result_unref(&heard.last);
	heard.last = survey_result_ref(found);
}

/* A socket of loopback, and its port. */
static int
socket_there(bool listens, unsigned *port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, n), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	if (listens)
		ck_assert_int_eq(listen(fd, 8), 0);
	*port = ntohs(a.sin_port);
	return fd;
}

static struct sibling *
sibling(uint64_t id, unsigned port)
{
	struct sibling *s = NEW(struct sibling);
	s->m.id = id;
	snprintf(s->m.name, sizeof s->m.name, "n%u", (unsigned)id);
	snprintf(s->m.address, sizeof s->m.address, "127.0.0.1:%u", port);
	return chart_ref_sibling(s);
}

static void
wait_for(struct survey *s, struct event_base *base, unsigned times)
{
	struct timeval tick = {.tv_usec = 10000};
	while (heard.times < times) {
		event_base_loopexit(base, &tick);
		event_base_dispatch(base);
		survey_turn(s, now_ms());
	}
}

static unsigned
connections(int listener)
{
	unsigned n = 0;
	for (int fd; (fd = accept(listener, NULL, NULL)) >= 0; n++)
		close(fd);
	return n;
}

START_TEST(a_round_is_shared_and_names_who_does_not_answer)
{
	enum { SELF, MUTE, GONE, KNOWN, ALL };
	struct secret secret;
	uint64_t self = 1;
	unsigned ports[3];
	int mute = socket_there(true, &ports[0]), gone = socket_there(false, &ports[1]),
	    known = socket_there(true, &ports[2]);
	ck_assert_int_eq(secret_make(&secret, STR("0123456789abcdef0123456789abcdef")), 0);
	struct event_base *base = event_base_new();
	struct peers *peers = peers_create(
		&(struct peers_options){.base = base, .secret = &secret, .self = &self});
	struct survey *s = survey_create(peers, on_over, NULL);
	struct sibling *of[ALL] = {sibling(1, 9), sibling(2, ports[0]), sibling(3, ports[1]),
				   sibling(4, ports[2])};
	of[SELF]->is_self = true;
	of[KNOWN]->silent = true;

	int64_t begun = now_ms();
	survey_ask(s, of, ALL, begun);
	survey_ask(s, of, ALL, begun);
	ck_assert_uint_eq(heard.times, 0);
	wait_for(s, base, 1);
	ck_assert_uint_eq(connections(mute), 1);
	ck_assert_uint_eq(connections(known), 0);
	ck_assert_uint_eq(heard.last->n, 3);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_eq(heard.last->of[i].id, i + 2);
		ck_assert_uint_eq(heard.last->of[i].said.n, 0);
	}
	ck_assert_str_eq(heard.last->of[1].why, "it does not answer (connect-failed)");
	ck_assert_str_eq(heard.last->of[2].why, "it has not answered for some seconds");

	/* It took its whole time, and counts for as long again. */
	const struct survey_result *first = heard.last;
	survey_ask(s, of, ALL, begun + 1);
	ck_assert_uint_eq(heard.times, 2);
	ck_assert_ptr_eq(heard.last, first);
	survey_ask(s, of, ALL, now_ms() + 3 * SURVEY_LIMIT_MS);
	survey_turn(s, now_ms() + 6 * SURVEY_LIMIT_MS);
	ck_assert_uint_eq(heard.times, 3);
	ck_assert_ptr_ne(heard.last, first);

	survey_destroy(&s);
	survey_result_unref(&heard.last);
	peers_destroy(&peers);
	event_base_free(base);
	for (unsigned i = 0; i < ALL; i++)
		chart_unref_sibling(&of[i]);
	close(mute);
	close(gone);
	close(known);
}
END_TEST

START_TEST(a_node_without_siblings_hears_at_once)
{
	struct secret secret;
	uint64_t self = 1;
	heard.times = 0;
	ck_assert_int_eq(secret_make(&secret, STR("0123456789abcdef0123456789abcdef")), 0);
	struct event_base *base = event_base_new();
	struct peers *peers = peers_create(
		&(struct peers_options){.base = base, .secret = &secret, .self = &self});
	struct survey *s = survey_create(peers, on_over, NULL);
	survey_ask(s, NULL, 0, now_ms());
	ck_assert_uint_eq(heard.times, 1);
	ck_assert_uint_eq(heard.last->n, 0);
	survey_destroy(&s);
	survey_result_unref(&heard.last);
	peers_destroy(&peers);
	event_base_free(base);
}
END_TEST

UNIT("survey", TEST(a_round_is_shared_and_names_who_does_not_answer),
     TEST(a_node_without_siblings_hears_at_once))
