/* whatif_snapshot.c - what the rows hold and remember, as bytes, and back.
 *
 *	head   8 "TWwhat01", 8 tag, 4 bytes of the body, 4 the same packed
 *	body   packed with zstd; for each row 4 number, 4 bytes of its ghost (ghost_snapshot.c),
 *	       these, 4 bytes of its memory of sightings, these; numbers in little-endian order
 *	sum    8 XXH3 of all before
 *
 * A row that has other settings by now takes what fits them: a ghost is loaded into a disk of any
 * size, and a filter of another kind is left out.
 */
#include "proxy/cache/ghost/whatif_inside.h"

#include "proxy/base/le.h"
#include "proxy/cache/store/segment.h"

#include <string.h>
#include <zstd.h>

static const char MAGIC[8] = "TWwhat01";
enum { HEAD = 24, SUM = 8, BODY_MOST = 16 << 20, GHOST_MOST = 1 << 20 };

static void
add_number(struct buf *out, uint32_t n)
{
	char bytes[4];
	le_put32(bytes, n);
	buf_add(out, bytes, sizeof bytes);
}

static int
write_to_buf(void *ctx, const void *bytes, size_t n)
{
	buf_add(ctx, bytes, n);
	return 0;
}

static void
save_row(const struct whatif_cell *c, uint32_t row, const struct twice_filter_place *place,
	 struct buf *out)
{
	uint64_t tag = twice_seed_fingerprint(place->seed);
	add_number(out, row);
	size_t at = out->n;
	add_number(out, 0);
	ghost_snapshot_save(c->ghost, tag, GHOST_MOST, out);
	le_put32(out->p + at, (uint32_t)(out->n - at - 4));
	at = out->n;
	add_number(out, 0);
	if (c->memory &&
	    twice_filter_save(c->memory, place,
			      (struct twice_snapshot_sink){.write = write_to_buf, .ctx = out}))
		out->n = at + 4;
	le_put32(out->p + at, (uint32_t)(out->n - at - 4));
}

void
whatif_save(struct whatif *w, const struct twice_filter_place *place, uint64_t most,
	    struct buf *out)
{
	struct buf body = {0};
	char head[HEAD] = {0}, sum[SUM];
	for (uint32_t i = 0; i < WHATIF_ROWS; i++)
		if (w->rows[i].ghost)
			save_row(&w->rows[i], i, place, &body);
	size_t from = out->n, room = ZSTD_compressBound(body.n);
	memcpy(head, MAGIC, sizeof MAGIC);
	buf_add(out, head, HEAD);
	size_t n = ZSTD_compress(buf_room(out, room), room, body.p, body.n, 1);
	if (ZSTD_isError(n) || n + HEAD + SUM > most || body.n > BODY_MOST) {
		out->n = from;
	} else {
		buf_added(out, n);
		le_put64(out->p + from + 8, twice_seed_fingerprint(place->seed));
		le_put32(out->p + from + 16, (uint32_t)body.n);
		le_put32(out->p + from + 20, (uint32_t)n);
		le_put64(sum, segment_checksum(out->p + from, out->n - from));
		buf_add(out, sum, sizeof sum);
	}
	buf_fini(&body);
}

/* ---- in ------------------------------------------------------------------------------------ */

/* So many bytes behind their number; false: they are not there. */
static bool
take_part(struct str *from, struct str *part)
{
	if (from->n < 4)
		return false;
	uint32_t n = le_get32(from->p);
	*from = str_from(*from, 4);
	if (n > from->n)
		return false;
	*part = (struct str){from->p, n};
	*from = str_from(*from, n);
	return true;
}

static size_t
read_from_str(void *ctx, void *bytes, size_t n)
{
	struct str *from = ctx;
	n = n < from->n ? n : from->n;
	if (n)
		memcpy(bytes, from->p, n);
	*from = str_from(*from, n);
	return n;
}

static void
load_memory(struct whatif_cell *c, const struct twice_filter_place *place, struct str bytes)
{
	struct twice_filter *loaded = NULL;
	struct twice_snapshot_source from = {
		.read = read_from_str, .ctx = &bytes, .limit = bytes.n};
	if (!c->memory || !bytes.n || twice_filter_load(&loaded, &c->options, place, from))
		return;
	twice_filter_destroy(&c->memory);
	c->memory = loaded;
	c->turning = (struct turning){.filter = c->turning.filter ? loaded : NULL,
				      .now_s = place->now_s};
}

static const char *
load_rows(struct whatif *w, const struct twice_filter_place *place, struct str body)
{
	uint64_t tag = twice_seed_fingerprint(place->seed);
	bool had[WHATIF_ROWS] = {false};
	while (body.n) {
		struct str ghost, memory;
		uint32_t row = body.n >= 4 ? le_get32(body.p) : WHATIF_ROWS;
		body = str_from(body, 4);
		if (!take_part(&body, &ghost) || !take_part(&body, &memory) || row >= WHATIF_ROWS ||
		    had[row])
			return "it is damaged";
		struct whatif_cell *c = &w->rows[row];
		had[row] = true;
		if (!c->ghost)
			continue;
		const char *why = ghost_snapshot_load(c->ghost, tag, ghost);
		if (why)
			return why;
		load_memory(c, place, memory);
	}
	whatif_align(w);
	return NULL;
}

const char *
whatif_load(struct whatif *w, const struct twice_filter_place *place, struct str bytes)
{
	if (bytes.n < HEAD + SUM || memcmp(bytes.p, MAGIC, sizeof MAGIC) != 0)
		return "it is of another kind";
	if (le_get64(bytes.p + bytes.n - SUM) != segment_checksum(bytes.p, bytes.n - SUM))
		return "it is damaged";
	if (le_get64(bytes.p + 8) != twice_seed_fingerprint(place->seed))
		return "it belongs to another cache directory";
	uint32_t n = le_get32(bytes.p + 16), packed = le_get32(bytes.p + 20);
	if (n > BODY_MOST || packed != bytes.n - HEAD - SUM)
		return "it is damaged";
	struct buf body = {0};
	size_t got = ZSTD_decompress(buf_room(&body, n + 1u), n, bytes.p + HEAD, packed);
	bool right = !ZSTD_isError(got) && got == n;
	buf_added(&body, right ? n : 0);
	const char *why = right ? load_rows(w, place, buf_str(&body)) : "it is damaged";
	buf_fini(&body);
	return why;
}
