/* fuzz_orders.c - a purge that a stranger sends: as a query, or with bit 0 of the first byte as a body.
 * rooms: admin http base
 *
 * What is read has names within the text; the same orders as a form are read the same. What is
 * wrong has a sentence.
 */
#include "proxy/admin/orders.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

static void
add_encoded(struct str s, struct buf *out)
{
	for (size_t i = 0; i < s.n; i++)
		buf_printf(out, "%%%02x", (unsigned char)s.p[i]);
}

static void
read_again(const struct orders *o)
{
	static const char *const names[FORGET_KINDS] = {[FORGET_URL] = "url",
							[FORGET_PREFIX] = "prefix",
							[FORGET_HOST] = "host",
							[FORGET_TAG] = "tag",
							[FORGET_ALL] = "all"};
	struct buf form = {0};
	struct orders again;
	for (unsigned i = 0; i < o->n; i++) {
		const struct purge_order *one = &o->list[i];
		buf_printf(&form, "&%s=", names[one->kind]);
		if (one->kind == FORGET_ALL)
			buf_add_lit(&form, "1");
		add_encoded(one->name, &form);
	}
	if (o->list[0].soft)
		buf_add_lit(&form, "&soft=true");
	if (!orders_read(buf_str(&form), (struct str){0}, &again) || again.n != o->n)
		abort();
	for (unsigned i = 0; i < o->n; i++)
		if (again.list[i].kind != o->list[i].kind ||
		    again.list[i].soft != o->list[i].soft ||
		    !str_eq(again.list[i].name, o->list[i].name))
			abort();
	orders_fini(&again);
	buf_fini(&form);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	struct orders o;
	if (n < 1 || n > 1 << 16)
		return 0;
	char *p = malloc(n); /* exactly, so that a look behind the end is noticed */
	memcpy(p, data + 1, n - 1);
	struct str text = {p, n - 1}, none = {NULL, 0};
	if (orders_read(data[0] & 1 ? none : text, data[0] & 1 ? text : none, &o)) {
		struct purge_result *r = calloc(o.n, sizeof *r);
		struct buf answer = {0};
		int status;
		r[o.n - 1].refused = data[0] & 2 ? "no" : NULL;
		r[0].durable = data[0] & 4;
		orders_answer(&o, r, &(struct purge_others){0}, &status, &answer);
		if (!answer.n || (status == 400) != ((data[0] & 2) != 0))
			abort();
		read_again(&o);
		buf_fini(&answer);
		free(r);
	} else if (!o.wrong.n) {
		abort();
	}
	orders_fini(&o);
	free(p);
	return 0;
}
