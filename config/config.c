/* config.c - loads, cross-checks and prints the settings; the rows are in schema.c. */
#include "config/config.h"

#include "config/read.h"
#include "config/schema.h"
#include "config/units.h"
#include "proxy/base/address.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MOST = 1 << 20, ERR_BYTES = 512 };

/* ---- loading ------------------------------------------------------------------------------- */

static int
read_file(const char *path, struct buf *text, char *err, size_t err_bytes)
{
	FILE *f = fopen(path, "rb");
	size_t n = 0;
	if (f) {
		n = fread(buf_room(text, FILE_BYTES_MOST + 1), 1, FILE_BYTES_MOST + 1, f);
		buf_added(text, n);
	}
	if (!f || ferror(f))
		snprintf(err, err_bytes, "cannot read %s: %s; name a readable file with -c", path,
			 strerror(errno));
	else if (n > FILE_BYTES_MOST)
		snprintf(err, err_bytes, "%s is larger than 1 MiB; is it a configuration?", path);
	else
		*err = '\0';
	if (f)
		fclose(f);
	return *err ? -1 : 0;
}

/* The setting that does not go together with others, and a sentence why; NULL: all is well. */
static const char *check_together(const struct config *c, char *err, size_t err_bytes);

static int
load(struct config *c, const struct reading_input *in, char *err, size_t err_bytes)
{
	struct reading *r;
	struct buf canonical = {0};
	struct config made = {0};
	char why[ERR_BYTES], place[ERR_BYTES];
	const char *wrong;
	int result = -1;
	if (reading_create(&r, in, &canonical, err, err_bytes) < 0)
		goto out;
	if (schema_build(&made, (unsigned char *)canonical.p, canonical.n, err, err_bytes) < 0)
		goto out;
	wrong = check_together(&made, why, sizeof(why));
	if (wrong) {
		reading_place(r, wrong, place, sizeof(place));
		snprintf(err, err_bytes, "%s%s", place, why);
		schema_free(&made);
		goto out;
	}
	schema_free(c);
	*c = made;
	result = 0;
out:
	reading_destroy(&r);
	buf_fini(&canonical);
	return result;
}

int
config_parse(struct config *c, const char *name, const char *text, size_t n, char *err,
	     size_t err_bytes)
{
	return load(c, &(struct reading_input){.name = name, .text = text, .n = n}, err, err_bytes);
}

int
config_load_flags(struct config *c, const char *path, const struct config_flag *flags,
		  size_t flag_count, char *err, size_t err_bytes)
{
	struct buf text = {0};
	int result = -1;
	if (!path || read_file(path, &text, err, err_bytes) == 0) {
		struct reading_input in = {path, path ? text.p : NULL, text.n, flags, flag_count};
		result = load(c, &in, err, err_bytes);
	}
	buf_fini(&text);
	return result;
}

void
config_place(const char *path, const struct config_flag *flags, size_t flag_count,
	     const char *setting, char *out, size_t n)
{
	struct buf text = {0}, canonical = {0};
	struct reading *r = NULL;
	char err[ERR_BYTES];
	*out = '\0';
	if (!path || read_file(path, &text, err, sizeof(err)) == 0) {
		struct reading_input in = {path, path ? text.p : NULL, text.n, flags, flag_count};
		if (reading_create(&r, &in, &canonical, err, sizeof(err)) == 0)
			reading_place(r, setting, out, n);
		reading_destroy(&r);
	}
	buf_fini(&canonical);
	buf_fini(&text);
}

int
config_load(struct config *c, const char *path, char *err, size_t err_bytes)
{
	return config_load_flags(c, path, NULL, 0, err, err_bytes);
}

void
config_init(struct config *c)
{
	char err[ERR_BYTES];
	memset(c, 0, sizeof(*c));
	if (config_load(c, NULL, err, sizeof(err)) < 0) {
		fprintf(stderr, "twice: the built-in defaults are wrong: %s\n", err);
		abort();
	}
}

void
config_fini(struct config *c)
{
	schema_free(c);
}

