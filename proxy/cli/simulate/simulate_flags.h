/* simulate_flags.h - what the command line of `twice simulate` said. */
#ifndef CLI_SIMULATE_FLAGS_H
#define CLI_SIMULATE_FLAGS_H

#include "config/config.h"
#include "proxy/simulate/account.h"

enum { SIMULATE_WORDS_MOST = 64 };

struct command {
	struct study_options o;
	struct config config;
	struct roles_own own;
	const char *config_path, *html_path;
	char *copies[SIMULATE_WORDS_MOST]; /* owned: lists that were cut into words */
	unsigned copies_n;
	bool json;
};

/* c is zeroed. Below 0: go on; else the exit code, and all is said. The caller frees c->copies. */
int simulate_parse(struct command *c, int argc, char **argv);

#endif
