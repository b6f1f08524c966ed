/* field_block.c - heads with a table of their lines, written once and read without parsing. */
#include "proxy/http/field_block.h"

#include "proxy/http/syntax.h"

enum { ENTRY_BYTES = 4, LONG = 0xffff };

static unsigned
get16(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;
	return (unsigned)(u[0] | u[1] << 8);
}

static void
put16(char *p, unsigned v)
{
	p[0] = (char)(v & 0xff);
	p[1] = (char)(v >> 8 & 0xff);
}

/* As its header says, of which all bytes are there. */
static size_t
bytes_of(struct str bytes)
{
	size_t text = get16(bytes.p + 8) | (size_t)get16(bytes.p + 10) << 16;
	return FIELD_BLOCK_HEADER_BYTES + text + (size_t)get16(bytes.p + 2) * ENTRY_BYTES;
}

bool
field_block_take(struct str *rest, struct field_block *out)
{
	size_t n = rest->n < FIELD_BLOCK_HEADER_BYTES ? SIZE_MAX : bytes_of(*rest);
	if (n > rest->n || !field_block_open((struct str){rest->p, n}, out))
		return false;
	*rest = str_from(*rest, n);
	return true;
}

bool
field_block_open(struct str bytes, struct field_block *out)
{
	if (bytes.n < FIELD_BLOCK_HEADER_BYTES || bytes_of(bytes) != bytes.n)
		return false;
	unsigned count = get16(bytes.p + 2), start = get16(bytes.p + 4);
	size_t text = bytes.n - FIELD_BLOCK_HEADER_BYTES - (size_t)count * ENTRY_BYTES;
	if (start > text)
		return false;
	const char *p = bytes.p + FIELD_BLOCK_HEADER_BYTES;
	*out = (struct field_block){
		.status = (int)get16(bytes.p),
		.start = {p, start},
		.lines = {p + start, text - start},
		.count = count,
		.table = p + text,
		.edition = (unsigned char)bytes.p[6],
	};
	return true;
}

struct str
field_block_reason(const struct field_block *b)
{
	size_t before = sizeof "HTTP/1.1 200 " - 1;
	struct str s = str_from(b->start, before);
	s.n -= s.n < 2 ? s.n : 2;
	return s;
}

/* Lengths that the table has no room for. False: there is no such line. */
static bool
find_ends(struct str rest, size_t *name, size_t *value)
{
	const char *colon = memchr(rest.p, ':', rest.n);
	const char *end = memchr(rest.p, '\r', rest.n);
	if (!colon || !end || end < colon + 2)
		return false;
	*name = (size_t)(colon - rest.p);
	*value = (size_t)(end - colon) - 2;
	return true;
}

static enum field_id
id_of(const struct field_block *b, unsigned stored, struct str name)
{
	if (stored == FIELD_OTHER && b->edition < FIELD_COUNT)
		return field_id_of(name);
	return stored < FIELD_COUNT ? (enum field_id)stored : FIELD_OTHER;
}

bool
field_block_next(const struct field_block *b, struct field_cursor *at, struct field_line *out)
{
	if (at->i >= b->count || at->at >= b->lines.n)
		return false;
	const char *entry = b->table + (size_t)at->i * ENTRY_BYTES;
	struct str rest = str_from(b->lines, at->at);
	size_t name = (unsigned char)entry[0], value = get16(entry + 2);

	if (value == LONG && !find_ends(rest, &name, &value))
		return false;
	if (name + value + 4 > rest.n)
		return false;
	out->name = (struct str){rest.p, name};
	out->value = (struct str){rest.p + name + 2, value};
	out->text = (struct str){rest.p, name + value + 4};
	out->id = id_of(b, (unsigned char)entry[1], out->name);
	at->i++;
	at->at += out->text.n;
	return true;
}

struct str
field_block_get(const struct field_block *b, enum field_id id)
{
	struct field_cursor at = {0};
	struct field_line line;
	while (field_block_next(b, &at, &line))
		if (line.id == id)
			return line.value;
	return (struct str){NULL, 0};
}

bool
field_block_fields(const struct field_block *b, struct fields *out)
{
	struct field_cursor at = {0};
	struct field_line line;
	out->n = 0;
	out->present = 0;
	if (b->count > out->cap)
		return false;
	while (field_block_next(b, &at, &line)) {
		out->v[out->n++] = (struct field){line.name, line.value, line.id};
		out->present |= field_bit(line.id);
	}
	return true;
}

