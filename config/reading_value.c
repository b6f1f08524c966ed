/* reading_value.c - one value as people write it, checked and in its canonical form: numbers
 * without units, words as numbers.
 */
#include "config/reading_inside.h"
#include "config/listen.h"
#include "config/suggest.h"
#include "config/units.h"
#include "proxy/base/address.h"
#include "proxy/base/network.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

enum { TEXT_BYTES = 4096, SOCKET_PATH_BYTES = 108 };

int
reading_add_scalar(struct reading *r, const char *text, bool quoted)
{
	/* libyaml copies the text; its prototype is older than const */
	return yaml_document_add_scalar(&r->made, NULL, (yaml_char_t *)(uintptr_t)text, -1,
					quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE
					       : YAML_PLAIN_SCALAR_STYLE);
}

static bool
is_plain_ascii(const char *z)
{
	for (; *z; z++)
		if (*z < ' ' || *z > '~')
			return false;
	return true;
}

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

/* Which of "keep|ignore|sort"; -1: none. */
static int
find_word(const char *words, const char *word)
{
	size_t n = strlen(word);
	for (int i = 0; *words; i++) {
		size_t len = strcspn(words, "|");
		if (len == n && memcmp(words, word, n) == 0)
			return i;
		words += len + (words[len] == '|');
	}
	return -1;
}

