/* manual.c - a walk over the rows. */
#include "config/manual.h"

#include "config/schema.h"
#include "config/units.h"

#include <string.h>

void
manual_text(FILE *to, const char *z)
{
	bool begins = true; /* a line */
	for (; *z; z++) {
		if (begins && (*z == '.' || *z == '\''))
			fputs("\\&", to);
		begins = *z == '\n';
		const char *as = *z == '\\'   ? "\\e"
				 : *z == '-'  ? "\\-"
				 : *z == '`'  ? "\\(ga"
				 : *z == '\'' ? "\\(aq"
				 : *z == '^'  ? "\\(ha"
				 : *z == '~'  ? "\\(ti"
					      : NULL;
		if (as)
			fputs(as, to);
		else
			fputc(*z, to);
	}
}

static const char *
unit_text(const struct setting *s, double value, char out[UNITS_BYTES])
{
	switch (s->kind) {
	case KIND_BYTES:
		return units_print_bytes((uint64_t)value, out);
	case KIND_SECONDS:
		return units_print_ms((uint64_t)value * 1000, out);
	case KIND_MILLIS:
		return units_print_ms((uint64_t)value, out);
	case KIND_SHARE:
		return units_print_share(value, out);
	default:
		return units_print_count((uint64_t)value, out);
	}
}

/* Rooms and rates are written in more than one way; their sentences say which. */
static bool
has_range(const struct setting *s)
{
	return s->most > s->least &&
	       (s->kind == KIND_COUNT || s->kind == KIND_BYTES || s->kind == KIND_SECONDS ||
		s->kind == KIND_MILLIS || s->kind == KIND_SHARE);
}

static const char *
value_word(const struct setting *s)
{
	switch (s->kind == KIND_LIST ? s->each : s->kind) {
	case KIND_FILE:
		return "PATH";
	case KIND_HOST:
		return "HOST";
	case KIND_LABEL:
	case KIND_HEADER:
	case KIND_COOKIE:
	case KIND_PARAM:
		return "NAME";
	case KIND_ADDRESS:
		return "ADDRESS";
	case KIND_URL:
		return "URL";
	case KIND_NETWORK:
		return "NETWORK";
	case KIND_SWITCH:
		return "on|off";
	case KIND_COUNT:
		return "NUMBER";
	case KIND_BYTES:
	case KIND_ROOM:
		return "SIZE";
	case KIND_RATE:
		return "RATE";
	case KIND_SECONDS:
	case KIND_MILLIS:
		return "TIME";
	case KIND_SHARE:
		return "SHARE";
	case KIND_CHOICE:
	case KIND_WORD:
		return s->words;
	default:
		return "TEXT";
	}
}

static void
print_facts(FILE *to, const struct setting *s)
{
	char least[UNITS_BYTES], most[UNITS_BYTES];
	if (s->fallback && *s->fallback) {
		fputs("\n.br\nDefault: ", to);
		manual_text(to, s->fallback);
		fputs(".", to);
	} else if (!s->fallback) {
		fputs("\n.br\nIt must be given.", to);
	}
	if (has_range(s)) {
		fputs("\n.br\nFrom ", to);
		manual_text(to, unit_text(s, s->least, least));
		fputs(" to ", to);
		manual_text(to, unit_text(s, s->most, most));
		fputs(".", to);
	}
	fputs("\n", to);
}

static void
print_setting(FILE *to, const struct setting *s)
{
	fputs(".TP\n.BR ", to);
	manual_text(to, s->key);
	fputs(s->kind == KIND_LIST ? ": \" [ \\fI" : ": \" \\fI", to);
	manual_text(to, value_word(s));
	fputs(s->kind == KIND_LIST ? "\\fR, ... ]\"\n" : "\\fR\"\n", to);
	manual_text(to, s->sentence);
	fputs(".", to);
	print_facts(to, s);
}

static void
print_rows(FILE *to, const struct setting *rows)
{
	for (const struct setting *s = rows; s->key; s++)
		if (s->kind != KIND_GROUP && s->kind != KIND_GROUPS)
			print_setting(to, s);
}

