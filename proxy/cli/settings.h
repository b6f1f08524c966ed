/* settings.h - the configuration of `run` and `check`: a file and the flags that override it. */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "config/config.h"
#include "config/load.h"
#include "proxy/base/log.h"
#include "proxy/cli/cli.h"
#include "proxy/node/identity.h"

#include <stdbool.h>

enum { SETTINGS_FLAGS_MOST = 64 };

struct settings {
	struct config config;
	const char *path; /* of -c; NULL: no file */
	const char *host; /* of --host; NULL: not said */
	struct config_flag flags[SETTINGS_FLAGS_MOST];
	size_t flag_count;
};

/* Reads argv, the file and the flags. 0; or -1 and *exit_code, all said. */
int settings_init(struct settings *s, const char *command, const char *about, int argc, char **argv,
		  int *exit_code);
void settings_fini(struct settings *s);

enum settings_start {
	SETTINGS_TRY,	  /* `twice check`: nothing is made */
	SETTINGS_START,	  /* sockets may be handed over by a supervisor */
	SETTINGS_SUCCEED, /* in the place of another process, which hands over what it has */
};

/* Run needs more: an origin, the user it becomes (identity), and the resources of this machine
 * (preflight). Prints each finding on stderr with its place. False: run must refuse. *found counts
 * all of them. From here on the process is that user. */
bool settings_fit(const struct settings *s, const char *command, enum settings_start start,
		  unsigned *found);
/* Looks up the names of origins and prints those that cannot be found on stderr; this may take
 * seconds. */
void settings_find_names(const struct settings *s, const char *command);

/* Prints on stderr what lifetimes of routes may break, which is no mistake. */
void settings_say_risks(const struct settings *s, const char *command);

enum log_level settings_log_level(const struct config *c);

/* Whether the file or a flag gives it; else it has its default. */
bool settings_has(const struct settings *s, const char *setting);

/* The same file and flags again, into *c (config_init first). -1 and every mistake. */
int settings_reread(const struct settings *s, struct config *c, config_complain_fn *complain,
		    void *ctx);

#endif