/* -- foreign bytes ----------------------------------------------------------------- */

static bool
is_status_line(const struct field_block *b)
{
	static const char form[] = "HTTP/1.1 ";
	const char *p = b->start.p;
	size_t n = b->start.n;
	if (n < sizeof form - 1 + 6 || memcmp(p, form, sizeof form - 1) != 0)
		return false;
	p += sizeof form - 1;
	return p[0] != '0' && byte_is_digit(p[0]) && byte_is_digit(p[1]) && byte_is_digit(p[2]) &&
	       p[3] == ' ' && (p[0] - '0') * 100 + (p[1] - '0') * 10 + (p[2] - '0') == b->status &&
	       (n == sizeof form - 1 + 6 || str_is(field_block_reason(b), BYTE_VALUE)) &&
	       memcmp(b->start.p + n - 2, "\r\n", 2) == 0;
}

static bool
is_line(const struct field_block *b, const struct field_line *l)
{
	bool known = b->edition == FIELD_COUNT;
	return str_is_token(l->name) && memcmp(l->name.p + l->name.n, ": ", 2) == 0 &&
	       (l->value.n == 0 || str_is(l->value, BYTE_VALUE)) &&
	       memcmp(l->value.p + l->value.n, "\r\n", 2) == 0 &&
	       (!known || l->id == field_id_of(l->name));
}

bool
field_block_check(struct str bytes)
{
	struct field_block b;
	struct field_cursor at = {0};
	struct field_line line;

	if (!field_block_open(bytes, &b) || b.count > FIELDS_MAX || !is_status_line(&b))
		return false;
	while (field_block_next(&b, &at, &line))
		if (!is_line(&b, &line))
			return false;
	return at.i == b.count && at.at == b.lines.n;
}

/* -- writing ----------------------------------------------------------------------- */

void
field_block_begin(struct field_block_writer *w, struct buf *out, int status, struct str reason)
{
	w->out = out;
	w->from = out->n;
	w->count = 0;
	char *p = buf_room(out, FIELD_BLOCK_HEADER_BYTES);
	memset(p, 0, FIELD_BLOCK_HEADER_BYTES);
	put16(p, (unsigned)status);
	p[6] = FIELD_COUNT;
	buf_added(out, FIELD_BLOCK_HEADER_BYTES);
	if (reason.n > 512) /* a sentence for people; the length must fit */
		reason.n = 512;
	buf_add_lit(out, "HTTP/1.1 ");
	buf_add_u64(out, (uint64_t)status);
	buf_add_lit(out, " ");
	buf_add_str(out, reason);
	buf_add_lit(out, "\r\n");
	put16(out->p + w->from + 4, (unsigned)(out->n - w->from - FIELD_BLOCK_HEADER_BYTES));
}

bool
field_block_add(struct field_block_writer *w, enum field_id id, struct str name, struct str value)
{
	if (w->count == FIELDS_MAX)
		return false;
	char *entry = w->table + w->count++ * ENTRY_BYTES;
	bool is_long = name.n > 0xff || value.n >= LONG;
	entry[0] = (char)(is_long ? 0 : name.n);
	entry[1] = (char)id;
	put16(entry + 2, is_long ? LONG : (unsigned)value.n);

	char *p = buf_room(w->out, name.n + value.n + 4);
	memcpy(p, name.p, name.n);
	memcpy(p + name.n, ": ", 2);
	if (value.n)
		memcpy(p + name.n + 2, value.p, value.n);
	memcpy(p + name.n + 2 + value.n, "\r\n", 2);
	buf_added(w->out, name.n + value.n + 4);
	return true;
}

size_t
field_block_value_at(const struct field_block_writer *w, struct str name)
{
	return w->out->n - w->from + name.n + 2;
}

void
field_block_end(struct field_block_writer *w)
{
	char *header = w->out->p + w->from;
	size_t text = w->out->n - w->from - FIELD_BLOCK_HEADER_BYTES;
	put16(header + 2, w->count);
	put16(header + 8, (unsigned)(text & 0xffff));
	put16(header + 10, (unsigned)(text >> 16));
	buf_add(w->out, w->table, (size_t)w->count * ENTRY_BYTES);
}
