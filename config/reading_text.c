/* reading_text.c - texts: what each kind of them may be. A text that names a thing by accident ("on" as a
 * file), can never match (a host with a comma) or holds two names is refused, with the way out.
 */
#include "config/reading_inside.h"
#include "config/listen.h"
#include "config/units.h"
#include "proxy/base/address.h"
#include "proxy/base/network.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

enum { TEXT_BYTES = 4096, BODY_BYTES = 65536, SOCKET_PATH_BYTES = 108 };

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/* libyaml has checked that it is UTF-8. */
static bool
is_one_line(const char *z, bool utf8)
{
	for (; *z; z++) {
		unsigned char byte = (unsigned char)*z;
		if (byte < ' ' || byte == 0x7f || (byte > '~' && !utf8))
			return false;
	}
	return true;
}

/* ---- words that are no names --------------------------------------------------------------- */

/* Caseless: YAML has Off and OFF too. */
static bool
is_one_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strcasecmp(*words, text) == 0)
			return true;
	return false;
}

static bool
is_yes_or_no(const char *text)
{
	static const char *const words[] = {"on", "off", "yes", "no", "true", "false", NULL};
	return is_one_of(text, words);
}

static bool
is_no_name(const struct setting *s, enum kind kind, const struct given *g)
{
	static const char *const words[] = {"none",	"null",	  "nil",     "auto",
					    "any",	"all",	  "default", "enabled",
					    "disabled", "enable", "disable", NULL};
	static const char *const places[] = {"stdout",	 "stderr", "syslog", "console", "json",
					     "combined", "ram",	   "memory", "disk",	NULL};
	if ((s->fallback && strcmp(g->text, s->fallback) == 0) ||
	    (s->usual && strcmp(g->text, s->usual) == 0)) /* "default" of a list */
		return false;
	if (kind == KIND_LABEL)
		return is_yes_or_no(g->text) || strcasecmp(g->text, "null") == 0;
	if (kind == KIND_PARAM) /* "no" and "all" are parameters of real sites */
		return g->alone && (is_yes_or_no(g->text) || is_one_of(g->text, words));
	return is_yes_or_no(g->text) || is_one_of(g->text, words) ||
	       (kind == KIND_FILE && is_one_of(g->text, places));
}

/* ---- what each kind may hold --------------------------------------------------------------- */

