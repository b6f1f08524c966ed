/* chunked.c - RFC 9112 7.1, one byte of framing at a time, bodies by the piece. */
#include "proxy/http/chunked.h"

#include "proxy/http/syntax.h"

#define LINE_MAX    256	 /* a size line with its extensions */
#define TRAILER_MAX 8192 /* the whole trailer section */

/* In the order in which they are met; the names say what the next byte may be. */
enum {
	SIZE_FIRST,	 /* a hex digit */
	SIZE,		 /* a hex digit, or what ends the size */
	EXT_BEFORE,	 /* BWS, ";" or CR */
	EXT_NAME_FIRST,	 /* BWS or the first byte of an extension's name */
	EXT_NAME,	 /* a token, or what ends it */
	EXT_NAME_AFTER,	 /* BWS, "=", ";" or CR */
	EXT_VALUE_FIRST, /* BWS, a token or a quoted string */
	EXT_VALUE,	 /* a token, or what ends it */
	EXT_QUOTED,	 /* inside a quoted string */
	EXT_ESCAPED,	 /* behind a backslash in it */
	EXT_QUOTED_END,	 /* behind its closing quote */
	SIZE_LF,	 /* the line feed of the size line */
	DATA,
	DATA_CR,
	DATA_LF,
	TRAILER_FIRST, /* a trailer's name, or the CR of the last line */
	TRAILER_NAME,
	TRAILER_VALUE,
	TRAILER_LF,
	LAST_LF,
	DONE,
	BROKEN
};

static bool
is_space(char b)
{
	return b == ' ' || b == '\t';
}

/* Goes on behind a chunk size, an extension's name or its value. */
static unsigned
after_word(char b)
{
	return b == ';' ? EXT_NAME_FIRST : b == '\r' ? SIZE_LF : is_space(b) ? EXT_BEFORE : BROKEN;
}

static unsigned
size_digit(struct chunked *c, char b)
{
	int digit = byte_hex(b);
	if (digit < 0 || c->left > (uint64_t)INT64_MAX >> 4) /* 7.1: prevent overflow */
		return BROKEN;
	c->left = c->left << 4 | (unsigned)digit;
	return SIZE;
}

/* chunk-size [ chunk-ext ] CRLF (7.1, 7.1.1); extensions mean nothing to us.
 * flat: one case per state, which names the next one. */
static unsigned
size_line(struct chunked *c, char b)
{
	if (++c->line_bytes > LINE_MAX)
		return BROKEN;
	switch (c->state) {
	case SIZE_FIRST:
		return size_digit(c, b);
	case SIZE:
		return byte_is(b, BYTE_HEX) ? size_digit(c, b) : after_word(b);
	case EXT_BEFORE: /* a space must lead to an extension: "5 CR LF" is not in the grammar */
		return is_space(b) ? EXT_BEFORE : b == ';' ? EXT_NAME_FIRST : BROKEN;
	case EXT_NAME_FIRST:
		return is_space(b) ? EXT_NAME_FIRST : byte_is(b, BYTE_TOKEN) ? EXT_NAME : BROKEN;
	case EXT_NAME:
		if (byte_is(b, BYTE_TOKEN))
			return EXT_NAME;
		return b == '=' ? EXT_VALUE_FIRST : is_space(b) ? EXT_NAME_AFTER : after_word(b);
	case EXT_NAME_AFTER:
		if (is_space(b))
			return EXT_NAME_AFTER;
		return b == '=' ? EXT_VALUE_FIRST : b == ';' ? EXT_NAME_FIRST : BROKEN;
	case EXT_VALUE_FIRST:
		if (is_space(b))
			return EXT_VALUE_FIRST;
		return b == '"' ? EXT_QUOTED : byte_is(b, BYTE_TOKEN) ? EXT_VALUE : BROKEN;
	case EXT_VALUE:
		return byte_is(b, BYTE_TOKEN) ? EXT_VALUE : after_word(b);
	case EXT_QUOTED:
		if (b == '"')
			return EXT_QUOTED_END;
		return b == '\\' ? EXT_ESCAPED : byte_is(b, BYTE_VALUE) ? EXT_QUOTED : BROKEN;
	case EXT_ESCAPED:
		return byte_is(b, BYTE_VALUE) ? EXT_QUOTED : BROKEN;
	case EXT_QUOTED_END:
		return after_word(b);
	default: /* SIZE_LF */
		c->line_bytes = 0;
		return b != '\n' ? BROKEN : c->left ? DATA : TRAILER_FIRST;
	}
}

/* Trailer fields: checked like any field, then dropped (RFC 9110 6.5.1). */
static unsigned
trailer(struct chunked *c, char b)
{
	if (++c->trailer_bytes > TRAILER_MAX)
		return BROKEN;
	switch (c->state) {
	case TRAILER_FIRST:
		return b == '\r' ? LAST_LF : byte_is(b, BYTE_TOKEN) ? TRAILER_NAME : BROKEN;
	case TRAILER_NAME:
		return b == ':' ? TRAILER_VALUE : byte_is(b, BYTE_TOKEN) ? TRAILER_NAME : BROKEN;
	case TRAILER_VALUE:
		return b == '\r' ? TRAILER_LF : byte_is(b, BYTE_VALUE) ? TRAILER_VALUE : BROKEN;
	case TRAILER_LF:
		return b == '\n' ? TRAILER_FIRST : BROKEN;
	default: /* LAST_LF */
		return b == '\n' ? DONE : BROKEN;
	}
}

static unsigned
framing(struct chunked *c, char b)
{
	if (c->state < DATA)
		return size_line(c, b);
	if (c->state == DATA_CR)
		return b == '\r' ? DATA_LF : BROKEN;
	if (c->state == DATA_LF)
		return b == '\n' ? SIZE_FIRST : BROKEN;
	return trailer(c, b);
}

static void
take_data(struct chunked *c, struct str *in, struct str *data)
{
	size_t n = c->left < in->n ? (size_t)c->left : in->n;
	*data = (struct str){in->p, n};
	*in = str_from(*in, n);
	c->left -= n;
	if (c->left == 0)
		c->state = DATA_CR;
}

enum chunked_step
chunked_decode(struct chunked *c, struct str *in, struct str *data, const struct fault **fault)
{
	while (c->state != DONE && c->state != BROKEN) {
		if (in->n == 0)
			return CHUNKED_MORE;
		if (c->state == DATA) {
			take_data(c, in, data);
			return CHUNKED_DATA;
		}
		bool in_trailer = c->state >= TRAILER_FIRST;
		c->state = framing(c, in->p[0]);
		*in = str_from(*in, 1);
		if (c->state == BROKEN) {
			*fault = in_trailer ? &fault_TRAILER : &fault_CHUNK;
			return CHUNKED_FAULT;
		}
	}
	if (c->state == BROKEN)
		*fault = &fault_CHUNK;
	return c->state == DONE ? CHUNKED_DONE : CHUNKED_FAULT;
}

size_t
chunked_size_line(char *out, uint64_t n)
{
	char digits[16];
	size_t count = 0, at = 0;
	do {
		digits[count++] = "0123456789abcdef"[n & 15];
		n >>= 4;
	} while (n);
	while (count)
		out[at++] = digits[--count];
	out[at++] = '\r';
	out[at++] = '\n';
	return at;
}
