/* pattern.c - from the text of a pattern to its steps.
 *
 * A piece is made where it stands; what repeats it, or is an alternative to it, moves it on by a step. All ways
 * are counted from their step, so that a piece can be moved and copied as it is.
 */
#include "proxy/base/pattern_inside.h"

#include "proxy/base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH_MOST = 30, TIMES_MOST = 1000, NO_END = -1 };

struct maker {
	const char *at;
	struct pattern *p;
	char *err;
	size_t err_bytes;
	unsigned depth;
	bool wrong;
};

static void alternatives(struct maker *m);

__attribute__((format(printf, 2, 3))) static void
complain(struct maker *m, const char *fmt, ...)
{
	if (m->wrong)
		return;
	m->wrong = true;
	va_list args;
	va_start(args, fmt);
	vsnprintf(m->err, m->err_bytes, fmt, args);
	va_end(args);
}

static bool
has_room(struct maker *m, unsigned steps)
{
	if (m->p->n + steps <= PATTERN_STEPS)
		return true;
	complain(m, "it is too long; write a shorter one, or smaller numbers in { }");
	return false;
}

static void
add(struct maker *m, enum pattern_op op, uint8_t arg)
{
	if (has_room(m, 1))
		m->p->steps[m->p->n++] = (struct pattern_step){.op = (uint8_t)op, .arg = arg};
}

static void
add_way(struct maker *m, enum pattern_op op, int to, int other)
{
	if (has_room(m, 1))
		m->p->steps[m->p->n++] = (struct pattern_step){
			.op = (uint8_t)op, .to = (int16_t)to, .other = (int16_t)other};
}

/* A step before the piece that begins at `at`. */
static void
put_before(struct maker *m, unsigned at, int to, int other)
{
	struct pattern_step *s = m->p->steps;
	if (!has_room(m, 1))
		return;
	memmove(s + at + 1, s + at, (m->p->n - at) * sizeof *s);
	s[at] = (struct pattern_step){
		.op = PATTERN_SPLIT, .to = (int16_t)to, .other = (int16_t)other};
	m->p->n++;
}

/* ---- one byte ------------------------------------------------------------------------------- */