static bool
is_header(const char *z)
{
	return z[strspn(z, "!#$%&'*+-.^_`|~"
			   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")] ==
	       '\0';
}

/* Servers disagree on what the others mean in the name of a cookie (proxy/http/cookie.h). */
static bool
is_cookie(const char *z)
{
	return !strpbrk(z, "=;,\"\\ \t[]()<>{}/@?");
}

static bool
is_param(const char *z)
{
	return !strpbrk(z, "=&;,?# \t\"");
}

static bool
is_label(const char *z)
{
	return !strpbrk(z, ",; \t\"'()<>{}*$");
}

/* No shell has been here: "~/x", "*.pem", "$HOME" and "%Y" are not what they look like. */
static bool
is_file(const char *z)
{
	size_t word = strspn(z, letters);
	bool scheme = word > 1 && z[word] == ':' && !strchr(z, ' ');
	return !scheme && *z != '~' && *z != '|' && *z != '>' && !strpbrk(z, "*$%{}\"`;") &&
	       !strstr(z, ", ");
}

/* A name or an address with or without a port; a route's may begin with "*" (config/rules.c). */
static bool
is_host(const char *z)
{
	size_t n = *z == '[' ? strspn(z, "[]:.0123456789abcdefABCDEF")
			     : strspn(z, "*-._"
					 "abcdefghijklmnopqrstuvwxyz"
					 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
	if (z[n] == ':' && z[n + 1])
		n += 1 + strspn(z + n + 1, "0123456789");
	return z[n] == '\0';
}

/* clang-format off */
static const struct form {
	bool (*is)(const char *z);
	const char *what, *write; /* "... is no file; write ..." */
} forms[] = {
	[KIND_FILE]   = { is_file,   "no path of a file or directory", "it in full, such as /etc/twice/name: nothing is put in for ~, *, $ or %, and ${NAME} is the environment's" },
	[KIND_HOST]   = { is_host,   "no name of a host",              "it as in a URL, without scheme and path, such as www.example.com or [2001:db8::1]; letters beyond ASCII in Punycode, xn--..." },
	[KIND_LABEL]  = { is_label,  "no name",                        "one word, such as web" },
	[KIND_HEADER] = { is_header, "no name of a header field",      "the name alone, such as X-Device" },
	[KIND_COOKIE] = { is_cookie, "no name of a cookie",            "the name alone, such as session, or \"*\" for any" },
	[KIND_PARAM]  = { is_param,  "no name of a parameter",         "the name alone, such as page" },
};
/* clang-format on */

static const struct form *
form_of(enum kind kind)
{
	return kind < sizeof forms / sizeof forms[0] && forms[kind].is ? &forms[kind] : NULL;
}

static bool
holds_two(enum kind kind, const char *z)
{
	if (kind == KIND_HEADER && strchr(z, ':'))
		return false;
	if (kind == KIND_LABEL) /* "web socket" is one that is misspelled */
		return strchr(z, ',') != NULL;
	return kind == KIND_FILE ? strstr(z, ", ") != NULL : strpbrk(z, ", \t;") != NULL;
}

/* "A, B" and "A B" as "[ A, B ]". */
static const char *
print_list(const char *z, char out[TEXT_BYTES])
{
	size_t n = (size_t)snprintf(out, TEXT_BYTES, "[ ");
	while (*z && n < TEXT_BYTES / 2) {
		size_t word = strcspn(z, ",; \t");
		n += (size_t)snprintf(out + n, TEXT_BYTES - n, "%s%.*s", n > 2 ? ", " : "",
				      word < 100 ? (int)word : 100, z);
		z += word;
		z += strspn(z, ",; \t");
	}
	snprintf(out + n, TEXT_BYTES - n, " ]");
	return out;
}

/* Names of these kinds have no other use for it. */
static int
check_star(struct reading *r, const struct setting *s, enum kind kind, const struct given *g,
	   const char *path)
{
	const char *star = strchr(g->text, '*');
	if (!star || (kind != KIND_HEADER && kind != KIND_COOKIE && kind != KIND_PARAM))
		return 0;
	if (!s->stars)
		return reading_fail(r, g,
				    "%s: \"%.60s\" is one name here, * included; write each name "
				    "in full",
				    path, g->text);
	if (star[1])
		return reading_fail(r, g,
				    "%s: \"%.60s\" has its * where it means nothing; * may be at "
				    "the end, as in \"utm_*\"",
				    path, g->text);
	return 0;
}

static int
check_form(struct reading *r, const struct setting *s, enum kind kind, const struct given *g,
	   const char *path)
{
	const struct form *f = form_of(kind);
	bool list = s->kind == KIND_LIST;
	char names[TEXT_BYTES];
	const char * or = s->words ? ", or " : "", *word = s->words ? s->words : "";
	if (!f)
		return 0;
	if (is_no_name(s, kind, g) && kind == KIND_FILE)
		return reading_fail(r, g,
				    "%s: \"%s\" is a word and no path; write /path/to/it%s%s%s, or "
				    "./%s if a file is called so",
				    path, g->text,
				    strcmp(s->key, "access_log") ? ""
								 : ", \"-\" for standard output",
				    or, word, g->text);
	if (is_no_name(s, kind, g))
		return reading_fail(r, g, "%s: \"%s\" is %s; write %s%s%s%s", path, g->text,
				    f->what, f->write, or, word, list ? ", or [ ] for none" : "");
	if (f->is(g->text))
		return check_star(r, s, kind, g, path);
	if (holds_two(kind, g->text) && list)
		return reading_fail(r, g, "%s: \"%.60s\" is one text; write a list: %.300s", path,
				    g->text, print_list(g->text, names));
	if (holds_two(kind, g->text))
		return reading_fail(r, g,
				    "%s: \"%.60s\" is more than one name, and one belongs here, "
				    "such as %.*s",
				    path, g->text, (int)strcspn(g->text, ",; \t"), g->text);
	return reading_fail(r, g, "%s: \"%.60s\" is %s; write %s%s%s", path, g->text, f->what,
			    f->write, or, word);
}

/* ---- addresses, networks and origins ------------------------------------------------------- */

/* http[s]://host[:port], as a length without the slash that browsers add, or unix:/path; 0: it is
 * not. */
static size_t
origin_length(const char *z)
{
	if (strncmp(z, "unix:/", 6) == 0)
		return strlen(z) < 5 + SOCKET_PATH_BYTES ? strlen(z) : 0;
	size_t scheme = strncasecmp(z, "https://", 8) == 0  ? 8
			: strncasecmp(z, "http://", 7) == 0 ? 7
							    : 0;
	if (!scheme)
		return 0;
	const char *host = z + scheme;
	size_t n = *host == '['
			   ? strcspn(host, "]") + 1
			   : strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					  "0123456789.-_");
	if (n == 0 || (*host == '[' && host[n - 1] != ']'))
		return 0;
	const char *end = host + n;
	if (*end == ':') {
		size_t digits = strspn(end + 1, "0123456789");
		if (digits < 1 || digits > 5 || atoi(end + 1) < 1 || atoi(end + 1) > 65535)
			return 0;
		end += 1 + digits;
	}
	return strcmp(end, "") == 0 || strcmp(end, "/") == 0 ? (size_t)(end - z) : 0;
}

/* A path that a socket can have. */
static bool
is_path_to_listen(const char *address)
{
	const char *path = config_listen_path(address);
	return path && path[0] == '/' && path[1] && path[strlen(path) - 1] != '/' &&
	       strlen(path) < sizeof((struct sockaddr_un *)0)->sun_path;
}

static int
check_address(struct reading *r, const struct setting *s, const struct given *g, const char *path)
{
	struct address a;
	/* Only what clients are listened for at has a scheme. */
	bool listens = strcmp(s->key, "listen") == 0;
	const char *address = listens ? config_listen_address(g->text) : g->text;
	if ((listens && is_path_to_listen(address)) || address_parse(address, &a) == 0)
		return 0;
	return reading_fail(r, g,
			    "%s: \"%.60s\" is not an address to listen on; write IP:PORT such as "
			    "127.0.0.1:8080, [::1]:8080 or *:8080%s%s%s",
			    path, g->text, listens ? ", or unix:/run/twice.sock" : "",
			    s->words ? ", or " : "", s->words ? s->words : "");
}

static int
check_network(struct reading *r, const struct given *g, const char *path)
{
	static const char *const yes[] = {"on", "true", "yes", NULL};
	struct network net;
	if (network_parse(g->text, &net) == 0)
		return 0;
	return reading_fail(r, g,
			    is_one_of(g->text, yes)
				    ? "%s: \"%.60s\" does not say whom; write networks such as "
				      "10.0.0.0/8, or any if you mean everybody"
				    : "%s: \"%.60s\" is not a network; write one such as "
				      "10.0.0.0/8, 192.0.2.1, 2001:db8::/32, any or none, or off",
			    path, g->text);
}

static int
check_origin(struct reading *r, const struct given *g, const char *path)
{
	if (origin_length(g->text) > 0)
		return 0;
	return reading_fail(r, g,
			    "%s: \"%.100s\" is not an origin; write http://host:port or "
			    "https://host, without user, path or query, or unix:/path",
			    path, g->text);
}

/* Errors of servers are not kept: stale copies stand in for them. */
static int
check_ttl(struct reading *r, const struct given *g, const char *path)
{
	enum { YEAR_S = 366 * 86400 };
	unsigned status;
	uint64_t s;
	if (units_parse_ttl(g->text, &status, &s) == 0 && status >= 200 && status < 500 &&
	    status != 206 && status != 304 && s <= YEAR_S)
		return 0;
	return reading_fail(r, g,
			    "%s: \"%.60s\" is no status with its lifetime; write such as "
			    "{ 404: 1m, 302: 10s }, of statuses from 200 to 499 but 206 and 304",
			    path, g->text);
}

/* Types are compared without the parameters that follow a ";" in Content-Type. */
static int
check_type_ttl(struct reading *r, const struct given *g, const char *path)
{
	enum { YEAR_S = 366 * 86400 };
	size_t n;
	uint64_t s;
	if (strncmp(g->text, "*/*", 3) == 0 || g->text[0] == '*')
		return reading_fail(r, g, "%s: \"%.60s\" is for all types; write ttl: for those",
				    path, g->text);
	if (units_parse_type_ttl(g->text, &n, &s) == 0 && s <= YEAR_S)
		return 0;
	return reading_fail(r, g,
			    "%s: \"%.60s\" is no media type with its lifetime; write such as "
			    "{ text/css: 1h, \"image/*\": 1d }, without parameters",
			    path, g->text);
}

/* A token that is a path would be a secret that everybody can guess. */
static int
check_text(struct reading *r, const struct setting *s, const struct given *g, const char *path)
{
	bool token = strcmp(s->key, "admin_token") == 0;
	if (is_yes_or_no(g->text))
		return reading_fail(
			r, g, "%s: \"%s\" does not say which; write %s%s%s", path, g->text,
			token ? "a secret, or name its file in admin_token_file" : "a text",
			s->words ? ", or " : "", s->words ? s->words : "");
	if (token && g->text[0] == '/' && strchr(g->text + 1, '/') &&
	    g->text[strspn(g->text, "abcdefghijklmnopqrstuvwxyz/._-")] == '\0')
		return reading_fail(r, g,
				    "%s: \"%.60s\" is a path and no secret; write it to "
				    "admin_token_file",
				    path, g->text);
	return 0;
}

/* ---- one text ------------------------------------------------------------------------------ */

static int
check_kind(struct reading *r, const struct setting *s, enum kind kind, const struct given *g,
	   const char *path)
{
	switch (kind) {
	case KIND_ADDRESS:
		return check_address(r, s, g, path);
	case KIND_NETWORK:
		return check_network(r, g, path);
	case KIND_URL:
		return check_origin(r, g, path);
	case KIND_TTL:
		return check_ttl(r, g, path);
	case KIND_TYPED:
		return check_type_ttl(r, g, path);
	case KIND_TEXT:
		return check_text(r, s, g, path);
	default:
		return check_form(r, s, kind, g, path);
	}
}

/* As the row spells it; 0660 is 660. */
static int
read_choice(struct reading *r, const struct setting *s, const struct given *g, const char *path)
{
	char word[TEXT_BYTES];
	const char *words = s->words, *given = g->text;
	given += *given == '0' && isdigit((unsigned char)*words) && given[1] ? 1 : 0;
	int i = reading_find_word(words, given);
	if (i < 0)
		return reading_fail_words(r, g, path, s);
	for (; i; i--)
		words += strcspn(words, "|") + 1;
	snprintf(word, sizeof word, "%.*s", (int)strcspn(words, "|"), words);
	return reading_add_scalar(r, word, true);
}

/* Texts of several lines are for clients, in UTF-8, which libyaml has checked. */
static int
read_body(struct reading *r, const struct given *g, const char *path)
{
	for (const char *p = g->text; *p; p++)
		if (((unsigned char)*p < ' ' && *p != '\n' && *p != '\t') || *p == 0x7f)
			return reading_fail(r, g,
					    "%s: it holds a control character; write text, or name "
					    "a file with file:",
					    path);
	if (strlen(g->text) > BODY_BYTES)
		return reading_fail(
			r, g, "%s: too long; at most %d bytes, or name a file with file:", path,
			BODY_BYTES);
	return reading_add_scalar(r, g->text, true);
}

int
reading_text(struct reading *r, const struct setting *s, enum kind kind, const struct given *g,
	     const char *path)
{
	char cut[TEXT_BYTES];
	size_t n = strlen(g->text);
	if (kind == KIND_CHOICE)
		return read_choice(r, s, g, path);
	if (s->words && strcmp(g->text, s->words) == 0)
		return ABSENT;
	if (s->kind != KIND_LIST && kind != KIND_BODY && reading_is_off(s, g->text))
		return ABSENT;
	if (!n)
		return reading_fail(r, g,
				    "%s: the text is empty; write one line of plain ASCII "
				    "characters, or leave it out",
				    path);
	if (kind == KIND_BODY)
		return read_body(r, g, path);
	if (!is_one_line(g->text, s->utf8))
		return reading_fail(r, g, "%s: write it in one line of %s%s", path,
				    s->utf8 ? "text" : "plain ASCII characters",
				    kind == KIND_HOST
					    ? ", and letters beyond ASCII in Punycode (xn--...)"
					    : "");
	if (n >= sizeof(cut))
		return reading_fail(r, g, "%s: too long; at most %zu characters", path,
				    sizeof(cut) - 1);
	if (g->text[0] == ' ' || g->text[n - 1] == ' ')
		return reading_fail(r, g, "%s: \"%.60s\" begins or ends with a space; leave it out",
				    path, g->text);
	if (check_kind(r, s, kind, g, path) < 0)
		return FAILED;
	snprintf(cut, sizeof(cut), "%s", g->text);
	if (kind == KIND_URL)
		cut[origin_length(cut)] = '\0';
	return reading_add_scalar(r, cut, true);
}
