/* inspect.c - `twice inspect DIR`: what a cache directory holds, while no proxy has it. */
#include "config/units.h"
#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/base/process.h"
#include "proxy/cache/audit.h"
#include "proxy/cache/forget/purge_log.h"
#include "proxy/cli/cli.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INSPECT_JSON };
static const struct flag rows[] = {
	[INSPECT_JSON] = {"--json", NULL, "print all of it as JSON, with every host and segment",
			  NULL},
	{NULL, NULL, NULL, NULL},
};

enum { HOSTS_SHOWN = 20 };

static const char *const words[AUDIT_WORDS] = {"sound", "stale", "purged", "incomplete", "damaged"};
static const char *const states[] = {"empty", "open", "sealed"};
static const struct {
	int64_t most_s;
	const char *name, *says;
} ages[] = {
	{3600, "hour", "an hour"},
	{86400, "day", "a day"},
	{7 * 86400, "week", "a week"},
	{INT64_MAX, "older", "more"},
};
enum { AGES = sizeof ages / sizeof *ages };
static const struct {
	enum forget_kind kind;
	const char *name;
} kinds[] = {
#define ROW(id, number, word, by_hand, soft, argument, sentence) {FORGET_##id, word},
	FORGET_ROWS(ROW)
#undef ROW
};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct view {
	json_t *hosts, *segments;
	uint64_t states[3], ages[AGES], fresh, tagged;
	uint64_t packed, packed_bytes, plain_bytes; /* objects that were packed here, and before */
	int64_t now;
};

/* ---- what is gathered ------------------------------------------------------------------------ */

static void
count(json_t *object, const char *name, uint64_t n)
{
	json_int_t was = json_integer_value(json_object_get(object, name));
	json_object_set_new(object, name, json_integer(was + (json_int_t)n));
}

/* host[:port] of a key; of what is no URL, a word for that. */
static void
host_of(struct str key, char *to, size_t n)
{
	const char *at = key.n ? memmem(key.p, key.n, "://", 3) : NULL;
	size_t i = 0;
	struct str rest = at ? str_from(key, (size_t)(at - key.p) + 3) : STR("(none)");
	for (; i + 1 < n && i < rest.n && !strchr("/?\n", rest.p[i]); i++)
		to[i] = rest.p[i] < 0x7f && rest.p[i] > ' ' ? rest.p[i] : '?';
	to[i] = 0;
}

static void
on_object(void *ctx, const struct audit_object *o)
{
	struct view *v = ctx;
	char host[256];
	if (o->word != AUDIT_SOUND && o->word != AUDIT_STALE)
		return;
	host_of(o->key, host, sizeof host);
	json_t *h = json_object_get(v->hosts, host);
	if (!h) {
		h = json_object();
		json_object_set_new(v->hosts, host, h);
	}
	count(h, "objects", 1);
	count(h, "body_bytes", o->body_bytes);
	int64_t age = v->now - o->terms.response_time;
	size_t i = 0;
	while (age >= ages[i].most_s && i + 1 < AGES)
		i++;
	v->ages[i]++;
	v->fresh += o->terms.lifetime > terms_age(&o->terms, v->now);
	v->tagged += o->tags.n > 0;
	if (!(o->terms.flags & TERMS_PACKED))
		return;
	v->packed++;
	v->packed_bytes += o->body_bytes;
	v->plain_bytes += o->plain_bytes;
}