/* ---- what must go together ----------------------------------------------------------------- */

char *
config_name(const char *setting, char out[CONFIG_NAME_BYTES])
{
	size_t n = 0;
	for (const char *p = setting; *p && n < CONFIG_NAME_BYTES - 1; p++)
		if (*p == '.' && isdigit((unsigned char)p[1]))
			p += strspn(p + 1, "0123456789");
		else
			out[n++] = *p;
	out[n] = '\0';
	return out;
}

__attribute__((format(printf, 4, 5))) static const char *
wrong(const char *setting, char *err, size_t err_bytes, const char *fmt, ...)
{
	char name[CONFIG_NAME_BYTES];
	size_t at = (size_t)snprintf(err, err_bytes, "%s: ", config_name(setting, name));
	va_list args;
	va_start(args, fmt);
	vsnprintf(err + at, err_bytes - at, fmt, args);
	va_end(args);
	return setting;
}

/* The same place twice; port 0 is a new place each time. */
static bool
is_same_address(const char *a, const char *b)
{
	struct address x, y;
	return address_parse(a, &x) == 0 && address_parse(b, &y) == 0 && address_port(&x) &&
	       x.bytes == y.bytes && memcmp(&x.sa, &y.sa, x.bytes) == 0;
}

static const char *
check_addresses(const struct config *c, char *err, size_t err_bytes)
{
	if (c->listen_count == 0)
		return wrong("listen", err, err_bytes, "empty; write at least one IP:PORT");
	for (unsigned i = 0; i < c->listen_count; i++) {
		for (unsigned j = 0; j < i; j++)
			if (is_same_address(c->listen[i], c->listen[j]))
				return wrong("listen", err, err_bytes,
					     "%s is given twice; keep one", c->listen[i]);
		if (c->admin && is_same_address(c->listen[i], c->admin))
			return wrong("admin", err, err_bytes,
				     "%s is a listen address too; take another port", c->admin);
	}
	return NULL;
}

/* "routes.2.query"; of the thread. */
static const char *
indexed(const char *list, unsigned i, const char *key)
{
	static _Thread_local char name[CONFIG_NAME_BYTES];
	snprintf(name, sizeof(name), "%s.%u.%s", list, i, key);
	return name;
}

bool
config_origin_address(const struct config_origin *o, struct address *a)
{
	const char *url = o->url;
	const char *host = strstr(url, "://") + 3;
	char text[ADDRESS_TEXT];
	const char *bracket = strrchr(host, ']'), *colon = strrchr(host, ':');
	bool has_port = colon && colon > bracket;
	const char *port = strncasecmp(url, "https", 5) == 0 ? ":443" : ":80";
	int n = snprintf(text, sizeof(text), "%s%s", host, has_port ? "" : port);
	return n < (int)sizeof(text) && address_parse(text, a) == 0;
}

/* Whether what listens on a would answer at b. */
static bool
listens_at(const char *listen, const struct address *b)
{
	struct address a;
	if (address_parse(listen, &a) < 0 || address_port(&a) == 0 ||
	    address_port(&a) != address_port(b))
		return false;
	bool same = a.bytes == b->bytes && memcmp(&a.sa, &b->sa, a.bytes) == 0;
	return same || (address_is_any(&a) && (address_is_loopback(b) || address_is_any(b)));
}

static const char *
check_loops(const struct config *c, char *err, size_t err_bytes)
{
	for (unsigned i = 0; i < c->origin_count; i++) {
		struct address to;
		if (!config_origin_address(&c->origins[i], &to))
			continue;
		for (unsigned j = 0; j < c->listen_count; j++)
			if (listens_at(c->listen[j], &to))
				return wrong(indexed("origins", i, "url"), err, err_bytes,
					     "%s is where twice itself listens (%s); name the "
					     "server behind it",
					     c->origins[i].url, c->listen[j]);
		if (c->admin && listens_at(c->admin, &to))
			return wrong(
				indexed("origins", i, "url"), err, err_bytes,
				"%s is the admin address; name the server that has the content",
				c->origins[i].url);
	}
	return NULL;
}

