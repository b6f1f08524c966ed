/* manual.c - `twice manual WHAT`: manual pages and completions of shells, from the tables that the
 * commands read. The build calls it; the help does not show it. */
#include "config/manual.h"
#include "proxy/cli/cli.h"

#include <stdio.h>
#include <stdint.h>
#include <string.h>

/* Every command prints its help, which comes here instead. */
static void
each_command(flags_help_fn *print)
{
	char help[] = "--help";
	flags_help_with(print);
	for (const struct cli_command *c = cli_commands; c->name; c++)
		c->run(2, (char *[]){(char *)(uintptr_t)c->name, help, NULL});
	flags_help_with(NULL);
}

/* ---- twice(1) -------------------------------------------------------------------------------- */

static void
print_command(const struct flags *f)
{
	printf(".SS ");
	manual_text(stdout, f->command);
	printf("\n.B twice ");
	manual_text(stdout, f->command);
	printf("\n");
	for (const char *p = f->synopsis; *p; p++) /* blanks of the terminal's lines */
		if (*p == '\n')
			p += strspn(p, "\n ") - 1, putchar(' ');
		else
			manual_text(stdout, (char[]){*p, 0});
	printf("\n.P\n");
	manual_text(stdout, f->about);
	printf("\n");
	for (const struct flag *row = f->rows; row->name; row++) {
		printf(".TP\n\\fB");
		manual_text(stdout, row->name);
		printf("\\fR");
		if (row->value) {
			printf(" \\fI");
			manual_text(stdout, row->value);
			printf("\\fR");
		}
		printf("\n");
		manual_text(stdout, row->sentence);
		printf("\n");
	}
}

static const char files[] =
	".SH FILES\n"
	".TP\n.I /etc/twice.yaml\nthe configuration of the service; see\n.BR twice.yaml (5)\n"
	".TP\n.I /var/cache/twice\nobjects, purges, and the filters' memory of URLs\n"
	".TP\n.I /usr/share/doc/twice/docs\npages by subject; begin with\n.I getting-started.md\n"
	".SH ENVIRONMENT\n"
	".TP\n.B TWICE_ADMIN_TOKEN\nthe token of\n.B admin_token\nor\n.BR admin_token_file ,\n"
	"which commands send to the admin server\n"
	".TP\n.BR NOTIFY_SOCKET \", \" LISTEN_FDS \", \" WATCHDOG_USEC\n"
	"set by a supervisor, as\n.BR sd_notify (3)\nand\n.BR sd_listen_fds (3)\ndescribe\n"
	".SH SIGNALS\n"
	".TP\n.BR SIGTERM \", \" SIGINT \", \" SIGQUIT\nfinish open requests and end; a second one ends at once\n"
	".TP\n.B SIGHUP\nreopen logs, and read configuration and certificates again\n"
	".TP\n.B SIGUSR1\nreopen logs, and nothing else\n"
	".TP\n.B SIGUSR2\nstart the program anew, and let that process take this one's place\n"
	".SH EXIT STATUS\n"
	"0: fine. 1: failed at work. 2: wrong usage or configuration.\n"
	".SH SEE ALSO\n.BR twice.yaml (5)\n";

static void
print_page(void)
{
	printf(".TH TWICE 1 \"\" \"twice ");
	manual_text(stdout, cli_version);
	printf("\" \"User Commands\"\n.SH NAME\ntwice \\- caching HTTP reverse proxy that writes to "
	       "disk only what was seen before\n.SH SYNOPSIS\n.B twice\n.I COMMAND\n.RI "
	       "[ flags ]\n.SH COMMANDS\n");
	for (const struct cli_command *c = cli_commands; c->name; c++) {
		printf(".TP\n.B ");
		manual_text(stdout, c->name);
		printf("\n");
		manual_text(stdout, c->sentence);
		printf("\n");
	}
	printf(".SH FLAGS\n");
	each_command(print_command);
	fputs(files, stdout);
}

static void
print_settings(void)
{
	manual_print(stdout, cli_version);
}

/* ---- completions ----------------------------------------------------------------------------- */

