/* test_usual.c - the usual time of a server is not what one stranger makes it.
 * rooms: origin http base
 */
#include "proxy/origin/usual.h"

#include "tests/kit/unit.h"

enum { QUICK_US = 20000, SLOW_US = 5000000, ROUNDS = 2000 };

/* Clients and URLs that answers are quick for, and a stranger's, with so many slow ones for each quick
 * one, at so many URLs. */
static const struct {
	const char *says;
	unsigned clients, urls, slow, slow_urls;
	bool several, is_slow;
} servers[] = {
	{"nobody is slow", 8, 8, 0, 0, true, false},
	{"one client asks for one slow URL", 8, 8, 9, 1, true, false},
	{"for many", 8, 8, 9, 16, true, false},
	{"two others are enough", 2, 3, 9, 16, true, false},
	{"one other is not, and it shows", 1, 1, 9, 1, false, false},
	{"the stranger is alone", 0, 0, 1, 16, false, true},
};

START_TEST(strangers)
{
	static const struct usual nothing;
	struct usual u = nothing, copy = nothing;
	bool several;
	for (unsigned i = 0; i < ROUNDS; i++) {
		for (unsigned c = 0; c < servers[_i].clients; c++)
			usual_learn(&u, (struct source){c, (i + c) % servers[_i].urls}, QUICK_US);
		for (unsigned k = 0; k < servers[_i].slow; k++)
			usual_learn(&u,
				    (struct source){servers[_i].clients,
						    15 - (i + k) % servers[_i].slow_urls},
				    SLOW_US);
	}
	int64_t us = usual_us(&u, &several);
	ck_assert_msg(several == servers[_i].several, "%s", servers[_i].says);
	ck_assert_msg((us > 2 * QUICK_US) == servers[_i].is_slow, "%s: %lld", servers[_i].says,
		      (long long)us);
	usual_copy(&copy, &u);
	ck_assert_int_eq(usual_us(&copy, &several), us);
}
END_TEST

START_TEST(a_server_that_is_slow_for_all_is_known_to_be)
{
	static const struct usual nothing;
	struct usual u = nothing;
	bool several;
	ck_assert_int_eq(usual_us(&u, &several), 0);
	ck_assert(!several);
	for (unsigned i = 0; i < ROUNDS; i++)
		usual_learn(&u, (struct source){i % 5, i % 7}, QUICK_US);
	for (unsigned i = 0; i < ROUNDS; i++)
		usual_learn(&u, (struct source){i % 5, i % 7}, SLOW_US);
	ck_assert_int_ge(usual_us(&u, &several), SLOW_US - SLOW_US / 10);
	ck_assert(several);
}
END_TEST

UNIT("usual", LOOP(strangers, servers), TEST(a_server_that_is_slow_for_all_is_known_to_be))