static const char *
check_origins(const struct config *c, char *err, size_t err_bytes)
{
	for (unsigned i = 0; i < c->origin_count; i++) {
		const struct config_origin *o = &c->origins[i];
		if (o->ca_file && strncasecmp(o->url, "https:", 6) != 0)
			return wrong(indexed("origins", i, "ca_file"), err, err_bytes,
				     "%s has no certificate to check; write https:// or leave "
				     "ca_file out",
				     o->url);
		if (o->ca_file && !o->verify)
			return wrong(indexed("origins", i, "ca_file"), err, err_bytes,
				     "nothing is checked with verify: off; leave one of both out");
	}
	for (unsigned i = 0; i < c->origin_count; i++)
		for (unsigned j = 0; j < i; j++)
			if (strcasecmp(c->origins[i].url, c->origins[j].url) == 0)
				return wrong("origins", err, err_bytes,
					     "%s is given twice; keep one", c->origins[i].url);
	return NULL;
}

/* Two settings of one route of which only one can count. */
static const char *
check_route(const struct config_route *r, unsigned i, char *err, size_t err_bytes)
{
	bool keeps = r->keep_param_count > 0, drops = r->drop_param_count > 0;
	bool keyed = keeps || drops || r->key_header_count || r->key_cookie_count ||
		     r->query != CONFIG_QUERY_KEEP;
	if (keeps && drops)
		return wrong(
			indexed("routes", i, "drop_params"), err, err_bytes,
			"keep_params names the only parameters in the key already; leave one of "
			"both out");
	if ((keeps || drops) && r->query == CONFIG_QUERY_IGNORE)
		return wrong(
			indexed("routes", i, keeps ? "keep_params" : "drop_params"), err, err_bytes,
			"query: ignore leaves all parameters out of the key; leave one of both "
			"out");
	if (r->pass && (keyed || r->pass_cookie_count || r->admit != CONFIG_ADMIT_SIGHTINGS))
		return wrong(
			indexed("routes", i, "pass"), err, err_bytes,
			"with pass: on nothing is looked up or stored, so no rule for keys and "
			"admission can apply; leave pass or the others out");
	return NULL;
}

/* Every request of b is one of a: then b is never reached behind a. */
static bool
covers(const struct config_route *a, const struct config_route *b)
{
	bool host = !a->host || (b->host && strcasecmp(a->host, b->host) == 0);
	bool path = !a->path || (b->path && strncmp(a->path, b->path, strlen(a->path)) == 0);
	return host && path;
}

static const char *
check_routes(const struct config *c, char *err, size_t err_bytes)
{
	for (unsigned i = 0; i < c->route_count; i++) {
		const char *bad = check_route(&c->routes[i], i, err, err_bytes);
		if (bad)
			return bad;
		for (unsigned j = 0; j < i; j++)
			if (covers(&c->routes[j], &c->routes[i]))
				return wrong(
					indexed("routes", i, c->routes[i].path ? "path" : "host"),
					err, err_bytes,
					"route %u matches all of it and comes first; put this one "
					"before it",
					j + 1);
	}
	return NULL;
}

static const char *
check_together(const struct config *c, char *err, size_t err_bytes)
{
	typedef const char *check_fn(const struct config *, char *, size_t);
	check_fn *const checks[] = {check_addresses, check_origins, check_loops, check_routes};
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		const char *bad = checks[i](c, err, err_bytes);
		if (bad)
			return bad;
	}
	if (c->cache.max_object_bytes > c->cache.disk_bytes)
		return wrong("cache.max_object", err, err_bytes,
			     "more than cache.disk; write a smaller size, or auto");
	if (c->admission.sightings > 2 && c->admission.filter == CONFIG_FILTER_PAIR)
		return wrong(
			"admission.sightings", err, err_bytes,
			"a pair of filters tells only one sighting from none; write 1 or 2, or set "
			"admission.filter to counting");
	return NULL;
}

