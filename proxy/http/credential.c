/* credential.c - words that names of credentials have, wherever they are in it. */
#include "proxy/http/credential.h"

#include "proxy/http/syntax.h"

#include <strings.h>

static const struct str words[] = {
	STR_INIT("auth"),    STR_INIT("token"), STR_INIT("key"),  STR_INIT("secret"),
	STR_INIT("session"), STR_INIT("sign"),	STR_INIT("csrf"), STR_INIT("xsrf"),
	STR_INIT("jwt"),     STR_INIT("cred"),	STR_INIT("pass"),
};

static bool
begins(struct str s, struct str word)
{
	return s.n >= word.n && strncasecmp(s.p, word.p, word.n) == 0;
}

/* No name in use is so long; in one that is, each word is looked for at each place. */
enum { NAME_BYTES_MOST = 256 };

bool
credential_is_name(struct str name)
{
	if (begins(name, STR("x-amz-")) || name.n > NAME_BYTES_MOST)
		return true;
	for (size_t at = 0; at < name.n; at++)
		for (size_t i = 0; i < sizeof words / sizeof *words; i++)
			if (byte_lower(name.p[at]) == words[i].p[0] &&
			    begins(str_from(name, at), words[i]))
				return true;
	return false;
}

/* ---- signatures ------------------------------------------------------------------------------ */

static bool
has_word(struct str s, struct str word)
{
	for (size_t at = 0; at + word.n <= s.n; at++)
		if (byte_lower(s.p[at]) == word.p[0] && begins(str_from(s, at), word))
			return true;
	return false;
}

/* Where a letter is in "sign" or in "hmac", from 1. A name has such a word only where every fourth of its bytes
 * is one of these letters, which most are not: each request's names are searched. */
static const unsigned char places[256] = {
	/* clang-format off */
	['s'] = 1, ['i'] = 2, ['g'] = 3, ['n'] = 4, ['h'] = 1, ['m'] = 2, ['a'] = 3, ['c'] = 4,
	['S'] = 1, ['I'] = 2, ['G'] = 3, ['N'] = 4, ['H'] = 1, ['M'] = 2, ['A'] = 3, ['C'] = 4,
	/* clang-format on */
};

static bool
speaks_of_signature(struct str name)
{
	enum { LETTERS = 4 };
	for (size_t last = LETTERS - 1; last < name.n;) {
		unsigned place = places[(unsigned char)name.p[last]];
		struct str rest = {name.p + last - (LETTERS - 1), name.n - last + LETTERS - 1};
		if (place == LETTERS && places[(unsigned char)rest.p[0]] == 1 &&
		    (begins(rest, STR("signature")) || begins(rest, STR("hmac"))))
			return true;
		last += LETTERS - place % LETTERS;
	}
	return false;
}

static bool
is_one_of(struct str name, const struct str *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_ieq(name, v[i]))
			return true;
	return false;
}

/* Short names mean other things as well; a signed URL ends some day, and says when. */
static bool
query_signs(struct str query)
{
	enum { LEAST = sizeof "sig=&e=" - 1, SHORT = 4 };
	static const struct str short_names[] = {STR_INIT("sig"), STR_INIT("sign"),
						 STR_INIT("hmac")};
	static const struct str ends[] = {STR_INIT("se"), STR_INIT("e"), STR_INIT("exp")};
	bool is_short = false, expires = false;
	if (query.n < LEAST)
		return false;
	while (query.n) {
		struct str parameter, name, value;
		str_cut(query, '&', &parameter, &query);
		str_cut(parameter, '=', &name, &value);
		if (name.n > SHORT) {
			if (has_word(name, STR("signature")))
				return true;
			expires = expires || has_word(name, STR("expir"));
		} else {
			is_short = is_short || is_one_of(name, short_names, 3);
			expires = expires || is_one_of(name, ends, 3);
		}
	}
	return is_short && expires;
}

bool
credential_signs(const struct request *rq)
{
	struct str path, query;
	if (fields_has(&rq->fields, FIELD_AUTHORIZATION))
		return true;
	for (unsigned i = 0; fields_has(&rq->fields, FIELD_OTHER) && i < rq->fields.n; i++)
		if (rq->fields.v[i].id == FIELD_OTHER && speaks_of_signature(rq->fields.v[i].name))
			return true;
	return str_cut(rq->path_query, '?', &path, &query) && query_signs(query);
}
