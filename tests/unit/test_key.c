/* test_key.c - keys of variants and slices.
 * rooms: serve cache coding http base filter
 */
#include "proxy/serve/key.h"

#include "filter/hash_equal.h"
#include "tests/kit/unit.h"

static struct twice_seed seed;

static struct key
key_of(const char *text)
{
	struct key k = {0};
	buf_add(&k.text, text, strlen(text));
	key_is_primary(&k, &seed);
	return k;
}

START_TEST(a_variant_goes_back_to_its_primary_key)
{
	struct key k = key_of("http://a/b"), same = {0};
	key_to_variant(&k, &seed, STR("\naccept:x"));
	ck_assert(!key_hash_equal(k.hash, k.primary));
	ck_assert(str_eq(key_primary(&k), STR("http://a/b")));
	key_copy(&same, &k);
	ck_assert(key_hash_equal(same.hash, k.hash) && key_hash_equal(same.primary, k.primary));
	key_back_to_primary(&k);
	ck_assert(key_hash_equal(k.hash, k.primary));
	ck_assert(str_eq(buf_str(&k.text), STR("http://a/b")));
	key_fini(&k);
	key_fini(&same);
}
END_TEST

START_TEST(values_and_slices_all_make_different_keys)
{
	struct key k[4];
	for (int i = 0; i < 4; i++)
		k[i] = key_of("http://a/b");
	key_to_variant(&k[0], &seed, STR("\naccept:x"));
	key_to_variant(&k[1], &seed, STR("\naccept:y"));
	key_to_slice(&k[2], &seed, k[2].primary_bytes, STR("\"v\""), 9, 0);
	for (int i = 0; i < 4; i++)
		for (int n = i + 1; n < 4; n++)
			ck_assert(!key_hash_equal(k[i].hash, k[n].hash));
	for (int i = 0; i < 4; i++)
		key_fini(&k[i]);
}
END_TEST

UNIT("key", TEST(a_variant_goes_back_to_its_primary_key),
     TEST(values_and_slices_all_make_different_keys))
