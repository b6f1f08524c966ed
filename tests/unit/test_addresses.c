/* test_addresses.c - what lookups and connections make of the addresses of a name.
 * rooms: origin http base
 */
#include "proxy/base/network.h"
#include "proxy/origin/addresses.h"
#include "tests/kit/unit.h"

#include <stdio.h>
#include <string.h>

/* An address is a letter: small ones are IPv4, capital ones IPv6. */
static struct ip
ip_of(char letter)
{
	char text[32];
	struct ip ip;
	snprintf(text, sizeof text, letter >= 'a' ? "192.0.2.%d" : "2001:db8::%d", letter);
	ck_assert_int_eq(network_address((struct str){text, strlen(text)}, ip.bytes), 0);
	return ip;
}

static char
letter_of(const struct ip *ip)
{
	return (char)ip->bytes[15] == 0	  ? '?'
	       : network_is_v4(ip->bytes) ? (char)ip->bytes[15]
					  : (char)(ip->bytes[15] / 16 * 10 + ip->bytes[15] % 16);
}

static unsigned
ips_of(const char *letters, struct ip *out)
{
	unsigned n = 0;
	for (; letters[n] && letters[n] != ' '; n++)
		out[n] = ip_of(letters[n]);
	return n;
}

static enum addresses_news
found(struct addresses *a, const char *letters)
{
	struct ip v[32];
	return addresses_found(a, v, ips_of(letters, v));
}

static const char *
order(struct addresses *a, int64_t now)
{
	static char text[ADDRESSES_TRIED + 1];
	struct ip v[ADDRESSES_TRIED];
	unsigned n = addresses_order(a, v, now);
	for (unsigned i = 0; i < n; i++)
		text[i] = letter_of(&v[i]);
	text[n] = '\0';
	return text;
}

static void
tell(struct addresses *a, const char *letters, unsigned answered, int64_t now)
{
	struct ip v[32];
	addresses_tell(a, v, ips_of(letters, v), answered, now);
}

static bool
has(struct addresses *a, char letter)
{
	struct ip ip = ip_of(letter);
	return addresses_has(a, &ip);
}

/* clang-format off */
static const struct {
	const char *says;
	const char *lookups[4];
	enum addresses_news news; /* of the last */
	const char *order, *has, *has_not;
	unsigned edition;
} lookups[] = {
	{"nothing is known before the first lookup",  {0},                     ADDRESSES_SAME,  "",    "",   "a", 0},
	{"a first lookup",                            {"ab"},                  ADDRESSES_MOVED, "ab",  "ab", "c", 0},
	{"the same again",                            {"ab", "ab"},            ADDRESSES_SAME,  "ab",  "ab", "c", 0},
	{"in another order",                          {"ab", "ba"},            ADDRESSES_SAME,  "ba",  "ab", "c", 0},
	{"one more",                                  {"a", "ab"},             ADDRESSES_OTHER, "ab",  "ab", "c", 0},
	{"one that goes gets no new connections",     {"ab", "a"},             ADDRESSES_SAME,  "a",   "ab", "c", 0},
	{"and none is kept after the lookup behind",  {"ab", "a", "a"},        ADDRESSES_SAME,  "a",   "a",  "b", 1},
	{"one that is named every other time stays",  {"ab", "a", "ab", "a"},  ADDRESSES_SAME,  "a",   "ab", "c", 0},
	{"all others",                                {"ab", "cd"},            ADDRESSES_MOVED, "cd",  "abcd", "", 0},
	{"there and back",                            {"a", "b", "a"},         ADDRESSES_MOVED, "a",   "ab", "c", 0},
	{"twice named is once",                       {"aab"},                 ADDRESSES_MOVED, "ab",  "ab", "c", 0},
	{"the preferred family comes first",          {"ABab"},                ADDRESSES_MOVED, "ABab", "ABab", "", 0},
	{"also when they are mixed",                  {"aBbA"},                ADDRESSES_MOVED, "abBA", "ABab", "", 0},
	{"as many in two lookups as one tries",       {"abcdefghijklmnop", "ABCDEFGHIJKLMNOP"}, ADDRESSES_MOVED, "ABCDEFGHIJKLMNOP", "apAP", "", 0},
};
/* clang-format on */

START_TEST(what_lookups_say)
{
	struct addresses *a = addresses_create("a.example");
	enum addresses_news news = ADDRESSES_SAME;
	for (unsigned i = 0; i < 4 && lookups[_i].lookups[i]; i++)
		news = found(a, lookups[_i].lookups[i]);
	ck_assert_msg(news == lookups[_i].news, "%s: %d", lookups[_i].says, news);
	ck_assert_msg(addresses_is_known(a) == (*lookups[_i].order != '\0'), "%s",
		      lookups[_i].says);
	ck_assert_msg(strcmp(order(a, 0), lookups[_i].order) == 0, "%s: %s", lookups[_i].says,
		      order(a, 0));
	for (const char *c = lookups[_i].has; *c; c++)
		ck_assert_msg(has(a, *c), "%s: %c", lookups[_i].says, *c);
	for (const char *c = lookups[_i].has_not; *c; c++)
		ck_assert_msg(!has(a, *c), "%s: %c", lookups[_i].says, *c);
	ck_assert_uint_eq(addresses_edition(a), lookups[_i].edition);
	addresses_destroy(&a);
}
END_TEST

