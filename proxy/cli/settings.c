/* settings.c - flags are settings by another name; config/ reads and checks both. */
#include "proxy/cli/settings.h"

#include "config/config.h"
#include "config/name.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/node/inherited.h"
#include "proxy/node/preflight.h"
#include "proxy/node/reach.h"
#include "proxy/origin/origin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLAG_FILE, FLAG_LISTEN, FLAG_ORIGIN, FLAG_HOST };
static const struct flag rows[] = {
	[FLAG_FILE] = {"-c", "FILE", "configuration in YAML; flags override it", NULL},
	[FLAG_LISTEN] = {"--listen", "ADDR",
			 "address for clients: 0.0.0.0:8080, https://0.0.0.0:443", "listen"},
	[FLAG_ORIGIN] = {"--origin", "URL",
			 "server that has the content: https://host (repeat for more)", "origins"},
	[FLAG_HOST] = {"--host", "NAME",
		       "the Host that --origin is asked for: as in its URL; client: the client's",
		       NULL},
	{"--cache", "DIR", "directory of the disk cache: /var/cache/twice; none: RAM only",
	 "cache.dir"},
	{"--disk", "SIZE", "hard limit of that directory: 10GiB", "cache.disk"},
	{"--memory", "SIZE", "RAM for objects: 256MiB", "cache.memory"},
	{"--admin", "ADDR", "statistics and purging: 127.0.0.1:9180; off: none", "admin"},
	{"--workers", "N", "threads: auto (one per core)", "workers"},
	{"--self-signed", NULL, "for a first try of --listen https://0.0.0.0:8443",
	 "tls.self_signed"},
	{NULL, NULL, NULL, NULL},
};

/* ---- Host ------------------------------------------------------------------------------------ */

static bool
has_origin_flag(const struct settings *s)
{
	for (size_t i = 0; i < s->flag_count; i++)
		if (strcmp(s->flags[i].setting, "origins") == 0)
			return true;
	return false;
}

/* The servers of --origin are asked by their own names, for who writes https://www.example.com means the
 * site of that name. In a file an origin without `host` is sent the client's. */
static void
name_hosts(const struct settings *s, struct config *c)
{
	if (!has_origin_flag(s))
		return;
	for (unsigned i = 0; i < c->origin_count; i++) {
		struct config_origin *o = &c->origins[i];
		free(o->host);
		o->host = !s->host			   ? origin_own_host(o->url)
			  : strcmp(s->host, "client") != 0 ? mem_strdup(s->host)
							   : NULL;
	}
}

/* "www.example.com:8443". */
static bool
is_host(const char *text)
{
	char url[300];
	int n = snprintf(url, sizeof(url), "http://%s", text);
	char *host = (size_t)n < sizeof(url) && !strpbrk(text, "/ ") ? origin_own_host(url) : NULL;
	free(host);
	return host != NULL;
}

int
settings_reread(const struct settings *s, struct config *c, config_complain_fn *complain, void *ctx)
{
	if (reach_files(&s->path, 1) == 0) {
		char sentence[512];
		snprintf(sentence, sizeof(sentence), "%s does not answer (the disk hangs)",
			 s->path);
		complain(ctx, sentence);
		return -1;
	}
	int result = config_load(c, s->path, s->flags, s->flag_count, complain, ctx);
	if (result == 0)
		name_hosts(s, c);
	return result;
}

static void
complain_of(void *command, const char *sentence)
{
	cli_complain(command, "%s", sentence);
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
		if (i == FLAG_FILE) {
			s->path = f->value;
		} else if (i == FLAG_HOST) {
			s->host = f->value;
		} else if (s->flag_count == SETTINGS_FLAGS_MOST) {
			flags_refuse(f, "too many flags; write them in a file and name it with -c");
			return -1;
		} else {
			s->flags[s->flag_count++] = (struct config_flag){
				rows[i].name, rows[i].setting, rows[i].value ? f->value : "on"};
		}
	}
	if (s->host && !has_origin_flag(s))
		flags_refuse(f,
			     "--host goes with --origin URL; in a file write host: beside the url");
	else if (s->host && !is_host(s->host))
		flags_refuse(f,
			     "--host: \"%.100s\" is not the name of a host; write one such as "
			     "www.example.com, or client",
			     s->host);
	else
		return 0;
	return -1;
}

