/* history_snapshot.c - the history as bytes, and back.
 *
 *	head    8 "TWhist01", 8 tag, 4 bytes of the body as it is, 4 as it is stored (zstd)
 *	body    8 since, 4 number of totals, 4 zero, 8 what the columns are (a hash of their names)
 *	        totals  32 each: 24 name, 8 a number (IEEE 754)
 *	        tiers   3 times: stamps, 4 each; then each column, 4 each
 *	sum     8 XXH3 of head and stored body
 *
 * Little-endian. Totals go by name, so another version keeps them when the columns are other ones.
 */
#include "proxy/admin/history_inside.h"

#include "proxy/base/le.h"
#include "proxy/base/mem.h"
#include "proxy/cache/store/segment.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <zstd.h>

static const char MAGIC[8] = "TWhist01";
enum { HEAD = 24, BODY_HEAD = 24, TOTAL = 32, NAME = 24, SUM = 8, LEVEL = 3, TOTALS_MOST = 256 };

static uint64_t
columns_hash(void)
{
	struct buf names = {0};
	for (int c = 0; c < HISTORY_COLUMNS; c++)
		buf_add(&names, history_names[c], strlen(history_names[c]) + 1);
	uint64_t hash = segment_checksum(names.p, names.n);
	buf_fini(&names);
	return hash;
}

static size_t
tiers_bytes(const struct history *h)
{
	size_t n = 0;
	for (int i = 0; i < HISTORY_TIERS; i++)
		n += (size_t)h->tiers[i].count * 4 * (1 + HISTORY_COLUMNS);
	return n;
}

/* ---- out ------------------------------------------------------------------------------------- */

static void
add32(struct buf *out, uint32_t v)
{
	le_put32(buf_room(out, 4), v);
	buf_added(out, 4);
}

static void
add64(struct buf *out, uint64_t v)
{
	le_put64(buf_room(out, 8), v);
	buf_added(out, 8);
}

static void
add_total(struct buf *out, const char *name, double v)
{
	char row[NAME] = "";
	uint64_t bits;
	memcpy(row, name, strnlen(name, NAME - 1));
	memcpy(&bits, &v, sizeof bits);
	buf_add(out, row, sizeof row);
	add64(out, bits);
}

static void
add_tier(struct buf *out, const struct history_tier *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		add32(out, t->stamp[i]);
	for (size_t i = 0; i < (size_t)t->count * HISTORY_COLUMNS; i++) {
		uint32_t bits;
		memcpy(&bits, &t->values[i], sizeof bits);
		add32(out, bits);
	}
}

static void
add_body(const struct history *h, struct buf *body)
{
	add64(body, (uint64_t)h->since_s);
	add32(body, REPORT_RATES);
	add32(body, 0);
	add64(body, columns_hash());
	for (int i = 0; i < REPORT_RATES; i++)
		add_total(body, history_names[i], h->before[i] + h->now[i]);
	for (int i = 0; i < HISTORY_TIERS; i++)
		add_tier(body, &h->tiers[i]);
}

bool
history_save(struct history *h, uint64_t tag, struct buf *out)
{
	struct buf body = {0};
	pthread_mutex_lock(&h->lock);
	bool news = h->now[HISTORY_requests] != h->saved_requests;
	if (news)
		add_body(h, &body);
	h->saved_requests = h->now[HISTORY_requests];
	pthread_mutex_unlock(&h->lock);
	errno = 0;
	if (!news)
		return false;
	size_t from = out->n, most = ZSTD_compressBound(body.n);
	buf_add(out, MAGIC, sizeof MAGIC);
	add64(out, tag);
	add32(out, (uint32_t)body.n);
	add32(out, 0);
	size_t n = ZSTD_compress(buf_room(out, most), most, body.p, body.n, LEVEL);
	buf_fini(&body);
	if (ZSTD_isError(
		    n)) { /* there is room for whatever comes, but it needs memory of its own */
		out->n = from;
		history_unsaved(h);
		errno = ENOMEM;
		return false;
	}
	le_put32(out->p + from + HEAD - 4, (uint32_t)n);
	buf_added(out, n);
	add64(out, segment_checksum(out->p + from, out->n - from));
	return true;
}

void
history_unsaved(struct history *h)
{
	pthread_mutex_lock(&h->lock);
	h->saved_requests = -1;
	pthread_mutex_unlock(&h->lock);
}

/* ---- in -------------------------------------------------------------------------------------- */

/* The body of a snapshot that is whole; *why says why not. The caller frees it. */
static char *
unpack(uint64_t tag, struct str bytes, size_t most, size_t *n, const char **why)
{
	*why = "it is damaged";
	if (bytes.n < HEAD + SUM || memcmp(bytes.p, MAGIC, sizeof MAGIC) != 0)
		return NULL;
	size_t whole = le_get32(bytes.p + 16), stored = le_get32(bytes.p + 20);
	if (stored != bytes.n - HEAD - SUM || whole < BODY_HEAD || whole > most ||
	    le_get64(bytes.p + bytes.n - SUM) != segment_checksum(bytes.p, bytes.n - SUM))
		return NULL;
	if (le_get64(bytes.p + 8) != tag) {
		*why = "it belongs to another cache directory";
		return NULL;
	}
	char *body = mem_alloc(whole);
	*n = ZSTD_decompress(body, whole, bytes.p + HEAD, stored);
	if (*n == whole)
		return body;
	free(body);
	return NULL;
}

static void
load_total(struct history *h, const char *row)
{
	uint64_t bits = le_get64(row + NAME);
	double v;
	memcpy(&v, &bits, sizeof v);
	for (int i = 0; i < REPORT_RATES && isfinite(v) && v >= 0; i++)
		if (strncmp(row, history_names[i], NAME) == 0)
			h->before[i] = v;
}

static const char *
load_tier(struct history_tier *t, const char *from)
{
	for (uint32_t i = 0; i < t->count; i++, from += 4)
		t->stamp[i] = le_get32(from);
	for (size_t i = 0; i < (size_t)t->count * HISTORY_COLUMNS; i++, from += 4) {
		uint32_t bits = le_get32(from);
		memcpy(&t->values[i], &bits, sizeof bits);
	}
	return from;
}

const char *
history_load(struct history *h, uint64_t tag, struct str bytes)
{
	const char *why;
	size_t n = 0, tiers = tiers_bytes(h);
	char *body = unpack(tag, bytes, BODY_HEAD + TOTALS_MOST * TOTAL + 2 * tiers, &n, &why);
	if (!body)
		return why;
	uint32_t totals = le_get32(body + 8);
	size_t behind = BODY_HEAD + (size_t)totals * TOTAL;
	if (totals <= TOTALS_MOST && behind <= n) {
		h->since_s = (int64_t)le_get64(body);
		for (uint32_t i = 0; i < totals; i++)
			load_total(h, body + BODY_HEAD + (size_t)i * TOTAL);
		const char *at = body + behind;
		if (le_get64(body + 16) == columns_hash() && n - behind == tiers)
			for (int i = 0; i < HISTORY_TIERS; i++)
				at = load_tier(&h->tiers[i], at);
		why = NULL;
	}
	free(body);
	return why;
}
