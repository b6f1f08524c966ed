/* filters.c - a table of doors; behind each a few lines on one filter.
 *
 * Keys and answers are lines, not JSON: a key may hold any byte but a newline and nobody has to
 * escape it, line i of the answer is about line i of the question, and `paste` and `grep -c 1` are
 * all the client that a shell needs. It is also half the bytes.
 */
#include "proxy/admin/filters.h"

#include "proxy/admin/filters_query.h"
#include "proxy/base/mem.h"

#include <ctype.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/random.h>

struct named {
	char name[FILTERS_NAME_MOST + 1];
	struct twice_scalable_options made_for;
	struct twice_chain *chain; /* owned */
};

struct filters {
	struct filters_limits limits;
	struct twice_seed seed; /* keys are chosen by strangers */
	struct named **v;	/* owned, each; in the order they were made */
	size_t n;
};

/* One request on its way through. */
struct visit {
	struct filters *all;
	const struct filters_request *q;
	struct str name;
	struct named *f; /* NULL: there is none of this name */
	struct filters_answer *out;
};

/* ---- answers --------------------------------------------------------------------------------- */

static const char as_text[] = "text/plain; charset=utf-8";

/* One plain sentence, instead of whatever was to be the answer. */
static void __attribute__((format(printf, 3, 4)))
refuse(struct filters_answer *out, int status, const char *format, ...)
{
	char sentence[512];
	va_list args;
	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	out->status = status;
	out->type = as_text;
	out->text.n = 0;
	buf_printf(&out->text, "%s\n", sentence);
}

static int
on_json(const char *p, size_t n, void *ctx)
{
	buf_add(ctx, p, n);
	return 0;
}

