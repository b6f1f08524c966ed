/* digest_parts.c - a line of two numbers, and bytes. */
#include "proxy/fleet/digest_parts.h"

#include "filter/family/digest.h"
#include "proxy/fleet/control.h"
#include "proxy/fleet/node_id.h"
#include "proxy/fleet/replica.h"
#include "proxy/http/syntax.h"

#include <assert.h>
#include <stdio.h>

/* A digest of another number of bits would say nothing. */
enum { TAG = REPLICA_HASH_BITS };

static const char MADE[] = CONTROL_DIGEST "?made=", AT[] = "&at=";

/* ---- whoever has it ------------------------------------------------------------------------ */

static int
write_to(void *ctx, const void *bytes, size_t n)
{
	buf_add(ctx, bytes, n);
	return 0;
}

void
digest_parts_save(const struct twice_digest *d, struct buf *out)
{
	int r = twice_digest_save(
		d, &(struct twice_snapshot_sink){.write = write_to, .ctx = out, .tag = TAG});
	assert(r == 0);
}

/* "0": none. */
static bool
read_number(struct str text, uint64_t *out)
{
	*out = 0;
	return str_eq(text, STR("0")) || node_id_parse(text, out);
}

bool
digest_parts_asked(struct str target, uint64_t *made, uint64_t *at)
{
	struct str number, place;
	int64_t n;
	if (!str_starts(target, STR(MADE)))
		return false;
	target = str_from(target, strlen(MADE));
	number = str_before(target, '&');
	place = str_from(target, number.n);
	if (!str_starts(place, STR(AT)) || !read_number(number, made) ||
	    !digits_parse(str_from(place, strlen(AT)), &n))
		return false;
	*at = (uint64_t)n;
	return true;
}

void
digest_parts_answer(struct str whole, uint64_t number, uint64_t made, uint64_t at, struct buf *out)
{
	char text[NODE_ID_TEXT + 1] = "0";
	if (made != number || at > whole.n)
		at = 0;
	if (whole.n)
		node_id_print(number, text);
	buf_printf(out, "%s %zu\n", text, whole.n);
	struct str rest = str_from(whole, (size_t)at);
	buf_add(out, rest.p, rest.n < DIGEST_PART ? rest.n : DIGEST_PART);
}

/* ---- whoever asks -------------------------------------------------------------------------- */

void
digest_parts_fini(struct digest_parts *p)
{
	buf_fini(&p->bytes);
	*p = (struct digest_parts){0};
}

void
digest_parts_target(const struct digest_parts *p, char out[DIGEST_PARTS_TARGET])
{
	char text[NODE_ID_TEXT + 1] = "0";
	if (p->made)
		node_id_print(p->made, text);
	int n = snprintf(out, DIGEST_PARTS_TARGET, "%s%s%s%zu", MADE, text, AT, p->bytes.n);
	assert(n < DIGEST_PARTS_TARGET);
}

static enum digest_parts_step
drop(struct digest_parts *p, enum digest_parts_step step)
{
	digest_parts_fini(p);
	return step;
}

enum digest_parts_step
digest_parts_take(struct digest_parts *p, struct str content)
{
	struct str line, bytes, number, length;
	uint64_t made;
	int64_t total;
	if (!str_cut(content, '\n', &line, &bytes) || !str_cut(line, ' ', &number, &length) ||
	    !read_number(number, &made) || !digits_parse(length, &total) ||
	    (made == 0) != (total == 0) || total > DIGEST_PARTS_MOST)
		return drop(p, DIGEST_PARTS_WRONG);
	if (made != p->made) {
		digest_parts_fini(p);
		p->made = made;
		p->total = (uint64_t)total;
	}
	if ((uint64_t)total != p->total || bytes.n > p->total - p->bytes.n ||
	    (bytes.n == 0) != (total == 0))
		return drop(p, DIGEST_PARTS_WRONG);
	if (!total)
		return drop(p, DIGEST_PARTS_NONE);
	buf_add_str(&p->bytes, bytes);
	return p->bytes.n < p->total ? DIGEST_PARTS_MORE : DIGEST_PARTS_WHOLE;
}

struct twice_digest *
digest_parts_load(struct digest_parts *p, const char **why)
{
	struct twice_snapshot_buffer b = {.bytes = (unsigned char *)p->bytes.p, .size = p->bytes.n};
	struct twice_snapshot_source from = {
		.read = twice_snapshot_buffer_read, .ctx = &b, .tag = TAG, .limit = p->bytes.n};
	struct twice_digest *d = twice_digest_load(&from);
	*why = d ? NULL : twice_snapshot_word(from.fault);
	if (d && b.used < b.size) {
		*why = "there is more behind its end";
		twice_digest_destroy(&d);
	}
	digest_parts_fini(p);
	return d;
}
