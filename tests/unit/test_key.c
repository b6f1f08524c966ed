/* test_key.c - keys of variants and parts.
 * rooms: serve cache http base filter
 */
#include "proxy/serve/key.h"

#include "tests/kit/unit.h"

static struct filter_seed seed;

static struct key
key_of(const char *text)
{
	struct key k = {0};
	buf_add(&k.text, text, strlen(text));
	key_is_primary(&k, &seed);
	return k;
}

static bool
is_same(struct key_hash a, struct key_hash b)
{
	return a.lo == b.lo && a.hi == b.hi;
}

static struct variants
variants_of(const char *head)
{
	struct variants v = {0};
	variants_read(&v, str_of(head));
	return v;
}

START_TEST(a_variant_goes_back_to_its_primary_key)
{
	struct key k = key_of("http://a/b"), same = {0};
	struct variants v = variants_of("accept\n0123");
	key_to_variant(&k, &seed, &v, STR("\naccept:x"));
	ck_assert(!is_same(k.hash, k.primary));
	ck_assert(str_eq(key_primary(&k), STR("http://a/b")));
	key_copy(&same, &k);
	ck_assert(is_same(same.hash, k.hash) && is_same(same.primary, k.primary));
	key_back_to_primary(&k);
	ck_assert(is_same(k.hash, k.primary));
	ck_assert(str_eq(buf_str(&k.text), STR("http://a/b")));
	key_fini(&k);
	key_fini(&same);
	variants_fini(&v);
}
END_TEST

START_TEST(values_nonce_and_part_all_make_different_keys)
{
	struct variants one = variants_of("accept\n1"), two = variants_of("accept\n2");
	struct key k[5];
	for (int i = 0; i < 5; i++)
		k[i] = key_of("http://a/b");
	key_to_variant(&k[0], &seed, &one, STR("\naccept:x"));
	key_to_variant(&k[1], &seed, &one, STR("\naccept:y"));
	key_to_variant(&k[2], &seed, &two, STR("\naccept:x"));
	key_to_part(&k[3], &seed);
	for (int i = 0; i < 5; i++)
		for (int n = i + 1; n < 5; n++)
			ck_assert(!is_same(k[i].hash, k[n].hash));
	for (int i = 0; i < 5; i++)
		key_fini(&k[i]);
	variants_fini(&one);
	variants_fini(&two);
}
END_TEST

START_TEST(a_marker_is_read_as_it_was_written)
{
	struct variants v = variants_of("accept,cookie\n77"), again = {0};
	struct buf head = {0};
	variants_write(&v, &head);
	variants_read(&again, buf_str(&head));
	ck_assert(str_eq(buf_str(&again.names), STR("accept,cookie")));
	ck_assert(str_eq(buf_str(&again.nonce), STR("77")));
	variants_read(&again, STR("accept"));
	ck_assert(str_eq(buf_str(&again.names), STR("accept")) && again.nonce.n == 0);
	variants_read(&again, STR(""));
	ck_assert(again.names.n == 0 && again.nonce.n == 0);
	buf_fini(&head);
	variants_fini(&v);
	variants_fini(&again);
}
END_TEST

UNIT("key", TEST(a_variant_goes_back_to_its_primary_key),
     TEST(values_nonce_and_part_all_make_different_keys), TEST(a_marker_is_read_as_it_was_written))
