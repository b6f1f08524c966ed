/* test_pace.c - whether a client keeps up.
 * rooms: wire base
 */
#include "proxy/wire/pace.h"
#include "tests/kit/unit.h"

enum {
	RATE = 240,
	PERIOD_MS = 30000,
	LEAST = RATE * PERIOD_MS / 1000,
	HALF = LEAST / 2,
	STEPS = 8
};

static const struct {
	const char *says;
	bool takes;
	uint64_t before, bytes[STEPS]; /* at once; then, at the beginning of each half period */
	unsigned slow_after;	       /* so many halves; 0: never */
} clients[] = {
	/* clang-format off */
	{"who takes nothing at all", true, 0, {0}, 2},
	{"who took much at once, and then nothing", true, 4 << 20, {0}, 4},
	{"the same while it is measured already", true, 0, {4 << 20}, 4},
	{"the same in the middle of a period", true, 0, {LEAST, 4 << 20}, 5},
	{"the same later", true, 0, {LEAST, 0, LEAST, 0, 4 << 20}, 8},
	{"what it saved up is spent once", true, LEAST / 2, {LEAST / 2}, 4},
	{"and is no more than a period asks for", true, 4 << 20, {LEAST / 2, 0, LEAST / 2, 0, LEAST / 2}, 6},
	{"as much as it must", true, 0, {HALF, HALF, HALF, HALF, HALF, HALF, HALF, HALF}, 0},
	{"steadily enough, in lumps", true, 0, {2 * LEAST, 0, 0, 2 * LEAST, 0, 0, LEAST, HALF}, 0},
	{"lumps that are too far apart", true, 0, {9 * LEAST, 0, 0, 0, 9 * LEAST}, 4},
	{"who sends nothing", false, 0, {0}, 2},
	{"who sent much, and sends nothing", false, 0, {4 << 20}, 4},
	{"who sends as much as it must", false, 0, {HALF, HALF, HALF, HALF, HALF, HALF, HALF, HALF}, 0},
	/* clang-format on */
};

START_TEST(a_client_keeps_up)
{
	struct pace p = {0};
	unsigned slow_after = 0;
	pace_credit(&p, clients[_i].before, RATE, PERIOD_MS);
	for (unsigned i = 0; i < STEPS && !slow_after; i++) {
		p.bytes += clients[_i].bytes[i];
		ck_assert(pace_keeps(&p, RATE, PERIOD_MS, clients[_i].takes));
		p.owed_ms += PERIOD_MS / 2;
		if (!pace_keeps(&p, RATE, PERIOD_MS, clients[_i].takes))
			slow_after = i + 1;
	}
	ck_assert_msg(slow_after == clients[_i].slow_after, "%s: after %u", clients[_i].says,
		      slow_after);
}
END_TEST

START_TEST(who_is_slow_so_far)
{
	struct pace p = {.owed_ms = 1000, .bytes = RATE - 1};
	ck_assert(pace_is_slow(&p, RATE));
	p.bytes++;
	ck_assert(!pace_is_slow(&p, RATE));
	p = (struct pace){.owed_ms = 2000, .bytes = RATE, .before = RATE};
	ck_assert(!pace_is_slow(&p, RATE));
	p = (struct pace){.owed_ms = 1};
	ck_assert(pace_is_slow(&p, RATE));
}
END_TEST

START_TEST(without_a_rate_one_byte_is_enough)
{
	struct pace p = {.bytes = 1};
	p.owed_ms = PERIOD_MS;
	ck_assert(pace_keeps(&p, 0, PERIOD_MS, false));
	p.owed_ms = PERIOD_MS;
	ck_assert(!pace_keeps(&p, 0, PERIOD_MS, false));
}
END_TEST

UNIT("pace", LOOP(a_client_keeps_up, clients), TEST(who_is_slow_so_far),
     TEST(without_a_rate_one_byte_is_enough))