int
config_validate(const struct config *c, char *err, size_t err_bytes)
{
	if (check_together(c, err, err_bytes))
		return -1;
	if (c->origin_count == 0) {
		snprintf(err, err_bytes,
			 "there is no origin to fetch from; write --origin URL, or "
			 "origins: with a url: in a file given by -c");
		return -1;
	}
	return 0;
}

/* ---- printing ------------------------------------------------------------------------------ */

/* Words that YAML reads as themselves without quotes. */
static bool
is_plain(const char *z)
{
	size_t n = strlen(z);
	if (n == 0 || strcmp(z, "null") == 0 || !(isalpha((unsigned char)*z) || *z == '/'))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)z[i]) && !strchr("/._:-", z[i]))
			return false;
	return z[n - 1] != ':';
}

static void
print_text(const char *z, struct buf *to)
{
	if (is_plain(z)) {
		buf_add(to, z, strlen(z));
		return;
	}
	buf_add_lit(to, "\"");
	for (; *z; z++) {
		if (*z == '"' || *z == '\\')
			buf_add_lit(to, "\\");
		buf_add(to, z, 1);
	}
	buf_add_lit(to, "\"");
}

static void
print_word(const char *words, unsigned i, struct buf *to)
{
	for (; i; i--)
		words += strcspn(words, "|") + 1;
	buf_add(to, words, strcspn(words, "|"));
}

static void
print_number(const struct setting *s, const void *at, struct buf *to)
{
	char text[UNITS_BYTES];
	uint64_t v = s->bytes == sizeof(unsigned) ? *(const unsigned *)at : *(const uint64_t *)at;
	if (s->kind == KIND_WORD)
		print_word(s->words, (unsigned)v, to);
	else if (v == 0 && s->words)
		buf_printf(to, "%s", s->words);
	else if (s->kind == KIND_BYTES)
		buf_printf(to, "%s", units_print_bytes(v, text));
	else if (s->kind == KIND_ROOM)
		buf_printf(to, "%s", units_print_room(v, text));
	else if (s->kind == KIND_COUNT)
		buf_printf(to, "%s", units_print_count(v, text));
	else
		buf_printf(to, "%s", units_print_ms(s->kind == KIND_SECONDS ? v * 1000 : v, text));
}

static unsigned
count_of(const struct setting *s, const char *in)
{
	return *(const unsigned *)(const void *)(in + s->count_at);
}

static void
print_list(const struct setting *s, const char *in, struct buf *to)
{
	char *const *texts = *(char *const *const *)(const void *)(in + s->at);
	if (s->words && count_of(s, in) == 0) {
		buf_printf(to, "%s", s->words);
		return;
	}
	buf_add_lit(to, "[");
	for (unsigned i = 0; i < count_of(s, in); i++) {
		buf_printf(to, i ? ", " : " ");
		print_text(texts[i], to);
	}
	buf_add_lit(to, " ]");
}

/* A value on a line of its own; in: the struct it is a member of. */
static void
print_value(const struct setting *s, const char *in, struct buf *to)
{
	const void *at = in + s->at;
	char text[UNITS_BYTES];
	switch (s->kind) {
	case KIND_TEXT:
	case KIND_ADDRESS:
	case KIND_URL:
	case KIND_NETWORK:
	case KIND_CHOICE:
		print_text(*(char *const *)at ? *(char *const *)at : s->words, to);
		break;
	case KIND_SWITCH:
		buf_printf(to, *(const bool *)at ? "on" : "off");
		break;
	case KIND_SHARE:
		buf_printf(to, "%s", units_print_share(*(const double *)at, text));
		break;
	case KIND_LIST:
		print_list(s, in, to);
		break;
	default:
		print_number(s, at, to);
	}
}

/* How lines of a group begin: "", "  ", "  - " for the first of a list's element, "#   " in an
 * example. */
struct margin {
	const char *first, *rest;
};

