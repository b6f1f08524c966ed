/* questions.c - queries of /history and /explain. */
#include "proxy/admin/questions.h"

#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdlib.h>
#include <string.h>

static int
refuse(struct buf *out, const char *sentence)
{
	buf_printf(out, "%s\n", sentence);
	return 400;
}

/* The number that a query says; otherwise when it does not; false: it says no number. */
static bool
number_of(const struct evkeyvalq *pairs, const char *name, int64_t otherwise, int64_t *out)
{
	const char *value = evhttp_find_header(pairs, name);
	*out = otherwise;
	if (!value)
		return true;
	size_t n = strspn(value, "0123456789");
	*out = n && n < 18 && !value[n] ? strtoll(value, NULL, 10) : otherwise;
	return n && n < 18 && !value[n];
}

int
questions_history(const struct admin_source *s, const char *query, struct buf *out)
{
	struct evkeyvalq pairs;
	int64_t step = 1, since = -1;
	if (query && evhttp_parse_query_str(query, &pairs) < 0)
		return refuse(out, "the query is malformed");
	bool fine = !query ||
		    (number_of(&pairs, "step", 1, &step) && number_of(&pairs, "since", -1, &since));
	if (query)
		evhttp_clear_headers(&pairs);
	if (fine && s->history(s->ctx, step, since, out))
		return 200;
	buf_empty(out, 0);
	return refuse(out, "ask for /history?step=1, 10 or 300 (seconds), and "
			   "&since=UNIX_SECONDS for what came later");
}

/* The headers of the question as lines; a line end within one is for explain to refuse. */
static void
add_headers(const struct evkeyvalq *pairs, struct buf *out)
{
	for (const struct evkeyval *kv = pairs->tqh_first; kv; kv = kv->next.tqe_next)
		if (strcmp(kv->key, "header") == 0 && !strpbrk(kv->value, "\r\n"))
			buf_printf(out, "%s\r\n", kv->value);
}

int
questions_explain(const struct admin_source *s, const char *query, struct buf *out)
{
	struct evkeyvalq pairs;
	struct buf fields = {0};
	const char *no =
		"ask for /explain?url=http://host/path, &header=Name:%20value for each header of the "
		"request, and &from=192.0.2.1 for the client's address";
	if (!query || evhttp_parse_query_str(query, &pairs) < 0)
		return refuse(out, no);
	const char *url = evhttp_find_header(&pairs, "url");
	const char *from = evhttp_find_header(&pairs, "from");
	add_headers(&pairs, &fields);
	const struct explain_order o = {.url = str_of(url ? url : ""),
					.fields = buf_str(&fields),
					.from = str_of(from ? from : "")};
	if (url)
		no = s->explain(s->ctx, &o, out);
	evhttp_clear_headers(&pairs);
	buf_fini(&fields);
	return no ? refuse(out, no) : 200;
}
