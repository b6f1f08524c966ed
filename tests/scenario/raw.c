/* Exchanges over raw sockets: what a connection carries, byte by byte, and what becomes of it.
 *
 * tests/vectors/wire/exchanges*.txt has a row for each. A row runs three times on connections of
 * its own: sent at once, byte by byte, and at once with the client's end behind it; each time the
 * same must come of it. The words of a row:
 *
 *	[a sentence]         what it is
 *	send BYTES           what the client sends: \r \n \t \\ \xHH; several lines are joined
 *	repeat N TEXT        the same, many times
 *	gets 200 H200 400    the statuses of the answers, in order; H: to a HEAD, so without a body
 *	asks GET /a, PUT /b  what reached the origin as whole requests, in order; without it: nothing
 *	open                 the connection is in step afterwards: a further request is answered
 *	                     (without it: it is closed, and nothing comes behind the answers)
 *	hidden TEXT          is seen neither by the origin nor in an answer
 *	once                 too long to be sent byte by byte
 *
 * "/kept" is in the cache, with the tag "k"; every other path is the origin's, and not stored.
 */
#include "tests/kit/kit.h"
#include "tests/kit/vectors.h"

struct row {
	char *name, *gets, *asks;
	char *bytes, *hidden;
	size_t n, hidden_n;
	bool open, once;
};

static void
add(struct row *r, const char *p, size_t n, long times)
{
	r->bytes = realloc(r->bytes, r->n + n * (size_t)times + 1);
	for (; times > 0; times--, r->n += n)
		memcpy(r->bytes + r->n, p, n);
	r->bytes[r->n] = 0;
}

static const char *
behind(const char *line, const char *word)
{
	size_t n = strlen(word);
	return strncmp(line, word, n) == 0 && (!line[n] || line[n] == ' ') ? line + n + !!line[n]
									   : NULL;
}

static void
read_word(void *row, const char *line)
{
	struct row *r = row;
	char *out = malloc(strlen(line) + 1);
	const char *rest;
	if ((rest = behind(line, "send"))) {
		add(r, out, vector_unescape(rest, out), 1);
	} else if ((rest = behind(line, "repeat"))) {
		const char *space = strchr(rest, ' ');
		add(r, out, vector_unescape(space + 1, out), atol(rest));
	} else if ((rest = behind(line, "gets"))) {
		r->gets = strdup(rest);
	} else if ((rest = behind(line, "asks"))) {
		r->asks = strdup(rest);
	} else if ((rest = behind(line, "hidden"))) {
		r->hidden = out;
		r->hidden_n = vector_unescape(rest, out);
	} else if (behind(line, "open")) {
		r->open = true;
	} else if (behind(line, "once")) {
		r->once = true;
	} else {
		fail("%s: what is \"%s\"?", r->name, line);
	}
}

static void
begin_row(void *row, char *name)
{
	*(struct row *)row =
		(struct row){.name = name, .gets = text("%s", ""), .asks = text("%s", "")};
}

static struct row *
read_rows(const char *file, int *count)
{
	return vectors_read(file, sizeof(struct row), begin_row, read_word, count);
}

/* ---- one exchange ---------------------------------------------------------------------------- */

enum way { AT_ONCE, BYTE_BY_BYTE, WITH_ITS_END, WAYS };
static const char *const way_words[] = {"at once", "byte by byte", "with its end"};

/* "GET /a, POST /b": the whole requests since before. */
static char *
asked(int before)
{
	char *all = text("%s", "");
	for (int i = before; i < origin_requests(); i++)
		if (origin_request(i)->whole)
			all = text("%s%s%s %s", all, *all ? ", " : "", origin_request(i)->method,
				   origin_request(i)->target);
	return all;
}

static void
send_as(struct client *c, const struct row *r, enum way way)
{
	size_t step = way == BYTE_BY_BYTE ? 1 : r->n;
	for (size_t i = 0; i < r->n; i += step)
		client_send_bytes(c, r->bytes + i, step);
	if (way == WITH_ITS_END)
		client_half_close(c);
}

/* Returns a fault of the connection's end, or NULL. */
static const char *
wrong_end(struct client *c, const struct row *r, enum way way)
{
	size_t extra;
	if (r->open && way != WITH_ITS_END) {
		client_request(c, "GET", "/kept", NULL);
		struct answer a = client_try(c, "GET");
		return a.status == 200 && !a.fault && strcmp(a.body, "kept") == 0
			       ? NULL
			       : text("out of step: a further request got %d (%s)", a.status,
				      a.fault ? a.fault : a.body);
	}
	if (!client_try_closed(c, KIT_FOREVER, &extra))
		return "the connection stays open";
	return extra ? text("%zu bytes came behind the answers", extra) : NULL;
}

static const char *
wrong_with(const struct row *r, enum way way)
{
	int before = origin_requests();
	size_t mark = origin_mark(), n;
	struct client *c = client_open();
	char *got = text("%s", ""), *save, *list = strdup(r->gets);
	const char *wrong = NULL;
	send_as(c, r, way);
	for (char *want = strtok_r(list, " ", &save); want; want = strtok_r(NULL, " ", &save)) {
		struct answer a = client_try(c, *want == 'H' ? "HEAD" : "GET");
		got = text("%s%s%s%d", got, *got ? " " : "", *want == 'H' ? "H" : "", a.status);
		if (a.fault && !wrong)
			wrong = text("answer %d is bad: %s", a.status, a.fault);
		if (r->hidden && a.status && memmem(a.body, a.body_bytes, r->hidden, r->hidden_n))
			wrong = "what must be hidden is in an answer";
	}
	/* Refused while bytes still come, the last answer may be lost to a reset. */
	if (strcmp(got, r->gets) != 0)
		return text("expected %s, it got %s", r->gets, got);
	if (!wrong)
		wrong = wrong_end(c, r, way);
	client_close(c);
	char *heard = origin_since(mark, &n), *requests = asked(before);
	if (!wrong && strcmp(requests, r->asks) != 0)
		wrong = text("expected \"%s\" at the origin, there was \"%s\"", r->asks, requests);
	if (!wrong && r->hidden && memmem(heard, n, r->hidden, r->hidden_n))
		wrong = "what must be hidden reached the origin";
	return wrong;
}

static void
exchanges(const char *file, int rows_due)
{
	int count = 0, bad = 0;
	struct row *rows = read_rows(file, &count);
	origin_says("/kept", .fields = "Cache-Control: max-age=600\r\n", .body = "kept",
		    .etag = "\"k\"");
	origin_says("*", .fields = "Cache-Control: no-store\r\n", .body = "ok");
	edge_start();
	get("/kept");
	expect_hit(get("/kept"));
	for (int i = 0; i < count; i++) {
		for (enum way way = AT_ONCE; way < WAYS; way++) {
			if (rows[i].once && way == BYTE_BY_BYTE)
				continue;
			const char *wrong = wrong_with(&rows[i], way);
			bad += vector_is_wrong(text("%s (%s)", rows[i].name, way_words[way]),
					       wrong);
		}
	}
	note("%d rows", count);
	expect_int(count, rows_due); /* a row that is not read is not tried */
	expect_status(get("/still-well"), 200);
	expect_int(bad, 0);
}

SCENARIO_IN(120, "exchanges: heads")
{
	exchanges("exchanges-heads.txt", 183);
}

SCENARIO_IN(120, "exchanges: bodies")
{
	exchanges("exchanges-bodies.txt", 98);
}

SCENARIO_IN(120, "exchanges: one request after the other")
{
	exchanges("exchanges-pipelines.txt", 44);
}
