/* parse_triple.c - traces of three numbers: `time id size`, in text and as libCacheSim has them. */
#include "proxy/simulate/parse_inside.h"

#include "proxy/base/mem.h"

#include <stdlib.h>

/* The first words, apart by blanks, tabs or commas. */
static void
split_triple(struct str line, struct str part[3])
{
	size_t at = 0;
	for (int i = 0; i < 3; i++) {
		while (at < line.n &&
		       (line.p[at] == ' ' || line.p[at] == '\t' || line.p[at] == ','))
			at++;
		size_t from = at;
		while (at < line.n && line.p[at] != ' ' && line.p[at] != '\t' && line.p[at] != ',')
			at++;
		part[i] = (struct str){line.p + from, at - from};
	}
}

/* time id size, or time size id; what follows is not read. */
bool
parse_triple(struct parsing *p, struct str line, struct entry *e)
{
	struct str part[3];
	split_triple(line, part);
	bool sized = p->format == FORMAT_SIZED;
	struct str id = part[sized ? 2 : 1], size = part[sized ? 1 : 2];
	uint64_t n;
	struct str whole = str_before(part[0], '.');
	if (!value_number(part[0], &n) || !value_number(size, &e->bytes) || !id.n)
		return false;
	/* Counters are times here too, and are taken as they are: no guess at their unit. */
	if (n < UINT64_C(100000000000))
		e->has_time = value_time(part[0], &e->time_us);
	else
		e->has_time = value_time(whole, &e->time_us);
	e->whole_size = e->has_bytes = true;
	e->has_id = value_number(id, &e->id);
	if (!e->has_id)
		e->target = id;
	return e->has_time;
}

/* ---- which of the last two is the size ------------------------------------------------------ */

enum { LEAST_PROOF = 3, MOST_LINES = 4096 };

struct couple {
	uint64_t one, other;
};

/* FNV-1a: it need not withstand anybody. */
static uint64_t
number_of(struct str s)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * UINT64_C(0x100000001b3);
	return h;
}

static int
by_one(const void *pa, const void *pb)
{
	const struct couple *a = pa, *b = pb;
	if (a->one != b->one)
		return a->one < b->one ? -1 : 1;
	return (a->other > b->other) - (a->other < b->other);
}

/* How many of the repetitions of one have another one beside them: none, if one is an id. */
static size_t
count_changes(struct couple *rows, size_t n, size_t *repeated)
{
	size_t changes = 0;
	*repeated = 0;
	qsort(rows, n, sizeof *rows, by_one);
	for (size_t i = 1; i < n; i++) {
		if (rows[i].one != rows[i - 1].one)
			continue;
		++*repeated;
		changes += rows[i].other != rows[i - 1].other;
	}
	return changes;
}

static size_t
read_couples(struct str first, struct couple *rows, bool *more)
{
	size_t n = 0;
	while (first.n && n < MOST_LINES) {
		struct str line, part[3], rest;
		if (!parse_cut(&first, CUT_LINES, &line) && n > 0)
			break;
		split_triple(line, part);
		if (!part[2].n || line.p[0] == '#')
			continue;
		rest = str_from(line, (size_t)(part[2].p + part[2].n - line.p));
		*more = *more || str_trim(rest).n > 0;
		rows[n++] = (struct couple){number_of(part[1]), number_of(part[2])};
	}
	return n;
}

/* An id has one size, or few; a size has many ids. Where there are more columns than three and
 * neither holds, it is something else. */
enum format
parse_order_of_triples(struct str first)
{
	struct couple *rows = mem_alloc(MOST_LINES * sizeof *rows);
	bool more = false;
	size_t n = read_couples(first, rows, &more), repeated_ids, repeated_sizes;
	size_t sizes = count_changes(rows, n, &repeated_ids);
	for (size_t i = 0; i < n; i++)
		rows[i] = (struct couple){rows[i].other, rows[i].one};
	size_t ids = count_changes(rows, n, &repeated_sizes);
	free(rows);
	if (sizes >= LEAST_PROOF && sizes > 2 * ids)
		return FORMAT_SIZED;
	bool neither = sizes >= LEAST_PROOF && 2 * sizes > repeated_ids && 2 * ids > repeated_sizes;
	return more && neither ? FORMAT_AUTO : FORMAT_TRIPLE;
}

/* ---- libCacheSim's oracleGeneral: u32 time, u64 id, u32 size, i64 next; little endian ---------
 */

bool
parse_oracle(struct str record, struct entry *e)
{
	uint32_t time, size;
	if (record.n != ORACLE_BYTES)
		return false;
	*e = (struct entry){.status = ENTRY_NO_STATUS,
			    .has_time = true,
			    .has_id = true,
			    .has_bytes = true,
			    .whole_size = true};
	memcpy(&time, record.p, 4);
	memcpy(&e->id, record.p + 4, 8);
	memcpy(&size, record.p + 12, 4);
	e->time_us = (int64_t)time * 1000000;
	e->bytes = size;
	return size > 0;
}

/* Times do not go back, sizes are not zero, and it is no text. */
bool
parse_is_oracle(struct str first)
{
	enum { LEAST = 2, MOST = 64 };
	struct entry e;
	int64_t last = 0;
	unsigned n = 0;
	for (; n < MOST && first.n >= ORACLE_BYTES; n++, first = str_from(first, ORACLE_BYTES)) {
		int64_t next;
		memcpy(&next, first.p + 16, 8);
		if (!parse_oracle((struct str){first.p, ORACLE_BYTES}, &e) || e.time_us < last ||
		    next < -1 || !memchr(first.p, 0, ORACLE_BYTES))
			return false;
		last = e.time_us;
	}
	return n >= LEAST || (n == 1 && first.n == 0);
}
