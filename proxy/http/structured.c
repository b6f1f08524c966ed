/* structured.c - the parsing algorithms of RFC 8941 4.2, named as there. */
#include "proxy/http/structured.h"

#include "proxy/http/syntax.h"

/* s is what is left; every parser eats what it read from the front and says
 * whether it was well-formed. */
static char
peek(const struct str *s)
{
	return s->n ? s->p[0] : '\0'; /* NUL is allowed nowhere */
}

static void
eat(struct str *s, size_t n)
{
	*s = str_from(*s, n);
}

static bool
eat_char(struct str *s, char c)
{
	if (peek(s) != c || s->n == 0)
		return false;
	eat(s, 1);
	return true;
}

static void
eat_while(struct str *s, const char *set)
{
	while (s->n && memchr(set, s->p[0], strlen(set)))
		eat(s, 1);
}

static bool
is_lcalpha(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool
is_alpha(char c)
{
	return is_lcalpha(byte_lower(c));
}

/* 4.2.3.3: lower case only */
static bool
parse_key(struct str *s, struct str *key)
{
	size_t n = 0;
	if (!is_lcalpha(peek(s)) && peek(s) != '*')
		return false;
	while (n < s->n &&
	       (is_lcalpha(s->p[n]) || byte_is_digit(s->p[n]) || memchr("_-.*", s->p[n], 4)))
		n++;
	*key = (struct str){s->p, n};
	eat(s, n);
	return true;
}

/* 4.2.4: at most 15 digits, or 12 before and 3 behind the point */
static bool
parse_number(struct str *s, struct sf_member *m)
{
	bool negative = eat_char(s, '-');
	size_t n = 0;
	while (n < s->n && byte_is_digit(s->p[n]))
		n++;
	if (n == 0 || n > 15 || !digits_parse((struct str){s->p, n}, &m->integer))
		return false;
	eat(s, n);
	m->type = SF_INTEGER;
	if (negative)
		m->integer = -m->integer;
	if (peek(s) != '.')
		return true;
	m->type = SF_DECIMAL;
	eat(s, 1);
	size_t fraction = 0;
	while (fraction < s->n && byte_is_digit(s->p[fraction]))
		fraction++;
	eat(s, fraction);
	return n <= 12 && fraction >= 1 && fraction <= 3;
}

/* 4.2.5 */
static bool
parse_string(struct str *s, struct sf_member *m)
{
	m->type = SF_STRING;
	eat(s, 1);
	while (s->n) {
		char c = peek(s);
		eat(s, 1);
		if (c == '"')
			return true;
		if (c < 0x20 || c > 0x7e) /* high bytes are negative or larger */
			return false;
		if (c == '\\') {
			if (peek(s) != '"' && peek(s) != '\\')
				return false;
			eat(s, 1);
		}
	}
	return false;
}

/* 4.2.6 */
static bool
parse_token(struct str *s, struct sf_member *m)
{
	m->type = SF_TOKEN;
	eat(s, 1);
	while (s->n && (byte_is(peek(s), BYTE_TOKEN) || peek(s) == ':' || peek(s) == '/'))
		eat(s, 1);
	return true;
}

/* 4.2.7 */
static bool
parse_bytes(struct str *s, struct sf_member *m)
{
	m->type = SF_BYTES;
	eat(s, 1);
	while (s->n && (is_alpha(peek(s)) || byte_is_digit(peek(s)) || memchr("+/=", peek(s), 3)))
		eat(s, 1);
	return eat_char(s, ':');
}

/* 4.2.8 */
static bool
parse_boolean(struct str *s, struct sf_member *m)
{
	m->type = SF_BOOLEAN;
	eat(s, 1);
	m->integer = peek(s) == '1';
	return eat_char(s, '1') || eat_char(s, '0');
}

/* 4.2.3.1 */
static bool
parse_bare_item(struct str *s, struct sf_member *m)
{
	char c = peek(s);
	const char *from = s->p;
	bool ok = c == '-' || byte_is_digit(c) ? parse_number(s, m)
		  : c == '"'		       ? parse_string(s, m)
		  : c == ':'		       ? parse_bytes(s, m)
		  : c == '?'		       ? parse_boolean(s, m)
		  : c == '*' || is_alpha(c)    ? parse_token(s, m)
					       : false;
	m->text = (struct str){from, (size_t)(s->p - from)};
	return ok;
}

/* 4.2.3.2, behind the ";": a key alone is true */
static bool
parse_parameter(struct str *s, struct sf_member *m)
{
	eat_while(s, " ");
	if (!parse_key(s, &m->key))
		return false;
	m->type = SF_BOOLEAN;
	m->integer = 1;
	m->text = (struct str){s->p, 0};
	return !eat_char(s, '=') || parse_bare_item(s, m);
}

/* Checked and forgotten. */
static bool
parse_parameters(struct str *s)
{
	struct sf_member ignored;
	while (eat_char(s, ';'))
		if (!parse_parameter(s, &ignored))
			return false;
	return true;
}

/* 4.2.1.2 */
static bool
parse_inner_list(struct str *s)
{
	struct sf_member ignored;
	eat(s, 1);
	while (s->n) {
		eat_while(s, " ");
		if (eat_char(s, ')'))
			return true;
		if (!parse_bare_item(s, &ignored) || !parse_parameters(s) ||
		    (peek(s) != ' ' && peek(s) != ')'))
			return false;
	}
	return false;
}

/* 4.2.1.1, 4.2.2: a key alone is true */
static bool
parse_member(struct str *s, struct sf_member *m)
{
	if (!parse_key(s, &m->key))
		return false;
	m->type = SF_BOOLEAN;
	m->integer = 1;
	m->text = (struct str){s->p, 0};
	if (eat_char(s, '=')) {
		if (peek(s) != '(') {
			if (!parse_bare_item(s, m))
				return false;
		} else {
			m->type = SF_INNER_LIST;
			if (!parse_inner_list(s))
				return false;
		}
	}
	return parse_parameters(s);
}

/* 4.2.2 */
enum sf_step
sf_dictionary_next(struct str *rest, struct sf_member *out)
{
	eat_while(rest, " "); /* 4.2: only the very first bytes; elsewhere it was eaten below */
	if (rest->n == 0)
		return SF_END;
	if (!parse_member(rest, out))
		return SF_ERROR;
	eat_while(rest, " \t");
	if (rest->n == 0)
		return SF_MEMBER;
	if (!eat_char(rest, ','))
		return SF_ERROR;
	eat_while(rest, " \t");
	return rest->n ? SF_MEMBER : SF_ERROR; /* a comma at the end */
}

/* 4.2.3, of a field that is one item */
bool
sf_item(struct str *rest, struct sf_member *out)
{
	eat_while(rest, " ");
	out->key = (struct str){0};
	return parse_bare_item(rest, out);
}

enum sf_step
sf_parameter_next(struct str *rest, struct sf_member *out)
{
	if (eat_char(rest, ';'))
		return parse_parameter(rest, out) ? SF_MEMBER : SF_ERROR;
	eat_while(rest, " ");
	return rest->n ? SF_ERROR : SF_END;
}
