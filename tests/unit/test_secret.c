/* rooms: fleet origin http base
 *
 * test_secret.c - the keys that are made from a fleet's secret, and the file that it lies in. */
#include "proxy/fleet/secret.h"
#include "tests/kit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT "0123456789abcdef0123456789abcdef"

static struct secret
of(const char *text)
{
	struct secret s;
	ck_assert_int_eq(secret_make(&s, str_of(text)), 0);
	return s;
}

/* The results of HKDF and HMAC of Python's standard library (RFC 5869; hmac, hashlib): a change would make two
 * versions strangers to each other. */
START_TEST(keys_are_those_of_another_implementation)
{
	struct secret s = of(TEXT);
	char mac[SECRET_MAC_TEXT + 1] = "";
	unsigned char seed[4];
	struct str parts[] = {STR("a"), STR("bc")};
	secret_sign(&s, SECRET_RECORD, parts, 2, mac);
	secret_seed(&s, seed, sizeof seed);
	ck_assert_str_eq(s.fingerprint, "c10eb3dc807f7e91");
	ck_assert_str_eq(mac, "0a807aa6d809467b19e81c0f30ffb9faf6a6118b8e6beff82c47cd9c41291a72");
	ck_assert_int_eq(memcmp(seed, "\352\075\053\052", 4), 0);
}
END_TEST

static const struct {
	const char *says, *text;
	bool is_same;
} others[] = {
	{"itself", TEXT, true},
	{"with the end of a line behind it", TEXT "\n", true},
	{"with the end of a line of Windows", TEXT "\r\n", true},
	{"one letter is another", "0123456789abcdef0123456789abcdeF", false},
	{"one letter more", TEXT "0", false},
};

START_TEST(another_secret_is_another_fleet)
{
	struct secret a = of(TEXT), b = of(others[_i].text);
	char mac[SECRET_MAC_TEXT];
	unsigned char seeds[2][256];
	struct str part = STR("x");
	secret_sign(&a, SECRET_HOP, &part, 1, mac);
	secret_seed(&a, seeds[0], sizeof seeds[0]);
	secret_seed(&b, seeds[1], sizeof seeds[1]);
	ck_assert_msg((strcmp(a.fingerprint, b.fingerprint) == 0) == others[_i].is_same, "%s",
		      others[_i].says);
	ck_assert_msg(secret_is_signed(&b, SECRET_HOP, &part, 1, (struct str){mac, sizeof mac}) ==
			      others[_i].is_same,
		      "%s", others[_i].says);
	ck_assert_msg((memcmp(seeds[0], seeds[1], sizeof seeds[0]) == 0) == others[_i].is_same,
		      "%s", others[_i].says);
}
END_TEST

START_TEST(a_signature_is_of_its_purpose_its_parts_and_their_lengths)
{
	struct secret s = of(TEXT);
	char mac[SECRET_MAC_TEXT];
	struct str right[] = {STR("ab"), STR("c")}, moved[] = {STR("a"), STR("bc")};
	struct str text = {mac, sizeof mac};
	secret_sign(&s, SECRET_RECORD, right, 2, mac);
	ck_assert(secret_is_signed(&s, SECRET_RECORD, right, 2, text));
	ck_assert(!secret_is_signed(&s, SECRET_DRAIN, right, 2, text));
	ck_assert(!secret_is_signed(&s, SECRET_RECORD, moved, 2, text));
	ck_assert(!secret_is_signed(&s, SECRET_RECORD, right, 1, text));
	text.n--;
	ck_assert(!secret_is_signed(&s, SECRET_RECORD, right, 2, text));
	text.n++;
	mac[63] = mac[63] == '0' ? '1' : '0';
	ck_assert(!secret_is_signed(&s, SECRET_RECORD, right, 2, text));
}
END_TEST

static const struct {
	const char *says;
	unsigned bytes, mode;
	const char *why; /* NULL: it is fine */
} files[] = {
	{"32 bytes", 32, 0600, NULL},
	{"for a group", 64, 0640, NULL},
	{"the longest", 4096, 0600, NULL},
	{"31 bytes", 31, 0600, "has 31 bytes"},
	{"none", 0, 0600, "has 0 bytes"},
	{"too long", 5000, 0600, "has 4098 bytes"},
	{"everybody may read it", 32, 0644, "chmod 640"},
	{"everybody may write it", 32, 0602, "chmod 640"},
};

START_TEST(file)
{
	char path[] = "/tmp/twice-secret-XXXXXX", err[512] = "";
	char bytes[5000];
	struct secret s;
	int fd = mkstemp(path);
	memset(bytes, 'x', sizeof bytes);
	ck_assert_int_eq((int)write(fd, bytes, files[_i].bytes), (int)files[_i].bytes);
	ck_assert_int_eq(fchmod(fd, files[_i].mode), 0);
	close(fd);
	int r = secret_read(&s, path, err, sizeof err);
	unlink(path);
	ck_assert_msg((r == 0) == (files[_i].why == NULL), "%s: %s", files[_i].says, err);
	if (files[_i].why)
		ck_assert_msg(strstr(err, files[_i].why) != NULL, "%s: %s", files[_i].says, err);
}
END_TEST

START_TEST(a_file_that_is_not_there_is_named)
{
	struct secret s;
	char err[512] = "";
	ck_assert_int_eq(secret_read(&s, "/nowhere/secret", err, sizeof err), -1);
	ck_assert_ptr_nonnull(strstr(err, "cannot read /nowhere/secret: No such file"));
}
END_TEST

START_TEST(a_secret_is_forgotten)
{
	static const struct secret nothing;
	struct secret s = of(TEXT);
	secret_forget(&s);
	ck_assert_int_eq(memcmp(&s, &nothing, sizeof s), 0);
}
END_TEST

UNIT("secret", TEST(keys_are_those_of_another_implementation),
     LOOP(another_secret_is_another_fleet, others),
     TEST(a_signature_is_of_its_purpose_its_parts_and_their_lengths), LOOP(file, files),
     TEST(a_file_that_is_not_there_is_named), TEST(a_secret_is_forgotten))
