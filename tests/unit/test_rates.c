/* test_rates.c - how often a client may ask.
 * rooms: serve config coding http base
 */
#include "config/routes.h"
#include "proxy/serve/routes/rates.h"

#include "tests/kit/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define S INT64_C(1000000000)

/* clang-format off */
static const struct {
	const char *says;
	int64_t interval, burst, until, now, wait, then;
} requests[] = {
	{"the first one may",                     1*S, 3*S,  0,     100*S,   0,   101*S},
	{"the last one of a burst may",           1*S, 3*S,  102*S, 100*S,   0,   103*S},
	{"one more waits for an interval",        1*S, 3*S,  103*S, 100*S,   1*S, 104*S},
	{"or for what is left of it",             1*S, 3*S,  103*S, 100*S+1, 1*S-1, 104*S},
	{"and may when that is over",             1*S, 3*S,  103*S, 101*S,   0,   104*S},
	{"a time that has passed is as none",     1*S, 3*S,  99*S,  100*S,   0,   101*S},
	{"what other rules charged is no debt beyond the burst", 1*S, 3*S, 9000*S, 100*S, 1*S, 104*S},
	{"a burst of one",                        1*S, 1*S,  100*S, 100*S,   0,   101*S},
	{"a clock that begins",                   1*S, 2*S,  0,     0,       0,   1*S},
};
/* clang-format on */

START_TEST(decides)
{
	struct rate_rule r = {.interval_ns = requests[_i].interval, .burst_ns = requests[_i].burst};
	struct rate_verdict v = rate_decide(&r, requests[_i].until, requests[_i].now);
	ck_assert_msg(v.wait_ns == requests[_i].wait && v.until_ns == requests[_i].then,
		      "%s: %lld, %lld", requests[_i].says, (long long)v.wait_ns,
		      (long long)v.until_ns);
}
END_TEST

/* ---- rules ----------------------------------------------------------------------------------- */

static char login[] = "/login", host[] = "a.example";

static struct rate_rules *
rules_of(struct config_rate all, struct config_rate own)
{
	struct config_route route = {.path = login, .rate = own};
	return rate_rules_create(&all, &route);
}

START_TEST(rules_are_those_that_limit)
{
	struct config_rate none = {.per_s = 1, .hits = true}, ten = none, five = none;
	ten.requests = 10;
	five = (struct config_rate){.requests = 5, .per_s = 60, .burst = 7};
	struct rate_rules *r = rules_of(none, none);
	ck_assert_ptr_null(r);
	rate_rules_destroy(&r);
	r = rules_of(ten, five);
	ck_assert_uint_eq(r->count, 2);
	ck_assert(r->hits && r->no_hits);
	ck_assert_int_eq(r->of[0].interval_ns, S / 10);
	ck_assert_int_eq(r->of[0].burst_ns, S);
	ck_assert_int_eq(r->of[1].interval_ns, 12 * S);
	ck_assert_int_eq(r->of[1].burst_ns, 84 * S);
	rate_rules_destroy(&r);
	ck_assert_ptr_null(r);
}
END_TEST

static uint64_t
id_of(char *at_host, char *path, struct config_rate rate)
{
	struct config_route route = {.host = at_host, .path = path, .rate = rate};
	struct rate_rules *r = rate_rules_create(&(struct config_rate){0}, &route);
	uint64_t id = r->of[0].id;
	rate_rules_destroy(&r);
	return id;
}

START_TEST(a_rule_is_the_same_while_its_place_and_its_numbers_are)
{
	struct config_rate a = {.requests = 10, .per_s = 1, .hits = true}, same = a, other = a;
	same.burst = 10; /* as auto */
	same.hits = false;
	other.burst = 11;
	ck_assert_uint_eq(id_of(host, login, a), id_of(host, login, same));
	ck_assert_uint_ne(id_of(host, login, a), id_of(host, login, other));
	ck_assert_uint_ne(id_of(host, login, a), id_of(NULL, login, a));
	ck_assert_uint_ne(id_of(host, login, a), id_of(host, NULL, a));
	struct config_route any = {.rate = a};
	struct rate_rules *both = rate_rules_create(&a, &any);
	ck_assert_uint_ne(both->of[0].id, both->of[1].id);
	rate_rules_destroy(&both);
}
END_TEST

