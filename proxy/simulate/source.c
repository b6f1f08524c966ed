/* source.c - from bytes to lines to entries. */
#include "proxy/simulate/source.h"

#include "proxy/base/mem.h"
#include "proxy/simulate/input.h"
#include "proxy/simulate/parse_inside.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	BUFFER = 2 * SOURCE_LINE_BYTES,
	DETECT = 64 << 10,
	JUDGED_AFTER = 100000, /* lines */
};

struct source {
	struct input *in;
	struct parsing parsing;
	struct source_facts facts;
	enum cut cut;
	int64_t last_us;
	char *buffer; /* owned; from at to n is not read yet */
	size_t at, n;
	bool ended, skipping; /* the rest of a line that is too long */
	char trouble[512];
};

/* More bytes behind those that are left. False: there are none; *failed: because of trouble. */
static bool
fill(struct source *s, bool *failed)
{
	memmove(s->buffer, s->buffer + s->at, s->n - s->at);
	s->n -= s->at;
	s->at = 0;
	if (s->ended || s->n == BUFFER)
		return false;
	long got = input_read(s->in, s->buffer + s->n, BUFFER - s->n);
	if (got < 0) {
		snprintf(s->trouble, sizeof s->trouble, "%s", input_trouble(s->in));
		*failed = true;
	}
	if (got <= 0) {
		s->ended = true;
		return false;
	}
	s->n += (size_t)got;
	return true;
}

/* Past a mark of the encoding. False: it is one that is not read. */
static bool
skip_mark(struct source *s, char *err, size_t err_bytes)
{
	struct str first = {s->buffer, s->n};
	if (str_starts(first, STR("\xef\xbb\xbf")))
		s->at = 3;
	if (!str_starts(first, STR("\xff\xfe")) && !str_starts(first, STR("\xfe\xff")))
		return true;
	snprintf(err, err_bytes,
		 "%s: it is UTF-16; make it UTF-8 first: iconv -f UTF-16 -t UTF-8 %s",
		 s->facts.name, s->facts.name);
	return false;
}

static bool
detect(struct source *s, const struct source_options *o, char *err, size_t err_bytes)
{
	bool failed = false;
	while (s->n < DETECT && fill(s, &failed))
		continue;
	if (failed) {
		snprintf(err, err_bytes, "%s", s->trouble);
		return false;
	}
	if (!skip_mark(s, err, err_bytes))
		return false;
	struct str first = {s->buffer + s->at, s->n - s->at};
	first.n = first.n < DETECT ? first.n : DETECT;
	struct shape shape = {.format = FORMAT_CLF}; /* an empty log is a log */
	if (first.n)
		shape = parse_detect(first, o->format, o->own);
	if (shape.format == FORMAT_AUTO) {
		struct buf why = {0};
		parse_explain(first, o->own, &why);
		snprintf(err, err_bytes, "%s: %.*s", s->facts.name, (int)why.n, why.p);
		buf_fini(&why);
		return false;
	}
	s->facts.format = shape.format;
	s->cut = shape.cut;
	s->at += shape.skip;
	parse_init(&s->parsing, &shape, o->own);
	return true;
}

struct source *
source_open(const char *name, const struct source_options *o, char *err, size_t err_bytes)
{
	struct input *in = input_open(name, o->stop, err, err_bytes);
	if (!in)
		return NULL;
	struct source *s = NEW(struct source);
	s->in = in;
	s->facts.name = strcmp(name, "-") == 0 ? "standard input" : name;
	s->facts.packing = input_packing(in);
	s->buffer = mem_alloc(BUFFER);
	if (!detect(s, o, err, err_bytes))
		source_close(&s);
	return s;
}

void
source_close(struct source **ps)
{
	struct source *s = *ps;
	*ps = NULL;
	if (!s)
		return;
	input_close(&s->in);
	parse_fini(&s->parsing);
	free(s->buffer);
	free(s);
}

static void
say_mostly_bad(struct source *s)
{
	snprintf(s->trouble, sizeof s->trouble,
		 "%s: %llu of %llu lines cannot be read as %s, the first is line %llu; name its "
		 "format with --format (%s)",
		 s->facts.name, (unsigned long long)s->facts.bad_lines,
		 (unsigned long long)s->facts.lines, parse_word(s->facts.format),
		 (unsigned long long)s->facts.bad_numbers[0], parse_words());
}

static bool
is_mostly_bad(const struct source *s)
{
	return s->facts.bad_lines > s->facts.entries;
}

static void
count_bad(struct source *s)
{
	if (s->facts.bad_lines < SOURCE_BAD_SHOWN)
		s->facts.bad_numbers[s->facts.bad_lines] = s->facts.lines;
	s->facts.bad_lines++;
}

/* The next line, object or record; false at the end. */
static bool
next_line(struct source *s, struct str *line, bool *failed)
{
	for (;;) {
		struct str rest = {s->buffer + s->at, s->n - s->at}, left = rest;
		bool skipped = s->skipping, whole = left.n && parse_cut(&rest, s->cut, line);
		if (!whole && left.n >= SOURCE_LINE_BYTES) {
			if (!skipped) {
				s->facts.lines++;
				count_bad(s);
			}
			s->skipping = true;
			s->at = s->n;
			continue;
		}
		if (!whole && fill(s, failed))
			continue;
		if (!whole) { /* the last one, which has moved */
			rest = (struct str){s->buffer + s->at, s->n - s->at};
			parse_cut(&rest, s->cut, line);
		}
		if (!whole && (line->n == 0 || *failed))
			return false;
		s->at = whole ? s->n - rest.n : s->n;
		s->skipping = false;
		if (!skipped)
			return true;
	}
}

static enum parsed
parse(struct source *s, struct str line, struct entry *out)
{
	if (s->cut != CUT_RECORDS)
		return parse_line(&s->parsing, line, out);
	return parse_oracle(line, out) ? PARSED_ENTRY : PARSED_BAD;
}

static void
note_order(struct source *s, int64_t us)
{
	int64_t late = s->last_us - us;
	if (late <= 0 || s->facts.entries == 1) {
		s->last_us = us;
		return;
	}
	s->facts.late_lines++;
	if (late > s->facts.latest_us)
		s->facts.latest_us = late;
}

enum source_step
source_next(struct source *s, struct entry *out)
{
	struct str line;
	bool failed = false;
	while (next_line(s, &line, &failed)) {
		s->facts.lines++;
		enum parsed r = parse(s, line, out);
		if (r == PARSED_ENTRY) {
			s->facts.entries++;
			note_order(s, out->time_us);
			return SOURCE_ENTRY;
		}
		if (r == PARSED_BAD)
			count_bad(s);
		if (s->facts.lines == JUDGED_AFTER && is_mostly_bad(s)) {
			say_mostly_bad(s);
			return SOURCE_FAILED;
		}
	}
	if (failed)
		return SOURCE_FAILED;
	if (is_mostly_bad(s))
		say_mostly_bad(s);
	return is_mostly_bad(s) ? SOURCE_FAILED : SOURCE_END;
}

const char *
source_trouble(const struct source *s)
{
	return s->trouble;
}

void
source_facts(const struct source *s, struct source_facts *out)
{
	*out = s->facts;
	out->host_is_client = s->parsing.host_is_client;
	out->host_is_doubtful = s->parsing.host_is_doubtful;
}

uint64_t
source_taken(const struct source *s)
{
	return input_taken(s->in);
}

uint64_t
source_size(const struct source *s)
{
	return input_size(s->in);
}
