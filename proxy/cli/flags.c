/* flags.c - one way to read flags for all commands: from a table that is also the help. */
#include "proxy/cli/cli.h"

#include "config/suggest.h"
#include "proxy/base/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static char complaints[1024];

__attribute__((format(printf, 3, 0))) static void
complain(enum log_level level, const char *command, const char *fmt, va_list args)
{
	char text[1024];
	vsnprintf(text, sizeof(text), fmt, args);
	fprintf(stderr, "%stwice%s%s: %s\n", log_priority(level), *command ? " " : "", command,
		text);
	size_t n = strlen(complaints);
	snprintf(complaints + n, sizeof(complaints) - n, "%s%s", n ? "; " : "", text);
}

const char *
cli_complaints(void)
{
	return complaints;
}

void
cli_complain(const char *command, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	complain(LOG_ERROR, command, fmt, args);
	va_end(args);
}

void
cli_warn(const char *command, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	complain(LOG_WARNING, command, fmt, args);
	va_end(args);
}

int
flags_refuse(struct flags *f, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	complain(LOG_ERROR, f->command, fmt, args);
	va_end(args);
	f->exit_code = CLI_USAGE;
	return FLAGS_EXIT;
}

static flags_help_fn *prints_instead;

void
flags_help_with(flags_help_fn *print)
{
	prints_instead = print;
}

static int
print_help(struct flags *f)
{
	f->exit_code = CLI_FINE;
	if (prints_instead) {
		prints_instead(f);
		return FLAGS_EXIT;
	}
	printf("usage: twice %s %s\n\n%s\n", f->command, f->synopsis, f->about);
	printf("\n");
	for (const struct flag *row = f->rows; row->name; row++) {
		char left[40];
		snprintf(left, sizeof(left), "%s %s", row->name, row->value ? row->value : "");
		printf("  %-18s %s\n", left, row->sentence);
	}
	printf("  %-18s %s\n", "--help", "print this help");
	return FLAGS_EXIT;
}

static int
find_row(const struct flags *f, const char *name, size_t n)
{
	for (int i = 0; f->rows[i].name; i++)
		if (strlen(f->rows[i].name) == n && memcmp(f->rows[i].name, name, n) == 0)
			return i;
	return -1;
}

static int
refuse_unknown(struct flags *f, const char *name)
{
	for (const struct flag *row = f->rows; row->name; row++)
		if (suggest_is_near(name, row->name))
			return flags_refuse(f, "there is no flag %s; did you mean %s?", name,
					    row->name);
	return flags_refuse(f, "there is no flag %s; see twice %s --help", name, f->command);
}

/* Another flag is no value, nor is what an unset variable leaves. */
static bool
is_value(const struct flags *f, const char *arg)
{
	return *arg && strcmp(arg, "--help") != 0 && find_row(f, arg, strcspn(arg, "=")) < 0;
}

bool
flags_is_optional(const struct flag *row)
{
	return row->value && *row->value == '[';
}

int
flags_next(struct flags *f)
{
	if (++f->at >= f->argc)
		return FLAGS_END;
	const char *arg = f->argv[f->at];
	if (!*arg)
		return flags_refuse(f, "an empty word is not understood; leave it out");
	if (*arg != '-' || strcmp(arg, "-") == 0) {
		f->value = arg;
		return FLAGS_WORD;
	}
	if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0)
		return print_help(f);
	size_t n = strcspn(arg, "=");
	int i = find_row(f, arg, n);
	if (i < 0)
		return refuse_unknown(f, arg);
	const struct flag *row = &f->rows[i];
	if (!row->value && arg[n])
		return flags_refuse(f, "%s takes no value; leave out \"%s\"", row->name, arg + n);
	if (row->value && arg[n] && arg[n + 1])
		f->value = arg + n + 1;
	else if (flags_is_optional(row) && !arg[n])
		f->value = NULL;
	else if (row->value && !arg[n] && f->at + 1 < f->argc && is_value(f, f->argv[f->at + 1]))
		f->value = f->argv[++f->at];
	else if (row->value)
		return flags_refuse(f, "%s needs a value: %s %s (%s)", row->name, row->name,
				    row->value, row->sentence);
	return i;
}