/* Takes the value over. */
static void
answer_json(struct filters_answer *out, int status, json_t *value)
{
	out->status = status;
	out->type = "application/json";
	json_dump_callback(value, on_json, &out->text, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	buf_add_lit(&out->text, "\n");
	json_decref(value);
}

static json_t *
json_of(const struct named *f)
{
	const struct twice_chain *c = f->chain;
	return json_pack("{s:s, s:I, s:f, s:I, s:I, s:I, s:I, s:f, s:f, s:f}", //
			 "name", f->name,				       //
			 "capacity", (json_int_t)f->made_for.keys,	       //
			 "false_positives", f->made_for.fpr,		       //
			 "grow", (json_int_t)f->made_for.growth,	       //
			 "keys", (json_int_t)twice_chain_count(c),	       //
			 "links", (json_int_t)twice_chain_links(c),	       //
			 "bytes", (json_int_t)twice_chain_memory(c),	       //
			 "fill", twice_chain_fill(c),			       //
			 "estimated_false_positives", twice_chain_fpr(c),      //
			 "error_bound", twice_chain_fpr_full(c));
}

/* ---- the shelf ------------------------------------------------------------------------------- */

static struct named *
find(const struct filters *all, struct str name)
{
	for (size_t i = 0; i < all->n; i++)
		if (str_eq(str_of(all->v[i]->name), name))
			return all->v[i];
	return NULL;
}

static size_t
bytes_of(const struct filters *all)
{
	size_t bytes = 0;
	for (size_t i = 0; i < all->n; i++)
		bytes += twice_chain_memory(all->v[i]->chain);
	return bytes;
}

static size_t
room_of(const struct filters *all)
{
	size_t used = bytes_of(all);
	return used < all->limits.bytes ? all->limits.bytes - used : 0;
}

static void
forget(struct named *f)
{
	twice_chain_destroy(&f->chain);
	free(f);
}

struct filters *
filters_create(const struct filters_limits *limits)
{
	struct filters *all = NEW(struct filters);
	char random[32];
	for (size_t done = 0; done < sizeof(random);) {
		ssize_t got = getrandom(random + done, sizeof(random) - done, 0);
		done += got > 0 ? (size_t)got : 0;
	}
	twice_seed_init(&all->seed, random, sizeof(random));
	all->limits = *limits;
	all->v = mem_zalloc(limits->filters * sizeof(struct named *));
	return all;
}

void
filters_destroy(struct filters **f)
{
	for (size_t i = 0; *f && i < (*f)->n; i++)
		forget((*f)->v[i]);
	if (*f)
		free((*f)->v);
	free(*f);
	*f = NULL;
}

/* ---- PUT: what is wanted --------------------------------------------------------------------- */

static void
make(const struct visit *v, const struct twice_scalable_options *o)
{
	struct filters *all = v->all;
	struct twice_chain_plan plan = twice_scalable_plan(o);
	size_t needs = twice_chain_first_bytes(&plan), room = room_of(all);
	struct twice_chain *c = needs <= room ? twice_scalable_create(o) : NULL;
	if (!c) {
		refuse(v->out, 507,
		       "\"%.*s\" needs %zu bytes and %zu are left of the %zu that all filters may "
		       "take; delete one or reserve for fewer keys",
		       STR_ARG(v->name), needs, room, all->limits.bytes);
		return;
	}
	struct named *f = NEW(struct named);
	memcpy(f->name, v->name.p, v->name.n);
	f->made_for = *o;
	f->chain = c;
	all->v[all->n++] = f;
	answer_json(v->out, 201, json_of(f));
}

static void
on_reserve(const struct visit *v)
{
	struct twice_scalable_options o = {.growth = 2};
	const char *wrong = filters_query_read(v->q->query, &o);
	if (wrong)
		refuse(v->out, 400, "%s", wrong);
	else if (!v->f && v->all->n == v->all->limits.filters)
		refuse(v->out, 507, "there are %zu filters and no more are kept; delete one",
		       v->all->n);
	else if (!v->f)
		make(v, &o);
	else if (v->f->made_for.keys == o.keys && v->f->made_for.fpr == o.fpr &&
		 v->f->made_for.growth == o.growth)
		answer_json(v->out, 200, json_of(v->f));
	else
		refuse(v->out, 409,
		       "\"%s\" is there with other parameters (GET /filters/%s); delete it first",
		       v->f->name, v->f->name);
}

/* ---- POST: keys, one per line ---------------------------------------------------------------- */

/* The newline behind the last key may be missing. */
static bool
next_key(struct str *rest, struct str *key)
{
	if (rest->n == 0)
		return false;
	const char *end = memchr(rest->p, '\n', rest->n);
	*key = (struct str){rest->p, end ? (size_t)(end - rest->p) : rest->n};
	*rest = str_from(*rest, key->n + (end != NULL));
	return true;
}

/* All of them, before the first one is used. */
static bool
are_keys(struct str body, struct filters_answer *out)
{
	struct str key;
	size_t line = 0;
	while (next_key(&body, &key)) {
		line++;
		if (key.n == 0)
			refuse(out, 400, "line %zu is empty; send a key on every line", line);
		else if (key.n > FILTERS_KEY_BYTES_MOST)
			refuse(out, 400,
			       "line %zu is longer than %d bytes; end every key with a newline "
			       "(with curl: --data-binary)",
			       line, FILTERS_KEY_BYTES_MOST);
		else if (line > FILTERS_KEYS_MOST)
			refuse(out, 413, "more than %d keys; send them in several requests",
			       FILTERS_KEYS_MOST);
		else
			continue;
		return false;
	}
	if (line == 0)
		refuse(out, 400, "the body is empty; send a key on every line");
	return line > 0;
}

static void
answer_bit(struct filters_answer *out, bool bit)
{
	buf_add(&out->text, bit ? "1\n" : "0\n", 2);
}

/* Does the key cost no memory, or memory that there is? */
static bool
has_room(const struct visit *v, struct twice_key_hash h)
{
	size_t more = twice_chain_next_bytes(v->f->chain);
	return more == 0 || twice_chain_has(v->f->chain, h) || more <= room_of(v->all);
}

static void
on_add(const struct visit *v)
{
	struct str rest = v->q->body, key;
	if (!are_keys(rest, v->out))
		return;
	for (size_t line = 1; next_key(&rest, &key); line++) {
		struct twice_key_hash h = twice_key_hash_of(&v->all->seed, key.p, key.n);
		if (!has_room(v, h)) {
			refuse(v->out, 507,
			       "the keys from line %zu on were not added: \"%s\" wants to grow by "
			       "%zu bytes and %zu are left of the %zu that all filters may take; "
			       "delete one",
			       line, v->f->name, twice_chain_next_bytes(v->f->chain),
			       room_of(v->all), v->all->limits.bytes);
			return;
		}
		answer_bit(v->out, !twice_chain_add(v->f->chain, h));
	}
}

static void
on_has(const struct visit *v)
{
	struct str rest = v->q->body, key;
	if (!are_keys(rest, v->out))
		return;
	while (next_key(&rest, &key))
		answer_bit(v->out, twice_chain_has(v->f->chain,
						   twice_key_hash_of(&v->all->seed, key.p, key.n)));
}

/* ---- GET, DELETE ----------------------------------------------------------------------------- */

static void
on_list(const struct visit *v)
{
	const struct filters *all = v->all;
	json_t *list = json_array();
	for (size_t i = 0; i < all->n; i++)
		json_array_append_new(list, json_of(all->v[i]));
	answer_json(v->out, 200,
		    json_pack("{s:o, s:I, s:I, s:I}", "filters", list, "filters_most",
			      (json_int_t)all->limits.filters, "bytes", (json_int_t)bytes_of(all),
			      "bytes_most", (json_int_t)all->limits.bytes));
}

static void
on_show(const struct visit *v)
{
	answer_json(v->out, 200, json_of(v->f));
}

static void
on_delete(const struct visit *v)
{
	struct filters *all = v->all;
	size_t i = 0;
	while (all->v[i] != v->f)
		i++;
	forget(v->f);
	all->n--;
	memmove(&all->v[i], &all->v[i + 1], (all->n - i) * sizeof(all->v[0]));
	answer_json(v->out, 200, json_pack("{s:b}", "deleted", 1));
}

/* ---- doors ----------------------------------------------------------------------------------- */

/* clang-format off */
static const struct door {
	bool named;       /* /filters/NAME, else /filters */
	const char *deed; /* and behind it */
	enum evhttp_cmd_type method;
	const char *allow;
	bool makes;       /* does not need the filter */
	void (*answer)(const struct visit *v);
} doors[] = {
	{ false, "",    EVHTTP_REQ_GET,    "GET, HEAD",              true,  on_list },
	{ true,  "",    EVHTTP_REQ_GET,    "GET, HEAD, PUT, DELETE", false, on_show },
	{ true,  "",    EVHTTP_REQ_PUT,    "GET, HEAD, PUT, DELETE", true,  on_reserve },
	{ true,  "",    EVHTTP_REQ_DELETE, "GET, HEAD, PUT, DELETE", false, on_delete },
	{ true,  "add", EVHTTP_REQ_POST,   "POST",                   false, on_add },
	{ true,  "has", EVHTTP_REQ_POST,   "POST",                   false, on_has },
};
/* clang-format on */

static const struct str root = STR_INIT("/filters");

bool
filters_own(const char *path)
{
	struct str p = str_of(path);
	return str_starts(p, root) && (p.n == root.n || p.p[root.n] == '/');
}

/* "/filters/NAME/DEED": the name, and in deed what follows its slash. */
static struct str
split(const char *path, struct str *deed)
{
	struct str name = str_from(str_of(path), root.n + 1);
	size_t n = 0;
	while (n < name.n && name.p[n] != '/')
		n++;
	*deed = str_from(name, n + 1);
	return (struct str){name.p, n};
}

/* One spelling in a URL, in JSON and in a shell; never "." or "..", which clients resolve. */
static bool
is_name(struct str name)
{
	static const char others[] = "-_.";
	for (size_t i = 0; i < name.n; i++)
		if (!isalnum((unsigned char)name.p[i]) && (i == 0 || !strchr(others, name.p[i])))
			return false;
	return name.n > 0 && name.n <= FILTERS_NAME_MOST;
}

static void
enter(const struct door *door, struct visit *v)
{
	v->f = find(v->all, v->name);
	if (door->named && !is_name(v->name))
		refuse(v->out, 400,
		       "a name is 1 to %d letters, digits, - _ and ., and begins with a letter or "
		       "digit",
		       FILTERS_NAME_MOST);
	else if (!door->makes && !v->f)
		refuse(v->out, 404,
		       "there is no filter \"%.*s\"; make it: "
		       "PUT /filters/%.*s?capacity=1000&false_positives=1%%25",
		       STR_ARG(v->name), STR_ARG(v->name));
	else
		door->answer(v);
}

void
filters_answer(struct filters *all, const struct filters_request *q, struct filters_answer *out)
{
	struct visit v = {.all = all, .q = q, .out = out};
	struct str deed;
	enum evhttp_cmd_type method = q->method == EVHTTP_REQ_HEAD ? EVHTTP_REQ_GET : q->method;
	const char *allow = NULL;
	v.name = split(q->path, &deed);
	*out = (struct filters_answer){.status = 200, .type = as_text, .text = out->text};
	for (size_t i = 0; i < sizeof(doors) / sizeof(doors[0]); i++) {
		if (doors[i].named != (v.name.n > 0) || !str_eq(str_of(doors[i].deed), deed))
			continue;
		allow = doors[i].allow;
		if (doors[i].method == method) {
			enter(&doors[i], &v);
			return;
		}
	}
	if (!allow) {
		refuse(out, 404,
		       "these paths exist: /filters, /filters/NAME, /filters/NAME/add, /filters/NAME/has");
		return;
	}
	refuse(out, 405, "use %s", allow);
	out->allow = allow;
}
