/* fuzz_reply.c - an origin's bytes as the response to GET or HEAD.
 * rooms: origin http base
 *
 * A GET asks to switch to websocket. The first byte chooses the method and where the bytes are cut in two. Cut or not, the response
 * must be the same: head, body, how it ends and how many bytes are left over.
 */
#include "proxy/origin/reply.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

struct seen {
	struct buf heads, body;
	enum reply_step last;
	enum reply_phase phase;
	size_t left;
};

static void
read_all(struct reply *r, struct str in, struct seen *s)
{
	const char *why;
	struct str data;
	while (s->last != REPLY_END && s->last != REPLY_REFUSED) {
		s->last = reply_read(r, &in, &data, &why);
		if (s->last == REPLY_INTERIM || s->last == REPLY_HEAD)
			buf_add_str(&s->heads, buf_str(&r->head));
		else if (s->last == REPLY_BODY)
			buf_add_str(&s->body, data);
		else if (s->last == REPLY_END)
			buf_add_str(&s->heads, buf_str(&r->trailers));
		else if (s->last == REPLY_REFUSED && !why[0])
			abort();
		else if (s->last == REPLY_MORE)
			break;
	}
	s->phase = r->phase;
	s->left += in.n;
}

static struct seen
see(struct str a, struct str b, bool to_head)
{
	struct reply r = {0};
	struct seen s = {.last = REPLY_MORE};
	struct field fields[FIELDS_MAX];
	reply_begin(&r, to_head, to_head ? STR("") : STR("websocket"), fields);
	read_all(&r, a, &s);
	read_all(&r, b, &s);
	reply_fini(&r);
	return s;
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	if (n < 2)
		return 0;
	struct str all = {(const char *)data + 1, n - 1};
	size_t cut = (size_t)(data[0] >> 1) * all.n / 128;
	bool to_head = data[0] & 1;
	struct seen whole = see(all, (struct str){0}, to_head);
	struct seen parts = see((struct str){all.p, cut}, str_from(all, cut), to_head);
	if (whole.last != parts.last || !str_eq(buf_str(&whole.heads), buf_str(&parts.heads)))
		abort();
	if (whole.last != REPLY_REFUSED &&
	    (whole.left != parts.left || !str_eq(buf_str(&whole.body), buf_str(&parts.body))))
		abort();
	buf_fini(&whole.heads);
	buf_fini(&whole.body);
	buf_fini(&parts.heads);
	buf_fini(&parts.body);
	return 0;
}