static void
on_segment(void *ctx, const struct audit_segment *s)
{
	struct view *v = ctx;
	v->states[s->state]++;
	json_t *json =
		json_pack("{s:i, s:i, s:s, s:b, s:I, s:i}", "slot", (int)s->slot, "generation",
			  (int)s->generation, "state", states[s->state], "damaged", s->damaged,
			  "used_bytes", (json_int_t)s->used_bytes, "records", (int)s->records);
	if (s->opened_s)
		json_object_set_new(json, "opened", json_integer((json_int_t)s->opened_s));
	json_array_append_new(v->segments, json);
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static json_t *
json_of_purges(const struct audit_purges *p)
{
	json_t *json = json_pack("{s:b, s:I}", "lost", p->lost, "log_bytes", (json_int_t)p->bytes);
	for (size_t i = 0; i < KINDS; i++)
		if (*kinds[i].name)
			json_object_set_new(json, kinds[i].name,
					    json_pack("{s:I, s:I}", "hard",
						      (json_int_t)p->hard[kinds[i].kind], "soft",
						      (json_int_t)p->soft[kinds[i].kind]));
	return json;
}

static void
print_json(const struct audit *a, const struct view *v, const char *dir)
{
	json_t *objects = json_object(), *by_age = json_object();
	for (int i = 0; i < AUDIT_WORDS; i++)
		json_object_set_new(objects, words[i],
				    json_pack("{s:I, s:I}", "objects", (json_int_t)a->objects[i],
					      "body_bytes", (json_int_t)a->body_bytes[i]));
	for (int i = 0; i < AGES; i++)
		json_object_set_new(by_age, ages[i].name, json_integer((json_int_t)v->ages[i]));
	json_t *json = json_pack(
		"{s:s, s:I, s:i, s:I, s:I, s:I, s:o, s:o, s:I, s:I, s:{s:I, s:I, s:I}, s:o, s:O, s:O}",
		"directory", dir, "segment_bytes", (json_int_t)a->segment_bytes, "bad_copies",
		a->bad_copies, "used_bytes", (json_int_t)a->used_bytes, "superseded",
		(json_int_t)a->superseded, "damaged_segments", (json_int_t)a->damaged_segments,
		"objects", objects, "ages", by_age, "fresh", (json_int_t)v->fresh, "tagged",
		(json_int_t)v->tagged, "packed", "objects", (json_int_t)v->packed, "body_bytes",
		(json_int_t)v->packed_bytes, "plain_bytes", (json_int_t)v->plain_bytes, "purges",
		json_of_purges(&a->purges), "hosts", v->hosts, "segments", v->segments);
	char *text = json_dumps(json, JSON_PRESERVE_ORDER | JSON_INDENT(2));
	printf("%s\n", text ? text : "{}");
	free(text);
	json_decref(json);
}

/* ---- as text --------------------------------------------------------------------------------- */

static void
print_purges(const struct audit_purges *p)
{
	char size[UNITS_BYTES];
	const char *separator = "";
	printf("purges    ");
	for (size_t i = 0; i < KINDS; i++) {
		uint64_t hard = p->hard[kinds[i].kind], soft = p->soft[kinds[i].kind];
		if (hard + soft == 0 || !*kinds[i].name)
			continue;
		printf("%s%llu %s", separator, (unsigned long long)(hard + soft), kinds[i].name);
		if (soft)
			printf(" (%llu soft)", (unsigned long long)soft);
		separator = ", ";
	}
	printf("%s in a log of %s\n", *separator ? "" : "none", units_say_bytes(p->bytes, size));
	if (p->lost)
		printf("          The log is missing or damaged: twice would start empty.\n");
}

struct host {
	const char *name;
	json_int_t objects, bytes;
};

static int
by_bytes(const void *pa, const void *pb)
{
	const struct host *a = pa, *b = pb;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return strcmp(a->name, b->name);
}

static void
print_hosts(json_t *hosts)
{
	size_t n = json_object_size(hosts), i = 0;
	struct host *list = mem_zalloc((n + 1) * sizeof *list);
	const char *name;
	json_t *h;
	char size[UNITS_BYTES];
	json_object_foreach(hosts, name, h)
	{
		list[i++] = (struct host){name, json_integer_value(json_object_get(h, "objects")),
					  json_integer_value(json_object_get(h, "body_bytes"))};
	}
	qsort(list, n, sizeof *list, by_bytes);
	for (i = 0; i < n && i < HOSTS_SHOWN; i++)
		printf("%-10s%10lld  %10s  %s\n", i ? "" : "hosts", (long long)list[i].objects,
		       units_say_bytes((uint64_t)list[i].bytes, size), list[i].name);
	if (n > HOSTS_SHOWN)
		printf("          and %zu more; --json has them all\n", n - HOSTS_SHOWN);
	free(list);
}

static void
print_text(const struct audit *a, const struct view *v, const char *dir)
{
	char size[UNITS_BYTES], used[UNITS_BYTES];
	printf("%s: cache format 2, segments of %s\n", dir,
	       units_say_bytes(a->segment_bytes, size));
	printf("segments  %llu: %llu sealed, %llu open, %llu empty; %s used; %llu damaged\n",
	       (unsigned long long)a->segments, (unsigned long long)v->states[AUDIT_SEALED],
	       (unsigned long long)v->states[AUDIT_OPEN],
	       (unsigned long long)v->states[AUDIT_EMPTY], units_say_bytes(a->used_bytes, used),
	       (unsigned long long)a->damaged_segments);
	for (int i = 0; i < AUDIT_WORDS; i++)
		printf("%-10s%10llu  %10s  %s\n", i ? "" : "objects",
		       (unsigned long long)a->objects[i], units_say_bytes(a->body_bytes[i], size),
		       words[i]);
	printf("          %10llu records were replaced by later ones\n",
	       (unsigned long long)a->superseded);
	printf("ages      ");
	for (int i = 0; i < AGES; i++)
		printf("%s %s: %llu%s", i + 1 < AGES ? "under" : "and", ages[i].says,
		       (unsigned long long)v->ages[i], i + 1 < AGES ? ", " : "");
	printf("; %llu are fresh now, %llu have tags\n", (unsigned long long)v->fresh,
	       (unsigned long long)v->tagged);
	if (v->packed)
		printf("packed    %10llu  %10s  which are %s for who does not take br or zstd\n",
		       (unsigned long long)v->packed, units_say_bytes(v->packed_bytes, size),
		       units_say_bytes(v->plain_bytes, used));
	print_purges(&a->purges);
	print_hosts(v->hosts);
	if (a->bad_copies)
		printf("damage    %d copies of the files format and seed; twice mends them\n",
		       a->bad_copies);
}

int
cli_inspect(int argc, char **argv)
{
	struct flags f = {
		.command = "inspect",
		.synopsis = "DIR [--json]",
		.about =
			"Reads a cache directory that no proxy uses, and verifies every checksum: "
			"segments, objects\nby host, ages, purges, damage. Nothing is written. An "
			"object is sound; stale by a soft\npurge; purged, invalidated or replaced, "
			"so that it is never served again; incomplete,\nbecause a piece of its body "
			"was evicted; or damaged. Exit code 1: something is damaged.",
		.rows = rows,
		.argc = argc,
		.argv = argv};
	const char *dir = NULL;
	char err[1024];
	bool json = false;
	int i;
	while ((i = flags_next(&f)) != FLAGS_END) {
		if (i == FLAGS_WORD && dir)
			i = flags_refuse(&f, "one directory at a time: leave out \"%s\"", f.value);
		if (i == FLAGS_EXIT)
			return f.exit_code;
		if (i == FLAGS_WORD)
			dir = f.value;
		json |= i == INSPECT_JSON;
	}
	if (!dir) {
		flags_refuse(&f, "name a cache directory: twice inspect /var/cache/twice");
		return f.exit_code;
	}
	struct view v = {.hosts = json_object(), .segments = json_array(), .now = now_s()};
	struct audit a = {.on_object = on_object, .on_segment = on_segment, .ctx = &v};
	int result = CLI_FAILED;
	process_raise_file_limit(); /* all segments are open at once */
	if (audit_read(&a, dir, err, sizeof err) != 0) {
		cli_complain("inspect", "%s", err);
	} else {
		(json ? print_json : print_text)(&a, &v, dir);
		bool sound = !a.objects[AUDIT_DAMAGED] && !a.damaged_segments && !a.bad_copies &&
			     !a.purges.lost;
		bool written = fflush(stdout) == 0 && !ferror(stdout);
		result = sound && written ? CLI_FINE : CLI_FAILED;
	}
	json_decref(v.hosts);
	json_decref(v.segments);
	return result;
}
