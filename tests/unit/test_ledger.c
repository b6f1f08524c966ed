/* test_ledger.c - a log as numbers: who goes, spares, leases, the share that moves on.
 * rooms: cache http base filter
 */
#include "proxy/cache/store/earnings.h"
#include "proxy/cache/store/ledger.h"
#include "tests/kit/unit.h"

static struct ledger l;

static void
begin(uint32_t limit)
{
	ledger_init(&l, limit, limit, 1000);
	for (uint32_t i = 0; i < limit; i++)
		ledger_add(&l, i);
}

static void
fill_one(void)
{
	ck_assert(ledger_open_next(&l));
	ledger_use(&l, 900);
	ledger_check(&l);
	ledger_seal(&l);
}

START_TEST(the_oldest_goes_first)
{
	begin(6);
	for (int i = 0; i < 6; i++)
		fill_one();
	ck_assert(!ledger_open_next(&l));
	for (uint32_t round = 1; round < 40; round++) {
		int64_t victim = ledger_victim(&l);
		ck_assert_uint_eq(l.slots[victim].generation, round);
		ledger_retire(&l, (uint32_t)victim);
		ck_assert_int_ne(ledger_victim(&l), victim);
		ledger_free(&l, (uint32_t)victim);
		fill_one();
		ck_assert_uint_eq(l.used, 5400);
	}
	ledger_fini(&l);
}
END_TEST

/* Over a restart: what is said of a segment holds as long as its slot has the same generation. */
START_TEST(what_was_earned_is_known_again)
{
	struct buf bytes = {0};
	begin(4);
	for (uint32_t i = 0; i < 4; i++) {
		fill_one();
		ledger_pay(&l, i, 100 * (i + 1), 1);
	}
	earnings_save(&l, 7, &bytes);
	uint64_t had[4];
	for (int i = 0; i < 4; i++)
		had[i] = l.earned[i];
	ledger_fini(&l);
	ledger_init(&l, 4, 4, 1000);
	for (uint32_t i = 0; i < 4; i++)
		ledger_restore(&l, i, i == 3 ? SEGMENT_FREE : SEGMENT_SEALED, i == 1 ? 9 : i + 1,
			       900, 0);
	ck_assert_ptr_nonnull(earnings_load(&l, 8, buf_str(&bytes)));
	for (size_t n = 0; n < bytes.n; n++) {
		ck_assert_ptr_nonnull(earnings_load(&l, 7, (struct str){bytes.p, n}));
		bytes.p[n] ^= 1;
		ck_assert_ptr_nonnull(earnings_load(&l, 7, buf_str(&bytes)));
		bytes.p[n] ^= 1;
	}
	ck_assert_uint_eq(l.earned[0] + l.earned[2], 0);
	ck_assert_ptr_null(earnings_load(&l, 7, buf_str(&bytes)));
	ck_assert_uint_eq(l.earned[0], had[0]);
	ck_assert_uint_eq(l.earned[1], 0);
	ck_assert_uint_eq(l.earned[2], had[2]);
	ck_assert_uint_eq(l.earned[3], 0);
	buf_fini(&bytes);
	ledger_fini(&l);
}
END_TEST

/* Of the older three quarters; the youngest have not had their time yet. */
START_TEST(what_earned_least_goes_first)
{
	begin(16);
	for (int i = 0; i < 16; i++)
		fill_one();
	for (uint32_t i = 0; i < 12; i++)
		ledger_pay(&l, i, i == 7 ? 100 : 40000, 1);
	ck_assert_int_eq(ledger_victim(&l), 7);
	ck_assert(ledger_lease(&l, 7));
	ck_assert_int_eq(ledger_victim(&l), 0); /* all the others earned as much: the oldest */
	ledger_unlease(&l, 7);
	for (int i = 0; i < 500; i++)
		ledger_pay(&l, 7, 10000, 1);
	ledger_pay(&l, 0, 1, 1);
	ck_assert_int_eq(ledger_victim(&l), 1);
	ledger_set_forgets(&l, 1);
	for (uint32_t i = 1; i < 12; i++)
		l.slots[i].replaced = 5;
	ck_assert_int_eq(ledger_victim(&l), 1);
	ledger_forgot(&l, 1);
	ck_assert_int_eq(ledger_victim(&l), 0); /* the others wait until they are the oldest, */
	ledger_free(&l, 2);
	ck_assert_int_eq(ledger_victim(&l), 1); /* or until others needed less */
	ck_assert(ledger_is_oldest(&l, 1) && !ledger_is_oldest(&l, 2));
	ledger_check(&l);
	ledger_fini(&l);
}
END_TEST

/* Replacements of older records cannot move on there, so a segment without any goes, if it earned no
 * more than most. */
