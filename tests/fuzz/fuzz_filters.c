/* rooms: admin base filter
 * fuzz_filters.c - any requests for named filters, one after the other, each ended by a NUL: a
 * first line "MPATH?QUERY" with a letter for the method, and the body. All are answered by the
 * letter of admin.h, within the bounds.
 */
#include "proxy/admin/filters.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

static const struct filters_limits limits = {.filters = 3, .bytes = 8192};

static void
must(bool truth, const char *why)
{
	if (!truth) {
		fprintf(stderr, "%s\n", why);
		abort();
	}
}

static size_t
lines_of(const char *p, size_t n)
{
	size_t lines = 0;
	for (size_t i = 0; i < n; i++)
		lines += p[i] == '\n';
	return lines;
}

static void
check_json(const struct filters_answer *a)
{
	json_t *top = json_loadb(a->text.p, a->text.n, JSON_REJECT_DUPLICATES, NULL);
	must(top != NULL, "not JSON");
	must(json_integer_value(json_object_get(top, "bytes")) <= (json_int_t)limits.bytes,
	     "more memory than there is");
	json_decref(top);
}

static void
check(const struct filters_request *q, const struct filters_answer *a)
{
	must(a->text.n > 0 && a->text.p[a->text.n - 1] == '\n', "no line");
	must((a->status == 405) == (a->allow != NULL), "Allow is for 405");
	if (a->status >= 400)
		must(lines_of(a->text.p, a->text.n) == 1, "not one sentence");
	else if (strcmp(a->type, "application/json") == 0)
		check_json(a);
	else /* a line for each key */
		must(lines_of(a->text.p, a->text.n) ==
			     lines_of(q->body.p, q->body.n) + (q->body.p[q->body.n - 1] != '\n'),
		     "not a line for each key");
}

static enum evhttp_cmd_type
method_of(char letter)
{
	return letter == 'G'   ? EVHTTP_REQ_GET
	       : letter == 'U' ? EVHTTP_REQ_PUT
	       : letter == 'P' ? EVHTTP_REQ_POST
	       : letter == 'D' ? EVHTTP_REQ_DELETE
			       : EVHTTP_REQ_PATCH;
}

/* z: a request of n bytes, NUL behind it. */
static void
ask(struct filters *all, char *z, size_t n)
{
	size_t line = strcspn(z, "\n");
	struct filters_request q = {.method = method_of(*z), .path = z + (n > 0)};
	struct filters_answer said = {0};
	if (line < n)
		q.body = (struct str){z + line + 1, n - line - 1};
	z[line] = '\0';
	char *query = strchr(q.path, '?');
	if (query) {
		*query = '\0';
		q.query = query + 1;
	}
	if (!filters_own(q.path))
		return;
	filters_answer(all, &q, &said);
	check(&q, &said);
	buf_fini(&said.text);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	struct filters *all = filters_create(&limits);
	char *copy = malloc(n + 1);
	memcpy(copy, data, n);
	copy[n] = '\0';
	for (size_t at = 0, length; at < n; at += length + 1) {
		length = strlen(copy + at);
		ask(all, copy + at, length);
	}
	free(copy);
	filters_destroy(&all);
	return 0;
}