START_TEST(connections_take_turns_within_a_family)
{
	struct addresses *a = addresses_create("a.example");
	found(a, "abcAB");
	ck_assert_str_eq(order(a, 0), "abcAB");
	ck_assert_str_eq(order(a, 0), "bcaAB");
	ck_assert_str_eq(order(a, 0), "cabAB");
	ck_assert_str_eq(order(a, 0), "abcAB");
	addresses_destroy(&a);
}
END_TEST

/* Those from first on, of n in 198.18.0.0/15. */
static void
many(struct ip *out, unsigned first, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		char text[32];
		snprintf(text, sizeof text, "198.18.%u.%u", (first + i) / 200, (first + i) % 200);
		ck_assert_int_eq(network_address((struct str){text, strlen(text)}, out[i].bytes),
				 0);
	}
}

START_TEST(each_of_many_gets_its_turn)
{
	struct addresses *a = addresses_create("name");
	struct ip v[ADDRESSES_MOST + 100], out[ADDRESSES_TRIED];
	many(v, 0, ADDRESSES_MOST + 100);
	addresses_found(a, v, ADDRESSES_MOST + 100); /* more than are kept */
	ck_assert_uint_eq(addresses_list(a, out, ADDRESSES_TRIED), ADDRESSES_MOST);
	for (unsigned i = 0; i < ADDRESSES_MOST; i++) {
		ck_assert_uint_eq(addresses_order(a, out, 0), ADDRESSES_TRIED);
		ck_assert_mem_eq(&out[0], &v[i], sizeof v[i]);
	}
	/* Those that are silent come behind all others, so that the others are tried. */
	for (unsigned i = 0; i < ADDRESSES_MOST - 1; i++)
		addresses_tell(a, &v[i], 1, 1, 0);
	addresses_order(a, out, 1);
	ck_assert_mem_eq(&out[0], &v[ADDRESSES_MOST - 1], sizeof v[0]);
	/* Wholly other ones: connections to those of before are kept until the next lookup. */
	many(v, 1000, ADDRESSES_MOST);
	ck_assert_int_eq(addresses_found(a, v, ADDRESSES_MOST), ADDRESSES_MOVED);
	addresses_order(a, out, 1);
	ck_assert(addresses_has(a, &out[0]));
	addresses_destroy(&a);
}
END_TEST

START_TEST(one_that_did_not_answer_comes_last_until_one_connection_finds_out)
{
	struct addresses *a = addresses_create("a.example");
	found(a, "ab");
	ck_assert_str_eq(order(a, 0), "ab");
	tell(a, "ab", 1, 0); /* b answered */
	for (int i = 0; i < 4; i++)
		ck_assert_str_eq(order(a, ADDRESSES_HOLD_MS - 1), "ba");
	found(a, "ab"); /* a lookup knows nothing of it */
	ck_assert_str_eq(order(a, ADDRESSES_HOLD_MS - 1), "ba");
	ck_assert_str_eq(order(a, ADDRESSES_HOLD_MS), "ab"); /* the one that finds out */
	for (int i = 0; i < 4; i++)
		ck_assert_str_eq(order(a, ADDRESSES_HOLD_MS), "ba"); /* the others do not */
	tell(a, "ab", 0, ADDRESSES_HOLD_MS);			     /* it is back */
	ck_assert_str_eq(order(a, ADDRESSES_HOLD_MS), "ba");
	ck_assert_str_eq(order(a, ADDRESSES_HOLD_MS), "ab");
	addresses_destroy(&a);
}
END_TEST

START_TEST(when_none_answers_the_first_makes_room_for_another)
{
	struct addresses *a = addresses_create("a.example");
	found(a, "ab");
	ck_assert_str_eq(order(a, 0), "ab");
	tell(a, "ab", 2, 0);
	ck_assert_str_eq(order(a, 1), "ba");
	tell(a, "ba", 2, 1);
	ck_assert_uint_eq(strlen(order(a, 2)), 2); /* both come last, and both are tried */
	addresses_destroy(&a);
}
END_TEST

START_TEST(a_family_that_is_silent_comes_behind_the_other)
{
	struct addresses *a = addresses_create("a.example");
	found(a, "Aa");
	ck_assert_str_eq(order(a, 0), "Aa");
	tell(a, "Aa", 1, 0);
	ck_assert_str_eq(order(a, 1), "aA");
	addresses_destroy(&a);
}
END_TEST

UNIT("addresses", LOOP(what_lookups_say, lookups), TEST(connections_take_turns_within_a_family),
     TEST(each_of_many_gets_its_turn),
     TEST(one_that_did_not_answer_comes_last_until_one_connection_finds_out),
     TEST(when_none_answers_the_first_makes_room_for_another),
     TEST(a_family_that_is_silent_comes_behind_the_other))