/* ---- clients --------------------------------------------------------------------------------- */

static const struct rate_rules three = {
	.of = {{.id = 1, .interval_ns = S, .burst_ns = 3 * S, .hits = true}},
	.count = 1,
	.hits = true,
};

static int64_t
ask(struct rates *r, const char *client, int64_t now)
{
	return rates_take(r, &three, true, str_of(client), now);
}

/* clang-format off */
static const struct {
	const char *says, *one, *other;
	bool same;
} clients[] = {
	{"two addresses",               "192.0.2.1", "192.0.2.2", false},
	{"an address and its port",     "192.0.2.1", "192.0.2.1:80", true},
	{"an address and its mapped form", "192.0.2.1", "::ffff:192.0.2.1", true},
	{"one network of 64 bits",      "2001:db8:0:1::1", "2001:db8:0:1:ffff::2", true},
	{"two of them",                 "2001:db8:0:1::1", "2001:db8:0:2::1", false},
	{"those of Unix sockets",       "unix", "unix", true},
	{"those without an address",    "unknown", "_hidden", true},
	{"one of each",                 "unix", "unknown", false},
};
/* clang-format on */

START_TEST(who_is_who)
{
	struct rates *r = rates_create();
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(ask(r, clients[_i].one, 100 * S), 0);
	ck_assert_int_eq(ask(r, clients[_i].one, 100 * S), S);
	bool same = ask(r, clients[_i].other, 100 * S) != 0;
	ck_assert_msg(same == clients[_i].same, "%s", clients[_i].says);
	rates_destroy(&r);
	ck_assert_ptr_null(r);
}
END_TEST

START_TEST(who_was_refused_is_not_charged)
{
	struct rates *r = rates_create();
	for (int i = 0; i < 100; i++)
		ask(r, "192.0.2.1", 100 * S);
	ck_assert_int_eq(ask(r, "192.0.2.1", 101 * S), 0);
	ck_assert_int_eq(ask(r, "192.0.2.1", 101 * S), S);
	rates_destroy(&r);
}
END_TEST

START_TEST(of_two_rules_none_is_charged_where_one_refuses)
{
	static const struct rate_rules both = {
		.of = {{.id = 1, .interval_ns = S, .burst_ns = 3 * S, .hits = true},
		       {.id = 2, .interval_ns = S, .burst_ns = S, .hits = true}},
		.count = 2,
	};
	struct rates *r = rates_create();
	struct str client = STR("192.0.2.1");
	ck_assert_int_eq(rates_take(r, &both, true, client, 100 * S), 0);
	ck_assert_int_eq(rates_take(r, &both, true, client, 100 * S), S);
	ck_assert_int_eq(ask(r, "192.0.2.1", 100 * S), 0);
	ck_assert_int_eq(ask(r, "192.0.2.1", 100 * S), 0);
	ck_assert_int_eq(ask(r, "192.0.2.1", 100 * S), S);
	/* Rules that exempt hits are asked apart. */
	ck_assert_int_eq(rates_take(r, &both, false, client, 100 * S), 0);
	rates_destroy(&r);
}
END_TEST

/* One who owns a network asks from all of it that it likes, while a crowd asks as usual. Only the crowd's part
 * of the table, and as much as the network may fill, are raised. */
/* clang-format off */
static const struct {
	const char *says;
	int crowd; /* besides the strangers */
	int networks[3]; /* how many networks of 29, 32 and 48 bits ask, each from 300,000 networks of 64 bits */
	int most;	 /* of 10,000 strangers are refused */
} owners[] = {
	{"a crowd",                          90000,  {0, 0, 0}, 40},   /* 1 - e^(-100000/2^19), to the fourth: 0.1% */
	{"a larger one",                     390000, {0, 0, 0}, 1200}, /* 8% */
	{"the owner of a /48",               90000,  {0, 0, 1}, 60},
	{"the owner of a /32",               90000,  {0, 1, 0}, 100},  /* 0.6% */
	{"the owner of a /29",               0,      {1, 0, 0}, 60},   /* (1/4)^4 is the most */
	{"the owners of three /48 networks", 90000,  {0, 0, 3}, 100},
};
/* clang-format on */