static int
fail_words(struct reading *r, const struct given *g, const char *path, const char *words)
{
	char copy[128], *rest, *nearest = NULL;
	snprintf(copy, sizeof(copy), "%s", words);
	for (char *w = strtok_r(copy, "|", &rest); w; w = strtok_r(NULL, "|", &rest))
		if (suggest_is_near(g->text, w))
			nearest = w;
	if (nearest)
		return reading_fail(r, g, "%s: \"%.60s\" is not known; did you mean \"%s\"?", path,
				    g->text, nearest);
	return reading_fail(r, g, "%s: \"%.60s\" is not known; write one of %s", path, g->text,
			    words);
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
read_text(struct reading *r, const struct setting *s, enum kind kind, const struct given *g,
	  const char *path)
{
	char cut[TEXT_BYTES];
	struct address a;
	struct network net;
	if (s->words && kind != KIND_CHOICE && strcmp(g->text, s->words) == 0)
		return ABSENT;
	if (!*g->text || !is_plain_ascii(g->text))
		return reading_fail(r, g, "%s: write it in one line of plain ASCII characters",
				    path);
	if (strlen(g->text) >= sizeof(cut))
		return reading_fail(r, g, "%s: too long; at most %zu characters", path,
				    sizeof(cut) - 1);
	snprintf(cut, sizeof(cut), "%s", g->text);
	if (kind == KIND_CHOICE && find_word(s->words, cut) < 0)
		return fail_words(r, g, path, s->words);
	/* Only what clients are listened for at has a scheme. */
	bool listens = strcmp(s->key, "listen") == 0;
	const char *address = listens ? config_listen_address(cut) : cut;
	if (kind == KIND_ADDRESS && !(listens && is_path_to_listen(address)) &&
	    address_parse(address, &a) < 0)
		return reading_fail(
			r, g,
			"%s: \"%.60s\" is not an address to listen on; write IP:PORT such as "
			"127.0.0.1:8080, [::1]:8080 or *:8080%s",
			path, cut, listens ? ", or unix:/run/twice.sock" : "");
	if (kind == KIND_NETWORK && network_parse(cut, &net) < 0)
		return reading_fail(
			r, g,
			find_word("on|true|yes", cut) >= 0
				? "%s: \"%.60s\" does not say whom; write networks such as "
				  "10.0.0.0/8, or any if you mean everybody"
				: "%s: \"%.60s\" is not a network; write one such as "
				  "10.0.0.0/8, 192.0.2.1, 2001:db8::/32, any or none, or off",
			path, cut);
	if (kind == KIND_URL) {
		size_t n = origin_length(cut);
		if (n == 0)
			return reading_fail(
				r, g,
				"%s: \"%.100s\" is not an origin; write http://host:port or "
				"https://host, without user, path or query, or unix:/path",
				path, cut);
		cut[n] = '\0';
	}
	return reading_add_scalar(r, cut, true);
}

static int
read_switch(struct reading *r, const struct given *g, const char *path)
{
	static const char on[] = "on|true|yes", off[] = "off|false|no";
	bool is_on = find_word(on, g->text) >= 0;
	if (!is_on && find_word(off, g->text) < 0)
		return reading_fail(r, g, "%s: \"%.60s\" is not a switch; write on or off", path,
				    g->text);
	return reading_add_scalar(r, is_on ? "true" : "false", false);
}

static int
read_share(struct reading *r, const struct setting *s, const struct given *g, const char *path)
{
	double v;
	char text[UNITS_BYTES], least[UNITS_BYTES], most[UNITS_BYTES];
	if (units_parse_share(g->text, &v) < 0)
		return reading_fail(r, g,
				    "%s: \"%.60s\" is not a share; write one such as 1%% or 0.01",
				    path, g->text);
	if (v < s->least || v > s->most)
		return reading_fail(r, g, "%s: %.60s is out of range; write a share from %s to %s",
				    path, g->text, units_print_share(s->least, least),
				    units_print_share(s->most, most));
	snprintf(text, sizeof(text), "%.17g", v);
	return reading_add_scalar(r, text, false);
}

/* How the kinds of whole numbers are read and printed. */
static const struct quantity {
	int (*parse)(const char *z, uint64_t *v);
	char *(*print)(uint64_t v, char out[UNITS_BYTES]);
	uint64_t per_unit; /* of what parse gives */
	const char *what;
} quantities[] = {
	[KIND_COUNT] = {units_parse_count, units_print_count, 1,
			"number; write one such as 1000, 50k or 10M"},
	[KIND_BYTES] = {units_parse_bytes, units_print_bytes, 1,
			"size; write one such as 64MiB or 100GiB"},
	[KIND_ROOM] = {units_parse_room, units_print_room, 1,
		       "size or share; write one such as 20GiB or 5%"},
	[KIND_RATE] = {units_parse_rate, units_print_rate, 1,
		       "rate; write one such as 10MiB/s, 50GB/day, 0.5DWPD or 0.5DWPD of 1TB"},
	[KIND_SECONDS] = {units_parse_ms, units_print_ms, 1000,
			  "duration in whole seconds; write one such as 30s, 5m or 24h"},
	[KIND_MILLIS] = {units_parse_ms, units_print_ms, 1,
			 "duration; write one such as 500ms, 30s or 5m"},
};

static int
read_number(struct reading *r, const struct setting *s, const struct given *g, const char *path)
{
	const struct quantity *q = &quantities[s->kind];
	uint64_t v;
	char text[UNITS_BYTES], least[UNITS_BYTES], most[UNITS_BYTES];
	if (s->words && strcmp(g->text, s->words) == 0)
		return reading_add_scalar(r, "0", false);
	if (q->parse(g->text, &v) < 0 || v % q->per_unit)
		return reading_fail(r, g, "%s: \"%.60s\" is not a %s%s%s", path, g->text, q->what,
				    s->words ? ", or " : "", s->words ? s->words : "");
	v /= q->per_unit;
	if ((double)v < s->least || (double)v > s->most)
		return reading_fail(r, g, "%s: %.60s is out of range; write %s to %s%s%s", path,
				    g->text, q->print((uint64_t)s->least * q->per_unit, least),
				    q->print((uint64_t)s->most * q->per_unit, most),
				    s->words ? ", or " : "", s->words ? s->words : "");
	snprintf(text, sizeof(text), "%llu", (unsigned long long)v + s->plus_one);
	return reading_add_scalar(r, text, false);
}

static int
read_word(struct reading *r, const struct setting *s, const struct given *g, const char *path)
{
	char text[UNITS_BYTES];
	int i = find_word(s->words, g->text);
	if (i < 0)
		return fail_words(r, g, path, s->words);
	snprintf(text, sizeof(text), "%d", i);
	return reading_add_scalar(r, text, false);
}

int
reading_value(struct reading *r, const struct setting *s, const struct given *g, const char *path)
{
	switch (s->kind) {
	case KIND_SWITCH:
		return read_switch(r, g, path);
	case KIND_SHARE:
		return read_share(r, s, g, path);
	case KIND_WORD:
		return read_word(r, s, g, path);
	case KIND_COUNT:
	case KIND_BYTES:
	case KIND_ROOM:
	case KIND_RATE:
	case KIND_SECONDS:
	case KIND_MILLIS:
		return read_number(r, s, g, path);
	default:
		return read_text(r, s, s->kind == KIND_LIST ? s->each : s->kind, g, path);
	}
}