/* "key: value", then the sentence as a comment. Sentences line up where the values let them. */
static void
print_line(const char *margin, const struct setting *s, const char *in, struct buf *to)
{
	enum { COMMENT_COLUMN = 36 };
	size_t start = to->n;
	buf_printf(to, "%s%s:", margin, s->key);
	if (in) {
		buf_add_lit(to, " ");
		print_value(s, in, to);
	}
	do
		buf_add_lit(to, " ");
	while (to->n - start < COMMENT_COLUMN);
	bool has_words = s->kind == KIND_WORD || s->kind == KIND_CHOICE;
	buf_printf(to, "# %s%s%s\n", s->sentence, has_words ? ": " : "", has_words ? s->words : "");
}

static void
print_group(const struct setting *rows, const char *in, struct margin m, struct buf *to);

/* What an element of an empty list would look like, as a comment. */
static void
print_example(const struct setting *s, struct buf *to)
{
	struct config c;
	char err[ERR_BYTES];
	static const char text[] =
		"origins: https://origin.example.com\nroutes: [ { host: any } ]\n";
	memset(&c, 0, sizeof(c));
	if (config_parse(&c, "example", text, sizeof(text) - 1, err, sizeof(err)) < 0)
		abort();
	const char *element = *(const char *const *)(const void *)((const char *)&c + s->at);
	print_group(s->inside, element, (struct margin){"#  - ", "#    "}, to);
	schema_free(&c);
}

static void
print_groups(const struct setting *s, const char *in, struct buf *to)
{
	static const struct margin inside = {"  - ", "    "};
	const char *elements = *(const char *const *)(const void *)(in + s->at);
	unsigned n = count_of(s, in);
	if (n == 0) {
		buf_printf(to, "%s: [ ]%*s# %s\n", s->key, (int)(31 - strlen(s->key)), "",
			   s->sentence);
		print_example(s, to);
		return;
	}
	print_line("", s, NULL, to);
	for (unsigned i = 0; i < n; i++)
		print_group(s->inside, elements + (size_t)i * s->bytes, inside, to);
}

static void
print_group(const struct setting *rows, const char *in, struct margin m, struct buf *to)
{
	for (const struct setting *s = rows; s->key; s++) {
		const char *margin = s == rows ? m.first : m.rest;
		if (s->kind == KIND_GROUP) {
			print_line(margin, s, NULL, to);
			print_group(s->inside, in + s->at, (struct margin){"  ", "  "}, to);
		} else if (s->kind == KIND_GROUPS) {
			print_groups(s, in, to);
		} else {
			print_line(margin, s, in, to);
		}
	}
}

void
config_print(const struct config *c, FILE *to)
{
	struct buf text = {0};
	print_group(schema_top, (const char *)c, (struct margin){"", ""}, &text);
	fwrite(text.p, 1, text.n, to);
	buf_fini(&text);
}

/* ---- comparing ----------------------------------------------------------------------------- */

static bool
is_same(const struct setting *s, const char *a, const char *b)
{
	struct buf x = {0}, y = {0};
	if (s->kind == KIND_GROUPS) {
		print_groups(s, a, &x);
		print_groups(s, b, &y);
	} else {
		print_value(s, a, &x);
		print_value(s, b, &y);
	}
	bool same = str_eq(buf_str(&x), buf_str(&y));
	buf_fini(&x);
	buf_fini(&y);
	return same;
}

void
config_differences(const struct config *a, const struct config *b,
		   void (*each)(void *ctx, const char *setting), void *ctx)
{
	const char *x = (const char *)a, *y = (const char *)b;
	char full[64];
	for (const struct setting *s = schema_top; s->key; s++) {
		if (s->kind != KIND_GROUP && !is_same(s, x, y))
			each(ctx, s->key);
		for (const struct setting *in = s->kind == KIND_GROUP ? s->inside : NULL;
		     in && in->key; in++) {
			snprintf(full, sizeof(full), "%s.%s", s->key, in->key);
			if (!is_same(in, x + s->at, y + s->at))
				each(ctx, full);
		}
	}
}
