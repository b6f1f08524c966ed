/* settings.c - flags are settings by another name; config/ reads and checks both. */
#include "proxy/cli/settings.h"

#include "config/config.h"
#include "config/name.h"
#include "proxy/base/log.h"
#include "proxy/node/inherited.h"
#include "proxy/node/preflight.h"

#include <stdio.h>
#include <string.h>

static const struct flag rows[] = {
	{"-c", "FILE", "configuration in YAML; flags override it", NULL},
	{"--listen", "ADDR", "address for clients: 0.0.0.0:8080, https://0.0.0.0:443", "listen"},
	{"--origin", "URL", "server that has the content: https://host (repeat for more)",
	 "origins"},
	{"--cache", "DIR", "directory of the disk cache: /var/cache/twice; none: RAM only",
	 "cache.dir"},
	{"--disk", "SIZE", "hard limit of that directory: 10GiB", "cache.disk"},
	{"--memory", "SIZE", "RAM for objects: 256MiB", "cache.memory"},
	{"--admin", "ADDR", "statistics and purging: 127.0.0.1:9090; off: none", "admin"},
	{"--workers", "N", "threads: auto (one per core)", "workers"},
	{"--self-signed", NULL, "for a first try of --listen https://0.0.0.0:8443",
	 "tls.self_signed"},
	{NULL, NULL, NULL, NULL},
};

int
settings_reread(const struct settings *s, struct config *c, char *err, size_t err_bytes)
{
	return config_load_flags(c, s->path, s->flags, s->flag_count, err, err_bytes);
}

enum log_level
settings_log_level(const struct config *c)
{
	static const char *const words[] = {[LOG_DEBUG] = "debug",
					    [LOG_INFO] = "info",
					    [LOG_WARNING] = "warning",
					    [LOG_ERROR] = "error"};
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i], c->log_level) == 0)
			return (enum log_level)i;
	return LOG_INFO;
}

/* Fills path and flags. 0, or -1 and f->exit_code. */
static int
read_flags(struct settings *s, struct flags *f)
{
	int i;
	while ((i = flags_next(f)) != FLAGS_END) {
		if (i == FLAGS_WORD)
			flags_refuse(f, "\"%s\" is not understood; a file is named with -c",
				     f->value);
		if (i == FLAGS_WORD || i == FLAGS_EXIT)
			return -1;
		if (!rows[i].setting) {
			s->path = f->value;
		} else if (s->flag_count == SETTINGS_FLAGS_MOST) {
			flags_refuse(f, "too many flags; write them in a file and name it with -c");
			return -1;
		} else {
			s->flags[s->flag_count++] = (struct config_flag){
				rows[i].name, rows[i].setting, rows[i].value ? f->value : "on"};
		}
	}
	return 0;
}

int
settings_init(struct settings *s, const char *command, const char *about, int argc, char **argv,
	      int *exit_code)
{
	char err[512];
	struct flags f = {.command = command,
			  .synopsis = "[-c FILE] [--listen ADDR] [--origin URL] [--cache DIR] "
				      "[--disk SIZE]\n           [--memory SIZE] [--admin ADDR] "
				      "[--workers N] [--self-signed]",
			  .about = about,
			  .rows = rows,
			  .argc = argc,
			  .argv = argv};
	memset(s, 0, sizeof(*s));
	if (read_flags(s, &f) < 0) {
		*exit_code = f.exit_code;
		return -1;
	}
	config_init(&s->config);
	if (settings_reread(s, &s->config, err, sizeof(err)) < 0) {
		cli_complain(command, "%s", err);
		settings_fini(s);
		*exit_code = CLI_USAGE;
		return -1;
	}
	return 0;
}

struct telling {
	const struct settings *s;
	const char *command;
	bool stops;
};

static void
on_finding(void *ctx, const struct finding *f)
{
	struct telling *t = ctx;
	char place[256], name[CONFIG_NAME_BYTES];
	config_place(t->s->path, t->s->flags, t->s->flag_count, f->setting, place, sizeof(place));
	cli_complain(t->command, "%s%s: %s", place, config_name(f->setting, name), f->text);
	t->stops |= f->stops;
}

/* As which user nothing further can be said when it cannot be taken. */
static bool
take_identity(struct telling *t, enum identity_way way, struct identity *who)
{
	struct finding f = {.stops = true};
	const char *setting;
	if (identity_take(who, &t->s->config, way, &setting, f.text, sizeof(f.text)) == 0)
		return true;
	snprintf(f.setting, sizeof(f.setting), "%s", setting);
	on_finding(t, &f);
	return false;
}

void
settings_find_names(const struct settings *s, const char *command)
{
	struct telling t = {s, command, false};
	log_set_level(LOG_ERROR); /* the findings say it */
	preflight_names(&s->config, on_finding, &t);
}

/* The process before hands its sockets over; what it has not got is bound in earnest. */
static bool
comes_with_sockets(const void *ctx, const char *listen)
{
	(void)ctx, (void)listen;
	return true;
}

static bool
is_handed_over(const void *ctx, const char *listen)
{
	(void)ctx;
	return inherited_is_there(listen);
}

bool
settings_fit(const struct settings *s, const char *command, enum settings_start start,
	     unsigned *found)
{
	enum identity_way way = start == SETTINGS_TRY ? IDENTITY_TRIES : IDENTITY_MAKES;
	struct telling t = {s, command, false};
	struct identity who;
	char err[512];
	*found = 0;
	if (config_validate(&s->config, err, sizeof(err)) < 0) {
		cli_complain(command, "%s", err);
		t.stops = true;
		++*found;
	}
	if (t.stops)
		way = IDENTITY_TRIES;
	struct preflight_place in = {.who = &who,
				     .listens = start == SETTINGS_SUCCEED ? comes_with_sockets
									  : is_handed_over};
	if (take_identity(&t, way, &who))
		*found += preflight(&s->config, &in, on_finding, &t);
	else
		++*found;
	return !t.stops;
}

void
settings_fini(struct settings *s)
{
	config_fini(&s->config);
}