/* A section of its own for each group, the inner ones behind the outer. */
static void
print_groups(FILE *to, const struct setting *rows, const char *above)
{
	for (const struct setting *s = rows; s->key; s++) {
		char name[64];
		if (s->kind != KIND_GROUP && s->kind != KIND_GROUPS)
			continue;
		snprintf(name, sizeof name, "%s%s%s", above, *above ? "." : "", s->key);
		fputs(".SS ", to);
		manual_text(to, name);
		fputs("\n", to);
		manual_text(to, s->sentence);
		fputs(s->kind == KIND_GROUPS ? ". A list: each element has these settings.\n"
					     : ".\n",
		      to);
		print_rows(to, s->inside);
		print_groups(to, s->inside, name);
	}
}

static const char form[] =
	".SH DESCRIPTION\n"
	"The file is YAML. Every setting but the origin has a default, and flags of\n"
	".BR twice (1)\n"
	"override the file. A setting that is not known, a value out of its range and a rule that can\n"
	"never apply are refused with file, line and a way out.\n"
	".B twice check \\-c\n"
	".I FILE\n"
	"prints all settings with the values that they have.\n"
	".SS Values\n"
	".TP\n.I SIZE\nBytes: 4096, 64KiB, 1.5MB, 100GiB, 2TiB.\n"
	".TP\n.I TIME\n250ms, 30s, 5m, 12h, 7d.\n"
	".TP\n.I NUMBER\n100, 20k, 10M.\n"
	".TP\n.I SHARE\n10% or 0.1.\n"
	".TP\n.I RATE\nBytes in a time: 10MiB/s, 50GB/day, 0.5DWPD (of the disk).\n"
	".TP\n.I NETWORK\n10.0.0.0/8, 192.0.2.1, 2001:db8::/32, unix, any, or none.\n"
	".TP\n.I ADDRESS\n127.0.0.1:8080, [::1]:8080, *:8080 or unix:/path.\n"
	".P\nA list of one element can be written without brackets. A setting with nothing behind it is\n"
	"refused; one that is left out has its default.\n"
	".SS Variables\n"
	"In values\n.B ${NAME}\nis what the environment has under that name, and\n.B ${NAME:\\-TEXT}\n"
	"is TEXT where it has nothing. A variable that is not set and has no such text is an error.\n"
	".B $${\nstands for ${ itself. Between brackets YAML needs quotes around them. A reload sees the\n"
	"environment that the process was started with.\n"
	".SS More files\n"
	"At the top of a file\n.B include:\n[\n.IR PATH ,\n\\&... ] names further files, and directories whose\n"
	"*.yaml and *.yml are read in the order of their names. A path is relative to the file that\n"
	"names it. Their settings count as if they were written at the end of that file:\n"
	".BR origins , routes\nand\n.B more_disks\ngrow by them, and nothing else may be said twice. A reload reads\n"
	"all of them again.\n"
	".SS Anchors\n"
	"An element that &name marks can be used again as *name, and\n.B <<: *name\ntakes its settings over\n"
	"into a group, which may say some of them otherwise.\n";

static const char rest[] = ".SH EXAMPLE\n"
			   ".nf\n.RS\n"
			   "listen: [ \"0.0.0.0:8080\" ]\n"
			   "origins:\n"
			   "  \\- url: https://origin.example.com\n"
			   "cache:\n"
			   "  dir: /var/cache/twice\n"
			   "  disk: 100GiB\n"
			   ".RE\n.fi\n"
			   ".SH SEE ALSO\n"
			   ".BR twice (1)\n";

void
manual_print(FILE *to, const char *version)
{
	fputs(".TH TWICE.YAML 5 \"\" \"twice ", to);
	manual_text(to, version);
	fputs("\" \"Configuration of twice\"\n.SH NAME\ntwice.yaml \\- configuration of twice, a "
	      "caching HTTP reverse proxy\n",
	      to);
	fputs(form, to);
	fputs(".SH SETTINGS\n", to);
	print_rows(to, schema_top);
	print_groups(to, schema_top, "");
	fputs(rest, to);
}
