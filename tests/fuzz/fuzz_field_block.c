/* fuzz_field_block.c - bytes from a disk that somebody else wrote to, read as a stored head.
 * rooms: http base
 *
 * Everything believed lies within the input; a block that passes the check is written back as the
 * same text.
 */
#include "proxy/http/field_block.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

static void
same_again(const struct field_block *b, const struct fields *f)
{
	struct field_block_writer w;
	struct field_block again;
	struct buf out = {0};
	field_block_begin(&w, &out, b->status, field_block_reason(b));
	for (unsigned i = 0; i < f->n; i++)
		field_block_add(&w, f->v[i].id, f->v[i].name, f->v[i].value);
	field_block_end(&w);
	bool long_reason = field_block_reason(b).n > 512;
	if (!field_block_open(buf_str(&out), &again) || !str_eq(again.lines, b->lines) ||
	    (!long_reason && !str_eq(again.start, b->start)))
		abort();
	buf_fini(&out);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	static struct field v[FIELDS_MAX];
	struct fields f = {.v = v, .cap = FIELDS_MAX};
	struct field_block b;
	char *p = malloc(n ? n : 1); /* exactly, so that a look behind the end is noticed */
	struct str bytes = {p, n};

	memcpy(p, data, n);
	bool sound = field_block_check(bytes);
	if (!field_block_open(bytes, &b)) {
		if (sound)
			abort();
	} else {
		bool all = field_block_fields(&b, &f);
		for (unsigned i = 0; i < f.n; i++)
			if (v[i].name.p < p || v[i].value.p + v[i].value.n > p + n ||
			    v[i].id >= FIELD_COUNT)
				abort();
		(void)field_block_reason(&b);
		if (sound && !all)
			abort();
		if (sound)
			same_again(&b, &f);
	}
	free(p);
	return 0;
}
