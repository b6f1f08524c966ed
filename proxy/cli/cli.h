/* cli.h - what the commands share: their names, exit codes, and how they read flags.
 *
 * Errors    one plain sentence on stderr with a way out. Exit codes: 0 fine, 1 failed at work,
 *           2 wrong usage or configuration.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>

enum { CLI_FINE = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* Each command; argv[0] is its name ("run"), the result is the exit code. */
int cli_run(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_demo(int argc, char **argv);
int cli_simulate(int argc, char **argv);
int cli_size(int argc, char **argv);
int cli_route(int argc, char **argv);
int cli_explain(int argc, char **argv);
int cli_top(int argc, char **argv);
int cli_stats(int argc, char **argv);
int cli_purge(int argc, char **argv);
int cli_reload(int argc, char **argv);
int cli_upgrade(int argc, char **argv);
int cli_fleet(int argc, char **argv);
int cli_inspect(int argc, char **argv);
int cli_manual(int argc, char **argv); /* hidden: for the build */

struct cli_command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *sentence;
};
extern const struct cli_command cli_commands[]; /* to one without a name */

extern const char cli_version[];

/* "twice run: " and the sentence, as a line on stderr. */
void cli_complain(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same of what does not end the command. */
void cli_warn(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* All complaints so far, as far as there is room for them. */
const char *cli_complaints(void);

/* ---- flags --------------------------------------------------------------------------------- */

struct flag {
	const char *name; /* "--listen" */
	const char *
		value; /* "ADDR" in the help; "[=TIME]": it may be left out; NULL: a flag without value */
	const char *sentence; /* for the help */
	const char *setting;  /* "cache.disk": where it goes in the configuration; NULL: nowhere */
};

struct flags { /* of one command line; set up command, synopsis, about, rows, argc, argv */
	const char *command, *synopsis, *about;
	const struct flag *rows; /* to a row without a name */
	int argc;
	char **argv;
	const char *value; /* what flags_next found */
	int exit_code;	   /* with FLAGS_EXIT */
	int at;		   /* private */
};

enum { FLAGS_END = -1, FLAGS_WORD = -2, FLAGS_EXIT = -3 };

/* The row number of the next flag with its value; FLAGS_WORD: a word that is no flag; FLAGS_EXIT:
 * help was printed or wrong usage complained of, return exit_code. Takes "--flag V", "--flag=V". */
int flags_next(struct flags *f);
bool flags_is_optional(const struct flag *row); /* its value is; NULL then */

/* From here on --help of any command is given to print instead; NULL: as ever. */
typedef void flags_help_fn(const struct flags *f);
void flags_help_with(flags_help_fn *print);

/* Complains, and makes FLAGS_EXIT's exit code. */
int flags_refuse(struct flags *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
