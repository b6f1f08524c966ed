/* top.c - the sketches of all workers as one. */
#include "proxy/node/top.h"

#include <jansson.h>
#include <stdlib.h>

enum { TOLD_MOST = 20 };

/* Bytes that are not printable ASCII are written %HH, as in a URL. */
static json_t *
text_of(const struct hot_name *n)
{
	struct buf b = {0};
	for (unsigned i = 0; i < n->bytes; i++) {
		unsigned char c = (unsigned char)n->text[i];
		if (c > 0x20 && c < 0x7f)
			buf_add(&b, &n->text[i], 1);
		else
			buf_printf(&b, "%%%02X", c);
	}
	if (n->bytes == HOT_NAME_BYTES)
		buf_add_lit(&b, "...");
	json_t *text = json_stringn(b.p, b.n);
	buf_fini(&b);
	return text;
}

static json_t *
json_of(const struct hot_sum *s)
{
	json_t *all = json_array();
	for (unsigned i = 0; i < TOLD_MOST && i < s->n; i++) {
		const struct hot_name *n = &s->names[i];
		json_array_append_new(all, json_pack("{s:o, s:f, s:f}", "name", text_of(n), "share",
						     n->weight / s->total, "at_least",
						     (n->weight - n->error) / s->total));
	}
	return all;
}

void
top_json(struct worker *workers, unsigned worker_count, struct buf *out)
{
	static const char *const names[HOT_TABLES] = {
		[HOT_URLS] = "urls",
		[HOT_HOSTS] = "hosts",
		[HOT_FIRST_SIGHT] = "first_sight_bytes",
		[HOT_ADMITTED] = "admitted_bytes",
	};
	json_t *top = json_pack("{s:i}", "halved_every_s", HOT_MINUTE_S);
	for (int t = 0; t < HOT_TABLES; t++) {
		struct hot_sum sum = {0};
		for (unsigned i = 0; i < worker_count; i++)
			hot_read(&workers[i].hot, (enum hot_table)t, now_s(), &sum);
		hot_sort(&sum);
		json_object_set_new(top, names[t], json_of(&sum));
		hot_sum_fini(&sum);
	}
	char *text = json_dumps(top, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	buf_printf(out, "%s\n", text ? text : "{}");
	free(text);
	json_decref(top);
}
