/* Malformed and edge-case requests and answers over raw sockets: tests/vectors/wire, a row each.
 *
 * For a request row: the status it earns, that the connection closes, and what reached the origin.
 * For an answer row: what the client gets, that nothing of it is stored, and that the next answer
 * is in step. All rows run; the wrong ones are listed. The words of a row:
 *
 *	[a sentence]                  what it is
 *	send BYTES, says BYTES        exact bytes of the client, of the origin: \r \n \t \\ \xHH;
 *	                              several lines are joined
 *	fill BYTE N, repeat N TEXT    many bytes
 *	gets STATUS, forwarded, closed    what it earns (400|501: either); a refusal must also close
 *	                              the connection, and no byte may reach the origin
 *	partly                        the head may reach the origin before the fault shows, the
 *	                              request never whole
 *	heard TEXT, not TEXT          what must, must not have reached the origin (answers: the client)
 *	requests N                    how many requests reached the origin
 *	keeps                         (answers) the origin leaves the connection open afterwards
 *	gets 200 TEXT, cut, 502       (answers) whole with this body; visibly cut; refused. Unless
 *	                              whole, asking again must reach the origin
 */
#include "tests/kit/kit.h"
#include "tests/kit/vectors.h"

#include <ctype.h>

struct row {
	char *name;
	char *bytes; /* to send, or for the origin to say */
	size_t n;
	char *gets;
	char * not [8], *heard[8];
	size_t not_n[8], heard_n[8];
	int nots, heards;
	int requests; /* -1: not said */
	bool partly, keeps;
};

static void
add_bytes(struct row *r, const char *p, size_t n)
{
	size_t room = r->n ? (size_t)1 << (64 - __builtin_clzl(r->n)) : 1; /* as it was left */
	while (r->n + n + 1 > room || !r->bytes) {
		room *= 2;
		r->bytes = realloc(r->bytes, room);
	}
	memcpy(r->bytes + r->n, p, n);
	r->n += n;
	r->bytes[r->n] = 0;
}

static void
add_word(void *row, const char *line)
{
	struct row *r = row;
	size_t k = strcspn(line, " "), n;
	const char *rest = line + k + (line[k] == ' ');
	char *text_ = malloc(strlen(rest) + 1);
	n = vector_unescape(rest, text_);
#define IS(word) (k == strlen(word) && memcmp(line, word, k) == 0)
	if (IS("send") || IS("says")) {
		add_bytes(r, text_, n);
	} else if (IS("fill")) { /* fill BYTE TIMES */
		for (long t = atol(rest + 2); t > 0; t--)
			add_bytes(r, rest, 1);
	} else if (IS("repeat")) { /* repeat TIMES TEXT */
		char *space = strchr(text_, ' ');
		for (long t = atol(text_); t > 0; t--)
			add_bytes(r, space + 1, n - (size_t)(space + 1 - text_));
	} else if (IS("gets")) {
		r->gets = text_;
	} else if (IS("not")) {
		r->not [r->nots] = text_;
		r->not_n[r->nots++] = n;
	} else if (IS("heard") || IS("heard-if-forwarded")) {
		r->heard[r->heards] = text_;
		r->heard_n[r->heards++] = n;
	} else if (IS("requests") || IS("requests-if-forwarded")) {
		r->requests = atoi(rest);
	} else if (IS("partly")) {
		r->partly = true;
	} else if (IS("keeps")) {
		r->keeps = true;
	} else {
		fail("%s: what is \"%s\"?", r->name, line);
	}
#undef IS
}

static void
begin_row(void *row, char *name)
{
	*(struct row *)row = (struct row){.name = name, .bytes = calloc(1, 1), .requests = -1};
}

static struct row *
read_rows(const char *file, int *count)
{
	return vectors_read(file, sizeof(struct row), begin_row, add_word, count);
}

/* Is `one` among "a|b|c"? A status may have a body behind it: "200 ok". */
static bool
among(const char *list, const char *one)
{
	size_t n = strlen(one);
	for (const char *p = list; p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL)
		if (strncmp(p, one, n) == 0 && (p[n] == '|' || !p[n]))
			return true;
	return false;
}

/* Checks what the origin heard of it; status: of the answer, 0 when the connection was just closed. */
static const char *
wrong_at_origin(const struct row *r, int before, size_t mark, bool forwarded, int status)
{
	size_t n;
	char *heard = origin_since(mark, &n);
	int requests = 0; /* whole ones: heads of earlier rows that were refused may come late */
	for (int i = before; i < origin_requests(); i++)
		requests += origin_request(i)->whole;
	if (!forwarded && !r->partly && n && status)
		return text("%zu bytes reached the origin:\n%.300s", n, heard);
	if (!forwarded && r->partly && requests)
		return "it reached the origin as a whole request";
	if (forwarded && r->requests >= 0 && requests != r->requests)
		return text("expected %d requests at the origin, there were %d", r->requests,
			    requests);
	for (int i = 0; i < r->nots; i++)
		if (memmem(heard, n, r->not [i], r -> not_n[i]))
			return text("\"%s\" reached the origin", r->not [i]);
	for (int i = 0; forwarded && i < r->heards; i++)
		if (!memmem(heard, n, r->heard[i], r->heard_n[i]))
			return text("\"%s\" did not reach the origin:\n%.500s", r->heard[i], heard);
	return NULL;
}

