/* renew.c - a reload, and what is said about it. */
#include "proxy/cli/renew.h"

#include "config/config.h"
#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/node/notify.h"
#include "proxy/node/preflight.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct telling {
	const struct renewal *r;
	json_t *applied, *restart, *warnings, *errors;
};

static void
add(json_t *list, const char *text)
{
	json_t *json = json_string(text);
	json_array_append_new(list, json ? json : json_string("(not UTF-8)"));
}

/* "edge.yaml:12: origins.ca_file: cannot read ..." */
static void
add_placed(const struct telling *t, json_t *list, const char *setting, const char *text)
{
	char place[256] = "", name[CONFIG_NAME_BYTES];
	char line[PREFLIGHT_TEXT + sizeof(place) + sizeof(name)];
	const struct settings *s = t->r->settings;
	if (*setting)
		config_place(s->path, s->flags, s->flag_count, setting, place, sizeof(place));
	snprintf(line, sizeof(line), "%s%s%s%s", place, config_name(setting, name),
		 *setting ? ": " : "", text);
	add(list, line);
}

static void
on_finding(void *ctx, const struct finding *f)
{
	const struct telling *t = ctx;
	add_placed(t, f->stops || f->missing ? t->errors : t->warnings, f->setting, f->text);
}

static void
on_difference(void *ctx, const char *setting, const char *why)
{
	const struct telling *t = ctx;
	if (why)
		json_array_append_new(t->restart,
				      json_pack("{s:s, s:s}", "setting", setting, "why", why));
	else
		add(t->applied, setting);
}

static bool
listens(const void *server, const char *listen)
{
	return server_listens(server, listen);
}

/* As `twice check` would, and as the user that the program is: another one needs a restart. */
static bool
fits(const struct telling *t, const struct config *c)
{
	char err[512];
	struct identity who = {0};
	struct preflight_place in = {.who = &who, .listens = listens, .ctx = t->r->server};
	if (config_validate(c, err, sizeof(err)) < 0)
		add(t->errors, err);
	else
		preflight(c, &in, on_finding, (void *)(uintptr_t)t);
	return json_array_size(t->errors) == 0;
}

static void
on_mistake(void *ctx, const char *sentence)
{
	const struct telling *t = ctx;
	add(t->errors, sentence);
}

static int
apply(struct telling *t)
{
	const struct renewal *r = t->r;
	struct config fresh;
	char err[512];
	struct server_change change = {
		.each = on_difference, .ctx = t, .err = err, .err_bytes = sizeof(err)};
	config_init(&fresh);
	int result = -1;
	if (settings_reread(r->settings, &fresh, on_mistake, t) == 0 && fits(t, &fresh)) {
		enum log_level level = settings_log_level(&fresh);
		result = server_reload(r->server, &fresh, &change);
		if (result < 0)
			add_placed(t, t->errors, change.setting, err);
		else
			log_set_level(level);
	}
	config_fini(&fresh);
	return result;
}

/* ---- what is said -------------------------------------------------------------------------- */

static void
log_all(const struct telling *t)
{
	size_t i;
	json_t *one;
	json_array_foreach(t->errors, i, one)
	{
		log_error("the configuration was not reloaded: %s", json_string_value(one));
	}
	json_array_foreach(t->warnings, i, one)
	{
		log_warning("%s", json_string_value(one));
	}
	json_array_foreach(t->restart, i, one)
	{
		log_warning("%s has changed in the configuration; restart to apply it (%s)",
			    json_string_value(json_object_get(one, "setting")),
			    json_string_value(json_object_get(one, "why")));
	}
	json_array_foreach(t->applied, i, one)
	{
		log_info("%s has changed, and is applied", json_string_value(one));
	}
}

static void
write_all(const struct telling *t, struct buf *out)
{
	json_t *json = json_pack("{s:O, s:O, s:O, s:O}", "applied", t->applied, "restart",
				 t->restart, "warnings", t->warnings, "errors", t->errors);
	char *text = json_dumps(json, JSON_PRESERVE_ORDER | JSON_INDENT(1));
	buf_printf(out, "%s\n", text ? text : "{}");
	free(text);
	json_decref(json);
}

int
renew(struct renewal *r, struct buf *out)
{
	struct telling t = {r, json_array(), json_array(), json_array(), json_array()};
	pthread_mutex_lock(&r->lock);
	notify_reloading();
	server_reopen_log(r->server);
	int result = apply(&t);
	log_all(&t);
	atomic_store(&r->refused, result != 0);
	if (result == 0)
		atomic_store(&r->read_s, now_s());
	if (result == 0)
		log_info("the logs are reopened and the configuration is read again");
	if (out)
		write_all(&t, out);
	notify_say("READY=1");
	pthread_mutex_unlock(&r->lock);
	json_decref(t.applied);
	json_decref(t.restart);
	json_decref(t.warnings);
	json_decref(t.errors);
	return result;
}
