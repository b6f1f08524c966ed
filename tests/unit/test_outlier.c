/* test_outlier.c - whether failures are a server's, or those of one client or one URL.
 * rooms: origin http base
 */
#include "proxy/origin/outlier.h"

#include "tests/kit/unit.h"

#include <ctype.h>

enum { BEGIN_MS = 100000 };

/* Steps, in order. A client's letter and a URL's digit are a request, which fails where the letter is a
 * capital; x and a number say how often. "!" is a connection that fails, "." a tenth of a second, "~"
 * five seconds. */
static const struct {
	const char *says, *steps;
	bool is;
} cases[] = {
	{"nothing is known", "", false},
	{"five failures of several", "A1B2C3D4E5", true},
	{"four are too few", "A1B2C3D4", false},
	{"also straight after it answered well", "a1b2c3d4e5A1B2C3D4E5", true},
	{"only in a row", "A1B2C3D4a1E5", false},
	{"three clients and three URLs are several", "a1d4A1A2B1B2C3", true},
	{"two clients are few", "a1c3d4A1A2B1B2B3", false},
	{"two URLs are few", "a1c3d4A1B1C2D2E1", false},
	{"connections that fail are nobody's", "a1b2!!!!!", true},
	{"four of them are too few", "a1b2!!!!", false},
	{"one of them beside one client's failures", "a1b2A1x9!", false},
	{"two of them beside one client's failures", "a1b2A1x3!!", true},
	{"one client, one URL, and nobody was answered ever", "A1A1A1A1A1", true},
	{"one client and one URL beside another's", "b2A1x9", false},
	{"however many", "b2A1x999", false},
	{"however long, up to ten seconds", "b2......A1x99", false},
	{"but not for ever", "b2~~A1x9", true},
	{"one client at many URLs beside another's", "b9......A1A2A3A4A5A6A7", false},
	{"one URL of many clients beside another", "a9......A1B1C1D1E1F1G1", false},
	{"one client alone, and all that it asks for fails", "a1a2a3......A1A2A3A4A5", true},
	{"straight after it was answered", "a1a2a3A1A2A3A4A5", false},
	{"at one URL of several", "a1a2a3......A1A1A1A1A1", false},
	{"at most of them", "a1a2a3......A1A1A1A2A2", true},
	{"a URL of its own is one against many", "a1a2a3......A9A9A9A9A9A9A9", false},
	{"two clients, and one is not asked for now", "a1b1......A1A1A1A1A1", false},
	{"both fail", "a1b1......A1A1A1A1B1", true},
	{"five fail, and one is answered between", "A1i9B2i9C3i9D4i9E5i9", true},
	{"four fail, and one is answered between", "A1i9B2i9C3i9D4i9A1i9", false},
	{"one client's are not five", "A1i9A2i9A3i9A4i9A5i9A6i9", false},
	{"one URL's are not five", "A1i9B1i9C1i9D1i9E1i9F1i9", false},
	{"five fail, and two are answered between", "A1i9B2h8C3i9D4h8E5i9", true},
	{"half as many and more", "A1i9B2h8C3g7D4i9E5h8", false},
	{"those who fail were answered before", "a1b2c3d4e5...A1i9B2i9C3i9D4i9E5i9", true},
	{"and are again", "A1B2C3D4E5...a1b2c3d4e5", false},
	{"long ago", "A1i9B2i9C3i9~~D4i9E5i9", false},
};

static struct source
source_of(char client, char url)
{
	return (struct source){.client = (uint32_t)(toupper(client) - 'A' + 1),
			       .url = (uint32_t)(url - '0' + 1)};
}

START_TEST(rule)
{
	struct outlier o = {0};
	int64_t now = BEGIN_MS;
	for (const char *p = cases[_i].steps; *p; p++) {
		if (*p == '.' || *p == '~')
			now += *p == '.' ? 100 : 5000;
		if (*p == '!')
			outlier_failed(&o, (struct source){1, 1}, true, now);
		if (!isalpha((unsigned char)*p))
			continue;
		struct source s = source_of(p[0], p[1]);
		bool well = islower((unsigned char)*p++);
		int times = p[1] == 'x' ? atoi(p + 2) : 1;
		for (int i = 0; i < times; i++)
			if (well)
				outlier_well(&o, s, now);
			else
				outlier_failed(&o, s, false, now);
		if (p[1] == 'x')
			while (isalnum((unsigned char)p[1]))
				p++;
	}
	ck_assert_msg(outlier_is(&o, now) == cases[_i].is, "%s", cases[_i].says);
	struct outlier copy = {0};
	outlier_copy(&copy, &o);
	ck_assert(outlier_is(&copy, now) == cases[_i].is);
	outlier_forget(&o);
	ck_assert(!outlier_is(&o, now));
}
END_TEST

START_TEST(failures_in_a_row_are_counted_and_a_good_answer_ends_the_row)
{
	struct outlier o = {0};
	struct source one = {1, 1};
	ck_assert_uint_eq(outlier_well(&o, one, BEGIN_MS), 0);
	for (unsigned i = 1; i <= 100000; i++) {
		unsigned n = outlier_failed(&o, one, i % 2, BEGIN_MS);
		ck_assert_uint_eq(n, i < UINT16_MAX ? i : UINT16_MAX);
	}
	ck_assert_uint_eq(outlier_well(&o, one, BEGIN_MS), UINT16_MAX);
	ck_assert_uint_eq(outlier_failed(&o, one, false, BEGIN_MS), 1);
}
END_TEST

/* A burst of one client's failures between any two answers to others, for a minute. */
START_TEST(no_number_of_one_clients_failures_puts_out_a_server_that_answers_others)
{
	struct outlier o = {0};
	for (int64_t now = BEGIN_MS; now < BEGIN_MS + 60000; now += 4000) {
		outlier_well(&o, (struct source){2, 2}, now);
		for (uint32_t i = 0; i < 1000; i++) {
			outlier_failed(&o, (struct source){1, i + 1}, false, now);
			ck_assert(!outlier_is(&o, now + i * 4));
		}
	}
}
END_TEST

UNIT("outlier", LOOP(rule, cases),
     TEST(failures_in_a_row_are_counted_and_a_good_answer_ends_the_row),
     TEST(no_number_of_one_clients_failures_puts_out_a_server_that_answers_others))
