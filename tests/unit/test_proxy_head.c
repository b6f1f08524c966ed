/* test_proxy_head.c - who a client is, by the head that its forwarder writes.
 * rooms: wire base
 */
#include "proxy/wire/proxy_head.h"

#include "proxy/base/address.h"
#include "tests/kit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

#define V1(text_)                       \
	{                               \
		text_, sizeof text_ - 1 \
	}
#define SIGNATURE		 "\r\n\r\n\0\r\nQUIT\n"
#define FOUR			 "\300\0\2\1\300\0\2\11\334\4\1\273" /* 192.0.2.1 192.0.2.9 56324 443 */
#define SIX_NET			 "\40\1\15\270\0\0\0\0\0\0\0\0\0\0\0"
#define SIX			 SIX_NET "\1" SIX_NET "\11\334\4\1\273"
#define BYTES36(x)		 x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x
#define UNIX_ENDS		 BYTES36("abcdef")
#define V2(cmd, family, n, rest) V1(SIGNATURE cmd family n rest)
/* HAProxy 2.6, send-proxy-v2 proxy-v2-options crc32c, reckoned once more by hand */
#define CRC_OF_FOUR "\3\0\4"

static const struct {
	const char *says;
	struct str in;
	enum proxy_head_step want;
	size_t bytes;	 /* not of the head */
	const char *who; /* an address with port; "nobody", "sender" */
} heads[] = {
	{"version 1, IPv4", V1("PROXY TCP4 192.0.2.1 192.0.2.9 56324 443\r\nGET"), PROXY_HEAD_DONE,
	 3, "192.0.2.1:56324"},
	{"version 1, IPv6", V1("PROXY TCP6 2001:db8::1 2001:db8::9 56324 443\r\n"), PROXY_HEAD_DONE,
	 0, "[2001:db8::1]:56324"},
	{"the longest line",
	 V1("PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
	    "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n"),
	 PROXY_HEAD_DONE, 0, "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535"},
	{"UNKNOWN", V1("PROXY UNKNOWN\r\n"), PROXY_HEAD_DONE, 0, "nobody"},
	{"what follows UNKNOWN is ignored", V1("PROXY UNKNOWN ffff:: x 65535 \t65535\r\n\r\n"),
	 PROXY_HEAD_DONE, 2, "nobody"},
	{"port 0", V1("PROXY TCP4 192.0.2.1 192.0.2.9 0 443\r\n"), PROXY_HEAD_DONE, 0,
	 "192.0.2.1:0"},
	{"nothing yet", V1(""), PROXY_HEAD_MORE, 0, NULL},
	{"a request", V1("GET / HTTP/1.1\r\n\r\n"), PROXY_HEAD_BROKEN, 0, NULL},
	{"a ClientHello", V1("\26\3\1\2"), PROXY_HEAD_BROKEN, 0, NULL},
	{"the preface of HTTP/2", V1("PRI * HTTP/2.0\r\n\r\n"), PROXY_HEAD_BROKEN, 0, NULL},
	{"lower case", V1("proxy TCP4 192.0.2.1 192.0.2.9 1 2\r\n"), PROXY_HEAD_BROKEN, 0, NULL},
	{"another family", V1("PROXY UDP4 192.0.2.1 192.0.2.9 1 2\r\n"), PROXY_HEAD_BROKEN, 0,
	 NULL},
	{"no family", V1("PROXY \r\n"), PROXY_HEAD_BROKEN, 0, NULL},
	{"two spaces", V1("PROXY TCP4  192.0.2.1 192.0.2.9 1 2\r\n"), PROXY_HEAD_BROKEN, 0, NULL},
	{"a space at the end", V1("PROXY TCP4 192.0.2.1 192.0.2.9 1 2 \r\n"), PROXY_HEAD_BROKEN, 0,
	 NULL},
	{"a word more", V1("PROXY TCP4 192.0.2.1 192.0.2.9 1 2 3\r\n"), PROXY_HEAD_BROKEN, 0, NULL},
	{"a word less", V1("PROXY TCP4 192.0.2.1 192.0.2.9 1\r\n"), PROXY_HEAD_BROKEN, 0, NULL},
	{"a tab", V1("PROXY\tTCP4 192.0.2.1 192.0.2.9 1 2\r\n"), PROXY_HEAD_BROKEN, 0, NULL},
	{"LF alone", V1("PROXY TCP4 192.0.2.1 192.0.2.9 1 2\n"), PROXY_HEAD_BROKEN, 0, NULL},
	{"CR alone", V1("PROXY TCP4 192.0.2.1\r 192.0.2.9 1 2\r\n"), PROXY_HEAD_BROKEN, 0, NULL},
	{"zeros in front of a number", V1("PROXY TCP4 192.0.2.01 192.0.2.9 1 2\r\n"),
	 PROXY_HEAD_BROKEN, 0, NULL},
	{"zeros in front of a port", V1("PROXY TCP4 192.0.2.1 192.0.2.9 01 2\r\n"),
	 PROXY_HEAD_BROKEN, 0, NULL},
	{"a port too many", V1("PROXY TCP4 192.0.2.1 192.0.2.9 65536 2\r\n"), PROXY_HEAD_BROKEN, 0,
	 NULL},
	{"a sign", V1("PROXY TCP4 192.0.2.1 192.0.2.9 +1 2\r\n"), PROXY_HEAD_BROKEN, 0, NULL},
	{"an address of the other family", V1("PROXY TCP4 2001:db8::1 192.0.2.9 1 2\r\n"),
	 PROXY_HEAD_BROKEN, 0, NULL},
	{"a name", V1("PROXY TCP4 localhost 192.0.2.9 1 2\r\n"), PROXY_HEAD_BROKEN, 0, NULL},
	{"a NUL", V1("PROXY TCP4 192.0.2.1\0 192.0.2.9 1 2\r\n"), PROXY_HEAD_BROKEN, 0, NULL},
	{"a scope", V1("PROXY TCP6 fe80::1%lo 2001:db8::9 1 2\r\n"), PROXY_HEAD_BROKEN, 0, NULL},
	{"version 2, IPv4", V2("\41", "\21", "\0\14", FOUR "GET"), PROXY_HEAD_DONE, 3,
	 "192.0.2.1:56324"},
	{"version 2, IPv6", V2("\41", "\41", "\0\44", SIX), PROXY_HEAD_DONE, 0,
	 "[2001:db8::1]:56324"},
	{"version 2, a Unix socket", V2("\41", "\61", "\0\330", UNIX_ENDS "GET"), PROXY_HEAD_DONE,
	 3, "nobody"},
	{"LOCAL", V2("\40", "\0", "\0\0", ""), PROXY_HEAD_DONE, 0, "sender"},
	{"LOCAL with an address, which is not used", V2("\40", "\21", "\0\14", FOUR),
	 PROXY_HEAD_DONE, 0, "sender"},
	{"LOCAL with what nobody knows", V2("\40", "\377", "\0\2", "ab"), PROXY_HEAD_DONE, 0,
	 "sender"},
	{"PROXY, and the family is not said", V2("\41", "\0", "\0\2", "ab"), PROXY_HEAD_DONE, 0,
	 "nobody"},
	{"extensions", V2("\41", "\21", "\0\30", FOUR "\1\0\2h2\4\0\0\342\0\1x"), PROXY_HEAD_DONE,
	 0, "192.0.2.1:56324"},
	{"an extension that is longer than the head", V2("\41", "\21", "\0\21", FOUR "\1\0\3h2"),
	 PROXY_HEAD_BROKEN, 0, NULL},
	{"half the head of an extension", V2("\41", "\21", "\0\16", FOUR "\1\0"), PROXY_HEAD_BROKEN,
	 0, NULL},
	{"a wrong checksum", V2("\41", "\21", "\0\23", FOUR CRC_OF_FOUR "\1\2\3\4"),
	 PROXY_HEAD_BROKEN, 0, NULL},
	{"a checksum of three bytes", V2("\41", "\21", "\0\22", FOUR "\3\0\3abc"),
	 PROXY_HEAD_BROKEN, 0, NULL},
	{"too short for two addresses", V2("\41", "\21", "\0\13", "\300\0\2\1\300\0\2\11\334\4\1"),
	 PROXY_HEAD_BROKEN, 0, NULL},
	{"too short for those of IPv6", V2("\41", "\41", "\0\14", FOUR), PROXY_HEAD_BROKEN, 0,
	 NULL},
	{"too short for two paths", V2("\41", "\61", "\0\14", FOUR), PROXY_HEAD_BROKEN, 0, NULL},
	{"datagrams", V2("\41", "\22", "\0\14", FOUR), PROXY_HEAD_BROKEN, 0, NULL},
	{"a family that nobody knows", V2("\41", "\101", "\0\14", FOUR), PROXY_HEAD_BROKEN, 0,
	 NULL},
	{"another version", V2("\61", "\21", "\0\14", FOUR), PROXY_HEAD_BROKEN, 0, NULL},
	{"another command", V2("\42", "\21", "\0\14", FOUR), PROXY_HEAD_BROKEN, 0, NULL},
	{"longer than any sender writes", V2("\40", "\0", "\17\361", ""), PROXY_HEAD_BROKEN, 0,
	 NULL},
	{"the longest that is read is waited for", V2("\40", "\0", "\17\360", ""), PROXY_HEAD_MORE,
	 0, NULL},
	{"a signature with a wrong byte", V1("\r\n\r\n\0\r\nQUIT\r"), PROXY_HEAD_BROKEN, 0, NULL},
};

