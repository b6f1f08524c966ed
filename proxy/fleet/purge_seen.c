/* purge_seen.c - base64 by OpenSSL, which wants whole blocks. */
#include "proxy/fleet/purge_seen.h"

#include <openssl/evp.h>

enum { PAIR = 16, BYTES = PURGE_NAMES_SEEN_MOST * PAIR, TEXT = (BYTES + 2) / 3 * 4 };

static void
put(unsigned char *to, uint64_t v)
{
	for (int i = 7; i >= 0; i--, v >>= 8)
		to[i] = (unsigned char)v;
}

static uint64_t
number_at(const unsigned char *p)
{
	uint64_t v = 0;
	for (int i = 0; i < 8; i++)
		v = v << 8 | p[i];
	return v;
}

void
purge_seen_format(const struct purge_name *list, unsigned n, struct buf *out)
{
	unsigned char bytes[BYTES], text[TEXT + 1];
	n = n < PURGE_NAMES_SEEN_MOST ? n : PURGE_NAMES_SEEN_MOST;
	for (unsigned i = 0; i < n; i++) {
		put(bytes + i * PAIR, list[i].node);
		put(bytes + i * PAIR + 8, list[i].number);
	}
	int length = EVP_EncodeBlock(text, bytes, (int)(n * PAIR));
	buf_add(out, text, (size_t)length);
}

unsigned
purge_seen_parse(struct str text, struct purge_name out[PURGE_NAMES_SEEN_MOST])
{
	unsigned char bytes[TEXT / 4 * 3 + 3];
	size_t n = text.n < TEXT ? text.n : TEXT;
	if (!n || n % 4)
		return 0;
	int length = EVP_DecodeBlock(bytes, (const unsigned char *)text.p, (int)n);
	/* It counts the padding as bytes. */
	for (size_t at = n; length > 0 && at > n - 2 && text.p[at - 1] == '='; at--)
		length--;
	unsigned pairs = length > 0 ? (unsigned)length / PAIR : 0;
	for (unsigned i = 0; i < pairs; i++)
		out[i] = (struct purge_name){number_at(bytes + i * PAIR),
					     number_at(bytes + i * PAIR + 8)};
	return pairs;
}
