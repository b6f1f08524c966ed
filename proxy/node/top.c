/* top.c - the sketches of all workers as one. */
#include "proxy/node/top.h"

#include "proxy/base/mem.h"

#include <jansson.h>
#include <stdlib.h>

enum { TOLD_MOST = 20 };

/* What is not printable ASCII is written %HH, as it would be in a URL. */
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
json_of(const struct hot_list *l)
{
	json_t *all = json_array();
	for (int i = 0; i < TOLD_MOST && l->names[i].bytes; i++) {
		const struct hot_name *n = &l->names[i];
		json_array_append_new(all, json_pack("{s:o, s:f, s:f}", "name", text_of(n), "share",
						     n->weight / l->total, "at_least",
						     (n->weight - n->error) / l->total));
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
	struct hot_list *l = NEW(struct hot_list);
	json_t *top = json_pack("{s:i}", "halved_every_s", HOT_MINUTE_S);
	for (int t = 0; t < HOT_TABLES; t++) {
		memset(l, 0, sizeof *l);
		for (unsigned i = 0; i < worker_count; i++)
			hot_read(&workers[i].hot, (enum hot_table)t, now_s(), l);
		hot_sort(l);
		json_object_set_new(top, names[t], json_of(l));
	}
	char *text = json_dumps(top, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	buf_printf(out, "%s\n", text ? text : "{}");
	free(text);
	json_decref(top);
	free(l);
}
