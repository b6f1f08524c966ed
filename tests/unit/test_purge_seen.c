/* rooms: fleet origin http base
 *
 * test_purge_seen.c - the purges that a node has heard of, as text. */
#include "proxy/fleet/hop.h"
#include "proxy/fleet/purge_seen.h"
#include "tests/kit/unit.h"

START_TEST(reads_as_written)
{
	struct purge_name list[PURGE_NAMES_SEEN_MOST], read[PURGE_NAMES_SEEN_MOST];
	for (unsigned n = 0; n <= PURGE_NAMES_SEEN_MOST; n++) {
		struct buf b = {0};
		for (unsigned i = 0; i < n; i++)
			list[i] = (struct purge_name){UINT64_MAX - i, UINT64_C(1) << (i * 2)};
		purge_seen_format(list, n, &b);
		ck_assert_uint_eq(purge_seen_parse(buf_str(&b), read), n);
		ck_assert(!n || memcmp(list, read, n * sizeof *list) == 0);
		buf_fini(&b);
	}
}
END_TEST

START_TEST(nonsense_is_no_list)
{
	struct purge_name read[PURGE_NAMES_SEEN_MOST];
	static const char *const texts[] = {
		"", "AA==", "====", "AAA", "????", "AAAAAAAAAAAAAAAAAAA="};
	for (int i = 0; i < COUNT(texts); i++)
		ck_assert_uint_eq(purge_seen_parse(str_of(texts[i]), read), 0);
}
END_TEST

START_TEST(a_hop_carries_it)
{
	struct buf seen = {0}, field = {0};
	struct hop h = {.from = 1, .at_s = 9}, read;
	struct hop_subject about = {.to = 2, .method = STR("GET"), .target = STR("/")};
	struct purge_name p = {7, 8}, out[PURGE_NAMES_SEEN_MOST];
	purge_seen_format(&p, 1, &seen);
	h.seen = buf_str(&seen);
	hop_format(&h, NULL, &about, &field);
	ck_assert_int_eq(hop_parse(buf_str(&field), &read), 0);
	ck_assert_uint_eq(purge_seen_parse(read.seen, out), 1);
	ck_assert(out[0].node == 7 && out[0].number == 8);
	buf_fini(&seen);
	buf_fini(&field);
}
END_TEST

UNIT("purge_seen", TEST(reads_as_written), TEST(nonsense_is_no_list), TEST(a_hop_carries_it))