static const char *
wrong_with_request(const struct row *r)
{
	int before = origin_requests();
	size_t mark = origin_mark();
	struct client *c = client_open();
	client_send_bytes(c, r->bytes, r->n);
	struct answer a = client_try(c, memcmp(r->bytes, "HEAD", 4) == 0 ? "HEAD" : "GET");
	bool forwarded = a.status == 200;
	const char *got = forwarded ? "forwarded" : a.status ? text("%d", a.status) : "closed";
	const char *wrong = NULL;
	if (a.fault && a.status)
		wrong = text("the answer is bad: %s", a.fault);
	else if (!among(r->gets, got))
		wrong = text("expected %s, it got %s", r->gets, got);
	if (!forwarded) {
		size_t extra;
		if (!client_try_closed(c, KIT_FOREVER, &extra))
			wrong = wrong ? wrong : "the connection stays open";
		else if (extra)
			wrong = wrong ? wrong : "something came after the refusal";
	} else if (r->requests > 0) {
		for (int i = 1; i < r->requests; i++)
			client_try(c, "GET");
	} else {
		client_half_close(c);
		size_t extra;
		client_try_closed(c, KIT_FOREVER, &extra);
	}
	client_close(c);
	return wrong ? wrong : wrong_at_origin(r, before, mark, forwarded, a.status);
}

static void
requests_of(const char *file, int rows_due)
{
	int count, bad = 0;
	struct row *rows = read_rows(file, &count);
	origin_says("*", .fields = "Cache-Control: no-store\r\n", .body = "ok");
	edge_start();
	for (int i = 0; i < count; i++) {
		const char *wrong = wrong_with_request(&rows[i]);
		bad += vector_is_wrong(rows[i].name, wrong);
	}
	note("%d rows", count);
	expect_int(count, rows_due); /* a row that is not read is not tried */
	expect_status(get("/still-well"), 200);
	expect_int(bad, 0);
}

SCENARIO_IN(120, "requests whose framing is in doubt")
{
	requests_of("requests-framing.txt", 34);
}

SCENARIO_IN(120, "requests with broken chunks")
{
	requests_of("requests-chunks.txt", 22);
}

SCENARIO_IN(120, "requests with broken lines")
{
	requests_of("requests-lines.txt", 74);
}

SCENARIO_IN(120, "the same requests, byte by byte")
{
	int count, bad = 0;
	struct row *rows = read_rows("requests-lines.txt", &count);
	origin_says("*", .fields = "Cache-Control: no-store\r\n", .body = "ok");
	edge_start();
	for (int i = 0; i < count; i++) {
		struct client *c = client_open();
		for (size_t k = 0; k < rows[i].n; k++)
			client_send_bytes(c, rows[i].bytes + k, 1);
		struct answer a = client_try(c, "GET");
		client_close(c);
		const char *got = a.status == 200 ? "forwarded"
				  : a.status	  ? text("%d", a.status)
						  : "closed";
		/* Refused while bytes still come, the answer may be lost to a reset. */
		if (!among(rows[i].gets, got) &&
		    !(a.status == 0 && strcmp(rows[i].gets, "forwarded") != 0)) {
			note("%s: expected %s, it got %s", rows[i].name, rows[i].gets, got);
			bad++;
		}
	}
	expect_int(bad, 0);
}

static const char *
wrong_with_answer(const struct row *r, int i)
{
	char *path = text("/row/%d", i);
	struct client *c = client_open();
	client_request(c, "GET", path, NULL);
	struct answer a = client_try(c, "GET");
	const char *got = a.cut && a.status ? "cut"
			  : a.status == 200 && a.body_bytes
				  ? text("200 %.*s", (int)strnlen(a.body, 40), a.body)
				  : text("%d", a.status);
	bool whole = !a.fault && a.status != 502;
	const char *wrong = NULL;
	if (a.fault && !a.cut)
		wrong = text("the client's answer is bad: %s\n%.500s", a.fault, a.head);
	else if (!among(r->gets, got) && !among(r->gets, "any"))
		wrong = text("expected %s, it got %s", r->gets, got);
	for (int k = 0; !wrong && k < r->nots; k++)
		if (memmem(a.head, a.head_bytes, r->not [k], r -> not_n[k]) ||
		    memmem(a.body, a.body_bytes, r->not [k], r -> not_n[k]))
			wrong = text("\"%s\" reached the client", r->not [k]);
	client_close(c);
	/* The next answers are in step and, unless it was whole, nothing was kept. */
	struct answer other = get(text("/other/%d", i));
	if (!wrong && (other.status != 200 || strcmp(other.body, "other") != 0))
		wrong = text("the next answer is out of step: %d %.100s", other.status, other.body);
	a = get(path);
	if (!wrong && !whole && (a.status != 200 || strcmp(a.body, "good") != 0))
		wrong = text("asked again it got %d \"%.100s\" (%s)", a.status, a.body, verdict(a));
	return wrong;
}

SCENARIO_IN(120, "answers of origins that break the rules")
{
	int count, bad = 0;
	struct row *rows = read_rows("answers.txt", &count);
	for (int i = 0; i < count; i++) {
		/* Twice, so that a retry does not find the good one. */
		origin_says(text("/row/%d", i), .raw = rows[i].bytes, .raw_bytes = rows[i].n,
			    .raw_keeps = rows[i].keeps);
		origin_says(text("/row/%d", i), .body = "good");
		origin_says(text("/other/%d", i), .body = "other");
	}
	edge_yaml("admission:\n  sightings: 1\n");
	edge_start("--workers", "1");
	for (int i = 0; i < count; i++) {
		const char *wrong = wrong_with_answer(&rows[i], i);
		bad += vector_is_wrong(rows[i].name, wrong);
	}
	note("%d rows", count);
	expect_int(bad, 0);
}
