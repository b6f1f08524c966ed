/* config.c - loads the settings; the rows are in schema.c, what must go together in rules.c. */
#include "config/config.h"

#include "config/load.h"
#include "config/reading.h"
#include "config/rules.h"
#include "config/schema.h"
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
	wrong = rules_broken(&made, why, sizeof(why));
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

struct config_places {
	struct buf text, canonical;
	struct reading *reading; /* NULL: the file cannot be read */
};

struct config_places *
config_places_open(const char *path, const struct config_flag *flags, size_t flag_count)
{
	struct config_places *p = NEW(struct config_places);
	char err[ERR_BYTES];
	if (!path || read_file(path, &p->text, err, sizeof(err)) == 0) {
		struct reading_input in = {path, path ? p->text.p : NULL, p->text.n, flags,
					   flag_count};
		if (reading_create(&p->reading, &in, &p->canonical, err, sizeof(err)) < 0)
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
	buf_fini(&p->canonical);
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