static void
print_commands(void)
{
	for (const struct cli_command *c = cli_commands; c->name; c++)
		printf("%s ", c->name);
}

/* Flags of one command, and of these what takes a value: a file or anything else. */
static void
print_bash_case(const struct flags *f)
{
	printf("\t%s)\n\t\tflags=\"", f->command);
	for (const struct flag *row = f->rows; row->name; row++)
		printf("%s ", row->name);
	printf("--help\" values=\" ");
	for (const struct flag *row = f->rows; row->name; row++)
		if (row->value && !flags_is_optional(row))
			printf("%s ", row->name);
	printf("\" ;;\n");
}

static void
print_bash(void)
{
	printf("# Completion of twice for bash, made by `twice manual bash`.\n"
	       "_twice()\n{\n"
	       "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} flags= "
	       "values=\n"
	       "\tCOMPREPLY=()\n"
	       "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
	       "\t\tCOMPREPLY=($(compgen -W \"");
	print_commands();
	printf("help --help --version\" -- \"$cur\"))\n\t\treturn\n\tfi\n"
	       "\tcase ${COMP_WORDS[1]} in\n\thelp) flags=\"");
	print_commands();
	printf("\" ;;\n");
	each_command(print_bash_case);
	printf("\tesac\n"
	       "\t# The value of a flag, and words that are no flags: names of files.\n"
	       "\tcase $values in *\" $prev \"*) return ;; esac\n"
	       "\tif [ \"${COMP_WORDS[1]}\" = help ] || [ \"${cur#-}\" != \"$cur\" ]; then\n"
	       "\t\tCOMPREPLY=($(compgen -W \"$flags\" -- \"$cur\"))\n\tfi\n}\n"
	       "complete -o default -F _twice twice\n");
}

/* Text in single quotes within _arguments, where brackets and colons mean something. */
static void
print_zsh_text(const char *z)
{
	for (; *z; z++)
		if (*z == '\'')
			printf("'\\''");
		else
			printf(strchr("[]:\\", *z) ? "\\%c" : "%c", *z);
}

static void
print_zsh_case(const struct flags *f)
{
	printf("\t%s) _arguments", f->command);
	for (const struct flag *row = f->rows; row->name; row++) {
		printf(" '*%s[", row->name);
		print_zsh_text(row->sentence);
		const char *value = row->value && !flags_is_optional(row) ? row->value : NULL;
		printf(value ? "]:" : "]");
		print_zsh_text(value ? value : "");
		printf(value ? ":_files'" : "'");
	}
	printf(" '--help[print this help]' '*:file:_files' ;;\n");
}

static void
print_zsh(void)
{
	printf("#compdef twice\n# Completion of twice for zsh, made by `twice manual zsh`.\n"
	       "local -a commands\ncommands=(");
	for (const struct cli_command *c = cli_commands; c->name; c++) {
		printf(" '%s:", c->name);
		print_zsh_text(c->sentence);
		printf("'");
	}
	printf(" )\nif (( CURRENT == 2 )); then\n\t_describe command commands\n\treturn\nfi\n"
	       "local command=$words[2]\nshift words\n(( CURRENT-- ))\ncase $command in\n");
	each_command(print_zsh_case);
	printf("esac\n");
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* For editors: # yaml-language-server: $schema=FILE */
static void
print_schema(void)
{
	manual_print_schema(stdout);
}

int
cli_manual(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*print)(void);
	} papers[] = {{"twice.1", print_page},
		      {"twice.yaml.5", print_settings},
		      {"--schema", print_schema},
		      {"bash", print_bash},
		      {"zsh", print_zsh}};
	for (size_t i = 0; argc == 2 && i < sizeof papers / sizeof papers[0]; i++)
		if (strcmp(argv[1], papers[i].name) == 0) {
			papers[i].print();
			return fflush(stdout) == 0 ? CLI_FINE : CLI_FAILED;
		}
	cli_complain("manual", "write one of twice.1, twice.yaml.5, --schema, bash and zsh");
	return CLI_USAGE;
}