START_TEST(what_goes_at_once_has_replaced_nothing)
{
	begin(16);
	for (int i = 0; i < 16; i++)
		fill_one();
	for (uint32_t i = 0; i < 12; i++) {
		ledger_pay(&l, i, 100 * (i + 1), 1);
		l.slots[i].replaced = i < 3;
	}
	ck_assert_int_eq(ledger_victim(&l), 0);
	ck_assert_int_eq(ledger_victim_at_once(&l), 3);
	ck_assert(ledger_lease(&l, 3));
	ck_assert_int_eq(ledger_victim_at_once(&l), 4);
	for (uint32_t i = 4; i < 12; i++)
		l.slots[i].replaced = i != 11;
	ck_assert_int_eq(ledger_victim_at_once(&l), 0); /* 11 earned most */
	l.slots[11].replaced = 1;
	ck_assert_int_eq(ledger_victim_at_once(&l), 0);
	ledger_fini(&l);
}
END_TEST

/* Heads stand for bodies elsewhere: all but a quarter of a segment of them moves on. */
START_TEST(heads_move_on_up_to_three_quarters)
{
	begin(16);
	ck_assert(ledger_carries_head(&l, 100, 650));
	ck_assert(!ledger_carries_head(&l, 101, 650));
	ledger_fini(&l);
}
END_TEST

START_TEST(one_large_answer_is_not_worth_many_small_ones)
{
	begin(4);
	for (int i = 0; i < 4; i++)
		fill_one();
	ledger_pay(&l, 0, 1000000, 1);
	for (int i = 0; i < 20; i++)
		ledger_pay(&l, 1, 10000, 1);
	ck_assert_uint_lt(l.earned[0], l.earned[1]);
	ck_assert_uint_gt(l.earned[0], l.earned[1] / 3);
	ledger_fini(&l);
}
END_TEST

START_TEST(earnings_fade_four_times_in_a_turn)
{
	begin(16);
	for (int i = 0; i < 15; i++)
		fill_one();
	ck_assert_uint_eq(ledger_fades(&l), 3);
	ledger_pay(&l, 3, 10000, 1);
	uint64_t was = l.earned[3];
	fill_one();
	ck_assert_uint_eq(ledger_fades(&l), 4);
	ck_assert_uint_eq(l.earned[3], was / 2);
	ledger_free(&l, 3);
	ck_assert(ledger_open_next(&l));
	ck_assert_uint_eq(l.earned[3], 0); /* another segment lies there now */
	ledger_fini(&l);
}
END_TEST

/* A segment goes whatever it earns: purges since would have to be remembered for ever. */
START_TEST(nothing_stays_for_ever)
{
	begin(8);
	for (int i = 0; i < 8; i++)
		fill_one();
	int turns = 0;
	for (; turns < 1000 && l.slots[0].generation == 1; turns++) {
		for (int k = 0; k < 10; k++)
			ledger_pay(&l, 0, 1000000, 1);
		ledger_free(&l, (uint32_t)ledger_victim(&l));
		fill_one();
	}
	ck_assert_int_gt(turns, 8 * 10);
	ck_assert_int_lt(turns, 8 * 20);
	ledger_fini(&l);
}
END_TEST

START_TEST(what_was_granted_holds_and_no_more_than_half_is_granted)
{
	begin(8);
	for (int i = 0; i < 8; i++)
		fill_one();
	for (uint32_t i = 0; i < 4; i++) {
		ck_assert(ledger_lease(&l, i));
		ck_assert(ledger_lease(&l, i)); /* one more reader costs nothing */
		ck_assert_int_eq(ledger_victim(&l), i + 1);
	}
	ck_assert(!ledger_lease(&l, 5));
	ledger_unlease(&l, 0);
	ck_assert(!ledger_lease(&l, 5));
	ledger_unlease(&l, 0);
	ck_assert_int_eq(ledger_victim(&l), 0);
	ledger_retire(&l, 0);
	ck_assert(ledger_lease(&l, 0)); /* it is being emptied, but not gone yet */
	ledger_return(&l, 0);
	ck_assert_int_eq(ledger_victim(&l), 4);
	ledger_unlease(&l, 0);
	ledger_retire(&l, 0);
	ledger_free(&l, 0);
	ck_assert(!ledger_lease(&l, 0)); /* it holds nothing */
	ck_assert(ledger_lease(&l, 5));
	ledger_check(&l);
	ledger_fini(&l);
}
END_TEST

/* However many bodies are written, and beside the leases of readers, one segment in sixteen may go.
 */
START_TEST(what_is_being_written_stays_within_seven_sixteenths)
{
	begin(32);
	for (int i = 0; i < 32; i++)
		fill_one();
	for (uint32_t i = 0; i < 14; i++)
		ck_assert(ledger_hold(&l, i) && ledger_hold(&l, i));
	ck_assert(!ledger_hold(&l, 14));
	ck_assert_int_eq(ledger_victim(&l), 14);
	for (uint32_t i = 14; i < 30; i++)
		ck_assert(ledger_lease(&l, i));
	ck_assert_int_eq(ledger_victim(&l), 30);
	ledger_unhold(&l, 5);
	ck_assert_int_eq(ledger_victim(&l), 30);
	ledger_unhold(&l, 5);
	ck_assert_int_eq(ledger_victim(&l), 5);
	ledger_check(&l);
	ledger_retire(&l, 5);
	ck_assert(!ledger_hold(&l, 5));
	ledger_fini(&l);
}
END_TEST