static const struct rate_rules once = {
	.of = {{.id = 1, .interval_ns = S, .burst_ns = S, .hits = true}},
	.count = 1,
};

static bool
is_refused(struct rates *r, const char *client)
{
	return rates_take(r, &once, true, str_of(client), 100 * S) != 0;
}

static void
ask_from_all_of(struct rates *r, unsigned length, unsigned which)
{
	enum { EACH = 300000 };
	char client[40];
	for (unsigned i = 0; i < (length == 48 ? 1 << 16 : EACH); i++) {
		unsigned in29 = length == 29 ? i % 8 : 0, in32 = length == 48 ? 0 : i / 8;
		snprintf(client, sizeof client, "2a%02x:%x:%x:%x::1", which, 8 + in29,
			 in32 & 0xffff, i & 0xffff);
		is_refused(r, client);
	}
}

START_TEST(a_crowd_makes_nobody_forgotten_and_few_share)
{
	enum { STRANGERS = 10000 };
	static const unsigned lengths[] = {29, 32, 48};
	char client[40];
	struct rates *r = rates_create();
	is_refused(r, "192.0.2.1");
	for (int i = 0; i < owners[_i].crowd; i++) {
		snprintf(client, sizeof client, "100.%d.%d.%d", i >> 16, i >> 8 & 0xff, i & 0xff);
		is_refused(r, client);
	}
	for (unsigned l = 0, which = 0; l < 3; l++)
		for (int n = 0; n < owners[_i].networks[l]; n++, which++)
			ask_from_all_of(r, lengths[l], which);
	ck_assert(is_refused(r, "192.0.2.1"));
	int refused = 0;
	for (int i = 0; i < STRANGERS; i++) {
		snprintf(client, sizeof client, i & 1 ? "198.18.%d.%d" : "2001:db8:%x%02x::1",
			 i >> 8, i & 0xff);
		refused += is_refused(r, client);
	}
	ck_assert_msg(refused <= owners[_i].most, "%s: %d are refused", owners[_i].says, refused);
	rates_destroy(&r);
}
END_TEST

/* ---- many workers ---------------------------------------------------------------------------- */

enum { WORKERS = 4, EACH = 20000, BURST = 30000 };
static const struct rate_rules many = {
	.of = {{.id = 9, .interval_ns = 1000, .burst_ns = INT64_C(1000) * BURST, .hits = true}},
	.count = 1,
};
static struct rates *shared;
static _Atomic int let_through;

static void *
work(void *ctx)
{
	(void)ctx;
	for (int i = 0; i < EACH; i++)
		let_through += !rates_take(shared, &many, true, STR("192.0.2.1"), S);
	return NULL;
}

START_TEST(a_client_of_several_workers_has_one_rate)
{
	pthread_t threads[WORKERS];
	shared = rates_create();
	for (int i = 0; i < WORKERS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, work, NULL), 0);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	/* Exactly the burst, but for charges that raced with the last ones and came to nothing. */
	ck_assert_int_le(let_through, BURST);
	ck_assert_int_ge(let_through, BURST - BURST / 20);
	rates_destroy(&shared);
}
END_TEST

UNIT("rates", LOOP(decides, requests), TEST(rules_are_those_that_limit),
     TEST(a_rule_is_the_same_while_its_place_and_its_numbers_are), LOOP(who_is_who, clients),
     TEST(who_was_refused_is_not_charged), TEST(of_two_rules_none_is_charged_where_one_refuses),
     LOOP(a_crowd_makes_nobody_forgotten_and_few_share, owners),
     TEST(a_client_of_several_workers_has_one_rate))
