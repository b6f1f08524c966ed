/* request_id.c - a counter behind a hash whose seed nobody else knows. */
#include "proxy/serve/rules/request_id.h"

#include "proxy/base/clock.h"
#include "proxy/http/syntax.h"

#include <endian.h>
#include <sys/random.h>

static void
draw_secret(struct request_ids *ids)
{
	struct twice_seed *seed = &ids->seed;
	if (getrandom(seed->secret, sizeof seed->secret, 0) == (ssize_t)sizeof seed->secret)
		return;
	/* An old kernel without entropy: still another one in each worker. */
	int64_t now = now_us();
	memcpy(seed->secret, &now, sizeof now);
	memcpy(seed->secret + sizeof now, &ids, sizeof(struct request_ids *));
}

/* Eight digits at once: each gets a byte, and letters begin 39 behind the figures. */
static void
put_hex(uint32_t n, char out[8])
{
	uint64_t x = n;
	x = (x << 16 | x) & UINT64_C(0x0000ffff0000ffff);
	x = (x << 8 | x) & UINT64_C(0x00ff00ff00ff00ff);
	x = (x << 4 | x) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	uint64_t letters = (x + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
	x = htobe64(x + UINT64_C(0x3030303030303030) + letters * ('a' - '0' - 10));
	memcpy(out, &x, sizeof x);
}

void
request_id_make(struct request_ids *ids, char out[REQUEST_ID_BYTES])
{
	if (!ids->count++)
		draw_secret(ids);
	struct twice_key_hash h = twice_key_hash_of(&ids->seed, &ids->count, sizeof ids->count);
	put_hex((uint32_t)(h.lo >> 32), out);
	put_hex((uint32_t)h.lo, out + 8);
	put_hex((uint32_t)(h.hi >> 32), out + 16);
	put_hex((uint32_t)h.hi, out + 24);
}

static bool
is_plain(char c)
{
	return byte_is_digit(c) || (byte_lower(c) >= 'a' && byte_lower(c) <= 'z') ||
	       (c && strchr("-_.:=+/", c));
}

struct str
request_id_said(const struct fields *f)
{
	if (fields_count(f, FIELD_X_REQUEST_ID) != 1)
		return (struct str){0};
	struct str said = fields_get(f, FIELD_X_REQUEST_ID);
	if (said.n > REQUEST_ID_MOST)
		return (struct str){0};
	for (size_t i = 0; i < said.n; i++)
		if (!is_plain(said.p[i]))
			return (struct str){0};
	return said;
}