START_TEST(absent_segments_are_added_within_the_limit)
{
	ledger_init(&l, 2, 4, 1000);
	ledger_restore(&l, 3, SEGMENT_SEALED, 7, 500, 0);
	ledger_add(&l, (uint32_t)ledger_absent(&l));
	ck_assert_int_eq(ledger_absent(&l), -1);
	ck_assert(ledger_open_next(&l));
	ck_assert_uint_eq(l.slots[l.open].generation, 8);
	ledger_check(&l);
	ledger_fini(&l);
}
END_TEST

/* A victim of so many records of 1 KiB: so much of it moves on. */
static uint64_t
carry_some(int records)
{
	uint64_t carried = 0;
	for (int i = 0; i < records; i++)
		if (ledger_carries(&l, 0, 1024, 1, carried))
			carried += 1024;
	ledger_emptied(&l, carried);
	return carried;
}

START_TEST(small_records_move_on_within_a_quarter)
{
	ledger_init(&l, 4, 4, 1 << 20);
	ck_assert(ledger_carries(&l, 0, 4096, 1, 0));
	ck_assert(!ledger_carries(&l, 0, 32 << 10, 1, 0));
	ck_assert(ledger_carries(&l, 1, 32 << 10, 1, 0)); /* it was hit */
	ck_assert(!ledger_carries(&l, 1, 33 << 10, 1, 0));
	ck_assert(!ledger_carries(&l, 1, 32 << 10, 1, (256 << 10) - 4096));
	ck_assert(ledger_carries(&l, 0, 4096, 1, (256 << 10) - 4096));
	ck_assert(!ledger_carries(&l, 0, 4096, 1, (256 << 10) - 4095));
	ck_assert_uint_eq(carry_some(1000), 256 << 10);
	ledger_fini(&l);
}
END_TEST

/* As much as a tenth of all that goes; and what was too large is small, where there is little of it. */
START_TEST(which_ones_are_small_follows_what_goes)
{
	uint64_t carried = 0;
	ledger_init(&l, 4, 4, 1 << 20);
	for (int i = 0; i < 1000; i++)
		carried += carry_some(800);
	ck_assert_uint_gt(carried / 1000, (1 << 20) / 14);
	ck_assert_uint_lt(carried / 1000, (1 << 20) / 7);
	for (int i = 0; i < 100; i++)
		carry_some(10);
	ck_assert(ledger_carries(&l, 0, 200 << 10, 1, 0));
	ck_assert(!ledger_carries(&l, 0, 257 << 10, 1, 0));
	for (int i = 0; i < 100; i++)
		ledger_emptied(&l, 1 << 20);
	ck_assert(!ledger_carries(&l, 0, 300, 1, 0)); /* less than any record: nothing moves on */
	ledger_emptied(&l, 0);
	ck_assert(ledger_carries(&l, 0, 300, 1, 0));
	ledger_check(&l);
	ledger_fini(&l);
}
END_TEST

static const struct {
	uint64_t disk, least, most; /* segments */
} disks[] = {{16ull << 20, 56, 64},    {64ull << 20, 240, 256},	 {800ull << 20, 256, 262},
	     {100ull << 30, 256, 260}, {4ull << 40, 3900, 4200}, {40ull << 40, 30000, 42000}};

START_TEST(segments_suit_the_disk)
{
	uint64_t log = ledger_log_bytes(disks[_i].disk, 0);
	uint64_t segment = ledger_segment_bytes(log), n = log / segment;
	ck_assert_msg(n >= disks[_i].least && n <= disks[_i].most, "%d: %llu", _i,
		      (unsigned long long)n);
	/* Two free ones and the open one do not keep the log from using nine tenths. */
	if (disks[_i].disk >= 64 << 20)
		ck_assert_uint_ge((n - 3) * segment, disks[_i].disk / 10 * 9);
}
END_TEST

UNIT("ledger", TEST(the_oldest_goes_first), TEST(what_earned_least_goes_first),
     TEST(what_goes_at_once_has_replaced_nothing), TEST(heads_move_on_up_to_three_quarters),
     TEST(what_was_earned_is_known_again), TEST(one_large_answer_is_not_worth_many_small_ones),
     TEST(earnings_fade_four_times_in_a_turn), TEST(nothing_stays_for_ever),
     TEST(what_was_granted_holds_and_no_more_than_half_is_granted),
     TEST(what_is_being_written_stays_within_seven_sixteenths),
     TEST(absent_segments_are_added_within_the_limit), TEST(small_records_move_on_within_a_quarter),
     TEST(which_ones_are_small_follows_what_goes), LOOP(segments_suit_the_disk, disks))
