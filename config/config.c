/* config.c - loads the settings; the rows are in schema.c, what must go together in rules.c. */
#include "config/config.h"

#include "config/load.h"
#include "config/reading.h"
#include "config/rules.h"
#include "config/schema.h"
#include "proxy/base/buf.h"
#include "proxy/base/mem.h"

#include <errno.h>
#include <stdio.h>
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

static void
on_broken(void *reading, const char *setting, const char *why)
{
	reading_add_mistake(reading, setting, why);
}

/* A choice of sightings needs a filter that counts to three: where another one is named, the default is two. */
static void
settle_sightings(struct config *made, struct reading *r)
{
	struct config_admission *a = &made->admission;
	if (a->filter != CONFIG_FILTER_PAIR && !reading_is_given(r, "admission.sightings"))
		a->sightings = 2;
}

static int
load(struct config *c, const struct reading_input *in, config_complain_fn *complain, void *ctx)
{
	struct reading *r;
	struct config made = {0};
	const char *sentence;
	unsigned told = 0;
	reading_create(&r, in);
	if (reading_build(r, &made)) {
		settle_sightings(&made, r);
		rules_each(&made, on_broken, r);
	}
	while ((sentence = reading_mistake(r, told)) != NULL) {
		complain(ctx, sentence);
		told++;
	}
	if (told) {
		schema_free(&made);
	} else {
		schema_free(c);
		*c = made;
	}
	reading_destroy(&r);
	return told ? -1 : 0;
}

/* The first sentence, where there is room for one. */
struct first {
	char *err;
	size_t err_bytes;
	unsigned count;
};

static void
keep_first(void *ctx, const char *sentence)
{
	struct first *f = ctx;
	if (f->count++ == 0)
		snprintf(f->err, f->err_bytes, "%s", sentence);
}

int
config_parse(struct config *c, const char *name, const char *text, size_t n, char *err,
	     size_t err_bytes)
{
	struct first first = {err, err_bytes, 0};
	return load(c, &(struct reading_input){.name = name, .text = text, .n = n}, keep_first,
		    &first);
}

static struct reading_input
input_of(const char *path, const struct buf *text, const struct config_flag *flags,
	 size_t flag_count)
{
	return (struct reading_input){.name = path,
				      .is_file = path != NULL,
				      .text = path ? text->p : NULL,
				      .n = text->n,
				      .flags = flags,
				      .flag_count = flag_count};
}

int
config_load(struct config *c, const char *path, const struct config_flag *flags, size_t flag_count,
	    config_complain_fn *complain, void *ctx)
{
	struct buf text = {0};
	char err[ERR_BYTES];
	int result = -1;
	if (!path || read_file(path, &text, err, sizeof(err)) == 0) {
		struct reading_input in = input_of(path, &text, flags, flag_count);
		result = load(c, &in, complain, ctx);
	} else {
		complain(ctx, err);
	}
	buf_fini(&text);
	return result;
}

int
config_load_flags(struct config *c, const char *path, const struct config_flag *flags,
		  size_t flag_count, char *err, size_t err_bytes)
{
	struct first first = {err, err_bytes, 0};
	return config_load(c, path, flags, flag_count, keep_first, &first);
}

struct config_places {
	struct buf text;
	struct reading *reading; /* NULL: the file cannot be read */
};

struct config_places *
config_places_open(const char *path, const struct config_flag *flags, size_t flag_count)
{
	struct config_places *p = NEW(struct config_places);
	char err[ERR_BYTES];
	if (!path || read_file(path, &p->text, err, sizeof(err)) == 0) {
		struct reading_input in = input_of(path, &p->text, flags, flag_count);
		if (reading_create(&p->reading, &in) < 0)
			reading_destroy(&p->reading);
	}
	return p;
}

void
config_places_find(struct config_places *p, const char *setting, char *out, size_t n)
{
	*out = '\0';
	if (p->reading)
		reading_place(p->reading, setting, out, n);
}

void
config_places_close(struct config_places **pp)
{
	struct config_places *p = *pp;
	*pp = NULL;
	if (!p)
		return;
	reading_destroy(&p->reading);
	buf_fini(&p->text);
	free(p);
}

void
config_place(const char *path, const struct config_flag *flags, size_t flag_count,
	     const char *setting, char *out, size_t n)
{
	struct config_places *p = config_places_open(path, flags, flag_count);
	config_places_find(p, setting, out, n);
	config_places_close(&p);
}

void
config_init(struct config *c)
{
	char err[ERR_BYTES];
	memset(c, 0, sizeof(*c));
	if (config_load_flags(c, NULL, NULL, 0, err, sizeof(err)) < 0) {
		fprintf(stderr, "twice: the built-in defaults are wrong: %s\n", err);
		abort();
	}
}

void
config_fini(struct config *c)
{
	schema_free(c);
}

int
config_validate(const struct config *c, char *err, size_t err_bytes)
{
	if (rules_broken(c, err, err_bytes))
		return -1;
	if (c->origin_count == 0) {
		snprintf(err, err_bytes,
			 "there is no origin to fetch from; write --origin URL, or "
			 "origins: with a url: in a file given by -c");
		return -1;
	}
	return 0;
}