static void
set_bit(uint8_t class[32], unsigned char c)
{
	class[c / 8] |= (uint8_t)(1 << c % 8);
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void
set_known(uint8_t class[32], char name)
{
	for (unsigned c = 0; c < 128; c++)
		if (is_digit((char)c) || (name == 'w' && (is_letter((char)c) || c == '_')))
			set_bit(class, (unsigned char)c);
}

/* A byte of the text as itself; paths have no others. */
static bool
may_be(struct maker *m, char c)
{
	if (c > ' ' && c < 0x7f)
		return true;
	complain(m, "a path has no byte %02x; write it encoded, as %%%02X", (unsigned char)c,
		 (unsigned char)c);
	return false;
}

/* Behind a backslash. True: a class, whose letter is *c; else the byte. */
static bool
escaped(struct maker *m, char *c)
{
	*c = *m->at;
	if (*c == 'd' || *c == 'w') {
		m->at++;
		return true;
	}
	if (!*c)
		complain(m, "it ends in a backslash");
	else if (is_letter(*c) || is_digit(*c))
		complain(m, "\\%c is not known; write \\d, \\w, or a backslash before a sign", *c);
	else if (may_be(m, *c))
		m->at++;
	return false;
}

static uint8_t
new_class(struct maker *m)
{
	if (m->p->classes == PATTERN_CLASSES) {
		complain(m, "more than %d sets in [ ]", PATTERN_CLASSES);
		return 0;
	}
	memset(m->p->class[m->p->classes], 0, sizeof m->p->class[0]);
	return (uint8_t)m->p->classes++;
}

/* The byte that a member of a set is, or begins with. False: it was a class, or is wrong. */
static bool
member(struct maker *m, uint8_t class[32], char *c)
{
	*c = *m->at++;
	if (*c == '\\') {
		bool known = escaped(m, c);
		if (known)
			set_known(class, *c);
		return !known && !m->wrong;
	}
	if (*c == '[' && *m->at == ':')
		complain(m, "[: is not known; write letters, such as a-z");
	return !m->wrong && may_be(m, *c);
}

static void
range(struct maker *m, uint8_t class[32], char from)
{
	char to = from;
	if (m->at[0] == '-' && m->at[1] && m->at[1] != ']') {
		m->at++;
		if (!member(m, class, &to) || to < from) {
			complain(m, "a range in [ ] goes from a lower byte to a higher one");
			return;
		}
	}
	for (int c = from; c <= to; c++)
		set_bit(class, (unsigned char)c);
}

/* Behind "[". */
static void
set(struct maker *m)
{
	uint8_t number = new_class(m), *class = m->p->class[number];
	bool others = *m->at == '^', first = true;
	char c;
	m->at += others;
	for (; *m->at && (*m->at != ']' || first) && !m->wrong; first = false)
		if (member(m, class, &c))
			range(m, class, c);
	if (*m->at != ']') {
		complain(m, "a [ has no ]");
		return;
	}
	m->at++;
	for (unsigned i = 0; others && i < 32; i++)
		class[i] = (uint8_t) ~class[i];
	add(m, PATTERN_CLASS, number);
}

static void
byte(struct maker *m)
{
	char c = *m->at++;
	if (c == '\\' && escaped(m, &c)) {
		uint8_t number = new_class(m);
		set_known(m->p->class[number], c);
		add(m, PATTERN_CLASS, number);
		return;
	}
	if (!m->wrong && may_be(m, c))
		add(m, PATTERN_BYTE, (uint8_t)c);
}

/* ---- pieces --------------------------------------------------------------------------------- */

/* Behind "(". */
static void
pair(struct maker *m)
{
	bool captures = *m->at != '?';
	unsigned number = 0;
	if (!captures && m->at[1] != ':') {
		complain(m, "(?%.1s is not known; write ( ) or (?: )", m->at[1] ? m->at + 1 : "");
		return;
	}
	m->at += captures ? 0 : 2;
	if (captures) {
		number = ++m->p->captures;
		if (number >= PATTERN_CAPTURES) {
			complain(m,
				 "more than nine pairs of ( ); write (?: ) where nothing is taken");
			return;
		}
		add(m, PATTERN_SAVE, (uint8_t)(2 * number));
	}
	if (m->depth++ == DEPTH_MOST)
		complain(m, "its parentheses are too deep");
	else
		alternatives(m);
	m->depth--;
	if (*m->at != ')')
		complain(m, "a ( has no )");
	m->at += *m->at == ')';
	if (captures)
		add(m, PATTERN_SAVE, (uint8_t)(2 * number + 1));
}

static void
one(struct maker *m)
{
	switch (*m->at) {
	case '(':
		m->at++;
		pair(m);
		return;
	case '[':
		m->at++;
		set(m);
		return;
	case '.':
		m->at++;
		add(m, PATTERN_ANY, 0);
		return;
	case '^':
		m->at++;
		add(m, PATTERN_BEGIN, 0);
		return;
	case '$':
		m->at++;
		add(m, PATTERN_END, 0);
		return;
	case '*':
	case '+':
	case '?':
	case '{':
		complain(m, "there is nothing that %c could repeat; \\%c is the sign itself",
			 *m->at, *m->at);
		return;
	default:
		byte(m);
	}
}

static bool
number(struct maker *m, int *n)
{
	if (!is_digit(*m->at))
		return false;
	for (*n = 0; is_digit(*m->at); m->at++)
		*n = *n > TIMES_MOST ? *n : *n * 10 + (*m->at - '0');
	return *n <= TIMES_MOST;
}

/* False: nothing is repeated here, or it is wrong. */
static bool
times(struct maker *m, int *least, int *most)
{
	char c = *m->at;
	if (c != '*' && c != '+' && c != '?' && c != '{')
		return false;
	m->at++;
	*least = c == '+';
	*most = c == '?' ? 1 : NO_END;
	if (c != '{')
		return true;
	bool well = number(m, least);
	*most = *least;
	if (well && *m->at == ',') {
		m->at++;
		*most = NO_END;
		well = *m->at == '}' || (number(m, most) && *most >= *least);
	}
	if (well && *m->at == '}')
		m->at++;
	else
		complain(m, "{ is followed by numbers such as {2}, {2,} or {2,5}; \\{ is the sign");
	return !m->wrong;
}

static void
copy(struct maker *m, const struct pattern_step *piece, unsigned n)
{
	if (n && has_room(m, n)) {
		memcpy(m->p->steps + m->p->n, piece, n * sizeof *piece);
		m->p->n += n;
	}
}

/* The piece from `from` on, as often as it likes. */
static void
loop(struct maker *m, unsigned from, bool lazy)
{
	int n = (int)(m->p->n - from) + 2;
	put_before(m, from, lazy ? n : 1, lazy ? 1 : n);
	add_way(m, PATTERN_JUMP, 1 - n, 0);
}

static void
repeat(struct maker *m, unsigned from, int least, int most, bool lazy)
{
	struct pattern_step piece[PATTERN_STEPS];
	unsigned n = m->p->n - from;
	memcpy(piece, m->p->steps + from, n * sizeof *piece);
	m->p->n = from;
	for (int i = 0; i < least && !m->wrong; i++)
		copy(m, piece, n);
	if (most == NO_END) {
		unsigned at = m->p->n;
		copy(m, piece, n);
		loop(m, at, lazy);
	}
	for (int i = least; i < most && !m->wrong; i++) {
		int end = (most - i) * (int)(n + 1);
		add_way(m, PATTERN_SPLIT, lazy ? end : 1, lazy ? 1 : end);
		copy(m, piece, n);
	}
}

static void
piece(struct maker *m)
{
	int least, most;
	unsigned from = m->p->n;
	bool is_place = *m->at == '^' || *m->at == '$';
	one(m);
	if (m->wrong || !times(m, &least, &most))
		return;
	bool lazy = *m->at == '?';
	m->at += lazy;
	if (is_place || *m->at == '*' || *m->at == '+' || *m->at == '?' || *m->at == '{')
		complain(m,
			 is_place ? "^ and $ are places, and cannot be repeated"
				  : "what is repeated already cannot be repeated; put it in (?: )");
	else
		repeat(m, from, least, most, lazy);
}

static void
alternatives(struct maker *m)
{
	unsigned from = m->p->n;
	while (*m->at && *m->at != '|' && *m->at != ')' && !m->wrong)
		piece(m);
	if (*m->at != '|' || m->wrong)
		return;
	m->at++;
	put_before(m, from, 1, (int)(m->p->n - from) + 2);
	unsigned jump = m->p->n;
	add_way(m, PATTERN_JUMP, 0, 0);
	alternatives(m);
	if (!m->wrong)
		m->p->steps[jump].to = (int16_t)(m->p->n - jump);
}

struct pattern *
pattern_create(const char *text, char *err, size_t err_bytes)
{
	struct pattern *p = NEW(struct pattern);
	struct maker m = {.at = text, .p = p, .err = err, .err_bytes = err_bytes};
	alternatives(&m);
	if (*m.at == ')')
		complain(&m, "a ) has no (");
	add(&m, PATTERN_DONE, 0);
	if (m.wrong)
		pattern_destroy(&p);
	return p;
}

void
pattern_destroy(struct pattern **p)
{
	free(*p);
	*p = NULL;
}

unsigned
pattern_captures(const struct pattern *p)
{
	return p->captures;
}