static const char *
who_text(const struct proxy_head *h)
{
	static char text[ADDRESS_TEXT];
	if (h->who != PROXY_HEAD_CLIENT)
		return h->who == PROXY_HEAD_NOBODY ? "nobody" : "sender";
	struct address a = {.sa = h->client,
			    .bytes = h->client.ss_family == AF_INET ? sizeof(struct sockaddr_in)
								    : sizeof(struct sockaddr_in6)};
	return address_print(&a, text);
}

START_TEST(at_once)
{
	struct proxy_head h = {0};
	enum proxy_head_step got = proxy_head_read(heads[_i].in, &h);
	ck_assert_msg(got == heads[_i].want, "%s: %d", heads[_i].says, (int)got);
	if (got != PROXY_HEAD_DONE)
		return;
	ck_assert_msg(h.bytes + heads[_i].bytes == heads[_i].in.n, "%s: %zu bytes", heads[_i].says,
		      h.bytes);
	ck_assert_msg(strcmp(who_text(&h), heads[_i].who) == 0, "%s: %s", heads[_i].says,
		      who_text(&h));
}
END_TEST

/* A broken one may be known for broken before it is whole; a whole one only when it is. */
START_TEST(byte_by_byte)
{
	struct str in = heads[_i].in;
	struct proxy_head h = {0};
	enum proxy_head_step got = PROXY_HEAD_MORE;
	size_t n = 0;
	while (got == PROXY_HEAD_MORE && n < in.n) {
		n++;
		char *copy = malloc(n); /* so that a read behind it is seen */
		memcpy(copy, in.p, n);
		got = proxy_head_read((struct str){copy, n}, &h);
		free(copy);
	}
	ck_assert_msg(got == heads[_i].want, "%s: %d at byte %zu", heads[_i].says, (int)got, n);
	if (got == PROXY_HEAD_DONE)
		ck_assert_msg(n == h.bytes && h.bytes + heads[_i].bytes == in.n, "%s: byte %zu",
			      heads[_i].says, n);
}
END_TEST

