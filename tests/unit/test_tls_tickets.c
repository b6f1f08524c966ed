/* test_tls_tickets.c - keys of session tickets over time, with and without a secret.
 * rooms: wire base
 */
#include "proxy/wire/tls_tickets.h"

#include "tests/kit/unit.h"

enum { PERIOD = 100 };
static const int64_t now = 1000000;
#define SECRET STR("0123456789abcdef0123456789abcdef")
#define OTHER  STR("fedcba9876543210fedcba9876543210")

/* Node t says of a ticket whose key is k: 0 unknown, 1 of this period, 2 older. */
static int
opens(struct tls_tickets *t, const struct tls_ticket_key *k, int64_t at)
{
	struct tls_ticket_key got;
	bool is_old;
	if (!tls_tickets_find(t, k->name, at, &got, &is_old))
		return 0;
	ck_assert_mem_eq(&got, k, sizeof got);
	return is_old ? 2 : 1;
}

static struct tls_tickets *
with_secret(struct str secret)
{
	struct tls_tickets *t = tls_tickets_create(PERIOD);
	tls_tickets_set_secret(t, secret);
	return t;
}

static const struct {
	const char *says;
	int64_t later;
	int want;
} times[] = {
	{"at once", 0, 1},
	{"to the end of its period", PERIOD - 1, 1},
	{"in the next one, and another is due", PERIOD, 2},
	{"to the end of the next one", 2 * PERIOD - 1, 2},
	{"then no more", 2 * PERIOD, 0},
	{"nor much later", 50 * PERIOD, 0},
};

START_TEST(a_key_opens_for_two_periods)
{
	for (int shared = 0; shared < 2; shared++) {
		struct tls_tickets *t = with_secret(shared ? SECRET : (struct str){0});
		struct tls_ticket_key k;
		ck_assert(tls_tickets_key(t, now, &k));
		ck_assert_msg(opens(t, &k, now + times[_i].later) == times[_i].want, "%s",
			      times[_i].says);
		tls_tickets_destroy(&t);
	}
}
END_TEST

START_TEST(each_period_has_its_key)
{
	struct tls_tickets *t = with_secret((struct str){0});
	struct tls_ticket_key a, b, c;
	ck_assert(tls_tickets_key(t, now, &a) && tls_tickets_key(t, now + PERIOD - 1, &b) &&
		  tls_tickets_key(t, now + PERIOD, &c));
	ck_assert_mem_eq(&a, &b, sizeof a);
	ck_assert_mem_ne(&a, &c, sizeof a);
	tls_tickets_destroy(&t);
}
END_TEST

START_TEST(nothing_is_opened_by_a_key_that_was_never_made)
{
	struct tls_tickets *t = with_secret((struct str){0});
	struct tls_ticket_key none = {0};
	ck_assert_int_eq(opens(t, &none, 0), 0);
	ck_assert_int_eq(opens(t, &none, now), 0);
	tls_tickets_destroy(&t);
}
END_TEST

START_TEST(nodes_with_one_secret_open_each_others)
{
	struct tls_tickets *a = with_secret(SECRET), *b = with_secret(SECRET),
			   *c = with_secret(OTHER), *d = with_secret((struct str){0});
	struct tls_ticket_key k;
	ck_assert(tls_tickets_key(a, now, &k));
	ck_assert_int_eq(opens(b, &k, now), 1);
	ck_assert_int_eq(opens(b, &k, now + PERIOD), 2);
	ck_assert_int_eq(opens(b, &k, now - PERIOD), 1); /* its clock is behind */
	ck_assert_int_eq(opens(b, &k, now - 2 * PERIOD), 0);
	ck_assert_int_eq(opens(c, &k, now), 0);
	ck_assert_int_eq(opens(d, &k, now), 0);
	tls_tickets_destroy(&a);
	tls_tickets_destroy(&b);
	tls_tickets_destroy(&c);
	tls_tickets_destroy(&d);
}
END_TEST

START_TEST(a_new_secret_makes_new_tickets_and_opens_the_old)
{
	struct tls_tickets *t = with_secret(SECRET);
	struct tls_ticket_key a, b;
	ck_assert(tls_tickets_key(t, now, &a));
	tls_tickets_set_secret(t, SECRET);
	ck_assert_int_eq(opens(t, &a, now), 1);
	tls_tickets_set_secret(t, OTHER);
	ck_assert(tls_tickets_key(t, now, &b));
	ck_assert_mem_ne(&a, &b, sizeof a);
	ck_assert_int_eq(opens(t, &a, now), 2);
	ck_assert_int_eq(opens(t, &b, now), 1);
	ck_assert_int_eq(opens(t, &a, now + 2 * PERIOD), 0);
	tls_tickets_destroy(&t);
}
END_TEST

START_TEST(another_process_opens_what_was_saved_and_makes_the_same)
{
	struct tls_tickets *a = with_secret((struct str){0}), *b = with_secret((struct str){0});
	struct tls_ticket_key old, k, again;
	struct buf saved = {0};
	ck_assert(tls_tickets_key(a, now - PERIOD, &old) && tls_tickets_key(a, now, &k));
	tls_tickets_save(a, &saved);
	ck_assert(tls_tickets_load(b, buf_str(&saved)));
	ck_assert_int_eq(opens(b, &k, now), 1);
	ck_assert_int_eq(opens(b, &old, now), 2);
	ck_assert(tls_tickets_key(b, now, &again));
	ck_assert_mem_eq(&k, &again, sizeof k);
	buf_fini(&saved);
	tls_tickets_destroy(&a);
	tls_tickets_destroy(&b);
}
END_TEST

START_TEST(what_is_cut_or_of_another_period_is_not_taken)
{
	struct tls_tickets *a = with_secret((struct str){0}), *b = tls_tickets_create(2 * PERIOD);
	struct tls_tickets *c = with_secret((struct str){0});
	struct tls_ticket_key k;
	struct buf saved = {0};
	ck_assert(tls_tickets_key(a, now, &k));
	tls_tickets_save(a, &saved);
	ck_assert(!tls_tickets_load(b, buf_str(&saved)));
	for (size_t n = 0; n < saved.n; n++)
		if (n != 8) /* no key at all */
			ck_assert(!tls_tickets_load(c, (struct str){saved.p, n}));
	ck_assert_int_eq(opens(c, &k, now), 0);
	buf_fini(&saved);
	tls_tickets_destroy(&a);
	tls_tickets_destroy(&b);
	tls_tickets_destroy(&c);
}
END_TEST

UNIT("tls_tickets", TEST(another_process_opens_what_was_saved_and_makes_the_same),
     TEST(what_is_cut_or_of_another_period_is_not_taken), LOOP(a_key_opens_for_two_periods, times),
     TEST(each_period_has_its_key), TEST(nothing_is_opened_by_a_key_that_was_never_made),
     TEST(nodes_with_one_secret_open_each_others),
     TEST(a_new_secret_makes_new_tickets_and_opens_the_old))
