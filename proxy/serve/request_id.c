/* request_id.c - a counter behind a hash whose seed nobody else knows. */
#include "proxy/serve/request_id.h"

#include "proxy/base/clock.h"
#include "proxy/http/syntax.h"

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

static char *
add_hex(uint64_t n, char *out)
{
	for (int shift = 60; shift >= 0; shift -= 4)
		*out++ = "0123456789abcdef"[n >> shift & 15];
	return out;
}

void
request_id_make(struct request_ids *ids, char out[REQUEST_ID_BYTES])
{
	if (!ids->count++)
		draw_secret(ids);
	struct twice_key_hash h = twice_key_hash_of(&ids->seed, &ids->count, sizeof ids->count);
	add_hex(h.hi, add_hex(h.lo, out));
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
