/* Manual pages and completions are made from the program's own tables, and nothing is missing. */
#include "tests/kit/kit.h"

#include <ctype.h>

/* The paper of that name as a file of the scenario; returns its path. */
static char *
paper(const char *name)
{
	char *path = text("%s/%s", kit_dir(), name);
	struct output o = program(edge_binary(), "manual", name);
	expect_that(o.status == 0 && o.out_bytes > 100, "%s", o.err);
	FILE *f = fopen(path, "w");
	fwrite(o.out, 1, o.out_bytes, f);
	fclose(f);
	return path;
}

/* The page as a reader sees it, in lines that are never broken; groff must have nothing to say. */
static char *
page(const char *name)
{
	needs("man");
	setenv("LC_ALL", "C.UTF-8", 1);
	setenv("MANWIDTH", "2000", 1);
	setenv("MANROFFOPT", "", 1);
	struct output o = program("man", "--warnings", "--no-justification", "-l", paper(name));
	expect_that(o.status == 0 && !*o.err, "man --warnings %s: %s", name, o.err);
	return o.out;
}

static char *
help_of(const char *command)
{
	struct output o = program(edge_binary(), command, "--help");
	expect_int(o.status, 0);
	return o.out;
}

/* The names of the commands, from the help. */
static int
list_commands(char *names[], int most)
{
	int n = 0;
	char *help = program(edge_binary(), "--help").out, *save;
	for (char *line = strtok_r(help, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (strncmp(line, "  ", 2) == 0 && isalpha(line[2]) && n < most)
			names[n++] = text("%.*s", (int)strcspn(line + 2, " "), line + 2);
	expect_that(n >= 10, "the help shows %d commands", n);
	return n;
}

/* Calls each with every flag that the help of a command shows, and its sentence. */
static void
each_flag(const char *command, void (*each)(const char *name, const char *says, char *in), char *in)
{
	char *save;
	for (char *line = strtok_r(help_of(command), "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (strncmp(line, "  -", 3) != 0)
			continue;
		char *name = text("%.*s", (int)strcspn(line + 2, " "), line + 2);
		const char *says = strstr(line + 2, "  ");
		if (says && strcmp(name, "--help") != 0)
			each(name, says + strspn(says, " "), in);
	}
}

static void
flag_is_in_page(const char *name, const char *says, char *in)
{
	expect_that(strstr(in, name), "twice(1) lacks the flag %s", name);
	expect_that(strstr(in, says), "twice(1) lacks what %s means: %s", name, says);
}

SCENARIO("twice(1) has every command and flag with its sentence, and groff has no warning")
{
	char *names[32], *in = page("twice.1");
	int n = list_commands(names, 32);
	for (int i = 0; i < n; i++) {
		expect_that(strstr(in, text("twice %s ", names[i])), "it lacks %s", names[i]);
		each_flag(names[i], flag_is_in_page, in);
	}
	expect_that(!strstr(in, "manual"), "the command of the build is shown");
}

SCENARIO("twice.yaml(5) has every setting with its sentence, and groff has no warning")
{
	char *in = page("twice.yaml.5"), line[256];
	FILE *f = fopen("config/twice.yaml", "r");
	int n = 0;
	while (f && fgets(line, sizeof line, f)) {
		char *key = line + strspn(line, "# -"), *colon = strchr(key, ':');
		char *says = strstr(line + 2, " # ");
		if (!colon || !says)
			continue;
		*colon = '\0';
		says += 3;
		says[strcspn(says, "\n")] = '\0';
		/* The words of a choice are shown as its value. */
		char *last = NULL;
		for (char *p = says; (p = strstr(p, ": ")); p++)
			last = p;
		if (last && strchr(last, '|') && !strchr(last + 2, ' '))
			*last = '\0';
		expect_that(strstr(in, key), "it lacks %s", key);
		expect_that(strstr(in, says), "it lacks what %s means: %s", key, says);
		n++;
	}
	expect_that(n > 100, "%d settings", n);
}

/* Bash would offer this behind these words, the last of which is being typed. */
static char *
offered(const char *words)
{
	static const char script[] =
		"source \"$1\"; COMP_WORDS=($2); case $2 in *' ') COMP_WORDS+=('');; esac; "
		"COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _twice; echo \" ${COMPREPLY[*]} \"";
	struct output o = program("bash", "-c", script, "bash", text("%s/bash", kit_dir()), words);
	expect_that(o.status == 0 && !*o.err, "%s", o.err);
	return o.out;
}

static void
flag_is_offered(const char *name, const char *says, char *in)
{
	(void)says;
	expect_that(strstr(in, text(" %s ", name)), "not offered: %s, only%s", name, in);
}

SCENARIO("bash offers the commands, and of each the flags that its help shows")
{
	needs("bash");
	char *names[32];
	int n = list_commands(names, 32);
	paper("bash");
	char *commands = offered("twice ");
	for (int i = 0; i < n; i++) {
		flag_is_offered(names[i], "", commands);
		each_flag(names[i], flag_is_offered, offered(text("twice %s -", names[i])));
	}
	expect_text(offered("twice ru"), " run \n");
	expect_text(offered("twice stats --j"), " --json \n");
	expect_text(offered("twice run -c /etc/tw"), "  \n"); /* a file: bash's own completion */
}

SCENARIO("zsh's completion is well-formed")
{
	needs("zsh");
	struct output o = program("zsh", "-n", paper("zsh"));
	expect_that(o.status == 0 && !*o.err, "%s", o.err);
}