/* By another way than the code's: a table of 256 entries. */
static uint32_t
reckoned(const char *p, size_t n)
{
	uint32_t table[256], crc = ~0u;
	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] & 1 ? table[i] >> 1 ^ 0x82f63b78u : table[i] >> 1;
	}
	for (size_t i = 0; i < n; i++)
		crc = crc >> 8 ^ table[(crc ^ (unsigned char)p[i]) & 255];
	return ~crc;
}

START_TEST(a_checksum_that_fits)
{
	char head[] = SIGNATURE "\41\21\0\27" FOUR CRC_OF_FOUR "\0\0\0\0"
				"\4\0\1x";
	size_t n = sizeof head - 1, at = 16 + 12 + 3;
	ck_assert_uint_eq(reckoned("123456789", 9), 0xe3069283u);
	uint32_t crc = htonl(reckoned(head, n));
	memcpy(head + at, &crc, sizeof crc);
	struct proxy_head h;
	ck_assert_int_eq(proxy_head_read((struct str){head, n}, &h), PROXY_HEAD_DONE);
	for (size_t i = 16; i < n; i++) { /* each bit is guarded, or breaks another rule */
		if (i == at - 3)	  /* then it is another extension */
			continue;
		head[i] ^= 1;
		ck_assert_int_ne(proxy_head_read((struct str){head, n}, &h), PROXY_HEAD_DONE);
		head[i] ^= 1;
	}
}
END_TEST

START_TEST(a_line_has_an_end)
{
	char line[200];
	struct proxy_head h;
	memset(line, 'x', sizeof line);
	memcpy(line, "PROXY UNKNOWN ", 14);
	ck_assert_int_eq(proxy_head_read((struct str){line, 106}, &h), PROXY_HEAD_MORE);
	ck_assert_int_eq(proxy_head_read((struct str){line, 107}, &h), PROXY_HEAD_BROKEN);
	memcpy(line + 105, "\r\n", 2);
	ck_assert_int_eq(proxy_head_read((struct str){line, 200}, &h), PROXY_HEAD_DONE);
	ck_assert_uint_eq(h.bytes, 107);
	memcpy(line + 105, "x\r\n", 3);
	ck_assert_int_eq(proxy_head_read((struct str){line, 200}, &h), PROXY_HEAD_BROKEN);
}
END_TEST

UNIT("proxy_head", LOOP(at_once, heads), LOOP(byte_by_byte, heads), TEST(a_checksum_that_fits),
     TEST(a_line_has_an_end))