int
settings_init(struct settings *s, const char *command, const char *about, int argc, char **argv,
	      int *exit_code)
{
	struct flags f = {.command = command,
			  .synopsis = "[-c FILE] [--listen ADDR] [--origin URL] [--host NAME] "
				      "[--cache DIR]\n           [--disk SIZE] [--memory SIZE] "
				      "[--admin ADDR] [--workers N] [--self-signed]",
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
	if (settings_reread(s, &s->config, complain_of, (void *)(uintptr_t)command) < 0) {
		settings_fini(s);
		*exit_code = CLI_USAGE;
		return -1;
	}
	return 0;
}

bool
settings_has(const struct settings *s, const char *setting)
{
	char place[256], file[256];
	config_place(s->path, s->flags, s->flag_count, setting, place, sizeof(place));
	snprintf(file, sizeof(file),
		 "%s: ", s->path ? s->path : ""); /* of a default beside others */
	return *place && strcmp(place, file) != 0;
}

struct telling {
	const struct settings *s;
	const char *command;
	enum settings_start start;
	bool stops;
};

static void
on_finding(void *ctx, const struct finding *f)
{
	struct telling *t = ctx;
	char place[256], name[CONFIG_NAME_BYTES];
	config_place(t->s->path, t->s->flags, t->s->flag_count, f->setting, place, sizeof(place));
	bool stops = f->stops || (f->missing && t->start == SETTINGS_SUCCEED);
	__attribute__((format(printf, 2, 3))) void (*tell)(const char *command, const char *fmt,
							   ...) = stops ? cli_complain : cli_warn;
	tell(t->command, "%s%s: %s%s", place, config_name(f->setting, name), f->text,
	     f->missing && t->start == SETTINGS_START ? "; the start goes on without it" : "");
	t->stops |= stops;
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
	struct telling t = {s, command, SETTINGS_TRY, false};
	log_set_level(LOG_ERROR); /* the findings say it */
	preflight_names(&s->config, on_finding, &t);
}

void
settings_say_risks(const struct settings *s, const char *command)
{
	/* clang-format off */
	static const struct {
		unsigned bit;
		const char *word, *risk;
	} risks[] = {
		{CONFIG_IGNORE_PRIVATE, "private", "an answer that the origin makes for one client by other means than cookies and Authorization, as by its address, is given to all"},
		{CONFIG_IGNORE_NO_STORE, "no-store", "answers that are for one moment or one client, such as forms with a token, are given to all"},
		{CONFIG_IGNORE_SET_COOKIE, "set-cookie", "clients that get a stored answer get no cookie with it: what begins a session must not be under this route"},
		{CONFIG_IGNORE_VARY, "vary", "all get the same answer, whatever language, coding (gzip) or device they ask for, unless key_headers names the field"},
	};
	/* clang-format on */
	char place[256], setting[CONFIG_NAME_BYTES], name[CONFIG_NAME_BYTES];
	for (unsigned i = 0; i < s->config.route_count; i++) {
		const char *unknown;
		unsigned ignored = config_ignored(&s->config.routes[i].cache, &unknown);
		snprintf(setting, sizeof setting, "routes.%u.cache.ignore", i);
		for (size_t k = 0; k < sizeof risks / sizeof risks[0]; k++) {
			if (!(ignored & risks[k].bit))
				continue;
			config_place(s->path, s->flags, s->flag_count, setting, place,
				     sizeof place);
			cli_complain(command, "%s%s: %s: %s", place, config_name(setting, name),
				     risks[k].word, risks[k].risk);
		}
	}
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
	struct telling t = {s, command, start, false};
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
									  : is_handed_over,
				     .starts_later = start == SETTINGS_TRY};
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
